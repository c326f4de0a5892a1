//! The list of blocks and runs that a saved table consists of. The list is in the same file as the rest of
//! the saved table, so both are of the same moment. Files that it does not name do not count.

use std::collections::BTreeSet;
use std::sync::Arc;

use super::BlockError;
use super::block::{self, Block};
use super::files::Files;
use super::parts::{NEW, PartReader};
use super::run::{self, Run};
use super::view::View;
use leitong_base::proto::Stretch;
use leitong_cluster::{Centroid, SeenTexts};

/// The blocks and runs of a saved table.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Manifest {
    /// Random id of the table. Every block and run of the table contains it.
    pub table_id: u64,
    /// Number of the oldest centroid that has not expired.
    pub first: u64,
    /// Number of the first centroid that is in no block.
    pub end: u64,
    /// The numbers in each block.
    pub blocks: Vec<Stretch>,
    /// The numbers in each run of keys.
    pub runs: Vec<Stretch>,
}

impl Manifest {
    /// Returns true if the blocks follow one another without gaps up to the end, and so do the runs. Then
    /// every unexpired centroid before `end` is there and can be found.
    #[must_use]
    pub fn is_dense(&self) -> bool {
        let follow = |stretches: &[Stretch]| {
            let begins = stretches.windows(2).all(|pair| pair[0].end == pair[1].first);
            begins && stretches.last().is_none_or(|last| last.end == self.end)
        };
        let first = |stretches: &[Stretch]| stretches.first().map_or(self.end, |first| first.first);
        let has_all = first(&self.blocks) <= self.first.min(self.end);
        follow(&self.blocks) && follow(&self.runs) && has_all && first(&self.runs) <= first(&self.blocks)
    }

    /// Opens all files that the manifest names.
    pub(super) fn open(&self, files: &dyn Files) -> Result<View, BlockError> {
        let block = |numbers: &Stretch| Block::open(files, self.table_id, *numbers).map(Arc::new);
        let run = |numbers: &Stretch| Run::open(files, self.table_id, *numbers).map(Arc::new);
        Ok(View {
            blocks: self.blocks.iter().map(block).collect::<Result<_, _>>()?,
            runs: self.runs.iter().map(run).collect::<Result<_, _>>()?,
            end: self.end,
        })
    }

    /// Reads every part of every file. Calls `each` with the file's name and its size, or the error.
    pub fn verify(&self, files: &dyn Files, mut each: impl FnMut(&str, Result<u64, BlockError>)) {
        for numbers in &self.blocks {
            let read =
                Block::open(files, self.table_id, *numbers).and_then(|block| block.verify(&mut |_| true));
            each(&block::name(numbers.first), read);
        }
        for numbers in &self.runs {
            let read = Run::open(files, self.table_id, *numbers).and_then(|run| run.verify(&mut |_| true));
            each(&run::name(*numbers), read);
        }
    }

    /// Calls `take` with the unexpired centroids in blocks, oldest first, each with its corpus and
    /// fingerprint hash. Needs memory for one group.
    ///
    /// # Errors
    /// [`BlockError`] if a file cannot be read or is damaged.
    pub fn read_all(
        &self,
        files: &dyn Files,
        mut take: impl FnMut(&str, u64, &Centroid),
    ) -> Result<(), BlockError> {
        for numbers in &self.blocks {
            let block = Block::open(files, self.table_id, *numbers)?;
            for group in block.groups() {
                let centroids = (group..).zip(block.group(group)?);
                for (_, (corpus, hash, centroid)) in centroids.filter(|(number, _)| *number >= self.first) {
                    take(corpus, hash, &centroid);
                }
            }
        }
        Ok(())
    }

    /// Calls `take` with the texts that are kept with each block, oldest first.
    ///
    /// # Errors
    /// [`BlockError`] if a file cannot be read or is damaged.
    pub fn read_texts(&self, files: &dyn Files, mut take: impl FnMut(SeenTexts)) -> Result<(), BlockError> {
        for numbers in &self.blocks {
            take(Block::open(files, self.table_id, *numbers)?.texts()?);
        }
        Ok(())
    }

    /// Returns the names of the files of all blocks and runs.
    pub(super) fn names(&self) -> BTreeSet<String> {
        let blocks = self.blocks.iter().map(|numbers| block::name(numbers.first));
        blocks.chain(self.runs.iter().map(|numbers| run::name(*numbers))).collect()
    }

    /// Deletes the files of blocks and runs of this table that neither the manifest nor `kept` names, and unfinished
    /// files. An earlier process left them if it ended before it saved its table.
    ///
    /// # Errors
    /// [`BlockError::OtherTable`] if a file belongs to another table, which may be its only copy, and all errors of
    /// reading and deleting files. Nothing is deleted if a file cannot be read or belongs to another table.
    pub(super) fn delete_others(&self, files: &dyn Files, kept: &BTreeSet<String>) -> Result<(), BlockError> {
        let cannot = |name: &str| {
            let path = files.path(name);
            move |error| BlockError::Io { path, error }
        };
        let known = self.names();
        let names = files.names().map_err(cannot(""))?.into_iter();
        let others: Vec<String> =
            names.filter(|name| !known.contains(name) && !kept.contains(name)).collect();
        for name in others.iter().filter(|name| is_block(name)) {
            let found = PartReader::table_id(files, name)?;
            if found != self.table_id {
                let (path, wanted) = (files.path(name), self.table_id);
                return Err(BlockError::OtherTable { path, found, wanted });
            }
        }
        let is_new = |name: &str| name.strip_suffix(NEW).is_some_and(is_block);
        for name in others.iter().filter(|name| is_block(name) || is_new(name)) {
            files.remove(name).map_err(cannot(name))?;
        }
        Ok(())
    }

    /// Deletes the files of all blocks and runs in a folder, whatever their table is.
    pub(crate) fn delete_all(files: &dyn Files) -> std::io::Result<()> {
        let names = files.names()?.into_iter();
        names.filter(|name| is_block(name)).try_for_each(|name| files.remove(&name))
    }
}

/// Returns true for the name of a complete block or run.
pub(crate) fn is_block(name: &str) -> bool {
    (name.starts_with("centroids-") || name.starts_with("keys-")) && name.ends_with(".block")
}
