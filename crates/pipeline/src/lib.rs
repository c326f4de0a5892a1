//! The settings of Leitong, and the steps of a page one by one.
//!
//! ```text
//! line, message ─► PageReader ─► page ─► FingerprintStage ─► record ─► LogSource ─► log ─► ClusterStage ─► verdict
//! ```
//! Everything runs on the calling thread. What runs these steps at the same time, over files, HTTP or Kafka, is above
//! this crate. No module uses one that is listed below it.

pub mod verdict_message;

pub mod config;

pub mod marks;

pub mod document;

mod page_message;

mod page_reader;

pub mod text_reader;

mod written_text;

mod fingerprint_stage;

mod log_source;

mod cluster_stage;

pub mod templates;

pub mod comparison;

pub use cluster_stage::{ClusterStage, TableView};
pub use fingerprint_stage::{
    CompressedTexts, FingerprintStage, Fingerprinted, LanguageFilter, Workspace, corpus_name,
};
pub use log_source::{LOG_PARTITIONS_MAX, LogSource, log_partition};
pub use page_message::Message;
pub use page_reader::{NoPage, PageReader};
pub use written_text::WrittenForm;
