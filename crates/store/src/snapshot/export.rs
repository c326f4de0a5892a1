//! Exports a saved table as lines of JSON.

use std::path::Path;

use super::inspect::Saved;
use super::lines::{CentroidLine, CrawlLine, Line, LinesHead, TableLine, TextLine};
use super::{SnapshotError, TableDir};
use leitong_base::proto;

impl TableDir {
    /// Calls `take` with each line for the table in `folder`: its centroids, oldest first; with `all`, also what an
    /// import needs, with the table's position first. Returns false if there is no table.
    ///
    /// # Errors
    /// The table cannot be read. [`SnapshotError::OfWorker`] for `all` of a worker's table, which cannot be imported.
    pub fn export(folder: &Path, all: bool, mut take: impl FnMut(TableLine)) -> Result<bool, SnapshotError> {
        let begin = |position: &proto::Position| {
            let is_workers = position.blocks.as_ref().is_some_and(|blocks| blocks.changelog.is_some());
            match all && is_workers {
                true => Err(SnapshotError::OfWorker { path: folder.to_owned() }),
                false => Ok(()),
            }
        };
        let mut line = |line| take(TableLine(line));
        let mut begun = false;
        let mut each = |position: &proto::Position, saved| {
            if all && !std::mem::replace(&mut begun, true) {
                line(Line::Head(LinesHead::new(position)));
            }
            match saved {
                Saved::Centroid(centroid) => line(Line::Centroid(CentroidLine::new(position, centroid))),
                Saved::Crawl(crawl) if all => line(Line::Crawl(CrawlLine::new(crawl))),
                Saved::Texts(seen) if all => (seen.first..)
                    .zip(seen.texts)
                    .for_each(|(sequence, text)| line(Line::Text(TextLine::new(sequence, text)))),
                Saved::Crawl(_) | Saved::Texts(_) => {}
            }
        };
        let Some(position) = Self::inspect_all(folder, begin, &mut each)? else { return Ok(false) };
        if all && !begun {
            line(Line::Head(LinesHead::new(&position)));
        }
        Ok(true)
    }
}
