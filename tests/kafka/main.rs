//! The worker with a real Apache Kafka: one binary, so all tests share a broker.
//!
//! `KAFKA_BOOTSTRAP` names another cluster; `broker/mod.rs` lists what is needed otherwise. Random runs print
//! their seed, and the variables that repeat them or make them longer.

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
mod failures;
mod flow;
mod hashes;
mod image;
mod live_state;
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
mod traces;
mod unended;
mod upgrade;
