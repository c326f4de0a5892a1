//! The options of `leitong dedup` that write documents, clusters and reports, and the work that they cause.
//!
//! In: decisions in log order, and the inputs, which are read a second time. Out: the documents that are kept
//! and those that are dropped, the clusters, the accounts by source, and a report. If the choice of documents is
//! known at once, they are copied while the run goes on. Otherwise the decisions, and with `--verify` the texts,
//! wait in files on disk until the run is over.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::Context;
use clap::Args;

use super::settings::wrong;
use super::{passages, texts};
use crate::checkpoint::{Checkpoint, CheckpointDir};
use crate::config::Config;
use crate::pipeline::fingerprint_stage::Packs;
use leitong_base::terminal;
use leitong_corpora::keep::passages::Benchmarks;
use leitong_corpora::keep::texts::{TextCounts, TextPlan, Texts};
use leitong_corpora::keep::verify::{self, Founded, LostMax, TableTexts, TextFile, Verifier};
use leitong_corpora::keep::{
    AccountsReport, Added, Choice, Copied, Copier, EarlyForm, Field, Finished, Form, Kept, Needs, Output,
    Outputs, Plan, Prefer, Ranked, Ranker, Referents, Report, Rules, Sizes, Sources, Spool, Spooled,
    TableSizes, Walk,
};
use leitong_corpora::sink::WholeLines;
use leitong_corpora::source::{InputRules, Reading, can_be_read_again, is_object};

#[derive(Debug, Args)]
#[group(id = "documents")]
pub(super) struct Arguments {
    /// Write the documents that are kept: to one file, or to a folder with one file per input. Compressed if
    /// the name ends in .gz or .zst. Verdicts are then written only with --output
    #[arg(long, value_name = "FILE|DIR", help_heading = "Documents")]
    keep: Option<PathBuf>,
    #[command(flatten)]
    texts: texts::Arguments,
    /// Write the documents that are not kept, with the added fields `leitong_cluster`, `leitong_kind` and
    /// `leitong_canonical`
    #[arg(long, value_name = "FILE|DIR", help_heading = "Documents")]
    drop: Option<PathBuf>,
    /// Add the fields that --drop adds to kept documents as well
    #[arg(long, requires = "keep", help_heading = "Documents")]
    annotate: bool,
    /// In the output of --keep, replace each duplicate from a WARC file by a `revisit` record, which refers
    /// to the record with the same payload, or to the one that is kept
    #[arg(long, requires = "keep", help_heading = "Documents")]
    revisit: bool,
    /// Document of each cluster to keep: first, longest (main text), newest (fetched_at), published (earliest
    /// by its own date), highest:/POINTER or lowest:/POINTER (a number in the document)
    #[arg(long, value_name = "WHICH", default_value = "first", help_heading = "Documents")]
    prefer: Prefer,
    /// Keep one document per value of this field in each cluster: host, or a JSON pointer such as /meta/source
    #[arg(long, value_name = "FIELD", help_heading = "Documents")]
    one_per: Option<Field>,
    /// The same as --one-per host
    #[arg(long, conflicts_with = "one_per", hide = true, help_heading = "Documents")]
    one_per_host: bool,
    /// Drop undecidable pages instead of keeping them
    #[arg(long, help_heading = "Documents")]
    drop_undecidable: bool,
    /// Before a document is dropped, compare it with the kept documents of its cluster. Keep it if text would
    /// be lost, if numbers, versions or names differ, or if it cannot be compared. Verdicts stay the same
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
    #[arg(long, value_name = "FIELD", visible_alias = "source-field", help_heading = "Documents")]
    by: Option<Field>,
    /// Write the counts of each source and the overlap between sources: CSV if the name ends in .csv, otherwise
    /// JSON
    #[arg(long, value_name = "FILE", requires = "by", help_heading = "Documents")]
    accounts: Option<PathBuf>,
    /// Stop before documents are written if more than this share of the documents of a source would be dropped
    #[arg(long, value_name = "SHARE", requires = "by", help_heading = "Documents")]
    source_removed_max: Option<f64>,
    /// Add the number of documents in the cluster as `leitong_cluster_size`, with --annotate and --drop
    #[arg(long, help_heading = "Documents")]
    cluster_sizes: bool,
    /// Write the clusters with their members, one JSON object per line
    #[arg(long, value_name = "FILE", help_heading = "Documents")]
    clusters: Option<PathBuf>,
    /// Write a report of the run: largest clusters, hosts, likely templates. JSON or HTML if the name ends in
    /// .json or .html, otherwise text
    #[arg(long, value_name = "FILE", help_heading = "Documents")]
    report: Option<PathBuf>,
    #[command(flatten)]
    passages: passages::Arguments,
}

impl Arguments {
    /// Returns true if documents are written. Verdicts then go to a file or nowhere.
    pub(super) fn copies(&self) -> bool {
        self.keep.is_some() || self.drop.is_some()
    }

    /// Returns the documents whose texts are stored until the end of the run.
    pub(super) fn packs(&self) -> Packs {
        match (self.passages.needs_texts(), self.verify) {
            (true, _) => Packs::All,
            (false, true) => Packs::Decided,
            (false, false) => Packs::None,
        }
    }

    /// Returns the files of benchmarks.
    pub(super) fn benchmarks(&self) -> &[PathBuf] {
        self.passages.benchmarks()
    }

    /// Returns true if documents can be copied during the run.
    fn copies_at_once(&self, rules: Rules) -> bool {
        // Accounts are not part of a checkpoint.
        let waits =
            self.verify || self.cluster_sizes || self.source_removed_max.is_some() || self.by.is_some();
        let waits = waits || self.passages.compares() || self.passages.cut;
        self.prefer.is_known_at_once(rules) && !waits
    }

    /// Returns true if the first document of each cluster is kept, whatever else is known of documents.
    fn keeps_first(&self, rules: Rules) -> bool {
        self.prefer.is_known_at_once(rules) && self.source_removed_max.is_none() && !self.passages.compares()
    }

    /// Returns the groups of fields that annotated documents get.
    fn added(&self) -> Added {
        Added {
            cluster_size: self.cluster_sizes,
            check: self.verify,
            benchmark: self.passages.compares(),
            // Only texts are cut.
            cut: false,
        }
    }

    /// Returns the field that groups the documents of a cluster. One document per group is kept.
    fn one_per(&self) -> Option<Field> {
        self.one_per.clone().or_else(|| self.one_per_host.then_some(Field::Host))
    }

    /// Returns the options that name a file or a folder.
    fn paths(&self) -> [(&'static str, &Option<PathBuf>); 6] {
        [
            ("--keep", &self.keep),
            ("--drop", &self.drop),
            ("--clusters", &self.clusters),
            ("--report", &self.report),
            ("--accounts", &self.accounts),
            ("--passages", &self.passages.passages),
        ]
    }

    /// Returns the files that are written for inputs with these `names`, each with its option.
    pub(super) fn files(&self, names: &[PathBuf]) -> Vec<(&'static str, PathBuf)> {
        let folders = [("--keep", &self.keep), ("--drop", &self.drop)];
        let documents = folders.into_iter().filter_map(|(option, path)| Some((option, path.as_deref()?)));
        let documents = documents.flat_map(|(option, path)| {
            Output::paths(path, names).into_iter().map(move |file| (option, file))
        });
        let single = self.paths().into_iter().skip(2);
        documents.chain(single.filter_map(|(option, path)| Some((option, path.clone()?)))).collect()
    }

    /// Returns the options as they were given on the command line.
    pub(super) fn options(&self) -> Vec<String> {
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
        let fields = [("--one-per", self.one_per()), ("--by", self.by.clone())];
        let fields = fields.into_iter().filter_map(|(option, field)| Some(format!("{option} {}", field?)));
        let verify = self.verify.then(|| format!("--verify {}", self.verify_lost_max));
        let prefer = format!("--prefer {}", self.prefer);
        // --source-removed-max is not among them: a run that it has stopped may go on with a higher limit.
        let texts = self.texts.options().chain(self.passages.options());
        paths.chain(flags).chain(texts).chain(fields).chain(verify).chain([prefer]).collect()
    }

    /// Rejects inputs that cannot be read a second time, and outputs in object stores.
    pub(super) fn check(&self, inputs: &[PathBuf]) -> anyhow::Result<()> {
        refuse_objects(&self.paths())?;
        self.texts.check(self.keep.as_deref(), self.revisit)?;
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
        if let Some(share) = self.source_removed_max.filter(|share| !(0.0..=1.0).contains(share)) {
            return Err(wrong(format_args!("--source-removed-max {share}: must be a share from 0 to 1")));
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
        let read_once = |path: &&PathBuf| !can_be_read_again(path);
        match inputs.iter().find(read_once) {
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

/// Endings of names that promise a format or compression that is not written.
const NOT_WRITTEN: [&str; 25] = [
    ".xz", ".bz2", ".lzma", ".lz", ".br", ".z", ".zip", ".7z", ".rar", ".tar", ".tgz", ".arrow", ".feather",
    ".orc", ".avro", ".npy", ".pkl", ".xls", ".xlsx", ".sqlite", ".db", ".html", ".htm", ".xml", ".pdf",
];

/// Returns the ending of a file's name that promises what is not written into it. A folder may have any name.
fn ending_not_written(path: &Path) -> Option<&'static str> {
    if path.is_dir() || path.to_string_lossy().ends_with('/') {
        return None;
    }
    let name = path.file_name()?.to_string_lossy().to_ascii_lowercase();
    let plain = [".gz", ".zst", ".lz4"].iter().find_map(|end| name.strip_suffix(end)).unwrap_or(&name);
    NOT_WRITTEN.into_iter().find(|ending| plain.ends_with(ending))
}

/// Rejects outputs in object stores, before a folder called `s3:` is created.
pub(super) fn refuse_objects(outputs: &[(&str, &Option<PathBuf>)]) -> anyhow::Result<()> {
    let named = outputs.iter().filter_map(|(option, path)| Some((option, path.as_deref()?)));
    match named.into_iter().find(|(_, path)| is_object(path)) {
        None => Ok(()),
        Some((option, path)) => Err(wrong(format_args!(
            "{option} {}: outputs must be files; name a file, and copy it to the store after the run",
            path.display()
        ))),
    }
}

/// The table of a run.
pub(super) struct TableOfRun<'a> {
    /// The folder.
    pub(super) folder: &'a Path,
    /// The clusters that documents of the run may have joined.
    pub(super) founded: Founded,
    /// The log offset at which the run ends.
    pub(super) until: u64,
}

/// The documents of a run: where they go, and which of them are kept.
pub(super) struct Keeping<'a> {
    arguments: &'a Arguments,
    inputs: &'a [PathBuf],
    /// The first reading of each input, in which its pages were decided.
    readings: &'a [Arc<Reading>],
    input_rules: &'a InputRules,
    /// The forms of the inputs in which documents are written unchanged.
    forms: Arc<[EarlyForm]>,
    config: &'a Config,
    rules: Rules,
    /// The open outputs, until the copier takes them or the run is over.
    outputs: Option<Outputs>,
    /// The state that an earlier, killed process left.
    checkpoint: Option<&'a Checkpoint>,
    /// Counts of the texts that are written, if any are.
    text_counts: Arc<TextCounts>,
    benchmarks: Option<Benchmarks>,
}

impl<'a> Keeping<'a> {
    /// Opens the outputs for the documents of a run over `inputs`. Each input has the name of its file in
    /// folders and its first reading. The run begins at `log_offset`, or resumes at `checkpoint`.
    pub(super) fn begin(
        arguments: &'a Arguments,
        (inputs, names, readings): (&'a [PathBuf], &[PathBuf], &'a [Arc<Reading>]),
        (config, input_rules): (&'a Config, &'a InputRules),
        log_offset: u64,
        checkpoints: Option<&CheckpointDir>,
        checkpoint: Option<&'a Checkpoint>,
    ) -> anyhow::Result<Self> {
        let rules = Rules {
            one_per_value: arguments.one_per().is_some(),
            drop_undecidable: arguments.drop_undecidable,
            log_offset,
        };
        let benchmarks = arguments.passages.read_benchmarks(config, input_rules)?;
        let early: Arc<[EarlyForm]> = match arguments.copies() {
            true => EarlyForm::read_all(inputs, input_rules)?.into(),
            false => Arc::default(),
        };
        let forms: Vec<Form> = early.iter().map(|early| early.form.clone()).collect();
        let copies_at_once = arguments.copies_at_once(rules);
        let added = arguments.added();
        let folder = checkpoints.filter(|_| copies_at_once).map(CheckpointDir::folder);
        let output = |name, path: &Option<PathBuf>, added| {
            let Some(path) = path else { return Ok(None) };
            let checkpoints = folder.map(|folder| (name, folder.to_owned()));
            let waits = !copies_at_once;
            let plan = Plan { path, names, forms: &forms, added, checkpoints, waits };
            match checkpoint.and_then(|checkpoint| checkpoint.extents.get(name)) {
                None => Output::create(plan).map(Some),
                Some(extent) => Output::resume(plan, *extent).map(Some),
            }
        };
        let text_counts = Arc::new(TextCounts::default());
        let (unchanged, texts) = match &arguments.keep {
            Some(path) if arguments.texts.are_written() => {
                arguments.texts.check_fields(inputs, &forms, input_rules)?;
                let plan = TextPlan {
                    path: path.clone(),
                    inputs: inputs.to_vec(),
                    readings: readings.to_vec(),
                    rules: arguments.texts.rules(config, input_rules)?,
                    fields: arguments.texts.fields.clone(),
                    added: arguments.annotate.then_some(Added { cut: arguments.passages.cut, ..added }),
                    converter: arguments.texts.converter(config)?,
                    counts: Arc::clone(&text_counts),
                    checkpoints: folder.map(Path::to_owned),
                    waits: !copies_at_once,
                };
                let extent = checkpoint.and_then(|checkpoint| checkpoint.extents.get("keep"));
                (&None, Some(Box::new(Texts::open(plan, extent.copied())?)))
            }
            keep => (keep, None),
        };
        let outputs = match arguments.copies() {
            true => Some(Outputs {
                keep: output("keep", unchanged, arguments.annotate.then_some(added))?,
                texts,
                drop: output("drop", &arguments.drop, Some(added))?,
                annotate: arguments.annotate,
                added,
                revisit: referents(arguments, checkpoints.filter(|_| copies_at_once), checkpoint)?,
            }),
            false => None,
        };
        let forms =
            if arguments.texts.are_written() && arguments.drop.is_none() { Arc::default() } else { early };
        Ok(Self {
            arguments,
            inputs,
            readings,
            input_rules,
            forms,
            config,
            rules,
            outputs,
            checkpoint,
            text_counts,
            benchmarks,
        })
    }

    /// Returns true if the run knows at once which document of a cluster is kept.
    fn is_known_at_once(&self) -> bool {
        self.arguments.copies_at_once(self.rules)
    }

    /// Returns a second reading of the inputs. Of tables it reads only the column `column`, if one is given.
    fn walk(&self, column: Option<String>) -> Walk {
        let forms = Arc::clone(&self.forms);
        Walk::new(self.inputs.to_vec(), self.readings.to_vec(), self.input_rules.clone(), forms, column)
    }

    /// Returns a copier that works during the run, or `None` if the choice is known only at the end.
    pub(super) fn copier(&mut self) -> anyhow::Result<Option<Copier>> {
        let at_once = self.is_known_at_once();
        let Some(outputs) = self.outputs.take_if(|_| at_once) else { return Ok(None) };
        let mut copier = Copier::new(self.walk(None), outputs, Choice::first(self.rules));
        if let Some(checkpoint) = self.checkpoint {
            copier.pass_over(checkpoint.last)?;
        }
        Ok(Some(copier))
    }

    /// Returns the file in which decisions wait for the end of the run, or `None` if nothing needs them then.
    pub(super) fn spool(&self, checkpoints: Option<&CheckpointDir>) -> anyhow::Result<Option<Spool>> {
        let Arguments { clusters, report, .. } = self.arguments;
        let copies_later = self.arguments.copies() && !self.is_known_at_once();
        let needs_texts = self.arguments.packs() != Packs::None;
        if clusters.is_none() && report.is_none() && !copies_later && !needs_texts {
            return Ok(None);
        }
        if let Some(folder) = checkpoints {
            let path = folder.decisions();
            let extent = self.checkpoint.and_then(|checkpoint| checkpoint.extents.get("decisions"));
            let spool = Spool::at(&path, extent.map(|extent| extent.bytes));
            return Ok(Some(spool.with_context(|| format!("cannot write {}", path.display()))?));
        }
        self.new_spool().map(Some)
    }

    /// Returns a temporary file for decisions.
    fn new_spool(&self) -> anyhow::Result<Spool> {
        let folder = self.temporary_folder();
        Spool::create(&folder).with_context(|| format!("cannot write into {}", folder.display()))
    }

    /// Returns the file for the texts of documents, or `None` if none are needed.
    pub(super) fn texts(&self, checkpoints: Option<&CheckpointDir>) -> anyhow::Result<Option<TextFile>> {
        if self.arguments.packs() == Packs::None {
            return Ok(None);
        }
        if let Some(folder) = checkpoints {
            let path = folder.texts();
            let extent = self.checkpoint.and_then(|checkpoint| checkpoint.extents.get("texts"));
            let texts = TextFile::at(&path, extent.map(|extent| extent.bytes));
            return Ok(Some(texts.with_context(|| format!("cannot write {}", path.display()))?));
        }
        let folder = self.temporary_folder();
        let texts = TextFile::create(&folder);
        Ok(Some(texts.with_context(|| format!("cannot write into {}", folder.display()))?))
    }

    /// Returns the folder for temporary files.
    fn temporary_folder(&self) -> PathBuf {
        let Arguments { keep, drop, clusters, report, passages, .. } = self.arguments;
        folder_beside(&[keep, drop, clusters, report, &passages.passages])
    }

    /// Copies the documents that had to wait, and writes the clusters, the accounts and the report.
    pub(super) fn finish(mut self, kept: Kept, table: Option<&TableOfRun<'_>>) -> anyhow::Result<()> {
        let Kept { mut copied, spooled, texts } = kept;
        let Some(mut spooled) = spooled else {
            copied.iter().for_each(|finished| note_copied(finished.copied));
            texts::report(&self.text_counts);
            return Ok(());
        };
        if let (Some(texts), Some(benchmarks)) = (&texts, &self.benchmarks) {
            spooled = passages::compare(&mut spooled, texts, benchmarks, self.new_spool()?)?;
        }
        let (choice, ranked) = self.choose(&mut spooled)?;
        let mut verified = None;
        if let Some(texts) = texts.as_ref().filter(|_| self.arguments.verify) {
            let stored = texts.bytes();
            let table = table.map(|table| {
                let texts = TableTexts::open(table.folder, table.founded);
                texts.with_context(|| format!("cannot use the texts in the table {}", table.folder.display()))
            });
            let verifier = Verifier::new(self.arguments.verify_lost_max, texts, table.transpose()?);
            let (checked, counts) = verifier
                .verify(&mut spooled, &choice, self.new_spool()?)
                .context("cannot verify the documents that would be dropped")?;
            (spooled, verified) = (checked, Some((counts, stored)));
        }
        if let (Some(removed_max), Some(ranked)) = (self.arguments.source_removed_max, &ranked) {
            ranked.check(&mut spooled, &choice, removed_max)?;
        }
        if let Some(texts) = &texts {
            let folder = self.temporary_folder();
            let found = (&mut spooled, &choice, texts);
            let cutter = self.arguments.passages.find_repeated(found, (self.config, &folder))?;
            let texts = self.outputs.as_mut().and_then(|outputs| outputs.texts.as_mut());
            if let (Some(cutter), Some(texts)) = (cutter, texts) {
                texts.cut_with(cutter);
            }
        }
        if let Some(path) = &self.arguments.clusters {
            let cannot = || format!("cannot write {}", path.display());
            let mut lines = WholeLines::create(path).with_context(cannot)?;
            choice.write_clusters(&mut spooled, &mut lines).with_context(cannot)?;
        }
        let [walk, first_walk] = [(); 2].map(|()| self.walk(None));
        if let Some(mut outputs) = self.outputs {
            if let Some(referents) = &mut outputs.revisit {
                first_walk.collect_referents(&choice, &mut spooled, referents)?;
            }
            let sizes = self.arguments.cluster_sizes.then(|| sizes(&mut spooled, table)).transpose()?;
            let copier = Copier::new(walk, outputs, choice);
            let mut copier = copier.with_accounts(self.arguments.by.clone()).with_sizes(sizes);
            spooled.each(|_, decision| copier.copy(decision))?;
            copied = Some(copier.finish()?);
        }
        let (copied, accounts) = copied.map(|Finished { copied, accounts }| (copied, accounts)).unzip();
        let accounts = accounts.flatten();
        if let (Some(path), Some(accounts)) = (&self.arguments.accounts, &accounts) {
            write_accounts(path, accounts).with_context(|| format!("cannot write {}", path.display()))?;
        }
        if let Some(path) = &self.arguments.report {
            write_report(path, &Report::collect(&mut spooled, copied, accounts, self.benchmarks.is_some())?)
                .with_context(|| format!("cannot write {}", path.display()))?;
        }
        copied.into_iter().for_each(note_copied);
        texts::report(&self.text_counts);
        if self.arguments.passages.cut {
            passages::note_cut(&self.text_counts);
        }
        if let Some((counts, stored)) = verified {
            note_verified(counts, stored);
        }
        Ok(())
    }
}

impl Keeping<'_> {
    /// Chooses the documents to keep. Returns the sources of the documents as well, if they had to be read.
    fn choose(&self, spooled: &mut Spooled) -> anyhow::Result<(Choice, Option<Sources>)> {
        let needs = Needs {
            prefer: self.arguments.prefer.clone(),
            one_per: self.arguments.one_per(),
            source: self.arguments.by.clone().filter(|_| self.arguments.source_removed_max.is_some()),
        };
        if self.arguments.keeps_first(self.rules) {
            return Ok((Choice::first(self.rules), None));
        }
        let mut ranker = Ranker::new(self.walk(needs.column()), needs, Choice::ranked(self.rules));
        spooled.each(|_, decision| ranker.rank(decision))?;
        let ranked = ranker.finish();
        self.check_fields(&ranked)?;
        Ok((ranked.choice, Some(ranked.sources)))
    }

    /// Rejects fields that no document has, and reports how many documents lack them.
    fn check_fields(&self, ranked: &Ranked) -> anyhow::Result<()> {
        let prefer = &self.arguments.prefer;
        let value = match prefer {
            Prefer::Highest(pointer) | Prefer::Lowest(pointer) => Some(format!("number at {pointer}")),
            Prefer::Newest => Some("time of fetch (fetched_at)".to_owned()),
            Prefer::Published => Some("date of publication".to_owned()),
            Prefer::First | Prefer::Longest => None,
        };
        if let Some(value) = value {
            let option = format!("--prefer {prefer}");
            let lack =
                Lack { option: &option, value: &value, lacking: ranked.lacking, documents: ranked.documents };
            // Whether pages state a date is not known in advance, so the option is no mistake.
            if *prefer != Prefer::Published {
                lack.reject_if_all()?;
            }
            lack.note("documents that have one are preferred");
        }
        if let Some(field) = self.arguments.one_per() {
            let (option, value) = (format!("--one-per {field}"), format!("value of {field}"));
            let lacking = ranked.lacking_group;
            let lack = Lack { option: &option, value: &value, lacking, documents: ranked.documents };
            // Texts without addresses have no host, whatever the option.
            if field != Field::Host {
                lack.reject_if_all()?;
            }
            lack.note("they are one group");
        }
        Ok(())
    }
}

/// The documents without a value that an option needs.
struct Lack<'a> {
    option: &'a str,
    value: &'a str,
    lacking: u64,
    documents: u64,
}

impl Lack<'_> {
    fn reject_if_all(&self) -> anyhow::Result<()> {
        let Self { option, value, lacking, documents } = self;
        if lacking < documents || *documents == 0 {
            return Ok(());
        }
        Err(wrong(format_args!(
            "{option}: none of the {documents} documents has a {value}; check the option, or leave it out. No document is \
             written, and the table is not saved"
        )))
    }

    fn note(&self, effect: &str) {
        let Self { option, value, lacking, documents } = self;
        if *lacking > 0 {
            terminal::note(format_args!(
                "{lacking} of {documents} documents have no {value} ({option}); in their clusters, {effect}"
            ));
        }
    }
}

/// Returns a folder for a temporary file: that of the first output that is a file.
fn folder_beside(outputs: &[&Option<PathBuf>]) -> PathBuf {
    let first = outputs.iter().copied().flatten().find(|path| *path != Path::new("-"));
    match first.and_then(|path| path.parent()) {
        Some(folder) if folder.as_os_str().is_empty() => PathBuf::from("."),
        Some(folder) => folder.to_owned(),
        None => std::env::temp_dir(),
    }
}

/// Opens the file of what revisit records refer to, or returns `None` if there are to be no such records.
fn referents(
    arguments: &Arguments,
    checkpoints: Option<&CheckpointDir>,
    checkpoint: Option<&Checkpoint>,
) -> anyhow::Result<Option<Referents>> {
    if !arguments.revisit {
        return Ok(None);
    }
    if let Some(folder) = checkpoints {
        let path = folder.referents();
        let extent = checkpoint.and_then(|checkpoint| checkpoint.extents.get("referents"));
        let referents = Referents::at(&path, extent.map(|extent| extent.bytes));
        return Ok(Some(referents.with_context(|| format!("cannot write {}", path.display()))?));
    }
    let folder = folder_beside(&[&arguments.keep]);
    let referents = Referents::create(&folder);
    Ok(Some(referents.with_context(|| format!("cannot write into {}", folder.display()))?))
}

/// Writes the report as JSON, HTML or text, depending on the name of the file.
fn write_report(path: &Path, report: &Report) -> anyhow::Result<()> {
    let mut lines = WholeLines::create(path)?;
    match path.extension().and_then(|extension| extension.to_str()) {
        Some("json") => lines.push(report)?,
        Some("html" | "htm") => lines.push_text(&report.html())?,
        _ => lines.push_text(&report.text())?,
    }
    Ok(lines.flush()?)
}

/// Counts the documents of each cluster, those of earlier runs with the same table included.
fn sizes(spooled: &mut Spooled, table: Option<&TableOfRun<'_>>) -> anyhow::Result<Sizes> {
    let run = spooled.cluster_sizes()?;
    let Some(TableOfRun { folder, founded, until }) = table else { return Ok(run) };
    let all = TableSizes::add(folder, &run, *founded, *until);
    Ok(all.with_context(|| format!("cannot count the documents of clusters in {}", folder.display()))?.sizes)
}

/// Writes the accounts as CSV or JSON, depending on the name of the file.
fn write_accounts(path: &Path, accounts: &AccountsReport) -> anyhow::Result<()> {
    let mut lines = WholeLines::create(path)?;
    match path.extension().and_then(|extension| extension.to_str()) {
        Some("csv") => lines.push_text(&accounts.csv())?,
        _ => lines.push(accounts)?,
    }
    Ok(lines.flush()?)
}

fn note_verified(counts: verify::Counts, stored: u64) {
    let verify::Counts { dropped, text_lost, facts_differ, not_verified } = counts;
    terminal::note(format_args!(
        "verified: {dropped} documents are dropped and {} kept: {text_lost} because text would be lost, \
         {facts_differ} because facts differ, {not_verified} because they could not be compared (texts took \
         {:.1} MB on disk)",
        counts.kept(),
        stored as f64 / 1e6
    ));
    if not_verified > 0 {
        terminal::note(
            "documents cannot be compared if a run without --verify stored the kept document of their \
             cluster",
        );
    }
}

fn note_copied(copied: Copied) {
    let Copied {
        kept,
        dropped,
        dropped_bytes,
        kept_by_verify: _,
        benchmark: _,
        revisits,
        too_long,
        unreadable,
    } = copied;
    terminal::note(format_args!(
        "documents: {kept} kept, {dropped} dropped ({:.1} MB before compression)",
        dropped_bytes as f64 / 1e6
    ));
    if revisits > 0 {
        terminal::note(format_args!("{revisits} of the dropped documents are replaced by a revisit record"));
    }
    if too_long > 0 {
        terminal::note(format_args!(
            "{too_long} documents are longer than page.line_bytes_max and are neither kept nor dropped; raise that setting to \
             include them"
        ));
    }
    if unreadable > 0 {
        terminal::note(format_args!(
            "{unreadable} rows have a column that cannot be read and are neither kept nor dropped; get their files again from \
             the source"
        ));
    }
}
