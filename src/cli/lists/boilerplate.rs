//! `leitong boilerplate`: lists paragraphs that occur on many pages, for `paragraph.boilerplate_file`.
//! `build` counts the paragraphs of files, [`site`](crate::cli::lists::boilerplate_of_site) those of one site in the page
//! topic.

use std::process::ExitCode;

use clap::{Args, Subcommand};

#[cfg(feature = "kafka")]
use super::boilerplate_of_site;
use super::shared_paragraphs::ParagraphCounts;
use crate::cli::files::documents::Counted;
use leitong_base::terminal;
use leitong_fingerprint::boilerplate::HEADER;

#[derive(Debug, Args)]
pub(crate) struct Arguments {
    #[command(subcommand)]
    action: Action,
}

#[derive(Debug, Subcommand)]
enum Action {
    /// List the paragraphs that occur on many pages. Review the list before you name it in
    /// `paragraph.boilerplate_file`
    #[command(after_help = "\
    Example:
  leitong boilerplate build --output boilerplate.txt pages.jsonl.gz")]
    Build {
        #[command(flatten)]
        pages: Counted,
        /// List only paragraphs that are on at least N pages. N must be higher than the number of copies of any text
        #[arg(long, value_name = "N", default_value_t = 20)]
        pages_min: u32,
        /// Paragraphs held in memory; beyond that, the rarest are dropped
        #[arg(long, value_name = "N", default_value_t = 5_000_000)]
        paragraphs_max: usize,
    },
    /// List the paragraphs that pages of one site share, read from a worker's page topic. Use it for the site
    /// that a template alarm names
    #[cfg(feature = "kafka")]
    Site(boilerplate_of_site::Arguments),
}

pub(crate) fn run(arguments: &Arguments) -> anyhow::Result<ExitCode> {
    let (given, pages_min, paragraphs_max) = match &arguments.action {
        Action::Build { pages, pages_min, paragraphs_max } => (pages, pages_min, paragraphs_max),
        #[cfg(feature = "kafka")]
        Action::Site(arguments) => return boilerplate_of_site::run(arguments),
    };
    let mut counts = ParagraphCounts::new(*paragraphs_max);
    let (status, parts) = given.for_each(|terms| counts.count_page(terms))?;
    let pages = counts.pages();
    let common = counts.common(*pages_min);
    let mut file = format!("{HEADER}\n# On {pages_min} pages or more of {pages}.\n");
    common.iter().for_each(|(_, text)| file.push_str(&format!("{text}\n")));
    given.write(parts, &file)?;
    terminal::note(format_args!("{pages} pages, {} common paragraphs", common.len()));
    Ok(status)
}
