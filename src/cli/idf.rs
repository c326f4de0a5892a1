//! `leitong idf build`: how rare terms are, counted over pages.

use std::process::ExitCode;

use clap::{Args, Subcommand};

use super::documents::Counted;
use crate::fingerprint::idf::IdfBuilder;
use crate::telemetry::terminal;

#[derive(Debug, Args)]
pub(super) struct Arguments {
    #[command(subcommand)]
    action: Action,
}

#[derive(Debug, Subcommand)]
enum Action {
    /// Count in how many pages each term occurs; name the table in `idf.file`
    Build {
        #[command(flatten)]
        pages: Counted,
        /// Leave out terms that occur in fewer pages: they count as if they occurred in one
        #[arg(long, value_name = "N", default_value_t = 3)]
        pages_min: u32,
        /// Terms held at once; beyond them the rarest go
        #[arg(long, value_name = "N", default_value_t = 5_000_000)]
        terms_max: usize,
    },
}

pub(super) fn run(arguments: &Arguments) -> anyhow::Result<ExitCode> {
    let Action::Build { pages, pages_min, terms_max } = &arguments.action;
    let mut builder = IdfBuilder::new((*terms_max).max(1_000));
    pages.for_each(|terms| builder.add(terms))?;
    let file = builder.file(*pages_min);
    pages.write(&file)?;
    terminal::note(format_args!("{} pages, {} terms", builder.documents(), file.lines().count() - 2));
    Ok(ExitCode::SUCCESS)
}
