//! `leitong dedup`: finds near-duplicates in files, without a broker.

mod columns;
mod kept;
mod language;
mod passages;
mod progress;
mod receipt;
mod texts;

use std::io::{ErrorKind, IsTerminal};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::mpsc;
use std::time::{Duration, Instant};

use anyhow::{Context, bail};
use clap::Args;

use crate::checkpoint::{Checkpoint, CheckpointDir, CheckpointSink, Faults, Milestones, RunId, RunInput};
use crate::cli::files::documents::{self, create};
use crate::cli::files::done::Marked;
use crate::cli::files::outputs::{check_outputs, check_writable};
use crate::cli::files::parts::{Overwrite, Parts};
use crate::cli::files::receipt::Entry;
use crate::cli::files::summary::format_summary;
use crate::cli::settings::{self, DecisionArguments, Wrong, wrong};
use crate::graph;
use leitong_base::record::{Timestamp, Unreadable};
use leitong_base::terminal;
use leitong_cluster::{Clusterer, Position};
use leitong_formats::source::{
    FolderContent, FoundFiles, Input, InputNames, InputRules, Inputs, ReadSoFar, Reading, Resumed, Skipped,
    Source, WarcBase, is_object,
};
use leitong_keep::sink::{Counts, DeadLetters, FileSink, WholeLines};
use leitong_keep::{Checkpoints, Keeping, Options, TableOfRun, Uploads};
use leitong_pipeline::config::Config;
use leitong_pipeline::config::hash::reading_hash;
use leitong_pipeline::{ClusterStage, FingerprintStage, Fingerprinted, PageReader};
use leitong_store::snapshot::{TableDir, TableSettings};
use progress::Progress;

/// Maximum number of dead letters of one cause, and of objects, that are shown one by one; further ones are only
/// counted.
const TOLD_MAX: u64 = 20;
/// Number of pages without a body below which nothing is concluded about an input that also has other pages.
const WITHOUT_BODY_MIN: u64 = 10;

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  leitong dedup pages.jsonl.gz > verdicts.jsonl
  leitong dedup --table state --output today.jsonl crawl-2026-11-21.warc.gz
  leitong dedup --text-column body --keep kept.parquet crawl/*.parquet
  leitong dedup --keep texts.parquet --as markdown crawl/*.warc.gz
  leitong dedup --keep kept/ --drop gone.jsonl.zst --checkpoint state crawl/*.jsonl.gz
  leitong dedup --url-base https:// --keep kept/ mirror/
  leitong dedup --keep kept.warc.gz --revisit --warc-base s3://bucket/crawl index.cdxj.gz
  zcat pages.jsonl.gz | leitong dedup - | jq -r 'select(.kind | endswith(\"_DUPLICATE\") | not).page_id'")]
pub(crate) struct Arguments {
    #[command(flatten)]
    decision: DecisionArguments,
    /// File for the verdicts, one JSON object per line [default: standard output]
    #[arg(long, value_name = "FILE")]
    output: Option<PathBuf>,
    /// File for records that cannot be read as pages, one JSON object per line [default: messages on standard
    /// error]
    #[arg(long, value_name = "FILE")]
    dead_letters: Option<PathBuf>,
    /// Folder of a centroid table, which is loaded at the start and saved at the end. A run thus compares its
    /// pages with those of earlier runs
    #[arg(long, value_name = "DIR")]
    table: Option<PathBuf>,
    #[command(flatten)]
    columns: columns::Arguments,
    #[command(flatten)]
    kept: kept::Arguments,
    #[command(flatten)]
    languages: language::Arguments,
    #[command(flatten)]
    overwrite: Overwrite,
    /// Folder for checkpoints. If the run is killed, the same command resumes it
    #[arg(long, value_name = "DIR")]
    checkpoint: Option<PathBuf>,
    /// Seconds between two checkpoints
    #[arg(long, value_name = "SECONDS", default_value_t = 300, requires = "checkpoint")]
    checkpoint_every: u64,
    /// Read the files in folders as HTML pages, as `wget --mirror` saves them. The url of a page is URL
    /// followed by its path in the folder
    #[arg(long, value_name = "URL")]
    url_base: Option<String>,
    /// Read the inputs as indexes of WARC files (CDX or CDXJ), and only the records that they list, from the
    /// WARC files in this folder or under s3://BUCKET/…, or in another store
    #[arg(long, value_name = "DIR|URL", conflicts_with = "url_base")]
    warc_base: Option<PathBuf>,
    /// Files of pages: JSON lines, WARC, CSV or TSV (plain, gzip, zstd or lz4), Parquet, Arrow, or HTML. Also
    /// folders of such files, patterns such as 'crawl/**/*.jsonl.gz', objects s3://BUCKET/KEY, gs://…, az://…
    /// (credentials and endpoints from AWS_…, GOOGLE_…, AZURE_…) and hf://datasets/ORG/NAME/PATH, and
    /// `-` for JSON lines or WARC from standard input
    #[arg(value_name = "INPUT")]
    inputs: Vec<PathBuf>,
}

impl Arguments {
    /// Replaces outputs in stores by files.
    fn stage(&mut self) -> anyhow::Result<Uploads> {
        let outputs = [("--output", &mut self.output), ("--dead-letters", &mut self.dead_letters)];
        Uploads::stage(outputs.into_iter().chain(self.kept.paths_mut())).map_err(|error| match error.kind() {
            ErrorKind::InvalidInput | ErrorKind::Unsupported => wrong(error),
            _ => error.into(),
        })
    }

    /// Returns the first output that is a file or a folder of files.
    fn first_output(&self) -> Option<&Path> {
        let outputs = self.output.iter().chain(&self.dead_letters).map(PathBuf::as_path);
        outputs.chain(self.kept.outputs()).find(|path| path.is_dir() || WholeLines::part_of(path).is_some())
    }
}

pub(crate) fn run(mut arguments: Arguments) -> anyhow::Result<ExitCode> {
    let started = Instant::now();
    let uploads = arguments.stage()?;
    let arguments = &arguments;
    let mut config = arguments.decision.config("files have no keys; it is for `leitong run`")?;
    arguments.columns.apply(&mut config.input.fields);
    let files = find_files(arguments)?;
    let unnameable = files.unnameable.len();
    let (paths, below) = (files.files, files.below);
    let outputs = outputs(arguments, &below);
    let named: Vec<_> = outputs.iter().map(|(option, path)| (*option, uploads.name(path))).collect();
    check(arguments, &paths, (&named, &uploads), &config)?;
    check_writable(&outputs)?;
    let rules = InputRules {
        quotes: !arguments.columns.no_quotes,
        warc_base: arguments.warc_base.as_deref().map(|base| Arc::new(WarcBase::new(base))),
        ..settings::input_rules(&config)?
    };
    let mut inputs = open_inputs(&paths)?;
    if let Some(base) = &arguments.url_base {
        inputs.iter_mut().zip(&below).for_each(|(input, below)| input.set_url_below(base, below));
    }
    let fingerprint_stage = FingerprintStage::new(config.clone())
        .map_err(Wrong::from)?
        .compressing_texts(arguments.kept.compressed_texts())
        .writing_texts(arguments.kept.written_texts())
        .passing_titles(arguments.kept.lists_clusters())
        .in_languages(arguments.languages.filter()?);
    let table = config.table_settings(fingerprint_stage.detector(), fingerprint_stage.fingerprint_hash());
    note_unversioned(&paths, &inputs);
    let run_id = run_id(arguments, &inputs, (&config, &table));
    let mut parts = Parts::new(&outputs, arguments.first_output(), arguments.overwrite, uploads);
    parts.set_shards(arguments.kept.shards());
    let prints = arguments.output.is_none() && !arguments.kept.copies();
    let mark = match &arguments.table {
        Some(_) => Marked::new(&run_id, (&paths, &inputs), &named, prints)?,
        None => None,
    };
    let listed = parts.listed()?;
    let completed = match &arguments.table {
        None => listed.as_ref().filter(|listed| listed.run == run_id.number() && parts.is_whole(listed)),
        Some(_) => None,
    };
    // Only a table can have this run already.
    let may_be_done = mark.is_some() && arguments.table.as_ref().is_some_and(|table| table.exists());
    if completed.is_none() && !may_be_done {
        parts.refuse_existing()?;
    }
    let (table_dir, checkpoints) = folders_of(arguments)?;
    let checkpoint = checkpoints.as_ref().map(|folder| folder.load(&run_id));
    // An earlier process may have been killed before it removed its checkpoint. A checkpoint of another run is
    // left alone.
    let end_checkpoint = || match (&checkpoints, &checkpoint) {
        (Some(folder), Some(Ok(_))) => folder.end(true),
        _ => Ok(()),
    };
    if let Some(completed) = completed {
        parts.complete(completed, end_checkpoint)?;
        terminal::note("this run was killed after its outputs were written; they are complete now");
        return Ok(ExitCode::from(completed.status));
    }
    if let (Some(mark), Some(dir), Some(path)) = (&mark, &table_dir, &arguments.table) {
        if let Some((done, number)) = mark.find(dir)? {
            match listed.filter(|listed| listed.run == number) {
                Some(listed) => parts.complete(&listed, end_checkpoint)?,
                None => end_checkpoint()?,
            }
            mark.report(&done, path)?;
            return Ok(ExitCode::SUCCESS);
        }
        parts.refuse_existing()?;
        if !matches!(checkpoint, Some(Ok(Some(_)))) {
            mark.refuse_losses(dir, path)?;
        }
    }
    let checkpoint = checkpoint.transpose()?.flatten();
    if let Some(checkpoint) = &checkpoint {
        checkpoint.check_inputs(&paths)?;
        rules.warc_base.iter().for_each(|base| base.restore(&checkpoint.warc_files));
    }
    let started_at = match (&checkpoint, &table_dir) {
        (Some(checkpoint), _) => checkpoint.started_at,
        (None, Some(dir)) => {
            // A run that is refused writes nothing.
            dir.check_settings(&table)?;
            dir.start_of_run(run_id.recognisable(), Timestamp::now())?
        }
        (None, None) => Timestamp::now(),
    };
    let fingerprint_stage = Arc::new(fingerprint_stage.started_at(started_at));
    parts.set_continued_later(checkpoints.is_some());
    parts.begin(checkpoint.is_some())?;
    let objects = Entry::objects(&paths, &inputs);
    let run = Run {
        objects,
        started_at,
        arguments,
        config,
        rules,
        paths,
        below,
        run_id,
        fingerprint_stage,
        table,
        table_dir,
        checkpoints,
        mark,
        parts,
        checkpoint,
        unnameable,
        started,
    };
    run.decide(inputs)
}

/// Finds the files that the inputs name, and reports those that are left out.
fn find_files(arguments: &Arguments) -> anyhow::Result<FoundFiles> {
    let read = if arguments.url_base.is_some() { FolderContent::Pages } else { FolderContent::Documents };
    let mut found = FoundFiles::find(&arguments.inputs, read)?;
    found.report_left_out(read);
    if found.files.is_empty() && !arguments.inputs.is_empty() {
        bail!("nothing to read: the inputs name no file; check the names");
    }
    if arguments.warc_base.is_some() {
        found.below.iter_mut().for_each(|below| *below = named_for_records(below));
    }
    Ok(found)
}

/// A run that is to be started or resumed.
struct Run<'a> {
    arguments: &'a Arguments,
    config: Config,
    rules: InputRules,
    paths: Vec<PathBuf>,
    /// Name of each input's output file, if outputs are folders.
    below: Vec<PathBuf>,
    run_id: RunId,
    fingerprint_stage: Arc<FingerprintStage>,
    table: TableSettings,
    table_dir: Option<Arc<TableDir>>,
    checkpoints: Option<Arc<CheckpointDir>>,
    /// The mark that the run leaves in the table when it is done.
    mark: Option<Marked>,
    /// The outputs.
    parts: Parts,
    checkpoint: Option<Checkpoint>,
    /// Number of objects whose keys cannot be requested.
    unnameable: usize,
    /// Size and version of each input that is an object of a store, for the receipt.
    objects: Vec<Option<(u64, String)>>,
    /// The time at which the run began, maybe in an earlier process.
    started_at: Timestamp,
    started: Instant,
}

impl Run<'_> {
    /// Decides on all records of `inputs`, and writes the outputs and the table.
    fn decide(self, mut inputs: Vec<Input>) -> anyhow::Result<ExitCode> {
        let Self { arguments, config, fingerprint_stage, table, checkpoints, .. } = &self;
        let checkpoint = self.checkpoint.as_ref();
        let names = InputNames::new(inputs.iter().map(|input| Arc::clone(&input.name)).collect());
        let readings = self.readings(&mut inputs);
        if let (Some(folder), None) = (checkpoints, checkpoint) {
            folder.begin()?;
        }
        let clusterer = self.clusterer()?;
        let begun_at =
            checkpoint.map_or(clusterer.position().next_log_offset, |checkpoint| checkpoint.begun_at);
        // Taken before the run, because a page may still join a cluster that expires during the run.
        let oldest = clusterer.oldest_log_offset()?.unwrap_or(0);
        let detector = Arc::clone(fingerprint_stage.detector());
        let mut cluster_stage = ClusterStage::new(clusterer, detector, table.cluster_hash);

        let counts = Arc::new(Counts::default());
        let read = Arc::new(ReadSoFar::default());
        let bytes_total = inputs.iter().map(|input| input.bytes).sum();
        let progress = Progress::start(bytes_total, Arc::clone(&read), Arc::clone(&counts));
        let mut keeping = self.keeping(&readings, begun_at, &counts)?;
        // The channel is bounded by the graph: a text is sent with its decision, and only a few batches of decisions
        // wait for the sink.
        let (send_text, texts) = mpsc::channel();
        let mut sink = CheckpointSink {
            inner: keeping.sink(sink(arguments, &progress, &counts, checkpoint)?, names.clone(), texts)?,
            folder: checkpoints.clone(),
            run: self.run_id.clone(),
            names: names.clone(),
            begun_at: (begun_at, self.started_at),
            readings: readings.clone(),
            warc_base: self.rules.warc_base.clone(),
            faults: (self.earlier_faults(), Arc::clone(&counts)),
        };
        let mut source = self.source(inputs, names, &read, &progress);
        let every = Duration::from_secs(arguments.checkpoint_every);
        let mut milestones = Milestones::new(checkpoints.as_deref(), checkpoint, every, table);
        // Without an output of documents, clusters or a report, the sink takes none.
        let needs_texts = fingerprint_stage.passes_texts_on() && arguments.kept.outputs().next().is_some();
        let observed = Arc::clone(&counts);
        let result = graph::run(
            &config.pipeline,
            &mut source,
            fingerprint_stage,
            &mut cluster_stage,
            &mut sink,
            move |fingerprinted| {
                count(&observed, fingerprinted);
                if needs_texts && fingerprinted.record.is_ok() {
                    // If sending fails, the sink has stopped, and the run ends with its error.
                    let _ = send_text.send(fingerprinted.texts.clone());
                }
            },
            |stage, last| milestones.after(stage, last),
        );
        progress.finish();
        result?;
        // Documents are written before the table. If writing them fails, the next run with this table decides
        // on them again.
        let until = cluster_stage.clusterer().position().next_log_offset;
        let table = self.table_dir.as_deref().and_then(|dir| Some((dir.folder(), dir.id()?)));
        let table = table.map(|(folder, id)| TableOfRun { folder, id, oldest, begun_at, until });
        let documents = keeping.finish(sink.inner, table.as_ref())?;
        self.finish(
            &cluster_stage.into_clusterer(),
            &readings,
            (&counts, &read, source.skipped()),
            &documents,
        )
    }

    /// Opens the outputs of documents. The run begins at log offset `begun_at`.
    fn keeping<'k>(
        &'k self,
        readings: &'k [Arc<Reading>],
        begun_at: u64,
        counts: &Arc<Counts>,
    ) -> anyhow::Result<Keeping<'k>> {
        let languages = self.arguments.languages.are_detected();
        let options = Options { languages, ..self.arguments.kept.keeping(&self.config)? };
        let checkpoints = self.checkpoints.as_ref().map(|folder| Checkpoints {
            folder: folder.folder(),
            earlier: self.checkpoint.as_ref().map(|checkpoint| (&checkpoint.extents, checkpoint.last)),
        });
        let inputs = (&*self.paths, &*self.below, readings);
        Ok(Keeping::begin(options, inputs, &self.rules, begun_at, checkpoints)?.counting(Arc::clone(counts)))
    }

    /// Returns the source of the records that no earlier process has decided on.
    fn source(
        &self,
        mut inputs: Vec<Input>,
        names: InputNames,
        read: &Arc<ReadSoFar>,
        progress: &Progress,
    ) -> Resumed {
        let last = self.checkpoint.as_ref().map(|checkpoint| checkpoint.last);
        if let Some((input, number)) = last {
            progress.note(format_args!("resuming after record {number} of {}", inputs[input].name));
            inputs.drain(..input);
            if self.arguments.languages.are_detected() {
                progress.note("documents by language are counted from here on");
            }
        }
        Resumed::new(Inputs::new(inputs, self.rules.clone(), Arc::clone(read)), names, last)
    }

    /// Returns the faults before the run was resumed.
    fn earlier_faults(&self) -> Faults {
        self.checkpoint.as_ref().map(|checkpoint| checkpoint.faults).unwrap_or_default()
    }

    /// Saves the table, reports the outcome, and returns the exit status. All documents must have been
    /// written.
    fn finish(
        mut self,
        clusterer: &Clusterer,
        readings: &[Arc<Reading>],
        (counts, read, skipped): (&Counts, &ReadSoFar, Skipped),
        documents: &serde_json::Value,
    ) -> anyhow::Result<ExitCode> {
        let earlier = self.earlier_faults();
        let faults = earlier.and(counts);
        let status = documents::check_records(read, self.checkpoint.is_some())
            .and_then(|()| self.exit_status(faults))
            .map(|status| if self.unnameable > 0 { 3 } else { status });
        let (started, checkpoints) = (self.started, self.checkpoints.clone());
        if let Ok(status) = status {
            self.parts.find_shards();
            self.write_receipt(counts, readings, documents)?;
            self.save(clusterer, readings, faults, status)?;
        } else {
            self.parts.set_continued_later(false);
            // The table stays as it was, so pages of a next run with other settings are not compared with
            // those of this run.
            checkpoints.map_or(Ok(()), |folder| folder.end(false))?;
        }
        let centroids = clusterer.centroid_count();
        terminal::note_lines(format_summary(counts, skipped, centroids, started.elapsed()));
        note_earlier(earlier);
        Ok(ExitCode::from(status?))
    }

    /// Returns the exit status, after all outputs are written. An error leaves the table as it was.
    fn exit_status(&self, faults: Faults) -> anyhow::Result<u8> {
        let reader = self.fingerprint_stage.reader();
        // An earlier process may have read lines with these fields.
        let is_resumed = self.checkpoint.is_some();
        let missing = if is_resumed { Vec::new() } else { self.arguments.columns.missing(reader) };
        if let Some((preset, count)) = reader.likeliest().filter(|_| faults.dead_letters > 0) {
            terminal::note(format_args!(
                "{count} of these records look like messages of {preset}: try --preset {preset}"
            ));
        }
        if has_hardly_any_body(faults) {
            bail!(
                "{} of {} records have no body where preset {} expects it, so the table is not saved. {}",
                faults.without_body,
                faults.records,
                self.config.input.preset,
                if missing.is_empty() { remedy(reader) } else { missing.join(". ") }
            );
        }
        missing.iter().for_each(terminal::note);
        let is_whole = faults.dead_letters == 0 && faults.left_out == 0;
        Ok(if is_whole { 0 } else { 3 })
    }

    /// Returns the reading of each input: what an earlier process has read of it, or what this one will read.
    fn readings(&self, inputs: &mut [Input]) -> Vec<Arc<Reading>> {
        let earlier =
            self.checkpoint.iter().flat_map(|checkpoint| checkpoint.read.iter().take(checkpoint.last.0));
        let mut earlier = earlier.cloned();
        let reading = |input: &mut Input| match earlier.next() {
            Some(part) => Arc::new(Reading::from_earlier_run(input.version(), part)),
            None => input.take_note(),
        };
        inputs.iter_mut().map(reading).collect()
    }

    /// Loads the table to start with, from the checkpoint or the table's folder, or returns an empty one.
    fn clusterer(&self) -> anyhow::Result<Clusterer> {
        Ok(match (&self.checkpoints, &self.checkpoint, &self.table_dir) {
            (Some(folder), Some(checkpoint), _) => folder.table(checkpoint, &self.table)?,
            (_, _, Some(dir)) => dir.load_or_begin(&self.table)?,
            _ => {
                let detector = Arc::clone(&self.table.detector);
                Clusterer::new(detector, self.table.rules.clone(), Position::default())
            }
        })
    }

    /// Saves the table together with the mark that this run is done, gives the outputs their names, and removes the
    /// checkpoint. Outputs must be complete.
    fn save(
        mut self,
        clusterer: &Clusterer,
        readings: &[Arc<Reading>],
        faults: Faults,
        status: u8,
    ) -> anyhow::Result<()> {
        self.parts.upload()?;
        if let (Some(mark), Some((option, _))) = (&mut self.mark, self.arguments.kept.shards()) {
            let shards = self.parts.written().filter(|(of, ..)| *of == option);
            mark.set_files(option, shards.map(|(_, path, _)| path.to_owned()).collect());
        }
        let number = match (&self.table_dir, &self.mark) {
            (Some(dir), Some(mark)) => mark.leave(dir, readings, faults.dead_letters)?,
            (Some(_), None) => None,
            (None, _) => Some(self.run_id.number()),
        };
        match number {
            Some(number) => self.parts.list(number, status)?,
            // A repetition could not tell that the table has the pages, so the files get their names before.
            None => self.parts.rename()?,
        }
        if let Some(dir) = &self.table_dir {
            dir.save(clusterer, &self.table).context("cannot save the table (--table)")?;
        }
        if number.is_some() {
            self.parts.rename()?;
        }
        self.checkpoints.as_ref().map_or(Ok(()), |folder| folder.end(true))?;
        self.parts.end()
    }
}

/// Reports objects for which the store gives neither a version nor a time.
fn note_unversioned(paths: &[PathBuf], inputs: &[Input]) {
    let is_unversioned =
        |input: &&Input| input.can_be_read_again() && input.version().is_none() && input.modified().is_none();
    let objects = paths.iter().zip(inputs).filter(|(path, _)| is_object(path)).map(|(_, input)| input);
    let mut unversioned = objects.filter(is_unversioned);
    if let Some(first) = unversioned.next() {
        terminal::note(format_args!(
            "{} objects have neither an ETag nor a time ({}, …), so a replacement of the same size during \
             the run may go unnoticed",
            unversioned.count() + 1,
            first.name
        ));
    }
}

/// Counts a record that went through the fingerprint stage, whatever its outcome is.
fn count(counts: &Counts, fingerprinted: &Fingerprinted) {
    counts.repaired(&fingerprinted.repaired);
    if !fingerprinted.has_body {
        counts.page_without_body();
    }
    if let Err(why) = fingerprinted.record {
        counts.skipped(why);
    }
    if let Some(language) = fingerprinted.texts.language {
        counts.language(language, fingerprinted.record.is_err());
    }
}

/// Rejects arguments that cannot work, before anything is written.
fn check(
    arguments: &Arguments,
    inputs: &[PathBuf],
    (outputs, uploads): (&[(&str, PathBuf)], &Uploads),
    config: &Config,
) -> anyhow::Result<()> {
    if let Some(base) = arguments.url_base.as_ref().filter(|base| !base.contains("://")) {
        return Err(wrong(format_args!(
            "--url-base {base}: must be the start of a url, such as https://example.com/"
        )));
    }
    let folders: Vec<&Path> =
        arguments.table.iter().chain(&arguments.checkpoint).map(PathBuf::as_path).collect();
    if let Some(folder) = folders.iter().find(|folder| is_object(folder)) {
        let folder = folder.display();
        return Err(wrong(format_args!(
            "{folder}: is in a store; --table and --checkpoint name local folders"
        )));
    }
    if arguments.checkpoint.is_some() && !uploads.is_empty() {
        return Err(wrong(
            "--checkpoint: cannot continue outputs in a store; name files, and copy them after the run",
        ));
    }
    if arguments.kept.receipt().is_some() && arguments.warc_base.is_some() {
        return Err(wrong("--receipt: cannot list the WARC files of --warc-base; leave one of them out"));
    }
    if let Some(base) = &arguments.warc_base
        && base.to_string_lossy().starts_with("http")
    {
        return Err(wrong(format_args!(
            "--warc-base {}: must be a folder or s3://BUCKET/…; for Common Crawl, use s3://commoncrawl/",
            base.display()
        )));
    }
    arguments.kept.check(inputs)?;
    check_checkpoint(arguments, inputs)?;
    if config.table.on_disk && arguments.table.is_none() {
        return Err(wrong("table.on_disk = true: needs --table DIR, the folder for the centroids"));
    }
    let configured = arguments.decision.files(config);
    let read = inputs.iter().chain(arguments.kept.benchmarks()).cloned().chain(configured);
    let read: Vec<PathBuf> = read.collect();
    let divided = arguments.kept.shards().map(|(_, kept)| uploads.name(kept));
    for (option, path) in outputs.iter().filter(|(option, _)| *option != "--keep") {
        if divided.as_ref().is_some_and(|kept| Options::is_shard(kept, path)) {
            return Err(wrong(format_args!(
                "{option} {}: is the name of a shard of --keep; name another file",
                path.display()
            )));
        }
    }
    check_outputs(outputs, &read, &folders)
}

/// The table's folder and the folder of checkpoints.
type Folders = (Option<Arc<TableDir>>, Option<Arc<CheckpointDir>>);

/// Opens and locks the folders of a run.
fn folders_of(arguments: &Arguments) -> anyhow::Result<Folders> {
    let open = match arguments.checkpoint {
        Some(_) => TableDir::open_for_checkpoints,
        None => TableDir::open,
    };
    let table = arguments.table.as_deref().map(open).transpose()?.map(Arc::new);
    let mut checkpoints = arguments.checkpoint.as_deref().map(CheckpointDir::open).transpose()?;
    if let (Some(table), Some(checkpoints)) = (&table, &mut checkpoints) {
        checkpoints.set_table(Arc::clone(table));
    }
    Ok((table, checkpoints.map(Arc::new)))
}

/// Checks that a run with checkpoints has inputs that can be read again and outputs that can be truncated.
fn check_checkpoint(arguments: &Arguments, inputs: &[PathBuf]) -> anyhow::Result<()> {
    if arguments.checkpoint.is_none() {
        return Ok(());
    }
    if arguments.kept.shards().is_some() {
        return Err(wrong("--checkpoint: cannot continue shards; leave --shard-bytes or --checkpoint out"));
    }
    if inputs.is_empty() || inputs.iter().any(|input| documents::is_read_once(input)) {
        return Err(wrong(
            "--checkpoint: every INPUT must be a file or an object, so that the next run can read it again",
        ));
    }
    let to_output = arguments.output.iter().chain(&arguments.dead_letters).cloned();
    let files = arguments.kept.files(inputs).into_iter().map(|(_, path)| path);
    let is_file = |path: PathBuf| WholeLines::part_of(&path).is_some();
    if (arguments.output.is_none() && !arguments.kept.copies()) || !to_output.chain(files).all(is_file) {
        return Err(wrong(
            "--checkpoint: every output must be a file that the next run can continue; add --output FILE or --keep FILE",
        ));
    }
    Ok(())
}

/// Returns the name of the output file for the records that an index lists.
fn named_for_records(index: &Path) -> PathBuf {
    let is_called = |path: &Path, endings: &[&str]| {
        path.extension().is_some_and(|is| endings.iter().any(|ending| is.eq_ignore_ascii_case(ending)))
    };
    let mut name = index.to_owned();
    for endings in [&["gz"][..], &["cdxj", "cdx"]] {
        if is_called(&name, endings) {
            name.set_extension("");
        }
    }
    let mut name = name.into_os_string();
    name.push(".warc.gz");
    name.into()
}

/// Returns the identity of this run: a later process resumes a checkpoint only if the two identities are
/// equal.
fn run_id(arguments: &Arguments, inputs: &[Input], (config, table): (&Config, &TableSettings)) -> RunId {
    let paths = [
        ("--output", &arguments.output),
        ("--dead-letters", &arguments.dead_letters),
        ("--table", &arguments.table),
    ];
    let paths =
        paths.into_iter().filter_map(|(option, path)| Some(format!("{option} {}", path.as_ref()?.display())));
    let name = |input: &Input| match input.version() {
        Some(version) => format!("{} (version {version})", input.name),
        None => input.name.to_string(),
    };
    let input = |input: &Input| RunInput {
        name: name(input),
        bytes: input.bytes.unwrap_or(0),
        modified: input.stamp.map(|stamp| stamp.modified).or(input.modified().map(|seconds| (seconds, 0))),
    };
    let hashes = [reading_hash(config), table.fingerprint_hash, table.cluster_hash];
    let settings = hashes.map(|hash| format!("{hash:016x}")).join("-");
    RunId {
        inputs: inputs.iter().map(input).collect(),
        options: paths
            .chain(arguments.url_base.iter().map(|base| format!("--url-base {base}")))
            .chain(arguments.warc_base.iter().map(|base| format!("--warc-base {}", base.display())))
            .chain(arguments.columns.options())
            .chain(arguments.kept.given_options())
            .chain(arguments.languages.given_option())
            .chain([format!("settings {settings}")])
            .collect(),
    }
}

/// Opens the files for verdicts and dead letters, or continues those of the checkpoint.
fn sink(
    arguments: &Arguments,
    progress: &Progress,
    counts: &Arc<Counts>,
    checkpoint: Option<&Checkpoint>,
) -> anyhow::Result<FileSink> {
    let lines = |path: &Path, name| match checkpoint.and_then(|checkpoint| checkpoint.extents.get(name)) {
        None => create(path),
        Some(extent) => {
            WholeLines::resume(path, *extent).with_context(|| format!("cannot continue {}", path.display()))
        }
    };
    let verdicts = match &arguments.output {
        Some(path) => Some(lines(path, "verdicts")?),
        None if arguments.kept.copies() => None,
        None => Some(create(Path::new("-"))?),
    };
    let dead_letters = match &arguments.dead_letters {
        Some(path) => DeadLetters::File(lines(path, "dead_letters")?),
        None => {
            let (progress, counts) = (progress.clone(), Arc::clone(counts));
            // The letter is counted once it is written.
            DeadLetters::Log(Box::new(move |letter| {
                report(letter, counts.dead_letters_of_cause(&letter.cause), &progress);
            }))
        }
    };
    Ok(FileSink::new(verdicts, dead_letters, Arc::clone(counts)))
}

/// Reports a dead letter, unless enough of the same cause (`before` of them) were reported already.
fn report(letter: &Unreadable, before: u64, progress: &Progress) {
    match before {
        ..TOLD_MAX => {
            progress.note(format_args!("{}: {} ({})", letter.source, letter.message, letter.cause));
        }
        TOLD_MAX => progress.note(format_args!(
            "further records with {} are only counted; use --dead-letters FILE to get them all",
            letter.cause
        )),
        _ => {}
    }
}

/// Reports the faults before the run was resumed.
fn note_earlier(earlier: Faults) {
    let Faults { dead_letters, left_out, .. } = earlier;
    if dead_letters > 0 || left_out > 0 {
        terminal::note(format_args!(
            "before the run was resumed, it had {dead_letters} dead letters, and {left_out} documents in no output"
        ));
    }
}

/// Returns the advice to give if most records have no body.
fn remedy(reader: &PageReader) -> String {
    match reader.likeliest() {
        Some((preset, count)) => {
            format!(
                "{count} of them look like messages of {preset}: add `--preset {preset}`, or preset = {preset:?} under [input]"
            )
        }
        None => {
            "`leitong preset detect INPUT` proposes a mapping; or name the field that holds the page, as in \
             `html = [\"/page/source\"]` under [input.fields]"
                .to_owned()
        }
    }
}

/// Returns true if most records, or all of a few pages, have no body: the input probably has it in another field.
/// Such a run must not look like a success.
fn has_hardly_any_body(Faults { without_body, records, dead_letters, .. }: Faults) -> bool {
    let is_all = without_body > 0 && without_body + dead_letters == records;
    is_all || (without_body >= WITHOUT_BODY_MIN && without_body * 2 > records)
}

/// Opens all inputs, or standard input if none is named.
fn open_inputs(paths: &[PathBuf]) -> anyhow::Result<Vec<Input>> {
    if paths.is_empty() {
        if std::io::stdin().is_terminal() {
            return Err(wrong("no INPUT; name files, or use `-` for standard input"));
        }
        return Ok(vec![Input::open(Path::new("-")).context("standard input")?]);
    }
    documents::open(paths)
}

/// Returns the files that are written, each with its option.
fn outputs(arguments: &Arguments, below: &[PathBuf]) -> Vec<(&'static str, PathBuf)> {
    let outputs = [("--output", &arguments.output), ("--dead-letters", &arguments.dead_letters)];
    let outputs = outputs.into_iter().filter_map(|(option, path)| Some((option, path.clone()?)));
    outputs.chain(arguments.kept.files(below)).collect()
}
