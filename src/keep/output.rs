//! Files of documents: one for all inputs, or one for each in a folder, packed as their names say.

use std::fs::File;
use std::io::{self, BufWriter, Seek, Write};
use std::os::fd::AsFd;
use std::path::{Path, PathBuf};

use anyhow::{Context, bail};
use flate2::write::GzEncoder;

use crate::sink::Extent;
use crate::sink::whole_lines::cut;
use crate::source::originals::Framing;

/// Where documents are written.
pub struct Output {
    path: PathBuf,
    /// In a folder, the file of each input.
    files: Option<Vec<PathBuf>>,
    current: Option<(usize, Packed)>,
}

impl Output {
    /// Writes to the file `path` (`-` is standard output), or into the folder of this name
    /// files with the names of `inputs`. A name that ends in `.gz` or `.zst` packs its file.
    ///
    /// # Errors
    /// Two inputs have one name, or a file cannot be written.
    pub fn create(path: &Path, inputs: &[PathBuf]) -> anyhow::Result<Self> {
        let mut output = Self { path: path.to_owned(), files: None, current: None };
        if is_folder(path) {
            std::fs::create_dir_all(path).with_context(|| format!("cannot write {}", path.display()))?;
            output.files = Some(files(path, inputs)?);
        }
        // An output that takes nothing exists nevertheless.
        output.switch_to(0)?;
        Ok(output)
    }

    /// Goes on where an earlier run was at `extent`: what stands behind it goes.
    ///
    /// # Errors
    /// Two inputs have one name, or a file is shorter or cannot be written.
    pub fn resume(path: &Path, inputs: &[PathBuf], extent: Extent) -> anyhow::Result<Self> {
        let mut output = Self { path: path.to_owned(), files: None, current: None };
        if is_folder(path) {
            output.files = Some(files(path, inputs)?);
        }
        let file = output.path_of(extent.file);
        let resumed = Packed::resume(&file, extent.bytes);
        let resumed = resumed.with_context(|| format!("cannot go on writing {}", file.display()))?;
        output.current = Some((extent.file, resumed));
        Ok(output)
    }

    /// Brings all records to disk, and says how far they have come.
    ///
    /// # Errors
    /// They cannot be written.
    pub fn extent(&mut self) -> anyhow::Result<Extent> {
        let (file, packed) = self.current.as_mut().context("no file is open")?;
        let bytes = packed.extent().with_context(|| format!("cannot write {}", packed.path.display()))?;
        Ok(Extent { file: *file, bytes })
    }

    /// Writes one record, the `framing` of which says how it ends, of the input `input`.
    ///
    /// # Errors
    /// It cannot be written, or differs in framing from what the file holds.
    pub fn write(&mut self, input: usize, framing: Framing, record: &[u8]) -> anyhow::Result<()> {
        self.switch_to(input)?;
        let Some((_, file)) = &mut self.current else { return Ok(()) };
        if *file.framing.get_or_insert(framing) != framing {
            bail!(
                "{}: holds JSON lines or WARC records, not both; name a folder, which has a file for each input",
                file.path.display()
            );
        }
        file.write(record).with_context(|| format!("cannot write {}", file.path.display()))
    }

    /// Goes on to the file of `input`; those in between are left empty.
    fn switch_to(&mut self, input: usize) -> anyhow::Result<()> {
        loop {
            let next = match &self.current {
                None => 0,
                Some((current, _)) if *current < input && self.files.is_some() => current + 1,
                Some(_) => return Ok(()),
            };
            self.close()?;
            self.current = Some((
                next,
                Packed::create(&self.path_of(next))
                    .with_context(|| format!("cannot write {}", self.path_of(next).display()))?,
            ));
        }
    }

    fn close(&mut self) -> anyhow::Result<()> {
        let Some((_, mut file)) = self.current.take() else { return Ok(()) };
        file.finish().with_context(|| format!("cannot write {}", file.path.display()))
    }

    fn path_of(&self, input: usize) -> PathBuf {
        self.files.as_ref().map_or_else(|| self.path.clone(), |files| files[input].clone())
    }

    /// Ends all files.
    ///
    /// # Errors
    /// The last of them cannot be written.
    pub fn finish(mut self) -> anyhow::Result<()> {
        if let Some(files) = &self.files {
            self.switch_to(files.len() - 1)?;
        }
        self.close()
    }

    /// The files that are written for `inputs`, to see whether others are in the way.
    #[must_use]
    pub fn paths(path: &Path, inputs: &[PathBuf]) -> Vec<PathBuf> {
        match is_folder(path) {
            true => inputs.iter().filter_map(|input| Some(path.join(input.file_name()?))).collect(),
            false => vec![path.to_owned()],
        }
    }
}

/// Whether `path` is a folder, or is to be one since it ends in a slash.
fn is_folder(path: &Path) -> bool {
    path.is_dir() || path.to_string_lossy().ends_with('/')
}

fn files(folder: &Path, inputs: &[PathBuf]) -> anyhow::Result<Vec<PathBuf>> {
    let files = Output::paths(folder, inputs);
    let mut sorted: Vec<_> = files.iter().collect();
    sorted.sort_unstable();
    if let Some(twice) = sorted.windows(2).find(|pair| pair[0] == pair[1]) {
        bail!("{}: two inputs have this file name; name a file, which takes all", twice[0].display());
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
            Some("zst") => Packing::Zstd,
            _ => Packing::None,
        };
        let file = BufWriter::with_capacity(1 << 18, file);
        Self { path: path.to_owned(), file, packing, framing: None, waiting: Vec::new() }
    }

    fn write(&mut self, record: &[u8]) -> io::Result<()> {
        let (end, member_bytes): (&[u8], _) = match self.framing {
            Some(Framing::Warc) => (b"\r\n\r\n", 0),
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
