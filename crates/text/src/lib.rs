//! Turns web pages into terms, the first half of the way to a fingerprint.
//!
//! ```text
//! message or record ─► page ─► decode ─► extract ─► segment
//!                      Page    str       Document   Terms
//! ```
//!
//! [`page`] reads a page from the message of any crawler, [`decode`] finds its character encoding, [`extract`] its main
//! text, and [`segment`] splits the text into terms, with special care for Chinese. [`difference`] aligns two texts. All of it is pure: no files, clocks
//! or threads.
//!
//! ```
//! use leitong_text::extract::{ExtractConfig, Extractor};
//!
//! let page = "<nav>Home</nav><article><p>The ferry leaves at eight in the morning, every day but Sunday.</p></article>";
//! let document = Extractor::new(&ExtractConfig::default()).extract(page)?;
//! assert!(document.text().contains("every day but Sunday"));
//! # Ok::<(), leitong_text::extract::ExtractError>(())
//! ```

pub mod decode;
pub mod difference;
pub mod extract;
#[cfg(test)]
mod lost_text_tests;
pub mod page;
pub mod segment;

#[cfg(test)]
#[path = "../../../tests/common/wait.rs"]
mod wait;

#[cfg(doctest)]
#[doc = include_str!("../README.md")]
mod readme {}
