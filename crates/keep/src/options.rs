//! Options of a run: the outputs for documents, and the choice of those that are kept.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::annotate::Added;
use super::fields::Field;
use super::output::Output;
use super::parts;
use super::passages::Limits;
use super::prefer::{Prefer, Rules};
use super::texts::{InputField, format_of};
use super::verify::LostMax;
use super::verify::table_texts::Founded;
use crate::error::Result;
use crate::sink::{Extent, Extents};
use leitong_formats::Again;

/// Options of a run: the outputs for documents, and the choice of those that are kept.
pub struct Options {
    /// The output for kept documents: a file, or a folder with one file per input.
    pub keep: Option<PathBuf>,
    /// Number of bytes of documents after which the output for kept documents goes on in another file.
    pub shard_bytes: Option<u64>,
    /// The output for dropped documents, which get fields about their verdicts.
    pub drop: Option<PathBuf>,
    /// The output for the clusters with their members.
    pub clusters: Option<PathBuf>,
    /// The output for a report: JSON or HTML if its name says so, otherwise text.
    pub report: Option<PathBuf>,
    /// The output for the counts by source: CSV if its name says so, otherwise JSON.
    pub accounts: Option<PathBuf>,
    /// The texts that are written to `keep` instead of unchanged documents.
    pub texts: Option<TextOptions>,
    /// True if kept documents get the fields about their verdicts, too.
    pub annotate: bool,
    /// True if revisit records replace dropped documents from WARC files.
    pub revisit: bool,
    /// The rule that chooses the kept document of each cluster.
    pub prefer: Prefer,
    /// The field that groups the documents of a cluster. One document per group is kept.
    pub one_per: Option<Field>,
    /// True if undecidable pages are dropped.
    pub drop_undecidable: bool,
    /// The limits on text that may be lost with a document, if documents are verified before they are dropped.
    pub verify: Option<LostMax>,
    /// The field whose values are sources.
    pub by: Option<Field>,
    /// Maximum share of the documents of a source that may be dropped, from 0 to 1.
    pub source_removed_max: Option<f64>,
    /// True if annotated documents get the number of documents in their cluster.
    pub cluster_sizes: bool,
    /// True if the languages of documents are detected.
    pub languages: bool,
    /// Options about passages that documents share, if any are set.
    pub passages: Option<PassageOptions>,
}

/// The texts that are written instead of documents.
pub struct TextOptions {
    /// The fields of the input that are written.
    pub fields: Vec<InputField>,
}

/// Options about passages that documents share with benchmarks or with many other documents.
pub struct PassageOptions {
    /// The files of benchmarks. Documents that share a passage with a benchmark are dropped.
    pub against: Vec<PathBuf>,
    /// The output for the passages that many kept documents have.
    pub list: Option<PathBuf>,
    /// True if the passages that many kept documents have are cut out of texts.
    pub cut: bool,
    /// Minimum number of letters of a passage.
    pub letters_min: u32,
    /// Minimum number of documents that must have a passage for it to be listed or cut.
    pub documents_min: u32,
    /// Maximum memory for the texts of benchmarks, and for the search for passages in many documents, in bytes.
    pub memory_bytes: usize,
    /// Normalises a line of text in the same way as the terms of a page.
    pub normalise: Arc<dyn Fn(&str) -> String + Send + Sync>,
}

/// The folder for the checkpoints of a run.
pub struct Checkpoints<'a> {
    /// The folder.
    pub folder: &'a Path,
    /// The checkpoint that an earlier, killed process left: the length of each output, and the last decided record (the
    /// index of its input, and its number).
    pub earlier: Option<(&'a Extents, (usize, u64))>,
}

/// The table of a run.
pub struct TableOfRun<'a> {
    /// The folder of the table.
    pub folder: &'a Path,
    /// The id of the table.
    pub id: u64,
    /// The log offset of the oldest cluster that documents of the run may have joined.
    pub oldest: u64,
    /// The log offset at which the run began.
    pub begun_at: u64,
    /// The log offset at which the run ends.
    pub until: u64,
}

impl TextOptions {
    /// Checks that texts can be written to a file of this name.
    ///
    /// # Errors
    /// The name belongs to another format.
    pub fn check_name(path: &Path) -> Result<()> {
        format_of(path).map(drop)
    }
}

impl Checkpoints<'_> {
    /// Removes the parts of outputs from `folder` that no checkpoint needs. `extents` are those of the current
    /// checkpoint, if there is one.
    ///
    /// # Errors
    /// The operating system's error.
    pub fn remove_parts(folder: &Path, extents: Option<&Extents>) -> io::Result<()> {
        parts::remove(folder, extents)
    }

    /// Returns the length of this output at the earlier checkpoint.
    pub(super) fn extent(&self, output: &str) -> Option<Extent> {
        self.earlier.and_then(|(extents, _)| extents.get(output).copied())
    }
}

impl TableOfRun<'_> {
    /// Returns the clusters of earlier runs that documents of this run may have joined.
    pub(super) fn founded(&self) -> Founded {
        Founded { oldest: self.oldest, before: self.begun_at }
    }
}

impl Options {
    /// Returns the files that documents of inputs with these `names` are written to, if `path` is the output. If it
    /// `has_shards`, these are the existing ones, and the first.
    #[must_use]
    pub fn output_files(path: &Path, names: &[PathBuf], has_shards: bool) -> Vec<PathBuf> {
        Output::paths(path, names, has_shards)
    }

    /// Returns the path of shard `number` of the output `path`.
    #[must_use]
    pub fn shard(path: &Path, number: usize) -> PathBuf {
        crate::shards::shard(path, number)
    }

    /// Returns true if `other` may become a shard of the output `path`.
    #[must_use]
    pub fn is_shard(path: &Path, other: &Path) -> bool {
        crate::shards::is_shard(path, other)
    }

    /// Returns true if documents are written.
    pub(super) fn copies(&self) -> bool {
        self.keep.is_some() || self.drop.is_some()
    }

    /// Returns true if documents are compared with benchmarks.
    pub(super) fn compares(&self) -> bool {
        self.passages.as_ref().is_some_and(|passages| !passages.against.is_empty())
    }

    /// Returns true if passages are cut out of texts.
    pub(super) fn cuts(&self) -> bool {
        self.passages.as_ref().is_some_and(|passages| passages.cut)
    }

    /// Returns true if the normalised texts of documents are needed at the end of the run.
    pub(super) fn needs_texts(&self) -> bool {
        self.passages.is_some() || self.verify.is_some()
    }

    /// Returns true if something about each page is passed on, besides its verdict.
    pub(super) fn needs_pages(&self) -> bool {
        self.needs_texts() || self.clusters.is_some() || self.languages
    }

    /// Returns true if documents can be copied during the run.
    pub(super) fn copies_at_once(&self, rules: Rules) -> bool {
        // Accounts are not part of a checkpoint.
        let waits = self.verify.is_some()
            || self.cluster_sizes
            || self.source_removed_max.is_some()
            || self.by.is_some();
        let waits = waits || self.compares() || self.cuts();
        self.prefer.is_known_at_once(rules) && !waits
    }

    /// Returns true if the first document of each cluster is kept, so that the choice needs no other data about
    /// documents.
    pub(super) fn keeps_first(&self, rules: Rules) -> bool {
        self.prefer.is_known_at_once(rules) && self.source_removed_max.is_none() && !self.compares()
    }

    /// Returns the parts of each copied document that are read again.
    pub(super) fn read_again(&self) -> Again {
        let written = self.texts.iter().flat_map(|texts| &texts.fields).map(InputField::first);
        let fields = written.chain(self.by.as_ref().and_then(Field::column)).collect();
        let are_rows_written = self.texts.is_none() || self.drop.is_some();
        let again = Again::fields(fields);
        if are_rows_written { again.with_rows() } else { again.with_sizes() }
    }

    /// Returns the groups of fields that annotated documents get.
    pub(super) fn added(&self) -> Added {
        Added {
            language: self.languages,
            cluster_size: self.cluster_sizes,
            check: self.verify.is_some(),
            benchmark: self.compares(),
            // Only texts are cut.
            cut: false,
        }
    }

    /// Returns the folder for temporary files: the one that contains the first output that is not standard output.
    pub(super) fn temporary_folder(&self) -> PathBuf {
        let Self { keep, drop, clusters, report, passages, .. } = self;
        let list = passages.as_ref().and_then(|passages| passages.list.as_ref());
        let outputs = [keep.as_ref(), drop.as_ref(), clusters.as_ref(), report.as_ref(), list];
        folder_beside(outputs.into_iter().flatten())
    }
}

impl PassageOptions {
    /// Returns true if passages that are in many documents are searched for.
    pub(super) fn repeats(&self) -> bool {
        self.list.is_some() || self.cut
    }

    pub(super) fn limits(&self) -> Limits {
        let Self { letters_min, documents_min, memory_bytes, .. } = *self;
        Limits { letters_min, documents_min, memory_bytes }
    }
}

/// Returns the folder that contains the first output that is not standard output, or the system's temporary folder.
pub(super) fn folder_beside<'a>(mut outputs: impl Iterator<Item = &'a PathBuf>) -> PathBuf {
    let first = outputs.find(|path| *path != Path::new("-"));
    match first.and_then(|path| path.parent()) {
        Some(folder) if folder.as_os_str().is_empty() => PathBuf::from("."),
        Some(folder) => folder.to_owned(),
        None => std::env::temp_dir(),
    }
}
