//! `leitong idf build`: how rare terms are, counted over pages.

use std::path::PathBuf;
use std::process::ExitCode;

use clap::{Args, Subcommand};

use super::documents;
use super::settings;
use crate::fingerprint::idf::IdfBuilder;
use crate::segment::Terms;

#[derive(Debug, Args)]
pub(super) struct Arguments {
    #[command(subcommand)]
    action: Action,
}

#[derive(Debug, Subcommand)]
enum Action {
    /// Count in how many pages each term occurs
    Build {
        /// Configuration file for extraction and segmentation
        #[arg(long, value_name = "FILE")]
        config: Option<PathBuf>,
        /// The table; name it in `idf.file`
        #[arg(long, value_name = "FILE", default_value = "-")]
        output: PathBuf,
        /// Leave out terms that occur in fewer pages: they count as if they occurred in one
        #[arg(long, value_name = "N", default_value_t = 3)]
        pages_min: u32,
        /// Terms held at once; beyond them the rarest go
        #[arg(long, value_name = "N", default_value_t = 5_000_000)]
        terms_max: usize,
        /// Pages as for `dedup`
        #[arg(value_name = "INPUT", required = true)]
        inputs: Vec<PathBuf>,
    },
}

pub(super) fn run(arguments: &Arguments) -> anyhow::Result<ExitCode> {
    let Action::Build { config, output, pages_min, terms_max, inputs } = &arguments.action;
    let config = settings::config(config.as_deref(), None, None)?;
    let segmenter = settings::segmenter(&config)?;
    let mut terms = Terms::default();
    let mut builder = IdfBuilder::new((*terms_max).max(1_000));
    documents::for_each(inputs, &config, |_, document, _| {
        segmenter.segment(&document, &mut terms);
        builder.add(&terms);
    })?;
    let file = builder.file(*pages_min);
    documents::write(output, &file)?;
    eprintln!("leitong: {} pages, {} terms", builder.documents(), file.lines().count() - 2);
    Ok(ExitCode::SUCCESS)
}
