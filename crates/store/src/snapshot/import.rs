//! Imports the [lines](super::lines) of a whole table into a folder.
//!
//! The lines are first written to a file in the format of a table with all centroids in memory. Then that
//! file is loaded and saved as usual. So the same checks apply as for any file, and old centroids go to disk
//! if the settings say so. Memory: the table.

use std::io::{self, BufRead, Read};
use std::path::Path;

use serde::de::DeserializeOwned;

use super::SnapshotError;
use super::file::{TableWriter, at};
use super::lines::{CentroidLine, CrawlLine, LinesHead, TextLine};
use super::ours::FILE_NAME;
use super::table_dir::{SameSettings, TableDir, TableSettings, check_usable, new_table_id};
use leitong_base::proto;
use leitong_cluster::{Canonical, Centroid, CrawlChange, SeenText};

/// Maximum number of bytes of one line, far above that of any centroid.
const LINE_BYTES_MAX: u64 = 4 << 20;

impl TableDir {
    /// Imports a table from `lines` into `folder`, which must exist and be empty. Error messages name `input`
    /// as the source of the lines. Returns the number of centroids.
    ///
    /// # Errors
    /// [`SnapshotError::Exported`] if the lines are not a whole table, [`SnapshotError::OtherSettings`] if
    /// the table was made with other settings, and all errors of loading and saving a table.
    pub fn import(
        lines: impl Read,
        input: &Path,
        folder: &Path,
        settings: &TableSettings,
    ) -> Result<usize, SnapshotError> {
        let mut lines = Lines { reader: io::BufReader::new(lines), input, number: 0, line: Vec::new() };
        write_file(&mut lines, folder, settings)?;
        let dir = TableDir::open(folder)?;
        let Some((clusterer, watermarks)) = dir.load_with_watermarks(settings)? else { return Ok(0) };
        dir.save_with_watermarks(&clusterer, &watermarks, settings)?;
        Ok(clusterer.centroid_count())
    }
}

fn write_file(
    lines: &mut Lines<'_, impl Read>,
    folder: &Path,
    settings: &TableSettings,
) -> Result<(), SnapshotError> {
    let head: LinesHead = lines.next("the description of the table")?;
    if head.table_format_version > LinesHead::FORMAT_VERSION {
        return Err(SnapshotError::TooNew {
            path: lines.input.to_owned(),
            found: head.table_format_version,
            known: LinesHead::FORMAT_VERSION,
        });
    }
    // The new table and the exported one continue separately.
    let position = proto::Position { table_id: Some(new_table_id()), ..head.into_message() };
    check_usable(lines.input, &position, settings, SameSettings::All)?;
    let cannot = at(folder);
    let mut writer = TableWriter::create(&folder.join(FILE_NAME), &position).map_err(&cannot)?;
    for _ in 0..position.centroid_count {
        let message = lines.next::<CentroidLine>("a centroid")?.into_message();
        Canonical::from_message(&message).map_err(|problem| lines.wrong(problem))?;
        writer.push(&message).map_err(&cannot)?;
        Centroid::from_message(&mut { message }, &*settings.detector)
            .map_err(|problem| lines.wrong(problem))?;
    }
    for _ in 0..position.crawl_change_count {
        let message = lines.next::<CrawlLine>("a crawl")?.into_message();
        writer.push(&message).map_err(&cannot)?;
        let change = CrawlChange::from_message(&mut { message }, &*settings.detector);
        if change.map_err(|problem| lines.wrong(problem))?.is_none() {
            return Err(lines.wrong("it does not describe a crawl".to_owned()));
        }
    }
    let founded = position.founded.unwrap_or_default();
    for _ in 0..position.text_count {
        let line = lines.next::<TextLine>("a text")?;
        let text = line.text().filter(|text| text.cluster < founded);
        let text = text.ok_or_else(|| lines.wrong("it has no valid text_key or cluster".to_owned()))?;
        let message = SeenText::to_message(line.sequence, std::iter::once(text), founded);
        writer.push(&message).map_err(&cannot)?;
    }
    if lines.read()? {
        return Err(lines.wrong("there are more lines than the first one says".to_owned()));
    }
    writer.finish().map_err(cannot)
}

/// Reads the lines of an exported table one by one.
struct Lines<'a, R> {
    reader: io::BufReader<R>,
    input: &'a Path,
    /// The number of the line read last, from 1.
    number: u64,
    line: Vec<u8>,
}

impl<R: Read> Lines<'_, R> {
    /// Reads the next line. Returns false at the end.
    fn read(&mut self) -> Result<bool, SnapshotError> {
        self.line.clear();
        self.number += 1;
        let mut rest = (&mut self.reader).take(LINE_BYTES_MAX);
        let bytes = rest.read_until(b'\n', &mut self.line).map_err(at(self.input))?;
        if bytes as u64 == LINE_BYTES_MAX {
            return Err(self.wrong(format!("it has more than {LINE_BYTES_MAX} bytes")));
        }
        Ok(bytes > 0)
    }

    /// Reads the next line. `what` names the expected kind of line in error messages.
    fn next<T: DeserializeOwned>(&mut self, what: &str) -> Result<T, SnapshotError> {
        if !self.read()? {
            return Err(self.wrong(format!("the lines end before {what}")));
        }
        serde_json::from_slice(&self.line).map_err(|error| self.wrong(format!("it is not {what}: {error}")))
    }

    fn wrong(&self, problem: String) -> SnapshotError {
        SnapshotError::Exported { path: self.input.to_owned(), line: self.number, problem }
    }
}
