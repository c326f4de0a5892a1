//! The detectors, one file or folder each.
//!
//! `simhash` is the default. `paragraph`, `agglomerate_term` and the concept network of [`network`] implement
//! other published methods; the rest are baselines for comparison. `config/detectors.rs` lists them by name.

pub mod agglomerate_term;
pub mod i_match;
pub mod network;
pub mod paragraph;
pub mod punctuation;
pub mod sentence_ends;
pub mod shingle;
pub mod simhash;
pub mod tf_idf;

use crate::Detector;
use crate::resources::{ResourceError, Resources};

/// Names of the detectors that are only for comparison. No run decides with them.
pub const BASELINES: [&str; 6] =
    ["word-network", "shingle", "i-match", "tf-idf", "punctuation", "sentence-ends"];

/// Returns every detector, with its default settings. New detectors are added here as well as in
/// `config/detectors.rs`.
///
/// # Errors
/// [`ResourceError`] if the contents of a file cannot be used.
pub fn with_defaults(resources: &Resources) -> Result<Vec<Box<dyn Detector>>, ResourceError> {
    Ok(vec![
        Box::new(simhash::SimHash::keyed(&Default::default(), resources.secret.as_ref())),
        Box::new(paragraph::Paragraph::new(&Default::default(), resources)?),
        Box::new(agglomerate_term::AgglomerateTerm::new(&Default::default(), resources)),
        Box::new(network::Network::of_concepts(&Default::default(), resources)?),
        Box::new(network::Network::of_words(&Default::default(), resources)?),
        Box::new(shingle::Shingle::new(&Default::default(), resources)),
        Box::new(i_match::IMatch::new(&Default::default(), resources)?),
        Box::new(tf_idf::TfIdf::new(&Default::default(), resources)?),
        Box::new(punctuation::Punctuation::new(&Default::default(), resources)),
        Box::new(sentence_ends::SentenceEnds::new(&Default::default(), resources)),
    ])
}
