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

#![cfg_attr(
    not(feature = "kafka"),
    allow(dead_code, reason = "parts of what the library and the worker share have no user without it")
)]

// The library.
mod verdict_message;

pub mod config;

pub mod pipeline;

mod deduplicator;

// Parts that the commands share.
#[cfg(feature = "program")]
mod backoff;

#[cfg(feature = "program")]
mod http;

#[cfg(feature = "program")]
mod telemetry;

#[cfg(feature = "kafka")]
mod kafka;

#[cfg(feature = "program")]
mod graph;

#[cfg(feature = "program")]
mod checkpoint;

#[cfg(feature = "program")]
mod formats;

// Complete programs.
#[cfg(feature = "program")]
mod api;

#[cfg(feature = "program")]
mod console;

#[cfg(feature = "kafka")]
mod tap;

#[cfg(feature = "kafka")]
mod worker;

#[cfg(feature = "program")]
mod cli;

#[cfg(feature = "program")]
pub use cli::main;
#[cfg(feature = "program")]
#[doc(hidden)]
pub use cli::shared as command_line;
pub use config::Config;
pub use config::detectors::{DETECTORS, detector};
pub use config::load::ConfigError;
pub use deduplicator::{Batch, Deduplicator, RecordError, Table};
pub use leitong_base::record::{Credits, PublicationTime, Reason};
pub use leitong_cluster::log::EntryError;
pub use leitong_cluster::verdict::{self, Kind, Verdict};
pub use leitong_fingerprint::{self as fingerprint, Comparison, Detector};
pub use leitong_store::snapshot::SnapshotError;
pub use leitong_text::extract::{self, Document};
pub use leitong_text::page::{self, Body, Page};
pub use leitong_text::segment::{self, Segmenter, Terms};

pub use pipeline::document::Refusal;
pub use pipeline::text_reader::TextReader;

#[cfg(test)]
#[path = "../tests/golden/mod.rs"]
mod golden;

#[cfg(all(test, feature = "program"))]
#[path = "../tests/chromium/worker.rs"]
mod chromium;

#[cfg(all(test, feature = "kafka"))]
#[path = "../tests/simulation/mod.rs"]
mod simulation;

#[cfg(all(test, feature = "program"))]
#[path = "../tests/common/wait.rs"]
mod wait;
