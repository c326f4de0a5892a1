//! `leitong eval`: measures how well detectors work on the user's pages.

use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::Context;
use clap::Args;

use super::documents;
use super::score::{self, VerdictFile};
use super::settings::{self, Wrong, wrong};
use crate::config::detectors::{self, DETECTORS};
use crate::config::{Config, load};
use crate::eval::pages::{EvalPage, Sample, are_labelled, founders, labelled_pairs};
use crate::eval::pairs::{self, Compared};
use crate::eval::parallel::Workers;
use crate::eval::passages::Passages;
use crate::eval::perturb::{Condition, Family, Perturber};
use crate::eval::recall::{self, Recall};
use crate::eval::recommend::{Recommendation, recommend};
use crate::eval::report::{DetectorReport, Report, markdown};
use crate::eval::{self, EvaluatedDetector, Plan, html, stream};
use leitong_base::terminal;
use leitong_text::segment::Segmenter;

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  leitong eval --detector simhash --detector paragraph pages.jsonl.gz
  leitong eval --html report.html labelled.jsonl.gz")]
pub(super) struct Arguments {
    /// Detector to evaluate; repeat the option to evaluate several [default: all]
    #[arg(long, value_name = "NAME")]
    detector: Vec<String>,
    /// Detector file to evaluate under the file's name: a detector and any settings of detectors, as in
    /// docs/detector-settings.md; repeat the option to evaluate several
    #[arg(long, value_name = "FILE")]
    variant: Vec<PathBuf>,
    /// File of verdicts of any program, scored instead of detectors; repeat the option to score several. One
    /// JSON object per line, with `page_id`, `kind` and `canonical_page_id` as `dedup` writes them
    #[arg(long, value_name = "[NAME=]FILE", conflicts_with_all = ["detector", "variant", "config", "html", "texts", "pairs", "synonyms"])]
    verdicts: Vec<VerdictFile>,
    /// Configuration file for extraction, segmentation, and the detectors named by --detector
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
    /// Write the report as JSON to this file
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
    /// Write the tables as Markdown to this file
    #[arg(long, value_name = "FILE")]
    markdown: Option<PathBuf>,
    /// Write the report with plots as HTML to this file
    #[arg(long, value_name = "FILE")]
    html: Option<PathBuf>,
    /// Seed of the random number generator
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Number of texts to perturb; 0 skips these tests
    #[arg(long, default_value_t = 1000)]
    texts: usize,
    /// Number of unrelated pairs to compare
    #[arg(long, default_value_t = 20_000)]
    pairs: usize,
    /// File of synonyms for replacing words: one group per line, separated by tabs. Do not use the detector's
    /// own list, which would make the test circular
    #[arg(long, value_name = "FILE")]
    synonyms: Option<PathBuf>,
    /// Number of threads [default: one per core]
    #[arg(long, value_name = "N", default_value_t = 0, hide_default_value = true)]
    threads: usize,
    /// Input files, in any format that `dedup` reads. If the pages have the fields `cluster` and `label`
    /// (new, dup or ambiguous), verdicts are scored as well
    #[arg(value_name = "INPUT", required = true)]
    inputs: Vec<PathBuf>,
}

pub(super) fn run(arguments: &Arguments) -> anyhow::Result<ExitCode> {
    settings::checked_threads(arguments.threads)?;
    if !arguments.verdicts.is_empty() {
        let outputs = (arguments.json.as_deref(), arguments.markdown.as_deref());
        return score::run(&arguments.verdicts, &arguments.inputs, outputs, arguments.seed);
    }
    let config = settings::config(arguments.config.as_deref(), None, None)?;
    let evaluated = evaluated(arguments, &config)?;
    let segmenter = settings::segmenter(&config)?;
    let synonyms = match &arguments.synonyms {
        Some(path) => {
            std::fs::read_to_string(path).with_context(|| format!("cannot read {}", path.display()))?
        }
        None => String::new(),
    };
    let plan = Plan { seed: arguments.seed, texts: arguments.texts, pairs: arguments.pairs, synonyms };
    let pages = pages(&arguments.inputs, &config)?;
    let inputs = arguments.inputs.iter().map(|path| path.display().to_string()).collect();
    let mut report =
        evaluate(inputs, &pages, &evaluated, &segmenter, &Workers::new(arguments.threads), &plan)?;
    report.recommendation = recommend(&report);
    let tables = markdown(&report);
    let files = [
        (&arguments.json, serde_json::to_string_pretty(&report)? + "\n"),
        (&arguments.markdown, tables.clone()),
        (&arguments.html, html::page(&report)),
    ];
    for (path, contents) in files {
        let Some(path) = path else { continue };
        std::fs::write(path, contents).with_context(|| format!("cannot write {}", path.display()))?;
    }
    documents::print(&tables)?;
    Ok(ExitCode::SUCCESS)
}

/// Builds the detectors to evaluate: those named by `--detector`, then the variants.
fn evaluated(arguments: &Arguments, config: &Config) -> anyhow::Result<Vec<EvaluatedDetector>> {
    let names: Vec<&str> = match (arguments.detector.is_empty(), arguments.variant.is_empty()) {
        (true, true) => DETECTORS.iter().map(|(name, _)| *name).collect(),
        _ => arguments.detector.iter().map(String::as_str).collect(),
    };
    let mut evaluated = Vec::new();
    for name in names {
        evaluated.push(evaluated_detector(
            name.to_owned(),
            &Config { detector: name.to_owned(), ..config.clone() },
        )?);
    }
    for path in &arguments.variant {
        let variant = settings::with_variant(config.clone(), path)?;
        let name = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        evaluated.push(evaluated_detector(name, &variant)?);
    }
    Ok(evaluated)
}

pub(super) fn evaluated_detector(name: String, config: &Config) -> anyhow::Result<EvaluatedDetector> {
    let resources = load::resources(config).map_err(Wrong::from)?;
    let detector = detectors::detector(&config.detector, config, &resources)
        .ok_or_else(|| wrong(format_args!("--detector {name:?}: {}", load::detectors_hint(&name))))?
        .map_err(wrong)?;
    Ok(EvaluatedDetector { name, detector: detector.into() })
}

/// Returns all pages that have a main text.
pub(super) fn pages(inputs: &[PathBuf], config: &Config) -> anyhow::Result<Vec<EvalPage>> {
    let mut pages = Vec::new();
    documents::for_each(inputs, config, |id, document, label| pages.push(EvalPage { id, document, label }))?;
    if pages.len() < 2 {
        return Err(wrong(
            "fewer than two pages have a main text, so there is nothing to compare; name more pages",
        ));
    }
    Ok(pages)
}

fn evaluate(
    inputs: Vec<String>,
    pages: &[EvalPage],
    evaluated: &[EvaluatedDetector],
    segmenter: &Segmenter,
    workers: &Workers,
    plan: &Plan,
) -> anyhow::Result<Report> {
    let labelled = are_labelled(pages);
    let prints = eval::fingerprints(pages, evaluated, segmenter, workers);
    let founders = founders(pages);
    let Sample { texts, others } = Sample::draw(pages, &founders, plan.texts, plan.seed);
    let texts: Vec<String> = texts.into_iter().map(|at| pages[at].document.text()).collect();
    let others: Vec<&str> = others.iter().map(String::as_str).collect();
    let perturber =
        Perturber::new(others, &plan.synonyms).map_err(|error| wrong(format_args!("--synonyms: {error}")))?;
    let conditions = if texts.is_empty() { Vec::new() } else { Condition::all(!plan.synonyms.is_empty()) };
    let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
    let recalls = recall::measure(&texts, &conditions, &perturber, evaluated, segmenter, workers, plan.seed);
    let (related, related_pairs) = if labelled {
        (labelled_pairs(pages), "each labelled near-duplicate with the first page of its cluster")
    } else {
        (Vec::new(), "each text and a copy of it with 5 % rewritten")
    };
    let passages = Passages::new(pages);
    let unrelated = unrelated_pairs(pairs::draw(&founders, plan.pairs, plan.seed), &passages, labelled);
    let numbered: Vec<usize> = (0..evaluated.len()).collect();
    let reports = workers.map(
        "comparing pairs and scoring streams, by detector",
        &numbered,
        || (),
        |(), number| {
            let (EvaluatedDetector { name, detector }, of_detector, recall) =
                (&evaluated[*number], &prints[*number], recalls[*number].clone());
            let related = if labelled {
                pairs::compare(&related, &of_detector.prints, &**detector)
            } else {
                rewritten(&recall)
            };
            let unrelated = pairs::compare(&unrelated, &of_detector.prints, &**detector);
            DetectorReport {
                name: name.clone(),
                micros_per_6_kb: of_detector.micros_per_6_kb,
                bytes: of_detector.bytes,
                judged: of_detector.prints.iter().flatten().count() as f64 / pages.len() as f64,
                counts: of_detector.counts.clone(),
                stream: labelled.then(|| stream::score(pages, &of_detector.prints, detector, plan.seed)),
                distances: pairs::distances(&related, &unrelated),
                false_matches: pairs::false_matches(&founders, &passages, &of_detector.prints, &**detector),
                recall,
            }
        },
    );
    Ok(Report {
        inputs,
        pages: pages.len(),
        labelled,
        seed: plan.seed,
        texts: texts.len(),
        related_pairs: related_pairs.to_owned(),
        recommendation: Recommendation::default(),
        detectors: reports,
    })
}

/// Returns the drawn pairs that are unrelated. Without labels the copies are not known, so pairs that share
/// most of their passages are left out.
fn unrelated_pairs(drawn: Vec<(usize, usize)>, passages: &Passages, labelled: bool) -> Vec<(usize, usize)> {
    if labelled {
        return drawn;
    }
    let count = drawn.len();
    let left: Vec<_> = drawn.into_iter().filter(|(a, b)| !passages.are_mostly_shared(*a, *b)).collect();
    if left.len() < count {
        terminal::note(format_args!(
            "{} of {count} random pairs share most of their passages; they are treated as copies and do not count as unrelated",
            count - left.len()
        ));
    }
    left
}

/// Returns the related pairs to use if there are no labels.
fn rewritten(recalls: &[Recall]) -> Vec<Compared> {
    let is_it = |recall: &&Recall| recall.condition == Condition { family: Family::Rewritten, level: 0.05 };
    let recall = recalls.iter().find(is_it);
    recall.map_or_else(Vec::new, |recall| recall.compared.clone())
}
