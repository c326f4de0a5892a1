//! Files of documents: one for all inputs, or one for each in a folder, in the form of the inputs.
//! Lines and records are packed as the files' names say.

use std::fs::File;
use std::io::{self, BufWriter, Seek, Write};
use std::os::fd::AsFd;
use std::path::{Path, PathBuf};

use anyhow::{Context, bail};
use flate2::write::GzEncoder;
use lz4_flex::frame::FrameEncoder;

use super::annotate::Annotation;
use super::forms::{self, Form, Promised};
use super::parts::Parts;
use super::table_file::TableFile;
use crate::sink::Extent;
use crate::sink::whole_lines::cut;
use crate::source::originals::Framing;
use crate::source::parquet::originals::Row;

/// Where documents are written.
pub struct Output {
    path: PathBuf,
    /// In a folder, the file of each input and its form; else the form of the one file.
    files: Files,
    /// Whether the rows of tables get columns about the verdict.
    is_annotated: bool,
    /// The output as it is called among extents, and the folder of a run's checkpoints.
    checkpoints: Option<(&'static str, PathBuf)>,
    current: Option<(usize, OutputFile)>,
}

enum Files {
    One(Form),
    OfInputs(Vec<(PathBuf, Form)>),
}

/// One file that is written.
enum OutputFile {
    Bytes(Packed),
    Rows(Box<TableFile>),
    /// A page, whose file is written if it stays.
    Page(PathBuf),
    /// Nothing of its input can be read.
    None,
}

/// What an output is to be.
pub struct Plan<'a> {
    /// The file (`-` is standard output), or the folder that gets a file for each input.
    pub path: &'a Path,
    /// What these files are called in the folder, as paths below it.
    pub names: &'a [PathBuf],
    /// Their forms.
    pub forms: &'a [Form],
    /// Whether the rows of tables get columns about the verdict.
    pub is_annotated: bool,
    /// The output as it is called among extents, and the folder of checkpoints, where documents are
    /// copied while checkpoints are made.
    pub checkpoints: Option<(&'static str, PathBuf)>,
}

impl Output {
    /// Begins to write.
    ///
    /// # Errors
    /// Two inputs have one name or do not fit into one file, or a file cannot be written.
    pub fn create(plan: Plan<'_>) -> anyhow::Result<Self> {
        if is_folder(plan.path) {
            std::fs::create_dir_all(plan.path)
                .with_context(|| format!("cannot write {}", plan.path.display()))?;
        }
        let mut output = Self::new(plan)?;
        // An output that takes nothing exists nevertheless.
        output.switch_to(0)?;
        Ok(output)
    }

    /// Goes on where an earlier run was at `extent`: what stands behind it goes.
    ///
    /// # Errors
    /// Two inputs have one name or do not fit into one file, or a file is shorter or cannot be written.
    pub fn resume(plan: Plan<'_>, extent: Extent) -> anyhow::Result<Self> {
        let mut output = Self::new(plan)?;
        let path = output.path_of(extent.file);
        let resumed = output.resumed(&path, extent);
        let resumed = resumed.with_context(|| format!("cannot go on writing {}", path.display()))?;
        output.current = Some((extent.file, resumed));
        Ok(output)
    }

    fn new(plan: Plan<'_>) -> anyhow::Result<Self> {
        let Plan { path, names, forms, is_annotated, checkpoints } = plan;
        let files = match is_folder(path) {
            true => Files::OfInputs(files(path, names)?.into_iter().zip(forms.iter().cloned()).collect()),
            false => Files::One(forms::common(forms, path)?),
        };
        Ok(Self { path: path.to_owned(), files, is_annotated, checkpoints, current: None })
    }

    /// Brings all documents to disk, and says how far they have come.
    ///
    /// # Errors
    /// They cannot be written.
    pub fn extent(&mut self) -> anyhow::Result<Extent> {
        let (file, current) = self.current.as_mut().context("no file is open")?;
        match current {
            OutputFile::None | OutputFile::Page(_) => Ok(Extent { file: *file, bytes: 0, parts: 0 }),
            OutputFile::Bytes(packed) => {
                let bytes = packed.extent();
                let bytes = bytes.with_context(|| format!("cannot write {}", packed.path.display()))?;
                Ok(Extent { file: *file, bytes, parts: 0 })
            }
            OutputFile::Rows(rows) => {
                let extent = rows.extent();
                extent.with_context(|| format!("cannot write {}", rows.path().display()))
            }
        }
    }

    /// Writes one record, the `framing` of which says how it ends, of the input `input`.
    ///
    /// # Errors
    /// It cannot be written, or differs in framing from what the file holds.
    pub fn write(&mut self, input: usize, framing: Framing, record: &[u8]) -> anyhow::Result<()> {
        self.switch_to(input)?;
        if let Some((_, OutputFile::Page(path))) = &self.current {
            return write_page(path, record).with_context(|| format!("cannot write {}", path.display()));
        }
        let Some((_, OutputFile::Bytes(file))) = &mut self.current else {
            bail!("{}: is of another form than its input: the input has changed", self.path.display());
        };
        if file.framing.is_none() && matches!(self.files, Files::One(_)) {
            check_framing(&file.path, framing)?;
        }
        if *file.framing.get_or_insert(framing) != framing {
            bail!(
                "{}: holds records of one form; name a folder, which has a file for each input",
                file.path.display()
            );
        }
        file.write(record).with_context(|| format!("cannot write {}", file.path.display()))
    }

    /// Writes one row of the input `input`, and what is said of it if the file has columns for that.
    ///
    /// # Errors
    /// It cannot be written.
    pub fn write_row(&mut self, input: usize, row: &Row, annotation: &Annotation<'_>) -> anyhow::Result<()> {
        self.switch_to(input)?;
        let Some((_, OutputFile::Rows(file))) = &mut self.current else {
            bail!("{}: is of another form than its input: the input has changed", self.path.display());
        };
        let written = file.write(input, row, annotation);
        written.with_context(|| format!("cannot write {}", file.path().display()))
    }

    /// Goes on to the file of `input`; those in between are left empty.
    fn switch_to(&mut self, input: usize) -> anyhow::Result<()> {
        loop {
            let next = match &self.current {
                None => 0,
                Some((current, _)) if *current < input && matches!(self.files, Files::OfInputs(_)) => {
                    current + 1
                }
                Some(_) => return Ok(()),
            };
            self.close()?;
            let path = self.path_of(next);
            let created = self.created(next, &path);
            self.current = Some((next, created.with_context(|| format!("cannot write {}", path.display()))?));
        }
    }

    fn created(&self, file: usize, path: &Path) -> anyhow::Result<OutputFile> {
        Ok(match self.form_of(file) {
            Form::Bytes => OutputFile::Bytes(Packed::create(path)?),
            Form::Page => OutputFile::Page(without_former(path)?),
            Form::Csv(form) => {
                let header = form.header(self.is_annotated)?;
                let mut file = Packed::create(path)?;
                file.write(&header)?;
                OutputFile::Bytes(file)
            }
            Form::Rows(form) => {
                let parts = self.checkpoints.as_ref().map(|(name, folder)| Parts::new(folder, name, file));
                OutputFile::Rows(Box::new(TableFile::create(path, form, self.is_annotated, parts)?))
            }
            Form::Unreadable => OutputFile::None,
        })
    }

    fn resumed(&self, path: &Path, extent: Extent) -> anyhow::Result<OutputFile> {
        Ok(match self.form_of(extent.file) {
            Form::Bytes | Form::Csv(_) => OutputFile::Bytes(Packed::resume(path, extent.bytes)?),
            Form::Rows(form) => {
                let (name, folder) =
                    self.checkpoints.as_ref().context("there is no folder of checkpoints")?;
                let parts = Parts::resume(folder, name, extent)?;
                OutputFile::Rows(Box::new(TableFile::create(path, form, self.is_annotated, Some(parts))?))
            }
            Form::Page => OutputFile::Page(path.to_owned()),
            Form::Unreadable => OutputFile::None,
        })
    }

    fn close(&mut self) -> anyhow::Result<()> {
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
            Files::OfInputs(files) => files[file].0.clone(),
        }
    }

    fn form_of(&self, file: usize) -> &Form {
        match &self.files {
            Files::One(form) => form,
            Files::OfInputs(files) => &files[file].1,
        }
    }

    /// Ends all files.
    ///
    /// # Errors
    /// The last of them cannot be written.
    pub fn finish(mut self) -> anyhow::Result<()> {
        if let Files::OfInputs(files) = &self.files {
            self.switch_to(files.len() - 1)?;
        }
        self.close()
    }

    /// The files that are written for inputs of these `names`, to see whether others are in the way.
    #[must_use]
    pub fn paths(path: &Path, names: &[PathBuf]) -> Vec<PathBuf> {
        match is_folder(path) {
            true => names.iter().map(|name| path.join(name)).collect(),
            false => vec![path.to_owned()],
        }
    }
}

/// Refuses lines in a file that is called as WARC files are, and records in one of lines.
fn check_framing(path: &Path, framing: Framing) -> anyhow::Result<()> {
    let written = match framing {
        Framing::Warc => Promised::Warc,
        _ => Promised::Lines,
    };
    match forms::promised(path) {
        Some(promised @ (Promised::Lines | Promised::Warc)) if promised != written => bail!(
            "{}: is the name of {}, and documents are written in the format of the inputs, {}; choose another name",
            path.display(),
            promised.name(),
            written.name()
        ),
        _ => Ok(()),
    }
}

/// Whether `path` is a folder, or is to be one since it ends in a slash.
fn is_folder(path: &Path) -> bool {
    path.is_dir() || path.to_string_lossy().ends_with('/')
}

/// The page that an earlier run may have left at `path` goes: nobody knows yet whether it stays.
fn without_former(path: &Path) -> io::Result<PathBuf> {
    match std::fs::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        _ => Ok(path.to_owned()),
    }
}

/// Writes a page, packed as its name says, into a folder that is made if it is not there.
fn write_page(path: &Path, page: &[u8]) -> io::Result<()> {
    path.parent().map_or(Ok(()), std::fs::create_dir_all)?;
    let mut file = Packed::create(path)?;
    file.framing = Some(Framing::Page);
    file.write(page)?;
    file.finish()
}

fn files(folder: &Path, names: &[PathBuf]) -> anyhow::Result<Vec<PathBuf>> {
    let files = Output::paths(folder, names);
    let mut sorted: Vec<_> = files.iter().collect();
    sorted.sort_unstable();
    if let Some(twice) = sorted.windows(2).find(|pair| pair[0] == pair[1]) {
        bail!(
            "{}: two inputs have this file name; name a file, which takes all, or have a run for each",
            twice[0].display()
        );
    }
    Ok(files)
}

/// A file that is packed as its name says. Of WARC files each record is packed by itself, so
/// that readers can begin at any of them.
struct Packed {
    path: PathBuf,
    file: BufWriter<File>,
    packing: Packing,
    framing: Option<Framing>,
    /// Lines that wait to be packed together.
    waiting: Vec<u8>,
}

enum Packing {
    None,
    Gzip,
    Zstd,
    Lz4,
}

/// Bytes of lines that are packed together: what is lost in size against one stream is
/// below a per cent, and a file that breaks off is readable up to its last whole member.
const MEMBER_BYTES: usize = 4 << 20;

impl Packed {
    fn create(path: &Path) -> io::Result<Self> {
        let file = match path.to_str() {
            Some("-") => File::from(io::stdout().as_fd().try_clone_to_owned()?),
            _ => File::create(path)?,
        };
        Ok(Self::of(path, file))
    }

    fn resume(path: &Path, bytes: u64) -> io::Result<Self> {
        let mut file = File::options().write(true).open(path)?;
        cut(&mut file, bytes)?;
        Ok(Self::of(path, file))
    }

    fn of(path: &Path, file: File) -> Self {
        let packing = match path.extension().and_then(|extension| extension.to_str()) {
            Some("gz") => Packing::Gzip,
            Some("lz4") => Packing::Lz4,
            Some("zst") => Packing::Zstd,
            _ => Packing::None,
        };
        let file = BufWriter::with_capacity(1 << 18, file);
        Self { path: path.to_owned(), file, packing, framing: None, waiting: Vec::new() }
    }

    fn write(&mut self, record: &[u8]) -> io::Result<()> {
        let (end, member_bytes): (&[u8], _) = match self.framing {
            Some(Framing::Warc) => (b"\r\n\r\n", 0),
            Some(Framing::Page) => (b"", 0),
            _ => (b"\n", MEMBER_BYTES),
        };
        self.waiting.extend_from_slice(record);
        self.waiting.extend_from_slice(end);
        if self.waiting.len() >= member_bytes { self.pack() } else { Ok(()) }
    }

    /// Writes what waits as one member.
    fn pack(&mut self) -> io::Result<()> {
        match self.packing {
            Packing::None => self.file.write_all(&self.waiting)?,
            Packing::Gzip => {
                let mut member = GzEncoder::new(&mut self.file, flate2::Compression::default());
                member.write_all(&self.waiting)?;
                member.finish()?;
            }
            Packing::Lz4 => {
                let mut frame = FrameEncoder::new(&mut self.file);
                frame.write_all(&self.waiting)?;
                frame.finish()?;
            }
            Packing::Zstd => zstd::stream::copy_encode(&*self.waiting, &mut self.file, 0)?,
        }
        self.waiting.clear();
        Ok(())
    }

    /// Brings all to disk, and says how many bytes that are.
    fn extent(&mut self) -> io::Result<u64> {
        if !self.waiting.is_empty() {
            self.pack()?;
        }
        self.file.flush()?;
        self.file.get_ref().sync_data()?;
        self.file.stream_position()
    }

    /// Ends the file; a pipe cannot be brought to disk, and need not.
    fn finish(&mut self) -> io::Result<()> {
        if !self.waiting.is_empty() {
            self.pack()?;
        }
        self.file.flush()?;
        match self.file.get_ref().metadata()?.is_file() {
            true => self.file.get_ref().sync_data(),
            false => Ok(()),
        }
    }
}
