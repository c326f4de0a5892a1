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
use leitong_formats::source::{Input, ReadPart, Reading, is_object};
use leitong_keep::sink::WholeLines;
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
    /// The option that writes documents, clusters or a report to standard output, a pipe or a store.
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
        let outputs: Vec<_> = outputs
            .chunk_by(|a, b| a.0 == b.0)
            .map(|group| (group[0].0, group.iter().map(|(_, path)| path.clone()).collect::<Vec<_>>()))
            .collect();
        let names: Vec<_> = outputs
            .iter()
            .map(|(option, paths)| (*option, paths.iter().any(|path| is_stream(path))))
            .collect();
        let is_record = |option| matches!(option, "--output" | "--dead-letters");
        let is_unseen = |paths: &[PathBuf]| paths.iter().any(|path| is_stream(path) || is_object(path));
        let streamed = outputs.iter().find(|(option, paths)| is_unseen(paths) && !is_record(option));
        let streamed = streamed.map(|(option, _)| *option);
        let prints = prints || names.iter().any(|(_, is_stream)| *is_stream);
        // Paths can be spelled in many ways, so inputs are compared by their contents, and outputs by the files that
        // exist.
        let is_path = |option: &&String| {
            let option = option.split(' ').next().unwrap_or_default();
            option == "--table" || names.iter().any(|(name, _)| *name == option)
        };
        let options: Vec<_> = run.options.iter().filter(|option| !is_path(option)).collect();
        let id = xxh3_64(&serde_json::to_vec(&(&names, options))?);
        let files = outputs.into_iter().map(|(option, paths)| (option, with_parts(paths)));
        Ok(Some(Self { id, inputs, outputs: files.collect(), streamed, prints }))
    }

    /// Sets the files of an option that are known only when all are complete.
    pub(crate) fn set_files(&mut self, option: &str, paths: Vec<PathBuf>) {
        if let Some((_, files)) = self.outputs.iter_mut().find(|(name, _)| *name == option) {
            *files = with_parts(paths);
        }
    }

    /// Returns the run in the table in `dir` that is this one, and its number, if there is one.
    ///
    /// # Errors
    /// A file cannot be read.
    pub(crate) fn find(&self, dir: &TableDir) -> anyhow::Result<Option<(FinishedRun, u64)>> {
        let runs = dir.finished_runs()?;
        let mut sizes: Vec<u64> =
            self.inputs.iter().map(|input| input.bytes).filter(|bytes| *bytes > 0).collect();
        sizes.sort_unstable();
        sizes.dedup();
        let has_sizes = |run: &FinishedRun| {
            let mut listed: Vec<u64> = entries(run).map(bytes_of).collect();
            listed.sort_unstable();
            listed.dedup();
            listed == sizes
        };
        let is_like = |run: &FinishedRun| run.id == self.id && has_sizes(run);
        let mut like = runs.into_iter().rev().filter(is_like).peekable();
        if like.peek().is_none() {
            return Ok(None);
        }
        let (digest, _) = self.contents(digest_of)?;
        let this = like.find(|run| run.inputs == digest[..]);
        Ok(this.map(|run| (run, self.number(&digest))))
    }

    /// Returns the number of this run, over inputs with this digest.
    fn number(&self, digest: &[u8; 16]) -> u64 {
        xxh3_64(&[&self.id.to_le_bytes()[..], digest].concat())
    }

    /// Returns an error if this run would lose documents, because the table in `dir` has pages of its inputs. In this
    /// run they are duplicates of themselves, and would be missing in an output: in a file with contents, which
    /// `--overwrite` replaces, or in documents on standard output, in a pipe or in a store.
    ///
    /// # Errors
    /// Also if a file cannot be read.
    pub(crate) fn refuse_losses(&self, dir: &TableDir, table: &Path) -> anyhow::Result<()> {
        let loss = self.loss();
        let runs = dir.finished_runs()?;
        let Some(run) = self.sharing(&runs, loss.is_some())? else { return Ok(()) };
        let (when, table) = (ended_at(run), table.display());
        let why = format!(
            "a run that ended{when} put pages of these inputs into the table {table}, so each of them is a duplicate of \
             itself"
        );
        match loss {
            Some(loss) => bail!("{loss}; {why}. Nothing was changed; {REMEDY}"),
            None => terminal::note(format_args!("{why}; {REMEDY}")),
        }
        Ok(())
    }

    /// Returns the first output that would lose documents if they were duplicates of themselves, with the problem.
    fn loss(&self) -> Option<String> {
        let has_contents = |path: &PathBuf| fs::metadata(path).is_ok_and(|file| file.len() > 0);
        let overwritten = self.outputs.iter().find_map(|(option, paths)| {
            let (path, _) = paths.iter().find(|(path, _)| has_contents(path))?;
            Some(format!("{option} {}: would be overwritten", path.display()))
        });
        overwritten.or_else(|| Some(format!("{}: would be incomplete", self.streamed?)))
    }

    /// Returns the last of `runs` that read one of these inputs, or, if `grown` is set, what one of them was before
    /// lines were appended to it. Reads only the inputs that are as long as an input of these runs, or longer.
    fn sharing<'r>(&self, runs: &'r [FinishedRun], grown: bool) -> anyhow::Result<Option<&'r FinishedRun>> {
        let lengths: BTreeSet<u64> = runs.iter().flat_map(entries).map(bytes_of).collect();
        let mut ours = BTreeSet::new();
        for MarkedInput { path, bytes, version } in &self.inputs {
            if let Some(version) = version {
                ours.insert(entry(*bytes, version));
                continue;
            }
            let shortest = if grown { 0 } else { *bytes };
            let lengths: Vec<u64> = lengths.range(shortest..=*bytes).copied().collect();
            if !lengths.is_empty() {
                let digests =
                    File::open(path).and_then(|file| ReadPart::digests_of_beginnings(file, &lengths));
                let digests = digests.with_context(|| format!("cannot read {}", path.display()))?;
                ours.extend(digests.iter().map(|(bytes, digest)| entry(*bytes, digest)));
            }
        }
        Ok(runs.iter().rev().find(|run| entries(run).any(|entry| ours.contains(entry))))
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
            let now = count_written(paths.iter().map(|(path, _)| path));
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
        let (digest, listed) = self.contents(|path| {
            let part = readings.next().map(|reading| reading.part()).unwrap_or_default();
            match part.stamp {
                Some(stamp) if stamp.bytes == part.bytes => Ok((part.digest, Some(stamp.bytes))),
                // Only a part of the file was read.
                _ => digest_of(path),
            }
        })?;
        let listed: Vec<_> = listed.into_iter().collect();
        dir.add_finished_run(FinishedRun {
            id: self.id,
            inputs: digest.to_vec().into(),
            finished_at_ms: Timestamp::now().as_ms(),
            dead_letters,
            // Files get their names after the table was saved.
            outputs: self
                .outputs
                .iter()
                .map(|(_, paths)| count_written(paths.iter().map(|(_, part)| part)))
                .collect(),
            input_contents: listed.concat().into(),
        });
        Ok(Some(self.number(&digest)))
    }

    /// Returns the digest of all inputs in order, and an entry for each that is not empty: by their versions, or by the
    /// digest and size that `digest` returns for a file.
    fn contents(
        &self,
        mut digest: impl FnMut(&Path) -> io::Result<(String, Option<u64>)>,
    ) -> anyhow::Result<([u8; 16], BTreeSet<[u8; ENTRY_BYTES]>)> {
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
        Ok((xxh3_128(all.as_bytes()).to_be_bytes(), entries))
    }
}

/// Returns each regular file with its part, without objects of stores.
fn with_parts(paths: Vec<PathBuf>) -> Vec<(PathBuf, PathBuf)> {
    let files = paths.into_iter().filter(|path| !is_object(path));
    files.filter_map(|path| Some((path.clone(), WholeLines::part_of(&path)?))).collect()
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
fn entries(run: &FinishedRun) -> impl Iterator<Item = &[u8; ENTRY_BYTES]> {
    run.input_contents.as_chunks().0.iter()
}

fn ended_at(run: &FinishedRun) -> String {
    Timestamp::from_ms(run.finished_at_ms).map(|time| format!(" at {time}")).unwrap_or_default()
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
fn count_written<'p>(paths: impl Iterator<Item = &'p PathBuf>) -> WrittenOutput {
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
