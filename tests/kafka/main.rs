//! The worker against Apache Kafka itself: one binary, so that all tests share a broker.
//!
//! `KAFKA_BOOTSTRAP` names another cluster; see `broker/mod.rs` for
//! what is needed otherwise. Runs that are drawn at random print their
//! seed, and the variables that repeat them or make them longer.

mod admin;
mod alerts;
mod broker;
mod canonical;
mod check;
#[path = "../common/mod.rs"]
mod common;
mod connectors;
mod crash;
mod dice;
mod examples;
mod exemplars;
mod failures;
mod flow;
mod hashes;
mod image;
mod look_ups;
mod lost;
mod memory;
mod network;
mod on_disk;
mod operator;
mod poison;
mod presets;
mod proxy;
mod queue;
mod rebalance;
mod recrawls;
mod replaced;
mod snapshots;
mod standby;
mod state;
mod storm;
mod tap;
mod top;
mod traces;
mod unended;
mod upgrade;
