//! Commands about single pages and messages.

#[cfg(feature = "console")]
pub(crate) mod compare;
pub(crate) mod extract;
#[cfg(feature = "console")]
pub(crate) mod open;
#[cfg(feature = "console")]
pub(crate) mod pages;
pub(crate) mod preset;
