//! The worker against Apache Kafka itself: one binary, so that all tests share a broker.
//!
//! `KAFKA_BOOTSTRAP` names another cluster; see `broker/mod.rs` for what is needed otherwise. Runs that are drawn
//! at random print their seed, and the variables that repeat them or make them longer.

mod admin;
mod broker;
#[path = "../common/mod.rs"]
mod common;
mod crash;
mod failures;
mod flow;
mod hashes;
mod memory;
mod operator;
mod poison;
mod snapshots;
mod standby;
mod state;
