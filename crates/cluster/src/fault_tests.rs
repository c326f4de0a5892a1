//! If old centroids could not be read once, the table makes no more decisions, even if they can be read later.

use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use super::{
    Centroid, Clusterer, Decision, ExpiryConfig, Handed, NearCentroid, NearestCentroids, OldCentroids,
    Position, PreviewOptions, Purpose, Query, Scratch, SeenTexts, TableFault,
};
use leitong_base::record::FingerprintRecord;
use leitong_base::record::Timestamp;
use leitong_fingerprint::detectors::simhash::SimHash;
use leitong_fingerprint::detectors::simhash::SimHashConfig;
use leitong_fingerprint::detectors::simhash::generated::Fingerprints;

/// An empty store of old centroids. Its next read fails if the flag is set; the read clears the flag.
#[derive(Default)]
struct FailsOnce(AtomicBool);

impl FailsOnce {
    fn try_read<T>(&self, read: T) -> Result<T, TableFault> {
        match self.0.swap(false, Ordering::Relaxed) {
            true => Err(TableFault::unreadable("a block cannot be read")),
            false => Ok(read),
        }
    }
}

impl OldCentroids for FailsOnce {
    fn block_length(&self) -> u64 {
        32
    }
    fn end(&self) -> u64 {
        0
    }
    fn range_to_take(&self, _: u64) -> Result<Option<Range<u64>>, TableFault> {
        Ok(None)
    }
    fn take(&self, _: u64, _: Vec<Handed>, _: SeenTexts) -> Result<(), TableFault> {
        Ok(())
    }
    fn each_seen(&self, _: &mut dyn FnMut(SeenTexts)) -> Result<(), TableFault> {
        self.try_read(())
    }
    fn find_texts(&self, keys: &[Option<u128>], _: u64) -> Result<Vec<Option<u64>>, TableFault> {
        Ok(vec![None; keys.len()])
    }
    fn find(&self, _: &[Option<Query<'_>>], _: Purpose, _: u64) -> Result<NearestCentroids, TableFault> {
        self.try_read(NearestCentroids::default())
    }
    fn find_nearest(&self, _: Query<'_>, _: u64) -> Result<Option<NearCentroid>, TableFault> {
        Ok(None)
    }
    fn centroid(&self, _: u64) -> Result<Option<Centroid>, TableFault> {
        Ok(None)
    }
    fn founded(&self, _: u64) -> Result<Option<(u64, Option<Timestamp>)>, TableFault> {
        Ok(None)
    }
    fn check(&self) -> Result<(), TableFault> {
        Ok(())
    }
    fn drop_before(&self, _: u64) {}
    fn begin_at(&self, _: u64) {}
    fn bytes(&self) -> usize {
        0
    }
}

/// Even if reading works again, half a decision must not be continued.
#[test]
fn a_table_that_has_failed_returns_the_same_error_from_every_call() {
    let detector = Arc::new(SimHash::new(&SimHashConfig::default()));
    let old = Arc::new(FailsOnce::default());
    let (expiry, position) = (ExpiryConfig::default(), Position::default());
    let port = (Arc::clone(&old) as Arc<dyn OldCentroids>, 0);
    let mut table = Clusterer::with_old(detector, expiry, position, None, port).expect("nothing fails yet");
    table.keep_journal();
    let page =
        |number: usize| FingerprintRecord::numbered(number, Some(Fingerprints::even(1).get(number as u64)));
    assert!(matches!(table.decide(Some(&page(0))), Ok(Decision::Founded(..))));
    old.0.store(true, Ordering::Relaxed);
    let fault = table.decide(Some(&page(1))).expect_err("it is to fail");
    assert!(!old.0.load(Ordering::Relaxed), "reading works again");
    let mut scratch = Scratch::default();
    assert_eq!(table.check().err(), Some(fault.clone()));
    assert_eq!(table.decide(Some(&page(2))).err(), Some(fault.clone()));
    assert_eq!(table.decide(None).err(), Some(fault.clone()));
    assert_eq!(table.preview(&page(2), PreviewOptions::default(), &mut scratch).err(), Some(fault.clone()));
    assert_eq!(table.unexpired().err(), Some(fault.clone()));
    assert_eq!(table.text_bounds().err(), Some(fault.clone()));
    assert_eq!(table.insert_pending().err(), Some(fault.clone()));
    assert_eq!(table.evict_expired().err(), Some(fault.clone()));
    assert_eq!(table.merge_batch(&[]).err(), Some(fault.clone()));
    assert_eq!(table.merge_texts(&[]).err(), Some(fault));
    assert!(table.take_changes().founded.is_empty(), "not even what was founded before it");
}

#[test]
fn a_table_whose_texts_cannot_be_read_is_not_opened() {
    let detector = Arc::new(SimHash::new(&SimHashConfig::default()));
    let old = Arc::new(FailsOnce(AtomicBool::new(true)));
    let opened = Clusterer::with_old(detector, ExpiryConfig::default(), Position::default(), None, (old, 0));
    assert!(opened.is_err_and(|fault| fault.is_unreadable()));
}
