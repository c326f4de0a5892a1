//! What differs between two texts, for people: the passages that only one of them has.
//!
//! Text → tokens (words, or single characters where a script has no spaces) → what both have in the
//! same order (Myers) → changes, joined where next to nothing is between them → passages. White
//! space never counts. Time: length times difference, of at most [`TOKENS_MAX`] tokens a text.

use std::fmt::Write;

use similar::{Algorithm, DiffTag, capture_diff_slices};
use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

/// Columns of a terminal that every line fits.
pub(super) const COLUMNS: usize = 80;
/// Tokens of a text that are compared: some thirty pages of
/// a book. Two unlike texts of that length take 0.1 s.
const TOKENS_MAX: usize = 10_000;
/// Common tokens between two changes that belong to one passage all the same: a comma, or a word.
const JOINED_TOKENS: usize = 2;
/// Columns that are shown of one passage.
const PASSAGE_COLUMNS: usize = 150;

/// What differs between two texts.
pub(super) struct Difference {
    /// Passages of each text that the other one lacks.
    only: [Vec<String>; 2],
    /// Share of the tokens that both have in the same order.
    pub(super) shared: f64,
    /// Only the beginnings were compared.
    cut: bool,
}

impl Difference {
    /// Compares two texts.
    pub(super) fn of(a: &str, b: &str) -> Self {
        let (mut of_a, mut of_b) = (tokens(a), tokens(b));
        let cut = of_a.len().max(of_b.len()) > TOKENS_MAX;
        of_a.truncate(TOKENS_MAX);
        of_b.truncate(TOKENS_MAX);
        let words = |text, tokens: &[(usize, usize)]| -> Vec<String> {
            let text: &str = text;
            tokens.iter().map(|(from, to)| text[*from..*to].to_owned()).collect()
        };
        let mut only = [Vec::new(), Vec::new()];
        let mut shared = 0;
        // Token ranges of the change at hand, in both texts.
        let mut change: Option<[std::ops::Range<usize>; 2]> = None;
        let mut end = |change: &mut Option<[std::ops::Range<usize>; 2]>| {
            for (side, (range, (text, tokens))) in
                change.take().into_iter().flatten().zip([(a, &of_a), (b, &of_b)]).enumerate()
            {
                if let (Some(first), Some(last)) = (tokens.get(range.start), tokens[range].last()) {
                    only[side].push(text[first.0..last.1].split_whitespace().collect::<Vec<_>>().join(" "));
                }
            }
        };
        let operations = capture_diff_slices(Algorithm::Myers, &words(a, &of_a), &words(b, &of_b));
        let last = operations.len();
        for (at, operation) in (1..).zip(operations) {
            let (old, new) = (operation.old_range(), operation.new_range());
            if operation.tag() == DiffTag::Equal {
                shared += old.len();
                if old.len() > JOINED_TOKENS || at == last {
                    end(&mut change);
                }
                continue;
            }
            change = Some(match change.take() {
                Some([of_a, of_b]) => [of_a.start..old.end, of_b.start..new.end],
                None => [old, new],
            });
        }
        end(&mut change);
        let shared = (2 * shared) as f64 / (of_a.len() + of_b.len()).max(1) as f64;
        Self { only, shared, cut }
    }

    /// The passages, at most `most` of each text, under these names.
    pub(super) fn show(&self, names: [&str; 2], most: usize) -> String {
        let mut out = String::new();
        let cut = if self.cut { ", of the beginnings" } else { "" };
        let _ =
            writeln!(out, "{:.1} % of the words are in both, in the same order{cut}", self.shared * 100.0);
        for (name, passages) in names.iter().zip(&self.only) {
            match passages.len() {
                0 => _ = writeln!(out, "only in {name}: nothing"),
                count if count > most => {
                    let _ = writeln!(out, "only in {name}: {count} passages, the {most} longest:");
                }
                count => _ = writeln!(out, "only in {name}: {count} passages:"),
            }
            let mut longest: Vec<usize> = (0..passages.len()).collect();
            longest.sort_by_key(|at| std::cmp::Reverse(passages[*at].width()));
            longest.truncate(most);
            longest.sort_unstable();
            for at in longest {
                out.push_str(&wrap("  - ", "    ", &clip(&passages[at], PASSAGE_COLUMNS)));
            }
        }
        out
    }
}

/// Where the tokens of a text stand, in bytes.
fn tokens(text: &str) -> Vec<(usize, usize)> {
    let mut found: Vec<(usize, usize)> = Vec::new();
    let mut in_word = false;
    for (at, c) in text.char_indices() {
        let end = at + c.len_utf8();
        let goes_on = c.is_alphanumeric() && c.width() != Some(2);
        match found.last_mut().filter(|_| in_word && goes_on) {
            Some(word) => word.1 = end,
            None if c.is_whitespace() => {}
            None => found.push((at, end)),
        }
        in_word = goes_on;
    }
    found
}

/// At most so many columns, with the middle left out.
pub(super) fn clip(text: &str, columns: usize) -> String {
    if text.width() <= columns {
        return text.to_owned();
    }
    let take = |chars: &mut dyn Iterator<Item = char>, mut room: usize| -> Vec<char> {
        chars
            .take_while(|c| {
                let width = c.width().unwrap_or(0);
                let fits = width <= room;
                room = room.saturating_sub(width);
                fits
            })
            .collect()
    };
    // What makes a name or a passage is at its beginning more often than at its end.
    let tail = columns / 4;
    let head = take(&mut text.chars(), columns - tail - 1);
    let tail = take(&mut text.chars().rev(), tail);
    head.into_iter().chain(['…']).chain(tail.into_iter().rev()).collect()
}

/// Lines of at most [`COLUMNS`], the first behind `first`, the others behind `next`.
pub(super) fn wrap(first: &str, next: &str, text: &str) -> String {
    let mut out = String::from(first);
    let mut column = first.width();
    let mut begins = true;
    for word in pieces(text) {
        let shown = if begins { word.trim_start() } else { word };
        if !begins && column + shown.trim_end().width() > COLUMNS {
            out.truncate(out.trim_end().len());
            let _ = write!(out, "\n{next}{}", word.trim_start());
            column = next.width() + word.trim_start().width();
        } else {
            out.push_str(shown);
            column += shown.width();
        }
        begins = false;
    }
    out.truncate(out.trim_end().len());
    out.push('\n');
    out
}

/// A text where a line may break: before spaces, between
/// wide characters, and within words that fit no line.
fn pieces(text: &str) -> Vec<&str> {
    const LONGEST: usize = 40;
    let mut pieces = Vec::new();
    let (mut from, mut width) = (0, 0);
    for (at, c) in text.char_indices() {
        if at > from && (c == ' ' || c.width() == Some(2) || width >= LONGEST) {
            pieces.push(&text[from..at]);
            (from, width) = (at, 0);
        }
        width += c.width().unwrap_or(0);
    }
    pieces.push(&text[from..]);
    pieces
}

/// A text in so many columns, filled with spaces.
pub(super) fn cell(text: &str, columns: usize) -> String {
    let clipped = clip(text, columns);
    let fill = columns.saturating_sub(clipped.width());
    clipped + &" ".repeat(fill)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn passages_of_either_text_are_found() {
        let a = "The ship left at dawn, with twelve sailors aboard. 老船长看着港口的灯塔。";
        let b = "The ship left\nat dusk, with twelve sailors aboard. 老船长看着河边的灯塔。 Nobody waved.";
        let difference = Difference::of(a, b);
        assert_eq!(difference.only[0], ["dawn", "港口"]);
        assert_eq!(difference.only[1], ["dusk", "河边", "Nobody waved."]);
        assert!(difference.shared > 0.7 && difference.shared < 1.0, "{}", difference.shared);
        let shown = difference.show(["A", "B"], 2);
        assert!(
            shown.contains("only in B: 3 passages, the 2 longest:\n  - dusk\n  - Nobody waved.\n"),
            "{shown}"
        );
        let same = Difference::of(a, a);
        assert!(same.shared > 0.999 && same.only.iter().all(Vec::is_empty));
        assert!(Difference::of("", "").show(["A", "B"], 2).contains("only in A: nothing"));
    }

    #[test]
    fn every_line_fits() {
        let long = "词".repeat(100) + &"word ".repeat(100) + &"x".repeat(300);
        for text in [wrap("first ", "  ", &long), Difference::of(&long, "other").show(["A", "B"], 9)] {
            for line in text.lines() {
                assert!(line.width() <= COLUMNS, "{} columns: {line}", line.width());
            }
        }
        assert_eq!(clip("abcdefghij", 5), "abc…j");
        assert_eq!(cell("词", 4), "词  ");
        assert_eq!(wrap("> ", "  ", "a b"), "> a b\n");
    }
}
