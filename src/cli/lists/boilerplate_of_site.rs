//! `leitong boilerplate site`: lists the paragraphs that pages of one site share, read from the page topic of
//! a worker, for the site that a template alarm names.
//!
//! In: a site, as the alarm names it; the messages of the page topic from a given time on. Out: a list of
//! boilerplate with up to three paragraphs that at least half of the pages share. The command joins no
//! consumer group and commits nothing. Only pages of the site are extracted. Memory: one page, and 256
//! paragraphs of at most 1,024 bytes.

use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

use anyhow::bail;
use clap::Args;

use crate::cli::files::documents;
use crate::cli::files::parts::{Overwrite, Parts};
use crate::cli::interrupt::Interrupt;
use crate::cli::lists::shared_paragraphs::{Shared, Site};
use crate::cli::service::tap::{From, from};
use crate::cli::settings::{self, Wrong};
use leitong_base::record::Received;
use leitong_base::terminal;
use leitong_base::work::Work;
use leitong_fingerprint::boilerplate::HEADER;
use leitong_kafka::Received as OfTopic;
use leitong_kafka::Tail;
use leitong_pipeline::Message;
use leitong_pipeline::PageReader;
use leitong_pipeline::config::Config;
use leitong_pipeline::document;
use leitong_pipeline::templates;
use leitong_text::extract::Extractor;
use leitong_text::page::mapping::MessageOutcome;
use leitong_text::segment::{Segmenter, Terms};

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
    #[arg(long, value_name = "WHEN", default_value = "1d", value_parser = from)]
    from: From,
    /// File to write the list to; `-` for standard output
    #[arg(short, long, value_name = "FILE", default_value = "-")]
    output: PathBuf,
    #[command(flatten)]
    overwrite: Overwrite,
}

/// Reader that turns messages into normalised paragraphs, with the same configuration as the worker.
struct Reader {
    config: Config,
    reader: PageReader,
    segmenter: Segmenter,
    extractor: Extractor,
    terms: Terms,
}

impl Reader {
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
    let mut tail = Tail::begin(&config.kafka, &topic, arguments.from.start())?;
    let mut reader = Reader::new(config)?;
    let (mut found, mut read) = (Site::default(), 0_u64);
    // At the end of the topic, the command waits only if new pages were requested.
    let waits = arguments.from == From::Now;
    while found.pages() < *pages && !interrupt.is_requested() && (waits || !tail.is_read_to_end()) {
        let Some(message) = tail.next(WAIT)? else { continue };
        read += 1;
        if let Some(terms) = reader.terms(message, site) {
            found.count(terms.paragraphs().iter().map(|paragraph| &terms.text()[paragraph.text.clone()]));
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
    let Shared { pages, lines } = found.shared();
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
