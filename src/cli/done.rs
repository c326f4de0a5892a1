//! Recognises a `dedup` run that is already part of its table, so it is not repeated.
//!
//! A repeated run would compare each page with itself, and would empty the outputs. So a run that writes
//! files leaves a mark in its table ([`finished`](crate::snapshot)), in the same step in which its pages
//! become part of the table. Its outputs are complete and on disk before that. If a process is killed at any
//! time, the next one finds either no mark and a table without these pages, or the mark and complete outputs.

use std::collections::BTreeSet;
use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};

use anyhow::{Context, bail};
use xxhash_rust::xxh3::{xxh3_64, xxh3_128};

use crate::checkpoint::RunId;
use crate::proto::{FinishedRun, WrittenOutput};
use crate::record::timestamp::Timestamp;
use crate::snapshot::{TableDir, sync_parent};
use crate::source::location::is_object;
use crate::source::open::Input;
use crate::source::reading::{self, Reading};
use crate::telemetry::counts::Counts;
use crate::telemetry::terminal;

/// Advice for a user who wants to repeat a finished run.
const REMEDY: &str = "to run it again, name a table that does not have these pages, such as an empty folder";

/// A run that leaves a mark in its table when it is done.
pub(super) struct Marked {
    id: u64,
    /// The inputs, each with the version of its object, which identifies the contents. Files have no version.
    inputs: Vec<(PathBuf, Option<String>)>,
    /// Each option that names output files, with these files.
    outputs: Vec<(&'static str, Vec<PathBuf>)>,
    /// True if the run also writes to standard output.
    prints: bool,
}

impl Marked {
    /// Returns the run `run` over `inputs`, or `None` if it cannot be recognised later. It can if `outputs`
    /// has files of verdicts or documents, and if the contents of all inputs can be compared.
    pub(super) fn new(
        run: &RunId,
        (paths, inputs): (&[PathBuf], &[Input]),
        outputs: &[(&'static str, PathBuf)],
        prints: bool,
    ) -> anyhow::Result<Option<Self>> {
        let is_file = |path: &Path| path != Path::new("-") && (!path.exists() || path.is_file());
        let known = |(path, input): (&PathBuf, &Input)| {
            let version = input.version().map(str::to_owned);
            let can_be_compared = if is_object(path) { version.is_some() } else { input.can_be_read_again() };
            can_be_compared.then(|| (path.clone(), version))
        };
        let Some(inputs) = paths.iter().zip(inputs).map(known).collect::<Option<Vec<_>>>() else {
            return Ok(None);
        };
        let of_option = |group: &[(&'static str, PathBuf)]| {
            (group[0].0, group.iter().map(|(_, path)| path.clone()).collect::<Vec<_>>())
        };
        let mut outputs: Vec<_> = outputs.chunk_by(|a, b| a.0 == b.0).map(of_option).collect();
        let prints =
            prints || outputs.iter().any(|(_, paths)| paths.iter().any(|path| path == Path::new("-")));
        outputs.iter_mut().for_each(|(_, paths)| paths.retain(|path| is_file(path)));
        let counts =
            |(option, paths): &(&str, Vec<PathBuf>)| *option != "--dead-letters" && !paths.is_empty();
        if inputs.is_empty() || !outputs.iter().any(counts) {
            return Ok(None);
        }
        // The table's own folder may have another name by now, and times may differ where contents do not.
        let names: Vec<_> = run.inputs.iter().map(|input| (&input.name, input.bytes)).collect();
        let options: Vec<_> = run.options.iter().filter(|option| !option.starts_with("--table ")).collect();
        let id = xxh3_64(&serde_json::to_vec(&(names, options))?);
        Ok(Some(Self { id, inputs, outputs, prints }))
    }

    /// Returns true if this run is part of the table in `dir` and its outputs are unchanged, and reports that
    /// to the user.
    ///
    /// # Errors
    /// Fails if the run is part of the table, but its outputs were changed or went to standard output; or if
    /// a file cannot be read.
    pub(super) fn is_done(&self, dir: &TableDir, table: &Path) -> anyhow::Result<bool> {
        let Some(run) = dir.finished_run(self.id)? else { return Ok(false) };
        if self.contents(digest_of)? != run.inputs[..] {
            return Ok(false);
        }
        let when =
            Timestamp::from_ms(run.finished_at_ms).map(|time| format!(" at {time}")).unwrap_or_default();
        let done = format!("this run ended{when}, and its pages are in the table {}", table.display());
        if self.prints {
            bail!("already done: {done}; its standard output cannot be written again: {REMEDY}");
        }
        for ((option, paths), then) in self.outputs.iter().zip(&run.outputs) {
            let now = written(paths);
            if now != *then {
                bail!(
                    "already done: {done}, but the output of {option} was changed since: it has {}, and had {}; restore it from a \
                     copy, or, {REMEDY}",
                    describe(now),
                    describe(*then)
                );
            }
        }
        let letters = match run.dead_letters {
            0 => String::new(),
            count => format!(" It had {count} dead letters."),
        };
        terminal::note(format_args!(
            "already done: {done}; its outputs are not changed.{letters} If you want {REMEDY}"
        ));
        Ok(true)
    }

    /// Flushes all outputs to disk, then adds the mark, which is saved with the next save of the table in
    /// `dir`. Outputs must be complete.
    ///
    /// # Errors
    /// Fails if an output cannot be flushed to disk, or an input cannot be read.
    pub(super) fn leave(
        &self,
        dir: &TableDir,
        readings: &[std::sync::Arc<Reading>],
        counts: &Counts,
    ) -> anyhow::Result<()> {
        let mut folders = BTreeSet::new();
        for path in self.outputs.iter().flat_map(|(_, paths)| paths).filter(|path| path.is_file()) {
            let on_disk = File::open(path).and_then(|file| file.sync_all());
            on_disk.with_context(|| format!("cannot write {}", path.display()))?;
            if folders.insert(path.parent()) {
                sync_parent(path).with_context(|| format!("cannot write {}", path.display()))?;
            }
        }
        let mut readings = readings.iter();
        let contents = self.contents(|path| {
            let part = readings.next().map(|reading| reading.part()).unwrap_or_default();
            match part.stamp {
                Some(stamp) if stamp.bytes == part.bytes => Ok(part.digest),
                // Only a part of the file was read.
                _ => digest_of(path),
            }
        })?;
        dir.add_finished_run(FinishedRun {
            id: self.id,
            inputs: contents.to_vec().into(),
            finished_at_ms: Timestamp::now().as_ms(),
            dead_letters: counts.dead_letters(),
            outputs: self.outputs.iter().map(|(_, paths)| written(paths)).collect(),
        });
        Ok(())
    }

    /// Returns a digest of the contents of all inputs, from the versions of objects and from `digest` for
    /// files.
    fn contents(&self, mut digest: impl FnMut(&Path) -> io::Result<String>) -> anyhow::Result<[u8; 16]> {
        let mut all = String::new();
        for (path, version) in &self.inputs {
            let of_file = digest(path).with_context(|| format!("cannot read {}", path.display()));
            all += &version.clone().map_or(of_file, Ok)?;
            all.push('\n');
        }
        Ok(xxh3_128(all.as_bytes()).to_be_bytes())
    }
}

fn digest_of(path: &Path) -> io::Result<String> {
    // Objects of stores have versions.
    if is_object(path) { Ok(String::new()) } else { Ok(reading::digest(File::open(path)?)?.0) }
}

/// Counts the files that exist, and their bytes.
fn written(paths: &[PathBuf]) -> WrittenOutput {
    let files = paths.iter().filter_map(|path| fs::metadata(path).ok()).filter(fs::Metadata::is_file);
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
