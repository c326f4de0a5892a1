//! Every metric of the worker: what it counts, in base units, with
//! labels of few values. `docs/metrics.md` is generated from [`ALL`].

use std::fmt::Write;
use std::time::Duration;

use metrics::{counter, gauge, histogram};
use metrics_exporter_prometheus::{Matcher, PrometheusBuilder, PrometheusHandle};

use crate::cluster::RecrawlOutcome;
use crate::log::watermarks::Admission;
use crate::page::mapping::Skip;
use crate::record::timestamp::Timestamp;
use crate::record::{Cause, Reason};
use crate::verdict::Conclusion;
use crate::verdict::Kind;

/// A metric, for the documentation and the scrape.
#[derive(Debug)]
pub struct Metric {
    /// Its name.
    pub name: &'static str,
    /// `counter`, `gauge` or `histogram`.
    pub kind: &'static str,
    /// Names of the labels, with their values.
    pub labels: &'static str,
    /// What it counts.
    pub help: &'static str,
}

const fn metric(name: &'static str, kind: &'static str, labels: &'static str, help: &'static str) -> Metric {
    Metric { name, kind, labels, help }
}

/// All metrics, in the order of the flow.
pub const ALL: &[Metric] = &[
    metric(
        "leitong_start_timestamp_seconds",
        "gauge",
        "",
        "When this instance started, in seconds since 1970: its counters began at 0 then",
    ),
    metric("leitong_pages_read_total", "counter", "", "Messages of the page topic read"),
    metric(
        "leitong_messages_skipped_total",
        "counter",
        "reason: literal, no-page, status, content-type, deletion, other-kind",
        "Messages of the page topic that the preset, or a filter, passes over: no verdict, no dead letter",
    ),
    metric(
        "leitong_input_pointers_without_hits",
        "gauge",
        "",
        "Fields of `[input]` that were found in none of the first 1,000 messages; the log names them",
    ),
    metric("leitong_page_bytes_read_total", "counter", "", "Bytes of their values"),
    metric(
        "leitong_pages_lost_total",
        "counter",
        "",
        "Pages that retention deleted before they were read; marks of a crawler's transactions among them count too",
    ),
    metric(
        "leitong_queue_records",
        "gauge",
        "queue: page-fetch, page, log-send, log-fetch, changelog-fetch, transaction; partition: of the log, for the last three",
        "Records waiting: fetched pages, pages between topic and log, records on their way to the log, records fetched \
         of the log, of changelogs, records of a transaction on their way",
    ),
    metric("leitong_queue_bytes", "gauge", "queue, partition: as above", "Bytes of these records"),
    metric("leitong_pages_paused", "gauge", "", "1 while the page topic is paused since the queue is full"),
    metric(
        "leitong_stage_microseconds_total",
        "counter",
        "stage: fingerprint, cluster, transaction",
        "Time spent in a stage, over all threads, in microseconds since counters are whole numbers",
    ),
    metric(
        "leitong_stalled_seconds",
        "gauge",
        "",
        "How long pages have waited for the CPU stages of the fingerprint stage while none was finished; from 60 on, \
         /readyz fails",
    ),
    metric("leitong_log_records_sent_total", "counter", "", "Records delivered to the log"),
    metric("leitong_log_sessions_total", "counter", "", "Producer sessions of the fingerprint stage begun"),
    metric(
        "leitong_log_records_taken_total",
        "counter",
        "",
        "Records of the log that counted: each gives a verdict or a dead letter",
    ),
    metric(
        "leitong_log_records_dropped_total",
        "counter",
        "why: repeated, after-gap, old-epoch, replaced",
        "Records of the log that did not count",
    ),
    metric(
        "leitong_other_fingerprint_hash_total",
        "counter",
        "",
        "Pages whose fingerprint was made with other settings than this instance's: they meet only their like",
    ),
    metric("leitong_verdicts_total", "counter", "kind: as in verdicts", "Verdicts committed"),
    metric(
        "leitong_templates_total",
        "counter",
        "what: cluster, site",
        "Clusters and sites whose duplicates look like a template; the log and the console name them",
    ),
    metric("leitong_undecidable_total", "counter", "reason: as in verdicts", "Undecidable pages, by reason"),
    metric(
        "leitong_recrawls_total",
        "counter",
        "outcome: as in verdicts",
        "Pages whose url was crawled before, by what has become of them; with recrawls.enabled",
    ),
    metric("leitong_dead_letters_total", "counter", "cause: as in dead letters", "Dead letters committed"),
    metric(
        "leitong_dead_letter_values_left_out_total",
        "counter",
        "",
        "Dead letters that the broker took without their value only",
    ),
    metric("leitong_transactions_total", "counter", "result: committed, failed", "Transactions by result"),
    metric("leitong_transaction_seconds", "histogram", "", "Time from begin to commit of a transaction"),
    metric(
        "leitong_producers_replaced_total",
        "counter",
        "",
        "Transactional producers given up after a broken connection or a time-out, so that nothing late counts",
    ),
    metric(
        "leitong_transactions_unended_total",
        "counter",
        "",
        "Transactions that brokers had ended without telling all partitions, and that were ended there by the next owner",
    ),
    metric(
        "leitong_verdict_delay_seconds",
        "histogram",
        "",
        "Time from the page's Kafka timestamp to its committed verdict",
    ),
    metric(
        "leitong_api_requests_total",
        "counter",
        "operation: lookup, store, page, cluster, other",
        "Requests to the HTTP API that were answered, well or with a problem",
    ),
    metric(
        "leitong_api_refused_total",
        "counter",
        "status: 400, 401, 403, 404, 405, 408, 413, 415, 421, 422, 429, 500, 503",
        "Those of them that were answered with a problem (docs/api.md), by its HTTP status",
    ),
    metric(
        API_SECONDS,
        "histogram",
        "operation: as above",
        "Time from a request's head to its answer, of those that were answered 200; a slow client's body is in it",
    ),
    metric(
        "leitong_lookups_total",
        "counter",
        "held_as: owner, standby",
        "Look-ups that a table answered, by what this instance has the table as",
    ),
    metric("leitong_centroids", "gauge", "partition: of the log", "Centroids in the table"),
    metric(
        "leitong_restored_centroids",
        "gauge",
        "partition: of the log",
        "Centroids read by the last or current restore",
    ),
    metric(
        "leitong_restored_records",
        "gauge",
        "partition: of the log",
        "Records of the changelog read by the last or current restore; few behind a snapshot or a standby's table",
    ),
    metric("leitong_restore_seconds", "gauge", "partition: of the log", "Time that the last restore took"),
    metric(
        "leitong_standby_centroids",
        "gauge",
        "partition: of the log",
        "Centroids in the table that this instance keeps ready for a partition of another one",
    ),
    metric(
        "leitong_snapshot_timestamp_seconds",
        "gauge",
        "partition: of the log",
        "When the last local snapshot was made, in seconds since 1970",
    ),
    metric("leitong_snapshot_seconds", "gauge", "partition: of the log", "Time that the last snapshot took"),
    metric(
        "leitong_snapshots_set_aside_total",
        "counter",
        "",
        "Snapshots, or tables on disk, that could not be used; the log says why",
    ),
    metric(
        "leitong_disk_centroids",
        "gauge",
        "partition: of the log",
        "Centroids that are on disk and not in memory, with `table.on_disk`",
    ),
    metric("leitong_disk_bytes", "gauge", "partition: of the log", "Bytes of the table's files on disk"),
    metric(
        "leitong_disk_failures_total",
        "counter",
        "",
        "Times that a table on disk could not be written; centroids then wait in memory, up to a limit",
    ),
    metric(
        "leitong_disk_checked_bytes_total",
        "counter",
        "",
        "Bytes of tables on disk that were read in the background, to compare checksums",
    ),
    metric(
        "leitong_disk_damaged_total",
        "counter",
        "",
        "Times that this found a file damaged or unreadable; its partition then halts, and the log says which file it is",
    ),
    metric(
        "leitong_changelog_deletions_total",
        "counter",
        "result: deleted, failed",
        "Requests to delete what has expired of the changelog; brokers that refuse them only keep more",
    ),
    metric(
        "leitong_partition_halted",
        "gauge",
        "partition: of the log, or `pages` for the page topic",
        "1 while a partition, or the page topic, waits for an operator; the log says why",
    ),
    metric(
        "leitong_partitions_owned",
        "gauge",
        "stage: fingerprint, cluster",
        "Partitions assigned to this instance",
    ),
    metric(
        "leitong_log_partitions",
        "gauge",
        "",
        "Partitions of the log, each of which needs an instance of the cluster role that owns it",
    ),
    metric(
        "leitong_lag_records",
        "gauge",
        "topic, partition",
        "Records not yet read of a partition of pages, log or changelog that this instance reads; 0 where it reads it no more",
    ),
    metric(
        "leitong_trace_spans_total",
        "counter",
        "result: exported, failed, dropped",
        "Spans of traces, with `traces.enabled`: taken by the collector, not taken by it, without room in the queue",
    ),
    metric(
        "leitong_client_errors_total",
        "counter",
        "client: admin, pages, log, cluster, reader, standby",
        "Errors that librdkafka reported and goes on from",
    ),
];

/// Upper bounds of the histograms' buckets.
pub const SECONDS: &[f64] =
    &[0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0, 300.0];

/// The histogram of times that are shorter than most.
pub const API_SECONDS: &str = "leitong_api_seconds";
/// Upper bounds of its buckets.
pub const SHORT_SECONDS: &[f64] =
    &[0.0005, 0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 10.0, 30.0];

/// Has this process keep its metrics, with their help texts.
///
/// # Errors
/// It does so already.
pub fn install() -> anyhow::Result<PrometheusHandle> {
    let of_look_ups = Matcher::Full(API_SECONDS.to_owned());
    let recorder = PrometheusBuilder::new()
        .set_buckets(SECONDS)?
        .set_buckets_for_metric(of_look_ups, SHORT_SECONDS)?
        .install_recorder()?;
    describe();
    Ok(recorder)
}

/// Begins to count what `leitong serve` counts; see [`begin`].
pub fn begin_serving() {
    gauge!("leitong_start_timestamp_seconds").set(Timestamp::now().as_ms() as f64 / 1e3);
    for kind in Kind::ALL {
        counter!("leitong_verdicts_total", "kind" => kind.as_str()).increment(0);
    }
    for operation in OPERATIONS {
        counter!("leitong_api_requests_total", "operation" => operation).increment(0);
    }
    for status in REFUSALS {
        counter!("leitong_api_refused_total", "status" => status).increment(0);
    }
}

/// What requests to the API ask for.
const OPERATIONS: [&str; 5] = ["lookup", "store", "page", "cluster", "other"];
/// The statuses of problems.
const REFUSALS: [&str; 13] =
    ["400", "401", "403", "404", "405", "408", "413", "415", "421", "422", "429", "500", "503"];

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

/// Exports all counters at 0, with all values of their labels: a
/// counter that is first seen above 0 seems to have risen by nothing,
/// so no alert would fire at the first loss, failure or dead letter.
pub fn begin() {
    gauge!("leitong_start_timestamp_seconds").set(Timestamp::now().as_ms() as f64 / 1e3);
    for Metric { name, kind, labels, .. } in ALL {
        if *kind == "counter" && labels.is_empty() {
            counter!(*name).increment(0);
        }
    }
    let causes = Cause::ALL.iter().map(Cause::label).chain([Cause::OTHER_LABEL]).collect();
    let labelled: [(&'static str, &'static str, Vec<&'static str>); 15] = [
        ("leitong_messages_skipped_total", "reason", Skip::ALL.map(Skip::as_str).to_vec()),
        ("leitong_stage_microseconds_total", "stage", vec!["fingerprint", "cluster", "transaction"]),
        ("leitong_log_records_dropped_total", "why", vec!["repeated", "after-gap", "old-epoch", "replaced"]),
        ("leitong_verdicts_total", "kind", Kind::ALL.iter().map(|kind| kind.as_str()).collect()),
        ("leitong_templates_total", "what", vec!["cluster", "site"]),
        ("leitong_undecidable_total", "reason", Reason::ALL.iter().map(|reason| reason.as_str()).collect()),
        ("leitong_recrawls_total", "outcome", RecrawlOutcome::ALL.map(RecrawlOutcome::as_str).to_vec()),
        ("leitong_dead_letters_total", "cause", causes),
        ("leitong_transactions_total", "result", vec!["committed", "failed"]),
        ("leitong_changelog_deletions_total", "result", vec!["deleted", "failed"]),
        ("leitong_api_requests_total", "operation", OPERATIONS.to_vec()),
        ("leitong_api_refused_total", "status", REFUSALS.to_vec()),
        ("leitong_lookups_total", "held_as", vec!["owner", "standby"]),
        ("leitong_trace_spans_total", "result", vec!["exported", "failed", "dropped"]),
        (
            "leitong_client_errors_total",
            "client",
            vec!["admin", "pages", "log", "cluster", "reader", "standby"],
        ),
    ];
    for (name, label, values) in labelled {
        for value in values {
            counter!(name, label => value).increment(0);
        }
    }
}

/// The page `docs/metrics.md`.
#[must_use]
pub fn markdown() -> String {
    let mut out = String::from(
        "# Metrics\n\n<!-- Generated by `leitong config metrics` from src/telemetry/metrics.rs; a test keeps it \
         true. -->\n\n`leitong run` serves them at `/metrics` of the admin port. Times are in seconds, sizes in \
         bytes. `leitong serve` serves the metrics of the API, verdicts and centroids at `/metrics` of its own port. The queues' fill, `leitong_lag_records` and `leitong_verdict_delay_seconds` are what to watch.\n\n\
         | metric | type | labels | meaning |\n|---|---|---|---|\n",
    );
    for Metric { name, kind, labels, help } in ALL {
        let _ = writeln!(out, "| `{name}` | {kind} | {labels} | {help} |");
    }
    out
}

/// Messages of the page topic, and bytes of their values.
pub fn pages_read(pages: usize, bytes: usize) {
    counter!("leitong_pages_read_total").increment(pages as u64);
    counter!("leitong_page_bytes_read_total").increment(bytes as u64);
}

/// A message is passed over.
pub fn skipped(why: Skip) {
    counter!("leitong_messages_skipped_total", "reason" => why.as_str()).increment(1);
}

/// Fields of the mapping that were never found.
pub fn pointers_without_hits(fields: usize) {
    gauge!("leitong_input_pointers_without_hits").set(fields as f64);
}

/// Pages that were gone before they were read.
pub fn pages_lost(pages: u64) {
    counter!("leitong_pages_lost_total").increment(pages);
}

/// How full a queue is; `partition` is empty for those that an instance has one of.
pub fn queue(queue: &'static str, partition: &str, records: u64, bytes: u64) {
    let labels = [("queue", queue.to_owned()), ("partition", partition.to_owned())];
    gauge!("leitong_queue_records", &labels).set(records as f64);
    gauge!("leitong_queue_bytes", &labels).set(bytes as f64);
}

/// The page topic is paused, or read again.
pub fn paused(paused: bool) {
    gauge!("leitong_pages_paused").set(if paused { 1.0 } else { 0.0 });
}

/// Time in a stage.
pub fn stage(stage: &'static str, time: Duration) {
    // Counters are whole numbers; a gauge that only grows would be no counter to its reader.
    counter!("leitong_stage_microseconds_total", "stage" => stage)
        .increment(u64::try_from(time.as_micros()).unwrap_or(u64::MAX));
}

/// Pages have waited for so long while none was finished.
pub fn stalled(time: Duration) {
    gauge!("leitong_stalled_seconds").set(time.as_secs_f64());
}

/// Records delivered to the log.
pub fn log_records_sent(records: u64) {
    counter!("leitong_log_records_sent_total").increment(records);
}

/// A producer session begins.
pub fn log_session() {
    counter!("leitong_log_sessions_total").increment(1);
}

/// A record of the log does not count.
pub fn dropped(why: Admission) {
    let why = match why {
        Admission::Accepted => return,
        Admission::Repeated => "repeated",
        Admission::AfterGap => "after-gap",
        Admission::OldEpoch => "old-epoch",
        Admission::Replaced => "replaced",
    };
    counter!("leitong_log_records_dropped_total", "why" => why).increment(1);
}

/// A page was fingerprinted with other settings.
pub fn other_fingerprint_hash() {
    counter!("leitong_other_fingerprint_hash_total").increment(1);
}

/// A cluster or a site looks like a template.
pub fn template(what: &'static str) {
    counter!("leitong_templates_total", "what" => what).increment(1);
}

/// A verdict or dead letter is committed.
pub fn committed(conclusion: &Outcome) {
    counter!("leitong_log_records_taken_total").increment(1);
    match conclusion {
        Outcome::Verdict { kind, reason, recrawl } => {
            counter!("leitong_verdicts_total", "kind" => *kind).increment(1);
            if let Some(reason) = reason {
                counter!("leitong_undecidable_total", "reason" => *reason).increment(1);
            }
            if let Some(recrawl) = recrawl {
                counter!("leitong_recrawls_total", "outcome" => *recrawl).increment(1);
            }
        }
        Outcome::DeadLetter { cause } => {
            counter!("leitong_dead_letters_total", "cause" => *cause).increment(1);
        }
    }
}

/// What is counted of a conclusion.
#[derive(Debug, Clone, Copy)]
pub enum Outcome {
    /// A verdict.
    Verdict {
        /// Its kind.
        kind: &'static str,
        /// Why it is undecidable.
        reason: Option<&'static str>,
        /// What has become of a page that was crawled before.
        recrawl: Option<&'static str>,
    },
    /// A dead letter.
    DeadLetter {
        /// Its cause, out of those that are known.
        cause: &'static str,
    },
}

impl Outcome {
    /// What is counted of `conclusion`.
    #[must_use]
    pub fn of(conclusion: &Conclusion) -> Self {
        match conclusion {
            Conclusion::Verdict(verdict) => Self::Verdict {
                kind: verdict.kind.as_str(),
                reason: verdict.reason.map(crate::record::Reason::as_str),
                recrawl: verdict.recrawl.as_ref().map(|recrawl| recrawl.outcome.as_str()),
            },
            Conclusion::DeadLetter(letter) => Self::DeadLetter { cause: letter.cause.label() },
        }
    }
}

/// Dead letters go without their values.
pub fn values_left_out(letters: u64) {
    counter!("leitong_dead_letter_values_left_out_total").increment(letters);
}

/// A request to the HTTP API was answered, `time` after its head had come.
pub fn api_request(operation: &'static str, status: u16, time: Duration) {
    counter!("leitong_api_requests_total", "operation" => operation).increment(1);
    if status == 200 {
        histogram!(API_SECONDS, "operation" => operation).record(time.as_secs_f64());
    } else {
        counter!("leitong_api_refused_total", "status" => status.to_string()).increment(1);
    }
}

/// A table has answered a look-up.
pub fn look_up(held_as: &'static str) {
    counter!("leitong_lookups_total", "held_as" => held_as).increment(1);
}

/// A transaction has ended.
pub fn transaction(committed: bool, time: Duration) {
    let result = if committed { "committed" } else { "failed" };
    counter!("leitong_transactions_total", "result" => result).increment(1);
    if committed {
        histogram!("leitong_transaction_seconds").record(time.as_secs_f64());
    }
}

/// A transactional producer was given up because a request of it may still arrive.
pub fn producer_replaced() {
    counter!("leitong_producers_replaced_total").increment(1);
}

/// Brokers were asked to delete what has expired of the changelog.
pub fn changelog_deletion(done: bool) {
    let result = if done { "deleted" } else { "failed" };
    counter!("leitong_changelog_deletions_total", "result" => result).increment(1);
}

/// A transaction was ended where brokers had not told a partition that it has ended.
pub fn unended_transaction() {
    counter!("leitong_transactions_unended_total").increment(1);
}

/// Time from a page's timestamp to its committed verdict.
pub fn verdict_delay(time: Duration) {
    histogram!("leitong_verdict_delay_seconds").record(time.as_secs_f64());
}

/// The size of a table.
pub fn centroids(log_partition: u32, count: usize) {
    gauge!("leitong_centroids", "partition" => log_partition.to_string()).set(count as f64);
}

/// How far a restore is: centroids in the table, records of the changelog read.
pub fn restored(log_partition: u32, centroids: u64, records: u64, time: Duration) {
    gauge!("leitong_restored_records", "partition" => log_partition.to_string()).set(records as f64);
    gauge!("leitong_restored_centroids", "partition" => log_partition.to_string()).set(centroids as f64);
    gauge!("leitong_restore_seconds", "partition" => log_partition.to_string()).set(time.as_secs_f64());
}

/// The size of a table that is kept ready.
pub fn standby(log_partition: u32, centroids: usize) {
    gauge!("leitong_standby_centroids", "partition" => log_partition.to_string()).set(centroids as f64);
}

/// A snapshot was made.
pub fn snapshot(log_partition: u32, as_of: Timestamp, time: Duration) {
    gauge!("leitong_snapshot_timestamp_seconds", "partition" => log_partition.to_string())
        .set(as_of.as_ms() as f64 / 1e3);
    gauge!("leitong_snapshot_seconds", "partition" => log_partition.to_string()).set(time.as_secs_f64());
}

/// The part of a table that is on disk was saved: centroids that have not expired, and bytes.
pub fn disk(log_partition: u32, centroids: u64, bytes: u64) {
    gauge!("leitong_disk_centroids", "partition" => log_partition.to_string()).set(centroids as f64);
    gauge!("leitong_disk_bytes", "partition" => log_partition.to_string()).set(bytes as f64);
}

/// A table's blocks cannot be written or saved.
pub fn disk_failed() {
    counter!("leitong_disk_failures_total").increment(1);
}

/// Files of a table were read in the background.
pub fn disk_checked(bytes: u64) {
    counter!("leitong_disk_checked_bytes_total").increment(bytes);
}

/// A file of a table that was read in the background cannot be relied on.
pub fn disk_damaged() {
    counter!("leitong_disk_damaged_total").increment(1);
}

/// A snapshot cannot be used.
pub fn snapshot_set_aside() {
    counter!("leitong_snapshots_set_aside_total").increment(1);
}

/// A partition is not served, or served again.
pub fn halted(log_partition: u32, halted: bool) {
    gauge!("leitong_partition_halted", "partition" => log_partition.to_string()).set(if halted {
        1.0
    } else {
        0.0
    });
}

/// Whether the page topic is not read until an operator acts.
pub fn pages_halted(halted: bool) {
    gauge!("leitong_partition_halted", "partition" => "pages").set(if halted { 1.0 } else { 0.0 });
}

/// Partitions of a half.
pub fn owned(stage: &'static str, partitions: usize) {
    gauge!("leitong_partitions_owned", "stage" => stage).set(partitions as f64);
}

/// Partitions of the log, whoever owns them.
pub fn log_partitions(count: u32) {
    gauge!("leitong_log_partitions").set(f64::from(count));
}

/// Records not yet read.
pub fn lag(topic: &str, partition: i32, records: i64) {
    gauge!("leitong_lag_records", "topic" => topic.to_owned(), "partition" => partition.to_string())
        .set(records as f64);
}

/// What became of spans of traces.
pub fn spans(result: &'static str, spans: u64) {
    counter!("leitong_trace_spans_total", "result" => result).increment(spans);
}

/// An error that a client goes on from.
pub fn client_error(client: &'static str) {
    counter!("leitong_client_errors_total", "client" => client).increment(1);
}

#[cfg(test)]
mod tests {
    use metrics_exporter_prometheus::PrometheusBuilder;

    use super::*;

    /// The first page that was lost raised no alert: its
    /// counter was first seen at 1, so it had not increased.
    #[test]
    fn counters_are_there_before_they_count() {
        let recorder = PrometheusBuilder::new().build_recorder();
        metrics::with_local_recorder(&recorder, begin);
        let text = recorder.handle().render();
        for Metric { name, labels, .. } in ALL.iter().filter(|metric| metric.kind == "counter") {
            let lines: Vec<&str> = text.lines().filter(|line| line.starts_with(name)).collect();
            assert!(!lines.is_empty() && lines.iter().all(|line| line.ends_with(" 0")), "{name}: {lines:?}");
            let Some((label, values)) = labels.split_once(": ") else {
                assert_eq!(lines, [format!("{name} 0")]);
                continue;
            };
            for value in values.split(", ").filter(|_| !values.starts_with("as in")) {
                let wanted = format!("{name}{{{label}=\"{value}\"}} 0");
                assert!(lines.contains(&&*wanted), "{wanted} is not in {lines:?}");
            }
        }
    }
}
