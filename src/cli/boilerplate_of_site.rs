//! `leitong boilerplate site`: the paragraphs that pages of one site share, out of the page topic of a worker. What to
//! run after a template alarm where no instance that reads the site's pages has told them.
//!
//! In: a site, as the alarm names it; the messages of the page topic, from a while ago on. Out: a list of boilerplate
//! with up to three paragraphs that half of the pages and more share. Joins no group and commits nothing. Only pages of
//! the site are extracted. Memory: one page, and 256 paragraphs of at most 1,024 bytes.

use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

use anyhow::bail;
use clap::Args;

use super::documents;
use super::interrupt::Interrupt;
use super::settings::{self, Wrong};
use super::tap::{From, from};
use crate::config::Config;
use crate::detectors::paragraph::boilerplate::HEADER;
use crate::extract::Extractor;
use crate::kafka::page_message::Message;
use crate::kafka::received::Received as OfTopic;
use crate::kafka::tail::Tail;
use crate::page::mapping::Taken;
use crate::pipeline::document;
use crate::pipeline::page_reader::PageReader;
use crate::record::Received;
use crate::segment::{Segmenter, Terms};
use crate::telemetry::shared_paragraphs::{Shared, Site};
use crate::telemetry::{templates, terminal};
use crate::work::Work;

/// How long messages are waited for before Ctrl-C is looked at.
const WAIT: Duration = Duration::from_millis(200);

#[derive(Debug, Args)]
pub(super) struct Arguments {
    /// The site, as the alarm names it
    #[arg(value_name = "SITE")]
    site: String,
    /// The worker's configuration, which names brokers and page topic
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
    /// Pages of the site to look at
    #[arg(long, value_name = "N", default_value_t = 10, value_parser = clap::value_parser!(u32).range(2..=10_000))]
    pages: u32,
    /// Where to begin: beginning, or so long ago, such as 90s, 15m, 2h or 3d; now waits for new pages
    #[arg(long, value_name = "WHEN", default_value = "1d", value_parser = from)]
    from: From,
    /// Where to write
    #[arg(short, long, value_name = "FILE", default_value = "-")]
    output: PathBuf,
}

/// Pages to their normalised paragraphs, as the worker of this configuration has them.
struct Reader {
    config: Config,
    reader: PageReader,
    segmenter: Segmenter,
    extractor: Extractor,
    terms: Terms,
}

impl Reader {
    fn new(config: Config) -> anyhow::Result<Self> {
        let reader = PageReader::new(&config, true).map_err(Wrong::from)?;
        let segmenter = settings::segmenter(&config)?;
        let extractor = Extractor::new(&config.extract);
        Ok(Self { config, reader, segmenter, extractor, terms: Terms::default() })
    }

    /// The terms of a message's page, if it is one of `site` with a main text.
    fn terms(&mut self, message: OfTopic, site: &str) -> Option<&Terms> {
        let received = Received { key: message.key, headers: message.headers, log_time: None };
        let message = Message { value: message.value.as_deref(), received: Box::new(received) };
        let Ok(Taken::Page(page)) = self.reader.message(&message) else { return None };
        if !templates::is_of_site(&page.url, site) {
            return None;
        }
        let mut work = Work::up_to(self.config.page.work_max);
        let reading = document::read(&page, &mut self.extractor, &mut work).ok()?;
        self.segmenter.segment_within(&reading.document, &mut self.terms, &mut work).ok()?;
        Some(&self.terms)
    }
}

pub(super) fn run(arguments: &Arguments) -> anyhow::Result<ExitCode> {
    let Arguments { site, pages, .. } = arguments;
    let config = settings::kafka_config(arguments.config.as_deref())?;
    let topic = config.kafka.topics.pages.clone();
    let interrupt = Interrupt::listen()?;
    let mut tail = Tail::begin(&config.kafka, &topic, arguments.from.start())?;
    let mut reader = Reader::new(config)?;
    let (mut found, mut read) = (Site::default(), 0_u64);
    // New pages alone are worth waiting for.
    let waits = arguments.from == From::Now;
    while found.pages() < *pages && !interrupt.is_requested() && (waits || !tail.is_read_to_end()) {
        let Some(message) = tail.next(WAIT)? else { continue };
        read += 1;
        if let Some(terms) = reader.terms(message, site) {
            found.count(terms.paragraphs().iter().map(|paragraph| &terms.text()[paragraph.text.clone()]));
        }
    }
    terminal::note(format_args!("{read} messages of topic {topic} read, {} pages of {site}", found.pages()));
    if found.pages() < 2 {
        bail!(
            "topic {topic} has {} pages of {site:?} with a main text from there on; look further back with --from 7d or \
             --from beginning, or wait for new ones with --from now",
            found.pages()
        );
    }
    let Shared { pages, lines } = found.shared();
    let mut file =
        format!("{HEADER}\n# On half and more of {pages} pages of {}.\n", terminal::escape_lines(site));
    for (shared_by, line) in &lines {
        file.push_str(&format!("# On {shared_by} of {pages}:\n{line}\n"));
    }
    documents::write(&arguments.output, &file)?;
    if lines.is_empty() {
        terminal::note(format_args!(
            "half of these pages share no paragraph; compare two of them with `leitong compare`"
        ));
    }
    Ok(ExitCode::SUCCESS)
}
