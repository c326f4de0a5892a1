//! Decides which settings a file may hold.
//!
//! A configuration holds the settings that an operator or the builder of a corpus changes. A detector file,
//! which `compare` and `leitong-lab` read with `--variant`, holds every setting of the detectors. All other
//! settings are constants: their values are the defaults of the types in [`super`], which also explain them.
//! [ADR 43](../../docs/adr/0043-settings-that-users-change.md) has the reason for each.

use super::detectors::DETECTORS;

/// A kind of file that holds settings.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum File {
    /// The configuration of a run.
    Configuration,
    /// The detector file of `--variant`.
    Detector,
}

/// Environment variable that makes both kinds of files accept every setting. It is for the tests and
/// measurements of this project, which lower limits to reach them; it is not part of the interface.
pub(super) const EVERY_SETTING: &str = "LEITONG_EVERY_SETTING";

/// The place of a setting.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum SettingPlace {
    /// Both kinds of files hold the setting.
    Both,
    /// A configuration holds the setting.
    Configuration,
    /// A detector file holds the setting.
    Detector,
    /// The setting is a constant. The text says what to do instead of changing it.
    Constant(&'static str),
}

/// Settings of detectors that a configuration holds as well.
const DETECTOR_SETTINGS_OF_RUNS: [&str; 9] = [
    "simhash.near.max_distance",
    "simhash.near.sketch_matches_more",
    "simhash.near.addresses",
    "simhash.near.duplicates",
    "paragraph.boilerplate_file",
    "paragraph.near.share_min",
    "agglomerate-term.near.similarity_min",
    "concept-network.lexicon_files",
    "concept-network.near.similarity_above",
];

/// The settings that are constants, each with advice for users who would change it.
const CONSTANTS: [(&str, &str); 23] = [
    ("input.fields.warc_file", "for bodies in WARC files, name the preset heritrix-log"),
    ("input.fields.warc_offset", "for bodies in WARC files, name the preset heritrix-log"),
    ("page.work_max", "to spend less on large pages, lower page.bytes_max"),
    ("extract.nodes_max", "to spend less on large pages, lower page.bytes_max"),
    ("extract.depth_max", "to spend less on large pages, lower page.bytes_max"),
    ("segment.hmm", "to have words of your own recognised, list them in segment.user_dictionary"),
    ("table.block_centroids", "above 250 million centroids, raise the limit of open files (ulimit -n)"),
    ("table.check_mib_per_second", "all files are read at most once a day"),
    ("pipeline.queue_pages", "to bound memory, set pipeline.queue_bytes"),
    ("kafka.pages.pause_after_ms", "to bound memory, set pipeline.queue_bytes"),
    ("kafka.dead_letters.value_bytes_max", "a dead letter names its message, which is in the page topic"),
    ("kafka.transaction.records_max", "a transaction waits for 50 ms at most"),
    ("kafka.transaction.linger_ms", "to publish sooner, run more instances"),
    ("kafka.snapshots.interval_s", "to avoid snapshots of large tables, set table.on_disk = true"),
    ("kafka.changelog.delete_interval_s", "it affected only the size of the topic"),
    (
        "kafka.create.verdict_partitions",
        "a verdict topic that exists may have any number of partitions, so create it yourself",
    ),
    ("traces.queue_spans", "to trace fewer pages, set the environment variable OTEL_TRACES_SAMPLER_ARG"),
    ("api.batch_pages_max", "split larger requests; api.body_bytes_max limits them as well"),
    ("api.head_timeout_ms", "to cut off slow clients earlier, put a proxy in front of the API"),
    ("api.body_timeout_ms", "to cut off slow clients earlier, put a proxy in front of the API"),
    ("api.connections_max", "to limit connections, put a proxy in front of the API"),
    ("api.requests_max", "to limit single clients, set api.requests_per_second"),
    ("api.journal_bytes_max", "the journal is merged once it is as large as the table"),
];

/// Returns the place of the setting with this full name.
pub(super) fn place(name: &str) -> SettingPlace {
    if let Some((_, way_on)) = CONSTANTS.iter().find(|(constant, _)| *constant == name) {
        return SettingPlace::Constant(way_on);
    }
    let is_of_detector = is_in(name, "idf") || DETECTORS.iter().any(|(detector, _)| is_in(name, detector));
    match (name == "detector" || DETECTOR_SETTINGS_OF_RUNS.contains(&name), is_of_detector) {
        (true, _) => SettingPlace::Both,
        (false, true) => SettingPlace::Detector,
        (false, false) => SettingPlace::Configuration,
    }
}

impl File {
    /// Returns true if files of this kind hold the setting with this full name.
    pub(super) fn holds(self, name: &str) -> bool {
        match place(name) {
            SettingPlace::Both => true,
            SettingPlace::Configuration => self == Self::Configuration,
            SettingPlace::Detector => self == Self::Detector,
            SettingPlace::Constant(_) => false,
        }
    }

    /// Returns the error for a setting that files of this kind do not hold, and how to fix it.
    pub(super) fn refusal(self, name: &str, default: Option<&str>) -> String {
        match (place(name), self) {
            (SettingPlace::Constant(way_on), _) => match default {
                Some(default) => format!("is always {default}; remove it: {way_on}"),
                None => format!("is not a setting; remove it: {way_on}"),
            },
            (_, Self::Configuration) => format!(
                "is not a setting of a run; remove it, or move it to a detector file, which `leitong compare` and leitong-lab read \
                 with --variant{}",
                default.map_or(String::new(), |default| format!(" (a run uses {default})"))
            ),
            (_, Self::Detector) => {
                "is not a setting of a detector; set it in the configuration (--config)".to_owned()
            }
        }
    }
}

/// Returns true if the setting is in this section.
fn is_in(name: &str, section: &str) -> bool {
    name.strip_prefix(section).is_some_and(|rest| rest.starts_with('.'))
}
