//! `leitong compare A B`: why two pages are alike for the detector, or why not.

use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;

use anyhow::bail;
use clap::Args;
use serde_json::Value;

use super::difference::{Difference, cell, clip, wrap};
use super::documents;
use super::extract::html_page;
use super::settings::{self, Wrong, wrong};
use crate::cluster::{Clusterer, Decision, Position};
use crate::config::detectors::DETECTORS;
use crate::config::{Config, load};
use crate::extract::Wall;
use crate::page::Page;
use crate::pipeline::document::{self, Charset};
use crate::pipeline::fingerprint_stage::FingerprintStage;
use crate::pipeline::page_reader::PageReader;
use crate::record::{FingerprintRecord, LogRecord, Outcome, Place};
use crate::segment::Terms;
use crate::source::Source;
use crate::telemetry::terminal;
use crate::work::Work;

/// Terms that are shown of each page.
const TOP_TERMS: usize = 12;
/// Columns for what is shown of one page beside the other.
const CELL: usize = 33;
/// Passages that are shown of each page.
const PASSAGES: usize = 10;
/// Items that are shown of a list, and columns of one piece of evidence.
const ITEMS: usize = 8;
const EVIDENCE_COLUMNS: usize = 200;

#[derive(Debug, Args)]
pub(super) struct Arguments {
    /// Detector that compares, in place of the configured one
    #[arg(long, value_name = "NAME")]
    detector: Option<String>,
    /// Configuration file (see `leitong config example`)
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
    /// A page: an HTML or .txt file, or `pages.jsonl#ID` for the page ID of a file of pages
    a: String,
    /// Another one
    b: String,
}

/// One of the two pages, with what the flow makes of it.
struct Side {
    name: String,
    charset: Option<Charset>,
    title: Option<String>,
    paragraphs: usize,
    terms: Terms,
    record: Box<FingerprintRecord>,
    refusal: Option<String>,
    wall: Option<Wall>,
}

pub(super) fn run(arguments: &Arguments) -> anyhow::Result<ExitCode> {
    let config = settings::config(arguments.config.as_deref(), arguments.detector.as_deref(), None)?;
    let stage = FingerprintStage::new(config.clone()).map_err(Wrong::from)?;
    let a = side(&arguments.a, &config, &stage)?;
    let b = side(&arguments.b, &config, &stage)?;
    let mut out = String::new();
    out.push_str(&wrap("A ", "  ", &a.name));
    out.push_str(&wrap("B ", "  ", &b.name));
    let _ = writeln!(out, "\n{:<12} {} B", "", cell("A", CELL));
    let mut row = |what: &str, of: &dyn Fn(&Side) -> String| {
        // What pages hold must not break the lines of this table.
        let (a, b) = (of(&a), of(&b));
        let (a, b) = (cell(&terminal::escape(&a), CELL), cell(&terminal::escape(&b), CELL));
        let _ = writeln!(out, "{}", format!("{what:<12} {a} {b}").trim_end());
    };
    row("title", &|side| side.title.clone().unwrap_or_else(|| "–".to_owned()));
    row("charset", &|side| {
        side.charset.map_or("decoded already".to_owned(), |charset| {
            format!("{} ({:?}), {} malformed", charset.name, charset.how, charset.malformed)
        })
    });
    row("main text", &|side| match side.record.text {
        Some(text) => format!("{} characters, {} paragraphs", text.chars, side.paragraphs),
        None => side.refusal.clone().unwrap_or_else(|| "none".to_owned()),
    });
    if a.wall.or(b.wall).is_some() {
        row("wall", &|side| side.wall.map_or("–".to_owned(), |wall| wall.as_str().to_owned()));
    }
    row("text digest", &|side| {
        side.record.text.map_or("–".to_owned(), |text| format!("{:032x}", text.digest))
    });
    row("terms", &|side| format!("{}, {} distinct", side.terms.terms().len(), side.terms.distinct().len()));
    row("fingerprint", &|side| match &side.record.outcome {
        Outcome::Fingerprint(fingerprint) => stage.detector().display(fingerprint),
        Outcome::Undecidable(reason) => format!("none ({})", reason.as_str()),
    });
    if !stage.detector().counts(&a.terms).is_empty() {
        row("made of", &|side| counts(&stage.detector().counts(&side.terms)));
    }
    out.push('\n');
    for (name, terms) in [
        ("top terms of A", top_terms(&a.terms, None)),
        ("top terms of B", top_terms(&b.terms, None)),
        ("terms of A alone", top_terms(&a.terms, Some(&b.terms))),
        ("terms of B alone", top_terms(&b.terms, Some(&a.terms))),
    ] {
        out.push_str(&wrap(&format!("{name:<17}"), "    ", &terms));
    }
    out.push('\n');
    out.push_str("As detectors read them, in one script and in small letters:\n");
    out.push_str(&Difference::of(a.terms.text(), b.terms.text()).show(["A", "B"], PASSAGES));
    out.push('\n');
    out.push_str(&conclusion(&a, &b, &config, &stage));
    if arguments.detector.is_none() {
        out.push_str(&every_detector(&a, &b, &config)?);
    }
    documents::print(&terminal::escape_lines(&out))?;
    Ok(ExitCode::SUCCESS)
}

/// Sends both pages through the clustering, A first, and words what comes of B.
fn conclusion(a: &Side, b: &Side, config: &Config, stage: &FingerprintStage) -> String {
    let detector = stage.detector();
    let (Outcome::Fingerprint(of_a), Outcome::Fingerprint(of_b)) = (&a.record.outcome, &b.record.outcome)
    else {
        return "verdict: UNDECIDABLE, since a page without a fingerprint is compared with nothing\n"
            .to_owned();
    };
    let comparison = detector.compare(of_b, of_a);
    let mut out = format!(
        "{}: distance {}, similarity {}\n",
        detector.name(),
        detector.distance(comparison.distance),
        detector.similarity(of_a, of_b)
    );
    let relation = detector.relation(of_b, of_a, comparison.near);
    if let (Some(shares), Some(relation)) = (detector.shares(of_b, of_a), relation) {
        let percent = |share: u32| format!("{:.0} %", f64::from(share) / 100.0);
        out.push_str(&format!(
            "  B to A: {}; {} of B stands in A, and {} of A in B\n",
            relation.as_str(),
            percent(shares.of_a),
            percent(shares.of_b)
        ));
    }
    for (name, value) in detector.evidence(of_a, of_b) {
        out.push_str(&wrap(&format!("  {name:<22} "), "    ", &clip(&plain(&value), EVIDENCE_COLUMNS)));
    }
    let mut clusterer = Clusterer::new(Arc::clone(detector), config.cluster_rules(), Position::default());
    clusterer.decide(Some(&a.record));
    let verdict = match clusterer.decide(Some(&b.record)) {
        Decision::Joined(centroid) if centroid.exact => {
            "EXACT_DUPLICATE: the texts are equal but for white space"
        }
        Decision::Joined(_) => "NEAR_DUPLICATE: B joins A's cluster",
        Decision::Founded(_, Some(_)) => "UNIQUE: B is not near A, but related",
        _ if a.record.corpus != b.record.corpus => "UNIQUE: A and B are of different corpora, and never meet",
        _ => "UNIQUE: B is not near A",
    };
    let _ = writeln!(out, "verdict if A came first: {verdict}");
    out
}

/// What each detector sees.
fn every_detector(a: &Side, b: &Side, config: &Config) -> anyhow::Result<String> {
    let resources = load::resources(config).map_err(Wrong::from)?;
    let mut out = String::from("\nevery detector:\n");
    for (name, build) in DETECTORS {
        let detector = build(config, &resources).map_err(wrong)?;
        let (Some(of_a), Some(of_b)) = (detector.fingerprint(&a.terms), detector.fingerprint(&b.terms))
        else {
            let _ = writeln!(out, "  {name:<17} no fingerprint: too little text");
            continue;
        };
        let comparison = detector.compare(&of_a, &of_b);
        let _ = writeln!(
            out,
            "  {name:<17} {:<9} distance {}, similarity {}",
            if comparison.near { "near" } else { "not near" },
            detector.distance(comparison.distance),
            detector.similarity(&of_a, &of_b)
        );
        for (name, value) in detector.evidence(&of_a, &of_b) {
            out.push_str(&wrap(
                &format!("      {}: ", name.replace('_', " ")),
                "        ",
                &clip(&plain(&value), EVIDENCE_COLUMNS),
            ));
        }
    }
    Ok(out)
}

fn side(name: &str, config: &Config, stage: &FingerprintStage) -> anyhow::Result<Side> {
    let page = load(name, config)?;
    let mut workspace = stage.workspace();
    let reading = document::read(&page, workspace.extractor(), &mut Work::up_to(config.page.work_max));
    let (charset, title, paragraphs, wall, refusal) = match &reading {
        Ok(reading) => {
            let document = &reading.document;
            (reading.charset, document.title.clone(), document.paragraphs.len(), document.wall, None)
        }
        Err(refusal) => (None, None, 0, None, Some(refusal.message.clone())),
    };
    let place = Place::Line { input: name.into(), line: 1 };
    let Ok(LogRecord::Page(record)) = stage.process_page(place, page, &mut workspace).record else {
        bail!("{name}: no page");
    };
    Ok(Side {
        name: name.to_owned(),
        charset,
        title,
        paragraphs,
        terms: workspace.into_terms(),
        record,
        refusal,
        wall,
    })
}

/// The page that an argument names.
fn load(name: &str, config: &Config) -> anyhow::Result<Page> {
    let path = Path::new(name);
    if !path.exists()
        && let Some((file, id)) = name.rsplit_once('#')
    {
        return find(Path::new(file), id, config);
    }
    html_page(path, config)
}

/// The page `id` of a file of pages.
fn find(path: &Path, id: &str, config: &Config) -> anyhow::Result<Page> {
    let mut source = documents::source(&[path.to_owned()], config)?;
    let reader = PageReader::new(config, false).map_err(Wrong::from)?;
    let mut more = true;
    while more {
        let mut batch = Vec::new();
        more = source.read_batch(&mut batch, 1 << 20)?;
        let pages = batch.into_iter().filter_map(|record| reader.page(record.payload));
        if let Some(page) = pages.into_iter().find(|page| page.id == id) {
            return Ok(page);
        }
    }
    Err(wrong(format_args!("{}: no page with the id {id:?}", path.display())))
}

/// `31 words, 30 concepts, …`.
fn counts(counts: &[(&'static str, u32)]) -> String {
    let shown: Vec<String> = counts.iter().map(|(name, count)| format!("{count} {name}")).collect();
    shown.join(", ")
}

/// The most frequent terms, with their frequencies; those of `others` left out.
fn top_terms(terms: &Terms, others: Option<&Terms>) -> String {
    let known: std::collections::HashSet<u64> =
        others.into_iter().flat_map(|others| others.distinct().iter().map(|term| term.hash)).collect();
    let mut distinct: Vec<_> = terms.distinct().iter().filter(|term| !known.contains(&term.hash)).collect();
    distinct.sort_by_key(|term| (std::cmp::Reverse(term.frequency), term.first));
    let shown =
        distinct.iter().take(TOP_TERMS).map(|term| format!("{} {}", terms.first(**term), term.frequency));
    let shown: Vec<_> = shown.collect();
    match (shown.is_empty(), distinct.len().saturating_sub(TOP_TERMS)) {
        (true, _) => "–".to_owned(),
        (false, 0) => shown.join(", "),
        (false, more) => format!("{}, … {more} more", shown.join(", ")),
    }
}

/// A piece of evidence without JSON's brackets and quotes.
fn plain(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        // A list in a list belongs together: a term with what it counts in either page.
        Value::Array(items) => {
            let item = |item: &Value| match item {
                Value::Array(parts) => parts.iter().map(plain).collect::<Vec<_>>().join(" "),
                other => plain(other),
            };
            let more = items.len().saturating_sub(ITEMS);
            let mut shown: Vec<String> = items.iter().take(ITEMS).map(item).collect();
            shown.extend((more > 0).then(|| format!("{more} more")));
            if shown.is_empty() { "none".to_owned() } else { shown.join(", ") }
        }
        Value::Object(fields) => {
            let field =
                |(name, value): (&String, &Value)| format!("{} {}", name.replace('_', " "), plain(value));
            fields.iter().map(field).collect::<Vec<_>>().join(", ")
        }
        Value::Null => "–".to_owned(),
        other => other.to_string(),
    }
}
