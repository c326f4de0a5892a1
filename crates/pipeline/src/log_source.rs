//! Gives places to records that were made on many machines, and turns them into records of the log, in one
//! order.
//!
//! A fingerprint worker takes the places of its records from the page topic. Here pages come from anywhere,
//! so the order of the records gives the place: a source with a name, one partition, and an offset for each
//! record, from 0 on. Each record names its predecessor, the last record that went to the same partition of
//! the log. So the same records can be written again at any time, from the first one on and alongside other
//! writers, without any effect: the cluster stage accepts each offset once, in order, and never one whose
//! predecessor is missing.
//!
//! Pure. Cost: decoding and encoding of a record, less than a microsecond. Memory: 16 bytes per partition of
//! the log.

use std::sync::Arc;

use leitong_base::record::{Place, Timestamp};
use leitong_cluster::log::{EntryError, MessageOrigin, Unplaced};
use xxhash_rust::xxh3::xxh3_64;

/// Limit on the number of log partitions, above any useful number.
pub const LOG_PARTITIONS_MAX: u32 = 10_000;

/// A source of records for the log: assigns places to records, one after the other.
#[derive(Debug, Clone)]
pub struct LogSource {
    name: Arc<str>,
    epoch: u32,
    log_time: Timestamp,
    /// Last offset that went to each partition of the log.
    sent: Vec<Option<u64>>,
    next_offset: u64,
}

impl LogSource {
    /// Creates a source with this name for a log of `log_partitions` partitions. Pages without a known time
    /// count as fetched at `log_time`. With a higher `epoch` than an earlier source of the same name, records
    /// count in addition to those of the earlier source.
    #[must_use]
    pub fn new(name: &str, epoch: u32, log_partitions: u32, log_time: Timestamp) -> Self {
        let sent = vec![None; log_partitions.max(1) as usize];
        Self { name: name.into(), epoch, log_time, sent, next_offset: 0 }
    }

    /// Returns the offset of the next record.
    #[must_use]
    pub fn next_offset(&self) -> u64 {
        self.next_offset
    }

    /// Returns the partition of the log that `record` goes to, and its bytes there.
    ///
    /// # Errors
    /// Fails if `record` is not the record of a page. The next record then gets the offset.
    pub fn place(&mut self, record: &[u8]) -> Result<(u32, Vec<u8>), EntryError> {
        let record = Unplaced::read(record)?;
        let offset = self.next_offset;
        self.next_offset += 1;
        let partition = log_partition(record.corpus(), u32::try_from(self.sent.len()).unwrap_or(u32::MAX));
        let previous_offset = self.sent[partition as usize].replace(offset);
        let place = Place::Message { topic: Arc::clone(&self.name), partition: 0, offset, epoch: self.epoch };
        // Time and topic id are left out, so a repeated position is never taken for one of another topic.
        let origin = MessageOrigin { previous_offset, timestamp_ms: None, topic_id: None };
        Ok((partition, record.at(&place, origin, self.log_time)))
    }
}

/// Returns the partition of the log for a corpus. The function must never change, since tables are split by partition.
#[must_use]
pub fn log_partition(corpus: &str, log_partitions: u32) -> u32 {
    // The remainder is below the number of partitions, so it fits.
    (xxh3_64(corpus.as_bytes()) % u64::from(log_partitions.max(1))) as u32
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::Config;
    use crate::fingerprint_stage::FingerprintStage;
    use leitong_base::record::LogRecord;
    use leitong_cluster::log::{Admission, Entry, Watermarks};
    use leitong_text::page::Page;

    const TIME: i64 = 1_700_000_000_000;

    fn records(stage: &FingerprintStage, hosts: &[&str]) -> Vec<Vec<u8>> {
        let mut workspace = stage.workspace();
        let page = |(number, host): (usize, &&str)| {
            let text =
                format!("第{number}号渡船在夜里第一次亮着灯驶过海峡，岸上的人们站在雨中看了很久。").repeat(3);
            let page = Page::text(format!("https://{host}/{number}"), text);
            stage.record(page, &mut workspace)
        };
        hosts.iter().enumerate().map(page).collect()
    }

    fn source() -> LogSource {
        LogSource::new("crawl", 3, 4, Timestamp::from_ms(TIME).expect("a time"))
    }

    /// Returns the offsets that a reader of the log accepts, by log partition.
    fn accepted(stage: &FingerprintStage, log: &[(u32, Vec<u8>)]) -> Vec<Vec<u64>> {
        let mut watermarks = vec![Watermarks::default(); 4];
        let mut accepted = vec![Vec::new(); 4];
        for (at, (partition, bytes)) in log.iter().enumerate() {
            let Entry { record, origin } = Entry::decode(bytes, &**stage.detector()).expect("a record");
            let LogRecord::Page(page) = record else { panic!("a page") };
            assert_eq!(page.log_time, Timestamp::from_ms(TIME));
            let partition = *partition as usize;
            if watermarks[partition].admit(at as u64, &origin) == Admission::Accepted {
                accepted[partition].push(origin.offset);
            }
        }
        accepted
    }

    #[test]
    fn each_record_counts_once_however_often_writers_start_again() {
        let mut config = Config::default();
        config.corpus.by = crate::config::CorpusBy::Host;
        let stage = FingerprintStage::new(config).expect("the default settings");
        let records = records(&stage, &["a.example", "b.example", "c.example", "d.example"].repeat(6));
        let write = |count: usize| {
            let mut source = source();
            let placed: Vec<_> =
                records[..count].iter().map(|record| source.place(record).expect("placed")).collect();
            assert_eq!(source.next_offset(), count as u64);
            placed
        };
        let once = accepted(&stage, &write(records.len()));
        assert!(once.iter().filter(|offsets| !offsets.is_empty()).count() > 1, "{once:?}");
        assert_eq!(once.concat().len(), records.len());
        // One writer is killed after 9 records. The next one loses the fourth record and gives up. Then two
        // writers write all records, interleaved: each record of the first is followed by an earlier one of
        // the second.
        let mut log = write(9);
        let mut lossy = write(15);
        lossy.remove(3);
        log.extend(lossy);
        let (early, late) = (write(records.len()), write(records.len()));
        log.extend(early[..4].iter().cloned());
        for (at, record) in late.iter().enumerate() {
            log.extend(early.get(at + 4).cloned());
            log.push(record.clone());
        }
        assert_eq!(accepted(&stage, &log), once);
    }

    #[test]
    fn invalid_records_are_refused_and_take_no_offset() {
        let stage = FingerprintStage::new(Config::default()).expect("the default settings");
        let records = records(&stage, &["a.example"]);
        let mut source = source();
        assert!(matches!(source.place(b"nonsense"), Err(EntryError::Broken(_))));
        let (_, placed) = source.place(&records[0]).expect("placed");
        let refused = source.place(&placed).expect_err("it has a place already").to_string();
        assert!(refused.contains("already has a place"), "{refused}");
        assert_eq!(source.next_offset(), 1);
    }
}
