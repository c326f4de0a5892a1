//! Compares two documents with the detector, given their forms instead of fingerprints.

use std::sync::Arc;

use leitong::Detector;
use leitong::fingerprint::SecondKey;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

/// Number of bytes of a form before the fingerprint, which identify the corpus and the fingerprint settings.
const ROOM: usize = 16;

/// The outcome for two documents that have something in common.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) struct Found {
    /// True if the documents are related but not near.
    pub(super) related: bool,
    /// Place of the earlier document among those that the later one is near or related to.
    pub(super) rank: u32,
}

/// A document, prepared for comparisons.
pub(super) struct Prepared {
    pub(super) place: i64,
    form: Box<[u8]>,
    second: u64,
    /// The keys in ascending order.
    pub(super) keys: Vec<u64>,
}

pub(super) struct Rules {
    detector: Arc<dyn Detector>,
    second: Option<SecondKey>,
}

impl Rules {
    pub(super) fn new(detector: Arc<dyn Detector>) -> Self {
        Self { second: detector.second_key(), detector }
    }

    pub(super) fn detector(&self) -> &dyn Detector {
        &*self.detector
    }

    /// Splits a column of `count` forms.
    pub(super) fn forms<'a>(
        &self,
        forms: &'a [u8],
        count: usize,
    ) -> PyResult<impl Iterator<Item = &'a [u8]>> {
        let width = forms.len() / count.max(1);
        let is_form = |form: &[u8]| form.len() > ROOM && self.detector.is_fingerprint(&form[ROOM..]);
        let chunks = forms.chunks_exact(width.max(1));
        if width * count != forms.len() || !chunks.clone().all(is_form) {
            return Err(PyValueError::new_err(format!(
                "a column of {} bytes does not hold {count} forms of one length",
                forms.len()
            )));
        }
        Ok(chunks)
    }

    /// Returns the keys in ascending order. Documents that are near or related share one. Keys of different
    /// corpora are mixed with different numbers, so their keys are seldom equal.
    pub(super) fn keys(&self, form: &[u8]) -> Vec<u64> {
        let (room, fingerprint) = form.split_at(ROOM);
        let mut keys = Vec::with_capacity(24);
        self.detector.insert_keys(fingerprint, &mut keys);
        let salt = room.first_chunk().map_or(0, |salt| u64::from_le_bytes(*salt));
        keys.iter_mut().for_each(|key| *key ^= salt);
        keys.sort_unstable();
        keys.dedup();
        keys
    }

    pub(super) fn prepared(&self, place: i64, form: &[u8]) -> Prepared {
        let second = self.second.map_or(0, |second| (second.of)(&form[ROOM..]));
        Prepared { place, second, keys: self.keys(form), form: form.into() }
    }

    /// Compares two documents; `None` if they are neither near nor related. With `key`, also `None` if they
    /// share a smaller key, under which they are compared as well.
    pub(super) fn compare(&self, later: &Prepared, earlier: &Prepared, key: Option<u64>) -> Option<Found> {
        if self
            .second
            .is_some_and(|second| (later.second ^ earlier.second).count_ones() > second.wide_distance)
            || key.is_some_and(|key| lowest_shared(&later.keys, &earlier.keys) != Some(key))
            || later.form[..ROOM] != earlier.form[..ROOM]
        {
            return None;
        }
        let (later, earlier) = (&later.form[ROOM..], &earlier.form[ROOM..]);
        let compared = self.detector.compare(later, earlier);
        let related = !compared.near;
        let part = self.detector.compared(earlier);
        let rank = || match related {
            true => self.detector.related_rank(later, part),
            false => self.detector.rank(later, part, compared.distance),
        };
        (!related || self.detector.related(later, earlier)).then(|| Found { related, rank: rank() })
    }

    /// Returns the article that the page is a part of, as bytes that no other article has.
    pub(super) fn article(&self, form: &[u8]) -> Option<Vec<u8>> {
        let (room, fingerprint) = form.split_at(ROOM);
        let article = self.detector.article(fingerprint)?;
        Some([room, &article.to_le_bytes()].concat())
    }

    pub(super) fn are_parts(&self, form: &[u8], other: &[u8]) -> bool {
        form[..ROOM] == other[..ROOM] && self.detector.are_parts(&form[ROOM..], &other[ROOM..])
    }
}

/// Returns the smallest number that is in both lists, which are in ascending order.
fn lowest_shared(a: &[u64], b: &[u64]) -> Option<u64> {
    let (mut a, mut b) = (a.iter().peekable(), b.iter().peekable());
    while let (Some(left), Some(right)) = (a.peek(), b.peek()) {
        match left.cmp(right) {
            std::cmp::Ordering::Less => a.next(),
            std::cmp::Ordering::Greater => b.next(),
            std::cmp::Ordering::Equal => return Some(**left),
        };
    }
    None
}
