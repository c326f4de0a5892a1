//! `leitong-lab tune`: finds the threshold of a detector that fits labelled pairs of pages.

use std::collections::HashMap;
use std::fs::OpenOptions;
use std::io::{BufRead, Write as _};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::Context;
use clap::Args;
use serde::{Deserialize, Serialize};

use leitong::command_line::{ComparedDetector, check_outputs, print, segmenter, share, wrong};
use leitong::{Segmenter, Terms};
use leitong_base::terminal;
use leitong_text::difference::{Difference, clip, wrap};

use super::eval::evaluated_detector;
use super::{inputs, thread_count};
use crate::pages::EvalPage;
use crate::tune::{LabelledPair, Tuner};

/// Maximum width of the text that is shown of each page, in columns of the terminal.
const SHOWN_COLUMNS: usize = 240;
/// Maximum number of passages that are shown of each page, of those that the other page lacks.
const SHOWN_PASSAGES: usize = 6;

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  leitong-lab tune --labels pairs.jsonl --ask 40 pages.jsonl.gz
  leitong-lab tune --detector simhash --precision 0.999 labelled.jsonl.gz")]
pub(super) struct Arguments {
    #[command(flatten)]
    detector: ComparedDetector,
    /// Configuration file
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
    /// File of labelled pairs, one per line: {"a": page id, "b": page id, "near": true or false}
    #[arg(long, value_name = "FILE")]
    labels: Option<PathBuf>,
    /// Show N pairs close to the threshold, ask whether each is the same text, and add the answers to
    /// --labels
    #[arg(long, value_name = "N", requires = "labels")]
    ask: Option<usize>,
    /// Precision that the suggested threshold must reach; among such thresholds, the one with the highest
    /// recall is suggested
    #[arg(long, value_name = "SHARE", default_value_t = 0.99, value_parser = share)]
    precision: f64,
    /// Seed of the random number generator, which draws unrelated pairs of labelled pages
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Input files, in any format that `leitong dedup` reads. Pages with the fields `cluster` and `label` need no
    /// --labels
    #[arg(value_name = "INPUT", required = true)]
    inputs: Vec<PathBuf>,
}

/// One line of `--labels`.
#[derive(Debug, Serialize, Deserialize)]
struct Label {
    a: String,
    b: String,
    near: bool,
}

pub(super) fn run(arguments: &Arguments) -> anyhow::Result<ExitCode> {
    let config = arguments.detector.config(arguments.config.as_deref())?;
    let segmenter = segmenter(&config)?;
    let detector = evaluated_detector(config.detector.clone(), &config)?;
    if let (Some(_), Some(labels)) = (arguments.ask, &arguments.labels) {
        // Answers are added to the file.
        check_outputs(&[("--labels", labels.clone())], &arguments.inputs, &[])?;
    }
    let (pages, status) = inputs::compared_documents(&arguments.inputs, &config)?;
    let tuner = Tuner::new(&pages, &detector, &segmenter, thread_count(0));
    let labelled = match &arguments.labels {
        Some(path) => {
            if let Some(count) = arguments.ask {
                ask(&tuner.boundary_pairs(count, arguments.seed), &pages, &segmenter, path)?;
            }
            numbered(read(path)?, &pages, path)?
        }
        None => tuner.labels_of_pages(arguments.seed).ok_or_else(|| {
            wrong(
                "the pages have no labels: name labelled pairs with --labels FILE, or label some with --labels FILE --ask 40",
            )
        })?,
    };
    print(&tuner.report(&labelled, arguments.precision))?;
    Ok(status)
}

/// Returns labelled pairs by the numbers of their pages.
fn numbered(labels: Vec<Label>, pages: &[EvalPage], path: &Path) -> anyhow::Result<Vec<LabelledPair>> {
    let by_id: HashMap<&str, usize> = (0..).zip(pages).map(|(at, page)| (page.id.as_str(), at)).collect();
    let find = |id: &str| {
        let found = by_id.get(id).copied();
        found.ok_or_else(|| wrong(format_args!("{}: no page has the id {id:?}", path.display())))
    };
    let pair =
        |label: Label| Ok(LabelledPair { pages: (find(&label.a)?, find(&label.b)?), near: label.near });
    labels.into_iter().map(pair).collect()
}

/// Shows pairs, asks the user for labels, and appends the answers to `path`.
fn ask(
    pairs: &[(usize, usize)],
    pages: &[EvalPage],
    segmenter: &Segmenter,
    path: &Path,
) -> anyhow::Result<()> {
    let known = if path.exists() { read(path)? } else { Vec::new() };
    let mut file = OpenOptions::new().create(true).append(true).open(path);
    let file = file.as_mut().map_err(|error| anyhow::anyhow!("cannot write {}: {error}", path.display()))?;
    let mut answers = std::io::stdin().lock().lines();
    for (number, (a, b)) in pairs.iter().enumerate() {
        let (a, b) = (&pages[*a], &pages[*b]);
        if known.iter().any(|label| label.a == a.id && label.b == b.id) {
            continue;
        }
        let texts = [a, b].map(|page| page.document.text());
        for (page, text) in [a, b].iter().zip(&texts) {
            let opening = clip(&text.replace('\n', " "), SHOWN_COLUMNS);
            terminal::note_lines(terminal::escape_lines(&wrap(
                &format!("── {} ── ", page.id),
                "   ",
                &opening,
            )));
        }
        // Beginnings are often the same, so differing passages are shown as well.
        let read = [a, b].map(|page| {
            let mut terms = Terms::default();
            segmenter.segment(&page.document, &mut terms);
            terms
        });
        let difference = Difference::between(read[0].text(), read[1].text());
        let shown = difference.show([&a.id, &b.id], SHOWN_PASSAGES);
        terminal::note_lines(format_args!("{}\n", terminal::escape_lines(&shown)));
        let near = loop {
            terminal::note_lines(format_args!(
                "{} of {}: the same text? [y]es, [n]o, [s]kip, [q]uit: ",
                number + 1,
                pairs.len()
            ));
            match answers.next().transpose().context("cannot read answers")?.as_deref().map(str::trim) {
                Some("y" | "yes") => break Some(true),
                Some("n" | "no") => break Some(false),
                Some("s" | "skip") => break None,
                None | Some("q" | "quit") => return Ok(()),
                Some(_) => {}
            }
        };
        if let Some(near) = near {
            let label = Label { a: a.id.clone(), b: b.id.clone(), near };
            writeln!(file, "{}", serde_json::to_string(&label)?)
                .with_context(|| format!("cannot write {}", path.display()))?;
        }
    }
    Ok(())
}

fn read(path: &Path) -> anyhow::Result<Vec<Label>> {
    let text = std::fs::read_to_string(path).with_context(|| format!("cannot read {}", path.display()))?;
    let parse = |(number, line): (usize, &str)| {
        serde_json::from_str(line).map_err(|error| {
            wrong(format_args!(
                "{}: line {number}: {error}; write {{\"a\": id, \"b\": id, \"near\": true}}",
                path.display()
            ))
        })
    };
    (1..).zip(text.lines()).filter(|(_, line)| !line.trim().is_empty()).map(parse).collect()
}
