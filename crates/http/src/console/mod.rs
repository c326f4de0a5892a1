//! The console: shows pages and tables as web pages.
//!
//! ```text
//! two pages ─► comparison ─► render ─► HTML ─► a file, or
//!                                              site, server: `leitong console`
//!
//! a table ─► saved ─► render ─► HTML ─► site, server
//! ```
//! [`render`] is pure: it turns data into HTML, and escapes all text from pages. Nothing here writes data.

mod form;
mod http;
mod render;
mod saved;
mod server;
mod site;

pub use render::file_of_comparison;
pub use render::language::Language;
pub use render::review::{Pair, Review, file_of_review};
pub use saved::{Saved, Wanted};
pub use server::{BindError, ConsolePort};
pub use site::{FindPage, Site};
