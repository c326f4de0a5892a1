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
//! let verdict = deduplicator.decide(Page::html("https://a.example/", "<p>Hello</p>"))?;
//! println!("{} {:?}", verdict.url, verdict.kind);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! The steps are also available one by one: a [`TextReader`] finds the main text of a page ([`Document`]), a
//! [`Segmenter`] splits it into [`Terms`], and a [`Detector`] makes fingerprints of the terms and compares
//! them ([`detector`] returns one by name). `examples/embed.rs` is a complete program.
//!
//! All settings are in [`Config`]. Set some by their names in the file, which checks them; the others have their
//! defaults:
//!
//! ```
//! let config = leitong::Config::from_toml("simhash.near.max_distance = 2\nexpiry.max_age_days = 90")?;
//! # Ok::<(), leitong::ConfigError>(())
//! ```
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

#[cfg(feature = "kafka")]
mod formats;

#[cfg(feature = "kafka")]
mod tap;

#[cfg(feature = "program")]
mod cli;

#[cfg(feature = "program")]
pub use cli::main;
#[cfg(feature = "program")]
#[doc(hidden)]
pub use cli::shared as command_line;
pub use deduplicator::Batch;
pub use deduplicator::Deduplicator;
pub use deduplicator::RecordError;
pub use deduplicator::Table;
pub use leitong_base::record::{Metadata, PublicationTime, Reason};
pub use leitong_cluster::log::EntryError;
pub use leitong_cluster::verdict::{self, Kind, Verdict};
pub use leitong_fingerprint::{self as fingerprint, Comparison, Detector};
pub use leitong_pipeline::config::detectors::{DETECTORS, detector};
pub use leitong_pipeline::config::load::ConfigError;
pub use leitong_pipeline::config::{self, Config};
pub use leitong_store::snapshot::SnapshotError;
pub use leitong_text::extract::{self, Document};
pub use leitong_text::page::{self, Body, Page};
pub use leitong_text::segment::{self, Segmenter, Terms};

pub use leitong_pipeline::document::Refusal;
pub use leitong_pipeline::text_reader::TextReader;

#[cfg(test)]
#[path = "../tests/golden/mod.rs"]
mod golden;
