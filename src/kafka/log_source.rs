//! Records that were made on many machines → records of the log, in one order.
//!
//! A fingerprint worker takes the places of its records from the page topic. Here pages come from anywhere, so the
//! order of the records is the place: a source by a name, of one partition, with an offset for each record from 0 on. Each
//! record names the one before it that goes to the same partition of the log, and the first one none. So whoever
//! writes the same records again, from the first one, at any time and beside any other writer of them, changes nothing: the
//! cluster stage takes each offset once, in order, and never one whose predecessor is missing.
//!
//! Pure. Cost: a record is decoded and encoded, below a microsecond; memory: 16 bytes a partition of the log.

use std::sync::Arc;

use crate::kafka::log_writer::log_partition;
use crate::log::entry::{EntryError, Sent};
use crate::log::unplaced::Unplaced;
use crate::record::Place;
use crate::record::timestamp::Timestamp;

/// More partitions than a log of any use has.
pub const LOG_PARTITIONS_MAX: u32 = 10_000;

/// Gives records their places, one after the other.
#[derive(Debug, Clone)]
pub struct LogSource {
    name: Arc<str>,
    epoch: u32,
    log_time: Timestamp,
    /// The last offset that went to each partition of the log.
    sent: Vec<Option<u64>>,
    next_offset: u64,
}

impl LogSource {
    /// A source by this name, for a log of so many partitions; pages whose time nobody knows count as fetched at `log_time`. A
    /// higher `epoch` than that of an earlier source by this name has its records count beside those of that one.
    #[must_use]
    pub fn new(name: &str, epoch: u32, log_partitions: u32, log_time: Timestamp) -> Self {
        let sent = vec![None; log_partitions.max(1) as usize];
        Self { name: name.into(), epoch, log_time, sent, next_offset: 0 }
    }

    /// The offset of the next record.
    #[must_use]
    pub fn next_offset(&self) -> u64 {
        self.next_offset
    }

    /// The partition of the log that `record` goes to, and its bytes there.
    ///
    /// # Errors
    /// It is no record of a page; the next one then has its offset.
    pub fn place(&mut self, record: &[u8]) -> Result<(u32, Vec<u8>), EntryError> {
        let record = Unplaced::read(record)?;
        let offset = self.next_offset;
        self.next_offset += 1;
        let partition = log_partition(record.corpus(), u32::try_from(self.sent.len()).unwrap_or(u32::MAX));
        let previous_offset = self.sent[partition as usize].replace(offset);
        let place = Place::Message { topic: Arc::clone(&self.name), partition: 0, offset, epoch: self.epoch };
        // Neither a time nor an id of a topic: a position that comes again is never taken for another topic's.
        let sent = Sent { previous_offset, timestamp_ms: None, topic_id: None };
        Ok((partition, record.at(&place, sent, self.log_time)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::Config;
    use crate::log::entry::{Entry, decode};
    use crate::log::watermarks::{Admission, Watermarks};
    use crate::page::Page;
    use crate::pipeline::fingerprint_stage::FingerprintStage;
    use crate::record::LogRecord;

    const TIME: i64 = 1_700_000_000_000;

    fn records(stage: &FingerprintStage, hosts: &[&str]) -> Vec<Vec<u8>> {
        let mut workspace = stage.workspace();
        let page = |(number, host): (usize, &&str)| {
            let text =
                format!("第{number}号渡船在夜里第一次亮着灯驶过海峡，岸上的人们站在雨中看了很久。").repeat(3);
            let page = Page::text(format!("https://{host}/{number}"), text);
            let place = Place::Line { input: "-".into(), line: 1 };
            let Ok(LogRecord::Page(record)) = stage.process_page(place, page, &mut workspace).record else {
                panic!("a page has a record");
            };
            Unplaced::new(*record, stage.detector().name()).bytes()
        };
        hosts.iter().enumerate().map(page).collect()
    }

    fn source() -> LogSource {
        LogSource::new("crawl", 3, 4, Timestamp::from_ms(TIME).expect("a time"))
    }

    /// Offsets that a reader of the log takes, by log partition.
    fn taken(stage: &FingerprintStage, log: &[(u32, Vec<u8>)]) -> Vec<Vec<u64>> {
        let mut watermarks = vec![Watermarks::default(); 4];
        let mut taken = vec![Vec::new(); 4];
        for (at, (partition, bytes)) in log.iter().enumerate() {
            let Entry { record, origin } = decode(bytes, &**stage.detector()).expect("a record");
            let LogRecord::Page(page) = record else { panic!("a page") };
            assert_eq!(page.log_time, Timestamp::from_ms(TIME));
            let partition = *partition as usize;
            if watermarks[partition].admit(at as u64, &origin) == Admission::Accepted {
                taken[partition].push(origin.offset);
            }
        }
        taken
    }

    #[test]
    fn each_record_counts_once_however_often_and_wherever_writers_begin_anew() {
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
        let once = taken(&stage, &write(records.len()));
        assert!(once.iter().filter(|offsets| !offsets.is_empty()).count() > 1, "{once:?}");
        assert_eq!(once.concat().len(), records.len());
        // One writer is killed after 9 records, the next one loses the fourth record and gives up, and two write all,
        // each record of the one beside a later one of the other.
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
        assert_eq!(taken(&stage, &log), once);
    }

    #[test]
    fn what_is_no_record_is_refused_and_takes_no_offset() {
        let stage = FingerprintStage::new(Config::default()).expect("the default settings");
        let records = records(&stage, &["a.example"]);
        let mut source = source();
        assert!(matches!(source.place(b"nonsense"), Err(EntryError::Broken(_))));
        let (_, placed) = source.place(&records[0]).expect("placed");
        let refused = source.place(&placed).expect_err("it is of a log").to_string();
        assert!(refused.contains("already has a place in a log"), "{refused}");
        assert_eq!(source.next_offset(), 1);
    }
}
