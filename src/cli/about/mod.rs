//! Commands about the program itself.

pub(crate) mod config;
pub(crate) mod reference;
pub(crate) mod shell;
