//! All metrics of `leitong run` and `leitong serve`, with their meaning. Each label has few values.
//! `docs/metrics.md` is generated from [`ALL`].

use std::fmt::Write;
use std::time::Duration;

use metrics::{counter, gauge, histogram};
use metrics_exporter_prometheus::{Matcher, PrometheusBuilder, PrometheusHandle};

use leitong_base::record::{Cause, Reason, Timestamp};
use leitong_cluster::RecrawlOutcome;
use leitong_cluster::log::Admission;
use leitong_cluster::verdict::{Conclusion, Kind};
use leitong_text::page::mapping::Skip;

/// A metric, for the documentation and the scrape.
#[derive(Debug)]
pub(crate) struct Metric {
    /// Name.
    pub name: &'static str,
    /// `counter`, `gauge` or `histogram`.
    pub kind: &'static str,
    /// Names of the metric's labels, with their values.
    pub labels: &'static str,
    /// Meaning, for operators.
    pub help: &'static str,
}

const fn metric(name: &'static str, kind: &'static str, labels: &'static str, help: &'static str) -> Metric {
    Metric { name, kind, labels, help }
}

/// All metrics, in the order in which a page meets them.
pub(crate) const ALL: &[Metric] = &[
    metric(
        "leitong_start_timestamp_seconds",
        "gauge",
        "",
        "Start of this instance, in seconds since 1970; its counters started at 0 then",
    ),
    metric("leitong_pages_read_total", "counter", "", "Messages read from the page topic"),
    metric(
        "leitong_messages_skipped_total",
        "counter",
        "reason: literal, no-page, status, content-type, deletion, other-kind",
        "Messages that the preset or a filter skips; they get no verdict and no dead letter",
    ),
    metric(
        "leitong_input_pointers_without_hits",
        "gauge",
        "",
        "Fields of `[input]` that were in none of the first 1,000 messages; the log names them",
    ),
    metric("leitong_page_bytes_read_total", "counter", "", "Bytes read from page message values"),
    metric(
        "leitong_pages_lost_total",
        "counter",
        "",
        "Pages lost because retention deleted them before they were read; includes transaction markers of \
         the crawler",
    ),
    metric(
        "leitong_queue_records",
        "gauge",
        "queue: page-fetch, page, page-read, page-cpu, page-order, log-send, log-fetch, changelog-fetch, transaction; partition: of the log, for the last three",
        "Records waiting in a queue: fetched from the page topic (page-fetch); between topic and log (page), \
         and of these just read (page-read), waiting for a CPU thread (page-cpu), or for earlier pages \
         (page-order); on their way to the log (log-send); fetched from the log (log-fetch) or changelogs \
         (changelog-fetch); in a transaction (transaction)",
    ),
    metric(
        "leitong_queue_bytes",
        "gauge",
        "queue, partition: as for leitong_queue_records",
        "Bytes of the records waiting in a queue",
    ),
    metric(
        "leitong_pages_paused",
        "gauge",
        "",
        "1 while reading of the page topic is paused because the queue is full",
    ),
    metric(
        "leitong_stage_microseconds_total",
        "counter",
        "stage: fingerprint, cluster, transaction",
        "Time spent in a stage by all threads, in microseconds",
    ),
    metric(
        "leitong_stalled_seconds",
        "gauge",
        "",
        "Time since the CPU stages last finished a page while pages wait; /readyz fails from 60 seconds on",
    ),
    metric("leitong_log_records_sent_total", "counter", "", "Records delivered to the fingerprint log"),
    metric(
        "leitong_log_sessions_total",
        "counter",
        "",
        "Producer sessions that the fingerprint stage has started",
    ),
    metric(
        "leitong_log_records_taken_total",
        "counter",
        "",
        "Records of the log that were accepted; each gets one verdict or dead letter",
    ),
    metric(
        "leitong_log_records_dropped_total",
        "counter",
        "why: repeated, after-gap, old-epoch, replaced",
        "Records of the log that were not accepted: repeated, after a gap, of a lower kafka.epoch, or of a \
         replaced page topic",
    ),
    metric(
        "leitong_other_fingerprint_hash_total",
        "counter",
        "",
        "Pages fingerprinted with other settings than this instance's; they are never compared with pages from these settings",
    ),
    metric("leitong_verdicts_total", "counter", "kind: as in verdicts", "Verdicts committed"),
    metric(
        "leitong_templates_total",
        "counter",
        "what: cluster, site",
        "Clusters and sites whose duplicates look like a page template; the log and the console name them",
    ),
    metric("leitong_undecidable_total", "counter", "reason: as in verdicts", "Undecidable pages, by reason"),
    metric(
        "leitong_recrawls_total",
        "counter",
        "outcome: as in verdicts",
        "Pages whose url was crawled before, by outcome; only with recrawls.enabled",
    ),
    metric("leitong_dead_letters_total", "counter", "cause: as in dead letters", "Dead letters committed"),
    metric(
        "leitong_dead_letter_values_left_out_total",
        "counter",
        "",
        "Dead letters that were sent without their value, since the broker rejects messages of that size",
    ),
    metric("leitong_transactions_total", "counter", "result: committed, failed", "Transactions, by result"),
    metric(
        "leitong_transaction_seconds",
        "histogram",
        "",
        "Time from the beginning of a transaction to its commit",
    ),
    metric(
        "leitong_producers_replaced_total",
        "counter",
        "",
        "Transactional producers replaced after a broken connection or a timeout, so none of their late requests counts",
    ),
    metric(
        "leitong_transactions_unended_total",
        "counter",
        "",
        "Transactions that brokers had ended without telling all partitions; the next owner ended them in the remaining partitions",
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
        "Requests to the HTTP API that were answered, with or without an error",
    ),
    metric(
        "leitong_api_refused_total",
        "counter",
        "status: 400, 401, 403, 404, 405, 408, 413, 415, 421, 422, 429, 500, 503",
        "API requests answered with an error (docs/api.md), by HTTP status",
    ),
    metric(
        API_SECONDS,
        "histogram",
        "operation: as for leitong_api_requests_total",
        "Time from the head of a request to its answer, for answers with status 200; includes waiting for \
         the body",
    ),
    metric(
        "leitong_lookups_total",
        "counter",
        "held_as: owner, standby",
        "Look-ups answered from a table, by whether this instance owns the table or keeps it as a standby",
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
        "Changelog records read by the last or current restore; few if it started from a snapshot or a standby's table",
    ),
    metric("leitong_restore_seconds", "gauge", "partition: of the log", "Duration of the last restore"),
    metric(
        "leitong_standby_centroids",
        "gauge",
        "partition: of the log",
        "Centroids in the standby table that this instance keeps for a partition owned by another instance",
    ),
    metric(
        "leitong_snapshot_timestamp_seconds",
        "gauge",
        "partition: of the log",
        "Time of the last local snapshot, in seconds since 1970",
    ),
    metric("leitong_snapshot_seconds", "gauge", "partition: of the log", "Duration of the last snapshot"),
    metric(
        "leitong_snapshots_set_aside_total",
        "counter",
        "",
        "Snapshots or tables on disk that could not be used and were set aside; the log says why",
    ),
    metric(
        "leitong_disk_centroids",
        "gauge",
        "partition: of the log",
        "Centroids that are on disk instead of in memory, with `table.on_disk`",
    ),
    metric("leitong_disk_bytes", "gauge", "partition: of the log", "Bytes of the table's files on disk"),
    metric(
        "leitong_disk_failures_total",
        "counter",
        "",
        "Failed attempts to write a table to disk; its centroids then wait in memory, up to a limit",
    ),
    metric(
        "leitong_disk_checked_bytes_total",
        "counter",
        "",
        "Bytes of tables on disk that the background check for damage has read",
    ),
    metric(
        "leitong_disk_damaged_total",
        "counter",
        "",
        "Damaged or unreadable files that the background check has found; the partition then halts, and the log names the file",
    ),
    metric(
        "leitong_changelog_deletions_total",
        "counter",
        "result: deleted, failed",
        "Requests to delete expired records of the changelog; if brokers refuse them, the changelog only stays larger",
    ),
    metric(
        "leitong_partition_halted",
        "gauge",
        "partition: of the log, or `pages` for the page topic",
        "1 while a log partition or the page topic is halted until an operator acts; the log says why",
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
        "Partitions of the log; each needs an instance with the cluster role as its owner",
    ),
    metric(
        "leitong_lag_records",
        "gauge",
        "topic, partition",
        "Records of a partition (pages, log or changelog) that this instance has not read yet; 0 when it no \
         longer reads the partition",
    ),
    metric(
        "leitong_trace_spans_total",
        "counter",
        "result: exported, failed, dropped",
        "Trace spans by result, with `traces.enabled`: accepted by the collector, not accepted, or dropped because the queue was full",
    ),
    metric(
        "leitong_client_errors_total",
        "counter",
        "client: admin, pages, log, cluster, reader, topic-ids",
        "Errors that librdkafka reported and recovers from",
    ),
];

/// Upper bounds of the buckets of most histograms, in seconds.
pub(crate) const SECONDS: &[f64] =
    &[0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0, 300.0];

/// Name of the histogram of API times, which are short.
const API_SECONDS: &str = "leitong_api_seconds";
/// Upper bounds of the buckets of [`API_SECONDS`], in seconds.
const SHORT_SECONDS: &[f64] =
    &[0.0005, 0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 10.0, 30.0];

/// Installs the recorder of this process, with all help texts.
///
/// # Errors
/// Fails if the process has a recorder already.
pub(crate) fn install() -> anyhow::Result<PrometheusHandle> {
    let api_seconds = Matcher::Full(API_SECONDS.to_owned());
    let recorder = PrometheusBuilder::new()
        .set_buckets(SECONDS)?
        .set_buckets_for_metric(api_seconds, SHORT_SECONDS)?
        .install_recorder()?;
    describe();
    Ok(recorder)
}

/// Exports the counters of `leitong serve` at 0; see [`begin`].
pub(crate) fn begin_serving() {
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

/// Operations of the API.
const OPERATIONS: [&str; 5] = ["lookup", "store", "page", "cluster", "other"];
/// HTTP statuses of errors.
const REFUSALS: [&str; 13] =
    ["400", "401", "403", "404", "405", "408", "413", "415", "421", "422", "429", "500", "503"];

/// Registers names and help texts with the recorder.
pub(crate) fn describe() {
    for metric in ALL {
        match metric.kind {
            "counter" => metrics::describe_counter!(metric.name, metric.help),
            "gauge" => metrics::describe_gauge!(metric.name, metric.help),
            _ => metrics::describe_histogram!(metric.name, metric.help),
        }
    }
}

/// Exports all counters at 0, with all values of their labels. For a counter that first appears with a value
/// above 0, Prometheus sees no increase, so no alert would fire at the first loss, failure or dead letter.
pub(crate) fn begin() {
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
            vec!["admin", "pages", "log", "cluster", "reader", "topic-ids"],
        ),
    ];
    for (name, label, values) in labelled {
        for value in values {
            counter!(name, label => value).increment(0);
        }
    }
}

/// Returns the page `docs/metrics.md`.
#[must_use]
pub(crate) fn markdown() -> String {
    let mut out = String::from(
        "# Metrics\n\n<!-- Generated by `leitong config metrics` from src/telemetry/metrics.rs; a test keeps it \
         up to date. -->\n\n`leitong run` serves these metrics at `/metrics` of the admin port. Times are in seconds, sizes in \
         bytes. `leitong serve` serves the metrics of the API, verdicts and centroids at `/metrics` of its own port. Watch the fill of the queues, `leitong_lag_records` and `leitong_verdict_delay_seconds` first.\n\n\
         | metric | type | labels | meaning |\n|---|---|---|---|\n",
    );
    for Metric { name, kind, labels, help } in ALL {
        let _ = writeln!(out, "| `{name}` | {kind} | {labels} | {help} |");
    }
    out
}

/// Counts messages of the page topic, and the bytes of their values.
pub(crate) fn pages_read(pages: usize, bytes: usize) {
    counter!("leitong_pages_read_total").increment(pages as u64);
    counter!("leitong_page_bytes_read_total").increment(bytes as u64);
}

/// Counts a skipped message.
pub(crate) fn skipped(why: Skip) {
    counter!("leitong_messages_skipped_total", "reason" => why.as_str()).increment(1);
}

/// Counts pages that retention deleted before they were read.
pub(crate) fn pages_lost(pages: u64) {
    counter!("leitong_pages_lost_total").increment(pages);
}

/// Sets the fill of a queue. `partition` is empty for queues that an instance has only once.
pub(crate) fn queue(queue: &'static str, partition: &str, records: u64, bytes: u64) {
    let labels = [("queue", queue.to_owned()), ("partition", partition.to_owned())];
    gauge!("leitong_queue_records", &labels).set(records as f64);
    gauge!("leitong_queue_bytes", &labels).set(bytes as f64);
}

/// Sets whether reading of the page topic is paused.
pub(crate) fn paused(paused: bool) {
    gauge!("leitong_pages_paused").set(if paused { 1.0 } else { 0.0 });
}

/// Adds time spent in a stage.
pub(crate) fn stage(stage: &'static str, time: Duration) {
    // The recorder's counters are whole numbers, so the unit is microseconds.
    counter!("leitong_stage_microseconds_total", "stage" => stage)
        .increment(u64::try_from(time.as_micros()).unwrap_or(u64::MAX));
}

/// Sets the time for which pages have waited while none was finished.
pub(crate) fn stalled(time: Duration) {
    gauge!("leitong_stalled_seconds").set(time.as_secs_f64());
}

/// Counts records delivered to the log.
pub(crate) fn log_records_sent(records: u64) {
    counter!("leitong_log_records_sent_total").increment(records);
}

/// Counts a new producer session.
pub(crate) fn log_session() {
    counter!("leitong_log_sessions_total").increment(1);
}

/// Counts a record of the log that is not accepted.
pub(crate) fn dropped(why: Admission) {
    let why = match why {
        Admission::Accepted => return,
        Admission::Repeated => "repeated",
        Admission::AfterGap => "after-gap",
        Admission::OldEpoch => "old-epoch",
        Admission::Replaced => "replaced",
    };
    counter!("leitong_log_records_dropped_total", "why" => why).increment(1);
}

/// Counts a page that was fingerprinted with other settings.
pub(crate) fn other_fingerprint_hash() {
    counter!("leitong_other_fingerprint_hash_total").increment(1);
}

/// Counts a cluster or a site that looks like a template.
pub(crate) fn template(what: &'static str) {
    counter!("leitong_templates_total", "what" => what).increment(1);
}

/// Counts a committed verdict or dead letter.
pub(crate) fn committed(conclusion: &Outcome) {
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

/// The values that are counted for a verdict or dead letter.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Outcome {
    /// A verdict.
    Verdict {
        /// Kind of the verdict.
        kind: &'static str,
        /// Reason if the page is undecidable.
        reason: Option<&'static str>,
        /// Outcome for a page that was crawled before.
        recrawl: Option<&'static str>,
    },
    /// A dead letter.
    DeadLetter {
        /// Label of the cause.
        cause: &'static str,
    },
}

impl Outcome {
    /// Returns the values to count for `conclusion`.
    #[must_use]
    pub(crate) fn from_conclusion(conclusion: &Conclusion) -> Self {
        match conclusion {
            Conclusion::Verdict(verdict) => Self::Verdict {
                kind: verdict.kind.as_str(),
                reason: verdict.reason.map(leitong_base::record::Reason::as_str),
                recrawl: verdict.recrawl.as_ref().map(|recrawl| recrawl.outcome.as_str()),
            },
            Conclusion::DeadLetter(letter) => Self::DeadLetter { cause: letter.cause.label() },
        }
    }
}

/// Counts dead letters that are sent without their values.
pub(crate) fn values_left_out(letters: u64) {
    counter!("leitong_dead_letter_values_left_out_total").increment(letters);
}

/// Counts an answered request to the HTTP API. `time` is the time since its head arrived.
pub(crate) fn api_request(operation: &'static str, status: u16, time: Duration) {
    counter!("leitong_api_requests_total", "operation" => operation).increment(1);
    if status == 200 {
        histogram!(API_SECONDS, "operation" => operation).record(time.as_secs_f64());
    } else {
        counter!("leitong_api_refused_total", "status" => status.to_string()).increment(1);
    }
}

/// Counts a look-up that a table answered.
pub(crate) fn look_up(held_as: &'static str) {
    counter!("leitong_lookups_total", "held_as" => held_as).increment(1);
}

/// Counts a transaction that has ended.
pub(crate) fn transaction(committed: bool, time: Duration) {
    let result = if committed { "committed" } else { "failed" };
    counter!("leitong_transactions_total", "result" => result).increment(1);
    if committed {
        histogram!("leitong_transaction_seconds").record(time.as_secs_f64());
    }
}

/// Counts a transactional producer that was replaced because one of its requests may still arrive.
pub(crate) fn producer_replaced() {
    counter!("leitong_producers_replaced_total").increment(1);
}

/// Counts a request to delete expired records of the changelog.
pub(crate) fn changelog_deletion(done: bool) {
    let result = if done { "deleted" } else { "failed" };
    counter!("leitong_changelog_deletions_total", "result" => result).increment(1);
}

/// Counts a transaction that brokers had ended without telling a partition, so this instance ended it there.
pub(crate) fn unended_transaction() {
    counter!("leitong_transactions_unended_total").increment(1);
}

/// Records the time from a page's timestamp to its committed verdict.
pub(crate) fn verdict_delay(time: Duration) {
    histogram!("leitong_verdict_delay_seconds").record(time.as_secs_f64());
}

/// Sets the number of centroids in a table.
pub(crate) fn centroids(log_partition: u32, count: usize) {
    gauge!("leitong_centroids", "partition" => log_partition.to_string()).set(count as f64);
}

/// Sets the progress of a restore: centroids in the table, and records of the changelog that were read.
pub(crate) fn restored(log_partition: u32, centroids: u64, records: u64, time: Duration) {
    gauge!("leitong_restored_records", "partition" => log_partition.to_string()).set(records as f64);
    gauge!("leitong_restored_centroids", "partition" => log_partition.to_string()).set(centroids as f64);
    gauge!("leitong_restore_seconds", "partition" => log_partition.to_string()).set(time.as_secs_f64());
}

/// Sets the number of centroids in a standby table.
pub(crate) fn standby(log_partition: u32, centroids: usize) {
    gauge!("leitong_standby_centroids", "partition" => log_partition.to_string()).set(centroids as f64);
}

/// Sets time and duration of the last snapshot.
pub(crate) fn snapshot(log_partition: u32, as_of: Timestamp, time: Duration) {
    gauge!("leitong_snapshot_timestamp_seconds", "partition" => log_partition.to_string())
        .set(as_of.as_ms() as f64 / 1e3);
    gauge!("leitong_snapshot_seconds", "partition" => log_partition.to_string()).set(time.as_secs_f64());
}

/// Sets the unexpired centroids and the bytes of the part of a table that is on disk.
pub(crate) fn disk(log_partition: u32, centroids: u64, bytes: u64) {
    gauge!("leitong_disk_centroids", "partition" => log_partition.to_string()).set(centroids as f64);
    gauge!("leitong_disk_bytes", "partition" => log_partition.to_string()).set(bytes as f64);
}

/// Counts a failed attempt to write or save a table's blocks.
pub(crate) fn disk_failed() {
    counter!("leitong_disk_failures_total").increment(1);
}

/// Counts a snapshot that cannot be used.
pub(crate) fn snapshot_set_aside() {
    counter!("leitong_snapshots_set_aside_total").increment(1);
}

/// Sets whether a partition of the log is halted.
pub(crate) fn halted(log_partition: u32, halted: bool) {
    gauge!("leitong_partition_halted", "partition" => log_partition.to_string()).set(if halted {
        1.0
    } else {
        0.0
    });
}

/// Sets whether the page topic is halted until an operator acts.
pub(crate) fn pages_halted(halted: bool) {
    gauge!("leitong_partition_halted", "partition" => "pages").set(if halted { 1.0 } else { 0.0 });
}

/// Sets the number of partitions that are assigned to a stage.
pub(crate) fn owned(stage: &'static str, partitions: usize) {
    gauge!("leitong_partitions_owned", "stage" => stage).set(partitions as f64);
}

/// Sets the number of all partitions of the log.
pub(crate) fn log_partitions(count: u32) {
    gauge!("leitong_log_partitions").set(f64::from(count));
}

/// Sets the number of records of a partition that are not read yet.
pub(crate) fn lag(topic: &str, partition: i32, records: i64) {
    gauge!("leitong_lag_records", "topic" => topic.to_owned(), "partition" => partition.to_string())
        .set(records as f64);
}

/// Counts trace spans by result.
pub(crate) fn spans(result: &'static str, spans: u64) {
    counter!("leitong_trace_spans_total", "result" => result).increment(spans);
}

/// Counts an error that a Kafka client recovers from.
pub(crate) fn client_error(client: &'static str) {
    counter!("leitong_client_errors_total", "client" => client).increment(1);
}

#[cfg(test)]
mod tests {
    use metrics_exporter_prometheus::PrometheusBuilder;

    use super::*;

    /// The first page that was lost raised no alert: its counter first appeared with the value 1, which is no
    /// increase.
    #[test]
    fn counters_are_exported_before_they_first_count() {
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
