//! Exports a saved table as lines of JSON.

use std::path::Path;

use super::inspect::Saved;
use super::lines::{CentroidLine, CrawlLine, LineContents, LinesHead, TableLine, TextLine};
use super::{SnapshotError, TableDir};
use leitong_base::proto;

impl TableDir {
    /// Calls `take` with a line for each centroid of the table in `folder`, oldest first. Returns false if there is no
    /// table.
    ///
    /// # Errors
    /// The table cannot be read.
    pub fn export_centroids(folder: &Path, mut take: impl FnMut(TableLine)) -> Result<bool, SnapshotError> {
        let mut each = |position: &proto::Position, saved| {
            if let Saved::Centroid(centroid) = saved {
                take(TableLine(LineContents::Centroid(CentroidLine::new(position, centroid))));
            }
        };
        Ok(Self::inspect_all(folder, |_| Ok(()), &mut each)?.is_some())
    }

    /// Calls `take` with each line that an import of the table in `folder` needs: its position, its centroids, oldest
    /// first, crawls and texts. Returns false if there is no table.
    ///
    /// # Errors
    /// The table cannot be read. [`SnapshotError::OfWorker`] for a worker's table, which cannot be imported.
    pub fn export(folder: &Path, mut take: impl FnMut(TableLine)) -> Result<bool, SnapshotError> {
        let begin = |position: &proto::Position| {
            let is_workers = position.blocks.as_ref().is_some_and(|blocks| blocks.changelog.is_some());
            match is_workers {
                true => Err(SnapshotError::OfWorker { path: folder.to_owned() }),
                false => Ok(()),
            }
        };
        let mut line = |line| take(TableLine(line));
        let mut begun = false;
        let mut each = |position: &proto::Position, saved| {
            if !std::mem::replace(&mut begun, true) {
                line(LineContents::Head(LinesHead::new(position)));
            }
            match saved {
                Saved::Centroid(centroid) => {
                    line(LineContents::Centroid(CentroidLine::new(position, centroid)));
                }
                Saved::Crawl(crawl) => line(LineContents::Crawl(CrawlLine::new(crawl))),
                Saved::Texts(seen) => (seen.first..)
                    .zip(seen.texts)
                    .for_each(|(sequence, text)| line(LineContents::Text(TextLine::new(sequence, text)))),
            }
        };
        let Some(position) = Self::inspect_all(folder, begin, &mut each)? else { return Ok(false) };
        if !begun {
            line(LineContents::Head(LinesHead::new(&position)));
        }
        Ok(true)
    }
}
