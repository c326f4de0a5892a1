//! Everything of Leitong that talks to Kafka: the worker, and what commands read and check.
//!
//! No module uses one that is listed below it.

mod backoff;

mod kafka;

mod worker;

pub use backoff::backoff;
pub use kafka::client::{CALL_TIMEOUT, faults, library_version};
pub use kafka::error::Error;
pub use kafka::received::Received;
pub use kafka::tail::{Start, Tail};
pub use kafka::topics::Topics;
pub use worker::check::{Finding, Grade, check};
pub use worker::replay::{Start as ReplayFrom, replay};
pub use worker::resources::Limits;
pub use worker::{Accepted, Roles, run};

#[cfg(test)]
#[path = "../../../tests/simulation/mod.rs"]
mod simulation;
