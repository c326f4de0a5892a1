//! Everything that an operator sees of a worker: [`metrics`], [`health`], [`tally`], and [`traces`].

pub mod health;
pub mod metrics;
pub mod tally;
pub mod traces;
