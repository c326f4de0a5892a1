//! Requests that arrive late, twice or never: each kind of request in a transaction, while its connection
//! breaks.
//!
//! How it began: the connection to the coordinator broke during EndTxn. librdkafka sent it again, which
//! succeeded, and began the next transaction. Then the first EndTxn reached the broker and committed that
//! transaction half-written: verdicts were missing or came twice, and the changelog had fewer centroids than
//! its position record said. (Brokers distinguish transactions of one producer by its epoch. For clients
//! without KIP-890 all of them have the same one.)
//!
//! Here each kind of request meets each fault every few transactions, in front of a real broker. Then the
//! owner is killed, since a restart compares what was committed with the changelog. `LEITONG_NETWORK_SEED`
//! repeats the same faults.

use std::sync::OnceLock;
use std::time::Instant;

use crate::broker::crawler::Crawler;
use crate::broker::wait_until;
use crate::broker::worker::{FAST_FAILURE_DETECTION, Installation, Worker};
use crate::dice::from_environment;
use crate::proxy::{Api, Fault, Network, Rule};

/// No transaction is held up for long, and a client reconnects soon after a connection broke: before a
/// request that was under way has arrived.
const SETTINGS: &str = "\"transaction.timeout.ms\" = 4000\n\"message.timeout.ms\" = 3000\n\"reconnect.backoff.ms\" = 10\n\
                        \"reconnect.backoff.max.ms\" = 50\n";
/// After this time the broker has aborted a transaction.
const PAST_TIMEOUT_MS: u64 = 5500;

/// Returns one broker, with a slot for each test here.
fn network() -> &'static Network {
    static SHARED: OnceLock<Network> = OnceLock::new();
    SHARED.get_or_init(|| {
        let seed = from_environment("LEITONG_NETWORK_SEED", u64::from(std::process::id()));
        println!("LEITONG_NETWORK_SEED={seed}");
        Network::start(1, 7, seed, "")
    })
}

/// Workers with a faulty network.
struct Troubled {
    slot: usize,
    fingerprint: Worker,
    owner: Worker,
    crawler: Crawler,
    began: Instant,
    /// Its folder must be dropped last, since a worker dropped in a failing test shows its log.
    installation: Installation,
}

impl Troubled {
    fn start(slot: usize, name: &str) -> Self {
        let network = network();
        let more = format!(
            "[kafka.transaction]\nrecords_max = 10\nlinger_ms = 0\n{FAST_FAILURE_DETECTION}{SETTINGS}"
        );
        let direct = network.brokers.bootstrap();
        let installation = Installation::behind(network.bootstrap(slot), &direct, name, &more);
        let crawler = Crawler::start_with(&installation, 1000, || 100);
        let fingerprint = installation.worker(&["--role", "fingerprint"]);
        fingerprint.wait_until_ready();
        let owner = installation.worker(&["--role", "cluster"]);
        Self { slot, installation, fingerprint, owner, crawler, began: Instant::now() }
    }

    /// Applies each of these faults to one in `one_in` requests of this kind.
    #[track_caller]
    fn strike(&self, api: Api, client: &'static str, faults: &[Fault], one_in: u64, times: u64) {
        let rules = &network().rules;
        let rule = |fault: &Fault| Rule { api, client, fault: *fault, one_in, times };
        rules.set(self.slot, faults.iter().map(rule).collect());
        wait_until(format_args!("{faults:?} have struck:\n{}", self.owner.latest()), || {
            rules.left(self.slot) == 0
        });
    }

    /// Applies all faults to one kind of request of the owner's producer.
    #[track_caller]
    fn strike_all(&self, api: Api) {
        self.strike(api, "-cluster", &FAULTS, 30, 2);
        self.strike(api, "-cluster", &SILENT, 5, 1);
    }

    /// Lets another owner take over.
    fn replace_owner(&mut self) {
        self.owner.kill();
        self.owner = self.installation.worker(&["--role", "cluster"]);
    }

    /// Checks what must hold in the end.
    #[track_caller]
    fn finish(mut self, api: Api) {
        let rules = &network().rules;
        rules.set(self.slot, Vec::new());
        let counted = |what: &str| rules.counted(self.slot, &format!("{} {what}", api.name()));
        wait_until("late requests are answered", || counted("late and over") == counted("late"));
        println!("{}", self.owner.plain_log());
        self.replace_owner();
        let rows = self.crawler.stop();
        let events = rules.events(self.slot, self.began);
        println!("{} pages; faults of {}:\n{events}", rows.len(), api.name());
        let mut outcomes = 0;
        wait_until(format_args!("an outcome for each of {} pages", rows.len()), || {
            outcomes = self.installation.verdicts().len();
            let halted = self.owner.plain_log().contains("log partition halted");
            assert!(!halted, "{outcomes} outcomes; {}", self.installation.tally(&rows));
            outcomes >= rows.len()
        });
        for worker in [&mut self.owner, &mut self.fingerprint] {
            assert_eq!(worker.terminate(), 0, "{}", worker.log());
        }
        self.installation.assert_exactly_once(&rows);
    }
}

/// All faults, except those that wait for a timeout of the client.
const FAULTS: [Fault; 10] = [
    Fault::Late(1),
    Fault::Late(70),
    Fault::Late(110),
    Fault::Late(160),
    Fault::Late(300),
    Fault::Late(PAST_TIMEOUT_MS),
    Fault::Twice,
    Fault::CutBefore,
    Fault::CutAfter,
    Fault::ResponseLate(50),
];
const SILENT: [Fault; 2] = [Fault::Lost, Fault::ResponseLost];

#[track_caller]
fn all_faults(slot: usize, name: &str, api: Api) {
    let troubled = Troubled::start(slot, name);
    troubled.strike_all(api);
    troubled.finish(api);
}

#[test]
fn faults_of_end_txn_break_nothing() {
    all_faults(0, "end-txn", Api::END_TXN);
}

#[test]
fn faults_of_txn_offset_commit_break_nothing() {
    let mut troubled = Troubled::start(1, "txn-offset-commit");
    let api = Api::TXN_OFFSET_COMMIT;
    // A late request may reset the group's offset within a later transaction, until the next one corrects it.
    // So the owner is killed at once, and the next one compares the offset with the changelog.
    for ms in [70, 90, 120] {
        let delivered =
            |troubled: &Troubled| network().rules.counted(troubled.slot, "TxnOffsetCommit delivered late");
        let before = delivered(&troubled);
        troubled.strike(api, "-cluster", &[Fault::Late(ms)], 4, 1);
        wait_until("it is delivered", || delivered(&troubled) > before);
        troubled.replace_owner();
    }
    troubled.strike_all(api);
    troubled.finish(api);
}

#[test]
fn faults_of_add_offsets_to_txn_break_nothing() {
    all_faults(2, "add-offsets", Api::ADD_OFFSETS_TO_TXN);
}

#[test]
fn faults_of_add_partitions_to_txn_break_nothing() {
    all_faults(3, "add-partitions", Api::ADD_PARTITIONS_TO_TXN);
}

#[test]
fn faults_of_produce_in_transactions_break_nothing() {
    all_faults(4, "produce", Api::PRODUCE);
}

#[test]
fn faults_of_produce_to_the_log_break_nothing() {
    let troubled = Troubled::start(5, "produce-log");
    troubled.strike(Api::PRODUCE, "-log", &FAULTS, 20, 2);
    troubled.finish(Api::PRODUCE);
}

#[test]
fn faults_of_init_producer_id_break_nothing() {
    let mut troubled = Troubled::start(6, "init-producer-id");
    let faults = [Fault::Late(5), Fault::Late(300), Fault::Late(2500), Fault::CutAfter, Fault::Lost];
    for fault in faults {
        troubled.replace_owner();
        troubled.strike(Api::INIT_PRODUCER_ID, "-cluster", &[fault], 1, 1);
        // The new owner takes over and continues for a while.
        let owner = &troubled.owner;
        let taken = || owner.metric("leitong_log_records_taken_total");
        wait_until(format_args!("verdicts:\n{}", owner.latest()), || taken() > 100.0);
    }
    troubled.finish(Api::INIT_PRODUCER_ID);
}
