//! The options of `leitong dedup` that write documents, clusters and reports. [`leitong_keep`] implements
//! them.

use std::path::{Path, PathBuf};

use clap::Args;

use crate::cli::dedup::passages;
use crate::cli::dedup::texts;
use crate::cli::files::documents::is_read_once;
use crate::cli::files::outputs::NEVER_COMPRESSED;
use crate::cli::files::outputs::without_compression;
use crate::cli::files::parts::RECEIPT;
use crate::cli::settings::share;
use crate::cli::settings::wrong;
use leitong_keep::{Field, LostMax, Options, Prefer};
use leitong_pipeline::config::Config;
use leitong_pipeline::{CompressedTexts, WrittenForm};

#[derive(Debug, Args)]
#[group(id = "documents")]
pub(crate) struct Arguments {
    /// Write the documents that are kept: to one file, or to a folder with one file per input, also in a store
    /// (s3://BUCKET/KEY, gs://…, az://…). Compressed if the name ends in .gz, .zst or .lz4. Verdicts are then written only
    /// with --output
    #[arg(long, value_name = "FILE|DIR", help_heading = "Documents")]
    keep: Option<PathBuf>,
    /// Divide the output of --keep, such as kept.jsonl, into files kept-00000.jsonl and so on, of at most N bytes before
    /// compression
    #[arg(long, value_name = "N", requires = "keep", value_parser = clap::value_parser!(u64).range(1..), help_heading = "Documents")]
    shard_bytes: Option<u64>,
    #[command(flatten)]
    texts: texts::Arguments,
    /// Write the documents that are not kept, with added fields about their verdicts
    #[arg(long, value_name = "FILE|DIR", help_heading = "Documents")]
    drop: Option<PathBuf>,
    /// Add the same fields as --drop to kept documents, too
    #[arg(long, requires = "keep", help_heading = "Documents")]
    annotate: bool,
    /// In the output of --keep, replace each duplicate from a WARC file by a `revisit` record that
    /// refers to the kept record, or to one with the same payload
    #[arg(long, requires = "keep", help_heading = "Documents")]
    revisit: bool,
    /// Document of each cluster to keep: first, longest (main text), newest or oldest (fetched_at), published
    /// (earliest by its own date), highest:/POINTER or lowest:/POINTER (a number or date in the document)
    #[arg(long, value_name = "WHICH", default_value = "first", help_heading = "Documents")]
    prefer: Prefer,
    /// Keep one document per value of this field in each cluster: host, or a JSON pointer such as /meta/source
    #[arg(long, value_name = "FIELD", help_heading = "Documents")]
    one_per: Option<Field>,
    /// Drop undecidable pages instead of keeping them
    #[arg(long, help_heading = "Documents")]
    drop_undecidable: bool,
    /// Keep a document if text would be lost with it, if facts differ from those of the kept documents of its cluster, or
    /// if it cannot be compared. Verdicts stay the same
    #[arg(long, help_heading = "Documents")]
    verify: bool,
    /// How much of a document may be lost before --verify keeps it: a share of its text, a number of letters in
    /// one passage, or both. An ideograph counts as three letters
    #[arg(
        long,
        value_name = "SHARE,LETTERS",
        default_value_t,
        requires = "verify",
        help_heading = "Documents"
    )]
    verify_lost_max: LostMax,
    /// Count documents and bytes by this field, in --accounts and --report: host, or a JSON pointer such as
    /// /meta/source
    #[arg(long, value_name = "FIELD", help_heading = "Documents")]
    by: Option<Field>,
    /// Write the counts of each source and the overlap between sources: CSV if the name ends in .csv, otherwise
    /// JSON
    #[arg(long, value_name = "FILE", requires = "by", help_heading = "Documents")]
    accounts: Option<PathBuf>,
    /// Stop before documents are written if more than this share of the documents of a source would be dropped. Sources
    /// of fewer than ten documents do not count
    #[arg(long, value_name = "SHARE", requires = "by", value_parser = share, help_heading = "Documents")]
    source_removed_max: Option<f64>,
    /// Add `leitong_cluster_size`, the number of documents in the cluster; needs --annotate or --drop
    #[arg(long, help_heading = "Documents")]
    cluster_sizes: bool,
    /// Write the clusters with their members, one JSON object per line
    #[arg(long, value_name = "FILE", help_heading = "Documents")]
    clusters: Option<PathBuf>,
    /// Write a report of the run: largest clusters, hosts, likely templates. JSON or HTML if the name ends in
    /// .json or .html, otherwise text
    #[arg(long, value_name = "FILE", help_heading = "Documents")]
    report: Option<PathBuf>,
    /// Write settings, counts, and SHA-256 of inputs and outputs as JSON, for `leitong audit --receipt`
    #[arg(long, value_name = "FILE", requires = "keep", help_heading = "Documents")]
    receipt: Option<PathBuf>,
    #[command(flatten)]
    passages: passages::Arguments,
}

impl Arguments {
    /// Returns true if documents are written. Verdicts then go to a file or nowhere.
    pub(crate) fn copies(&self) -> bool {
        self.keep.is_some() || self.drop.is_some()
    }

    /// Returns the documents whose texts are stored until the end of the run.
    pub(crate) fn compressed_texts(&self) -> CompressedTexts {
        match (self.passages.needs_texts(), self.verify) {
            (true, _) => CompressedTexts::All,
            (false, true) => CompressedTexts::Fingerprinted,
            (false, false) => CompressedTexts::None,
        }
    }

    /// Returns the form of the texts that are written, if any are.
    pub(crate) fn written_texts(&self) -> Option<WrittenForm> {
        self.texts.written_form()
    }

    /// Returns true if clusters are listed, with the titles of their members.
    pub(crate) fn lists_clusters(&self) -> bool {
        self.clusters.is_some()
    }

    /// Returns the file for the receipt.
    pub(crate) fn receipt(&self) -> Option<&Path> {
        self.receipt.as_deref()
    }

    /// Returns the files of benchmarks.
    pub(crate) fn benchmarks(&self) -> &[PathBuf] {
        self.passages.benchmarks()
    }

    /// Returns the options for the documents of a run with this configuration.
    pub(crate) fn keeping(&self, config: &Config) -> anyhow::Result<Options> {
        Ok(Options {
            keep: self.keep.clone(),
            shard_bytes: self.shard_bytes,
            drop: self.drop.clone(),
            clusters: self.clusters.clone(),
            report: self.report.clone(),
            accounts: self.accounts.clone(),
            texts: self.texts.options(),
            annotate: self.annotate,
            revisit: self.revisit,
            prefer: self.prefer.clone(),
            one_per: self.one_per.clone(),
            drop_undecidable: self.drop_undecidable,
            verify: self.verify.then_some(self.verify_lost_max),
            by: self.by.clone(),
            source_removed_max: self.source_removed_max,
            cluster_sizes: self.cluster_sizes,
            languages: false,
            passages: self.passages.options(config)?,
        })
    }

    /// Returns the options that name a file or a folder.
    fn paths(&self) -> [(&'static str, &Option<PathBuf>); 7] {
        [
            ("--keep", &self.keep),
            ("--drop", &self.drop),
            ("--clusters", &self.clusters),
            ("--report", &self.report),
            ("--accounts", &self.accounts),
            ("--passages", &self.passages.passages),
            (RECEIPT, &self.receipt),
        ]
    }

    /// Returns the outputs that may be in stores, each with its option.
    pub(crate) fn paths_mut(&mut self) -> [(&'static str, &mut Option<PathBuf>); 7] {
        [
            ("--keep", &mut self.keep),
            ("--drop", &mut self.drop),
            ("--clusters", &mut self.clusters),
            ("--report", &mut self.report),
            ("--accounts", &mut self.accounts),
            ("--passages", &mut self.passages.passages),
            (RECEIPT, &mut self.receipt),
        ]
    }

    /// Returns the files and folders that are written.
    pub(crate) fn outputs(&self) -> impl Iterator<Item = &Path> {
        self.paths().into_iter().filter_map(|(_, path)| path.as_deref())
    }

    /// Returns the files that are written for inputs with these `names`, each with its option.
    pub(crate) fn files(&self, names: &[PathBuf]) -> Vec<(&'static str, PathBuf)> {
        let folders = [("--keep", &self.keep), ("--drop", &self.drop)];
        let documents = folders.into_iter().filter_map(|(option, path)| Some((option, path.as_deref()?)));
        let documents = documents.flat_map(|(option, path)| {
            let has_shards = option == "--keep" && self.shard_bytes.is_some();
            Options::output_files(path, names, has_shards).into_iter().map(move |file| (option, file))
        });
        let single = self.paths().into_iter().skip(2);
        documents.chain(single.filter_map(|(option, path)| Some((option, path.clone()?)))).collect()
    }

    /// Returns the output that is divided into shards, with its option.
    pub(crate) fn shards(&self) -> Option<(&'static str, &Path)> {
        self.shard_bytes.and(self.keep.as_deref()).map(|path| ("--keep", path))
    }

    /// Returns the options as they were given on the command line.
    pub(crate) fn given_options(&self) -> Vec<String> {
        let paths = self
            .paths()
            .into_iter()
            .filter_map(|(option, path)| Some(format!("{option} {}", path.as_ref()?.display())));
        let flags = [
            ("--annotate", self.annotate),
            ("--revisit", self.revisit),
            ("--drop-undecidable", self.drop_undecidable),
            ("--cluster-sizes", self.cluster_sizes),
        ];
        let flags = flags.into_iter().filter(|(_, set)| *set).map(|(option, _)| option.to_owned());
        let fields = [("--one-per", self.one_per.clone()), ("--by", self.by.clone())];
        let fields = fields.into_iter().filter_map(|(option, field)| Some(format!("{option} {}", field?)));
        let verify = self.verify.then(|| format!("--verify {}", self.verify_lost_max));
        let prefer = format!("--prefer {}", self.prefer);
        let shards = self.shard_bytes.map(|bytes| format!("--shard-bytes {bytes}"));
        // --source-removed-max is left out, because a run that it has stopped may go on with a higher limit.
        let texts = self.texts.given_options().chain(self.passages.given_options());
        paths.chain(flags).chain(shards).chain(texts).chain(fields).chain(verify).chain([prefer]).collect()
    }

    /// Rejects inputs that cannot be read a second time, and options that contradict each other.
    pub(crate) fn check(&self, inputs: &[PathBuf]) -> anyhow::Result<()> {
        self.texts.check(self.keep.as_deref(), self.revisit)?;
        let is_one_file =
            |path: &Path| path != Path::new("-") && !path.is_dir() && !path.to_string_lossy().ends_with('/');
        if self.shards().is_some_and(|(_, path)| !is_one_file(path)) {
            return Err(wrong(
                "--shard-bytes: divides one file, but --keep names a folder or standard output; name a file",
            ));
        }
        if self.by.is_some() && !self.copies() {
            return Err(wrong("--by: counts the documents that are kept and dropped; add --keep or --drop"));
        }
        if self.verify && !self.copies() && self.clusters.is_none() && self.report.is_none() {
            return Err(wrong(
                "--verify: changes which documents are kept; add --keep, --drop, --clusters or --report",
            ));
        }
        if self.passages.cut && !self.texts.are_plain() {
            return Err(wrong(
                "--cut: cuts passages out of texts, but documents and Markdown are written whole; add --as text",
            ));
        }
        if self.passages.compares() && !self.copies() && self.clusters.is_none() && self.report.is_none() {
            return Err(wrong(
                "--against: changes which documents are kept; add --keep, --drop, --clusters or --report",
            ));
        }
        if self.cluster_sizes && !self.annotate && self.drop.is_none() {
            return Err(wrong(
                "--cluster-sizes: adds a field to documents; add --keep with --annotate, or --drop",
            ));
        }
        for (option, path) in [("--keep", &self.keep), ("--drop", &self.drop)] {
            if let Some(ending) = path.as_deref().and_then(ending_not_written) {
                return Err(wrong(format_args!(
                    "{option} {}: {ending} files are not written; documents keep the format of the inputs, \
                     compressed if the name ends in .gz, .zst or .lz4; choose another name",
                    path.as_deref().unwrap_or(Path::new("")).display()
                )));
            }
        }
        match inputs.iter().find(|path| is_read_once(path)) {
            Some(path) if self.copies() => Err(wrong(format_args!(
                "{}: can be read only once, but --keep and --drop read their inputs twice; write it to a file first",
                path.display()
            ))),
            None if self.copies() && inputs.is_empty() => Err(wrong(
                "--keep and --drop read their inputs twice, which standard input does not allow; name files",
            )),
            _ => Ok(()),
        }
    }
}

/// Endings of names that promise a format that is not written.
const NOT_WRITTEN: [&str; 16] = [
    ".tar", ".tgz", ".tbz2", ".txz", ".orc", ".avro", ".npy", ".pkl", ".xls", ".xlsx", ".sqlite", ".db",
    ".html", ".htm", ".xml", ".pdf",
];

/// Returns the ending of a file's name if it promises a format or compression that is not written. A folder
/// may have any name.
fn ending_not_written(path: &Path) -> Option<&'static str> {
    if path.is_dir() || path.to_string_lossy().ends_with('/') {
        return None;
    }
    let name = path.file_name()?.to_string_lossy().to_ascii_lowercase();
    let plain = without_compression(&name);
    NOT_WRITTEN.into_iter().chain(NEVER_COMPRESSED).find(|ending| plain.ends_with(ending))
}
