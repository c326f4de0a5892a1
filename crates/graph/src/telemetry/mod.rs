//! Everything that an operator sees of a worker: [`metrics`], [`health`] and [`traces`].

pub mod health;
pub mod metrics;
pub mod traces;
