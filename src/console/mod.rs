//! The console: what the program thinks, for people who do not read JSON.
//!
//! ```text
//! two pages ─► comparison ─► render ─► HTML
//!              marks, alignment
//! ```
//! [`render`] is pure: data → HTML, with all that pages say escaped. Everything here only reads.

pub mod alignment;
pub mod comparison;
pub mod evidence;
pub mod marks;
pub mod render;
