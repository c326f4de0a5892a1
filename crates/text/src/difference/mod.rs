//! The passages that only one of two texts has, formatted for a terminal.
//!
//! In: two texts. Out: the gaps in the [`Alignment`] of their tokens, in lines of at most 80 columns.

mod alignment;

use std::fmt::Write;

use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

pub use alignment::{Alignment, tokens};

/// Maximum width of a line, in columns of the terminal.
const COLUMNS: usize = 80;
/// Maximum width of a passage that is shown, in columns of the terminal.
const PASSAGE_COLUMNS: usize = 150;

/// The passages in which two texts differ.
pub struct Difference {
    /// Passages of each text that the other one lacks.
    only: [Vec<String>; 2],
    /// Share of the tokens that both texts have in the same order.
    pub shared: f64,
    /// True if only the beginnings of the texts were compared.
    cut: bool,
}

impl Difference {
    /// Compares two texts.
    pub fn between(a: &str, b: &str) -> Self {
        let (of_a, of_b) = (tokens(a), tokens(b));
        let words_a: Vec<&str> = of_a.iter().map(|token| &a[token.clone()]).collect();
        let words_b: Vec<&str> = of_b.iter().map(|token| &b[token.clone()]).collect();
        let Alignment { changes, shared, cut, .. } = Alignment::compute(&words_a, &words_b);
        let mut only = [Vec::new(), Vec::new()];
        for change in changes {
            for (passages, (range, (text, tokens))) in
                only.iter_mut().zip(change.into_iter().zip([(a, &of_a), (b, &of_b)]))
            {
                if let [first, ..] = &tokens[range.clone()] {
                    let passage = &text[first.start..tokens[range.end - 1].end];
                    passages.push(passage.split_whitespace().collect::<Vec<_>>().join(" "));
                }
            }
        }
        Self { only, shared, cut }
    }

    /// Formats at most `most` passages of each text, under these names.
    pub fn show(&self, names: [&str; 2], most: usize) -> String {
        let mut out = String::new();
        let cut = if self.cut { " (only the beginnings were compared)" } else { "" };
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

/// Shortens a text to at most `columns` columns by cutting out the middle.
pub fn clip(text: &str, columns: usize) -> String {
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
    // The beginning of a name or passage identifies it better than its end.
    let tail = columns / 4;
    let head = take(&mut text.chars(), columns - tail - 1);
    let tail = take(&mut text.chars().rev(), tail);
    head.into_iter().chain(['…']).chain(tail.into_iter().rev()).collect()
}

/// Wraps a text into lines of at most 80 columns. The first line begins with `first`, the others with
/// `next`.
pub fn wrap(first: &str, next: &str, text: &str) -> String {
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

/// Splits a text where a line may break: before spaces, between wide characters, and within words that are
/// longer than a line.
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

/// Fits a text into `columns` columns: shortens it or pads it with spaces.
pub fn cell(text: &str, columns: usize) -> String {
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
        let difference = Difference::between(a, b);
        assert_eq!(difference.only[0], ["dawn", "港口"]);
        assert_eq!(difference.only[1], ["dusk", "河边", "Nobody waved."]);
        assert!(difference.shared > 0.7 && difference.shared < 1.0, "{}", difference.shared);
        let shown = difference.show(["A", "B"], 2);
        assert!(
            shown.contains("only in B: 3 passages, the 2 longest:\n  - dusk\n  - Nobody waved.\n"),
            "{shown}"
        );
        let same = Difference::between(a, a);
        assert!(same.shared > 0.999 && same.only.iter().all(Vec::is_empty));
        assert!(Difference::between("", "").show(["A", "B"], 2).contains("only in A: nothing"));
    }

    #[test]
    fn every_line_fits() {
        let long = "词".repeat(100) + &"word ".repeat(100) + &"x".repeat(300);
        for text in [wrap("first ", "  ", &long), Difference::between(&long, "other").show(["A", "B"], 9)] {
            for line in text.lines() {
                assert!(line.width() <= COLUMNS, "{} columns: {line}", line.width());
            }
        }
        assert_eq!(clip("abcdefghij", 5), "abc…j");
        assert_eq!(cell("词", 4), "词  ");
        assert_eq!(wrap("> ", "  ", "a b"), "> a b\n");
    }
}
