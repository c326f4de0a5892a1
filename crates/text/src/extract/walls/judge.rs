//! Points for and against a wall, added up over a page.

use crate::extract::walls::Wall;
use crate::extract::walls::meanings::{self, Sentence};
use crate::extract::walls::phrases::{self, Found, Strength};

/// Where a text stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Place {
    /// A block of the page.
    Block,
    /// What is shown where scripts do not run, or a mark of the source: it makes no text.
    Source,
}

/// Points of a phrase that is all that a title says.
const TITLE_POINTS: u32 = 5;
/// Of a strong phrase within a longer title.
const IN_TITLE_POINTS: u32 = 2;
/// Of a block that phrases fill.
const FILLED_POINTS: u32 = 4;
/// Of a strong phrase within a sentence.
const STRONG_POINTS: u32 = 3;
/// Of a field for a password.
const PASSWORD_POINTS: u32 = 3;
/// Of a mark in the source.
const MARK_POINTS: u32 = 6;
/// Weak phrases that count, at one point each; and strong ones, and filled blocks.
const WEAK_MAX: u32 = 4;
const STRONG_MAX: u32 = 4;
const FILLED_MAX: u32 = 2;
/// Further phrases in filled blocks that count, at one point each: "404: page not found".
const MORE_MAX: u32 = 2;

/// Points from which a page is a wall if nothing else is said.
const POINTS_MIN: u32 = 5;
/// The same where phrases stand within sentences alone, which
/// may be quotations, and how many times other text counts then.
const QUOTED_POINTS_MIN: u32 = 7;
const QUOTED_FACTOR: u32 = 3;

/// Bytes of links beside which a page may still be nothing but a question for consent.
const CONSENT_LINK_BYTES_MAX: u64 = 400;

/// Bytes up to which a block can be filled by phrases: a heading or a line.
const FILLED_BYTES_MAX: usize = 160;

/// Bytes up to which a block can be filled by sentences that mean a wall, and those of other text in it.
const MEANT_BYTES_MAX: usize = 600;
const MEANT_OTHER_BYTES_MAX: u32 = 40;
/// The same in questions for consent, which say what cookies are for.
const CONSENT_OTHER_BYTES_MAX: u32 = 80;
/// Blocks with such sentences that count.
const MEANT_MAX: u32 = 2;

/// Bytes of a sentence that two of the meanings of a wall speak for.
const PART_CREDIT: u32 = 60;

/// Bytes of other text from which on a page is no wall.
const OTHER_BYTES_MAX: u32 = 600;
/// The same where nothing has told a wall yet: a wall begins with what it has to say.
const BEFORE_BYTES_MAX: u32 = 200;

/// Bytes of other text before a line that phrases fill: a name, a slogan.
const BEGIN_BYTES_MAX: u32 = 80;

/// What is known of one kind of wall.
#[derive(Debug, Clone, Copy, Default)]
struct Sum {
    title: u32,
    strong: u32,
    /// Blocks with a sentence that means such a wall.
    meant: u32,
    filled: u32,
    /// Phrases beyond the first in the blocks that they fill.
    more: u32,
    weak: u32,
    password: u32,
    mark: u32,
}

impl Sum {
    fn points(&self) -> u32 {
        self.title
            + (self.strong + self.meant.min(MEANT_MAX)).min(STRONG_MAX) * STRONG_POINTS
            + self.filled.min(FILLED_MAX) * FILLED_POINTS
            + self.more.min(MORE_MAX)
            + self.weak.min(WEAK_MAX)
            + self.password
            + self.mark
    }

    /// Whether something tells that the page itself is
    /// meant. A box to log in stands on many a page.
    fn is_told(&self, wall: Wall) -> bool {
        let filled = self.filled > 0 && (wall != Wall::Login || self.password > 0);
        self.title >= TITLE_POINTS || self.strong > 0 || self.meant > 0 || self.mark > 0 || filled
    }
}

/// Adds up what a page says.
#[derive(Debug, Default)]
pub(super) struct Judge {
    sums: [Sum; Wall::ALL.len()],
    /// Phrases that counted already.
    seen: Vec<usize>,
    /// Bytes of sentences without a phrase.
    other: u32,
    links: u64,
    lower: String,
    found: Vec<Found>,
    sentences: Vec<(usize, usize)>,
    meant: Vec<Sentence>,
}

impl Judge {
    /// The page's title, with the site's name.
    pub(super) fn title(&mut self, title: &str) {
        self.fold(title);
        let lower = std::mem::take(&mut self.lower);
        for part in
            lower.split(['|', '-', '–', '—', '·', '•', '_', '‹', '›', '»', '«', '｜', '－', ':', '：'])
        {
            let part = part.trim();
            self.find(part);
            for wall in Wall::ALL {
                let filled = self.filled(part, wall);
                let strong = self.strongest(wall) == Some(Strength::Strong);
                let filled = filled || self.means(wall);
                let points = if filled { TITLE_POINTS } else { u32::from(strong) * IN_TITLE_POINTS };
                let sum = &mut self.sums[wall as usize];
                sum.title = sum.title.max(points);
            }
        }
        self.lower = lower;
    }

    /// A block, or a line.
    pub(super) fn read(&mut self, text: &str, place: Place) {
        self.fold(text);
        let lower = std::mem::take(&mut self.lower);
        self.find(&lower);
        // What a wall says in one line comes first; below a text it is a part of it.
        let begins = self.other <= BEGIN_BYTES_MAX;
        let filled = Wall::ALL.map(|wall| begins && self.filled(&lower, wall));
        let other = others(&lower, &self.sentences, &self.found, &self.meant);
        for wall in Wall::ALL {
            if !self.means(wall) {
                continue;
            }
            let other_max =
                if wall == Wall::Consent { CONSENT_OTHER_BYTES_MAX } else { MEANT_OTHER_BYTES_MAX };
            let is_all = lower.len() <= MEANT_BYTES_MAX && other <= other_max;
            let sum = &mut self.sums[wall as usize];
            sum.meant += 1;
            sum.filled += u32::from(begins && is_all && !filled[wall as usize] && sum.meant == 1);
        }
        let mut found = std::mem::take(&mut self.found);
        for wall in Wall::ALL {
            let sum = &mut self.sums[wall as usize];
            let mut strong = 0;
            for one in found.iter().filter(|one| one.wall == wall && !self.seen.contains(&one.phrase)) {
                match one.strength {
                    Strength::Strong => strong += 1,
                    Strength::Weak => sum.weak += 1,
                    Strength::Alone => sum.weak += u32::from(!filled[wall as usize]),
                }
            }
            let is_new = found.iter().any(|one| one.wall == wall && !self.seen.contains(&one.phrase));
            sum.strong += strong;
            if filled[wall as usize] && is_new {
                sum.filled += 1;
                let alone = found.iter().filter(|one| one.wall == wall && one.strength == Strength::Alone);
                let mut phrases: Vec<usize> = alone.map(|one| one.phrase).collect();
                phrases.sort_unstable();
                phrases.dedup();
                sum.more += u32::try_from(phrases.len()).unwrap_or(u32::MAX).saturating_sub(1);
            }
        }
        for one in &found {
            if !self.seen.contains(&one.phrase) {
                self.seen.push(one.phrase);
            }
        }
        if place == Place::Block {
            self.other += other;
        }
        found.clear();
        self.found = found;
        self.lower = lower;
    }

    /// Facts of the page as a whole.
    pub(super) fn page(&mut self, links: u64, password: bool) {
        self.links = links;
        if password {
            self.sums[Wall::Login as usize].password = PASSWORD_POINTS;
        }
    }

    /// A mark in the source of a page that shows next to nothing.
    pub(super) fn mark(&mut self, wall: Wall) {
        self.sums[wall as usize].mark = MARK_POINTS;
    }

    /// Whether so much else was said that no more need be read.
    pub(super) fn is_content(&self) -> bool {
        let told = || Wall::ALL.iter().any(|&wall| self.sums[wall as usize].is_told(wall));
        self.other > OTHER_BYTES_MAX || (self.other > BEFORE_BYTES_MAX && !told())
    }

    /// The wall that the page is, if it is one: the one with the most points.
    pub(super) fn wall(&self) -> Option<Wall> {
        let walls = Wall::ALL.into_iter().filter(|&wall| {
            let sum = &self.sums[wall as usize];
            let points = sum.points();
            // What stands within sentences alone may be a quotation.
            let (least, factor) = match sum.title + sum.filled + sum.mark == 0 {
                true => (QUOTED_POINTS_MIN, QUOTED_FACTOR),
                false => (POINTS_MIN, 1),
            };
            sum.is_told(wall)
                && points >= least
                && self.other * factor <= allowed(wall, points, sum.meant > 0)
        });
        // A page with many links is a site's own, whatever it asks consent for.
        let walls = walls.filter(|&wall| wall != Wall::Consent || self.links <= CONSENT_LINK_BYTES_MAX);
        walls.max_by_key(|&wall| (self.sums[wall as usize].points(), std::cmp::Reverse(wall as usize)))
    }

    /// `text` in small letters, with plain apostrophes and single spaces, into the buffer.
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
                // Chinese, Japanese and Korean have no small letters.
                '\u{2e80}'..='\u{a63f}' | '\u{ac00}'..='\u{d7a3}' => self.lower.push(c),
                c => self.lower.extend(c.to_lowercase()),
            }
        }
    }

    /// Returns true if a sentence of the text that was looked at last means such a wall.
    fn means(&self, wall: Wall) -> bool {
        self.meant.iter().any(|sentence| sentence.wall == wall && sentence.is_whole)
    }

    fn find(&mut self, lower: &str) {
        divide(lower, &mut self.sentences);
        self.meant.clear();
        meanings::of(lower, &self.sentences, &mut self.meant);
        self.found.clear();
        self.found.extend(phrases::of(lower));
        // A phrase within a longer one of its kind tells nothing of its own.
        let longest = |one: &Found, all: &[Found]| {
            !all.iter().any(|other| {
                other.wall == one.wall
                    && other.start <= one.start
                    && one.end <= other.end
                    && other.end - other.start > one.end - one.start
            })
        };
        let all = self.found.clone();
        self.found.retain(|one| longest(one, &all));
    }

    fn strongest(&self, wall: Wall) -> Option<Strength> {
        self.found.iter().filter(|one| one.wall == wall).map(|one| one.strength).max()
    }

    /// Whether phrases of `wall`, one of them not weak, are most of a short text.
    fn filled(&self, lower: &str, wall: Wall) -> bool {
        if lower.len() > FILLED_BYTES_MAX || self.strongest(wall) < Some(Strength::Alone) {
            return false;
        }
        let within = |at: usize, least: Strength| {
            let mut phrases = self.found.iter().filter(|one| one.wall == wall && one.strength >= least);
            phrases.any(|one| one.start <= at && at < one.end)
        };
        let (mut letters, mut spoken, mut covered) = (0, 0, 0);
        let mut at = 0;
        for word in lower.split_inclusive(' ') {
            let is_host = word.trim().split('.').filter(|label| !label.is_empty()).count() > 1;
            for (inner, _) in word.char_indices().filter(|(_, c)| c.is_alphanumeric()) {
                let in_phrase = within(at + inner, Strength::Alone);
                // Names of hosts are neither.
                letters += usize::from(!is_host || in_phrase);
                spoken += usize::from(in_phrase);
                covered += usize::from(within(at + inner, Strength::Weak));
            }
            at += word.len();
        }
        spoken * 2 >= letters && covered * 4 >= letters * 3
    }
}

/// Bytes of sentences without a phrase that a wall with so many points may have.
fn allowed(wall: Wall, points: u32, is_meant: bool) -> u32 {
    let each = match wall {
        Wall::Error | Wall::Blocked | Wall::Parked => 80,
        Wall::Region => 60,
        Wall::Login | Wall::Shell => 30,
        Wall::Consent if is_meant => 30,
        Wall::Consent => 4,
    };
    (points - POINTS_MIN + 1) * each
}

/// Bytes of a text that phrases do not speak for: of each
/// sentence, what is left behind the credit of its phrases.
fn others(lower: &str, sentences: &[(usize, usize)], found: &[Found], meant: &[Sentence]) -> u32 {
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

/// Cuts a text into sentences: the bounds of each, in order.
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

/// Bytes of its sentence that a phrase speaks for.
fn credit(one: &Found) -> u32 {
    match one.strength {
        Strength::Strong => 30 + 2 * u32::try_from(one.end - one.start).unwrap_or(0),
        Strength::Alone => 60,
        Strength::Weak => 40,
    }
}

/// Bytes that a text counts: three for a character of
/// Chinese, Japanese or Korean, one for any other letter.
fn weight(text: &str) -> u32 {
    text.chars()
        .map(|c| match c {
            c if c.is_whitespace() => 0,
            '\u{2e80}'.. => 3,
            _ => 1,
        })
        .sum()
}
