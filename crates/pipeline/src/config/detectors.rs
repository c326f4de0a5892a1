//! All detectors by name, each with a function that builds it from a configuration.

use super::Config;
use leitong_fingerprint::Detector;
use leitong_fingerprint::detectors::simhash::SimHash;
use leitong_fingerprint::resources::{ResourceError, Resources};

/// Function that builds a detector with the settings of a configuration and the contents of the files it
/// names.
pub type Build = fn(&Config, &Resources) -> Result<Box<dyn Detector>, ResourceError>;

/// Every detector by name, with the function that builds it. Those that are only for comparison are in
/// [`BASELINES`](leitong_fingerprint::detectors::BASELINES).
pub const DETECTORS: &[(&str, Build)] = &[
    ("simhash", |config, resources| Ok(Box::new(SimHash::keyed(&config.simhash, resources.secret.as_ref())))),
    ("paragraph", |config, resources| config.paragraph.detector(resources)),
    ("agglomerate-term", |config, resources| Ok(config.agglomerate_term.detector(resources))),
    ("concept-network", |config, resources| config.concept_network.detector(resources)),
    ("word-network", |config, resources| config.word_network.detector(resources)),
    ("shingle", |config, resources| Ok(config.shingle.detector(resources))),
    ("i-match", |config, resources| config.i_match.detector(resources)),
    ("tf-idf", |config, resources| config.tf_idf.detector(resources)),
    ("punctuation", |config, resources| Ok(config.punctuation.detector(resources))),
    ("sentence-ends", |config, resources| Ok(config.sentence_ends.detector(resources))),
];

/// Builds the detector of this name with the settings of `config`; `None` if the name is unknown. Logs a note
/// if the detector is less capable without files that the settings could name.
///
/// ```
/// # mod leitong { pub use leitong_pipeline::config::{Config, detectors::detector}; }
/// use leitong::{Config, detector};
///
/// let config = Config::default();
/// let simhash = detector("simhash", &config, &config.resources()?).expect("a known name")?;
/// assert_eq!(simhash.name(), "simhash");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
/// [`ResourceError`] if the contents of a file cannot be used.
pub fn detector(
    name: &str,
    config: &Config,
    resources: &Resources,
) -> Option<Result<Box<dyn Detector>, ResourceError>> {
    if name == "concept-network" && resources.concepts.is_empty() {
        tracing::info!(
            "{name}: synonyms are not recognised, since {name}.lexicon_files is empty and each term is its own concept"
        );
    }
    DETECTORS.iter().find(|(known, _)| *known == name).map(|(_, build)| build(config, resources))
}

#[cfg(test)]
mod tests {
    use leitong_fingerprint::detectors::with_defaults;

    use super::*;

    /// The tests of tables on disk take their detectors from `with_defaults`, so it must list all of them.
    #[test]
    fn detectors_with_defaults_are_those_of_the_configuration() {
        let names: Vec<&str> = DETECTORS.iter().map(|(name, _)| *name).collect();
        let detectors = with_defaults(&Resources::default()).expect("the defaults");
        assert_eq!(detectors.iter().map(|detector| detector.name()).collect::<Vec<_>>(), names);
    }
}
