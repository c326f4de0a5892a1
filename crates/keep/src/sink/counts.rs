//! Counts of the outcomes of a run so far. Stages update them; the progress bar and the summary read them.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};

use serde::Serialize;

use leitong_base::record::{Cause, Reason};
use leitong_cluster::verdict::{Conclusion, Kind};
use leitong_text::page::Repaired;
use leitong_text::page::mapping::Skip;

/// Maximum number of unknown charsets that are counted one by one.
const UNKNOWN_CHARSETS_MAX: usize = 16;

/// The kinds of repairs, in words. The first one is counted by character, the others by page.
const REPAIRS: [&str; 7] = [
    "lone surrogates replaced by U+FFFD",
    "invalid fetched_at dates, read as null",
    "passthrough fields larger than 4 KiB or nested too deeply, left out",
    "HTTP bodies with broken chunks or compression, or shorter than their Content-Length, read up to the break",
    "pages of which the archive has only a part (WARC-Truncated, or HTTP status 206), read as far as it goes",
    "documents without a url, which got document:FILE#ROW",
    "pages with bytes that are not in their charset, replaced by U+FFFD",
];

/// Counts of one run.
#[derive(Debug, Default)]
pub struct Counts {
    /// Numbers of verdicts, in the order of [`Kind::ALL`].
    kinds: [AtomicU64; Kind::ALL.len()],
    dead_letters: AtomicU64,
    reasons: Mutex<BTreeMap<Reason, u64>>,
    causes: Mutex<BTreeMap<Cause, u64>>,
    /// Numbers of repairs, in the order of [`REPAIRS`].
    repairs: [AtomicU64; REPAIRS.len()],
    unknown_charsets: Mutex<BTreeMap<Box<str>, u64>>,
    without_body: AtomicU64,
    left_out: AtomicU64,
    copied: AtomicU64,
    skipped: Mutex<BTreeMap<Skip, u64>>,
    languages: Mutex<BTreeMap<&'static str, Language>>,
}

/// Counts of the documents in one language.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct Language {
    /// Number of documents that are skipped.
    pub skipped: u64,
    /// Number of documents that are not.
    pub used: u64,
}

impl Counts {
    /// Counts one verdict or dead letter.
    pub fn conclusion(&self, conclusion: &Conclusion) {
        match conclusion {
            Conclusion::Verdict(verdict) => {
                self.kinds[verdict.kind as usize].fetch_add(1, Ordering::Relaxed);
                if let Some(reason) = verdict.reason {
                    *lock(&self.reasons).entry(reason).or_default() += 1;
                }
            }
            Conclusion::DeadLetter(letter) => {
                self.dead_letters.fetch_add(1, Ordering::Relaxed);
                *lock(&self.causes).entry(letter.cause.clone()).or_default() += 1;
            }
        }
    }

    /// Counts the repairs of one page.
    pub fn repaired(&self, repaired: &Repaired) {
        let Repaired { lone_surrogates, bad_fetched_at, passthrough_too_large, .. } = repaired;
        let Repaired { breaks_off, cut_short, without_url, broken_bytes, .. } = repaired;
        let others =
            [bad_fetched_at, passthrough_too_large, breaks_off, cut_short, without_url, broken_bytes];
        self.repairs[0].fetch_add(u64::from(*lone_surrogates), Ordering::Relaxed);
        for (count, is_repaired) in self.repairs[1..].iter().zip(others) {
            count.fetch_add(u64::from(*is_repaired), Ordering::Relaxed);
        }
        if let Some(charset) = &repaired.unknown_charset {
            let mut charsets = lock(&self.unknown_charsets);
            let is_listed = charsets.len() < UNKNOWN_CHARSETS_MAX || charsets.contains_key(charset);
            *charsets.entry(if is_listed { charset.clone() } else { "others".into() }).or_default() += 1;
        }
    }

    /// Counts a page without a body.
    pub fn page_without_body(&self) {
        self.without_body.fetch_add(1, Ordering::Relaxed);
    }

    /// Counts a document that is in no output, because it is too long or cannot be read completely.
    pub fn document_left_out(&self) {
        self.left_out.fetch_add(1, Ordering::Relaxed);
    }

    /// Counts a document that is kept or dropped, as its decision says.
    pub(crate) fn document_copied(&self) {
        self.copied.fetch_add(1, Ordering::Relaxed);
    }

    /// Returns the number of documents that were kept or dropped so far.
    #[must_use]
    pub fn documents_copied(&self) -> u64 {
        self.copied.load(Ordering::Relaxed)
    }

    /// Counts a record that is skipped.
    pub fn skipped(&self, why: Skip) {
        *lock(&self.skipped).entry(why).or_default() += 1;
    }

    /// Counts a document in this language, which is skipped or not.
    pub fn language(&self, language: &'static str, is_skipped: bool) {
        let mut languages = lock(&self.languages);
        let counts = languages.entry(language).or_default();
        *(if is_skipped { &mut counts.skipped } else { &mut counts.used }) += 1;
    }

    /// Returns the number of documents by language.
    #[must_use]
    pub fn languages(&self) -> BTreeMap<&'static str, Language> {
        lock(&self.languages).clone()
    }

    /// Returns the number of skipped records by reason, in words.
    #[must_use]
    pub fn skipped_in_words(&self) -> Vec<(&'static str, u64)> {
        lock(&self.skipped).iter().map(|(why, count)| (why.in_words(), *count)).collect()
    }

    /// Returns the number of verdicts of this kind.
    #[must_use]
    pub fn verdicts_of_kind(&self, kind: Kind) -> u64 {
        self.kinds[kind as usize].load(Ordering::Relaxed)
    }

    /// Returns the number of all verdicts and dead letters.
    #[must_use]
    pub fn records(&self) -> u64 {
        let verdicts: u64 = Kind::ALL.iter().map(|kind| self.verdicts_of_kind(*kind)).sum();
        verdicts + self.dead_letters()
    }

    /// Returns the number of exact and near duplicates.
    #[must_use]
    pub fn duplicates(&self) -> u64 {
        self.verdicts_of_kind(Kind::ExactDuplicate) + self.verdicts_of_kind(Kind::NearDuplicate)
    }

    /// Returns the number of records that could not be read as pages.
    #[must_use]
    pub fn dead_letters(&self) -> u64 {
        self.dead_letters.load(Ordering::Relaxed)
    }

    /// Returns the number of pages without any of the fields that hold a body.
    #[must_use]
    pub fn without_body(&self) -> u64 {
        self.without_body.load(Ordering::Relaxed)
    }

    /// Returns the number of documents that are in no output.
    #[must_use]
    pub fn left_out(&self) -> u64 {
        self.left_out.load(Ordering::Relaxed)
    }

    /// Returns the number of undecidable pages by reason.
    #[must_use]
    pub fn reasons(&self) -> BTreeMap<Reason, u64> {
        lock(&self.reasons).clone()
    }

    /// Returns the number of dead letters of this cause.
    #[must_use]
    pub fn dead_letters_of_cause(&self, cause: &Cause) -> u64 {
        lock(&self.causes).get(cause).copied().unwrap_or(0)
    }

    /// Returns the number of dead letters by cause.
    #[must_use]
    pub fn causes(&self) -> BTreeMap<Cause, u64> {
        lock(&self.causes).clone()
    }

    /// Returns the number of repairs by kind, in words, without those that did not occur.
    #[must_use]
    pub fn repaired_in_words(&self) -> Vec<(&'static str, u64)> {
        let counts = self.repairs.iter().map(|count| count.load(Ordering::Relaxed));
        REPAIRS.into_iter().zip(counts).filter(|(_, count)| *count > 0).collect()
    }

    /// Returns the number of pages by the charset that they declare, if it is not known.
    #[must_use]
    pub fn unknown_charsets(&self) -> BTreeMap<Box<str>, u64> {
        lock(&self.unknown_charsets).clone()
    }
}

/// Locks the counts. They stay usable even if another thread panicked.
fn lock<T>(counts: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    counts.lock().unwrap_or_else(PoisonError::into_inner)
}
