//! The faults of a storm, drawn at random, with their duration.

use std::time::Duration;

use crate::dice::Rng;
use crate::proxy::{Api, Fault};

/// A fault.
#[derive(Debug, Clone, Copy)]
pub(super) enum Trouble {
    /// kill -9, and a replacement instance.
    KillWorker,
    /// SIGTERM, and a replacement instance.
    TerminateWorker,
    /// SIGSTOP for a while.
    FreezeWorker(Duration),
    /// One instance more, or one less.
    AddOrRemove,
    /// A worker cannot reach any broker for a while.
    PartitionWorker(Duration),
    /// A worker cannot reach one of the brokers for a while.
    PartitionLink(Duration),
    /// No worker can reach one of the brokers for a while.
    PartitionBroker(Duration),
    /// All connections of a worker break.
    ResetWorker,
    /// All connections of all workers to a broker break.
    ResetBroker,
    /// A worker's connections become slow: bytes per second.
    Throttle(u64, Duration),
    /// Requests of a worker suffer a fault.
    Request(Api, &'static str, Fault),
    /// Requests of a worker suffer a fault after it was killed, since a new one sends such requests.
    RequestAtStart(Api, &'static str, Fault),
    /// kill -9 of a broker, and a restart after a while.
    KillBroker(Duration),
    /// kill -9 of all brokers, and a restart of all after a while.
    KillAllBrokers(Duration),
    /// SIGSTOP of a broker for a while.
    FreezeBroker(Duration),
}

impl Trouble {
    /// Returns the kind under which figures are collected.
    pub(super) fn kind(&self) -> String {
        let name = match self {
            Self::KillWorker => "worker killed",
            Self::TerminateWorker => "worker terminated",
            Self::FreezeWorker(_) => "worker frozen",
            Self::AddOrRemove => "worker added or removed",
            Self::PartitionWorker(_) => "worker cut off from all brokers",
            Self::PartitionLink(_) => "worker cut off from one broker",
            Self::PartitionBroker(_) => "broker cut off from all workers",
            Self::ResetWorker => "connections of a worker reset",
            Self::ResetBroker => "connections to a broker reset",
            Self::Throttle(..) => "worker throttled",
            Self::KillBroker(_) => "broker killed",
            Self::KillAllBrokers(_) => "all brokers killed",
            Self::FreezeBroker(_) => "broker frozen",
            Self::Request(api, client, fault) => {
                return format!("request: {}{client} {}", api.name(), fault.name());
            }
            Self::RequestAtStart(api, client, fault) => {
                return format!("worker killed, then: {}{client} {}", api.name(), fault.name());
            }
        };
        name.to_owned()
    }

    pub(super) fn draw(dice: &mut Rng) -> Self {
        match dice.roll(100) {
            0..11 => Self::KillWorker,
            11..15 => Self::TerminateWorker,
            15..22 => Self::FreezeWorker(time(dice, 200, 5000)),
            22..28 => Self::AddOrRemove,
            28..34 => Self::PartitionWorker(time(dice, 200, 7000)),
            34..38 => Self::PartitionLink(time(dice, 200, 7000)),
            38..41 => Self::PartitionBroker(time(dice, 200, 4000)),
            41..46 => Self::ResetWorker,
            46..49 => Self::ResetBroker,
            49..52 => Self::Throttle(2000 + dice.roll(30_000), time(dice, 1000, 4000)),
            52..56 => Self::KillBroker(time(dice, 500, 8000)),
            56 => Self::KillAllBrokers(time(dice, 500, 8000)),
            57..59 => Self::FreezeBroker(time(dice, 300, 5000)),
            59..88 => {
                let (api, client) = pick(dice, &AT_WORK);
                Self::Request(api, client, fault(dice))
            }
            _ => {
                let (api, client) = pick(dice, &AT_START);
                Self::RequestAtStart(api, client, fault(dice))
            }
        }
    }
}

/// Requests that are sent all the time, and the clients that send them. Those of transactions are listed
/// several times.
const AT_WORK: [(Api, &str); 12] = [
    (Api::END_TXN, "-cluster"),
    (Api::END_TXN, "-cluster"),
    (Api::TXN_OFFSET_COMMIT, "-cluster"),
    (Api::ADD_OFFSETS_TO_TXN, "-cluster"),
    (Api::ADD_PARTITIONS_TO_TXN, "-cluster"),
    (Api::PRODUCE, "-cluster"),
    (Api::PRODUCE, "-log"),
    (Api::FETCH, "-reader"),
    (Api::FETCH, "-pages"),
    (Api::HEARTBEAT, "-owner"),
    (Api::HEARTBEAT, "-pages"),
    (Api::OFFSET_COMMIT, "-pages"),
];

/// Requests that are sent when clients start.
const AT_START: [(Api, &str); 11] = [
    (Api::INIT_PRODUCER_ID, "-cluster"),
    (Api::INIT_PRODUCER_ID, "-log"),
    (Api::FIND_COORDINATOR, "-cluster"),
    (Api::FIND_COORDINATOR, "-reader"),
    (Api::OFFSET_FETCH, "-reader"),
    (Api::LIST_OFFSETS, "-reader"),
    (Api::OFFSET_FETCH, "-pages"),
    (Api::METADATA, "-cluster"),
    (Api::METADATA, "-reader"),
    (Api::JOIN_GROUP, "-owner"),
    (Api::SYNC_GROUP, "-owner"),
];

fn pick(dice: &mut Rng, among: &[(Api, &'static str)]) -> (Api, &'static str) {
    among[dice.roll(among.len() as u64) as usize]
}

fn fault(dice: &mut Rng) -> Fault {
    match dice.roll(10) {
        // From a millisecond to beyond the timeout of transactions; as many short ones as long ones.
        0..4 => Fault::Late(1 << dice.roll(13)),
        4 => Fault::Lost,
        5 => Fault::ResponseLost,
        6 => Fault::ResponseLate(1 << dice.roll(12)),
        7 => Fault::Twice,
        8 => Fault::CutBefore,
        _ => Fault::CutAfter,
    }
}

fn time(dice: &mut Rng, from_ms: u64, to_ms: u64) -> Duration {
    Duration::from_millis(from_ms + dice.roll(to_ms - from_ms))
}
