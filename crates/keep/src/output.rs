//! Writes files of documents: one file for all inputs, shards of it, or a folder with a file for each input.
//!
//! Documents keep the format of their input. Lines and records are compressed according to the file name.

use std::io::{self, Write};
use std::path::{Path, PathBuf};

use flate2::write::GzEncoder;
use lz4_flex::frame::{FrameEncoder, FrameInfo};

use super::annotate::{Added, Annotation};
use super::forms;
use super::parts::Parts;
use super::shards;
use super::table_file::TableFile;
use crate::error::{Context, Error, Result};
use crate::sink::Extent;
use crate::sink::summed::SummedFile;
use leitong_formats::{Form, Framing, Row};

/// An output of documents.
pub(crate) struct Output {
    path: PathBuf,
    /// The path and form of each input's file, if the output is a folder; otherwise the form of the only file.
    files: Files,
    /// The columns about the verdict that rows of tables get, if any.
    added: Option<Added>,
    /// The name of the output among extents, and the checkpoint folder of the run.
    checkpoints: Option<(&'static str, PathBuf)>,
    current: Option<(usize, OutputFile)>,
    /// Number of bytes of documents in the current file.
    bytes: u64,
}

enum Files {
    One(Form),
    /// Shards with at most so many bytes of documents before compression, unless one document has more.
    Shards(Form, u64),
    OfInputs(Vec<(PathBuf, Form)>),
}

/// An output file that is being written.
enum OutputFile {
    Bytes(CompressedFile),
    Rows(Box<TableFile>),
    /// An HTML page. Its file is created only if the page is kept.
    Page(PathBuf),
    /// No file, because the input cannot be read.
    None,
}

/// The parameters of an output.
pub(crate) struct Plan<'a> {
    /// The file (`-` is standard output), or the folder with a file for each input.
    pub path: &'a Path,
    /// The names of the files in the folder, as relative paths.
    pub names: &'a [PathBuf],
    /// Number of bytes of documents in a shard, if the file is divided into shards.
    pub shard_bytes: Option<u64>,
    /// The forms of the inputs.
    pub forms: &'a [Form],
    /// The columns about the verdict that rows of tables get, if any.
    pub added: Option<Added>,
    /// The name under which checkpoints store the length of this output, and their folder. Set if checkpoints are made
    /// while documents are copied.
    pub checkpoints: Option<(&'static str, PathBuf)>,
}

impl Output {
    /// Creates the output, or continues it at `extent`, where an earlier run was. Everything after that is removed.
    ///
    /// # Errors
    /// Two inputs have the same file name, or do not fit into one file, or a file is too short or cannot be
    /// written.
    pub(crate) fn begin(plan: Plan<'_>, extent: Option<Extent>) -> Result<Self> {
        if is_folder(plan.path) {
            std::fs::create_dir_all(plan.path)
                .with_context(|| format!("cannot write {}", plan.path.display()))?;
        }
        let mut output = Self::new(plan)?;
        let Some(extent) = extent else {
            // Create the file even if nothing will be written to it.
            output.switch_to(0)?;
            return Ok(output);
        };
        let path = output.path_of(extent.file);
        let resumed = output.resumed(&path, extent);
        let resumed = resumed.with_context(|| format!("cannot continue writing {}", path.display()))?;
        output.current = Some((extent.file, resumed));
        Ok(output)
    }

    fn new(plan: Plan<'_>) -> Result<Self> {
        let Plan { path, names, shard_bytes, forms, added, checkpoints } = plan;
        let files = match (is_folder(path), shard_bytes) {
            (true, _) => {
                Files::OfInputs(files(path, names)?.into_iter().zip(forms.iter().cloned()).collect())
            }
            (false, None) => Files::One(forms::common(forms, path)?),
            (false, Some(bytes)) => Files::Shards(forms::common(forms, path)?, bytes),
        };
        Ok(Self { path: path.to_owned(), files, added, checkpoints, current: None, bytes: 0 })
    }

    /// Syncs all documents to disk, and returns the length of the output.
    ///
    /// # Errors
    /// The documents cannot be written.
    pub(crate) fn extent(&mut self) -> Result<Extent> {
        let (file, current) = self.current.as_mut().context("no file is open")?;
        match current {
            OutputFile::None | OutputFile::Page(_) => Ok(Extent { file: *file, ..Extent::default() }),
            OutputFile::Bytes(file_of_bytes) => {
                let extent = file_of_bytes.extent();
                let extent =
                    extent.with_context(|| format!("cannot write {}", file_of_bytes.path.display()))?;
                Ok(Extent { file: *file, ..extent })
            }
            OutputFile::Rows(rows) => {
                let extent = rows.extent();
                extent.with_context(|| format!("cannot write {}", rows.path().display()))
            }
        }
    }

    /// Writes one record of input `input`. `framing` determines how the record ends.
    ///
    /// # Errors
    /// The record cannot be written, or its format differs from that of the file.
    pub(crate) fn write(&mut self, input: usize, framing: Framing, record: &[u8]) -> Result<()> {
        self.switch_to(input)?;
        let ending = match framing {
            Framing::Warc => 4,
            Framing::Page => 0,
            _ => 1,
        };
        self.add(record.len() as u64 + ending)?;
        if let Some((_, OutputFile::Page(path))) = &self.current {
            return write_page(path, record).with_context(|| format!("cannot write {}", path.display()));
        }
        let Some((_, OutputFile::Bytes(file))) = &mut self.current else {
            return Err(Error::refused(format_args!(
                "{}: an input now has another format than at the start of the run; run again",
                self.path.display()
            )));
        };
        if *file.framing.get_or_insert(framing) != framing {
            return Err(Error::refused(format_args!(
                "{}: a file cannot contain records of different formats; name a folder, which gets a file for each input",
                file.path.display()
            )));
        }
        file.write(record).with_context(|| format!("cannot write {}", file.path.display()))
    }

    /// Writes one row of input `input`, of so many bytes, with columns about the verdict if the file has them.
    ///
    /// # Errors
    /// The row cannot be written.
    pub(crate) fn write_row(
        &mut self,
        input: usize,
        (row, bytes): (&Row, u64),
        annotation: &Annotation<'_>,
    ) -> Result<()> {
        self.switch_to(input)?;
        self.add(bytes)?;
        let Some((_, OutputFile::Rows(file))) = &mut self.current else {
            return Err(Error::refused(format_args!(
                "{}: an input now has another format than at the start of the run; run again",
                self.path.display()
            )));
        };
        let written = file.write(input, row, annotation);
        written.with_context(|| format!("cannot write {}", file.path().display()))
    }

    /// Adds a document of this size, in the next shard if the current one would have too many bytes.
    fn add(&mut self, bytes: u64) -> Result<()> {
        if let (Files::Shards(_, bytes_max), Some((number, _))) = (&self.files, &self.current)
            && self.bytes > 0
            && self.bytes + bytes > *bytes_max
        {
            let next = number + 1;
            self.close()?;
            self.open(next)?;
            self.bytes = 0;
        }
        self.bytes += bytes;
        Ok(())
    }

    /// Creates file number `next`, and writes to it from now on.
    fn open(&mut self, next: usize) -> Result<()> {
        let path = self.path_of(next);
        let created = self.created(next, &path);
        self.current = Some((next, created.with_context(|| format!("cannot write {}", path.display()))?));
        Ok(())
    }

    /// Moves on to the file of `input`. Files in between are created and remain empty.
    fn switch_to(&mut self, input: usize) -> Result<()> {
        loop {
            let next = match &self.current {
                None => 0,
                Some((current, _)) if *current < input && matches!(self.files, Files::OfInputs(_)) => {
                    current + 1
                }
                Some(_) => return Ok(()),
            };
            self.close()?;
            self.open(next)?;
        }
    }

    fn created(&self, file: usize, path: &Path) -> Result<OutputFile> {
        Ok(match self.form_of(file) {
            Form::Lines | Form::Warc | Form::Empty => OutputFile::Bytes(CompressedFile::create(path)?),
            Form::Page => OutputFile::Page(path.to_owned()),
            Form::Csv(form) => {
                let header = forms::csv_header(&form.path, &form.header, form.dialect.delimiter, self.added)?;
                let mut file = CompressedFile::create(path)?;
                file.write(&header)?;
                OutputFile::Bytes(file)
            }
            Form::Rows(form) => {
                let parts = self.checkpoints.as_ref().map(|(name, folder)| Parts::new(folder, name, file));
                OutputFile::Rows(Box::new(TableFile::create(path, form, self.added, parts)?))
            }
            Form::Unreadable => OutputFile::None,
        })
    }

    fn resumed(&self, path: &Path, extent: Extent) -> Result<OutputFile> {
        Ok(match self.form_of(extent.file) {
            Form::Lines | Form::Warc | Form::Csv(_) | Form::Empty => {
                OutputFile::Bytes(CompressedFile::resume(path, extent)?)
            }
            Form::Rows(form) => {
                let (name, folder) =
                    self.checkpoints.as_ref().context("there is no folder of checkpoints")?;
                let parts = Parts::resume(folder, name, extent)?;
                OutputFile::Rows(Box::new(TableFile::create(path, form, self.added, Some(parts))?))
            }
            Form::Page => OutputFile::Page(path.to_owned()),
            Form::Unreadable => OutputFile::None,
        })
    }

    fn close(&mut self) -> Result<()> {
        match self.current.take() {
            None | Some((_, OutputFile::None | OutputFile::Page(_))) => Ok(()),
            Some((_, OutputFile::Bytes(mut file))) => {
                file.finish().with_context(|| format!("cannot write {}", file.path.display()))
            }
            Some((_, OutputFile::Rows(mut file))) => {
                file.finish().with_context(|| format!("cannot write {}", file.path().display()))
            }
        }
    }

    fn path_of(&self, file: usize) -> PathBuf {
        match &self.files {
            Files::One(_) => self.path.clone(),
            Files::Shards(..) => shards::shard(&self.path, file),
            Files::OfInputs(files) => files[file].0.clone(),
        }
    }

    fn form_of(&self, file: usize) -> &Form {
        match &self.files {
            Files::One(form) | Files::Shards(form, _) => form,
            Files::OfInputs(files) => &files[file].1,
        }
    }

    /// Completes all files.
    ///
    /// # Errors
    /// A file cannot be written.
    pub(crate) fn finish(mut self) -> Result<()> {
        let last = match &self.files {
            Files::OfInputs(files) => files.len() - 1,
            Files::One(_) | Files::Shards(..) => 0,
        };
        self.switch_to(last)?;
        self.close()
    }

    /// Returns the files that are written for inputs with these `names`, to check for existing ones.
    pub(crate) fn paths(path: &Path, names: &[PathBuf], has_shards: bool) -> Vec<PathBuf> {
        match is_folder(path) {
            false if has_shards => shards::existing(path),
            true => names.iter().map(|name| path.join(name)).collect(),
            false => vec![path.to_owned()],
        }
    }
}

/// Returns true if `path` is a folder, or should be one because it ends in a slash.
fn is_folder(path: &Path) -> bool {
    path.is_dir() || path.to_string_lossy().ends_with('/')
}

/// Writes a page, compressed according to its name. Creates its folder if needed.
fn write_page(path: &Path, page: &[u8]) -> io::Result<()> {
    path.parent().map_or(Ok(()), std::fs::create_dir_all)?;
    let mut file = CompressedFile::create(path)?;
    file.framing = Some(Framing::Page);
    file.write(page)?;
    file.finish()
}

fn files(folder: &Path, names: &[PathBuf]) -> Result<Vec<PathBuf>> {
    let files = Output::paths(folder, names, false);
    let mut sorted: Vec<_> = files.iter().collect();
    sorted.sort_unstable();
    if let Some(twice) = sorted.windows(2).find(|pair| pair[0] == pair[1]) {
        return Err(Error::refused(format_args!(
            "{}: two inputs have this file name; name a single file for all inputs, or use a separate run for each",
            twice[0].display()
        )));
    }
    Ok(files)
}

/// A file that is compressed according to its name, in *members* that can be decompressed separately. In WARC files,
/// each record is a member, so readers can start at any record. If a write fails midway, such as on a full disk, a
/// regular file is truncated to its last complete member, or record if it is not compressed.
struct CompressedFile {
    path: PathBuf,
    file: SummedFile,
    codec: Codec,
    framing: Option<Framing>,
    /// True until the first member is complete.
    is_empty: bool,
    /// Lines that are not yet compressed.
    waiting: Vec<u8>,
    /// Complete members that are not yet written.
    members: Vec<u8>,
    /// The end of each member in `members`.
    ends: Vec<usize>,
}

enum Codec {
    None,
    Gzip,
    Zstd,
    Lz4,
}

/// Minimum size of the lines that are compressed as one member, in bytes. Compared with a single stream, the file grows
/// by less than one per cent, and a truncated file can be read up to its last complete member.
const MEMBER_BYTES: usize = 4 << 20;

/// Minimum size of the members that are written together, in bytes.
const WRITE_BYTES: usize = 1 << 18;

impl CompressedFile {
    fn create(path: &Path) -> io::Result<Self> {
        Ok(Self::new(path, SummedFile::create(path)?))
    }

    fn resume(path: &Path, extent: Extent) -> io::Result<Self> {
        Ok(Self { is_empty: extent.bytes == 0, ..Self::new(path, SummedFile::resume(path, extent)?) })
    }

    fn new(path: &Path, file: SummedFile) -> Self {
        let extension = path.extension().unwrap_or_default().to_ascii_lowercase();
        let codec = match extension.to_str() {
            Some("gz") => Codec::Gzip,
            Some("lz4") => Codec::Lz4,
            Some("zst") => Codec::Zstd,
            _ => Codec::None,
        };
        let path = path.to_owned();
        let [waiting, members] = [Vec::new(), Vec::new()];
        Self { path, file, codec, framing: None, is_empty: true, waiting, members, ends: Vec::new() }
    }

    fn write(&mut self, record: &[u8]) -> io::Result<()> {
        let (end, member_bytes): (&[u8], _) = match (self.framing, &self.codec) {
            (Some(Framing::Warc), _) => (b"\r\n\r\n", 0),
            (Some(Framing::Page), _) => (b"", 0),
            (_, Codec::None) => (b"\n", 0),
            _ => (b"\n", MEMBER_BYTES),
        };
        self.waiting.extend_from_slice(record);
        self.waiting.extend_from_slice(end);
        if self.waiting.len() >= member_bytes { self.end_member() } else { Ok(()) }
    }

    /// Compresses the waiting bytes as one member.
    fn end_member(&mut self) -> io::Result<()> {
        match self.codec {
            Codec::None => self.members.append(&mut self.waiting),
            Codec::Gzip => {
                let mut member = GzEncoder::new(&mut self.members, flate2::Compression::default());
                member.write_all(&self.waiting)?;
                member.finish()?;
            }
            Codec::Lz4 => {
                // Without a checksum, a reader would not notice a changed letter.
                let with_checksum = FrameInfo::new().content_checksum(true);
                let mut frame = FrameEncoder::with_frame_info(with_checksum, &mut self.members);
                frame.write_all(&self.waiting)?;
                frame.finish()?;
            }
            Codec::Zstd => {
                let mut frame = zstd::Encoder::new(&mut self.members, 0)?;
                frame.include_checksum(true)?;
                frame.write_all(&self.waiting)?;
                frame.finish()?;
            }
        }
        self.is_empty = false;
        self.waiting.clear();
        self.ends.push(self.members.len());
        if self.members.len() >= WRITE_BYTES { self.write_members() } else { Ok(()) }
    }

    /// Writes all complete members.
    fn write_members(&mut self) -> io::Result<()> {
        if let Err((written, error)) = self.file.append(&self.members) {
            let complete = self.ends.iter().rev().find(|end| **end <= written).copied().unwrap_or(0);
            return Err(self.file.cut_back(written - complete, "record", error));
        }
        self.members.clear();
        self.ends.clear();
        Ok(())
    }

    /// Syncs everything to disk, and returns the extent of the file.
    fn extent(&mut self) -> io::Result<Extent> {
        self.flush()?;
        self.file.extent()
    }

    /// Completes the file. Only regular files are synced to disk; pipes cannot be.
    fn finish(&mut self) -> io::Result<()> {
        // Without an empty member, `zcat` would call a file without documents damaged.
        if self.is_empty && !matches!(self.codec, Codec::None) {
            self.end_member()?;
        }
        self.flush()?;
        self.file.sync()
    }

    fn flush(&mut self) -> io::Result<()> {
        if !self.waiting.is_empty() {
            self.end_member()?;
        }
        self.write_members()
    }
}
