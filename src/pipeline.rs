//! The steps of a page one by one, for programs that put them together themselves.
//!
//! ```text
//! line, message ─► PageReader ─► page ─► FingerprintStage ─► record ─► LogSource ─► log ─► ClusterStage ─► verdict
//! ```
//! [`Deduplicator`](crate::Deduplicator) combines both stages in one value. Here they are separate: any number of
//! threads and machines can make records, and one owner decides on them in their order.
//!
//! ```
//! use leitong::pipeline::FingerprintStage;
//! use leitong::{Config, Deduplicator, Kind, Page};
//!
//! let config = Config::default();
//! let stage = FingerprintStage::new(config.clone())?;
//! let mut workspace = stage.workspace();
//! let text = "The mill by the river grinds no more, and swallows nest between the boards of its wheel.";
//! let page = |line| Page::text(format!("https://a.example/{line}"), text);
//! let records = [1, 2].map(|line| stage.record(page(line), &mut workspace));
//! let verdicts = Deduplicator::new(&config)?.decide_records(&records)?;
//! assert_eq!(verdicts[1].kind, Kind::ExactDuplicate);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

use leitong_base::hashed::Seed;
use leitong_fingerprint::idf;
use leitong_text::extract;
use leitong_text::page::mapping::Preset;

pub use leitong_pipeline::{
    ClusterStage, FingerprintStage, Fingerprinted, LOG_PARTITIONS_MAX, LogSource, Message, NoPage,
    PageReader, Workspace,
};

/// Builds the tables that are otherwise built on first use. If a process were forked while another thread builds
/// such a table, the child would wait for that table permanently.
pub fn build_tables() {
    Seed::default();
    extract::build_tables();
    let _ = Preset::all();
    // The first call builds the table of common words.
    let _ = idf::documents_with(0);
}
