//! Compares each document that is about to be dropped with the kept documents of its cluster, and keeps it if
//! something would be lost. Verdicts do not change.
//!
//! ```text
//!  fingerprint stage ─► compressed text ─┐                        kept texts of the cluster
//!                                        ├─► spool, file of texts ────────► compare ─► spool with checks
//!  verdict ─► decision ──────────────────┘   (end of the run)
//! ```
//!
//! A document is dropped only if a kept document of its cluster contains it. Kept documents are those chosen by
//! [`Prefer`](super::Prefer), and those that the verification itself has kept so far. So a second copy of a document
//! that was kept by verification is dropped. With a centroid table, kept documents of earlier runs count as well.
//!
//! Pages of one template can be recognised only after all documents of their cluster were compared ([`slots`]). Then
//! one document of each combination of words in the places of the template is kept. No text is read again for that.
//!
//! Memory: about 60 bytes for each cluster, and 100 for each document that is kept by verification; about 20 bytes for
//! each place in which a document has other words than a kept one; 32 MB of [recently compared](recent) texts. Cost:
//! linear in the texts, whatever the number of documents of a cluster; a document is compared with the first kept text,
//! and if it differs from that, with at most [`COMPARED_MAX`] others.

pub(crate) mod audit;
mod differences;
mod facts;
mod judge;
mod loss;
mod lost_max;
mod recent;
mod slots;
pub(crate) mod table_texts;
pub(crate) mod texts;
mod words;

use std::collections::HashMap;
use std::io;
use std::rc::Rc;

use serde::{Deserialize, Serialize};
use xxhash_rust::xxh3::xxh3_64_with_seed;

use self::facts::Comparison;
use self::judge::Judge;
use self::recent::RecentTexts;
use self::slots::{Filling, Slots};
use self::table_texts::{KeptText, KeptTexts, TableTexts};
use self::texts::{TextFile, TextPlace, decompressed};
use self::words::SplitText;
use super::Decision;
use super::prefer::Choice;
use super::spool::{Spool, Spooled};
use crate::error::Result;
use leitong_base::hashed::{HashedMap, HashedSet};
use leitong_base::terminal;
pub use lost_max::LostMax;
pub use texts::TextCompressor;

/// Maximum number of kept texts of a cluster with which a document is compared, besides the first one.
const COMPARED_MAX: usize = 2;
/// Maximum number of characters of a passage that is reported.
const SHOWN_CHARS_MAX: usize = 300;

/// The outcome for a document that would be dropped: it is dropped, or kept for a reason.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Finding {
    /// The document is dropped: a kept document contains it.
    Contained,
    /// The document is kept: too much of its text would be lost.
    TextLost,
    /// The document is kept: its facts, such as numbers or names, differ from those of the kept documents.
    FactsDiffer,
    /// The document is kept: its text or the text of the kept document is not available.
    #[default]
    NotVerified,
}

impl Finding {
    /// Returns the name of the finding, as in JSON.
    #[must_use]
    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Self::Contained => "contained",
            Self::TextLost => "text_lost",
            Self::FactsDiffer => "facts_differ",
            Self::NotVerified => "not_verified",
        }
    }
}

/// The result of verifying a document. By default, the document could not be compared.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct Check {
    /// The finding.
    pub finding: Finding,
    /// The share of the text in passages that the kept document lacks.
    pub lost_share: f64,
    /// The number of letters in the longest passage that is not in the kept document.
    pub lost_letters: u32,
    /// The longest passage that is not in the kept document, normalised; cut if it is long.
    pub lost_passage: String,
    /// The fact of the document and that of the kept document, if facts differ.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub differs: Option<String>,
    /// The url of the kept document that was compared.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kept_url: Option<String>,
}

impl Check {
    /// Returns the check of a document with the same text as this kept one.
    fn contained(kept: &SplitText) -> Self {
        Self { finding: Finding::Contained, kept_url: kept.known_url(), ..Self::default() }
    }

    /// Returns true if the document is kept because of this check.
    #[must_use]
    pub(crate) fn keeps(&self) -> bool {
        self.finding != Finding::Contained
    }
}

/// Returns the text on one line, and cut if it is long.
pub(crate) fn shortened(text: &str) -> String {
    let mut line = text.split_whitespace().collect::<Vec<_>>().join(" ");
    if let Some((at, _)) = line.char_indices().nth(SHOWN_CHARS_MAX) {
        line.truncate(at);
        line.push('…');
    }
    line
}

/// Counts of verified documents.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub(crate) struct Counts {
    /// Number of documents that were compared before they were dropped.
    pub dropped: u64,
    /// Number of documents that are kept because text would be lost.
    pub text_lost: u64,
    /// Number of documents that are kept because facts differ.
    pub facts_differ: u64,
    /// Number of documents that are kept because they could not be verified.
    pub not_verified: u64,
}

impl Counts {
    /// Counts a finding.
    pub(crate) fn count(&mut self, finding: Finding) {
        *match finding {
            Finding::Contained => &mut self.dropped,
            Finding::TextLost => &mut self.text_lost,
            Finding::FactsDiffer => &mut self.facts_differ,
            Finding::NotVerified => &mut self.not_verified,
        } += 1;
    }

    /// Returns the number of documents that are kept by verification.
    #[must_use]
    pub(super) fn kept(&self) -> u64 {
        self.text_lost + self.facts_differ + self.not_verified
    }

    /// Reports the counts. The stored texts took `stored` bytes.
    pub(super) fn note(&self, stored: u64) {
        let Self { dropped, text_lost, facts_differ, not_verified } = self;
        terminal::note(format_args!(
            "verified: {dropped} documents are dropped and {} kept: {text_lost} because text would be lost, \
             {facts_differ} because facts differ, {not_verified} because they could not be compared (texts took \
             {:.1} MB on disk)",
            self.kept(),
            stored as f64 / 1e6
        ));
        if *not_verified > 0 {
            terminal::note(
                "documents cannot be compared if a run without --verify stored the kept document of their \
                 cluster",
            );
        }
    }
}

/// How a document that would be dropped differs from the first kept one of its cluster. It is stored with the decision
/// until all documents of the run were compared.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct Compared {
    fillings: Vec<Filling>,
    /// The first place in which a word is replaced, as it is shown.
    replaced: Option<String>,
    /// The url of the kept document.
    kept_url: Option<String>,
}

/// Verifies the documents of a run, once all decisions and the choice are known.
pub(crate) struct Verifier<'a> {
    judge: Judge,
    /// The texts of this run.
    run: &'a TextFile,
    /// The texts of kept documents of earlier runs and of this one, if there is a table.
    table: Option<TableTexts>,
    /// The kept documents of each cluster, if there is no table.
    kept: KeptTexts,
    /// The latest text that verification has kept for each combination of words that replace those of the first text of
    /// its cluster.
    by_words: HashedMap<u32>,
    /// The number of texts of a cluster that were kept before verification, if there are several.
    unlike: HashMap<u64, u32>,
    recent: RecentTexts,
}

impl<'a> Verifier<'a> {
    /// Creates a verifier of documents with the texts `run`. `table` has the texts of earlier runs.
    #[must_use]
    pub(crate) fn new(lost_max: LostMax, run: &'a TextFile, table: Option<TableTexts>) -> Self {
        Self {
            judge: Judge::new(lost_max),
            run,
            table,
            kept: KeptTexts::default(),
            by_words: HashedMap::default(),
            unlike: HashMap::new(),
            recent: RecentTexts::default(),
        }
    }

    /// Verifies all documents of `spooled` that are not kept by `choice`. Returns the decisions with their
    /// checks, written to files of `new_spool`. With a table, texts of kept documents are stored for later runs.
    ///
    /// # Errors
    /// Decisions or texts cannot be read or written.
    pub(crate) fn verify(
        mut self,
        spooled: &mut Spooled,
        choice: &Choice,
        new_spool: impl Fn() -> Result<Spool>,
    ) -> Result<(Spooled, Counts)> {
        let mut ordinals = 0..;
        spooled.each(|_, decision| {
            let is_kept = ordinals.next().is_some_and(|ordinal| choice.keeps(ordinal, decision));
            if is_kept && decision.cluster_id.is_some() {
                self.keep(decision)?;
            }
            Ok(())
        })?;
        self.unlike = self.kept_texts().counts();
        let mut counts = Counts::default();
        let mut ordinals = 0..;
        let mut checked = new_spool()?;
        let mut slots = Slots::default();
        spooled.each(|_, decision| {
            let is_kept = ordinals.next().is_some_and(|ordinal| choice.keeps(ordinal, decision));
            if is_kept || decision.cluster_id.is_none() || decision.benchmark.is_some() {
                return Ok(checked.push(decision)?);
            }
            let (check, compared) = self.check(decision)?;
            slots.add(decision.founded, &compared.fillings);
            counts.count(check.finding);
            if check.keeps() {
                let number = self.kept_texts().count(decision.founded);
                self.by_words.insert(words_key(decision.founded, &compared.fillings), number);
                self.keep(decision)?;
            }
            let check = Some(Box::new(check));
            Ok(checked.push(&Decision { check, compared: Some(Box::new(compared)), ..decision.clone() })?)
        })?;
        let mut checked = checked.finish()?;
        if !slots.is_empty() {
            checked = self.keep_pages_of_templates(&slots, &mut checked, new_spool()?, &mut counts)?;
        }
        if let Some(table) = self.table {
            table.finish()?;
        }
        Ok((checked, counts))
    }

    /// Keeps a document of each combination of words in the places of templates, which are known now.
    fn keep_pages_of_templates(
        &mut self,
        slots: &Slots,
        checked: &mut Spooled,
        mut again: Spool,
        counts: &mut Counts,
    ) -> Result<Spooled> {
        let is_kept = |decision: &Decision| decision.check.as_ref().is_none_or(|check| check.keeps());
        // The words of the first text of a cluster are not there.
        let mut kept = HashedSet::default();
        checked.each(|_, decision| {
            if let Some(compared) = decision.compared.as_ref().filter(|_| is_kept(decision)) {
                kept.insert(slots.words(decision.founded, &compared.fillings).key);
            }
            Ok(())
        })?;
        checked.each(|_, decision| {
            let page = decision.compared.as_ref().filter(|_| !is_kept(decision)).filter(|compared| {
                let words = slots.words(decision.founded, &compared.fillings);
                words.are_most && kept.insert(words.key)
            });
            let Some(page) = page else {
                return Ok(again.push(&Decision { compared: None, ..decision.clone() })?);
            };
            counts.dropped -= 1;
            counts.count(Finding::FactsDiffer);
            self.keep(decision)?;
            let (differs, kept_url) = (page.replaced.clone(), page.kept_url.clone());
            let check = decision.check.as_deref().cloned().unwrap_or_default();
            let check = Some(Box::new(Check { finding: Finding::FactsDiffer, differs, kept_url, ..check }));
            Ok(again.push(&Decision { check, compared: None, ..decision.clone() })?)
        })?;
        Ok(again.finish()?)
    }

    /// Registers a document that is kept.
    fn keep(&mut self, decision: &Decision) -> io::Result<()> {
        let Some(place) = decision.text else { return Ok(()) };
        let Some(hash) = self.run.hash_at(place)? else { return Ok(()) };
        match &mut self.table {
            Some(table) => table.add(decision.founded, &self.run.read(place)?)?,
            None => self.kept.add(decision.founded, KeptText { hash, place }),
        }
        Ok(())
    }

    fn kept_texts(&self) -> &KeptTexts {
        self.table.as_ref().map_or(&self.kept, TableTexts::kept)
    }

    /// Returns the kept texts with which a document is compared after the first one: one that verification has kept, and
    /// that has the same words where they differ from the first one, and the latest ones. If no text would be lost, these
    /// are only texts that were kept before, whose words are not known.
    fn others(&self, founder: u64, fillings: &[Filling], is_lost: bool) -> Vec<KeptText> {
        let kept = self.kept_texts();
        let alike = self.by_words.get(&words_key(founder, fillings)).copied();
        let unlike = || self.unlike.get(&founder).copied().unwrap_or(0);
        let latest = 1..if is_lost { kept.count(founder) } else { unlike() };
        let latest = latest.rev().filter(|number| alike != Some(*number));
        let numbers = alike.into_iter().chain(latest).take(COMPARED_MAX);
        numbers.filter_map(|number| kept.text(founder, number)).collect()
    }

    /// Compares a document with the kept documents of its cluster.
    fn check(&mut self, decision: &Decision) -> io::Result<(Check, Compared)> {
        let mut best = (Check::default(), Vec::new());
        let mut compared = Compared::default();
        let Some(place) = decision.text else { return Ok((best.0, compared)) };
        let Some(text) = decompressed(&self.run.read(place)?) else { return Ok((best.0, compared)) };
        let founder = decision.founded;
        if let Some(equal) = self.kept_texts().with_hash(founder, text.hash)
            && let Some(equal) = self.text(equal.place)?.filter(|equal| equal.text() == text.text())
        {
            return Ok((Check::contained(&equal), compared));
        }
        let text = SplitText::new(text);
        let mut candidates = Vec::from_iter(self.kept_texts().text(founder, 0));
        let mut number = 0;
        while let Some(kept) = candidates.get(number).copied() {
            number += 1;
            let Some(other) = self.text(kept.place)? else { continue };
            let comparison = Comparison::new(&text, &other);
            let found = self.judge.check(&comparison);
            if number == 1 {
                compared = comparison.compared();
                if found.0.keeps() {
                    let is_lost = found.0.finding == Finding::TextLost;
                    candidates.extend(self.others(founder, &compared.fillings, is_lost));
                }
            }
            let is_better = best.0.finding == Finding::NotVerified
                || found.0.finding == Finding::Contained
                || found.0.lost_share < best.0.lost_share;
            if is_better {
                best = found;
            }
            if !best.0.keeps() {
                return Ok((best.0, compared));
            }
        }
        self.judge.kept(best.1);
        Ok((best.0, compared))
    }

    /// Returns a kept text, or `None` if it is damaged.
    fn text(&mut self, place: TextPlace) -> io::Result<Option<Rc<SplitText>>> {
        if let Some(text) = self.recent.get(place) {
            return Ok(Some(text));
        }
        let compressed = match &self.table {
            Some(table) => table.read(place)?,
            None => self.run.read(place)?,
        };
        Ok(decompressed(&compressed).map(|text| self.recent.insert(place, SplitText::new(text))))
    }
}

/// Returns the key of the words that replace those of the first kept document of the cluster with this founder.
fn words_key(founder: u64, fillings: &[Filling]) -> u64 {
    let replaced = fillings.iter().filter(|filling| filling.replaces);
    replaced.fold(founder, |hash, filling| xxh3_64_with_seed(&filling.words.to_le_bytes(), hash))
}
