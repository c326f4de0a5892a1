//! Leitong (雷同): is this page new, or a near-duplicate of an earlier one?
//!
//! # To embed it
//!
//! A [`Deduplicator`] takes [`Page`]s and gives
//! [`Verdict`]s; a [`Table`] keeps what it knows on disk:
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
//! Its steps can be had one by one: an [`Extractor`] finds the main text of HTML ([`Document`]), a
//! [`Segmenter`] cuts it into [`Terms`], and a [`Detector`] makes fingerprints of these and
//! compares them ([`detector`] gives one by name). All settings are in [`Config`];
//! `leitong config example` prints them. `examples/embed.rs` is a whole program.
//!
//! Everything that these pages do not show is public for the
//! program's own tests alone, and may change with any version.
//!
//! # The house
//!
//! The modules stand in the order in which they build on one another,
//! which is that of the flow: each uses those above it and none below
//! (`tests/local/rooms.rs` holds them to it). `ARCHITECTURE.md` draws the flow.

#![cfg_attr(
    not(feature = "kafka"),
    allow(dead_code, reason = "telemetry that only the worker uses has no user without it")
)]

// What all others stand on.
mod backoff;
mod hashed;
#[doc(hidden)]
pub mod limits;
mod mix;
#[doc(hidden)]
pub mod proto;
#[doc(hidden)]
pub mod random;
#[doc(hidden)]
pub mod record;
mod varint;
#[doc(hidden)]
pub mod work;

// From a page to its fingerprint.
pub mod page;

#[doc(hidden)]
pub mod decode;

pub mod extract;

pub mod segment;

pub mod fingerprint;

#[doc(hidden)]
pub mod detectors;

// From fingerprints to verdicts.
#[doc(hidden)]
pub mod log;

#[doc(hidden)]
pub mod cluster;

pub mod verdict;

// In and out.
#[doc(hidden)]
pub mod telemetry;

#[doc(hidden)]
pub mod source;

#[doc(hidden)]
pub mod sink;

#[doc(hidden)]
pub mod keep;

#[doc(hidden)]
pub mod kafka;

// Settings, and tables that are kept.
pub mod config;

#[doc(hidden)]
pub mod changelog;

#[doc(hidden)]
pub mod blocks;

#[doc(hidden)]
pub mod snapshot;

// All of it put together.
#[doc(hidden)]
pub mod pipeline;

#[doc(hidden)]
pub mod checkpoint;
#[doc(hidden)]
pub mod formats;

#[doc(hidden)]
pub mod api;

#[doc(hidden)]
pub mod console;

#[cfg(feature = "kafka")]
#[doc(hidden)]
pub mod tap;

#[cfg(feature = "kafka")]
#[doc(hidden)]
pub mod worker;

mod deduplicator;

// Measuring, and the command line.
#[doc(hidden)]
pub mod eval;

#[doc(hidden)]
pub mod bench;

#[doc(hidden)]
pub mod cli;

pub use config::Config;
pub use config::detectors::detector;
pub use config::load::ConfigError;
pub use deduplicator::{Deduplicator, Table};
pub use extract::{Document, ExtractConfig, Extractor};
pub use fingerprint::{Comparison, Detector};
pub use page::{Body, Page};
pub use record::{Credits, PublicationTime, Reason};
pub use segment::{Segmenter, Terms};
pub use snapshot::SnapshotError;
pub use verdict::{Kind, Verdict};

#[cfg(test)]
#[path = "../tests/golden/mod.rs"]
mod golden;
#[cfg(all(test, feature = "kafka"))]
#[path = "../tests/simulation/mod.rs"]
mod simulation;
#[cfg(test)]
#[path = "../tests/common/wait.rs"]
mod wait;
