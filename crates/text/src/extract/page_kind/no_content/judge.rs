//! Adds up points for and against content over a page.
//!
//! In: the title and the blocks of a page, one after the other. Out: the kind of page with enough points, if any.
//! Phrases and sentences give points by their strength and place, and each point allows a few bytes of other
//! text. Cost: that of finding the phrases.

use crate::extract::document::NoContent;
use crate::extract::page_kind::no_content::meanings::{self, Meanings, Sentence};
use crate::extract::page_kind::no_content::phrases::{self, PhraseMatch, Strength};

/// The origin of a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum TextOrigin {
    /// A block of the page.
    Block,
    /// Source text: content of `<noscript>`, or a mark. It does not count as text of the page.
    Source,
}

/// Points for a phrase that is the whole title.
const TITLE_POINTS: u32 = 5;
/// Points for a strong phrase within a longer title.
const IN_TITLE_POINTS: u32 = 2;
/// Points for a block that phrases fill.
const FILLED_POINTS: u32 = 4;
/// Points for a strong phrase within a sentence.
const STRONG_POINTS: u32 = 3;
/// Points for a password field.
const PASSWORD_POINTS: u32 = 3;
/// Points for a mark in the source.
const MARK_POINTS: u32 = 6;
/// Maximum number of weak phrases that count, at one point each.
const WEAK_MAX: u32 = 4;
/// Maximum number of counted strong phrases and blocks with a sentence that has all meanings of a kind, taken together.
const STRONG_MAX: u32 = 4;
/// Maximum number of filled blocks that count.
const FILLED_MAX: u32 = 2;
/// Maximum number of further phrases in filled blocks that count, at one point each: "404: page not found".
const MORE_MAX: u32 = 2;

/// Minimum points of a page without other text.
const POINTS_MIN: u32 = 5;
/// Minimum points of a page if phrases occur only within sentences, which may be quotations.
const QUOTED_POINTS_MIN: u32 = 7;
/// Factor by which other text counts more if phrases occur only within sentences.
const QUOTED_FACTOR: u32 = 3;

/// Maximum bytes of links on a page that may be a question for consent.
const CONSENT_LINK_BYTES_MAX: u64 = 400;

/// Maximum length in bytes of a block that phrases can fill: a heading or a line.
const FILLED_BYTES_MAX: usize = 160;

/// Minimum length in bytes of a word with digits that identifies an incident or an address.
const NUMBER_BYTES_MIN: usize = 8;

/// Maximum length in bytes of a block that sentences with such a meaning can fill.
const MEANT_BYTES_MAX: usize = 600;
/// Maximum bytes of other text in a block that such sentences fill.
const MEANT_OTHER_BYTES_MAX: u32 = 40;
/// Maximum bytes of other text in a question for consent that fills a block, and may explain what cookies are for.
const CONSENT_OTHER_BYTES_MAX: u32 = 80;
/// Maximum number of counted blocks with a sentence that has all meanings of a kind.
const MEANT_MAX: u32 = 2;

/// Points for a short page whose sentences together have the meanings of a kind.
const SAID_POINTS: u32 = 7;
/// Maximum length of a short page in bytes.
const SAID_BYTES_MAX: u32 = 240;
/// Maximum bytes of sentences on a short page that have none of the kind's meanings.
const UNSAID_BYTES_MAX: u32 = 110;
/// Maximum bytes of sentences on a short page before the first one that has a meaning of the kind.
const UNSAID_BEFORE_BYTES_MAX: u32 = 30;

/// Maximum length in bytes of a page that consists of a log-in form: its labels, in any language.
const FORM_BYTES_MAX: u32 = 100;

/// Maximum bytes of sentences on a longer page with a log-in form that do not speak of accounts.
const FORM_UNSAID_BYTES_MAX: u32 = 60;

/// Bytes of a sentence that two of the meanings of a kind account for.
const PART_CREDIT: u32 = 60;

/// Maximum bytes of other text on a page without content.
const OTHER_BYTES_MAX: u32 = 600;
/// Maximum bytes of other text before anything suggests a kind: such a page begins with its reason.
const BEFORE_BYTES_MAX: u32 = 200;

/// Maximum bytes of other text before a line that phrases fill: a name, a slogan.
const BEGIN_BYTES_MAX: u32 = 80;

/// The evidence for one kind of page.
#[derive(Debug, Clone, Copy, Default)]
struct Evidence {
    title: u32,
    strong: u32,
    /// Number of blocks with a sentence that has all its meanings.
    meant: u32,
    filled: u32,
    /// Number of phrases beyond the first in the blocks that they fill.
    more: u32,
    weak: u32,
    password: u32,
    mark: u32,
    /// Bytes of sentences without any of its meanings.
    unsaid: u32,
    /// Bytes of sentences before the first one that has one of its meanings.
    unsaid_before: u32,
    /// True if one of its meanings has occurred.
    has_begun: bool,
}

impl Evidence {
    fn points(&self) -> u32 {
        self.title
            + (self.strong + self.meant.min(MEANT_MAX)).min(STRONG_MAX) * STRONG_POINTS
            + self.filled.min(FILLED_MAX) * FILLED_POINTS
            + self.more.min(MORE_MAX)
            + self.weak.min(WEAK_MAX)
            + self.password
            + self.mark
    }

    /// Returns true if something shows that the page itself is one. A log-in box alone does not: many pages
    /// have one.
    fn is_evident(&self, kind: NoContent) -> bool {
        let filled = self.filled > 0 && (kind != NoContent::Login || self.password > 0);
        self.title >= TITLE_POINTS || self.strong > 0 || self.meant > 0 || self.mark > 0 || filled
    }
}

/// Adds up the evidence of a page.
#[derive(Debug, Default)]
pub(super) struct Judge {
    evidence: [Evidence; NoContent::ALL.len()],
    /// Indices of the phrases that have counted already.
    seen: Vec<usize>,
    /// Bytes of sentences without a phrase.
    other: u32,
    links: u64,
    /// True for a page with a password field and little text.
    is_small_form: bool,
    /// The meanings of all sentences and labels.
    said: Meanings,
    /// Bytes of all blocks.
    said_bytes: u32,
    /// True for a page with markup. A text alone has no buttons, and may be part of a longer text.
    is_page: bool,
    /// The page's title in lower case.
    title: String,
    /// The meanings of each sentence of the last text.
    each_said: Vec<Meanings>,
    lower: String,
    found: Vec<PhraseMatch>,
    sentences: Vec<(usize, usize)>,
    meant: Vec<Sentence>,
}

impl Judge {
    /// Creates a judge of a page with markup.
    pub(super) fn for_page() -> Self {
        Self { is_page: true, ..Self::default() }
    }

    /// Reads the page's title, which includes the site's name.
    pub(super) fn title(&mut self, title: &str) {
        self.fold(title);
        let lower = std::mem::take(&mut self.lower);
        self.said |= meanings::of_title(&lower);
        let parts =
            lower.split(['|', '-', '–', '—', '·', '•', '_', '‹', '›', '»', '«', '｜', '－', ':', '：']);
        // A hyphen may be part of a phrase.
        for part in parts.chain([lower.as_str()]) {
            let part = part.trim();
            self.find(part);
            for kind in NoContent::ALL {
                let filled = self.filled(part, kind);
                let strong = self.strongest(kind) == Some(Strength::Strong);
                let filled = filled || self.means(kind);
                let points = if filled { TITLE_POINTS } else { u32::from(strong) * IN_TITLE_POINTS };
                let evidence = &mut self.evidence[kind as usize];
                evidence.title = evidence.title.max(points);
            }
        }
        self.title.clone_from(&lower);
        self.lower = lower;
    }

    /// Reads a block or a line.
    pub(super) fn read(&mut self, text: &str, origin: TextOrigin) {
        self.fold(text);
        let lower = std::mem::take(&mut self.lower);
        self.find(&lower);
        // A line that is the whole notice is at the beginning; below other text, such a line is part of that text.
        let begins = self.other <= BEGIN_BYTES_MAX;
        let filled = NoContent::ALL.map(|kind| begins && self.filled(&lower, kind));
        let other = others(&lower, &self.sentences, &self.found, &self.meant);
        for kind in NoContent::ALL {
            if !self.means(kind) {
                continue;
            }
            let other_max =
                if kind == NoContent::Consent { CONSENT_OTHER_BYTES_MAX } else { MEANT_OTHER_BYTES_MAX };
            let is_all = lower.len() <= MEANT_BYTES_MAX && other <= other_max;
            let evidence = &mut self.evidence[kind as usize];
            evidence.meant += 1;
            evidence.filled += u32::from(begins && is_all && !filled[kind as usize] && evidence.meant == 1);
        }
        let mut found = std::mem::take(&mut self.found);
        for kind in NoContent::ALL {
            let evidence = &mut self.evidence[kind as usize];
            let mut is_new = false;
            for one in found.iter().filter(|one| one.kind == kind && !self.seen.contains(&one.phrase)) {
                is_new = true;
                match one.strength {
                    Strength::Strong => evidence.strong += 1,
                    Strength::Weak => evidence.weak += 1,
                    Strength::Alone => evidence.weak += u32::from(!filled[kind as usize]),
                }
            }
            if filled[kind as usize] && is_new {
                evidence.filled += 1;
                let alone = found.iter().filter(|one| one.kind == kind && one.strength == Strength::Alone);
                let mut phrases: Vec<usize> = alone.map(|one| one.phrase).collect();
                phrases.sort_unstable();
                phrases.dedup();
                evidence.more += u32::try_from(phrases.len()).unwrap_or(u32::MAX).saturating_sub(1);
            }
        }
        for one in &found {
            if !self.seen.contains(&one.phrase) {
                self.seen.push(one.phrase);
            }
        }
        if origin == TextOrigin::Block {
            self.other += other;
            self.said_bytes += weight(&lower);
            if !self.title.contains(lower.as_str()) {
                self.count_unsaid(&lower);
            }
        }
        found.clear();
        self.found = found;
        self.lower = lower;
    }

    /// Adds up, for each kind, the bytes of the block's sentences that have none of its meanings.
    fn count_unsaid(&mut self, lower: &str) {
        for (&(from, to), &said) in self.sentences.iter().zip(&self.each_said) {
            for kind in NoContent::ALL {
                let evidence = &mut self.evidence[kind as usize];
                if !meanings::is_other(said, kind) {
                    evidence.has_begun = true;
                    continue;
                }
                let bytes = weight(&lower[from..to]);
                evidence.unsaid += bytes;
                evidence.unsaid_before += if evidence.has_begun { 0 } else { bytes };
            }
        }
    }

    /// Reads the words on a button, or a link that is a line of its own.
    pub(super) fn label(&mut self, text: &str) {
        self.fold(text);
        let lower = std::mem::take(&mut self.lower);
        self.meant.clear();
        meanings::find(&lower, &[(0, lower.len())], &mut self.meant, &mut self.each_said);
        self.said |= self.each_said.iter().fold(0, |all, &said| all | meanings::of_label(said));
        self.lower = lower;
    }

    /// Reads features of the page as a whole. `is_small` tells that its frame has little text, too.
    pub(super) fn page(&mut self, links: u64, password: bool, is_small: bool) {
        self.links = links;
        self.is_small_form = password && is_small;
        if password {
            self.evidence[NoContent::Login as usize].password = PASSWORD_POINTS;
        }
    }

    /// Counts a mark in the source of a page that shows next to nothing.
    pub(super) fn mark(&mut self, kind: NoContent) {
        self.evidence[kind as usize].mark = MARK_POINTS;
    }

    /// Returns true if the page has so much other text that reading on is useless.
    pub(super) fn is_content(&self) -> bool {
        let is_evident = || NoContent::ALL.iter().any(|&kind| self.evidence[kind as usize].is_evident(kind));
        let is_short = self.said_bytes <= SAID_BYTES_MAX;
        self.other > OTHER_BYTES_MAX || (self.other > BEFORE_BYTES_MAX && !is_short && !is_evident())
    }

    /// Returns true if the page is a log-in form and says nothing else, or speaks of accounts only.
    fn is_form(&self) -> bool {
        self.is_small_form
            && (self.said_bytes <= FORM_BYTES_MAX
                || (self.said_bytes <= SAID_BYTES_MAX
                    && self.evidence[NoContent::Login as usize].unsaid <= FORM_UNSAID_BYTES_MAX
                    && meanings::asks_for_account(self.said)))
    }

    /// Returns true if the page is short and its sentences together have the meanings of `kind`.
    fn is_said(&self, kind: NoContent) -> bool {
        if kind == NoContent::Login && self.is_form() {
            return true;
        }
        let evidence = &self.evidence[kind as usize];
        self.is_page
            && self.said_bytes <= SAID_BYTES_MAX
            && evidence.unsaid <= UNSAID_BYTES_MAX
            && evidence.unsaid_before <= UNSAID_BEFORE_BYTES_MAX
            && meanings::is_kind(self.said, kind)
    }

    /// Returns the kind with the most points, if the page has no content.
    pub(super) fn kind(&self) -> Option<NoContent> {
        let kinds = NoContent::ALL.into_iter().filter(|&kind| {
            let evidence = &self.evidence[kind as usize];
            let points = evidence.points();
            if self.is_said(kind) && !meanings::explains(self.said) {
                return true;
            }
            // Phrases that occur only within sentences may be quotations.
            let (least, factor) = match evidence.title + evidence.filled + evidence.mark == 0 {
                true => (QUOTED_POINTS_MIN, QUOTED_FACTOR),
                false => (POINTS_MIN, 1),
            };
            evidence.is_evident(kind)
                && (!meanings::explains(self.said) || evidence.mark > 0)
                && points >= least
                && self.other * factor <= allowed(kind, points, evidence.meant > 0)
        });
        // A page with many links is a site's own page, whatever consent it asks for.
        let kinds = kinds.filter(|&kind| kind != NoContent::Consent || self.links <= CONSENT_LINK_BYTES_MAX);
        let points =
            |kind| self.evidence[kind as usize].points() + if self.is_said(kind) { SAID_POINTS } else { 0 };
        kinds.max_by_key(|&kind| (points(kind), std::cmp::Reverse(kind as usize)))
    }

    /// Writes `text` into the buffer in lower case, with plain apostrophes and single spaces.
    fn fold(&mut self, text: &str) {
        self.lower.clear();
        for c in text.chars() {
            match c {
                '’' | '‘' | '`' => self.lower.push('\''),
                c if c.is_whitespace() => {
                    if !self.lower.ends_with(' ') {
                        self.lower.push(' ');
                    }
                }
                c if c.is_ascii() => self.lower.push(c.to_ascii_lowercase()),
                // Chinese, Japanese and Korean have no case.
                '\u{2e80}'..='\u{a63f}' | '\u{ac00}'..='\u{d7a3}' => self.lower.push(c),
                c => self.lower.extend(c.to_lowercase()),
            }
        }
    }

    /// Returns true if a sentence of the last text has all meanings of `kind`.
    fn means(&self, kind: NoContent) -> bool {
        self.meant.iter().any(|sentence| sentence.kind == kind && sentence.is_whole)
    }

    fn find(&mut self, lower: &str) {
        divide(lower, &mut self.sentences);
        self.meant.clear();
        meanings::find(lower, &self.sentences, &mut self.meant, &mut self.each_said);
        self.said |= self.each_said.iter().fold(0, |all, said| all | said);
        self.found.clear();
        self.found.extend(phrases::find(lower));
        // A phrase within a longer one of the same kind does not count.
        let longest = |one: &PhraseMatch, all: &[PhraseMatch]| {
            !all.iter().any(|other| {
                other.kind == one.kind
                    && other.start <= one.start
                    && one.end <= other.end
                    && other.end - other.start > one.end - one.start
            })
        };
        let all = self.found.clone();
        self.found.retain(|one| longest(one, &all));
    }

    fn strongest(&self, kind: NoContent) -> Option<Strength> {
        self.found.iter().filter(|one| one.kind == kind).map(|one| one.strength).max()
    }

    /// Returns true if phrases of `kind` fill a short text: three quarters of its letters, and half of its letters with
    /// phrases that are not weak.
    fn filled(&self, lower: &str, kind: NoContent) -> bool {
        if lower.len() > FILLED_BYTES_MAX || self.strongest(kind) < Some(Strength::Alone) {
            return false;
        }
        let within = |at: usize, least: Strength| {
            let mut phrases = self.found.iter().filter(|one| one.kind == kind && one.strength >= least);
            phrases.any(|one| one.start <= at && at < one.end)
        };
        let (mut letters, mut spoken, mut covered) = (0, 0, 0);
        let mut at = 0;
        for word in lower.split_inclusive(' ') {
            let is_host = word.trim().split('.').filter(|label| !label.is_empty()).count() > 1;
            let is_number = word.is_ascii()
                && word.len() >= NUMBER_BYTES_MIN
                && word.contains(|c: char| c.is_ascii_digit());
            for (inner, _) in word.char_indices().filter(|(_, c)| c.is_alphanumeric()) {
                let in_phrase = within(at + inner, Strength::Alone);
                // Host names, addresses and numbers of incidents outside of phrases do not count.
                letters += usize::from(!(is_host || is_number) || in_phrase);
                spoken += usize::from(in_phrase);
                covered += usize::from(within(at + inner, Strength::Weak));
            }
            at += word.len();
        }
        spoken * 2 >= letters && covered * 4 >= letters * 3
    }
}

/// Returns the bytes of sentences without a phrase that are allowed for a page with this many points.
fn allowed(kind: NoContent, points: u32, is_meant: bool) -> u32 {
    let each = match kind {
        NoContent::Error | NoContent::Blocked | NoContent::Parked => 80,
        NoContent::Region => 60,
        NoContent::Login | NoContent::Shell => 30,
        NoContent::Consent if is_meant => 30,
        NoContent::Consent => 4,
    };
    (points - POINTS_MIN + 1) * each
}

/// Returns the bytes of a text that its phrases do not account for, added up over its sentences.
fn others(lower: &str, sentences: &[(usize, usize)], found: &[PhraseMatch], meant: &[Sentence]) -> u32 {
    let other = |&(from, to): &(usize, usize)| {
        let here = || meant.iter().filter(|sentence| sentence.start == from);
        if here().any(|sentence| sentence.is_whole) {
            return 0;
        }
        let inside = found.iter().filter(|one| from <= one.start && one.end <= to);
        let credit: u32 = inside.map(credit).sum();
        let part = if here().next().is_some() { PART_CREDIT } else { 0 };
        weight(&lower[from..to]).saturating_sub(credit.max(part))
    };
    sentences.iter().map(other).sum()
}

/// Splits a text into sentences: the bounds of each, in order.
fn divide(lower: &str, sentences: &mut Vec<(usize, usize)>) {
    sentences.clear();
    let mut from = 0;
    for (at, c) in lower.char_indices() {
        let next = lower[at + c.len_utf8()..].chars().next();
        let ends = matches!(c, '。' | '！' | '？' | '；' | '\n')
            || (matches!(c, '.' | '!' | '?' | '؟' | '…') && next.is_none_or(|next| !next.is_alphanumeric()));
        if ends {
            sentences.push((from, at));
            from = at + c.len_utf8();
        }
    }
    sentences.push((from, lower.len()));
}

/// Returns how many bytes of the sentence around a phrase the phrase accounts for.
fn credit(one: &PhraseMatch) -> u32 {
    match one.strength {
        Strength::Strong => 30 + 2 * u32::try_from(one.end - one.start).unwrap_or(0),
        Strength::Alone => 60,
        Strength::Weak => 40,
    }
}

/// Returns the weight of a text in bytes: three for a Chinese, Japanese or Korean character, one for any other letter.
fn weight(text: &str) -> u32 {
    text.chars()
        .map(|c| match c {
            c if c.is_whitespace() => 0,
            '\u{2e80}'.. => 3,
            _ => 1,
        })
        .sum()
}
