//! The console: what the program thinks, for people who do not read JSON.
//!
//! ```text
//! two pages ─► comparison ─► render ─► HTML ─► a file, or
//!              marks, alignment              site, server: `leitong console`
//! ```
//! [`render`] is pure: data → HTML, with all that pages say escaped. Everything here only reads.

pub mod alignment;
pub mod comparison;
pub mod evidence;
pub mod form;
pub mod http;
pub mod marks;
pub mod pages;
pub mod render;
pub mod server;
pub mod site;
