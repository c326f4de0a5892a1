//! Everything that an operator sees of a worker: [`metrics`], [`health`], [`tally`], [`traces`] and the
//! [`admin`] port.

pub(crate) mod admin;
pub(crate) mod health;
mod metric_list;
pub(crate) mod metrics;
pub(crate) mod tally;
pub(crate) mod templates;
pub(crate) mod traces;
