//! Commands about single pages and messages.

#[cfg(feature = "console")]
pub(in crate::cli) mod compare;
pub(in crate::cli) mod extract;
#[cfg(feature = "console")]
pub(in crate::cli) mod open;
#[cfg(feature = "console")]
pub(in crate::cli) mod pages;
pub(in crate::cli) mod preset;
