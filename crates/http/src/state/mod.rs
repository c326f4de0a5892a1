//! The state of a running worker, as `/state` shows it.

pub(crate) mod exposition;
pub(crate) mod live;
