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
//! Pages of one template can be recognised only after all documents of their cluster were compared ([`slots`]). The
//! pages that would be dropped are then compared again.
//!
//! Memory: about 60 bytes for each cluster, and 100 for each document that is kept by verification; about 20 bytes for
//! each place in which a document has other words than a kept one, and [60](alike) if it is kept; 32 MB of [recently
//! compared](recent) texts. Cost: linear in the texts, whatever the number of documents of a cluster; a document is
//! compared with the first kept text, an equal one, and at most [`COMPARED_MAX`] others.

mod alike;
pub(crate) mod audit;
mod differences;
mod facts;
mod loss;
mod lost_max;
mod recent;
mod slots;
pub(crate) mod table_texts;
pub(crate) mod texts;
mod words;

use std::collections::{HashMap, HashSet};
use std::io;
use std::rc::Rc;

use serde::{Deserialize, Serialize};

use self::alike::Alike;
use self::differences::Difference;
use self::facts::Comparison;
use self::recent::{KnownText, RecentTexts};
use self::slots::{Filling, Slots};
use self::table_texts::{KeptText, KeptTexts, TableTexts};
use self::texts::{TextFile, TextPlace, decompressed};
use self::words::SplitText;
use super::Decision;
use super::prefer::Choice;
use super::spool::{Spool, Spooled};
use crate::error::Result;
use leitong_base::terminal;
pub use lost_max::LostMax;
pub use texts::TextCompressor;

/// Maximum number of kept texts of a cluster with which a document is compared, besides the first one and an equal one.
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
    /// Returns the check of a document that is kept for a difference, or for too much lost text, or else dropped.
    fn new(comparison: &Comparison, is_lost: bool, difference: Option<&Difference>) -> Self {
        let Comparison { loss, texts: [document, kept], .. } = comparison;
        let finding = match difference {
            Some(_) => Finding::FactsDiffer,
            None if is_lost => Finding::TextLost,
            None => Finding::Contained,
        };
        let differs = difference.map(|difference| comparison.shown(difference).map(shortened).join(" | "));
        Self {
            finding,
            lost_share: (loss.share() * 10_000.0).round() / 10_000.0,
            lost_letters: loss.longest,
            lost_passage: shortened(&document.text()[loss.passage.clone()]),
            differs,
            kept_url: Some(kept.url().to_owned()).filter(|url| !url.is_empty()),
        }
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

/// Verifies the documents of a run, once all decisions and the choice are known.
pub(crate) struct Verifier<'a> {
    lost_max: LostMax,
    /// The texts of this run.
    run: &'a TextFile,
    /// The texts of kept documents of earlier runs and of this one, if there is a table.
    table: Option<TableTexts>,
    /// The kept documents of each cluster, if there is no table.
    kept: KeptTexts,
    /// The places of templates; none until all documents were compared once.
    templates: Slots,
    /// Hashes of the passages for which documents were kept. Later documents are not kept for the same passages.
    passages: HashSet<u64>,
    /// The texts that verification has kept, by the words in which they differ from the first one of their cluster.
    alike: Alike,
    /// The number of texts of a cluster that were kept before verification, and are not in `alike`, if there are several.
    unlike: HashMap<u64, u32>,
    recent: RecentTexts,
}

/// A document compared with the kept ones of its cluster.
#[derive(Default)]
struct Compared {
    check: Check,
    /// The words in which the document differs from the first kept one.
    fillings: Vec<Filling>,
    /// Hashes of the document's own passages.
    passages: Vec<u64>,
}

impl<'a> Verifier<'a> {
    /// Creates a verifier of documents with the texts `run`. `table` has the texts of earlier runs.
    #[must_use]
    pub(crate) fn new(lost_max: LostMax, run: &'a TextFile, table: Option<TableTexts>) -> Self {
        Self {
            lost_max,
            run,
            table,
            kept: KeptTexts::default(),
            templates: Slots::default(),
            passages: HashSet::new(),
            alike: Alike::default(),
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
                self.keep(decision, &[])?;
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
            let Compared { check, fillings, passages } = self.check(decision)?;
            slots.add(decision.founded, &fillings);
            counts.count(check.finding);
            if check.keeps() {
                self.passages.extend(passages);
                self.keep(decision, &fillings)?;
            }
            Ok(checked.push(&Decision { check: Some(Box::new(check)), ..decision.clone() })?)
        })?;
        let mut checked = checked.finish()?;
        self.templates = slots;
        if !self.templates.is_empty() {
            checked = self.check_templates(&mut checked, new_spool()?, &mut counts)?;
        }
        if let Some(table) = self.table {
            table.finish()?;
        }
        Ok((checked, counts))
    }

    /// Compares again the documents that would be dropped from clusters with places of a template. These places are
    /// known now.
    fn check_templates(
        &mut self,
        checked: &mut Spooled,
        mut again: Spool,
        counts: &mut Counts,
    ) -> Result<Spooled> {
        checked.each(|_, decision| {
            // All of a text without lost letters is in the kept one.
            let is_dropped =
                decision.check.as_ref().is_some_and(|check| !check.keeps() && check.lost_letters > 0);
            if !is_dropped || !self.templates.has(decision.founded) {
                return Ok(again.push(decision)?);
            }
            let Compared { check, fillings, .. } = self.check(decision)?;
            if check.keeps() {
                counts.dropped -= 1;
                counts.count(check.finding);
                self.keep(decision, &fillings)?;
            }
            Ok(again.push(&Decision { check: Some(Box::new(check)), ..decision.clone() })?)
        })?;
        Ok(again.finish()?)
    }

    /// Registers a document that is kept, and differs from the first kept one of its cluster in `fillings`.
    fn keep(&mut self, decision: &Decision, fillings: &[Filling]) -> io::Result<()> {
        let Some(place) = decision.text else { return Ok(()) };
        let Some(hash) = self.run.hash_at(place)? else { return Ok(()) };
        self.alike.add(decision.founded, self.kept_texts().count(decision.founded), fillings);
        match &mut self.table {
            Some(table) => table.add(decision.founded, &self.run.read(place)?)?,
            None => self.kept.add(decision.founded, KeptText { hash, place }),
        }
        Ok(())
    }

    fn kept_texts(&self) -> &KeptTexts {
        self.table.as_ref().map_or(&self.kept, TableTexts::kept)
    }

    /// Returns the kept texts with which a document is compared after the first one: those most like it, and then the
    /// latest ones. A text that verification has kept, and that has the document's facts, is among those most like it.
    fn others(&self, founder: u64, fillings: &[Filling], is_lost: bool) -> Vec<KeptText> {
        let kept = self.kept_texts();
        let alike = self.alike.most_alike(founder, fillings);
        let unlike = || self.unlike.get(&founder).copied().unwrap_or(0);
        let latest = 1..if is_lost { kept.count(founder) } else { unlike() };
        let latest = latest.rev().filter(|number| !alike.contains(number));
        let numbers = alike.iter().copied().chain(latest).take(COMPARED_MAX);
        numbers.filter_map(|number| kept.text(founder, number)).collect()
    }

    /// Compares a document with the kept documents of its cluster.
    fn check(&mut self, decision: &Decision) -> io::Result<Compared> {
        let mut best = Compared::default();
        let Some(place) = decision.text else { return Ok(best) };
        let Some(text) = decompressed(&self.run.read(place)?) else { return Ok(best) };
        let founder = decision.founded;
        let text = SplitText::new(text);
        let equal = self.kept_texts().with_hash(founder, text.hash());
        let Some(first) = self.kept_texts().text(founder, 0) else { return Ok(best) };
        let first_text = self.text(first.place)?;
        let mut candidates: Vec<_> = equal.into_iter().chain([first]).collect();
        let mut number = 0;
        while let Some(kept) = candidates.get(number).copied() {
            number += 1;
            let Some(other) = self.text(kept.place)? else { continue };
            let comparison = Comparison::new(&text, &other.text);
            if kept == first {
                best.fillings = comparison.fillings();
            }
            let is_other_page_of_template = || {
                self.templates.has(founder)
                    && first_text.as_ref().is_some_and(|first| {
                        self.templates.differ(founder, &best.fillings, other.fillings(&first.text))
                    })
            };
            let (check, passages) = self.compared(&comparison, is_other_page_of_template);
            if kept == first && check.keeps() {
                let is_lost = check.finding == Finding::TextLost;
                candidates.extend(self.others(founder, &best.fillings, is_lost));
            }
            let is_better = best.check.finding == Finding::NotVerified
                || check.finding == Finding::Contained
                || check.lost_share < best.check.lost_share;
            if is_better {
                (best.check, best.passages) = (check, passages);
            }
            if !best.check.keeps() {
                break;
            }
        }
        Ok(best)
    }

    /// Judges a document compared with a kept one of its cluster. Also returns the hashes of its own passages.
    fn compared(
        &self,
        comparison: &Comparison,
        is_other_page_of_template: impl FnOnce() -> bool,
    ) -> (Check, Vec<u64>) {
        let mut passages = comparison.own_passages(self.lost_max.own_letters());
        passages.retain(|passage| !self.passages.contains(passage));
        let is_lost = !passages.is_empty() || !self.lost_max.allows(&comparison.loss);
        let of_template = || comparison.first_replaced().filter(|_| is_other_page_of_template());
        let difference = if is_lost { None } else { comparison.replaced_fact().or_else(of_template) };
        (Check::new(comparison, is_lost, difference), passages)
    }

    /// Returns a kept text, or `None` if it is damaged.
    fn text(&mut self, place: TextPlace) -> io::Result<Option<Rc<KnownText>>> {
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
