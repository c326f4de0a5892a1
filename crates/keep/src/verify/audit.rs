//! Audits the removals of any tool: finds out if the content of removed documents is in the documents that were kept.
//!
//! In: all documents, each with true if it was removed. Out: for each removed document, the kept one that has most of
//! its text, and what is lost, by the comparison of [`Verifier`]. Candidates share a key of the detector or the url with
//! the removed document, or have the same text. Of these, the [`COMPARED_MAX`] with the lowest ranks are compared.
//!
//! Memory: about 16 bytes for each key of a kept document (240 for the default detector), and the fingerprints; texts,
//! ids and urls are in a file. Cost: linear. A removed document is ranked against at most [`HOLDERS_MAX`] documents for
//! each of its keys. If more have the key, these are the ones with the most similar second keys.

use std::io;
use std::path::Path;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::facts::Comparison;
use super::texts::{TextFile, TextPlace, decompressed, hash_of};
use super::words::SplitText;
use super::{COMPARED_MAX, Check, Finding, LostMax, Verifier};
use leitong_base::record::FingerprintRecord;
use leitong_fingerprint::Detector;
use leitong_text::page::Page;
use xxhash_rust::xxh3::xxh3_64;

/// Maximum number of documents with a key that are ranked.
const HOLDERS_MAX: usize = 256;

/// The outcome for a removed document.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum AuditOutcome {
    /// A kept document has the same text.
    SameText,
    /// A kept document contains it.
    Contained,
    /// Numbers, versions or names differ from those of the kept documents.
    FactsDiffer,
    /// Text is in no kept document.
    TextLost,
    /// No kept document is like it.
    NothingLikeIt,
    /// The document has no text.
    NoText,
}

impl AuditOutcome {
    /// All outcomes, the most harmless one first.
    pub const ALL: [Self; 6] = [
        Self::SameText,
        Self::Contained,
        Self::FactsDiffer,
        Self::TextLost,
        Self::NothingLikeIt,
        Self::NoText,
    ];

    /// Returns the name, as in JSON.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::SameText => "same_text",
            Self::Contained => "contained",
            Self::FactsDiffer => "facts_differ",
            Self::TextLost => "text_lost",
            Self::NothingLikeIt => "nothing_like_it",
            Self::NoText => "no_text",
        }
    }
}

/// The names of a document.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct AuditedNames {
    /// The page id.
    pub id: String,
    /// The url.
    pub url: String,
    /// The place of the document in its input.
    pub place: String,
}

/// A removed document with the kept one that has most of its text.
#[derive(Debug, Clone, Serialize)]
pub struct Audited {
    /// The names of the removed document.
    #[serde(flatten)]
    pub removed: AuditedNames,
    /// The outcome.
    pub outcome: AuditOutcome,
    /// The kept document that has most of its text.
    pub kept: Option<AuditedNames>,
    /// The share of the text that the kept document lacks, in words that are not part of a common run.
    pub lost_share: f64,
    /// The number of letters in the longest passage that is not in the kept document.
    pub lost_letters: u32,
    /// The longest passage that is not in the kept document, normalised; cut if it is long.
    pub lost_passage: String,
    /// The fact of the removed document and that of the kept one, if facts differ.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub differs: Option<String>,
    /// The numbers of both documents, in the order in which they were added, from 0.
    #[serde(skip)]
    pub numbers: (usize, Option<usize>),
}

/// The documents of an audit.
pub struct Auditor {
    detector: Arc<dyn Detector>,
    lost_max: LostMax,
    documents: Vec<Document>,
    /// The kept documents by their keys, in order once all documents were added.
    holders: Vec<Holder>,
    removed: Vec<usize>,
    /// The names and texts of all documents.
    file: TextFile,
}

struct Document {
    fingerprint: Option<Box<[u8]>>,
    names: TextPlace,
    text: Option<TextPlace>,
    text_hash: Option<u64>,
    /// Hash of the url, if there is one.
    url_hash: Option<u64>,
}

/// A kept document with a key.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Holder {
    key: u64,
    /// The beginning of the document's second key.
    second: u32,
    number: u32,
}

impl Auditor {
    /// Creates an audit without documents. Texts are stored in a nameless file in `folder`.
    ///
    /// # Errors
    /// The file cannot be created.
    pub fn new(detector: Arc<dyn Detector>, lost_max: LostMax, folder: &Path) -> io::Result<Self> {
        let file = TextFile::create(folder)?;
        Ok(Self { detector, lost_max, documents: Vec::new(), holders: Vec::new(), removed: Vec::new(), file })
    }

    /// Adds a document with its [compressed](super::TextCompressor) text.
    ///
    /// # Errors
    /// The text cannot be stored, or there are too many documents.
    pub fn add(
        &mut self,
        record: &FingerprintRecord,
        text: Option<&[u8]>,
        is_removed: bool,
    ) -> io::Result<()> {
        let number = self.documents.len();
        let names = AuditedNames {
            id: record.page_id.clone(),
            url: record.url.clone(),
            place: record.source.to_string(),
        };
        let has_url = !record.url.is_empty() && !Page::is_made_up_url(&record.url);
        let document = Document {
            fingerprint: record.outcome.fingerprint().map(Into::into),
            names: self.file.push(&serde_json::to_vec(&names)?)?,
            text: text.map(|text| self.file.push(text)).transpose()?,
            text_hash: text.and_then(hash_of),
            url_hash: has_url.then(|| xxh3_64(record.url.as_bytes())),
        };
        if is_removed {
            self.removed.push(number);
        } else {
            let number = u32::try_from(number).map_err(io::Error::other)?;
            let mut keys = Vec::from_iter(document.text_hash.into_iter().chain(document.url_hash));
            document.fingerprint.iter().for_each(|bytes| self.detector.insert_keys(bytes, &mut keys));
            let second = self.second(&document);
            self.holders.extend(keys.into_iter().map(|key| Holder { key, second, number }));
        }
        self.documents.push(document);
        Ok(())
    }

    /// Returns the number of removed documents.
    #[must_use]
    pub fn removed(&self) -> usize {
        self.removed.len()
    }

    /// Compares the removed documents with these numbers, from 0, in the order in which they were added, and calls
    /// `each` with each.
    ///
    /// # Errors
    /// A text cannot be read, or the error of `each`.
    pub fn audit<E: From<io::Error>>(
        &mut self,
        numbers: impl IntoIterator<Item = usize>,
        mut each: impl FnMut(Audited) -> Result<(), E>,
    ) -> Result<(), E> {
        self.holders.sort_unstable();
        let mut verifier = Verifier::new(self.lost_max, &self.file, None);
        for removed in numbers.into_iter().filter_map(|number| self.removed.get(number)) {
            each(self.audited(*removed, &mut verifier)?)?;
        }
        Ok(())
    }

    fn audited(&self, removed: usize, verifier: &mut Verifier<'_>) -> io::Result<Audited> {
        let document = &self.documents[removed];
        let text = document.text.map(|place| self.file.read(place)).transpose()?;
        let Some(text) = text.as_deref().and_then(decompressed).map(SplitText::new) else {
            return self.outcome(removed, AuditOutcome::NoText, 0.0, None);
        };
        let mut best: Option<(f64, Check, usize)> = None;
        for number in self.candidates(document) {
            let candidate = &self.documents[number];
            let Some(place) = candidate.text else { continue };
            if candidate.text_hash == document.text_hash {
                return self.outcome(removed, AuditOutcome::SameText, 0.0, Some((None, number)));
            }
            let Some(kept) = verifier.text(place)? else { continue };
            let (check, lost) = compared(verifier, &text, &kept);
            let is_contained = !check.keeps() && lost <= self.lost_max.share;
            if is_contained || best.as_ref().is_none_or(|(best, ..)| lost < *best) {
                best = Some((lost, check, number));
            }
            if is_contained {
                break;
            }
        }
        let Some((lost, check, number)) = best else {
            return self.outcome(removed, AuditOutcome::NothingLikeIt, 1.0, None);
        };
        let outcome = match check.finding {
            Finding::FactsDiffer => AuditOutcome::FactsDiffer,
            Finding::Contained if lost <= self.lost_max.share => AuditOutcome::Contained,
            _ => AuditOutcome::TextLost,
        };
        self.outcome(removed, outcome, lost, Some((Some(check), number)))
    }

    fn outcome(
        &self,
        removed: usize,
        outcome: AuditOutcome,
        lost_share: f64,
        kept: Option<(Option<Check>, usize)>,
    ) -> io::Result<Audited> {
        let names = |number: usize| -> io::Result<AuditedNames> {
            Ok(serde_json::from_slice(&self.file.read(self.documents[number].names)?)?)
        };
        let (check, number) = kept.map_or((None, None), |(check, number)| (check, Some(number)));
        Ok(Audited {
            removed: names(removed)?,
            outcome,
            kept: number.map(names).transpose()?,
            lost_share: (lost_share * 10_000.0).round() / 10_000.0,
            lost_letters: check.as_ref().map_or(0, |check| check.lost_letters),
            differs: check.as_ref().and_then(|check| check.differs.clone()),
            lost_passage: check.map(|check| check.lost_passage).unwrap_or_default(),
            numbers: (removed, number),
        })
    }

    /// Returns the numbers of the kept documents with which a removed one is compared: one with the same text, or those
    /// with the lowest ranks.
    fn candidates(&self, document: &Document) -> Vec<usize> {
        if let Some(hash) = document.text_hash
            && let [same, ..] = self.holders_of(hash, 0)
        {
            return vec![same.number as usize];
        }
        let Some(fingerprint) = &document.fingerprint else { return Vec::new() };
        let mut keys = Vec::from_iter(document.url_hash);
        self.detector.probe_keys(fingerprint, &mut keys);
        let second = self.second(document);
        let found = keys.into_iter().flat_map(|key| self.holders_of(key, second));
        let mut numbers: Vec<u32> = found.map(|holder| holder.number).collect();
        numbers.sort_unstable();
        numbers.dedup();
        let rank = |number: u32| {
            let compared = self.detector.compared(self.documents[number as usize].fingerprint.as_deref()?);
            let distance = self.detector.compare_found(fingerprint, compared).distance;
            Some((self.detector.rank(fingerprint, compared, distance), number as usize))
        };
        let mut ranked: Vec<_> = numbers.into_iter().filter_map(rank).collect();
        ranked.sort_unstable();
        ranked.into_iter().take(COMPARED_MAX).map(|(_, number)| number).collect()
    }

    /// Returns the kept documents with a key: at most [`HOLDERS_MAX`], around those with the second key `second`.
    fn holders_of(&self, key: u64, second: u32) -> &[Holder] {
        let from = self.holders.partition_point(|holder| holder.key < key);
        let to = from + self.holders[from..].partition_point(|holder| holder.key == key);
        let around = from + self.holders[from..to].partition_point(|holder| holder.second < second);
        let start =
            around.saturating_sub(HOLDERS_MAX / 2).max(from).min(to.saturating_sub(HOLDERS_MAX).max(from));
        &self.holders[start..to.min(start + HOLDERS_MAX)]
    }

    /// Returns the beginning of a document's second key, or 0.
    fn second(&self, document: &Document) -> u32 {
        let second = self.detector.second_key().zip(document.fingerprint.as_ref());
        second.map_or(0, |(key, fingerprint)| ((key.of)(fingerprint) >> 32) as u32)
    }
}

/// Compares a removed document with a kept one. Also returns the share of its text that the kept one lacks, since pairs
/// that no detector has found near may differ in every other word.
fn compared(verifier: &Verifier<'_>, removed: &SplitText, kept: &SplitText) -> (Check, f64) {
    let comparison = Comparison::new(removed, kept);
    let lost = f64::from(comparison.loss.total) / f64::from(comparison.loss.letters.max(1));
    let (check, _) = verifier.judge.check(&comparison);
    (check, lost)
}

#[cfg(test)]
mod tests {
    use std::cell::RefCell;

    use super::*;
    use crate::growth::{GROWTH_MAX, growth};
    use crate::verify::texts::TextCompressor;
    use leitong_fingerprint::detectors::simhash::{SimHash, SimHashConfig};
    use leitong_text::extract::Document as Read;
    use leitong_text::segment::{Lexicons, SegmentConfig, Segmenter, Terms};

    /// Creates an audit of texts, each with true if it was removed.
    fn auditor<'a>(texts: impl IntoIterator<Item = (&'a str, bool)>) -> Auditor {
        let detector = Arc::new(SimHash::new(&SimHashConfig::default()));
        let segmenter = Segmenter::new(&SegmentConfig::default(), &Lexicons::default()).expect("defaults");
        let mut auditor = Auditor::new(Arc::clone(&detector) as _, LostMax::default(), &std::env::temp_dir())
            .expect("a file");
        for (number, (text, is_removed)) in texts.into_iter().enumerate() {
            let mut terms = Terms::default();
            segmenter.segment(&Read::from_text(None, text), &mut terms);
            let record = FingerprintRecord::numbered(number, detector.fingerprint(&terms));
            let text = TextCompressor::default().compress("", terms.text());
            auditor.add(&record, text.as_deref(), is_removed).expect("stored");
        }
        auditor
    }

    fn audited(auditor: &mut Auditor) -> Vec<Audited> {
        let mut all = Vec::new();
        let numbers = 0..auditor.removed();
        auditor
            .audit(numbers, |audited| {
                all.push(audited);
                io::Result::Ok(())
            })
            .expect("the file is there");
        all
    }

    /// Returns a text of a template with many words, of which three depend on `number`.
    fn page(number: usize) -> String {
        let name = |at: usize| {
            let letter = |shift: usize| char::from(b'a' + ((number * 7 + at * 11) >> shift & 15) as u8);
            (0..6).map(|at| letter(2 * at)).collect::<String>()
        };
        format!(
            "The library of {} opens at nine in the morning, and every reader may take three books home for a month. \
             Ask {} at the desk if a book is not on its shelf, or leave a note with your name and the title of the book. \
             In summer the reading room of {} closes an hour earlier, because the sun is too hot for old paper.",
            name(0),
            name(1),
            name(2)
        )
    }

    #[test]
    fn the_kept_document_with_most_of_the_text_is_found_among_many_of_one_template() {
        let pages: Vec<String> = (0..2_000).map(page).collect();
        let longer = format!(
            "{} Nobody knows who painted the ceiling, which shows ships during a storm near some rocky coast. Visitors \
             often guess, yet each guide tells another story about it: one names two sailors, another claims that an \
             unknown monk from Lisbon mixed those colours himself, using soot, chalk, honey plus ground shells, while \
             experts from abroad rather praise somebody called Hermann Oddvar.",
            pages[1_234]
        );
        let kept = pages.iter().map(|page| (page.as_str(), false));
        let mut auditor =
            auditor(kept.chain([(&*pages[777], true), (&*longer, true), ("a few words", true), ("", true)]));
        let found = audited(&mut auditor);
        let outcomes: Vec<_> = found.iter().map(|audited| (audited.outcome, audited.numbers.1)).collect();
        assert_eq!(outcomes[0], (AuditOutcome::SameText, Some(777)));
        assert_eq!(outcomes[1], (AuditOutcome::TextLost, Some(1_234)), "{:?}", found[1]);
        assert!(found[1].lost_passage.contains("painted the ceiling"), "{:?}", found[1]);
        assert_eq!(outcomes[2], (AuditOutcome::NothingLikeIt, None));
        assert!(found.iter().all(|audited| audited.removed.id == audited.numbers.0.to_string()));
    }

    #[test]
    fn pages_of_one_template_cost_what_their_number_costs() {
        let prepare = |count: usize| {
            let pages: Vec<String> = (0..2 * count).map(page).collect();
            let is_removed = [true, false].into_iter().cycle();
            RefCell::new(auditor(pages.iter().map(String::as_str).zip(is_removed)))
        };
        let grown = growth(300, prepare, |auditor| {
            let mut auditor = auditor.borrow_mut();
            assert_eq!(audited(&mut auditor).len(), auditor.removed());
        });
        assert!(grown < GROWTH_MAX, "{grown}");
    }
}
