//! The console: shows pages, tables and workers as web pages.
//!
//! ```text
//! two pages ─► comparison ─► render ─► HTML ─► a file, or
//!              marks                         site, server: `leitong console`
//!
//! a table ─► saved ─► render ─► HTML ─► site, server
//! metrics ─► exposition ─► live ─► render ─► HTML ─► admin: the worker's port
//! ```
//! [`render`] is pure: it turns data into HTML, and escapes all text from pages. Nothing here writes data.

pub(crate) mod admin;
pub(crate) mod comparison;
pub(crate) mod evidence;
pub(crate) mod exposition;
pub(crate) mod form;
pub(crate) mod http;
pub(crate) mod live;
pub(crate) mod marks;
pub(crate) mod pages;
pub(crate) mod render;
pub(crate) mod saved;
pub(crate) mod server;
pub(crate) mod site;
