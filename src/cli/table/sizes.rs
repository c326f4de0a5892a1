//! `leitong table export --sizes`: prints the number of documents in each cluster of a table.

use std::path::Path;

use anyhow::{Context, bail};

use crate::cli::files::documents::create;
use crate::cli::files::parts::Parts;
use leitong_base::terminal;
use leitong_cluster::ClusterId;
use leitong_keep::TableSizes;
use leitong_store::snapshot::TableDir;

pub(super) fn run(output: &Path, parts: Parts, folder: &Path) -> anyhow::Result<()> {
    // Finds damage before the output is written.
    let position = super::there_is(TableDir::inspect(folder, |_, _| {})?, folder)?;
    let next = position.next_log_offset;
    let read = |id| TableSizes::read(folder, id, next).context("cannot read the sizes of clusters");
    let Some(sizes) = position.table_id.map(read).transpose()?.flatten() else {
        bail!(
            "{}: has no sizes of clusters; `leitong dedup --table` with --cluster-sizes counts the documents of its run",
            folder.display()
        );
    };
    let mut lines = create(output)?;
    let mut uncounted = 0_u64;
    let mut written = Ok(());
    TableDir::inspect(folder, |position, centroid| {
        let cluster_id = ClusterId::in_table(position, centroid.log_offset);
        let canonical = centroid.canonical_page_id.as_ref().unwrap_or(&centroid.page_id);
        if written.is_ok() {
            let is_counted = sizes.push_line(&mut lines, cluster_id, canonical);
            written = is_counted.map(|is_counted| uncounted += u64::from(!is_counted));
        }
    })?;
    written.and_then(|()| lines.flush()).with_context(|| format!("cannot write {}", output.display()))?;
    parts.finish()?;
    if uncounted > 0 {
        terminal::note(format_args!(
            "{uncounted} clusters are left out: all their documents came from runs without --cluster-sizes"
        ));
    }
    if sizes.until < next {
        terminal::note(
            "the last run with this table was without --cluster-sizes: its documents are not counted",
        );
    }
    Ok(())
}
