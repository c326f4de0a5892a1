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
//! All items that this documentation does not show are public only for the program's own tests, and may
//! change with any version.
//!
//! # Modules
//!
//! Modules are listed in the order in which a page goes through them. Each module uses only modules above it,
//! never below (`tests/local/rooms.rs` checks that). `ARCHITECTURE.md` has a diagram.

#![cfg_attr(
    not(feature = "kafka"),
    allow(dead_code, reason = "telemetry that only the worker uses has no user without it")
)]

mod backoff;
mod http;

// Input, output, and what is observed.
#[doc(hidden)]
pub mod telemetry;

#[doc(hidden)]
pub mod kafka;

pub mod config;

// Complete programs, put together from the crates and the modules above.
#[doc(hidden)]
pub mod pipeline;

mod checkpoint;
#[doc(hidden)]
pub mod formats;

#[doc(hidden)]
pub mod api;

#[doc(hidden)]
pub mod console;

#[cfg(feature = "kafka")]
mod tap;

#[cfg(feature = "kafka")]
mod worker;

mod deduplicator;

// The command line.
#[doc(hidden)]
pub mod cli;

pub use config::Config;
pub use config::detectors::detector;
pub use config::load::ConfigError;
pub use deduplicator::{Deduplicator, Table};
pub use leitong_base::record::{Credits, PublicationTime, Reason};
pub use leitong_cluster::verdict::{self, Kind, Verdict};
pub use leitong_fingerprint::{self as fingerprint, Comparison, Detector};
pub use leitong_store::snapshot::SnapshotError;
pub use leitong_text::{
    Body, Document, ExtractConfig, Extractor, Page, Segmenter, Terms, extract, page, segment,
};

#[cfg(test)]
#[path = "../tests/golden/mod.rs"]
mod golden;
#[cfg(all(test, feature = "kafka"))]
#[path = "../tests/simulation/mod.rs"]
mod simulation;
#[cfg(test)]
#[path = "../tests/common/wait.rs"]
mod wait;
