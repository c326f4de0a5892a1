//! Generates near-duplicates of pages, as lines that `eval` reads.

use std::fmt::Write;

use serde_json::json;

use super::{Condition, Perturber};
use crate::pages::{EvalPage, Sample, founders};
use leitong_base::random::Random;

/// Returns changed copies of at most `texts` pages, drawn at random by `seed`, one JSON line each: `id`, `of` (the
/// original's id), `change`, `text`, and the labels that `eval` reads. The pages get the `changes` in turn.
/// `synonyms` has lines of words separated by tabs, or is empty.
///
/// # Errors
/// A message if `synonyms` cannot be used.
pub(crate) fn copies(
    pages: &[EvalPage],
    changes: &[Condition],
    synonyms: &str,
    texts: usize,
    seed: u64,
) -> Result<String, String> {
    let Sample { texts, others } = Sample::draw(pages, &founders(pages), texts, seed);
    let others: Vec<&str> = others.iter().map(String::as_str).collect();
    let perturber = Perturber::new(others, synonyms)?;
    let mut out = String::new();
    for ((number, at), change) in (0..).zip(texts).zip(changes.iter().cycle()) {
        let page = &pages[at];
        let mut random = Random::new(seed, number);
        let line = json!({
            "id": format!("{}~{number}", page.id),
            "of": page.id,
            "change": change.to_string(),
            "text": perturber.perturb(&page.document.text(), *change, &mut random),
            "url": format!("perturbed:{}~{number}", page.id),
            "cluster": page.label.as_ref().map_or(&page.id, |label| &label.cluster),
            "label": "dup",
        });
        let _ = writeln!(out, "{line}");
    }
    Ok(out)
}

#[cfg(test)]
mod tests {
    use super::*;
    use leitong_text::extract::Document;

    #[test]
    fn a_copy_names_its_original_and_the_same_seed_gives_the_same_copies() {
        let text: String = (0..200).map(|n| format!("第{n}句话。")).collect();
        let page = EvalPage { id: "7".to_owned(), document: Document::from_text(None, &text), label: None };
        let changes = ["deleted=0.2", "headline"].map(|change| change.parse().expect("a change"));
        let lines = copies(std::slice::from_ref(&page), &changes, "", 10, 1).expect("no synonyms");
        let line: serde_json::Value = serde_json::from_str(lines.trim_end()).expect("one line of JSON");
        assert_eq!(
            (&line["of"], &line["cluster"], &line["label"]),
            (&"7".into(), &"7".into(), &"dup".into())
        );
        assert_eq!(line["change"], "20 % text deleted");
        assert!(line["text"].as_str().is_some_and(|changed| changed != text));
        assert_eq!(lines, copies(&[page], &changes, "", 10, 1).expect("no synonyms"));
    }
}
