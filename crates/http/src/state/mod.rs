//! The state of a running worker, as `/state` and the console show it.

pub(crate) mod exposition;
pub(crate) mod live;
