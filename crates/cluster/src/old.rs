//! What a table asks of whoever keeps its old centroids outside of memory.
//!
//! Clustering only computes: reading and writing is the matter of the other side of this port
//! ([`blocks`](leitong_store::blocks) in this program). Nothing else of the table knows where a centroid
//! is.

use std::ops::Range;

use super::{Centroid, Near, Nearest, Purpose, Query, SeenTexts};
use leitong_base::record::timestamp::Timestamp;

/// A centroid on its way out of memory, with whose it is.
#[derive(Debug, Clone, PartialEq)]
pub struct Handed {
    /// Its corpus.
    pub corpus: Box<str>,
    /// Of the settings that made its fingerprint.
    pub fingerprint_hash: u64,
    /// The centroid itself.
    pub centroid: Centroid,
}

/// The centroids that are not in memory any more: all whose numbers are below [`Self::end`], but
/// for those that were dropped. Look-ups may ask from several threads at once.
///
/// What cannot be read is a fault: answers are empty from then on, and [`Self::fault`] says why.
/// Whoever decides asks for it before what was decided counts.
pub trait OldCentroids: Send + Sync {
    /// Centroids leave memory by so many at about one time, by multiples of this number.
    fn leaving(&self) -> u64;

    /// Number of the first centroid that only memory has.
    fn end(&self) -> u64;

    /// The numbers that are to be handed over next, of a table that ends before number `end`; none
    /// while there are too few, or no more can be taken. Where very many wait, this waits as well.
    fn wanted(&self, end: u64) -> Option<Range<u64>>;

    /// Takes the centroids that were [wanted](Self::wanted), of which the first one has this
    /// number. They stay in the table's memory until [`Self::end`] is behind them. `texts`: those that
    /// are kept with the block that one of the centroids completes, if one does.
    fn take(&self, first: u64, centroids: Vec<Handed>, texts: SeenTexts);

    /// Calls `take` with the texts that are kept with each block, oldest first.
    fn each_seen(&self, take: &mut dyn FnMut(SeenTexts));

    /// The youngest centroid whose text has each of these [keys](super::text_key), of those that have
    /// `first` or a greater number.
    fn find_texts(&self, keys: &[Option<u128>], first: u64) -> Vec<Option<u64>>;

    /// The nearest few centroids of each query, of those that have `first` or a greater number: what
    /// the table in memory finds by the keys for this `purpose`.
    fn find(&self, queries: &[Option<Query<'_>>], purpose: Purpose, first: u64) -> Nearest;

    /// The nearest one of all that are near or related in full and have `first` or a greater number.
    fn find_nearest(&self, query: Query<'_>, first: u64) -> Option<Near>;

    /// The centroid of this number.
    fn centroid(&self, number: u64) -> Option<Centroid>;

    /// Offset and log time of its founding.
    fn founded(&self, number: u64) -> Option<(u64, Option<Timestamp>)>;

    /// No centroid below this number is asked for any more.
    fn drop_before(&self, first: u64);

    /// Where no centroid was handed over yet, the first one has this number.
    fn begin_at(&self, number: u64);

    /// Bytes of memory.
    fn bytes(&self) -> usize;

    /// Why nothing counts that was decided since the last time this was none.
    fn fault(&self) -> Option<String>;
}
