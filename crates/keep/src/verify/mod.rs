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
mod check;
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
pub(crate) use check::{Check, Counts, Finding, shortened};
use leitong_base::hashed::{HashedMap, HashedSet};
pub use lost_max::LostMax;
pub use texts::TextCompressor;

/// Maximum number of kept texts of a cluster with which a document is compared, besides the first one.
const COMPARED_MAX: usize = 2;

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
    kept_before: HashMap<u64, u32>,
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
            kept_before: HashMap::new(),
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
        self.kept_before = self.kept_texts().counts();
        let mut counts = Counts::default();
        let mut ordinals = 0..;
        let mut checked = new_spool()?;
        let mut slots = Slots::default();
        spooled.each(|_, decision| {
            let is_kept = ordinals.next().is_some_and(|ordinal| choice.keeps(ordinal, decision));
            // A document with a passage of a benchmark is dropped in any case.
            if is_kept || decision.cluster_id.is_none() || decision.benchmark.is_some() {
                return Ok(checked.push(decision)?);
            }
            let (check, compared) = self.check(decision)?;
            slots.add(decision.founded, &compared.fillings);
            counts.count(check.finding);
            if check.keeps() {
                let number = self.kept_texts().count(decision.founded);
                self.keep(decision)?;
                if self.kept_texts().count(decision.founded) > number {
                    self.by_words.insert(words_key(decision.founded, &compared.fillings), number);
                }
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
        // The first text of a cluster is not compared with itself, so its own words are missing here.
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

    /// Registers a document that is kept. Nothing can be compared with one whose text is not stored.
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
        let kept_before = || self.kept_before.get(&founder).copied().unwrap_or(0);
        let latest = 1..if is_lost { kept.count(founder) } else { kept_before() };
        let latest = latest.rev().filter(|number| alike != Some(*number));
        let numbers = alike.into_iter().chain(latest).take(COMPARED_MAX);
        numbers.filter_map(|number| kept.text(founder, number)).collect()
    }

    /// Compares a document with the kept documents of its cluster.
    fn check(&mut self, decision: &Decision) -> io::Result<(Check, Compared)> {
        let (mut best, mut own_passages) = (Check::default(), Vec::new());
        let mut compared = Compared::default();
        let Some(place) = decision.text else { return Ok((best, compared)) };
        let Some(text) = decompressed(&self.run.read(place)?) else { return Ok((best, compared)) };
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
            // If the first one is damaged, there are no others, and the document is kept.
            let Some(other) = self.text(kept.place)? else { continue };
            let comparison = Comparison::new(&text, &other);
            let (found, passages) = self.judge.check(&comparison);
            if number == 1 {
                compared = comparison.compared();
                if found.keeps() {
                    let is_lost = found.finding == Finding::TextLost;
                    candidates.extend(self.others(founder, &compared.fillings, is_lost));
                }
            }
            if !found.keeps() {
                return Ok((found, compared));
            }
            if best.finding == Finding::NotVerified || found.lost_share < best.lost_share {
                (best, own_passages) = (found, passages);
            }
        }
        self.judge.remember(own_passages);
        Ok((best, compared))
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
