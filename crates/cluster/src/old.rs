//! The port through which a table uses centroids that are kept outside of memory.
//!
//! Clustering only computes; the other side of this port reads and writes
//! (`leitong_store::blocks` in this program). No other part of the table knows where a centroid
//! is.

use std::ops::Range;

use crate::fault::TableFault;
use crate::seen::SeenTexts;
use crate::table::{Centroid, NearCentroid, NearestCentroids, Purpose, Query};
use leitong_base::record::Timestamp;

/// A centroid that leaves memory, with its corpus.
#[derive(Debug, Clone, PartialEq)]
pub struct Handed {
    /// Corpus of the centroid.
    pub corpus: Box<str>,
    /// Hash of the settings that made the centroid's fingerprint.
    pub fingerprint_hash: u64,
    /// The centroid itself.
    pub centroid: Centroid,
}

/// The centroids that are no longer in memory: all with numbers below [`Self::end`], except those that were
/// dropped. Several threads may look up at once.
///
/// Methods that read or write return a [`TableFault`] if a file cannot be read, is damaged, or could not be
/// written for too long. It may also come from work in the background. After the first such error, every
/// further call of a method that returns a `Result` returns the same error.
pub trait OldCentroids: Send + Sync {
    /// Returns the number of centroids in a block. Centroids may leave memory once their block is complete.
    fn block_length(&self) -> u64;

    /// Returns the number of the first centroid that is in memory only.
    fn end(&self) -> u64;

    /// Returns the numbers of the centroids to hand over next, for a table that ends before number `end`.
    /// Returns `None` while there are too few of them, or if no more can be taken now. Waits if very many
    /// centroids are still to be written.
    ///
    /// # Errors
    /// [`TableFault`]; see the description of the trait.
    fn range_to_take(&self, end: u64) -> Result<Option<Range<u64>>, TableFault>;

    /// Takes the centroids that were [wanted](Self::range_to_take); `first` is the number of the first one. They stay
    /// in the table's memory until [`Self::end`] is greater than their numbers. `texts` are kept with the
    /// block that one of the centroids completes, if any.
    ///
    /// # Errors
    /// [`TableFault`]; see the description of the trait.
    fn take(&self, first: u64, centroids: Vec<Handed>, texts: SeenTexts) -> Result<(), TableFault>;

    /// Calls `take` with the texts that are kept with each block, oldest first.
    ///
    /// # Errors
    /// [`TableFault`]; see the description of the trait.
    fn each_seen(&self, take: &mut dyn FnMut(SeenTexts)) -> Result<(), TableFault>;

    /// Returns, for each of these [keys](crate::SeenText::key_of), the youngest centroid whose text has it and whose
    /// number is at least `first`. The result is as long as `keys`.
    ///
    /// # Errors
    /// [`TableFault`]; see the description of the trait.
    fn find_texts(&self, keys: &[Option<u128>], first: u64) -> Result<Vec<Option<u64>>, TableFault>;

    /// Returns the nearest few centroids for each query, among those whose number is at least `first`. They
    /// are the ones that the table in memory would find by the keys for this `purpose`.
    ///
    /// # Errors
    /// [`TableFault`]; see the description of the trait.
    fn find(
        &self,
        queries: &[Option<Query<'_>>],
        purpose: Purpose,
        first: u64,
    ) -> Result<NearestCentroids, TableFault>;

    /// Returns the nearest centroid that is near or related by its whole fingerprint, and whose number is at
    /// least `first`.
    ///
    /// # Errors
    /// [`TableFault`]; see the description of the trait.
    fn find_nearest(&self, query: Query<'_>, first: u64) -> Result<Option<NearCentroid>, TableFault>;

    /// Returns the centroid with this number.
    ///
    /// # Errors
    /// [`TableFault`]; see the description of the trait.
    fn centroid(&self, number: u64) -> Result<Option<Centroid>, TableFault>;

    /// Returns the log offset and the log time at which the centroid with this number was founded.
    ///
    /// # Errors
    /// [`TableFault`]; see the description of the trait.
    fn founded(&self, number: u64) -> Result<Option<(u64, Option<Timestamp>)>, TableFault>;

    /// Returns the error that all further calls return, if there is one already. Reads no file.
    ///
    /// # Errors
    /// [`TableFault`]; see the description of the trait.
    fn check(&self) -> Result<(), TableFault>;

    /// Drops the centroids below this number, which are no longer needed.
    fn drop_before(&self, first: u64);

    /// Sets the number of the first centroid, if none was handed over yet.
    fn begin_at(&self, number: u64);

    /// Returns the bytes of memory in use.
    fn bytes(&self) -> usize;
}
