//! Reads TOML text into a checked [`Config`], and reports all errors at once, with file, line, key, value and
//! remedy.
//!
//! The file is checked against the schema of the types in [`super`] (unknown keys, types, ranges, names of
//! variants), and against the settings that its [kind of file](super::scope) may hold. `${VAR}` is
//! substituted in string values only, after parsing, so no variable's value can change the file's structure.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use schemars::Schema;
use schemars::generate::SchemaSettings;
use serde_json::Value;
use thiserror::Error;
use toml::de::{DeTable, DeValue};

use super::check::{Check, excerpt, line_of, nearest};
use super::scope::{EVERY_SETTING, File};
use super::{CanonicalConfig, Config, PipelineConfig, redact};
use crate::config::detectors::DETECTORS;
use leitong_cluster::Preference;
use leitong_fingerprint::detectors::BASELINES;
use leitong_fingerprint::resources::{ConceptFile, ResourceError, Resources};
use leitong_fingerprint::secret::Secret;
use leitong_text::page::mapping::Mapping;
use leitong_text::segment::{Lexicons, SegmentError};

/// Reason why there is no configuration.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum ConfigError {
    /// A file cannot be read.
    #[error("{}: cannot read {what}: {error}", path.display())]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// The file's purpose.
        what: &'static str,
        /// The error of the operating system.
        error: std::io::Error,
    },
    /// The file is not TOML.
    #[error("{}: line {line}: {problem}", path.display())]
    NotToml {
        /// The file.
        path: PathBuf,
        /// Line number, from 1.
        line: usize,
        /// Description of the error.
        problem: String,
    },
    /// Keys or values are invalid.
    #[error("{}", faults.join("\n"))]
    Faults {
        /// Descriptions of the errors, one line each.
        faults: Vec<String>,
    },
    /// There is no detector of this name.
    #[error("detector = {}: {}", redact::name(.0, detector_names()), detectors_hint(.0))]
    UnknownDetector(String),
    /// The settings or files of segmentation cannot be used.
    #[error(transparent)]
    Segment(#[from] SegmentError),
    /// The secret is missing or cannot be used. The message shows at most the variable's name.
    #[error("fingerprint.secret_env = {variable}: {problem}")]
    Secret {
        /// The environment variable. It is not shown if it may be the secret itself, put in the wrong place.
        variable: String,
        /// Description of the error, and the remedy.
        problem: String,
    },
    /// A file of a detector cannot be used.
    #[error(transparent)]
    Resource(#[from] ResourceError),
}

impl Config {
    /// Reads and checks the configuration file `path`, as `leitong --config` does. Paths in it are relative to
    /// its folder.
    ///
    /// # Errors
    /// [`ConfigError`], with all errors of the file.
    pub fn from_file(path: impl AsRef<Path>) -> Result<Self, ConfigError> {
        load_file(path.as_ref(), File::Configuration)
    }

    /// Reads and checks the detector file `path`, as `--variant` does: a file with nothing but settings of
    /// detectors. All other settings are at their defaults. Paths in it are relative to its folder.
    ///
    /// # Errors
    /// [`ConfigError`], with all errors of the file.
    pub fn from_detector_file(path: impl AsRef<Path>) -> Result<Self, ConfigError> {
        load_file(path.as_ref(), File::Detector)
    }

    /// Reads and checks the text of a configuration. Errors are those of a file named `toml`. Paths in it are
    /// relative to the current folder, and `${NAME}` stands for an environment variable, as in files.
    ///
    /// ```
    /// # mod leitong { pub use leitong_pipeline::config::{Config, load::ConfigError}; }
    /// use leitong::Config;
    ///
    /// let config = Config::from_toml("[simhash.near]\nmax_distance = 3")?;
    /// assert_eq!(config.simhash.near.max_distance, 3);
    /// let error = Config::from_toml("detektor = \"simhash\"").expect_err("there is no such setting");
    /// assert_eq!(error.to_string(), "toml: line 1: detektor: no such key; did you mean detector?");
    /// # Ok::<(), leitong::ConfigError>(())
    /// ```
    ///
    /// # Errors
    /// [`ConfigError`], with all errors of the text.
    pub fn from_toml(text: &str) -> Result<Self, ConfigError> {
        Self::parse(text, Path::new("toml"), |name| std::env::var(name).ok())
    }

    /// Works like [`Self::from_toml`] for the text of a file. `path` is the name of the file in errors; `lookup`
    /// returns environment variables.
    ///
    /// # Errors
    /// [`ConfigError`], with all errors of the text.
    pub fn parse(
        text: &str,
        path: &Path,
        lookup: impl Fn(&str) -> Option<String>,
    ) -> Result<Self, ConfigError> {
        parse_file(text, path, File::Configuration, lookup)
    }

    /// Reads the files that the settings of segmentation name. Relative paths are relative to the current folder.
    ///
    /// # Errors
    /// [`ConfigError::Unreadable`].
    pub fn lexicons(&self) -> Result<Lexicons, ConfigError> {
        Ok(Lexicons {
            user_dictionary: read(self.segment.user_dictionary.as_deref(), "segment.user_dictionary")?,
            stop_words: read(self.segment.stop_word_file.as_deref(), "segment.stop_word_file")?,
        })
    }

    /// Reads the files and the secret that the settings of detectors name. Relative paths are relative to the
    /// current folder.
    ///
    /// # Errors
    /// [`ConfigError::Unreadable`], [`ConfigError::Secret`].
    pub fn resources(&self) -> Result<Resources, ConfigError> {
        let concepts = self.concept_network.lexicon_files.iter().map(|path| concept_file(path));
        Ok(Resources {
            idf: read(self.idf.file.as_deref(), "idf.file")?,
            boilerplate: read(self.paragraph.boilerplate_file.as_deref(), "paragraph.boilerplate_file")?,
            concepts: concepts.collect::<Result<_, _>>()?,
            secret: secret(self.fingerprint.secret_env.as_deref(), |name| std::env::var_os(name))?,
        })
    }
}

fn load_file(path: &Path, file: File) -> Result<Config, ConfigError> {
    let what = match file {
        File::Configuration => "the configuration",
        File::Detector => "the detector file",
    };
    let unreadable = |error| ConfigError::Unreadable { path: path.to_owned(), what, error };
    let bytes = std::fs::read(path).map_err(unreadable)?;
    let text = String::from_utf8(bytes).map_err(|error| {
        let valid = error.utf8_error().valid_up_to();
        ConfigError::NotToml {
            path: path.to_owned(),
            line: line_of(&String::from_utf8_lossy(error.as_bytes()), valid),
            problem: "is not UTF-8; save the file in this encoding".to_owned(),
        }
    })?;
    let mut config = parse_file(&text, path, file, |name| std::env::var(name).ok())?;
    let folder = path.parent().unwrap_or(Path::new(""));
    let files = [
        &mut config.segment.user_dictionary,
        &mut config.segment.stop_word_file,
        &mut config.kafka.snapshots.dir,
        &mut config.input.warc_dir,
        &mut config.idf.file,
        &mut config.paragraph.boilerplate_file,
        &mut config.api.token_file,
    ];
    for file in files.into_iter().flatten().chain(&mut config.concept_network.lexicon_files) {
        *file = folder.join(&*file);
    }
    Ok(config)
}

/// Reads the secret from the environment variable of this name; `None` if no variable is named.
fn secret(
    variable: Option<&str>,
    lookup: impl Fn(&str) -> Option<OsString>,
) -> Result<Option<Secret>, ConfigError> {
    let Some(variable) = variable else { return Ok(None) };
    let is_plain = |c: char| c.is_ascii_uppercase() || c.is_ascii_digit() || c == '_';
    let may_be_secret = variable.len() > 60 || !variable.chars().all(is_plain);
    let wrong = |problem: String| ConfigError::Secret {
        variable: if may_be_secret { "(not shown)".to_owned() } else { format!("{variable:?}") },
        problem,
    };
    // No variable's name contains `=` or NUL. The error says so, and not that the variable is unset.
    if variable.is_empty() || variable.contains(['=', '\0']) {
        return Err(wrong(
            "is not a name of an environment variable; use letters, digits and `_`".to_owned(),
        ));
    }
    let value = lookup(variable).ok_or_else(|| {
        wrong("is not set; set it to the secret, or remove fingerprint.secret_env".to_owned())
    })?;
    let value = value
        .to_str()
        .ok_or_else(|| wrong("is not UTF-8; make a new secret with: openssl rand -hex 32".to_owned()))?;
    Secret::new(value).map(Some).map_err(|error| wrong(error.to_string()))
}

fn concept_file(path: &Path) -> Result<ConceptFile, ConfigError> {
    let contents = std::fs::read(path).map_err(|error| ConfigError::Unreadable {
        path: path.to_owned(),
        what: "concept-network.lexicon_files",
        error,
    })?;
    Ok(ConceptFile { name: path.file_name().unwrap_or_default().to_string_lossy().into_owned(), contents })
}

/// Reads the file that a setting names; returns an empty text if the setting is unset.
fn read(path: Option<&Path>, what: &'static str) -> Result<String, ConfigError> {
    let Some(path) = path else { return Ok(String::new()) };
    let unreadable = |error| ConfigError::Unreadable { path: path.to_owned(), what, error };
    std::fs::read_to_string(path).map_err(unreadable)
}

/// Parses and checks the text of a file of either kind. `path` is for messages, `lookup` returns environment
/// variables.
///
/// # Errors
/// [`ConfigError`], with all errors of the text.
fn parse_file(
    text: &str,
    path: &Path,
    file: File,
    lookup: impl Fn(&str) -> Option<String>,
) -> Result<Config, ConfigError> {
    let table = DeTable::parse(text).map_err(|error| ConfigError::NotToml {
        path: path.to_owned(),
        line: line_of(text, error.span().map_or(0, |span| span.start)),
        problem: excerpt(error.message()),
    })?;
    let schema = schema();
    let defaults = serde_json::to_value(Config::default()).unwrap_or_default();
    let file = (!holds_every_setting(&lookup)).then_some(file);
    let mut check = Check { text, path, file, lookup: &lookup, defaults, faults: Vec::new() };
    let value = check.table(table.get_ref(), schema.as_value(), "");
    if check.faults.is_empty() {
        let config: Config = serde_json::from_value(Value::Object(value))
            .map_err(|error| ConfigError::Faults { faults: vec![format!("{}: {error}", path.display())] })?;
        for fault in detector_fault(&config, file).into_iter().chain(faults_of(&config)) {
            let line =
                line_of_key(text, key_of(&fault)).map_or(String::new(), |line| format!("line {line}: "));
            check.faults.push(format!("{}: {line}{fault}", path.display()));
        }
        if check.faults.is_empty() {
            return Ok(config);
        }
    }
    Err(ConfigError::Faults { faults: check.faults })
}

/// Returns true if files may hold every setting, as in the tests and measurements of this project.
pub fn holds_every_setting(lookup: impl Fn(&str) -> Option<String>) -> bool {
    lookup(EVERY_SETTING).is_some_and(|value| value == "1")
}

/// Returns the schema of [`Config`], without references.
pub(super) fn schema() -> Schema {
    let mut settings = SchemaSettings::draft2020_12();
    settings.inline_subschemas = true;
    settings.into_generator().into_root_schema_for::<Config>()
}

/// Returns the reason why the detector cannot be named in a file of this kind; `None` for a file that may hold
/// every setting.
fn detector_fault(config: &Config, file: Option<File>) -> Option<String> {
    let name = &config.detector;
    if !DETECTORS.iter().any(|(known, _)| known == name) {
        return Some(ConfigError::UnknownDetector(name.clone()).to_string());
    }
    let fault = for_comparison_only(name).filter(|_| file == Some(File::Configuration))?;
    Some(format!("detector = {name:?}: {fault}"))
}

/// Returns the reason why no run decides with this detector, if none does.
#[must_use]
pub fn for_comparison_only(name: &str) -> Option<String> {
    let deciding = DETECTORS.iter().map(|(name, _)| *name).filter(|name| !BASELINES.contains(name));
    BASELINES.contains(&name).then(|| {
        format!(
            "is only for comparison, in `leitong compare` and leitong-lab (--detector or --variant); choose one of {}",
            deciding.collect::<Vec<_>>().join(", ")
        )
    })
}

/// Returns the errors that a schema cannot express.
fn faults_of(config: &Config) -> impl Iterator<Item = String> {
    let PipelineConfig { queue_bytes, .. } = config.pipeline;
    let small_queue = (config.page.line_bytes_max > queue_bytes.saturating_mul(4)).then(|| {
        format!(
            "pipeline.queue_bytes = {queue_bytes}: must be at least a quarter of page.line_bytes_max = {}; raise the first or \
             lower the second",
            config.page.line_bytes_max
        )
    });
    let input = Mapping::new(&config.input).err().unwrap_or_default();
    let own = input.into_iter().chain(small_queue).chain(config.paragraph.faults());
    own.chain(config.kafka.faults())
        .chain(config.canonical.faults())
        .chain(canonical_fault(config))
        .chain(recrawls_fault(config))
        .chain(config.table.fault())
        .chain(config.admin.fault())
        .chain(config.api.fault())
}

/// Checks the rules for canonical pages against other settings.
fn canonical_fault(config: &Config) -> Option<String> {
    let CanonicalConfig { prefer, .. } = &config.canonical;
    let reads_metadata =
        |preference: &&Preference| matches!(preference, Preference::CanonicalLink | Preference::Published);
    if config.table.on_disk && !prefer.is_empty() {
        return Some(
            "canonical.prefer: cannot be used with table.on_disk = true; remove one of them".to_owned(),
        );
    }
    prefer.iter().find(reads_metadata).filter(|_| !config.extract.metadata).map(|preference| {
        format!(
            "canonical.prefer: \"{preference}\" needs the metadata of pages; set extract.metadata = true, or remove \
             \"{preference}\""
        )
    })
}

/// Checks the settings for recrawls against other settings.
fn recrawls_fault(config: &Config) -> Option<String> {
    (config.recrawls.enabled && config.table.on_disk).then(|| {
        "recrawls.enabled: cannot be used with table.on_disk = true; set one of them to false".to_owned()
    })
}

/// Returns the key that a message is about, which is the message's beginning.
#[must_use]
pub fn key_of(fault: &str) -> &str {
    let end = [" = ", ": "].iter().filter_map(|end| fault.find(end)).min();
    &fault[..end.unwrap_or(fault.len())]
}

/// Returns the line, from 1, of a key or table in the text of a configuration, by its full name; `None` if it
/// is not there.
#[must_use]
pub fn line_of_key(text: &str, name: &str) -> Option<usize> {
    fn find(table: &DeTable, name: &str) -> Option<usize> {
        table.iter().find_map(|(key, value)| {
            let rest = name.strip_prefix(key.get_ref().as_ref())?;
            match (value.get_ref(), rest.strip_prefix('.')) {
                (_, None) => rest.is_empty().then(|| key.span().start),
                (DeValue::Table(inside), Some(rest)) => find(inside, rest),
                _ => None,
            }
        })
    }
    Some(line_of(text, find(DeTable::parse(text).ok()?.get_ref(), name)?))
}

fn detector_names() -> impl Iterator<Item = &'static str> {
    DETECTORS.iter().map(|(name, _)| *name)
}

/// Returns a message for an unknown detector: the most similar name, and all names.
#[must_use]
pub fn detectors_hint(name: &str) -> String {
    let names: Vec<&str> = detector_names().collect();
    match nearest(name, names.iter().copied()) {
        Some(nearest) => {
            format!("no such detector; did you mean {nearest:?}? Choose one of {}", names.join(", "))
        }
        None => format!("no such detector; choose one of {}", names.join(", ")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::{Confirm, Duplicates};

    /// Returns a setting as JSON. Those that no run changes are private to their detector.
    fn setting(section: &impl serde::Serialize, name: &str) -> String {
        serde_json::to_value(section).expect("JSON")[name].to_string()
    }

    fn parsed(text: &str) -> Result<Config, Vec<String>> {
        let lookup = |name: &str| (name == "WORDS").then(|| "mine\n.txt".to_owned());
        Config::parse(text, Path::new("leitong.toml"), lookup)
            .map_err(|error| error.to_string().lines().map(str::to_owned).collect())
    }

    #[test]
    fn an_empty_file_gives_the_defaults() {
        assert_eq!(parsed(""), Ok(Config::default()));
    }

    #[test]
    fn keys_are_read() {
        let config = parsed(
            "[simhash.near]\nmax_distance = 3\nduplicates = \"same\"\n\
             [segment]\nuser_dictionary = \"${WORDS}\"\nstop_word_languages = [\"zh\", \"${X:-ja}\"]\n",
        )
        .expect("right");
        assert_eq!((config.simhash.near.max_distance, config.simhash.near.duplicates), (3, Duplicates::Same));
        assert_eq!(config.segment.user_dictionary.as_deref(), Some(Path::new("mine\n.txt")));
        assert_eq!(config.segment.stop_word_languages, ["zh", "ja"]);
    }

    #[test]
    fn every_error_names_file_line_key_value_and_remedy() {
        let text = "detektor = \"simhash\"\n\n[simhash.near]\nmax_distence = 3\nmax_distance = 40\n\
                    duplicates = \"al\"\nsketch_matches_more = \"many\"\n[page]\nbytes_max = 1.5\n\
                    [segment]\nfold_script = 1\nuser_dictionary = \"${NOPE}/x\"\nstop_word_languages = \"zh\"\n\
                    [nonsense]\na = 1\n";
        let mut faults = parsed(text).expect_err("invalid");
        faults.sort_by_key(|fault| {
            fault.split(' ').nth(2).and_then(|n| n.trim_end_matches(':').parse::<u32>().ok())
        });
        assert_eq!(
            faults,
            [
                "leitong.toml: line 1: detektor: no such key; did you mean detector?",
                "leitong.toml: line 4: simhash.near.max_distence: no such key; did you mean simhash.near.max_distance?",
                "leitong.toml: line 5: simhash.near.max_distance = 40: must be a whole number from 0 to 20",
                "leitong.toml: line 6: simhash.near.duplicates = \"al\": must be \"all\" or \"contained\" or \"same\"",
                "leitong.toml: line 7: simhash.near.sketch_matches_more = (4 characters, not shown): must be a whole number from 0 to 64",
                "leitong.toml: line 9: page.bytes_max = 1.5: must be a whole number from 1024 to 1073741824",
                "leitong.toml: line 11: segment.fold_script = 1: must be true or false",
                "leitong.toml: line 12: segment.user_dictionary: the environment variable NOPE \
                 is not set; set it, or write ${NOPE:-default}",
                "leitong.toml: line 13: segment.stop_word_languages = (2 characters, not shown): must be a list of strings",
                "leitong.toml: line 14: nonsense: no such key; choose one of detector, input, page, corpus, extract, segment, fingerprint, simhash, paragraph, \
                 agglomerate-term, concept-network, expiry, canonical, recrawls, table, pipeline, kafka, admin, traces, api",
            ]
        );
    }

    #[test]
    fn a_file_in_another_encoding_is_refused_with_its_line() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("leitong.toml");
        std::fs::write(&path, b"detector = \"simhash\"\n[kafka]\napp = \"caf\xe9\"\n").expect("written");
        let error = Config::from_file(&path).expect_err("not UTF-8").to_string();
        assert!(
            error.ends_with("leitong.toml: line 3: is not UTF-8; save the file in this encoding"),
            "{error}"
        );
    }

    #[test]
    fn tables_of_the_users_own_keys_are_read_and_never_shown() {
        let text =
            "[kafka.properties]\n\"sasl.password\" = \"${WORDS}\"\n\"linger.ms\" = 7\n\"a.b\" = true\n";
        let config = parsed(text).expect("right");
        let values: Vec<_> =
            config.kafka.properties.0.iter().map(|(k, v)| (k.as_str(), v.as_str())).collect();
        assert_eq!(values, [("a.b", "true"), ("linger.ms", "7"), ("sasl.password", "mine\n.txt")]);
        let faults = parsed("[kafka.properties]\n\"sasl.password\" = [\"hunter2\"]\nb = \"x${hunter2\"\n");
        let faults = faults.expect_err("invalid").join("\n");
        assert!(faults.contains("line 2: kafka.properties.sasl.password: must be"), "{faults}");
        assert!(faults.contains("line 3: kafka.properties.b: ") && !faults.contains("hunter2"), "{faults}");
    }

    #[test]
    fn a_secret_in_the_wrong_place_is_not_shown() {
        let message = |variable: &str, value: Option<&str>| {
            secret(Some(variable), |_| value.map(OsString::from)).expect_err("wrong").to_string()
        };
        assert!(
            message("LEITONG_SECRET", None)
                .starts_with("fingerprint.secret_env = \"LEITONG_SECRET\": is not set")
        );
        assert!(!message("LEITONG_SECRET", Some("hunter2")).contains("hunter2"));
        for misplaced in ["hunter2", "hunter=2", "4711deadbeef4711", &"7".repeat(64)] {
            let message = message(misplaced, None);
            assert!(message.starts_with("fingerprint.secret_env = (not shown): is "), "{message}");
        }
        assert_eq!(secret(None, |_| None).expect("none is named"), None);
        let named = secret(Some("LEITONG_SECRET"), |_| Some("hunter2hunter2hunter2".into()));
        assert!(named.expect("long enough").is_some());
    }

    #[test]
    fn constants_and_settings_of_detectors_are_refused_with_advice() {
        let text = "[extract]\nnodes_max = 300000\n[kafka.transaction]\nlinger_ms = \"soon\"\n[simhash.near]\n\
                    confirm = \"none\"\n[shingle]\nsize = 6\n";
        assert_eq!(
            parsed(text).expect_err("no settings of a run"),
            [
                "leitong.toml: line 2: extract.nodes_max = 300000: is always 300000; remove it: to spend less on large pages, lower \
                 page.bytes_max",
                "leitong.toml: line 4: kafka.transaction.linger_ms = (4 characters, not shown): is always 50; remove it: to publish sooner, run more \
                 instances",
                "leitong.toml: line 8: shingle.size = 6: is not a setting of a run; remove it, or move it to a detector file, which \
                 `leitong compare` and leitong-lab read with --variant (a run uses 5)",
                "leitong.toml: line 6: simhash.near.confirm = \"none\": is not a setting of a run; remove it, or move it to a detector \
                 file, which `leitong compare` and leitong-lab read with --variant (a run uses \"sketch\")",
            ]
        );
    }

    #[test]
    fn a_detector_file_holds_the_settings_of_detectors_alone() {
        let variant = |text: &str| {
            parse_file(text, Path::new("mine.toml"), File::Detector, |_| None)
                .map_err(|error| error.to_string().lines().map(str::to_owned).collect::<Vec<_>>())
        };
        let text = "detector = \"shingle\"\n[shingle]\nsize = 6\n[simhash]\nhash = \"sdbm\"\n\
                    [simhash.near]\nmax_distance = 3\nconfirm = \"none\"\n[idf]\nfile = \"idf.tsv\"\n";
        let file = variant(text).expect("all are settings of detectors");
        let mut run = Config::default();
        run.segment.fold_script = false;
        let config = run.clone().with_detector_of(file);
        assert_eq!((&*config.detector, &*setting(&config.simhash, "hash")), ("shingle", "\"sdbm\""));
        assert_eq!(config.simhash.near.confirm, Confirm::None);
        assert_eq!(config.segment, run.segment, "all other settings are those of the run");
        let wrong = "[kafka.properties]\n\"sasl.password\" = \"hunter2\"\n[extract]\npage_kinds = false\ndepth_max = 7\n";
        let faults = variant(wrong).expect_err("other settings");
        assert_eq!(faults.len(), 3, "{faults:?}");
        assert!(faults.iter().all(|fault| !fault.contains("hunter2")), "{faults:?}");
        let says = ["is always 50000;", "set it in the configuration", "set it in the configuration"];
        for (fault, says) in faults.iter().zip(says) {
            assert!(fault.contains(says), "{faults:?}");
        }
    }

    #[test]
    fn tests_and_measurements_may_change_every_setting() {
        let lookup = |name: &str| (name == EVERY_SETTING).then(|| "1".to_owned());
        let text = "detector = \"shingle\"\n[shingle]\nsize = 6\n[extract]\nnodes_max = 1000\n";
        let config = Config::parse(text, Path::new("leitong.toml"), lookup).expect("all are held");
        assert_eq!((&*setting(&config.shingle, "size"), config.extract.nodes_max), ("6", 1000));
    }

    #[test]
    fn broken_toml_is_reported_with_its_line() {
        let message = parsed("detector = \n").expect_err("broken").join("\n");
        assert!(message.starts_with("leitong.toml: line 1: "), "{message}");
    }

    #[test]
    fn an_unknown_detector_is_refused() {
        let faults = parsed("detector = \"md5\"").expect_err("unknown");
        assert_eq!(faults.len(), 1);
        assert!(
            faults[0].starts_with(
                "leitong.toml: line 1: detector = (3 characters, not shown): no such detector; choose one of simhash, paragraph"
            ),
            "{faults:?}"
        );
        let faults = parsed("detector = \"simhsh\"").expect_err("unknown");
        assert!(
            faults[0].contains("no such detector; did you mean \"simhash\"? Choose one of simhash, "),
            "{faults:?}"
        );
    }
}
