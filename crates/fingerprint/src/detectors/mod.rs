//! The detectors, one file or folder each.
//!
//! `simhash` is the default. `paragraph`, `agglomerate_term` and the concept network of [`network`] implement
//! other published methods; the rest are baselines for comparison. `src/config/detectors.rs` lists them by name.

mod agglomerate_term;
mod i_match;
mod network;
mod paragraph;
mod punctuation;
mod sentence_ends;
mod shingle;
pub mod simhash;
mod tf_idf;

pub use agglomerate_term::AgglomerateTermConfig;
pub use i_match::IMatchConfig;
pub use network::{ConceptNetworkConfig, WordNetworkConfig};
pub use paragraph::ParagraphConfig;
pub use punctuation::PunctuationConfig;
pub use sentence_ends::SentenceEndsConfig;
pub use shingle::ShingleConfig;
pub use tf_idf::TfIdfConfig;

use crate::Detector;
use crate::resources::{ResourceError, Resources};

/// Names of the detectors that are only for comparison. No run decides with them.
pub const BASELINES: [&str; 6] =
    ["word-network", "shingle", "i-match", "tf-idf", "punctuation", "sentence-ends"];

/// Returns every detector, with its default settings. New detectors are added here as well as in
/// `src/config/detectors.rs`.
///
/// # Errors
/// [`ResourceError`] if the contents of a file cannot be used.
pub fn with_defaults(resources: &Resources) -> Result<Vec<Box<dyn Detector>>, ResourceError> {
    Ok(vec![
        Box::new(simhash::SimHash::keyed(&Default::default(), resources.secret.as_ref())),
        ParagraphConfig::default().detector(resources)?,
        AgglomerateTermConfig::default().detector(resources),
        ConceptNetworkConfig::default().detector(resources)?,
        WordNetworkConfig::default().detector(resources)?,
        ShingleConfig::default().detector(resources),
        IMatchConfig::default().detector(resources)?,
        TfIdfConfig::default().detector(resources)?,
        PunctuationConfig::default().detector(resources),
        SentenceEndsConfig::default().detector(resources),
    ])
}
