//! `leitong idf build`: counts in how many pages each term occurs.

use std::process::ExitCode;

use clap::{Args, Subcommand};

use crate::cli::files::documents::Counted;
use leitong_base::terminal;
use leitong_fingerprint::idf::IdfBuilder;

#[derive(Debug, Args)]
pub(crate) struct Arguments {
    #[command(subcommand)]
    action: Action,
}

#[derive(Debug, Subcommand)]
enum Action {
    /// Count in how many pages each term occurs. Name the resulting table in `idf.file`
    #[command(after_help = "\
    Example:
  leitong idf build --output idf.tsv pages.jsonl.gz")]
    Build {
        #[command(flatten)]
        pages: Counted,
        /// Leave out terms that occur in fewer pages than this. Detectors treat such a term as if it occurred
        /// in one page
        #[arg(long, value_name = "N", default_value_t = 3)]
        pages_min: u32,
        /// Terms held in memory; beyond that, the rarest are dropped
        #[arg(long, value_name = "N", default_value_t = 5_000_000)]
        terms_max: usize,
    },
}

pub(crate) fn run(arguments: &Arguments) -> anyhow::Result<ExitCode> {
    let Action::Build { pages, pages_min, terms_max } = &arguments.action;
    let mut builder = IdfBuilder::new((*terms_max).max(1_000));
    let (status, parts) = pages.for_each(|terms| builder.add(terms))?;
    let file = builder.file(*pages_min);
    pages.write(parts, &file)?;
    terminal::note(format_args!("{} pages, {} terms", builder.documents(), file.lines().count() - 2));
    Ok(status)
}
