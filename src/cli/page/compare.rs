//! `leitong compare A B`: shows why the detector considers two pages near, or why not.

use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::Args;

use crate::cli::files::documents;
use crate::cli::files::parts::{Overwrite, Parts};
use crate::cli::page::extract::html_page;
use crate::cli::page::open;
use crate::cli::page::pages;
use crate::cli::settings::{ComparedDetector, Wrong, wrong};
use leitong_base::record::Outcome;
use leitong_base::terminal;
use leitong_http::console::{Language, file_of_comparison};
use leitong_pipeline::comparison::{
    Compared, Comparer, Comparison, Opinion, PairVerdict, Related, Side, plain,
};
use leitong_pipeline::config::Config;
use leitong_text::difference::{Difference, cell, clip, wrap};
use leitong_text::page::Page;
use leitong_text::segment::Terms;

/// Maximum number of terms that are shown of each page.
const TOP_TERMS: usize = 12;
/// Width of one page's column in the table that shows both pages side by side, in columns of the terminal.
const CELL: usize = 33;
/// Maximum number of passages that are shown of each page.
const PASSAGES: usize = 10;
/// Maximum width of a piece of evidence, in columns of the terminal.
const EVIDENCE_COLUMNS: usize = 200;

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  leitong compare a.html b.html
  leitong compare --open 'pages.jsonl#a17' 'pages.jsonl#b3'
  leitong compare --html why.html a.html b.html")]
pub(crate) struct Arguments {
    /// Show both pages side by side in the browser: what extraction kept, and what they share
    #[arg(long)]
    open: bool,
    /// Write the comparison as one self-contained HTML file, without scripts
    #[arg(long, value_name = "FILE")]
    html: Option<PathBuf>,
    /// Language of the HTML page [default: that of the environment]
    #[arg(long, value_name = "en|zh", value_parser = language)]
    language: Option<Language>,
    #[command(flatten)]
    detector: ComparedDetector,
    #[command(flatten)]
    overwrite: Overwrite,
    /// Configuration file (see `leitong config example`)
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
    /// First page: an HTML or .txt file, or `FILE#ID` for the page with that id in a file of pages
    a: String,
    /// Second page, in the same form
    b: String,
}

/// Parses `en` or `zh`.
fn language(name: &str) -> Result<Language, String> {
    Language::ALL
        .into_iter()
        .find(|language| language.name() == name)
        .ok_or_else(|| "unknown language; choose en or zh".to_owned())
}

pub(crate) fn run(arguments: &Arguments) -> anyhow::Result<ExitCode> {
    let html = arguments.html.iter().map(|path| ("--html", path.clone()));
    let files = [&arguments.a, &arguments.b]
        .map(|name| file_and_id(name).map_or(name.into(), |(file, _)| file.into()));
    let parts = Parts::begin_checked(&html.collect::<Vec<_>>(), &files, &[], arguments.overwrite)?;
    let [a, b] = &files;
    if a == b && documents::is_read_once(a) {
        return Err(wrong(format_args!(
            "{}: is named twice, but can be read only once; write it to a file first",
            a.display()
        )));
    }
    let config = arguments.detector.config(arguments.config.as_deref())?;
    let comparer = Comparer::new(config).map_err(Wrong::from)?;
    let side = |name: &String| -> anyhow::Result<Side> {
        Ok(comparer.side(name.clone(), load(name, comparer.config())?))
    };
    let sides = [side(&arguments.a)?, side(&arguments.b)?];
    if arguments.open || arguments.html.is_some() {
        return page(arguments, parts, &comparer.compare(sides));
    }
    let mut out = text(&sides, &comparer);
    if !arguments.detector.is_named() {
        out.push_str(&every_detector(&comparer.opinions(&sides)));
    }
    documents::print(&terminal::escape_lines(&out))?;
    Ok(ExitCode::SUCCESS)
}

/// Writes the comparison as an HTML page, and opens it in the browser if `--open` was given.
fn page(arguments: &Arguments, parts: Parts, comparison: &Comparison) -> anyhow::Result<ExitCode> {
    let language = arguments.language.unwrap_or_else(|| Language::from_environment(&environment()));
    let page = file_of_comparison(comparison, language);
    if let Some(path) = &arguments.html {
        documents::write(path, &page)?;
    }
    parts.finish()?;
    if arguments.open {
        let path = match &arguments.html {
            Some(path) => path.clone(),
            None => open::temporary(&page)?,
        };
        open::open(&path)?;
    }
    Ok(ExitCode::SUCCESS)
}

/// Returns the locale from the environment, or an empty text.
fn environment() -> String {
    let set = |name: &&str| std::env::var(name).ok().filter(|value| !value.is_empty());
    ["LC_ALL", "LC_MESSAGES", "LANG"].iter().find_map(set).unwrap_or_default()
}

/// Formats the comparison in lines that fit a terminal.
fn text(sides: &[Side; 2], comparer: &Comparer) -> String {
    let [a, b] = sides;
    let detector = comparer.detector();
    let mut out = String::new();
    out.push_str(&wrap("A ", "  ", &a.name));
    out.push_str(&wrap("B ", "  ", &b.name));
    let _ = writeln!(out, "\n{:<12} {} B", "", cell("A", CELL));
    let mut row = |what: &str, of: &dyn Fn(&Side) -> String| {
        // Text from the pages must not break the lines of this table.
        let (a, b) = (of(a), of(b));
        let (a, b) = (cell(&terminal::escape(&a), CELL), cell(&terminal::escape(&b), CELL));
        let _ = writeln!(out, "{}", format!("{what:<12} {a} {b}").trim_end());
    };
    row("title", &|side| side.title.clone().unwrap_or_else(|| "–".to_owned()));
    row("charset", &|side| {
        side.charset.as_ref().map_or("already decoded".to_owned(), |charset| {
            format!("{} ({:?}), {} malformed", charset.name, charset.how, charset.malformed)
        })
    });
    row("main text", &|side| match side.record.text {
        Some(text) => format!("{} characters, {} paragraphs", text.chars, side.paragraphs()),
        None => side.refusal.clone().unwrap_or_else(|| "none".to_owned()),
    });
    if a.page_kind.or(b.page_kind).is_some() {
        row("page kind", &|side| {
            side.page_kind.map_or("–".to_owned(), |page_kind| page_kind.as_str().to_owned())
        });
    }
    row("text digest", &|side| {
        side.record.text.map_or("–".to_owned(), |text| format!("{:032x}", text.digest))
    });
    row("terms", &|side| format!("{}, {} distinct", side.terms.terms().len(), side.terms.distinct().len()));
    row("fingerprint", &|side| match &side.record.outcome {
        Outcome::Fingerprint(fingerprint) => detector.display(fingerprint),
        Outcome::Undecidable(reason) => format!("none ({})", reason.as_str()),
    });
    if !detector.counts(&a.terms).is_empty() {
        row("features", &|side| {
            let counts = detector.counts(&side.terms);
            counts.iter().map(|(name, count)| format!("{count} {name}")).collect::<Vec<_>>().join(", ")
        });
    }
    out.push('\n');
    for (name, terms) in [
        ("top terms of A", top_terms(&a.terms, None)),
        ("top terms of B", top_terms(&b.terms, None)),
        ("only in A", top_terms(&a.terms, Some(&b.terms))),
        ("only in B", top_terms(&b.terms, Some(&a.terms))),
    ] {
        out.push_str(&wrap(&format!("{name:<17}"), "    ", &terms));
    }
    out.push('\n');
    out.push_str("Texts as detectors read them, in one script and in lower case:\n");
    out.push_str(&Difference::between(a.terms.text(), b.terms.text()).show(["A", "B"], PASSAGES));
    out.push('\n');
    out.push_str(&conclusion(sides, comparer));
    out
}

/// Formats the configured detector's comparison, and the verdict on B.
fn conclusion(sides: &[Side; 2], comparer: &Comparer) -> String {
    let detector = comparer.detector();
    let (Some(of_a), Some(of_b)) = (sides[0].fingerprint(), sides[1].fingerprint()) else {
        return "verdict: UNDECIDABLE: a page without a fingerprint cannot be compared\n".to_owned();
    };
    let comparison = detector.compare(of_b, of_a);
    let mut out = format!(
        "{}: distance {}, similarity {}\n",
        detector.name(),
        detector.distance(comparison.distance),
        detector.similarity(of_a, of_b)
    );
    if let Some(Related { relation, shares }) = comparer.related(sides) {
        let percent = |share: u32| format!("{:.0} %", f64::from(share) / 100.0);
        out.push_str(&format!(
            "  B to A: {}; {} of B is in A, and {} of A is in B\n",
            relation.as_str(),
            percent(shares.of_a),
            percent(shares.of_b)
        ));
    }
    for (name, value) in detector.evidence(of_b, of_a) {
        out.push_str(&wrap(&format!("  {name:<22} "), "    ", &clip(&plain(&value), EVIDENCE_COLUMNS)));
    }
    let verdict = match comparer.verdict(sides) {
        PairVerdict::Undecidable => "UNDECIDABLE: a page without a fingerprint cannot be compared",
        PairVerdict::Exact => "EXACT_DUPLICATE: the texts differ only in white space",
        PairVerdict::Near => "NEAR_DUPLICATE: B joins A's cluster",
        PairVerdict::Related => "UNIQUE: B is not near A, but related",
        PairVerdict::OtherCorpora => "UNIQUE: A and B are in different corpora, which are never compared",
        PairVerdict::Unique => "UNIQUE: B is not near A",
    };
    let _ = writeln!(out, "verdict if A came first: {verdict}");
    out
}

/// Formats the comparison by each detector.
fn every_detector(opinions: &[Opinion]) -> String {
    let mut out = String::from("\nevery detector:\n");
    for Opinion { name, compared } in opinions {
        let Some(Compared { near, distance, similarity, evidence, .. }) = compared else {
            let _ = writeln!(out, "  {name:<17} no fingerprint: too little text");
            continue;
        };
        let near = if *near { "near" } else { "not near" };
        let _ = writeln!(out, "  {name:<17} {near:<9} distance {distance}, similarity {similarity}");
        for (name, value) in evidence {
            out.push_str(&wrap(
                &format!("      {}: ", name.replace('_', " ")),
                "        ",
                &clip(&plain(value), EVIDENCE_COLUMNS),
            ));
        }
    }
    out
}

/// Loads the page that an argument names.
fn load(name: &str, config: &Config) -> anyhow::Result<Page> {
    match file_and_id(name) {
        Some((file, id)) => find(Path::new(file), id, config),
        None => html_page(Path::new(name), config),
    }
}

/// Splits the name of a page in a file, `FILE#ID`. Returns `None` if the name is that of a file.
fn file_and_id(name: &str) -> Option<(&str, &str)> {
    if Path::new(name).exists() { None } else { name.rsplit_once('#') }
}

/// Finds the page `id` in a file of pages.
fn find(path: &Path, id: &str, config: &Config) -> anyhow::Result<Page> {
    let found = pages::find(&[path.to_owned()], config, |page| page.id == id)?;
    found.ok_or_else(|| wrong(format_args!("{}: no page has the id {id:?}", path.display())))
}

/// Formats the most frequent terms with their frequencies, without the terms of `others`.
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
