//! Writes centroids to blocks on disk, portion by portion.
//!
//! Centroids come in the order of their numbers and are written at once. Only the keys of a block are
//! collected in memory, 16 bytes each, in heaps (unsorted lists) of keys with the same first bits, until all
//! are there to be sorted. A failed write, as on a full disk, loses nothing: the block is started again from
//! the centroids that are still in the table's memory.

use std::sync::Arc;
use std::time::Instant;

use super::BlockError;
use super::block::{self, Block, BlockWriter};
use super::keyed::{key_of_text, keys_of};
use super::keys::Entry;
use super::run::{self, Run, RunWriter};
use super::shared::Shared;
use leitong_base::proto::Stretch;
use leitong_cluster::{Handed, Purpose, Query, SeenText, SeenTexts};

/// Number of heaps of keys. Each heap fits into a core's cache while it is sorted.
const HEAPS: usize = 1 << HEAP_BITS;
const HEAP_BITS: u32 = 8;

/// Writes blocks.
pub(super) struct Sealer {
    shared: Arc<Shared>,
    /// Number of the next centroid.
    next: u64,
    open: Option<Open>,
    /// The keys of the open block by their first bits. The lower half of each entry is the number of its
    /// centroid, counted from the block's first one. The memory is used again for the next block.
    heaps: Vec<Vec<u128>>,
}

impl Drop for Sealer {
    /// Removes the file of a block that was not completed. Its centroids are in the saved table's own file, or in no
    /// saved table.
    fn drop(&mut self) {
        if let Some(open) = self.open.take() {
            self.shared.discard(&block::name(open.first));
        }
    }
}

/// A block that is being written.
struct Open {
    first: u64,
    writer: BlockWriter,
    began: Instant,
}

impl Sealer {
    /// Creates a sealer that continues where the blocks end.
    pub(super) fn new(shared: Arc<Shared>) -> Self {
        let next = shared.view().end;
        Self { shared, next, open: None, heaps: vec![Vec::new(); HEAPS] }
    }

    /// Takes the centroids from number `first` on. Ignores them if they are not the next ones: they were in
    /// the queue when a write failed, and will be handed over again. `texts` are stored with the block that
    /// one of them completes.
    pub(super) fn take(&mut self, first: u64, centroids: &[Handed], texts: &SeenTexts) {
        if self.open.is_none() {
            self.next = self.shared.view().end;
        }
        if first != self.next {
            return;
        }
        for handed in centroids {
            if let Err(error) = self.push(handed, texts) {
                self.begin_anew(&error);
                return;
            }
        }
    }

    fn push(&mut self, handed: &Handed, texts: &SeenTexts) -> Result<(), BlockError> {
        let shared = &self.shared;
        let open = match &mut self.open {
            Some(open) => open,
            None => {
                let writer = BlockWriter::create(&shared.files, shared.table_id, self.next)?;
                // A block that failed has left its keys here.
                self.heaps.iter_mut().for_each(Vec::clear);
                self.open.insert(Open { first: self.next, writer, began: Instant::now() })
            }
        };
        let Handed { corpus, fingerprint_hash, centroid } = handed;
        let compared = shared.detector.compared(&centroid.fingerprint).len();
        open.writer.push(corpus, *fingerprint_hash, centroid, compared)?;
        let query = Query { corpus, fingerprint_hash: *fingerprint_hash, fingerprint: &centroid.fingerprint };
        let mut keys = keys_of(&*shared.detector, Some(&query), Purpose::Insert).keys;
        let text = SeenText::key_of(corpus, *fingerprint_hash, centroid.text_digest);
        keys.push(key_of_text(shared.table_id, text));
        let number = u128::from(self.next - open.first);
        for key in keys {
            self.heaps[(key >> (64 - HEAP_BITS)) as usize].push(u128::from(key) << 64 | number);
        }
        self.next += 1;
        if self.next.is_multiple_of(shared.options.block) { self.seal(texts) } else { Ok(()) }
    }

    /// Writes the block to disk, where look-ups find it.
    fn seal(&mut self, texts: &SeenTexts) -> Result<(), BlockError> {
        let Some(Open { first, writer, began }) = self.open.take() else { return Ok(()) };
        let shared = &self.shared;
        let numbers = Stretch { first, end: self.next };
        let sealed = (|| {
            writer.finish(texts)?;
            let block = Block::open(&*shared.files, shared.table_id, numbers)?;
            let second_of = |number| shared.second_of(&block, number);
            let count = self.heaps.iter().map(|heap| heap.len() as u64).sum();
            let table = shared.view().span() + numbers.end - first;
            let mut run =
                RunWriter::create(&shared.files, shared.table_id, numbers, count, table, &second_of)?;
            for heap in &mut self.heaps {
                heap.sort_unstable();
                for entry in heap.drain(..) {
                    run.push(Entry { key: (entry >> 64) as u64, number: entry as u64, second: None })?;
                }
            }
            let run: Run = run.finish(&*shared.files, shared.table_id)?;
            Ok((block, run))
        })();
        match sealed {
            Ok((block, run)) => {
                shared.sealed(block, run, began.elapsed().div_f64((self.next - first) as f64));
                Ok(())
            }
            Err(error) => {
                shared.discard(&run::name(numbers));
                shared.discard(&block::name(first));
                Err(error)
            }
        }
    }

    fn begin_anew(&mut self, error: &BlockError) {
        let shared = &self.shared;
        self.next = shared.view().end;
        if self.open.take().is_some() {
            shared.discard(&block::name(self.next));
        }
        match error {
            BlockError::Io { .. } => {
                let mut progress = shared.progress();
                progress.next = self.next;
                let again_at = progress.end + shared.options.block.div_ceil(4);
                progress.failed = Some((error.to_string(), again_at));
                drop(progress);
                shared.tell();
            }
            // A file that was just written cannot be read; the reason is not a full disk.
            _ => {
                let _ = shared.fail(error);
            }
        }
    }
}
