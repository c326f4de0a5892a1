//! Counts the documents of each cluster, and keeps the counts in the folder of a table from run to run.
//!
//! The file has the id of its table, and 12 bytes per cluster: the log offset of its founder and the count. It says up
//! to which log offset documents are counted. The file is replaced before the table is saved, and the former one stays next to it. So if
//! the run is killed in between, the next run finds the counts that belong to the table.

use std::collections::HashMap;
use std::fs;
use std::io;
use std::path::Path;

use xxhash_rust::xxh3::xxh3_64;

use super::spool::Spooled;
use super::verify::table_texts::Founded;
use crate::error::Result;
use crate::sink::whole_lines::WholeLines;
use leitong_cluster::ClusterId;
use leitong_store::snapshot::Unfinished;

/// The number of documents in each cluster, by the log offset of its founder.
pub(crate) type Sizes = HashMap<u64, u64>;

/// The first line of the file.
const MAGIC: &[u8] = b"leitong sizes 2\n";
/// The names of the file, and of the file that it has replaced.
const NAMES: [&str; 2] = ["sizes.leitong", "sizes.before"];

/// The counts in the folder of a table.
#[derive(Debug, Default)]
pub struct TableSizes {
    /// The counts.
    pub(super) sizes: Sizes,
    /// The log offset up to which documents are counted.
    pub until: u64,
}

impl Spooled {
    /// Counts the documents of each cluster.
    ///
    /// # Errors
    /// The decisions cannot be read.
    pub(crate) fn cluster_sizes(&mut self) -> Result<Sizes> {
        let mut sizes = Sizes::new();
        self.each(|_, decision| {
            if decision.cluster_id.is_some() {
                *sizes.entry(decision.founded).or_default() += 1;
            }
            Ok(())
        })?;
        Ok(sizes)
    }
}

impl TableSizes {
    /// The version of the format of the file.
    pub const FORMAT_VERSION: u32 = 2;

    /// Reads the counts in the folder of the table with the id `table`, whose next log offset is `next`. Returns `None`
    /// if there are none up to that offset.
    ///
    /// # Errors
    /// A file cannot be read, is damaged, or belongs to another table.
    pub fn read(folder: &Path, table: u64, next: u64) -> io::Result<Option<Self>> {
        for name in NAMES {
            if let Some(found) =
                Self::read_file(&folder.join(name), table)?.filter(|found| found.until <= next)
            {
                return Ok(Some(found));
            }
        }
        Ok(None)
    }

    fn read_file(path: &Path, table: u64) -> io::Result<Option<Self>> {
        let bytes = match fs::read(path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            bytes => bytes?,
        };
        let error = |problem: &str| {
            let problem = format!("{}: {problem} to begin counting again", path.display());
            io::Error::new(io::ErrorKind::InvalidData, problem)
        };
        let damaged = || error("damaged, or of another version; remove the file");
        let (counted, sum) = bytes.split_last_chunk::<8>().ok_or_else(damaged)?;
        let body = counted.strip_prefix(MAGIC).filter(|_| xxh3_64(counted) == u64::from_le_bytes(*sum));
        let (id, body) = body.and_then(<[u8]>::split_first_chunk::<8>).ok_or_else(damaged)?;
        let (until, entries) = body.split_first_chunk::<8>().ok_or_else(damaged)?;
        if u64::from_le_bytes(*id) != table {
            return Err(error(
                "counts the documents of another table; restore the whole folder from one backup, or remove the file",
            ));
        }
        let entry = |entry: &[u8; 12]| {
            let (founder, count) = entry.split_at(8);
            let founder = founder.first_chunk().map_or(0, |bytes| u64::from_le_bytes(*bytes));
            (founder, count.first_chunk().map_or(0, |bytes| u32::from_le_bytes(*bytes)).into())
        };
        let sizes = entries.as_chunks::<12>().0.iter().map(entry).collect();
        Ok(Some(Self { sizes, until: u64::from_le_bytes(*until) }))
    }

    /// Adds the counts of a run to those in the folder of the table with the id `table`, removes expired clusters, and writes the result. Documents are
    /// then counted up to the log offset `until`.
    ///
    /// # Errors
    /// The files cannot be read or written.
    pub(super) fn add(
        (folder, table): (&Path, u64),
        run: &Sizes,
        founded: Founded,
        until: u64,
    ) -> io::Result<Self> {
        let mut all = Self::read(folder, table, founded.before)?.unwrap_or_default();
        all.sizes.retain(|founder, _| *founder >= founded.oldest);
        for (founder, count) in run {
            *all.sizes.entry(*founder).or_default() += count;
        }
        all.until = until;
        let [current, before] = NAMES.map(|name| folder.join(name));
        let new = Unfinished::new(folder.join("sizes.new"));
        fs::write(new.path(), all.encoded(table))?;
        fs::File::open(new.path())?.sync_all()?;
        // The file of a run that was not completed is not worth keeping.
        if Self::read_file(&current, table)?.is_some_and(|found| found.until <= founded.before) {
            fs::rename(&current, &before)?;
        }
        new.replace(&current)?;
        Ok(all)
    }

    fn encoded(&self, table: u64) -> Vec<u8> {
        let mut entries: Vec<(u64, u64)> =
            self.sizes.iter().map(|(founder, count)| (*founder, *count)).collect();
        entries.sort_unstable();
        let mut bytes = [MAGIC, &table.to_le_bytes(), &self.until.to_le_bytes()].concat();
        for (founder, count) in entries {
            bytes.extend_from_slice(&founder.to_le_bytes());
            bytes.extend_from_slice(&u32::try_from(count).unwrap_or(u32::MAX).to_le_bytes());
        }
        bytes.extend_from_slice(&xxh3_64(&bytes).to_le_bytes());
        bytes
    }

    /// Appends the line of a cluster. Returns false if its documents were not counted.
    ///
    /// # Errors
    /// The line cannot be written.
    pub fn push_line(
        &self,
        lines: &mut WholeLines,
        cluster_id: ClusterId,
        canonical_page_id: &str,
    ) -> io::Result<bool> {
        let Some(size) = self.sizes.get(&cluster_id.log_offset) else { return Ok(false) };
        lines.push(&serde_json::json!({
            "cluster_id": cluster_id.to_string(),
            "canonical_page_id": canonical_page_id,
            "leitong_cluster_size": size,
        }))?;
        Ok(true)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_of_a_run_that_was_not_completed_are_not_used() {
        let folder = tempfile::tempdir().expect("a folder");
        let add = |run: &[(u64, u64)], oldest, before, until| {
            let run = run.iter().copied().collect();
            TableSizes::add((folder.path(), 77), &run, Founded { oldest, before }, until).expect("written")
        };
        let read = |next| TableSizes::read(folder.path(), 77, next).expect("read").map(|found| found.sizes);
        let sizes = |sizes: &[(u64, u64)]| Some(sizes.iter().copied().collect());
        assert_eq!(read(0), None);
        add(&[(0, 3), (2, 1)], 0, 0, 4);
        assert_eq!(read(4), sizes(&[(0, 3), (2, 1)]));
        // A run is killed before its table is saved, and repeated.
        for _ in 0..2 {
            add(&[(0, 1), (5, 1)], 0, 4, 6);
            assert_eq!(read(4), sizes(&[(0, 3), (2, 1)]));
        }
        assert_eq!(read(6), sizes(&[(0, 4), (2, 1), (5, 1)]));
        assert_eq!(add(&[(5, 1)], 2, 6, 7).sizes.get(&0), None, "the cluster has expired");
        let path = folder.path().join("sizes.leitong");
        let before = fs::read(&path).expect("the file");
        let other = TableSizes::read(folder.path(), 78, 7).expect_err("another table").to_string();
        assert!(other.contains("sizes.leitong: counts the documents of another table"), "{other}");
        let founded = Founded { oldest: 0, before: 7 };
        assert!(TableSizes::add((folder.path(), 78), &Sizes::new(), founded, 8).is_err());
        assert_eq!(fs::read(&path).expect("the file"), before, "left as it is");
        let mut bytes = fs::read(&path).expect("the file");
        bytes[20] ^= 1;
        fs::write(&path, bytes).expect("written");
        assert!(TableSizes::read(folder.path(), 77, 7).is_err(), "damaged");
    }
}
