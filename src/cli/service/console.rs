//! `leitong console`: serves a web page that compares pages in the browser, without a broker.

use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::Context;
use clap::Args;
use tokio::runtime::Builder;

use crate::cli::files::documents;
use crate::cli::interrupt;
use crate::cli::page::pages;
use crate::cli::settings;
use crate::cli::settings::Wrong;
use crate::cli::settings::wrong;
use leitong_base::terminal;
use leitong_http::console::{ConsolePort, FindPage, Saved, Site, Wanted};
use leitong_pipeline::comparison::Comparer;

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  leitong console                          # compare what you paste or upload
  leitong console --pages pages.jsonl.gz   # also find pages of this file by id or url
  leitong console --table state --verdicts verdicts.jsonl --pages pages.jsonl.gz")]
pub(crate) struct Arguments {
    /// Folder of a saved table to look pages and clusters up in. Another process may be using it
    #[arg(long, value_name = "DIR")]
    table: Option<PathBuf>,
    /// Files of verdicts written by `dedup`, to list the members of clusters. Not needed for a table of
    /// `serve`, which keeps its verdicts
    #[arg(long, value_name = "FILE", num_args = 1.., requires = "table")]
    verdicts: Vec<PathBuf>,
    /// Files of pages to find ids and urls in, in any format that `dedup` reads
    #[arg(long, value_name = "FILE", num_args = 1..)]
    pages: Vec<PathBuf>,
    /// Loopback address to serve on; port 0 picks a free port
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1:8643")]
    address: String,
    /// Configuration file (see `leitong config example`)
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
    /// Detector to decide with, instead of the configured one
    #[arg(long, value_name = "NAME")]
    detector: Option<String>,
}

pub(crate) fn run(arguments: &Arguments) -> anyhow::Result<ExitCode> {
    let config = settings::config(arguments.config.as_deref(), arguments.detector.as_deref(), None)?;
    let files = [&arguments.pages[..], &arguments.verdicts].concat();
    if let Some(pipe) = files.iter().find(|path| documents::is_read_once(path)) {
        return Err(wrong(format_args!(
            "{}: can be read only once, but the console reads its files at every look-up; write it to a file first",
            pipe.display()
        )));
    }
    // Reports a mistyped name now, and not at the first request.
    drop(documents::open(&files)?);
    let saved = arguments.table.clone().map(|table| Saved { table, verdicts: arguments.verdicts.clone() });
    if let Some(saved) = &saved {
        saved.look_up(Wanted::Page(""))?;
    }
    let comparer = Comparer::new(config).map_err(Wrong::from)?;
    let (pages, config) = (arguments.pages.clone(), comparer.config().clone());
    let find =
        move |name: &str| Ok(pages::find(&pages, &config, |page| page.id == name || page.url == name)?);
    let find = (!arguments.pages.is_empty()).then(|| Box::new(find) as FindPage);
    let site = Site::new(comparer, find, saved);
    let runtime =
        Builder::new_multi_thread().worker_threads(1).enable_all().build().context("cannot start threads")?;
    runtime.block_on(async {
        let signalled = interrupt::signalled()?;
        let port =
            ConsolePort::bind(&arguments.address).await.map_err(|error| match error.is_about_address() {
                true => wrong(error),
                false => error.into(),
            })?;
        terminal::note(format_args!("serving http://{}", port.address()));
        tokio::select! {
            () = port.serve(site) => {}
            () = signalled => {}
        }
        Ok(ExitCode::SUCCESS)
    })
}
