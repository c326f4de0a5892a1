//! `leitong tune`: finds the threshold of a detector that fits labelled pairs of pages.

use std::collections::HashMap;
use std::fmt::Write as _;
use std::fs::OpenOptions;
use std::io::{BufRead, Write as _};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::Context;
use clap::Args;
use serde::{Deserialize, Serialize};

use super::difference::{Difference, clip, wrap};
use super::documents;
use super::eval::{evaluated_detector, pages};
use super::settings::{self, ComparedDetector, wrong};
use crate::config::load;
use crate::eval::pages::{EvalPage, are_labelled, founders, labelled_pairs};
use crate::eval::parallel::Workers;
use crate::eval::threshold::{Labelled, curve, suggest};
use crate::eval::{self, pairs};
use leitong_base::terminal;
use leitong_fingerprint::Detector;
use leitong_text::segment::{Segmenter, Terms};

/// Number of columns that are shown of each page, and of passages that only one page has.
const SHOWN_COLUMNS: usize = 240;
const SHOWN_PASSAGES: usize = 6;
/// Number of pairs of each kind below which a suggestion is not reliable.
const PAIRS_MIN: usize = 20;

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  leitong tune --labels pairs.jsonl --ask 40 pages.jsonl.gz
  leitong tune --detector simhash --precision 0.999 labelled.jsonl.gz")]
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
    #[arg(long, value_name = "SHARE", default_value_t = 0.99)]
    precision: f64,
    /// Seed of the random number generator, which draws unrelated pairs of labelled pages
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Input files, in any format that `dedup` reads. Pages with the fields `cluster` and `label` need no
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
    let segmenter = settings::segmenter(&config)?;
    let detectors_evaluated = [evaluated_detector(config.detector.clone(), &config)?];
    let detector = &*detectors_evaluated[0].detector;
    let pages = pages(&arguments.inputs, &config)?;
    let prints = eval::fingerprints(&pages, &detectors_evaluated, &segmenter, &Workers::new(0));
    let prints = &prints[0].prints;
    let compare = |a: usize, b: usize| Some(detector.compare(prints[a].as_deref()?, prints[b].as_deref()?));
    let mut labelled: Vec<Labelled> = Vec::new();
    let mut add = |a: usize, b: usize, near: bool| {
        labelled.extend(
            compare(a, b).map(|comparison| Labelled { distance: comparison.distance, related: near }),
        );
    };
    match &arguments.labels {
        Some(path) => {
            if let Some(count) = arguments.ask {
                ask(
                    &boundary_pairs(&pages, prints, detector, count, arguments.seed),
                    &pages,
                    &segmenter,
                    path,
                )?;
            }
            let by_id: HashMap<&str, usize> =
                (0..).zip(&pages).map(|(at, page)| (page.id.as_str(), at)).collect();
            for label in read(path)? {
                let find = |id: &str| {
                    by_id
                        .get(id)
                        .copied()
                        .ok_or_else(|| wrong(format_args!("{}: no page has the id {id:?}", path.display())))
                };
                add(find(&label.a)?, find(&label.b)?, label.near);
            }
        }
        None if are_labelled(&pages) => {
            let related = labelled_pairs(&pages);
            for (a, b) in pairs::draw(&founders(&pages), related.len().max(1_000) * 4, arguments.seed) {
                add(a, b, false);
            }
            related.iter().for_each(|(a, b)| add(*a, *b, true));
        }
        None => {
            return Err(wrong(
                "the pages have no labels: name labelled pairs with --labels FILE, or label some with --labels FILE --ask 40",
            ));
        }
    }
    documents::print(&report(&mut labelled, detector, arguments.precision))?;
    Ok(ExitCode::SUCCESS)
}

/// Formats precision and recall by threshold, and the suggested threshold.
fn report(labelled: &mut [Labelled], detector: &dyn Detector, precision: f64) -> String {
    let mut out = String::new();
    let related = labelled.iter().filter(|pair| pair.related).count();
    let _ = writeln!(
        out,
        "{}: {related} related pairs, {} unrelated pairs\n",
        detector.name(),
        labelled.len() - related
    );
    if related.min(labelled.len() - related) < PAIRS_MIN {
        let _ = writeln!(
            out,
            "There are only a few: label at least {PAIRS_MIN} pairs of each kind before you trust the figures.\n"
        );
    }
    let curve = curve(labelled);
    let suggested = suggest(&curve, precision);
    let _ = writeln!(out, "| distance up to | precision | recall | F1 |\n|---|---|---|---|");
    // About twenty lines, evenly spaced by recall, and the suggestion.
    let mut last = f64::NEG_INFINITY;
    for point in &curve {
        if point.recall - last >= 0.05 || Some(point) == curve.last() || Some(*point) == suggested {
            let distance = detector.distance(point.distance);
            let _ = writeln!(
                out,
                "| {distance} | {:.4} | {:.4} | {:.4} |",
                point.precision,
                point.recall,
                point.f1()
            );
            last = point.recall;
        }
    }
    match suggested {
        None => out.push_str("\nNo related pair has a fingerprint, so there is nothing to suggest.\n"),
        Some(point) => {
            let reached = if point.precision >= precision {
                ""
            } else {
                " (not reached by any threshold; this one has the best F1)"
            };
            let _ = writeln!(
                out,
                "\nFor a precision of {precision}{reached}: distance up to {}, precision {:.4}, recall {:.4}",
                detector.distance(point.distance),
                point.precision,
                point.recall
            );
            match detector.threshold_setting(point.distance) {
                Some(setting) => {
                    out.push_str("The figures consider the distance only; the detector's other conditions leave out more pairs.\n\n");
                    out.push_str(&setting);
                    out.push('\n');
                    if load::for_comparison_only(detector.name()).is_some() {
                        out.push_str(
                            "\nNo run uses this detector; the setting is for a detector file (--variant).\n",
                        );
                    }
                }
                None => out.push_str("\nThis detector has no threshold to set.\n"),
            }
        }
    }
    out
}

/// Returns the pairs closest to the threshold, from both sides: the most distant ones that the detector calls
/// near, and the least distant ones that it does not.
fn boundary_pairs(
    pages: &[EvalPage],
    prints: &[Option<Box<[u8]>>],
    detector: &dyn Detector,
    count: usize,
    seed: u64,
) -> Vec<(usize, usize)> {
    let all: Vec<usize> = (0..pages.len()).collect();
    let mut candidates = Vec::new();
    pairs::sharing_a_key(prints, detector, |a, b| candidates.push((a, b)));
    candidates.extend(pairs::draw(&all, 20_000, seed));
    candidates.iter_mut().for_each(|pair| *pair = (pair.0.min(pair.1), pair.0.max(pair.1)));
    candidates.sort_unstable();
    candidates.dedup();
    let compared = candidates.into_iter().filter_map(|(a, b)| {
        let comparison = detector.compare(prints[a].as_deref()?, prints[b].as_deref()?);
        Some((comparison.distance, comparison.near, (a, b)))
    });
    let (mut near, mut apart): (Vec<_>, Vec<_>) = compared.partition(|(_, near, _)| *near);
    near.sort_unstable_by_key(|(distance, _, pair)| (std::cmp::Reverse(*distance), *pair));
    apart.sort_unstable_by_key(|(distance, _, pair)| (*distance, *pair));
    let chosen = near.into_iter().take(count / 2).chain(apart.into_iter().take(count.div_ceil(2)));
    chosen.map(|(_, _, pair)| pair).collect()
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
