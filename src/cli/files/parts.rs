//! Replaces output files in one step, and never without permission.
//!
//! A file NAME that exists is replaced only with `--overwrite`. It is written as `NAME.part`, and renamed when the whole
//! command is done. A *record* next to the first output, `NAME.part.run` or `FOLDER/.part.run`, says which command the
//! parts belong to. Only the same command replaces them or goes on with them. An error removes parts and record.
//!
//! Before the first part is renamed, the record lists all parts by size and time. So if the process is killed between
//! two renames, the same command can complete them. With a table, this is the order of events at the end: the record lists
//! the parts, the table is saved with the mark that this run is [done](crate::cli::files::done), the parts are renamed, and
//! checkpoint and record are removed. Outputs in stores are sent before all that.

use std::collections::{BTreeSet, HashSet};
use std::fs::{self, File, Metadata};
use std::io::{self, Read as _, Seek as _, Write as _};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use anyhow::{Context, bail};
use clap::Args;
use serde::{Deserialize, Serialize};
use xxhash_rust::xxh3::xxh3_64;

use crate::cli::files::outputs::check_outputs;
use crate::cli::settings::wrong;
use leitong_base::terminal;
use leitong_formats::source::{OutputObject, is_object};
use leitong_keep::sink::WholeLines;
use leitong_keep::{Options, Uploads};
use leitong_store::snapshot::Unfinished;

/// The option that writes a receipt.
pub(crate) const RECEIPT: &str = "--receipt";

/// Name of the record in an output folder.
const RECORD_IN_FOLDER: &str = ".part.run";

/// The option of commands that write files.
#[derive(Debug, Clone, Copy, Args)]
pub struct Overwrite {
    /// Replace output files that exist
    #[arg(long)]
    overwrite: bool,
}

/// The regular files that a command writes.
pub struct Parts {
    files: Vec<OutputFile>,
    uploads: Uploads,
    /// The output that is divided into files, with its option. They are known only when all are complete.
    shards: Option<(&'static str, PathBuf)>,
    overwrite: bool,
    /// The path of the record; `None` if no regular file is written.
    record: Option<PathBuf>,
    /// True if a later process may continue the parts.
    continued_later: bool,
    /// The record, locked while this process owns the parts.
    begun: Option<File>,
    /// Hashes of the names of files that an earlier process has listed, and may have renamed.
    listed: HashSet<u64>,
}

struct OutputFile {
    option: &'static str,
    /// The name as the user gave it, which may be that of an object in a store.
    path: PathBuf,
    /// The name without links.
    whole: PathBuf,
    part: PathBuf,
    /// True if the object of this output is the whole part.
    is_sent: bool,
}

/// The first line of a record.
#[derive(Debug, PartialEq, Serialize, Deserialize)]
struct Head {
    /// The version of the format. Its name tells records from other files.
    leitong_parts: u32,
    /// A hash of the command.
    command: u64,
    /// The command, for messages.
    arguments: Vec<String>,
    /// True if a later process may continue the parts.
    continued_later: bool,
    /// A hash of the name of each file.
    files: Vec<u64>,
    /// A hash of the name of the output that is divided into files.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    shards: Option<u64>,
}

/// The second line of a record: all parts are complete.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct CompleteRun {
    /// The number of the run.
    pub run: u64,
    /// The exit status of the run.
    pub status: u8,
    /// True if the run replaces files that exist.
    overwrite: bool,
    /// The hash of the name of each file that the run has written, and its part.
    parts: Vec<(u64, PartState)>,
}

/// Size of a file, and the time of its last modification.
type PartState = (u64, i64, i64);

fn state(file: &Metadata) -> PartState {
    (file.len(), file.mtime(), file.mtime_nsec())
}

impl OutputFile {
    /// Returns the output at `path`, or `None` if it is not a regular file.
    fn new(option: &'static str, path: &Path, uploads: &Uploads) -> Option<Self> {
        let part = WholeLines::part_of(path)?;
        let whole = WholeLines::resolved(path);
        Some(Self { option, path: uploads.name(path), whole, part, is_sent: false })
    }

    /// Returns the object that the file is copied to, or `None` if the output is not in a store.
    fn object(&self) -> io::Result<Option<OutputObject>> {
        is_object(&self.path).then(|| OutputObject::new(&self.path)).transpose()
    }

    fn exists(&self) -> io::Result<bool> {
        match self.object()? {
            Some(object) => Ok(!self.is_sent && object.exists()?),
            None => Ok(self.whole.symlink_metadata().is_ok()),
        }
    }

    fn id(&self) -> u64 {
        hash(&self.whole)
    }
}

fn hash(whole: &Path) -> u64 {
    xxh3_64(whole.as_os_str().as_encoded_bytes())
}

impl Parts {
    /// Checks the `outputs` of a command as [`check_outputs`] does, refuses to replace one without permission, and takes
    /// them over.
    ///
    /// # Errors
    /// An output cannot be written, or may not be.
    pub fn begin_checked(
        outputs: &[(&'static str, PathBuf)],
        inputs: &[PathBuf],
        folders: &[&Path],
        overwrite: Overwrite,
    ) -> anyhow::Result<Self> {
        check_outputs(outputs, inputs, folders)?;
        let named = outputs.first().map(|(_, path)| path.clone());
        let mut parts = Self::new(outputs, named.as_deref(), overwrite, Uploads::default());
        parts.refuse_existing()?;
        parts.begin(false)?;
        Ok(parts)
    }

    /// Returns the regular files among `outputs`, each with its option. The record is next to `first`, or in it if it is
    /// a folder.
    pub(crate) fn new(
        outputs: &[(&'static str, PathBuf)],
        first: Option<&Path>,
        Overwrite { overwrite }: Overwrite,
        uploads: Uploads,
    ) -> Self {
        let file = |(option, path): &(&'static str, PathBuf)| OutputFile::new(option, path, &uploads);
        let files: Vec<_> = outputs.iter().filter_map(file).collect();
        let record = first.filter(|_| !files.is_empty()).map(|first| {
            if first.is_dir() || first.to_string_lossy().ends_with('/') {
                return first.join(RECORD_IN_FOLDER);
            }
            let part = WholeLines::part_of(first).unwrap_or_else(|| files[0].part.clone());
            let mut name = part.into_os_string();
            name.push(".run");
            name.into()
        });
        let listed = HashSet::new();
        Self { files, uploads, shards: None, overwrite, record, continued_later: false, begun: None, listed }
    }

    /// Divides an output into files. Those that exist are among the outputs already.
    pub(crate) fn set_shards(&mut self, output: Option<(&'static str, &Path)>) {
        self.shards = output.map(|(option, path)| (option, path.to_owned()));
    }

    /// Adds the files that were written of an output that is divided.
    pub(crate) fn find_shards(&mut self) {
        let Some((option, path)) = self.shards.clone() else { return };
        self.files.retain(|file| file.option != option);
        let shards = Options::output_files(&path, &[], true);
        self.files.extend(shards.iter().filter_map(|shard| OutputFile::new(option, shard, &self.uploads)));
    }

    /// Returns the outputs that were written, each with its option and its part.
    pub(crate) fn written(&self) -> impl Iterator<Item = (&'static str, &Path, &Path)> {
        let written = self.files.iter().filter(|file| file.part.is_file());
        written.map(|file| (file.option, &*file.path, &*file.part))
    }

    /// Keeps the parts if this process ends with an error, because a later one may continue them.
    pub(crate) fn set_continued_later(&mut self, continued_later: bool) {
        self.continued_later = continued_later;
    }

    /// Returns an error if an output exists and may not be replaced.
    pub(crate) fn refuse_existing(&self) -> anyhow::Result<()> {
        for file in self.files.iter().filter(|_| !self.overwrite) {
            if file.exists()? {
                let (option, path) = (file.option, file.path.display());
                let what = if is_object(&file.path) { "object" } else { "file" };
                return Err(wrong(format_args!(
                    "{option} {path}: the {what} exists, and is not replaced; name another one, or add --overwrite to \
                     replace existing outputs"
                )));
            }
        }
        Ok(())
    }

    /// Copies the outputs in stores to their objects. The receipt comes last, so all others are there if it is.
    ///
    /// # Errors
    /// The store's error. These outputs are then complete in a folder that is reported.
    pub(crate) fn upload(&mut self) -> anyhow::Result<()> {
        if self.uploads.is_empty() {
            return Ok(());
        }
        self.files.sort_by_key(|file| file.option == RECEIPT);
        let Err(error) = self.refuse_existing().and_then(|()| Ok(self.send()?)) else { return Ok(()) };
        for file in self.files.iter().filter(|file| is_object(&file.path) && file.part.is_file()) {
            fs::rename(&file.part, &file.whole)
                .with_context(|| format!("cannot keep {}", file.part.display()))?;
        }
        terminal::note(format_args!(
            "only {} files are in the store; copy them from {}, where all are, or run again",
            self.files.iter().filter(|file| file.is_sent).count(),
            self.uploads.keep().display()
        ));
        Err(error)
    }

    /// Copies all parts whose outputs are in stores. Former objects that the run has no part for are removed.
    fn send(&mut self) -> io::Result<()> {
        for file in &mut self.files {
            match file.object()? {
                Some(object) if file.part.is_file() => {
                    object.put(&file.part)?;
                    file.is_sent = true;
                }
                Some(object) if self.overwrite => object.remove()?,
                _ => {}
            }
        }
        let Some((option, path)) = self.shards.as_ref().filter(|_| self.overwrite) else { return Ok(()) };
        let mut number = self.files.iter().filter(|file| file.option == *option).count();
        while let Some(former) = OutputFile::new(option, &Options::shard(path, number), &self.uploads)
            && let Some(object) = former.object()?
            && object.exists()?
        {
            object.remove()?;
            number += 1;
        }
        Ok(())
    }

    /// Takes over the parts. Those that an earlier process of the same command left are removed, unless the command
    /// `goes_on` with them.
    ///
    /// # Errors
    /// There is a part of another command, or another process is writing these outputs.
    pub(crate) fn begin(&mut self, goes_on: bool) -> anyhow::Result<()> {
        let Some(path) = &self.record else { return Ok(()) };
        let cannot = || format!("cannot write {}", path.display());
        if let (true, Some(folder)) = (path.ends_with(RECORD_IN_FOLDER), path.parent()) {
            fs::create_dir_all(folder).with_context(cannot)?;
        }
        let mut record = lock(path)?;
        let left = read(&mut record, path)?;
        let head = self.head();
        if let Err(error) = self.check_owner(left.as_ref(), head.command, path) {
            if left.is_none() {
                remove_if_there(path).with_context(cannot)?;
            }
            return Err(error);
        }
        if !goes_on {
            for file in &self.files {
                remove_if_there(&file.part)
                    .with_context(|| format!("cannot remove {}", file.part.display()))?;
            }
        }
        let line = serde_json::to_string(&head)? + "\n";
        let write = || {
            if left.is_none_or(|(left, _)| left != head) {
                record.set_len(0)?;
                record.seek(io::SeekFrom::Start(0))?;
                record.write_all(line.as_bytes())?;
            }
            record.set_len(line.len() as u64)?;
            record.sync_all()
        };
        write().with_context(cannot)?;
        self.begun = Some(record);
        Ok(())
    }

    /// Returns an error if a part exists that a process of another command left, as `left`, the contents of the record
    /// at `path`, says. Uncompleted parts that no process can go on with are worthless.
    fn check_owner(
        &self,
        left: Option<&(Head, Option<CompleteRun>)>,
        command: u64,
        path: &Path,
    ) -> anyhow::Result<()> {
        let mut owned_shards = None;
        let owned: HashSet<u64> = match left {
            Some((left, complete))
                if left.command == command || !(left.continued_later || complete.is_some()) =>
            {
                owned_shards = left.shards;
                left.files.iter().copied().collect()
            }
            Some((left, _)) => return Err(self.of_other_command(&left.arguments, path)),
            None => HashSet::new(),
        };
        let ours =
            self.shards.as_ref().filter(|(_, path)| owned_shards == Some(hash(&WholeLines::resolved(path))));
        let is_owned = |file: &OutputFile| {
            owned.contains(&file.id()) || ours.is_some_and(|(option, _)| file.option == *option)
        };
        let is_foreign = |file: &&OutputFile| !is_owned(file) && file.part.symlink_metadata().is_ok();
        match self.files.iter().find(is_foreign) {
            None => Ok(()),
            Some(OutputFile { option, path, part, .. }) => Err(wrong(format_args!(
                "{option} {}: would be written as {}, which exists and is not of this command; move or remove that file, or \
                 name another output",
                path.display(),
                part.display()
            ))),
        }
    }

    /// Returns the error for a record of another command.
    fn of_other_command(&self, arguments: &[String], record: &Path) -> anyhow::Error {
        let parts = self.files.iter().map(|file| &file.part).find(|part| part.symlink_metadata().is_ok());
        let parts = parts.map(|part| format!("{} and ", part.display())).unwrap_or_default();
        wrong(format_args!(
            "{}: belongs to another command, which was killed before it was done: `leitong {}`; repeat that one, or remove \
             {parts}this file",
            record.display(),
            arguments.join(" ")
        ))
    }

    fn head(&self) -> Head {
        let mut command = Vec::new();
        let mut shown = Vec::new();
        for argument in std::env::args_os().skip(1).filter(|argument| argument != "--overwrite") {
            command.extend_from_slice(argument.as_encoded_bytes());
            command.push(0);
            shown.push(argument.to_string_lossy().into_owned());
        }
        Head {
            leitong_parts: 1,
            command: xxh3_64(&command),
            arguments: shown,
            continued_later: self.continued_later,
            files: self.files.iter().map(OutputFile::id).collect(),
            shards: self.shards.as_ref().map(|(_, path)| hash(&WholeLines::resolved(path))),
        }
    }

    /// Brings all parts to disk, and lists them in the record as the outputs of run number `run`. From now on, a
    /// repetition completes them.
    ///
    /// # Errors
    /// The files cannot be written, or an output has appeared meanwhile.
    pub(crate) fn list(&mut self, run: u64, status: u8) -> anyhow::Result<()> {
        self.refuse_existing()?;
        let mut parts = Vec::new();
        for file in &self.files {
            let cannot = || format!("cannot write {}", file.path.display());
            match File::open(&file.part) {
                Ok(part) => {
                    part.sync_all().with_context(cannot)?;
                    parts.push((file.id(), state(&part.metadata().with_context(cannot)?)));
                }
                Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                Err(error) => return Err(error).with_context(cannot),
            }
        }
        self.sync_folders()?;
        let (Some(record), Some(path)) = (&mut self.begun, &self.record) else { return Ok(()) };
        let line =
            serde_json::to_string(&CompleteRun { run, status, overwrite: self.overwrite, parts })? + "\n";
        let mut write = || {
            record.seek(io::SeekFrom::End(0))?;
            record.write_all(line.as_bytes())?;
            record.sync_all()
        };
        // From now on the parts are not worthless to a later process.
        self.continued_later = true;
        write().with_context(|| format!("cannot write {}", path.display()))
    }

    /// Gives all files their names. A former file that the run has no part for is removed.
    ///
    /// # Errors
    /// The error of the operating system.
    pub(crate) fn rename(&mut self) -> anyhow::Result<()> {
        self.continued_later = true;
        for file in &self.files {
            let OutputFile { path, whole, part, .. } = file;
            if part.symlink_metadata().is_ok() {
                fs::rename(part, whole).with_context(|| format!("cannot write {}", path.display()))?;
            } else if self.overwrite && !self.listed.contains(&file.id()) {
                remove_if_there(whole).with_context(|| format!("cannot remove {}", path.display()))?;
            }
        }
        self.sync_folders()
    }

    /// Ends the command, whose files have their names: removes the record.
    ///
    /// # Errors
    /// The error of the operating system.
    pub(crate) fn end(&mut self) -> anyhow::Result<()> {
        if let (Some(_), Some(path)) = (self.begun.take(), &self.record) {
            remove_if_there(path).with_context(|| format!("cannot remove {}", path.display()))?;
        }
        Ok(())
    }

    /// Gives all files their names, and ends the command.
    ///
    /// # Errors
    /// The error of the operating system.
    pub fn finish(mut self) -> anyhow::Result<()> {
        self.list(0, 0)?;
        self.rename()?;
        self.end()
    }

    /// Returns the list that a killed process of this command made when all its parts were complete.
    ///
    /// # Errors
    /// The record cannot be read.
    pub(crate) fn listed(&self) -> anyhow::Result<Option<CompleteRun>> {
        let Some(path) = &self.record else { return Ok(None) };
        let mut record = match File::open(path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            opened => opened.with_context(|| format!("cannot read {}", path.display()))?,
        };
        let left = read(&mut record, path)?;
        let left = left.filter(|(head, _)| head.command == self.head().command);
        Ok(left.and_then(|(_, complete)| complete))
    }

    /// Returns true if every listed part is there, maybe under its new name.
    pub(crate) fn is_whole(&self, complete: &CompleteRun) -> bool {
        let with_state =
            |file: &OutputFile, path: &Path| Some((file.id(), state(&fs::symlink_metadata(path).ok()?)));
        let there: HashSet<_> = self
            .files
            .iter()
            .flat_map(|file| [&file.part, &file.whole].map(|path| with_state(file, path)))
            .flatten()
            .collect();
        complete.parts.iter().all(|part| there.contains(part))
    }

    /// Gives the parts that a killed process of this command has listed their names, calls `before_end`, and removes
    /// the record.
    ///
    /// # Errors
    /// The error of the operating system, or of `before_end`.
    pub(crate) fn complete(
        &mut self,
        complete: &CompleteRun,
        before_end: impl FnOnce() -> anyhow::Result<()>,
    ) -> anyhow::Result<()> {
        let Some(path) = &self.record else { return Ok(()) };
        self.begun = Some(lock(path)?);
        self.listed = complete.parts.iter().map(|(name, _)| *name).collect();
        self.overwrite |= complete.overwrite;
        self.rename()?;
        before_end()?;
        self.end()
    }

    /// Syncs the folders of all files, so that names in them survive a power failure.
    fn sync_folders(&self) -> anyhow::Result<()> {
        let folders: BTreeSet<&Path> = self.files.iter().filter_map(|file| file.whole.parent()).collect();
        for folder in folders.into_iter().filter(|folder| folder.is_dir()) {
            Unfinished::sync_parent(&folder.join("file"))
                .with_context(|| format!("cannot write {}", folder.display()))?;
        }
        Ok(())
    }
}

impl Drop for Parts {
    /// Removes the parts of a command that has failed, unless a later process may continue them.
    fn drop(&mut self) {
        if let (Some(_), Some(record), false) = (self.begun.take(), self.record.clone(), self.continued_later)
        {
            self.find_shards();
            // An error has been reported already.
            self.files.iter().for_each(|file| drop(fs::remove_file(&file.part)));
            drop(fs::remove_file(record));
        }
    }
}

/// Opens and locks the record at `path`, which is created if it is missing.
fn lock(path: &Path) -> anyhow::Result<File> {
    loop {
        let opened = File::options().read(true).write(true).create(true).truncate(false).open(path);
        let record = opened.with_context(|| format!("cannot write {}", path.display()))?;
        if record.try_lock().is_err() {
            bail!("{}: another process is writing these outputs; wait for it to end", path.display());
        }
        // The process that had the lock may have removed the file since it was opened here.
        let ino = |file: Metadata| file.ino();
        if fs::metadata(path).map(ino).ok() == record.metadata().map(ino).ok() {
            return Ok(record);
        }
    }
}

/// Reads a record. An empty one, of a process that was killed before it wrote a part, is none.
fn read(record: &mut File, path: &Path) -> anyhow::Result<Option<(Head, Option<CompleteRun>)>> {
    let mut text = Vec::new();
    record
        .seek(io::SeekFrom::Start(0))
        .and_then(|_| record.read_to_end(&mut text))
        .with_context(|| format!("cannot read {}", path.display()))?;
    let mut lines = text.split_inclusive(|byte| *byte == b'\n').filter(|line| line.ends_with(b"\n"));
    let Some(head) = lines.next() else {
        return match text.is_empty() || text.starts_with(b"{\"leitong_parts\"") {
            true => Ok(None),
            false => Err(not_a_record(path)),
        };
    };
    let head: Head = serde_json::from_slice(head).map_err(|_| not_a_record(path))?;
    let complete = lines.next().and_then(|line| serde_json::from_slice(line).ok());
    Ok(Some((head, complete)))
}

fn not_a_record(path: &Path) -> anyhow::Error {
    wrong(format_args!(
        "{}: is needed while outputs are written, but has other contents; move it, or name another output",
        path.display()
    ))
}

fn remove_if_there(path: &Path) -> io::Result<()> {
    match fs::remove_file(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        removed => removed,
    }
}
