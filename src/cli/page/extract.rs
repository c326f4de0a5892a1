//! `leitong extract`: prints the main text of one page, or of all pages of a file.

use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::Context;
use clap::{Args, ValueEnum};
use serde_json::{Value, json};

use crate::cli::files::documents;
use crate::cli::files::outputs::check_outputs;
use crate::cli::files::summary::format_repairs;
use crate::cli::settings;
use crate::cli::settings::wrong;
use leitong_base::terminal;
use leitong_base::work::Work;
use leitong_formats::source::Input;
use leitong_keep::sink::{Counts, WholeLines};
use leitong_pipeline::config::Config;
use leitong_pipeline::document;
use leitong_pipeline::document::{Charset, DecodedDocument, is_text_file};
use leitong_text::extract::{Document, Extractor, Paragraph, ParagraphKind};
use leitong_text::page::{Hints, Page};

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  leitong extract page.html
  leitong extract --format json page.html
  leitong extract --format markdown page.html
  leitong extract --jsonl pages.jsonl.gz > texts.jsonl")]
pub(crate) struct Arguments {
    /// Output format: the text with one paragraph per line, Markdown, or JSON with title, charset, and the kind of
    /// each paragraph. Text and Markdown begin with the article's headline
    #[arg(long, value_enum, default_value = "text")]
    format: Format,
    /// Extract all pages of FILE. Prints one JSON object per line, {"id", "title", "headline", "text", …},
    /// in the order of the file. With --format markdown, the text is Markdown
    #[arg(long, value_name = "FILE", conflicts_with = "page")]
    jsonl: Option<PathBuf>,
    /// Configuration file (see `leitong config example`)
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
    /// HTML page; `-` for standard input
    #[arg(value_name = "FILE", default_value = "-")]
    page: PathBuf,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Format {
    Text,
    Markdown,
    Json,
}

pub(crate) fn run(arguments: &Arguments) -> anyhow::Result<ExitCode> {
    let config = settings::config(arguments.config.as_deref(), None, None)?;
    match &arguments.jsonl {
        Some(_) if arguments.format == Format::Json => {
            Err(wrong("--format json: describes a single page; leave it out with --jsonl"))
        }
        Some(file) => many(file, arguments.format, &config),
        None => one(&arguments.page, arguments.format, &config),
    }
}

fn one(path: &Path, format: Format, config: &Config) -> anyhow::Result<ExitCode> {
    let page = html_page(path, config)?;
    let mut work = Work::up_to(config.page.work_max);
    let (reading, markdown) = document::read_markdown(&page, &mut extractor(format, config), &mut work)
        .map_err(|refusal| {
            anyhow::anyhow!("{}: {} ({})", path.display(), refusal.message, refusal.reason.as_str())
        })?;
    let text = match format {
        Format::Text => reading.document.text_with_headline(),
        Format::Markdown => ended(markdown.unwrap_or_else(|| reading.document.markdown())),
        Format::Json => format!("{:#}\n", describe(&reading)),
    };
    terminal::Streams::print(&text).context("cannot write the text")?;
    let (counts, mut repaired) = (Counts::default(), page.repaired);
    if let Some(charset) = reading.charset {
        charset.note_in(&mut repaired);
    }
    counts.repaired(&repaired);
    terminal::note_lines(format_repairs(&counts));
    Ok(ExitCode::SUCCESS)
}

/// Returns the extractor that a format needs.
fn extractor(format: Format, config: &Config) -> Extractor {
    match format {
        Format::Markdown => Extractor::for_markdown(&config.extract),
        Format::Text | Format::Json => Extractor::new(&config.extract),
    }
}

/// Returns `text` with a line feed at its end, unless it is empty.
fn ended(text: String) -> String {
    if text.is_empty() { text } else { text + "\n" }
}

fn many(path: &Path, format: Format, config: &Config) -> anyhow::Result<ExitCode> {
    let inputs = [path.to_owned()];
    check_outputs(&[], &inputs, &[])?;
    let mut extractor = extractor(format, config);
    let mut out = WholeLines::create(Path::new("-"))?;
    let counts = Counts::default();
    let status = documents::for_each_page(
        &inputs,
        config,
        |_| (),
        |_, mut page, ()| {
            out.push(&describe_page(&mut page, format, &mut extractor, config.page.work_max))
                .context("cannot write texts")?;
            counts.repaired(&page.repaired);
            Ok(())
        },
    )?;
    out.flush().context("cannot write texts")?;
    terminal::note_lines(format_repairs(&counts));
    Ok(status)
}

/// Formats one line of `--jsonl`, and notes in the page what could not be decoded.
fn describe_page(page: &mut Page, format: Format, extractor: &mut Extractor, work_max: u64) -> Value {
    let mut line = json!({ "id": page.id, "url": page.url, "title": page.title, "text": "" });
    match document::read_markdown(page, extractor, &mut Work::up_to(work_max)) {
        Ok((reading, markdown)) => {
            line["title"] = json!(reading.document.title);
            line["headline"] = json!(reading.document.headline);
            line["text"] = json!(match format {
                Format::Markdown => ended(markdown.unwrap_or_else(|| reading.document.markdown())),
                Format::Text | Format::Json => reading.document.text(),
            });
            line["kind"] = json!(reading.document.kind);
            line["charset"] = json!(reading.charset.as_ref().map(|charset| charset.name));
            line["page_kind"] = json!(reading.document.page_kind);
            line["metadata"] = json!(reading.document.metadata);
            if reading.no_content.is_some() {
                line["reason"] = json!(reading.no_content);
            }
            if let Some(charset) = reading.charset {
                charset.note_in(&mut page.repaired);
            }
        }
        Err(refusal) => line["reason"] = json!(refusal.reason),
    }
    line
}

/// Describes a document as JSON.
fn describe(reading: &DecodedDocument) -> Value {
    let Document { title, headline, kind, paragraphs, page_kind, metadata, .. } = &reading.document;
    json!({
        "title": title,
        "headline": headline,
        "kind": kind,
        "page_kind": page_kind,
        "metadata": metadata,
        "reason": reading.no_content,
        "charset": reading.charset.as_ref().map(|Charset { name, how, malformed, unknown }| {
            json!({ "name": name, "told_by": how, "malformed": malformed, "unknown": unknown })
        }),
        "paragraphs": paragraphs.iter().map(describe_paragraph).collect::<Vec<_>>(),
    })
}

fn describe_paragraph(paragraph: &Paragraph) -> Value {
    let (kind, level) = match paragraph.kind {
        ParagraphKind::Heading(level) => ("heading", Some(level)),
        ParagraphKind::Paragraph => ("paragraph", None),
        ParagraphKind::ListItem => ("list_item", None),
        ParagraphKind::TableCell => ("table_cell", None),
        ParagraphKind::Quote => ("quote", None),
        ParagraphKind::Code => ("code", None),
    };
    let mut described = json!({ "kind": kind, "text": paragraph.text });
    if let Some(level) = level {
        described["level"] = json!(level);
    }
    if let Some(heading) = paragraph.place.heading {
        described["under_heading"] = json!(heading);
    }
    if paragraph.place.list_level > 0 {
        described["list_level"] = json!(paragraph.place.list_level);
    }
    described
}

/// Reads the bytes of a file as a page.
pub(crate) fn html_page(path: &Path, config: &Config) -> anyhow::Result<Page> {
    let mut bytes = Vec::new();
    let limit = config.page.bytes_max as u64;
    let input = Input::open(path).with_context(|| format!("cannot read {}", path.display()))?;
    input
        .into_reader()
        .and_then(|reader| reader.take(limit + 1).read_to_end(&mut bytes))
        .with_context(|| format!("cannot read {}", path.display()))?;
    if bytes.len() as u64 > limit {
        return Err(wrong(format_args!(
            "{}: is larger than page.bytes_max = {limit} bytes; raise that setting",
            path.display()
        )));
    }
    if let Some(what) = Input::records_in(&bytes) {
        return Err(wrong(format_args!(
            "{}: holds {what}, not one page; `compare` takes a page of it as FILE#ID, and `extract` reads JSON lines \
             with --jsonl",
            path.display()
        )));
    }
    let url = path.to_string_lossy().into_owned();
    // A text file is recognised by its name, as a web server would do.
    let content_type = is_text_file(&url).then(|| "text/plain".to_owned());
    let hints = Hints { charset: None, content_type };
    Ok(Page { hints, ..Page::bytes(url, bytes) })
}
