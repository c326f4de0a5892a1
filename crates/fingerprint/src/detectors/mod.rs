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
