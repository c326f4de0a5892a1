//! The laboratory: how well do detectors work on these pages, and what can this machine handle?
//!
//! ```text
//! pages ─┬─► eval: detectors compared, with a recommendation
//!        ├─► perturb: near-duplicates of the pages, which eval reads
//!        └─► tune: the threshold that fits labelled pairs
//! a program ─► bench: time of its stages; speed and size of the centroid table
//! ```
//!
//! [`pages`] are documents that the caller has read, with labels if they have any. Deciding on pages does not
//! need this crate.
//!
//! ```
//! use std::sync::Arc;
//!
//! use leitong_fingerprint::detectors::simhash::{SimHash, SimHashConfig};
//! use leitong_lab::eval::{EvaluatedDetector, Plan, evaluate};
//! use leitong_lab::pages::EvalPage;
//! use leitong_text::extract::Document;
//! use leitong_text::segment::{Lexicons, SegmentConfig, Segmenter};
//!
//! let page = |id: &str, text: &str| EvalPage {
//!     id: id.to_owned(),
//!     document: Document::from_text(None, text),
//!     label: None,
//! };
//! let pages = [
//!     page("ferry", "The ferry leaves at eight in the morning, every day but Sunday."),
//!     page("harvest", "Farmers expect a late harvest, since the spring was cold and wet."),
//! ];
//! let detector = Arc::new(SimHash::new(&SimHashConfig::default()));
//! let detectors = [EvaluatedDetector { name: "simhash".to_owned(), detector }];
//! let segmenter = Segmenter::new(&SegmentConfig::default(), &Lexicons::default())?;
//! let plan = Plan { seed: 1, texts: 100, pairs: 100, synonyms: String::new(), threads: 1 };
//! let report = evaluate(vec!["two pages".to_owned()], &pages, &detectors, &segmenter, &plan)?;
//! assert!(report.markdown().contains("| `simhash` |"));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

pub mod pages;
pub mod perturb;

pub mod eval;
pub mod tune;

pub mod bench;
