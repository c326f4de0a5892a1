//! All metrics of `leitong run` and `leitong serve`, with their meaning. `docs/metrics.md` is generated from [`ALL`].

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

/// Name of the histogram of API times, which are short.
pub(super) const API_SECONDS: &str = "leitong_api_seconds";

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
        "leitong_topics_wrong",
        "gauge",
        "",
        "Topic settings and missing topics with which no worker would start; the log says what to change",
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
