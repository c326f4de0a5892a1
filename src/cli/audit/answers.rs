//! Counts the answers that the page of an audit has saved, and estimates the share of wrong removals.
//!
//! The interval is that of Wilson (Probable inference, the law of succession, and statistical inference, JASA 1927),
//! which holds for few answers and for shares near 0.

use std::fmt::Write;
use std::fs;
use std::path::Path;

use anyhow::{Context, ensure};
use serde::Deserialize;

/// Quantile of the normal distribution for an interval of 95 %.
const Z: f64 = 1.959_964;

/// The saved answers.
#[derive(Debug, Deserialize)]
struct Answers {
    leitong_answers: u32,
    seed: u64,
    removed: u64,
    same_text: u64,
    answers: Vec<Answered>,
}

#[derive(Debug, Deserialize)]
struct Answered {
    id: String,
    source: String,
    outcome: String,
    answer: Option<Answer>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Answer {
    Right,
    Wrong,
    Unsure,
}

/// Reads the answers at `path`, and formats their counts.
///
/// # Errors
/// The file cannot be read, or has no answers.
pub(super) fn text(path: &Path) -> anyhow::Result<String> {
    let read = || -> anyhow::Result<Answers> {
        let saved: Answers = serde_json::from_slice(&fs::read(path)?)?;
        ensure!(saved.leitong_answers == 1, "the file is of another version of Leitong");
        ensure!(saved.same_text <= saved.removed, "more documents have the same text than were removed");
        ensure!(saved.answers.iter().any(|saved| saved.answer.is_some()), "no pair was answered");
        Ok(saved)
    };
    read().map(|saved| saved.text()).with_context(|| format!("cannot use {} as answers", path.display()))
}

impl Answers {
    fn count(&self, answer: Option<Answer>) -> u64 {
        self.answers.iter().filter(|answered| answered.answer == answer).count() as u64
    }

    fn text(&self) -> String {
        let [right, wrong, unsure] =
            [Answer::Right, Answer::Wrong, Answer::Unsure].map(|answer| self.count(Some(answer)));
        let judged = right + wrong;
        let mut out = format!(
            "{} pairs, drawn with the seed {}: {right} right, {wrong} wrong, {unsure} unsure, {} without an answer\n",
            self.answers.len(),
            self.seed,
            self.count(None)
        );
        let mut line = |what: &str, wrong: u64, judged: u64, share: f64| {
            let shown = interval(wrong, judged).map(|value| value * share * 100.0);
            let estimate = wrong as f64 / judged.max(1) as f64 * share * 100.0;
            let _ = writeln!(
                out,
                "wrong {what}: {estimate:.1} % (95 % interval {:.1} to {:.1} %)",
                shown[0], shown[1]
            );
        };
        let others = self.removed - self.same_text;
        line(&format!("of the {others} removals with a text of their own"), wrong, judged, 1.0);
        if unsure > 0 {
            line("if each unsure one is wrong", wrong + unsure, judged + unsure, 1.0);
        }
        let share = others as f64 / self.removed.max(1) as f64;
        line(&format!("of all {} removals, if equal texts are right", self.removed), wrong, judged, share);
        for Answered { id, source, outcome, answer } in &self.answers {
            if *answer == Some(Answer::Wrong) {
                let _ = writeln!(out, "  wrong: {id} ({outcome}, {source})");
            }
        }
        leitong_base::terminal::escape_lines(&out).into_owned()
    }
}

/// Returns the interval of a share of which `count` of `of` were seen.
fn interval(count: u64, of: u64) -> [f64; 2] {
    if of == 0 {
        return [0.0, 1.0];
    }
    let (of, share) = (of as f64, count as f64 / of as f64);
    let middle = share + Z * Z / (2.0 * of);
    let half = Z * (share * (1.0 - share) / of + Z * Z / (4.0 * of * of)).sqrt();
    [middle - half, middle + half].map(|end| (end / (1.0 + Z * Z / of)).clamp(0.0, 1.0))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Examples of Newcombe (Two-sided confidence intervals for the single proportion, 1998).
    #[test]
    fn the_interval_is_wilsons() {
        let examples = [
            (81, 263, [0.2553, 0.3662]),
            (15, 148, [0.0624, 0.1605]),
            (0, 20, [0.0, 0.1611]),
            (1, 29, [0.0061, 0.1718]),
        ];
        for (count, of, expected) in examples {
            let found = interval(count, of);
            let is_near = found.iter().zip(expected).all(|(found, expected)| (found - expected).abs() < 6e-5);
            assert!(is_near, "{count} of {of}: {found:?}");
        }
        assert_eq!(interval(0, 0), [0.0, 1.0]);
    }
}
