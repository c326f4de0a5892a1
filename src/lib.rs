//! Leitong (雷同) finds near-duplicate web pages: is this page new, or a copy of an earlier one?
//!
//! # Use as a library
//!
//! A [`Deduplicator`] takes [`Page`]s and returns [`Verdict`]s. A [`Table`] keeps its state on disk:
//!
//! ```
//! use leitong::{Config, Deduplicator, Page};
//!
//! let mut deduplicator = Deduplicator::new(&Config::default())?;
//! let verdict = deduplicator.decide(Page::html("https://a.example/", "<p>Hello</p>"));
//! println!("{} {:?}", verdict.url, verdict.kind);
//! # Ok::<(), leitong::ConfigError>(())
//! ```
//!
//! The steps are also available one by one: an [`Extractor`] finds the main text of HTML ([`Document`]), a
//! [`Segmenter`] splits it into [`Terms`], and a [`Detector`] makes fingerprints of the terms and compares
//! them ([`detector`] returns one by name). All settings are in [`Config`]; `leitong config example` prints
//! them. `examples/embed.rs` is a complete program.
//!
//! With the feature `program`, which is on by default, [`main`] is the whole command line. Without it, nothing of
//! HTTP, Kafka and the command line is built.
//!
//! # Modules
//!
//! Modules are listed from the parts that others build on to complete programs. Each module uses only modules above
//! it, never below (`tests/local/rooms.rs` checks that). `ARCHITECTURE.md` has a diagram.

pub mod pipeline;

mod deduplicator;

#[cfg(feature = "program")]
mod graph;

#[cfg(feature = "program")]
mod checkpoint;

#[cfg(feature = "program")]
mod formats;

#[cfg(feature = "kafka")]
mod tap;

#[cfg(feature = "program")]
mod cli;

#[cfg(feature = "program")]
pub use cli::main;
pub use deduplicator::{Deduplicator, RecordError, Table};
pub use leitong_base::record::{Credits, PublicationTime, Reason};
pub use leitong_cluster::verdict::{self, Kind, Verdict};
pub use leitong_fingerprint::{self as fingerprint, Comparison, Detector};
pub use leitong_pipeline::config::detectors::{DETECTORS, detector};
pub use leitong_pipeline::config::load::ConfigError;
pub use leitong_pipeline::config::{self, Config};
pub use leitong_store::snapshot::SnapshotError;
pub use leitong_text::extract::{self, Document, Extractor};
pub use leitong_text::page::{self, Body, Page};
pub use leitong_text::segment::{self, Segmenter, Terms};

#[cfg(test)]
#[path = "../tests/golden/mod.rs"]
mod golden;
