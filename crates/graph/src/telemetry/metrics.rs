//! The metrics of `leitong run` and `leitong serve`. `docs/metrics.md` is generated from this list. Each label has
//! few values.

use std::fmt::Write;
use std::time::Duration;

use metrics::{SharedString, counter, gauge, histogram};
use metrics_exporter_prometheus::{Matcher, PrometheusBuilder, PrometheusHandle};

use crate::Error;
use leitong_base::record::{Cause, Reason, Timestamp};
use leitong_cluster::RecrawlOutcome;
use leitong_cluster::log::Admission;
use leitong_cluster::verdict::{Conclusion, Kind};
use leitong_text::page::mapping::Skip;

/// A metric, for the documentation and the scrape.
#[derive(Debug)]
pub struct Metric {
    /// `counter`, `gauge` or `histogram`.
    kind: &'static str,
    name: &'static str,
    /// Names of the metric's labels, with their values.
    labels: &'static str,
    /// Meaning, for operators.
    help: &'static str,
}

macro_rules! list {
    ($($id:ident = $kind:ident $name:literal $labels:literal $help:literal;)*) => {
        $(#[doc = $help]
        pub static $id: Metric = Metric { kind: stringify!($kind), name: $name, labels: $labels, help: $help };)*

        /// All metrics, in the order in which a page meets them.
        static ALL: &[&Metric] = &[$(&$id),*];
    };
}

list!(
    START_TIMESTAMP_SECONDS = gauge "leitong_start_timestamp_seconds" ""
        "Start of this instance, in seconds since 1970; its counters started at 0 then";
    PAGES_READ = counter "leitong_pages_read_total" "" "Messages read from the page topic";
    MESSAGES_SKIPPED = counter "leitong_messages_skipped_total"
        "reason: literal, no-page, status, content-type, deletion, other-kind"
        "Messages that the preset or a filter skips; they get no verdict and no dead letter";
    INPUT_POINTERS_WITHOUT_HITS = gauge "leitong_input_pointers_without_hits" ""
        "Fields of `[input]` that were in none of the first 1,000 messages; the log names them";
    PAGE_BYTES_READ = counter "leitong_page_bytes_read_total" "" "Bytes read from page message values";
    PAGES_LOST = counter "leitong_pages_lost_total" ""
        "Pages lost because retention deleted them before they were read; includes transaction markers of the crawler";
    QUEUE_RECORDS = gauge "leitong_queue_records"
        "queue: page-fetch, page, page-read, page-cpu, page-order, log-send, log-fetch, changelog-fetch, \
         transaction; partition: of the log, for the last three"
        "Records waiting in a queue: fetched from the page topic (page-fetch); between topic and log (page), and of \
         these just read (page-read), waiting for a CPU thread (page-cpu), or for earlier pages (page-order); on \
         their way to the log (log-send); fetched from the log (log-fetch) or changelogs (changelog-fetch); in a \
         transaction (transaction)";
    QUEUE_BYTES = gauge "leitong_queue_bytes" "queue, partition: as for leitong_queue_records"
        "Bytes of the records waiting in a queue";
    PAGES_PAUSED = gauge "leitong_pages_paused" ""
        "1 while reading of the page topic is paused because the queue is full";
    STAGE_MICROSECONDS = counter "leitong_stage_microseconds_total" "stage: fingerprint, cluster, transaction"
        "Time spent in a stage by all threads, in microseconds";
    STALLED_SECONDS = gauge "leitong_stalled_seconds" ""
        "Time since the CPU stages last finished a page while pages wait; /readyz fails from 60 seconds on";
    LOG_RECORDS_SENT = counter "leitong_log_records_sent_total" "" "Records delivered to the fingerprint log";
    LOG_RECORDS_TAKEN = counter "leitong_log_records_taken_total" ""
        "Records of the log that were accepted; each gets one verdict or dead letter";
    LOG_RECORDS_DROPPED = counter "leitong_log_records_dropped_total" "why: repeated, after-gap, old-epoch, replaced"
        "Records of the log that were not accepted: repeated, after a gap, of a lower kafka.epoch, or of a replaced \
         page topic";
    OTHER_FINGERPRINT_HASH = counter "leitong_other_fingerprint_hash_total" ""
        "Pages fingerprinted with other settings than this instance's; they are never compared with pages from these \
         settings";
    VERDICTS = counter "leitong_verdicts_total" "kind: as in verdicts" "Verdicts committed";
    TEMPLATES = counter "leitong_templates_total" "what: cluster, site"
        "Clusters and sites whose duplicates look like a page template; the log names them";
    UNDECIDABLE = counter "leitong_undecidable_total" "reason: as in verdicts" "Undecidable pages, by reason";
    RECRAWLS = counter "leitong_recrawls_total" "outcome: as in verdicts"
        "Pages whose url was crawled before, by outcome; only with recrawls.enabled";
    DEAD_LETTERS = counter "leitong_dead_letters_total" "cause: as in dead letters" "Dead letters committed";
    DEAD_LETTER_VALUES_LEFT_OUT = counter "leitong_dead_letter_values_left_out_total" ""
        "Dead letters that were sent without their value, since the broker rejects messages of that size";
    TRANSACTIONS = counter "leitong_transactions_total" "result: committed, failed" "Transactions, by result";
    TRANSACTION_SECONDS = histogram "leitong_transaction_seconds" ""
        "Time from the beginning of a transaction to its commit";
    TRANSACTIONS_UNENDED = counter "leitong_transactions_unended_total" ""
        "Transactions that brokers had ended without telling all partitions; the next owner ended them in the \
         remaining partitions";
    VERDICT_DELAY_SECONDS = histogram "leitong_verdict_delay_seconds" ""
        "Time from the page's Kafka timestamp to its committed verdict";
    API_REQUESTS = counter "leitong_api_requests_total" "operation: lookup, store, page, cluster, other"
        "Requests to the HTTP API that were answered, with or without an error";
    API_REFUSED = counter "leitong_api_refused_total"
        "status: 400, 401, 403, 404, 405, 408, 413, 415, 421, 422, 429, 500, 503"
        "API requests answered with an error (docs/api.md), by HTTP status";
    API_SECONDS = histogram "leitong_api_seconds" "operation: as for leitong_api_requests_total"
        "Time from the head of a request to its answer, for answers with status 200; includes waiting for the body";
    LOOKUPS = counter "leitong_lookups_total" "held_as: owner, standby"
        "Look-ups answered from a table, by whether this instance owns the table or keeps it as a standby";
    CENTROIDS = gauge "leitong_centroids" "partition: of the log" "Centroids in the table";
    RESTORED_CENTROIDS = gauge "leitong_restored_centroids" "partition: of the log"
        "Centroids read by the last or current restore";
    RESTORED_RECORDS = gauge "leitong_restored_records" "partition: of the log"
        "Changelog records read by the last or current restore; few if it started from a snapshot or a standby's \
         table";
    RESTORE_SECONDS = gauge "leitong_restore_seconds" "partition: of the log" "Duration of the last restore";
    STANDBY_CENTROIDS = gauge "leitong_standby_centroids" "partition: of the log"
        "Centroids in the standby table that this instance keeps for a partition owned by another instance";
    SNAPSHOT_TIMESTAMP_SECONDS = gauge "leitong_snapshot_timestamp_seconds" "partition: of the log"
        "Time of the last local snapshot, in seconds since 1970";
    SNAPSHOTS_SET_ASIDE = counter "leitong_snapshots_set_aside_total" ""
        "Snapshots or tables on disk that could not be used and were set aside; the log says why";
    DISK_CENTROIDS = gauge "leitong_disk_centroids" "partition: of the log"
        "Centroids that are on disk instead of in memory, with `table.on_disk`";
    DISK_BYTES = gauge "leitong_disk_bytes" "partition: of the log" "Bytes of the table's files on disk";
    DISK_FAILURES = counter "leitong_disk_failures_total" ""
        "Failed attempts to write a table to disk; its centroids then wait in memory, up to a limit";
    DISK_CHECKED_BYTES = counter "leitong_disk_checked_bytes_total" ""
        "Bytes of tables on disk that the background check for damage has read";
    DISK_DAMAGED = counter "leitong_disk_damaged_total" ""
        "Damaged or unreadable files that the background check has found; the partition then halts, and the log names \
         the file";
    CHANGELOG_DELETIONS = counter "leitong_changelog_deletions_total" "result: deleted, failed"
        "Requests to delete expired records of the changelog; if brokers refuse them, the changelog only stays larger";
    PARTITION_HALTED = gauge "leitong_partition_halted" "partition: of the log, or `pages` for the page topic"
        "1 while a log partition or the page topic is halted until an operator acts; the log says why";
    PARTITIONS_OWNED = gauge "leitong_partitions_owned" "stage: fingerprint, cluster"
        "Partitions assigned to this instance";
    LOG_PARTITIONS = gauge "leitong_log_partitions" ""
        "Partitions of the log; each needs an instance with the cluster role as its owner";
    TOPICS_WRONG = gauge "leitong_topics_wrong" ""
        "Topic settings and missing topics with which no worker would start; the log says what to change";
    LAG_RECORDS = gauge "leitong_lag_records" "topic, partition"
        "Records of a partition (pages, log or changelog) that this instance has not read yet; 0 when it no longer \
         reads the partition";
    TRACE_SPANS = counter "leitong_trace_spans_total" "result: exported, failed, dropped"
        "Trace spans by result, with `traces.enabled`: accepted by the collector, not accepted, or dropped because \
         the queue was full";
    CLIENT_ERRORS = counter "leitong_client_errors_total" "client: admin, pages, log, cluster, reader, topic-ids"
        "Errors that librdkafka reported and recovers from";
);

impl Metric {
    /// Adds `count` to a counter.
    pub fn add(&self, count: u64) {
        counter!(self.name).increment(count);
    }

    /// Adds `count` to a counter with this value of its label.
    pub fn add_as(&self, value: impl Into<SharedString>, count: u64) {
        counter!(self.name, self.label() => value).increment(count);
    }

    /// Sets a gauge.
    pub fn set(&self, value: f64) {
        gauge!(self.name).set(value);
    }

    /// Sets a gauge with this value of its label.
    pub fn set_of(&self, label: impl ToString + Copy, value: f64) {
        gauge!(self.name, self.label() => label.to_string()).set(value);
    }

    /// Records a duration in a histogram.
    pub fn record(&self, time: Duration) {
        histogram!(self.name).record(time.as_secs_f64());
    }

    fn label(&self) -> &'static str {
        self.labels.split_once(": ").map_or(self.labels, |(label, _)| label)
    }

    /// Exports a counter at 0, with all values of its label. For a counter that first appears with a value above 0,
    /// Prometheus sees no increase, so no alert would fire at the first loss, failure or dead letter.
    fn begin(&self) {
        let values: Vec<&str> = match self.labels.split_once(": ") {
            None => return self.add(0),
            Some(("kind", _)) => Kind::ALL.iter().map(|kind| kind.as_str()).collect(),
            Some(("cause", _)) => Cause::ALL.iter().map(Cause::label).chain([Cause::OTHER_LABEL]).collect(),
            Some(("outcome", _)) => RecrawlOutcome::ALL.map(RecrawlOutcome::as_str).to_vec(),
            Some(("reason", "as in verdicts")) => Reason::ALL.iter().map(|reason| reason.as_str()).collect(),
            Some(("reason", _)) => Skip::ALL.map(Skip::as_str).to_vec(),
            Some((_, listed)) => listed.split(", ").collect(),
        };
        values.into_iter().for_each(|value| self.add_as(value, 0));
    }
}

/// Upper bounds of the buckets of most histograms, in seconds.
pub const SECONDS: &[f64] =
    &[0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0, 300.0];

/// Upper bounds of the buckets of [`API_SECONDS`], in seconds.
const SHORT_SECONDS: &[f64] =
    &[0.0005, 0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 10.0, 30.0];

/// Installs the recorder of this process, with all help texts.
///
/// # Errors
/// Fails if the process has a recorder already.
pub fn install() -> Result<PrometheusHandle, Error> {
    let api_seconds = Matcher::Full(API_SECONDS.name.to_owned());
    let recorder = PrometheusBuilder::new()
        .set_buckets(SECONDS)?
        .set_buckets_for_metric(api_seconds, SHORT_SECONDS)?
        .install_recorder()?;
    describe();
    Ok(recorder)
}

/// Exports the counters of `leitong serve` at 0.
pub fn begin_serving() {
    begin_all(&[&VERDICTS, &API_REQUESTS, &API_REFUSED]);
}

/// Exports all counters at 0.
pub fn begin() {
    begin_all(ALL);
}

fn begin_all(metrics: &[&Metric]) {
    START_TIMESTAMP_SECONDS.set(Timestamp::now().as_ms() as f64 / 1e3);
    metrics.iter().filter(|metric| metric.kind == "counter").for_each(|metric| metric.begin());
}

/// Registers names and help texts with the recorder.
pub fn describe() {
    for metric in ALL {
        match metric.kind {
            "counter" => metrics::describe_counter!(metric.name, metric.help),
            "gauge" => metrics::describe_gauge!(metric.name, metric.help),
            _ => metrics::describe_histogram!(metric.name, metric.help),
        }
    }
}

/// Returns the page `docs/metrics.md`.
#[must_use]
pub fn markdown() -> String {
    let mut out = String::from(
        "# Metrics\n\n<!-- Generated by `leitong config metrics` from crates/graph/src/telemetry/metrics.rs; a test keeps it \
         up to date. -->\n\n`leitong run` serves these metrics at `/metrics` of the admin port. Times are in seconds, sizes in \
         bytes. `leitong serve` serves the metrics of the API, verdicts and centroids at `/metrics` of its own port. Watch the fill of the queues, `leitong_lag_records` and `leitong_verdict_delay_seconds` first.\n\n\
         | metric | type | labels | meaning |\n|---|---|---|---|\n",
    );
    for Metric { kind, name, labels, help } in ALL {
        let _ = writeln!(out, "| `{name}` | {kind} | {labels} | {help} |");
    }
    out
}

/// Sets the fill of a queue. `partition` is empty for queues that an instance has only once.
pub fn queue(queue: &'static str, partition: &str, records: u64, bytes: u64) {
    let labels = [("queue", queue.to_owned()), ("partition", partition.to_owned())];
    gauge!(QUEUE_RECORDS.name, &labels).set(records as f64);
    gauge!(QUEUE_BYTES.name, &labels).set(bytes as f64);
}

/// Adds time spent in a stage.
pub fn stage(stage: &'static str, time: Duration) {
    // The recorder's counters are whole numbers, so the unit is microseconds.
    STAGE_MICROSECONDS.add_as(stage, u64::try_from(time.as_micros()).unwrap_or(u64::MAX));
}

/// Counts a record of the log that is not accepted.
pub fn dropped(why: Admission) {
    let why = match why {
        Admission::Accepted => return,
        Admission::Repeated => "repeated",
        Admission::AfterGap => "after-gap",
        Admission::OldEpoch => "old-epoch",
        Admission::Replaced => "replaced",
    };
    LOG_RECORDS_DROPPED.add_as(why, 1);
}

/// The counters of a verdict or dead letter, with the values of their labels.
pub type Counts = [Option<(&'static Metric, &'static str)>; 3];

/// Returns what to count when `conclusion` is committed.
#[must_use]
pub fn counts(conclusion: &Conclusion) -> Counts {
    match conclusion {
        Conclusion::Verdict(verdict) => [
            Some((&VERDICTS, verdict.kind.as_str())),
            verdict.reason.map(|reason| (&UNDECIDABLE, reason.as_str())),
            verdict.recrawl.as_ref().map(|recrawl| (&RECRAWLS, recrawl.outcome.as_str())),
        ],
        Conclusion::DeadLetter(letter) => [Some((&DEAD_LETTERS, letter.cause.label())), None, None],
    }
}

/// Counts a committed verdict or dead letter.
pub fn committed(counts: &Counts) {
    LOG_RECORDS_TAKEN.add(1);
    counts.iter().flatten().for_each(|(metric, value)| metric.add_as(*value, 1));
}

/// Counts an answered request to the HTTP API. `time` is the time since its head arrived.
pub fn api_request(operation: &'static str, status: u16, time: Duration) {
    API_REQUESTS.add_as(operation, 1);
    if status == 200 {
        histogram!(API_SECONDS.name, "operation" => operation).record(time.as_secs_f64());
    } else {
        API_REFUSED.add_as(status.to_string(), 1);
    }
}

/// Counts a transaction that has ended.
pub fn transaction(committed: bool, time: Duration) {
    TRANSACTIONS.add_as(if committed { "committed" } else { "failed" }, 1);
    if committed {
        TRANSACTION_SECONDS.record(time);
    }
}

/// Sets the progress of a restore: centroids in the table, and records of the changelog that were read.
pub fn restored(log_partition: u32, centroids: u64, records: u64, time: Duration) {
    RESTORED_RECORDS.set_of(log_partition, records as f64);
    RESTORED_CENTROIDS.set_of(log_partition, centroids as f64);
    RESTORE_SECONDS.set_of(log_partition, time.as_secs_f64());
}

/// Sets the unexpired centroids and the bytes of the part of a table that is on disk.
pub fn disk(log_partition: u32, centroids: u64, bytes: u64) {
    DISK_CENTROIDS.set_of(log_partition, centroids as f64);
    DISK_BYTES.set_of(log_partition, bytes as f64);
}

/// Sets whether a partition of the log, or `pages`, is halted until an operator acts.
pub fn halted(partition: impl ToString + Copy, halted: bool) {
    PARTITION_HALTED.set_of(partition, f64::from(u8::from(halted)));
}

/// Sets the number of records of a partition that are not read yet.
pub fn lag(topic: &str, partition: i32, records: i64) {
    gauge!(LAG_RECORDS.name, "topic" => topic.to_owned(), "partition" => partition.to_string())
        .set(records as f64);
}

#[cfg(test)]
mod tests {
    use super::*;

    /// If the counter first appeared with the value 1, Prometheus would see no increase, and the first lost page
    /// would raise no alert.
    #[test]
    fn counters_are_exported_before_they_first_count() {
        let recorder = PrometheusBuilder::new().build_recorder();
        metrics::with_local_recorder(&recorder, begin);
        let text = recorder.handle().render();
        for Metric { name, .. } in ALL.iter().filter(|metric| metric.kind == "counter") {
            let mut lines = text.lines().filter(|line| line.starts_with(name)).peekable();
            assert!(lines.peek().is_some() && lines.all(|line| line.ends_with(" 0")), "{name}: {text}");
        }
        for labels in [r#"letters_total{cause="MISSING_URL"}"#, r#"errors_total{client="topic-ids"}"#] {
            assert!(text.contains(labels), "{text}");
        }
        assert_eq!(MESSAGES_SKIPPED.labels, format!("reason: {}", Skip::ALL.map(Skip::as_str).join(", ")));
    }
}
