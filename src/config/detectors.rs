//! All detectors by name, each made with its part of a configuration.

use super::Config;
use crate::detectors::{
    agglomerate_term, i_match, network, paragraph, punctuation, sentence_ends, shingle, simhash, tf_idf,
};
use crate::fingerprint::Detector;
use crate::fingerprint::resources::{ResourceError, Resources};

/// Builds a detector with the settings of a configuration and the contents of the files it names.
pub type Build = fn(&Config, &Resources) -> Result<Box<dyn Detector>, ResourceError>;

/// Every detector by name. A new one is entered here.
pub const DETECTORS: &[(&str, Build)] = &[
    ("simhash", |config, resources| {
        Ok(Box::new(simhash::SimHash::keyed(&config.simhash, resources.secret.as_ref())))
    }),
    ("paragraph", |config, resources| Ok(Box::new(paragraph::Paragraph::new(&config.paragraph, resources)?))),
    ("agglomerate-term", |config, resources| {
        Ok(Box::new(agglomerate_term::AgglomerateTerm::new(&config.agglomerate_term, resources)))
    }),
    ("concept-network", |config, resources| {
        Ok(Box::new(network::Network::of_concepts(&config.concept_network, resources)?))
    }),
    ("word-network", |config, resources| {
        Ok(Box::new(network::Network::of_words(&config.word_network, resources)?))
    }),
    ("shingle", |config, resources| Ok(Box::new(shingle::Shingle::new(&config.shingle, resources)))),
    ("i-match", |config, resources| Ok(Box::new(i_match::IMatch::new(&config.i_match, resources)?))),
    ("tf-idf", |config, resources| Ok(Box::new(tf_idf::TfIdf::new(&config.tf_idf, resources)?))),
    ("punctuation", |config, resources| {
        Ok(Box::new(punctuation::Punctuation::new(&config.punctuation, resources)))
    }),
    ("sentence-ends", |config, resources| {
        Ok(Box::new(sentence_ends::SentenceEnds::new(&config.sentence_ends, resources)))
    }),
];

/// Detectors of the table that are there for comparison: in
/// `dedup`, `compare`, `eval` and `tune`, and not in `run`.
pub const BASELINES: [&str; 6] =
    ["word-network", "shingle", "i-match", "tf-idf", "punctuation", "sentence-ends"];

/// The detector of this name, with the settings of `config`; none if there is no such name. Says so
/// if it does less than its name without files that the settings could name.
///
/// # Errors
/// [`ResourceError`], where a file's contents cannot be used.
pub fn detector(
    name: &str,
    config: &Config,
    resources: &Resources,
) -> Option<Result<Box<dyn Detector>, ResourceError>> {
    if name == "concept-network" && resources.concepts.is_empty() {
        tracing::info!("{name}: no {name}.lexicon_files, so each term is a concept of its own");
    }
    DETECTORS.iter().find(|(known, _)| *known == name).map(|(_, build)| build(config, resources))
}
