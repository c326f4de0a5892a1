//! Reads web pages from files and object stores, and writes what a run keeps of them.
//!
//! [`source`] reads pages from JSON lines, CSV, Parquet, Arrow, WARC files and CDX indexes, local or in S3. [`sink`] writes
//! verdicts and dead letters, and counts them. [`keep`] copies the documents to keep, byte for byte, and reports what
//! was removed.

mod formats;
pub mod keep;
pub mod sink;
pub mod source;

#[cfg(test)]
#[path = "../../../tests/common/wait.rs"]
mod wait;

#[cfg(doctest)]
#[doc = include_str!("../README.md")]
mod readme {}
