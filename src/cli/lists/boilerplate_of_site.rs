//! `leitong boilerplate site`: lists the paragraphs that pages of one site share, read from the page topic of
//! a worker, for the site that a template alarm names.
//!
//! In: a site, as the alarm names it; the messages of the page topic from a given time on. Out: a list of
//! boilerplate with up to three paragraphs that at least half of the pages share. The command joins no
//! consumer group and commits nothing. Only pages of the site are extracted. Memory: one page, and 1,000
//! paragraphs.

use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

use anyhow::bail;
use clap::Args;

use super::shared_paragraphs::PARAGRAPHS_MIN;
use super::shared_paragraphs::ParagraphCounts;
use crate::cli::files::documents;
use crate::cli::files::parts::Overwrite;
use crate::cli::files::parts::Parts;
use crate::cli::interrupt::Interrupt;
use crate::cli::service::tap::parse_read_from;
use crate::cli::settings;
use crate::cli::settings::Wrong;
use leitong_base::record::Received;
use leitong_base::terminal;
use leitong_base::work::Work;
use leitong_fingerprint::boilerplate::HEADER;
use leitong_kafka::Received as OfTopic;
use leitong_kafka::{Start, Tail};
use leitong_pipeline::config::Config;
use leitong_pipeline::{Message, PageReader, document, templates};
use leitong_text::extract::Extractor;
use leitong_text::page::mapping::MessageOutcome;
use leitong_text::segment::{Segmenter, Terms};

/// Maximum length of a paragraph that is listed, in bytes. Longer ones are text, and no template.
const LINE_BYTES_MAX: usize = 1024;
/// Maximum number of paragraphs that are listed.
const LINES_MAX: usize = 3;

/// Maximum wait for a message before Ctrl-C is checked again.
const WAIT: Duration = Duration::from_millis(200);

#[derive(Debug, Args)]
#[command(after_help = "\
Example:
  leitong boilerplate site --config leitong.toml --output boilerplate.txt news.example")]
pub(crate) struct Arguments {
    /// The site, as the alarm names it
    #[arg(value_name = "SITE")]
    site: String,
    /// The worker's configuration file, which names the brokers and the page topic
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
    /// Number of the site's pages to read
    #[arg(long, value_name = "N", default_value_t = 10, value_parser = clap::value_parser!(u32).range(2..=10_000))]
    pages: u32,
    /// Where to start reading: beginning, now (waits for new pages), or a time ago such as 90s, 15m, 2h or 3d
    #[arg(long, value_name = "WHEN", default_value = "1d", value_parser = parse_read_from)]
    from: Start,
    /// File to write the list to; `-` for standard output
    #[arg(short, long, value_name = "FILE", default_value = "-")]
    output: PathBuf,
    #[command(flatten)]
    overwrite: Overwrite,
}

/// Reader that turns messages into normalised paragraphs, with the same configuration as the worker.
struct SiteReader {
    config: Config,
    reader: PageReader,
    segmenter: Segmenter,
    extractor: Extractor,
    terms: Terms,
}

impl SiteReader {
    fn new(config: Config) -> anyhow::Result<Self> {
        let reader = PageReader::new(&config).map_err(Wrong::from)?;
        let segmenter = settings::segmenter(&config)?;
        let extractor = Extractor::new(&config.extract);
        Ok(Self { config, reader, segmenter, extractor, terms: Terms::default() })
    }

    /// Returns the terms of a message's page, or `None` if the page belongs to another site or has no main
    /// text.
    fn terms(&mut self, message: OfTopic, site: &str) -> Option<&Terms> {
        let received = Received { key: message.key, headers: message.headers, log_time: None };
        let message = Message { value: message.value.as_deref(), received: Box::new(received) };
        let Ok(MessageOutcome::Page(page)) = self.reader.message(&message) else { return None };
        if !templates::is_of_site(&page.url, site) {
            return None;
        }
        let mut work = Work::up_to(self.config.page.work_max);
        let reading = document::read(&page, &mut self.extractor, &mut work).ok()?;
        self.segmenter.segment_within(&reading.document, &mut self.terms, &mut work).ok()?;
        Some(&self.terms)
    }
}

pub(crate) fn run(arguments: &Arguments) -> anyhow::Result<ExitCode> {
    let Arguments { site, pages, .. } = arguments;
    let config = settings::kafka_config(arguments.config.as_deref())?;
    let output = [("--output", arguments.output.clone())];
    let parts = Parts::begin_checked(&output, &[], &[], arguments.overwrite)?;
    let topic = config.kafka.topics.pages.clone();
    let interrupt = Interrupt::listen()?;
    let mut tail = Tail::begin(&config.kafka, &topic, arguments.from)?;
    let mut reader = SiteReader::new(config)?;
    let (mut found, mut read) = (ParagraphCounts::new(PARAGRAPHS_MIN), 0_u64);
    // At the end of the topic, the command waits only if new pages were requested.
    let waits = arguments.from == Start::Now;
    while found.pages() < *pages && !interrupt.is_requested() && (waits || !tail.is_read_to_end()) {
        let Some(message) = tail.next(WAIT)? else { continue };
        read += 1;
        if let Some(terms) = reader.terms(message, site) {
            found.count_page(terms);
        }
    }
    terminal::note(format_args!(
        "read {read} messages of topic {topic}, with {} pages of {site}",
        found.pages()
    ));
    if found.pages() < 2 {
        bail!(
            "topic {topic} has {} page(s) of {site:?} with a main text since then, but two are needed; read \
             earlier pages with --from 7d, or wait for new ones with --from now",
            found.pages()
        );
    }
    let pages = found.pages();
    let lines = found.common(pages.div_ceil(2));
    let lines: Vec<_> =
        lines.iter().filter(|(_, line)| line.len() <= LINE_BYTES_MAX).take(LINES_MAX).collect();
    let mut file =
        format!("{HEADER}\n# On at least half of {pages} pages of {}.\n", terminal::escape_lines(site));
    for (shared_by, line) in &lines {
        file.push_str(&format!("# On {shared_by} of {pages}:\n{line}\n"));
    }
    documents::write(&arguments.output, &file)?;
    parts.finish()?;
    if lines.is_empty() {
        terminal::note(format_args!(
            "no paragraph is on half of these pages; compare two of them with `leitong compare`"
        ));
    }
    Ok(ExitCode::SUCCESS)
}
