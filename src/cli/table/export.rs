//! `leitong table export`: prints a saved table as lines of JSON.

use std::path::{Path, PathBuf};

use anyhow::Context;
use clap::Args;

use crate::cli::outputs::refuse_overwriting;
use leitong_base::proto;
use leitong_corpora::sink::WholeLines;
use leitong_store::snapshot::{CentroidLine, CrawlLine, LinesHead, Saved, SnapshotError, TableDir, TextLine};

#[derive(Debug, Args)]
pub(super) struct Arguments {
    /// Print everything that `import` needs: also the table's position first, and the crawled urls and the
    /// texts of duplicates last
    #[arg(long)]
    all: bool,
    /// File to write to [default: standard output]
    #[arg(long, value_name = "FILE")]
    output: Option<PathBuf>,
    /// Folder of the table
    #[arg(value_name = "DIR")]
    folder: PathBuf,
}

pub(super) fn run(arguments: &Arguments) -> anyhow::Result<()> {
    let Arguments { all, output, folder } = arguments;
    let output = output.as_deref().unwrap_or(Path::new("-"));
    refuse_overwriting(&[("--output", output.to_owned())], &[], &[folder])?;
    let cannot = || format!("cannot write {}", output.display());
    let mut lines = WholeLines::create(output).with_context(cannot)?;
    let mut begun = false;
    let mut failed = None;
    let begin = |position: &proto::Position| {
        let is_workers = position.blocks.as_ref().is_some_and(|blocks| blocks.changelog.is_some());
        if *all && is_workers { Err(SnapshotError::OfWorker { path: folder.clone() }) } else { Ok(()) }
    };
    let mut take = |position: &proto::Position, saved| {
        if failed.is_some() {
            return;
        }
        let head = (*all && !std::mem::replace(&mut begun, true)).then(|| LinesHead::new(position));
        let pushed = head.map_or(Ok(()), |head| lines.push(&head)).and_then(|()| match saved {
            Saved::Centroid(centroid) => lines.push(&CentroidLine::new(position, centroid)),
            Saved::Crawl(crawl) if *all => lines.push(&CrawlLine::new(crawl)),
            Saved::Texts(seen) if *all => (seen.first..)
                .zip(seen.texts)
                .try_for_each(|(sequence, text)| lines.push(&TextLine::new(sequence, text))),
            Saved::Crawl(_) | Saved::Texts(_) => Ok(()),
        });
        failed = pushed.err();
    };
    let position = TableDir::inspect_all(folder, begin, &mut take)?;
    if let Some(error) = failed {
        return Err(error).with_context(cannot);
    }
    let position = super::there_is(position, folder)?;
    if *all && !begun {
        lines.push(&LinesHead::new(&position)).with_context(cannot)?;
    }
    lines.flush().with_context(cannot)
}
