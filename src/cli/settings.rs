//! Builds the configuration of a run from command-line arguments and the configuration file.

use std::fmt;
use std::path::{Path, PathBuf};

use clap::Args;

use leitong_formats::source::InputRules;
use leitong_pipeline::config::detectors::DETECTORS;
use leitong_pipeline::config::load;
use leitong_pipeline::config::load::{ConfigError, detectors_hint};
use leitong_pipeline::config::{Config, THREADS_MAX};
use leitong_text::page::mapping::Mapping;
use leitong_text::segment::Segmenter;

/// An error in arguments or configuration; the exit status is 2.
#[derive(Debug)]
pub(super) struct Wrong(String);

/// Returns an error about arguments or configuration.
pub fn wrong(message: impl fmt::Display) -> anyhow::Error {
    anyhow::Error::new(Wrong(message.to_string()))
}

impl fmt::Display for Wrong {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for Wrong {}

impl From<ConfigError> for Wrong {
    fn from(error: ConfigError) -> Self {
        Self(error.to_string())
    }
}

/// Parses a number from 0 to 1.
///
/// # Errors
/// The text is something else.
pub fn share(text: &str) -> Result<f64, String> {
    let share = text.parse().ok().filter(|share| (0.0..=1.0).contains(share));
    share.ok_or_else(|| "must be a number from 0 to 1".to_owned())
}

/// Arguments of commands that decide on pages without a broker.
#[derive(Debug, Args)]
pub(super) struct DecisionArguments {
    /// Configuration file (see `leitong config example`)
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
    /// Detector to decide with, instead of the configured one
    #[arg(long, value_name = "NAME")]
    detector: Option<String>,
    /// Preset that reads the pages, instead of `input.preset` (see `leitong preset list`)
    #[arg(long, value_name = "NAME")]
    preset: Option<String>,
    /// Number of threads for decoding, extraction, segmentation and fingerprints [default: one per core]
    #[arg(long, value_name = "N")]
    threads: Option<usize>,
}

impl DecisionArguments {
    /// Returns the configuration of a run whose records have no message keys. `why_no_keys` explains that to
    /// the user.
    pub(super) fn config(&self, why_no_keys: &str) -> anyhow::Result<Config> {
        let mut config = config(self.config.as_deref(), self.detector.as_deref(), self.threads)?;
        if let Some(preset) = &self.preset {
            config.input.preset.clone_from(preset);
            // The preset may not fit the other settings of `[input]`.
            Mapping::new(&config.input)
                .map_err(|faults| wrong(faults.join("\n").replacen("input.preset =", "--preset", 1)))?;
        }
        if config.input.preset == "raw-body" {
            return Err(wrong(format_args!(
                "preset raw-body: takes the url of a page from the key of its message, but {why_no_keys}"
            )));
        }
        Ok(config)
    }
}

impl DecisionArguments {
    /// Returns the files that the run reads in addition to its inputs: the configuration, and those that it
    /// names.
    pub(super) fn files(&self, config: &Config) -> Vec<PathBuf> {
        let named = [
            &self.config,
            &config.segment.user_dictionary,
            &config.segment.stop_word_file,
            &config.idf.file,
            &config.paragraph.boilerplate_file,
        ];
        let concepts = config.concept_network.lexicon_files.iter();
        named.into_iter().flatten().chain(concepts).cloned().collect()
    }
}

/// Arguments that choose the detector of a command that only measures or explains.
#[derive(Debug, Args)]
pub struct ComparedDetector {
    /// Detector to use, instead of the configured one
    #[arg(long, value_name = "NAME")]
    detector: Option<String>,
    /// Detector file with the detector and all settings of detectors, instead of the configured ones
    #[arg(long, value_name = "FILE", conflicts_with = "detector")]
    variant: Option<PathBuf>,
}

impl ComparedDetector {
    /// Returns true if an argument names the detector.
    #[cfg(feature = "console")]
    pub(super) fn is_named(&self) -> bool {
        self.detector.is_some() || self.variant.is_some()
    }

    /// Returns the configuration in `file`, or the default one, with this detector. It may be one that is
    /// only for comparison.
    ///
    /// # Errors
    /// A file or name is wrong.
    pub fn config(&self, file: Option<&Path>) -> anyhow::Result<Config> {
        let mut config = config(file, None, None)?;
        match (&self.variant, self.detector.as_deref()) {
            (Some(variant), _) => with_variant(config, variant),
            (None, Some(name)) => {
                config.detector = known(name)?.to_owned();
                Ok(config)
            }
            (None, None) => Ok(config),
        }
    }
}

/// Returns the configuration with the detector, and all settings of detectors, of a detector file.
///
/// # Errors
/// The file is wrong.
pub fn with_variant(config: Config, variant: &Path) -> anyhow::Result<Config> {
    Ok(config.with_detector_of(Config::from_detector_file(variant).map_err(Wrong::from)?))
}

/// Returns `detector` if there is a detector of this name.
fn known(detector: &str) -> anyhow::Result<&str> {
    match DETECTORS.iter().any(|(name, _)| *name == detector) {
        true => Ok(detector),
        false => Err(wrong(format_args!("--detector {detector:?}: {}", detectors_hint(detector)))),
    }
}

/// Returns the configuration in `file`, or the default one, changed by the arguments.
///
/// # Errors
/// The file or an argument is wrong.
pub fn config(file: Option<&Path>, detector: Option<&str>, threads: Option<usize>) -> anyhow::Result<Config> {
    let mut config = match file {
        Some(path) => Config::from_file(path).map_err(Wrong::from)?,
        None => Config::default(),
    };
    if let Some(detector) = detector {
        let every_setting = load::holds_every_setting(|name| std::env::var(name).ok());
        if let Some(fault) = load::for_comparison_only(known(detector)?).filter(|_| !every_setting) {
            return Err(wrong(format_args!("--detector {detector:?}: {fault}")));
        }
        config.detector = detector.to_owned();
    }
    if let Some(threads) = threads {
        checked_threads(threads)?;
        config.pipeline.threads = threads;
    }
    Ok(config)
}

/// Rejects more threads than any machine can use.
pub(super) fn checked_threads(threads: usize) -> anyhow::Result<()> {
    if threads > THREADS_MAX {
        return Err(wrong(format_args!(
            "--threads {threads}: must be from 0 (one per core) to {THREADS_MAX}"
        )));
    }
    Ok(())
}

/// Returns the configuration of a command that talks to Kafka. It must name brokers: a worker that quietly
/// tried localhost would be hard to diagnose.
#[cfg(feature = "kafka")]
pub(super) fn kafka_config(file: Option<&Path>) -> anyhow::Result<Config> {
    let config = config(file, None, None)?;
    if config.kafka.bootstrap_servers.trim().is_empty() {
        let place = match file {
            Some(file) => format!("set it in {}", file.display()),
            None => "set it in a file, and name the file with --config".to_owned(),
        };
        return Err(wrong(format_args!(
            "kafka.bootstrap_servers is not set, so there are no brokers to connect to; {place}, under [kafka], for example: \
             bootstrap_servers = \"localhost:9092\""
        )));
    }
    Ok(config)
}

/// Returns the rules for reading inputs, from the configuration.
pub(super) fn input_rules(config: &Config) -> anyhow::Result<InputRules> {
    InputRules::new(&config.page, &config.input).map_err(|faults| wrong(faults.join("\n")))
}

/// Returns the segmenter of a configuration, with the word lists that it names.
///
/// # Errors
/// A list cannot be used.
pub fn segmenter(config: &Config) -> anyhow::Result<Segmenter> {
    let lexicons = config.lexicons().map_err(Wrong::from)?;
    Segmenter::new(&config.segment, &lexicons).map_err(wrong)
}
