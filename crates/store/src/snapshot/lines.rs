//! Converts a saved table to and from lines of JSON, which `leitong table export` prints and `import` reads.
//!
//! The lines of a whole table are its [`LinesHead`], a [`CentroidLine`] for each centroid, oldest first, a
//! [`CrawlLine`] for each known change of a url, and a [`TextLine`] for each text of a page that joined a
//! cluster. Together they contain everything in the table's file, so verdicts after an import are the same as
//! without it. Unknown fields of a line are ignored.

use std::fmt;

use prost::bytes::Bytes;
use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::table_dir::TableDir;
use leitong_base::proto::{self, FORMAT_VERSION};
use leitong_base::record::Timestamp;
use leitong_cluster::changelog::ChangelogRecord;
use leitong_cluster::{ClusterId, SeenText};

/// Bytes, written as hex digits.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Hex(pub Bytes);

impl Serialize for Hex {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        struct Digits<'a>(&'a [u8]);
        impl fmt::Display for Digits<'_> {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
            }
        }
        serializer.collect_str(&Digits(&self.0))
    }
}

impl<'de> Deserialize<'de> for Hex {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        let digit = |byte: u8| char::from(byte).to_digit(16).map(|digit| digit as u8);
        let (pairs, rest) = text.as_bytes().as_chunks::<2>();
        let bytes: Option<Vec<u8>> =
            pairs.iter().map(|[high, low]| Some(digit(*high)? << 4 | digit(*low)?)).collect();
        match bytes {
            Some(bytes) if rest.is_empty() => Ok(Self(bytes.into())),
            _ => Err(D::Error::custom(format_args!("{text:?} is not hex digits, two for each byte"))),
        }
    }
}

/// A hash, written as in verdicts: sixteen hex digits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Hash(pub u64);

impl Serialize for Hash {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(&format_args!("{:016x}", self.0))
    }
}

impl<'de> Deserialize<'de> for Hash {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        let number =
            u64::from_str_radix(&text, 16).map_err(|_| D::Error::custom("not a hash in hex digits"))?;
        Ok(Self(number))
    }
}

/// A line of an exported table.
#[derive(Debug, Serialize)]
#[serde(transparent)]
pub struct TableLine(pub(super) LineContents);

impl TableLine {
    /// The format version of these lines. A reader refuses newer ones.
    pub const FORMAT_VERSION: u32 = LinesHead::FORMAT_VERSION;
}

#[derive(Debug, Serialize)]
#[serde(untagged)]
pub(super) enum LineContents {
    Head(LinesHead),
    Centroid(CentroidLine),
    Crawl(CrawlLine),
    Text(TextLine),
}

/// The first line, which describes the table.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct LinesHead {
    /// Format version of the lines: [`Self::FORMAT_VERSION`] if this version wrote them.
    pub(super) table_format_version: u32,
    /// Number of lines of centroids that follow.
    pub(super) centroids: u64,
    /// Number of lines of crawls after the centroids.
    pub(super) crawl_changes: u64,
    /// Number of lines of texts after the crawls.
    #[serde(default)]
    pub(super) text_lines: u64,
    fingerprint_hash: Hash,
    cluster_hash: Hash,
    log_generation: u32,
    log_partition: u32,
    next_log_offset: u64,
    log_time: Option<Timestamp>,
    founded: Option<u64>,
    dead_below: u64,
    dead_before: Option<Timestamp>,
    /// Number of crawls counted so far. `None` if recrawls are not enabled.
    crawls: Option<u64>,
    crawls_dead_below: u64,
    /// Number of texts inserted so far. `None` in exports of version 1.
    #[serde(default)]
    texts: Option<u64>,
    #[serde(default)]
    texts_dead_below: u64,
    #[serde(default)]
    texts_needed_from: u64,
    gaps_accepted_before: u64,
    /// Watermarks of a table that `replay` has saved.
    watermarks: Vec<WatermarkLine>,
    /// Hash of `corpus.*`. `None` in tables of older versions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    corpus_hash: Option<Hash>,
    /// The last finished runs of `dedup`, by which a repetition is recognised.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    runs: Vec<RunLine>,
}

/// A finished run of `dedup`, as the table lists it.
#[derive(Debug, Serialize, Deserialize)]
struct RunLine {
    id: Hash,
    inputs: Hex,
    finished_at: Option<Timestamp>,
    dead_letters: u64,
    /// Number of files and number of bytes of each output.
    outputs: Vec<(u64, u64)>,
    /// For each input, its number of bytes and its digest, 8 bytes each.
    #[serde(default)]
    input_contents: Hex,
}

/// The progress of a partition of the page topic.
#[derive(Debug, Serialize, Deserialize)]
struct WatermarkLine {
    topic: String,
    partition: u32,
    epoch: u32,
    offset: u64,
    newest_timestamp_ms: Option<i64>,
    gap_accepted: bool,
    topic_id: Option<Hex>,
}

impl LinesHead {
    /// The format version of these lines. A reader refuses newer ones.
    pub(super) const FORMAT_VERSION: u32 = 2;

    /// Creates the first line of a table with this `position`.
    #[must_use]
    pub(super) fn new(position: &proto::Position) -> Self {
        let time = |ms: Option<i64>| ms.and_then(Timestamp::from_ms);
        Self {
            table_format_version: Self::FORMAT_VERSION,
            centroids: TableDir::unexpired(position),
            crawl_changes: position.crawl_change_count,
            text_lines: position.text_count,
            fingerprint_hash: Hash(position.fingerprint_hash),
            cluster_hash: Hash(position.cluster_hash),
            log_generation: position.log_generation,
            log_partition: position.log_partition,
            next_log_offset: position.next_log_offset,
            log_time: time(position.log_time_ms),
            founded: position.founded,
            dead_below: position.dead_below,
            dead_before: time(position.dead_before_ms),
            crawls: position.crawls,
            crawls_dead_below: position.crawls_dead_below,
            texts: position.texts,
            texts_dead_below: position.texts_dead_below,
            texts_needed_from: position.texts_needed_from,
            gaps_accepted_before: position.gaps_accepted_before,
            watermarks: position.watermarks.iter().map(WatermarkLine::new).collect(),
            corpus_hash: position.corpus_hash.map(Hash),
            runs: position.runs.iter().map(RunLine::new).collect(),
        }
    }

    /// Converts the line to the position of a table with all centroids in memory.
    #[must_use]
    pub(super) fn into_message(self) -> proto::Position {
        proto::Position {
            format_version: TableDir::FORMAT_VERSION,
            centroid_count: self.centroids,
            crawl_change_count: self.crawl_changes,
            text_count: self.text_lines,
            texts: self.texts,
            texts_dead_below: self.texts_dead_below,
            texts_needed_from: self.texts_needed_from,
            fingerprint_hash: self.fingerprint_hash.0,
            cluster_hash: self.cluster_hash.0,
            log_generation: self.log_generation,
            log_partition: self.log_partition,
            next_log_offset: self.next_log_offset,
            log_time_ms: self.log_time.map(Timestamp::as_ms),
            founded: self.founded,
            dead_below: self.dead_below,
            dead_before_ms: self.dead_before.map(Timestamp::as_ms),
            crawls: self.crawls,
            crawls_dead_below: self.crawls_dead_below,
            gaps_accepted_before: self.gaps_accepted_before,
            watermarks: self.watermarks.into_iter().map(WatermarkLine::into_message).collect(),
            corpus_hash: self.corpus_hash.map(|hash| hash.0),
            runs: self.runs.into_iter().map(RunLine::into_message).collect(),
            ..proto::Position::default()
        }
    }
}

impl RunLine {
    fn new(run: &proto::FinishedRun) -> Self {
        Self {
            id: Hash(run.id),
            inputs: Hex(run.inputs.clone()),
            finished_at: Timestamp::from_ms(run.finished_at_ms),
            dead_letters: run.dead_letters,
            outputs: run.outputs.iter().map(|output| (output.files, output.bytes)).collect(),
            input_contents: Hex(run.input_contents.clone()),
        }
    }

    fn into_message(self) -> proto::FinishedRun {
        let output = |(files, bytes)| proto::WrittenOutput { files, bytes };
        proto::FinishedRun {
            id: self.id.0,
            inputs: self.inputs.0,
            finished_at_ms: self.finished_at.map_or(0, Timestamp::as_ms),
            dead_letters: self.dead_letters,
            outputs: self.outputs.into_iter().map(output).collect(),
            input_contents: self.input_contents.0,
        }
    }
}

impl WatermarkLine {
    fn new(message: &proto::Watermark) -> Self {
        Self {
            topic: message.topic.clone(),
            partition: message.partition,
            epoch: message.epoch,
            offset: message.offset,
            newest_timestamp_ms: message.newest_timestamp_ms,
            gap_accepted: message.gap_accepted,
            topic_id: message.topic_id.clone().map(Hex),
        }
    }

    fn into_message(self) -> proto::Watermark {
        proto::Watermark {
            topic: self.topic,
            partition: self.partition,
            epoch: self.epoch,
            offset: self.offset,
            newest_timestamp_ms: self.newest_timestamp_ms,
            gap_accepted: self.gap_accepted,
            topic_id: self.topic_id.map(|id| id.0),
        }
    }
}

/// A centroid.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct CentroidLine {
    /// The id of the cluster, for readers. An import derives it from the head instead.
    #[serde(skip_deserializing)]
    cluster_id: Option<ClusterId>,
    page_id: String,
    url: String,
    /// The canonical page of the cluster.
    canonical_page_id: String,
    canonical_url: String,
    corpus: String,
    log_offset: u64,
    log_time: Option<Timestamp>,
    text_digest: Hex,
    detector: String,
    /// The whole fingerprint, in its detector's encoding.
    fingerprint: Hex,
    fingerprint_hash: Hash,
    /// The rank of the canonical page, if a later page may replace it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    rank: Option<Hex>,
}

impl CentroidLine {
    /// Creates the line of a centroid of a table with this `position`.
    #[must_use]
    pub(super) fn new(position: &proto::Position, message: proto::Centroid) -> Self {
        let cluster_id = ClusterId::in_table(position, message.log_offset);
        let fingerprint = message.fingerprint.unwrap_or_default();
        // If the table has blocks, centroids founded before any page had a time get the first known time.
        let first_time_ms = position.blocks.as_ref().and_then(|blocks| blocks.first_time_ms);
        Self {
            cluster_id: Some(cluster_id),
            canonical_page_id: message.canonical_page_id.unwrap_or_else(|| message.page_id.clone()),
            canonical_url: message.canonical_url.unwrap_or_else(|| message.url.clone()),
            page_id: message.page_id,
            url: message.url,
            corpus: message.corpus,
            log_offset: message.log_offset,
            log_time: message.log_time_ms.or(first_time_ms).and_then(Timestamp::from_ms),
            text_digest: Hex(message.text_digest),
            detector: fingerprint.detector,
            fingerprint: Hex(fingerprint.data),
            fingerprint_hash: Hash(message.fingerprint_hash),
            rank: message.rank.map(Hex),
        }
    }

    /// Converts the line to a message.
    #[must_use]
    pub(super) fn into_message(self) -> proto::Centroid {
        let founder = self.canonical_page_id == self.page_id && self.canonical_url == self.url;
        let canonical = (!founder).then_some((self.canonical_page_id, self.canonical_url));
        let (canonical_page_id, canonical_url) = canonical.unzip();
        proto::Centroid {
            format_version: FORMAT_VERSION,
            log_offset: self.log_offset,
            log_time_ms: self.log_time.map(Timestamp::as_ms),
            corpus: self.corpus,
            fingerprint_hash: self.fingerprint_hash.0,
            fingerprint: Some(proto::Fingerprint { detector: self.detector, data: self.fingerprint.0 }),
            text_digest: self.text_digest.0,
            page_id: self.page_id,
            url: self.url,
            rank: self.rank.map(|rank| rank.0),
            canonical_page_id,
            canonical_url,
            ..proto::Centroid::default()
        }
    }
}

/// A change of the known crawls: one of `crawled`, `withdrawn` and `ended`.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct CrawlLine {
    /// The number of the affected cluster.
    cluster: u64,
    /// The log offset of the crawled page.
    log_offset: u64,
    /// The page, if one was crawled and is in this cluster.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    crawled: Option<Crawled>,
    /// The key of a page that was in this cluster and was withdrawn.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    withdrawn: Option<Hex>,
    /// True if no page is left in this cluster.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    ended: Option<bool>,
}

/// The last crawl of a url.
#[derive(Debug, Serialize, Deserialize)]
struct Crawled {
    sequence: u64,
    key: Hex,
    page_id: String,
    url: String,
    text_digest: Hex,
    fingerprint_hash: Hash,
    fingerprint: Hex,
    rank: Hex,
}

impl CrawlLine {
    /// Creates the line of a crawl's message.
    #[must_use]
    pub(super) fn new(message: proto::Centroid) -> Self {
        let crawled = message.crawl.map(|crawl| Crawled {
            sequence: crawl.sequence,
            key: Hex(crawl.key),
            page_id: crawl.page_id,
            url: crawl.url,
            text_digest: Hex(crawl.text_digest),
            fingerprint_hash: Hash(crawl.fingerprint_hash),
            fingerprint: Hex(crawl.fingerprint),
            rank: Hex(crawl.rank),
        });
        Self {
            cluster: message.number.unwrap_or_default(),
            log_offset: message.log_offset,
            crawled,
            withdrawn: message.withdrawn_key.map(Hex),
            ended: message.ended,
        }
    }

    /// Converts the line to a message.
    #[must_use]
    pub(super) fn into_message(self) -> proto::Centroid {
        proto::Centroid {
            format_version: ChangelogRecord::CRAWLS_FORMAT_VERSION,
            log_offset: self.log_offset,
            number: Some(self.cluster),
            crawl: self.crawled.map(|crawled| proto::Crawl {
                sequence: crawled.sequence,
                key: crawled.key.0,
                page_id: crawled.page_id,
                url: crawled.url,
                text_digest: crawled.text_digest.0,
                fingerprint_hash: crawled.fingerprint_hash.0,
                fingerprint: crawled.fingerprint.0,
                rank: crawled.rank.0,
            }),
            withdrawn_key: self.withdrawn.map(|key| key.0),
            ended: self.ended,
            ..proto::Centroid::default()
        }
    }
}

/// A text of a page that joined a cluster. Later pages with this text join the same cluster.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct TextLine {
    /// Number of texts that were inserted before this one.
    pub(super) sequence: u64,
    /// The key of the text; see [`SeenText::key_of`].
    text_key: Hex,
    /// The number of the cluster.
    cluster: u64,
}

impl TextLine {
    /// Creates the line of a text.
    #[must_use]
    pub(super) fn new(sequence: u64, text: SeenText) -> Self {
        let text_key = Hex(text.key.to_be_bytes().to_vec().into());
        Self { sequence, text_key, cluster: text.cluster }
    }

    /// Returns the text, or `None` if its key is not 16 bytes long.
    #[must_use]
    pub(super) fn text(&self) -> Option<SeenText> {
        let key = self.text_key.0.as_ref().try_into().map(u128::from_be_bytes).ok()?;
        Some(SeenText { key, cluster: self.cluster })
    }
}
