-- config.xml: <kafka><isolation_level>read_committed</isolation_level></kafka>
CREATE TABLE verdicts_queue (raw String) ENGINE = Kafka
SETTINGS kafka_broker_list = 'kafka:9092', kafka_topic_list = 'leitong.verdicts',
         kafka_group_name = 'clickhouse-verdicts', kafka_format = 'JSONAsString';

CREATE TABLE verdicts (
    page_id String,
    url String,
    kind LowCardinality(String),
    cluster_id Nullable(FixedString(32)),
    canonical_page_id Nullable(String),
    same_url Bool,
    similarity Nullable(Float32),
    publisher Nullable(String),
    log_partition UInt32,
    log_offset UInt64,
    decided_at DateTime64(3)
) ENGINE = ReplacingMergeTree(log_offset) ORDER BY page_id;

CREATE MATERIALIZED VIEW verdicts_reader TO verdicts AS SELECT
    JSONExtractString(raw, 'page_id') AS page_id,
    JSONExtractString(raw, 'url') AS url,
    JSONExtractString(raw, 'kind') AS kind,
    JSONExtract(raw, 'cluster_id', 'Nullable(String)') AS cluster_id,
    JSONExtract(raw, 'canonical_page_id', 'Nullable(String)') AS canonical_page_id,
    JSONExtractBool(raw, 'same_url') AS same_url,
    JSONExtract(raw, 'similarity', 'Nullable(Float32)') AS similarity,
    JSONExtract(raw, 'metadata', 'publisher', 'Nullable(String)') AS publisher,
    JSONExtractUInt(raw, 'log_partition') AS log_partition,
    JSONExtractUInt(raw, 'log_offset') AS log_offset,
    parseDateTime64BestEffort(JSONExtractString(raw, 'decided_at'), 3) AS decided_at
FROM verdicts_queue;
