//! The console: shows pages, tables and workers as web pages and terminal screens.
//!
//! ```text
//! two pages ─► comparison ─► render ─► HTML ─► a file, or
//!              marks, alignment              site, server: `leitong console`
//!
//! a table ─► saved ─► render ─► HTML ─► site, server
//! metrics ─► exposition ─► live ─► render ─► HTML ─► admin: the worker's port
//! ```
//! [`render`] is pure: it turns data into HTML, and escapes all text from pages. Nothing here writes data.

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
