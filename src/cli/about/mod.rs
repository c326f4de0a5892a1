//! Commands about the program itself.

pub(in crate::cli) mod config;
pub(in crate::cli) mod reference;
pub(in crate::cli) mod shell;
