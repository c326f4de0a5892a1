//! Measures the figures of docs/kafka.md over a real broker: `make bench-kafka`, or `cargo bench --bench kafka -- cpu
//! delay owner transaction-sizes look-ups look-ups-half restore restore-blocks failover losses standby
//! takeover scaling` for some of them.
//!
//! The broker runs on the same machine and takes its share of the cores.

#[allow(dead_code, reason = "made for the tests")]
#[path = "../../tests/kafka/broker/mod.rs"]
mod broker;
#[path = "../../tests/common/mod.rs"]
mod common;
mod cpu;
mod delay;
mod failover;
mod look_ups;
mod losses;
mod owner;
mod restore;
mod scaling;

use std::fs;

use broker::topics::Row;
use broker::wait_until;
use broker::worker::Worker;
use common::article;

fn main() {
    if let Ok(what) = std::env::var(cpu::FLOOR) {
        return cpu::read_and_throw_away(&what);
    }
    let chosen: Vec<String> =
        std::env::args().skip(1).filter(|argument| !argument.starts_with('-')).collect();
    let benches: [(&str, fn()); 13] = [
        ("cpu", cpu::cpu),
        ("delay", delay::delay),
        ("owner", owner::owner),
        ("transaction-sizes", owner::transaction_sizes),
        ("look-ups", look_ups::look_ups),
        ("look-ups-half", look_ups::look_ups_half),
        ("restore", restore::restore),
        ("restore-blocks", restore::restore_blocks),
        ("failover", failover::failover),
        ("losses", losses::losses),
        ("standby", losses::standby),
        ("takeover", failover::takeover),
        ("scaling", scaling::scaling),
    ];
    for (name, bench) in benches {
        if chosen.is_empty() || chosen.iter().any(|chosen| chosen == name) {
            bench();
        }
    }
}

/// Returns the CPU time of a process so far, in seconds.
fn cpu_seconds(process: &str) -> f64 {
    let stat = fs::read_to_string(format!("/proc/{process}/stat")).unwrap_or_default();
    let fields: Vec<&str> = stat.rsplit(')').next().unwrap_or_default().split_whitespace().collect();
    // User and system time, in ticks of 10 ms. For this process, the times of its ended children.
    let at = if process == "self" { [13, 14] } else { [11, 12] };
    at.iter().filter_map(|at| fields.get(*at)?.parse::<f64>().ok()).sum::<f64>() / 100.0
}

fn median(values: &mut [f64]) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}

fn wait_for_metric(worker: &Worker, name: &str, value: f64) {
    wait_until(format_args!("{name} = {value}"), || worker.metric(name) >= value);
}

/// Returns articles of some 6 KB. Random names make them as different as real articles. With only the tests' few words,
/// every look-up would find thousands of candidates.
fn articles(count: usize, partitions: usize) -> Vec<Row> {
    let text = |i: usize| {
        let mut state = i as u64 + 1;
        let mut name = || {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            char::from_u32(0x4e00 + (state >> 33) as u32 % 3000).expect("a Chinese character")
        };
        let sentence = |sentence: &str| format!("{sentence}、{}{}{}{}。", name(), name(), name(), name());
        article(i, 64).split_terminator('。').map(sentence).collect::<String>()
    };
    (0..count).map(|i| Row::page((i % partitions) as i32, &format!("p{i}"), &text(i % 5000))).collect()
}
