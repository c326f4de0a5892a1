//! Finds passages that are in many documents.
//!
//! ```text
//!  texts ─► chosen pieces ─► (hash, document) ─► sorted ─► hashes in many documents ──► [cut](super::cut)
//!                                                              │
//!  texts ─► all pieces with these hashes ─► (hash, site, document) ─► sorted ─► counts, sorted by first document
//!                                                                                         │
//!  list ◄─ sorted by size ◄─ neighbouring pieces of the same documents, joined ◄──────────┘ first documents
//! ```
//!
//! A [piece](super::pieces) has at least as many letters as a passage must have, so every letter of a passage that is
//! listed is in a piece that all these documents have. Which pieces are chosen at the ends of a passage depends on what
//! is around it, so documents are counted in a second reading, which looks at every piece. Hashes have 64 bits: among
//! 10⁹ different pieces, the chance that any two have the same hash is 3 %, and the chance that this makes one of them
//! frequent is far smaller.
//!
//! The line of a passage is made when its first document is read, and written to disk until it is known which passages
//! come first. So each text is read three times, however many passages it has.
//!
//! Memory: the limit, whatever the number of documents. Disk: 12 bytes for each chosen piece of each document, and 20
//! for each that is in many documents; the list once more.

use std::io;
use std::path::Path;

use serde::Serialize;

use super::letters::{WORD_LETTERS_MAX, count, words};
use super::pieces::{Piece, Sampling};
use super::sorted::{Fixed, Sorter, fixed};
use super::{Limits, each_text};
use crate::Decision;
use crate::error::{Context, Error, Result};
use crate::prefer::Choice;
use crate::sink::whole_lines::WholeLines;
use crate::spool::Spooled;
use crate::verify::shortened;
use crate::verify::texts::{Text, TextFile, TextPlace};
use leitong_base::hashed::{HashedMap, HashedSet};
use leitong_base::mix::mix;
use leitong_text::page::Address;
use xxhash_rust::xxh3::xxh3_64;

/// Number of bytes that the hash of a frequent piece takes in memory.
const FREQUENT_BYTES: usize = 18;
/// Minimum memory that the hashes of frequent pieces may take, however low the limit of the search is, in bytes.
const FREQUENT_BYTES_MIN: usize = 256 << 10;

/// A chosen piece of a document.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Chosen {
    hash: u64,
    document: u32,
}

fixed!(Chosen { hash: u64, document: u32 });

/// An occurrence of a frequent piece in a document.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Occurrence {
    hash: u64,
    /// Hash of the site.
    site: u64,
    document: u32,
}

fixed!(Occurrence { hash: u64, site: u64, document: u32 });

/// A piece that is in many documents.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Frequent {
    /// The first document that has the piece.
    document: u32,
    hash: u64,
    documents: u32,
    sites: u32,
    /// Hash of the set of documents.
    set: u64,
}

fixed!(Frequent { document: u32, hash: u64, documents: u32, sites: u32, set: u64 });

/// A passage in its first document.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Span {
    start: u32,
    end: u32,
    documents: u32,
    sites: u32,
}

/// The place of a line of the list. Lines are made in the order of documents, and of places in a document.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Listed {
    /// `u64::MAX` minus the passage's bytes times its documents, so passages with the most bytes come first.
    rank: u64,
    /// The byte offset and the length of the line.
    at: u64,
    bytes: u32,
}

fixed!(Listed { rank: u64, at: u64, bytes: u32 });

/// A line of the list.
#[derive(Debug, Serialize)]
struct ListedPassage<'a> {
    text: String,
    documents: u32,
    sites: u32,
    /// The site, if all documents are on one site.
    site: Option<&'a str>,
    letters: u32,
    /// Number of bytes of the whole passage in one document.
    bytes: usize,
    /// The url of the first document.
    url: &'a str,
}

/// Counts of passages.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub(crate) struct Counts {
    /// Number of documents whose texts were searched.
    pub searched: u64,
    /// Number of documents without a text to search.
    pub not_searched: u64,
    /// Number of passages that are listed.
    pub passages: u64,
}

/// Searches for passages among the documents that are kept.
pub(crate) struct Search<'a> {
    limits: Limits,
    sampling: Sampling,
    folder: &'a Path,
    texts: &'a TextFile,
    choice: &'a Choice,
    counts: Counts,
}

impl<'a> Search<'a> {
    /// Creates a search in the `texts` of the documents that `choice` keeps. Pieces that do not fit into memory are
    /// sorted in `folder`.
    #[must_use]
    pub(crate) fn new(limits: Limits, folder: &'a Path, texts: &'a TextFile, choice: &'a Choice) -> Self {
        let sampling = sampling(limits.letters_min);
        Self { limits, sampling, folder, texts, choice, counts: Counts::default() }
    }

    /// Returns the hashes of the pieces that are in many documents.
    ///
    /// # Errors
    /// Decisions or texts cannot be read, pieces cannot be sorted, or too many of them are in many documents.
    pub(crate) fn frequent(&mut self, spooled: &mut Spooled) -> Result<HashedSet> {
        let mut chosen = Sorter::new(self.folder, self.limits.memory_bytes / 2);
        let (sampling, choice, counts) = (&self.sampling, self.choice, &mut self.counts);
        let wanted = |ordinal, decision: &Decision| Ok(choice.keeps(ordinal, decision).then_some(()));
        let make = |(): &(), text: &Text| {
            let mut hashes = Vec::new();
            sampling.chosen(words(text.text()), |piece| {
                hashes.push(piece.hash);
                true
            });
            once_each(hashes)
        };
        each_text(spooled, self.texts, wanted, make, |ordinal, _, hashes| {
            counts.searched += u64::from(hashes.is_some());
            counts.not_searched += u64::from(hashes.is_none());
            let document = document(ordinal)?;
            hashes.into_iter().flatten().try_for_each(|hash| chosen.push(Chosen { hash, document }))
        })?;
        let mut frequent = HashedSet::default();
        let mut chosen = chosen.finish()?;
        let (mut last, mut documents) = (None, 0);
        while let Some(Chosen { hash, .. }) = chosen.next_record()? {
            documents = if last == Some(hash) { documents + 1 } else { 1 };
            last = Some(hash);
            if documents == self.limits.documents_min {
                frequent.insert(hash);
                if frequent.len() * FREQUENT_BYTES > (self.limits.memory_bytes / 2).max(FREQUENT_BYTES_MIN) {
                    return Err(Error::refused(format_args!(
                        "too many passages occur in {} or more documents for {} MB of memory; raise \
                         --passage-memory or --passage-documents",
                        self.limits.documents_min,
                        self.limits.memory_bytes >> 20
                    )));
                }
            }
        }
        Ok(frequent)
    }

    /// Writes the passages to `lines`, those with most bytes in all documents first.
    ///
    /// # Errors
    /// Decisions or texts cannot be read, or passages cannot be sorted or written.
    pub(crate) fn list(
        mut self,
        spooled: &mut Spooled,
        frequent: &HashedSet,
        lines: &mut WholeLines,
    ) -> Result<Counts> {
        let mut counted = self.count(spooled, frequent)?.finish()?;
        let mut listed = Sorter::new(self.folder, self.limits.memory_bytes / 4);
        let mut unsorted = TextFile::create(self.folder)?;
        let mut next = counted.next_record()?;
        let wanted = |ordinal, _: &Decision| {
            let mut of_document = Vec::new();
            while let Some(piece) = next.filter(|next| u64::from(next.document) == ordinal) {
                of_document.push(piece);
                next = counted.next_record()?;
            }
            Ok(Some(of_document).filter(|pieces| !pieces.is_empty()))
        };
        let sampling = &self.sampling;
        let make = |pieces: &Vec<Frequent>, text: &Text| {
            let spans = joined(sampling, text.text(), pieces);
            let site = Address::from_url(text.url()).site;
            let line = |span: Span| {
                serde_json::to_string(&span.line(text, &site)).map(|line| (span.rank(), line + "\n"))
            };
            spans.into_iter().map(line).collect::<Result<Vec<_>, _>>()
        };
        each_text(spooled, self.texts, wanted, make, |_, _, made| {
            let made = made.context(
                "a text of the first reading is missing in the second: an input has changed; run again",
            )?;
            made?.into_iter().try_for_each(|(rank, line)| {
                let place = unsorted.push(line.as_bytes()).context(CANNOT_STORE)?;
                listed.push(Listed { rank, at: place.at, bytes: place.bytes })
            })
        })?;
        let mut listed = listed.finish()?;
        while let Some(Listed { at, bytes, .. }) = listed.next_record()? {
            self.counts.passages += 1;
            let line = unsorted.read(TextPlace { at, bytes }).context(CANNOT_STORE)?;
            lines.push_text(std::str::from_utf8(&line).map_err(io::Error::other)?)?;
        }
        lines.flush()?;
        Ok(self.counts)
    }

    /// Counts the documents and sites of each frequent piece.
    fn count(&self, spooled: &mut Spooled, frequent: &HashedSet) -> Result<Sorter<Frequent>> {
        let quarter = self.limits.memory_bytes / 4;
        let (sampling, choice) = (&self.sampling, self.choice);
        let wanted = |ordinal, decision: &Decision| Ok(choice.keeps(ordinal, decision).then_some(()));
        let make = |(): &(), text: &Text| {
            let mut hashes = Vec::new();
            sampling.all(words(text.text()), |piece| {
                if frequent.contains(&piece.hash) {
                    hashes.push(piece.hash);
                }
            });
            (site_hash(text.url()), once_each(hashes))
        };
        let mut occurrences = Sorter::new(self.folder, quarter);
        if !frequent.is_empty() {
            each_text(spooled, self.texts, wanted, make, |ordinal, _, found| {
                let Some((site, hashes)) = found else { return Ok(()) };
                let document = document(ordinal)?;
                hashes.into_iter().try_for_each(|hash| occurrences.push(Occurrence { hash, site, document }))
            })?;
        }
        let mut counted = Sorter::new(self.folder, quarter);
        let mut occurrences = occurrences.finish()?;
        let mut next = occurrences.next_record()?;
        while let Some(Occurrence { hash, site, document }) = next {
            let mut frequent = Frequent { document, hash, documents: 0, sites: 1, set: 0 };
            let mut last_site = site;
            while let Some(same) = next.filter(|next| next.hash == hash) {
                frequent.document = frequent.document.min(same.document);
                frequent.documents += 1;
                frequent.sites += u32::from(same.site != last_site);
                frequent.set = frequent.set.wrapping_add(mix(u64::from(same.document) + 1));
                last_site = same.site;
                next = occurrences.next_record()?;
            }
            counted.push(frequent)?;
        }
        Ok(counted)
    }

    /// Returns the counts of documents.
    #[must_use]
    pub(crate) fn counts(&self) -> Counts {
        self.counts
    }
}

/// Context of errors of the file with lines that are not sorted yet.
const CANNOT_STORE: &str = "cannot store passages in a temporary file next to the outputs";

impl Span {
    /// Returns the place among all passages, as [`Listed::rank`].
    fn rank(self) -> u64 {
        u64::MAX - u64::from(self.documents) * u64::from(self.end - self.start)
    }

    /// Returns the line of the passage in a `text` of this `site`.
    fn line<'a>(self, text: &'a Text, site: &'a str) -> ListedPassage<'a> {
        let passage = &text.text()[self.start as usize..self.end as usize];
        ListedPassage {
            text: shortened(passage),
            documents: self.documents,
            sites: self.sites,
            site: Some(site).filter(|site| self.sites == 1 && !site.is_empty()),
            letters: count(passage),
            bytes: passage.len(),
            url: text.url(),
        }
    }
}

/// Returns the number of a document as it is written to disk, in 32 bits.
fn document(ordinal: u64) -> Result<u32> {
    let number = u32::try_from(ordinal).map_err(io::Error::other);
    number.context("passages are searched in at most 4 billion documents; use several runs")
}

fn once_each(mut hashes: Vec<u64>) -> Vec<u64> {
    hashes.sort_unstable();
    hashes.dedup();
    hashes
}

/// Returns the rule by which pieces of passages with at least `letters_min` letters are chosen.
pub(super) fn sampling(letters_min: u32) -> Sampling {
    // The window is shorter than a run, by the longest word if possible, so neighbouring chosen runs overlap.
    Sampling::new(letters_min, letters_min.saturating_sub(WORD_LETTERS_MAX).max(letters_min / 3)).with_ends()
}

fn site_hash(url: &str) -> u64 {
    xxh3_64(Address::from_url(url).site.as_bytes())
}

/// Joins `pieces` that overlap or touch in their first document, if they occur in the same documents.
fn joined(sampling: &Sampling, text: &str, pieces: &[Frequent]) -> Vec<Span> {
    let frequent: HashedMap<&Frequent> = pieces.iter().map(|piece| (piece.hash, piece)).collect();
    let mut found: Vec<(Piece, &Frequent)> = Vec::new();
    sampling.all(words(text), |piece| {
        found.extend(frequent.get(&piece.hash).map(|frequent| (piece, *frequent)));
    });
    found.sort_unstable_by_key(|(piece, _)| (piece.start, piece.end));
    let mut seen = HashedSet::default();
    // The index of the last span of each set of documents.
    let mut last: HashedMap<usize> = HashedMap::default();
    let mut spans: Vec<(Span, bool)> = Vec::new();
    for (piece, frequent) in found {
        let is_new = seen.insert(frequent.hash);
        let (start, end) = (piece.start as u32, piece.end as u32);
        if let Some((span, has_new)) = last.get(&frequent.set).map(|at| &mut spans[*at])
            && start <= span.end
        {
            span.end = span.end.max(end);
            *has_new |= is_new;
            continue;
        }
        last.insert(frequent.set, spans.len());
        let Frequent { documents, sites, .. } = *frequent;
        spans.push((Span { start, end, documents, sites }, is_new));
    }
    // A span whose pieces all occurred before in this document is a repetition.
    let mut spans: Vec<Span> =
        spans.into_iter().filter(|(_, has_new)| *has_new).map(|(span, _)| span).collect();
    spans.sort_unstable();
    spans
}
