//! The console: what the program thinks, for people who do not read JSON.
//!
//! ```text
//! two pages ─► comparison ─► render ─► HTML ─► a file, or
//!              marks, alignment              site, server: `leitong console`
//!
//! a table ─► saved ─► render ─► HTML ─► site, server
//! metrics ─► exposition ─► live ─► render ─► HTML ─► admin: the worker's port
//! ```
//! [`render`] is pure: data → HTML, with all that pages say escaped. Everything here only reads.

pub mod admin;
pub mod alignment;
pub mod comparison;
pub mod evidence;
pub mod exposition;
pub mod form;
pub mod frame;
pub mod http;
pub mod live;
pub mod marks;
pub mod pages;
pub mod render;
pub mod saved;
pub mod server;
pub mod site;
