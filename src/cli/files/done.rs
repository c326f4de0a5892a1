//! Recognises a `dedup` run that is already part of its table, so it is not repeated.
//!
//! A repeated run would compare each page with itself, and would keep none of them. So a run that writes files leaves
//! a mark in its table ([`finished`](leitong_store::snapshot)), in the same step in which its pages become part of the
//! table. Its outputs are complete before that, and [renamed](crate::cli::files::parts) after it.

use std::collections::BTreeSet;
use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};

use anyhow::{Context, bail};
use xxhash_rust::xxh3::{xxh3_64, xxh3_128};

use crate::checkpoint::RunId;
use crate::cli::settings::wrong;
use leitong_base::proto::{FinishedRun, WrittenOutput};
use leitong_base::record::Timestamp;
use leitong_base::terminal;
use leitong_corpora::sink::WholeLines;
use leitong_corpora::source::{Input, ReadPart, Reading, is_object};
use leitong_store::snapshot::TableDir;

/// Advice for a user who wants to repeat a finished run.
const REMEDY: &str = "to run it again, name a table that does not have these pages, such as an empty folder";

/// Number of bytes of an entry in the list of a run's inputs: the size of the input, and a hash of its digest.
const ENTRY_BYTES: usize = 16;

/// A run that can be recognised when it is repeated.
pub(crate) struct Marked {
    id: u64,
    inputs: Vec<MarkedInput>,
    /// Each option that names output files, with its files and their parts.
    outputs: Vec<(&'static str, Vec<(PathBuf, PathBuf)>)>,
    /// The option that writes documents, clusters or a report to standard output or a pipe.
    streamed: Option<&'static str>,
    /// True if verdicts or something else go to standard output or a pipe.
    prints: bool,
}

/// An input, with the size and version by which it is known without reading it.
struct MarkedInput {
    path: PathBuf,
    bytes: u64,
    /// The version of an object.
    version: Option<String>,
}

/// The contents of all inputs of a run.
struct Contents {
    /// The digest of all inputs, in order.
    digest: [u8; 16],
    /// An entry for each input that is not empty.
    entries: BTreeSet<[u8; ENTRY_BYTES]>,
}

impl Marked {
    /// Returns the run `run` over `inputs`, or `None` if the contents of an input cannot be compared with those of
    /// other runs.
    pub(crate) fn new(
        run: &RunId,
        (paths, inputs): (&[PathBuf], &[Input]),
        outputs: &[(&'static str, PathBuf)],
        prints: bool,
    ) -> anyhow::Result<Option<Self>> {
        let known = |(path, input): (&PathBuf, &Input)| {
            let version = input.version().map(str::to_owned);
            let can_be_compared = if is_object(path) { version.is_some() } else { input.can_be_read_again() };
            let bytes = input.bytes.unwrap_or(0);
            can_be_compared.then(|| MarkedInput { path: path.clone(), bytes, version })
        };
        let Some(inputs) = paths.iter().zip(inputs).map(known).collect::<Option<Vec<_>>>() else {
            return Ok(None);
        };
        if inputs.is_empty() {
            return Ok(None);
        }
        let of_option = |group: &[(&'static str, PathBuf)]| {
            (group[0].0, group.iter().map(|(_, path)| path.clone()).collect::<Vec<_>>())
        };
        let outputs: Vec<_> = outputs.chunk_by(|a, b| a.0 == b.0).map(of_option).collect();
        let names: Vec<_> = outputs
            .iter()
            .map(|(option, paths)| (*option, paths.iter().any(|path| is_stream(path))))
            .collect();
        let prints = prints || names.iter().any(|(_, is_stream)| *is_stream);
        let streamed = names.iter().find(|(option, is_stream)| *is_stream && !is_record(option));
        let streamed = streamed.map(|(option, _)| *option);
        let with_parts = |(option, paths): (&'static str, Vec<PathBuf>)| {
            (
                option,
                paths
                    .into_iter()
                    .filter_map(|path| Some((path.clone(), WholeLines::part_of(&path)?)))
                    .collect(),
            )
        };
        let outputs = outputs.into_iter().map(with_parts).collect();
        // Paths can be spelled in many ways, so inputs are compared by their contents, and outputs by the files that
        // exist.
        let is_path = |option: &&String| {
            let option = option.split(' ').next().unwrap_or_default();
            option == "--table" || names.iter().any(|(name, _)| *name == option)
        };
        let options: Vec<_> = run.options.iter().filter(|option| !is_path(option)).collect();
        let id = xxh3_64(&serde_json::to_vec(&(names, options))?);
        Ok(Some(Self { id, inputs, outputs, streamed, prints }))
    }

    /// Returns the run in the table in `dir` that is this one, and its number, if there is one.
    ///
    /// # Errors
    /// A file cannot be read.
    pub(crate) fn find(&self, dir: &TableDir) -> anyhow::Result<Option<(FinishedRun, u64)>> {
        let runs = dir.finished_runs()?;
        let is_like = |run: &FinishedRun| run.id == self.id && self.may_share_inputs(run);
        let mut like = runs.into_iter().rev().filter(is_like).peekable();
        if like.peek().is_none() {
            return Ok(None);
        }
        let contents = self.contents(digest_of)?;
        let this = like.find(|run| run.inputs == contents.digest[..]);
        Ok(this.map(|run| (run, self.number(&contents))))
    }

    /// Returns the number of this run, over inputs with these contents.
    fn number(&self, contents: &Contents) -> u64 {
        xxh3_64(&[&self.id.to_le_bytes()[..], &contents.digest].concat())
    }

    /// Returns an error if this run would lose documents, because the table in `dir` has pages of these inputs: with
    /// `--overwrite` from a file, or from standard output or a pipe.
    ///
    /// # Errors
    /// Also if a file cannot be read.
    pub(crate) fn refuse_losses(&self, dir: &TableDir, table: &Path) -> anyhow::Result<()> {
        let runs = dir.finished_runs()?;
        if let Some(run) = self.grown_since(&runs)? {
            self.refuse_emptying(run, Relation::AroundIt, table)?;
        }
        let related: Vec<&FinishedRun> = runs.iter().filter(|run| self.may_share_inputs(run)).collect();
        if related.is_empty() {
            return Ok(());
        }
        let contents = self.contents(digest_of)?;
        match related.iter().rev().find_map(|run| Some((run, contents.relation_to(run)?))) {
            Some((run, relation)) => self.refuse_emptying(run, relation, table),
            None => Ok(()),
        }
    }

    /// Returns the last run of the same command that read the beginning of one of this run's inputs: lines were
    /// appended to that input afterwards. Reads inputs only if there may be such a run, and an output for documents
    /// has contents.
    fn grown_since<'r>(&self, runs: &'r [FinishedRun]) -> anyhow::Result<Option<&'r FinishedRun>> {
        let mut of_command = runs.iter().rev().filter(|run| run.id == self.id).peekable();
        if of_command.peek().is_none() || self.overwritten(Relation::AroundIt).is_none() {
            return Ok(None);
        }
        let of_command: Vec<&FinishedRun> = of_command.collect();
        let lengths: BTreeSet<u64> =
            of_command.iter().flat_map(|run| entries(run)).map(|entry| bytes_of(&entry)).collect();
        let mut beginnings = BTreeSet::new();
        for MarkedInput { path, bytes, version } in &self.inputs {
            let shorter: Vec<u64> = lengths.range(1..*bytes).copied().collect();
            if version.is_none() && !shorter.is_empty() {
                let digests =
                    File::open(path).and_then(|file| ReadPart::digests_of_beginnings(file, &shorter));
                let digests = digests.with_context(|| format!("cannot read {}", path.display()))?;
                beginnings.extend(digests.iter().map(|(bytes, digest)| entry(*bytes, digest)));
            }
        }
        Ok(of_command.into_iter().find(|run| !entries(run).is_disjoint(&beginnings)))
    }

    /// Returns the first output with contents that would be lost, with the problem.
    fn overwritten(&self, relation: Relation) -> Option<String> {
        self.outputs.iter().filter(|(option, _)| is_at_risk(option, relation)).find_map(|(option, paths)| {
            let has_contents = |path: &&PathBuf| fs::metadata(path).is_ok_and(|file| file.len() > 0);
            let path = paths.iter().map(|(path, _)| path).find(has_contents)?;
            Some(format!("{option} {}: would be overwritten", path.display()))
        })
    }

    /// Returns false if the sizes of the inputs show that `run` had other inputs.
    fn may_share_inputs(&self, run: &FinishedRun) -> bool {
        let listed = entries(run);
        let sizes: BTreeSet<[u8; 8]> =
            listed.iter().filter_map(|entry| entry.first_chunk().copied()).collect();
        let ours = self.inputs.iter().map(|input| input.bytes.to_le_bytes());
        let ours: BTreeSet<[u8; 8]> = ours.filter(|bytes| *bytes != [0; 8]).collect();
        // Empty inputs are not listed. Earlier versions did not list more than 4,096 inputs.
        let may_be_unlisted = sizes.is_empty() && (run.id == self.id || self.inputs.len() > 4096);
        may_be_unlisted || ours.is_empty() || sizes.is_subset(&ours) || ours.is_subset(&sizes)
    }

    /// Reports that the run is done.
    ///
    /// # Errors
    /// An output is not as `run` left it, or standard output would have to be written again.
    pub(crate) fn report(&self, run: &FinishedRun, table: &Path) -> anyhow::Result<()> {
        let when = ended_at(run);
        let done = format!("this run ended{when}, and its pages are in the table {}", table.display());
        if self.prints {
            bail!("already done: {done}; its standard output cannot be written again: {REMEDY}");
        }
        for ((option, paths), then) in self.outputs.iter().zip(&run.outputs) {
            let now = written(paths.iter().map(|(path, _)| path));
            if now != *then {
                let path = paths.first().map(|(path, _)| format!(" {}", path.display())).unwrap_or_default();
                let problem = format!(
                    "already done: {done}, but {option}{path} is not what that run wrote: it has {}, and that run wrote \
                     {}. If that run wrote to another file, name that one; if the file was changed, restore it from a \
                     copy; or, {REMEDY}",
                    describe(now),
                    describe(*then)
                );
                // Somebody else's file is refused as in every other run.
                return Err(if now.files > 0 { wrong(problem) } else { anyhow::Error::msg(problem) });
            }
        }
        let letters = match run.dead_letters {
            0 => String::new(),
            count => format!(" It had {count} dead letters."),
        };
        terminal::note(format_args!(
            "already done: {done}; its outputs are not changed.{letters} If you want {REMEDY}"
        ));
        Ok(())
    }

    /// Returns an error if this run would empty an output with pages that `run` has put into the table. In
    /// this run, they would be duplicates of themselves, and be in no output.
    fn refuse_emptying(&self, run: &FinishedRun, relation: Relation, table: &Path) -> anyhow::Result<()> {
        let streamed = self.streamed.filter(|option| is_at_risk(option, relation));
        let problem = self
            .overwritten(relation)
            .or_else(|| streamed.map(|option| format!("{option}: would be incomplete")));
        let whose = match relation {
            Relation::WithinIt => "the pages of these inputs",
            Relation::AroundIt => "the pages of some of these inputs",
        };
        let (when, table) = (ended_at(run), table.display());
        let why = format!(
            "a run that ended{when} put {whose} into the table {table}, so each page is a duplicate of \
             itself"
        );
        match problem {
            Some(problem) => bail!("{problem}; {why}. Nothing was changed; {REMEDY}"),
            None => {
                terminal::note(format_args!("{why}; {REMEDY}"));
                Ok(())
            }
        }
    }

    /// Leaves the mark, which becomes part of the table in `dir` when that is saved. All outputs are complete. Returns
    /// the number of the run, or `None` for a run without an output of its own, which leaves no mark.
    ///
    /// # Errors
    /// Fails if an input cannot be read.
    pub(crate) fn leave(
        &self,
        dir: &TableDir,
        readings: &[std::sync::Arc<Reading>],
        dead_letters: u64,
    ) -> anyhow::Result<Option<u64>> {
        let counts_as_output =
            |(option, paths): &(&str, Vec<_>)| *option != "--dead-letters" && !paths.is_empty();
        if self.streamed.is_none() && !self.outputs.iter().any(counts_as_output) {
            return Ok(None);
        }
        let mut readings = readings.iter();
        let contents = self.contents(|path| {
            let part = readings.next().map(|reading| reading.part()).unwrap_or_default();
            match part.stamp {
                Some(stamp) if stamp.bytes == part.bytes => Ok((part.digest, Some(stamp.bytes))),
                // Only a part of the file was read.
                _ => digest_of(path),
            }
        })?;
        let number = self.number(&contents);
        let listed: Vec<_> = contents.entries.into_iter().collect();
        dir.add_finished_run(FinishedRun {
            id: self.id,
            inputs: contents.digest.to_vec().into(),
            finished_at_ms: Timestamp::now().as_ms(),
            dead_letters,
            // Files get their names after the table was saved.
            outputs: self
                .outputs
                .iter()
                .map(|(_, paths)| written(paths.iter().map(|(_, part)| part)))
                .collect(),
            input_contents: listed.concat().into(),
        });
        Ok(Some(number))
    }

    /// Returns the contents of all inputs, by their versions, or by the digest and size that `digest` returns
    /// for a file.
    fn contents(
        &self,
        mut digest: impl FnMut(&Path) -> io::Result<(String, Option<u64>)>,
    ) -> anyhow::Result<Contents> {
        let mut all = String::new();
        let mut entries = BTreeSet::new();
        for MarkedInput { path, bytes, version } in &self.inputs {
            let of_file = digest(path).with_context(|| format!("cannot read {}", path.display()));
            let (of_file, read_bytes) = of_file?;
            let of_input = version.clone().unwrap_or(of_file);
            // The file may have been replaced before it was read.
            let bytes = read_bytes.unwrap_or(*bytes);
            if bytes > 0 {
                entries.insert(entry(bytes, &of_input));
            }
            all += &of_input;
            all.push('\n');
        }
        Ok(Contents { digest: xxh3_128(all.as_bytes()).to_be_bytes(), entries })
    }
}

/// The result of comparing the inputs of a run with those of a finished one.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Relation {
    /// The finished run had all inputs of this run.
    WithinIt,
    /// This run has all inputs of the finished run, and others.
    AroundIt,
}

impl Contents {
    /// Returns how these inputs compare with those of `run`; `None` if each run has inputs that the other lacks.
    fn relation_to(&self, run: &FinishedRun) -> Option<Relation> {
        let then = entries(run);
        if self.digest[..] == run.inputs[..] {
            return Some(Relation::WithinIt);
        }
        if then.is_empty() || self.entries.is_empty() {
            return None;
        }
        let is_around = self.entries.is_superset(&then).then_some(Relation::AroundIt);
        if self.entries.is_subset(&then) { Some(Relation::WithinIt) } else { is_around }
    }
}

/// Returns true if a run with these inputs may lose contents that an output of `option` has from the finished
/// run.
fn is_at_risk(option: &str, relation: Relation) -> bool {
    relation == Relation::WithinIt || matches!(option, "--keep" | "--drop")
}

/// Returns the entry of an input.
fn entry(bytes: u64, digest: &str) -> [u8; ENTRY_BYTES] {
    let mut entry = [0; ENTRY_BYTES];
    entry[..8].copy_from_slice(&bytes.to_le_bytes());
    entry[8..].copy_from_slice(&xxh3_64(digest.as_bytes()).to_le_bytes());
    entry
}

/// Returns the size of the input of an entry.
fn bytes_of(entry: &[u8; ENTRY_BYTES]) -> u64 {
    entry.first_chunk().map_or(0, |bytes| u64::from_le_bytes(*bytes))
}

/// Returns the entries of the inputs that `run` lists.
fn entries(run: &FinishedRun) -> BTreeSet<[u8; ENTRY_BYTES]> {
    run.input_contents.as_chunks().0.iter().copied().collect()
}

fn ended_at(run: &FinishedRun) -> String {
    Timestamp::from_ms(run.finished_at_ms).map(|time| format!(" at {time}")).unwrap_or_default()
}

/// Returns true if the option writes one line for each record, so its output is complete even if all pages
/// are duplicates.
fn is_record(option: &str) -> bool {
    matches!(option, "--output" | "--dead-letters")
}

/// Returns true for standard output and pipes, whose contents cannot be seen later.
fn is_stream(path: &Path) -> bool {
    WholeLines::part_of(path).is_none()
        && !path.canonicalize().is_ok_and(|path| path == Path::new("/dev/null"))
}

fn digest_of(path: &Path) -> io::Result<(String, Option<u64>)> {
    if is_object(path) {
        // Objects of stores have versions.
        return Ok((String::new(), None));
    }
    let (digest, bytes) = ReadPart::digest(File::open(path)?)?;
    Ok((digest, Some(bytes)))
}

/// Counts the files that exist, and their bytes.
fn written<'p>(paths: impl Iterator<Item = &'p PathBuf>) -> WrittenOutput {
    let files = paths.filter_map(|path| fs::metadata(path).ok()).filter(fs::Metadata::is_file);
    files.fold(WrittenOutput::default(), |WrittenOutput { files, bytes }, file| WrittenOutput {
        files: files + 1,
        bytes: bytes + file.len(),
    })
}

fn describe(WrittenOutput { files, bytes }: WrittenOutput) -> String {
    match files {
        0 => "no file".to_owned(),
        1 => format!("{bytes} bytes"),
        files => format!("{files} files of {bytes} bytes"),
    }
}
