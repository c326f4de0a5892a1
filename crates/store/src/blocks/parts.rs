//! Files that consist of parts. Each part has its own checksum, and a footer describes the file.
//!
//! ```text
//! part 0 │ sum │ part 1 │ sum │ … │ footer │ sum
//! ```
//! A sum is the XXH3-64 of the part, seeded with the table's id and the part's position. So a part at a
//! different position, or of a different table, is recognised as damage. A file gets its name when all of it
//! is on disk. Every read of a part compares its sum first; nothing is decided with a part whose sum does not
//! match.

use std::io;
use std::path::PathBuf;
use std::sync::Arc;

use prost::bytes::Buf as _;
use xxhash_rust::xxh3::xxh3_64_with_seed;

use super::BlockError;
use super::files::{Files, Input, Output};
use leitong_base::proto::Stretch;

/// The ending of a file's temporary name.
pub(super) const NEW: &str = ".new";
/// Number of bytes of a checksum.
pub(super) const SUM_BYTES: usize = 8;
/// Number of bytes that are written at once.
const BUFFER_BYTES: usize = 1 << 20;
const MAGIC: &[u8; 8] = b"leiblock";
/// Version of the format. It is raised when an older program could not read the files, or when detectors make
/// other keys from a fingerprint. Files of another version are refused. Version 2 added keys of passages;
/// version 3, pages whose entries have one length, and filters of six bits; version 4, keys of texts, and the
/// texts of pages that joined clusters.
pub(super) const FORMAT_VERSION: u32 = 4;
const FOOTER_BYTES: usize = 8 + 4 + 4 + 8 * (3 + PLACES);
/// Number of positions in a footer. Their meaning depends on the kind of the file.
pub(super) const PLACES: usize = 5;

/// The kind of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum PartKind {
    /// The centroids of a block.
    Centroids = 1,
    /// The keys of some blocks.
    Keys = 2,
}

/// The last part of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Footer {
    pub(super) kind: PartKind,
    /// The numbers of the centroids.
    pub(super) numbers: Stretch,
    /// Positions in the file; their meaning depends on the kind.
    pub(super) places: [u64; PLACES],
}

/// Writes a file.
pub(super) struct PartWriter {
    files: Arc<dyn Files>,
    output: Box<dyn Output>,
    name: String,
    table_id: u64,
    buffer: Vec<u8>,
    at: u64,
}

impl PartWriter {
    /// Creates the file that will have this name.
    pub(super) fn create(files: &Arc<dyn Files>, name: &str, table_id: u64) -> Result<Self, BlockError> {
        let output = files.create(&new_name(name)).map_err(|error| io_error(&**files, name, error))?;
        let buffer = Vec::with_capacity(BUFFER_BYTES);
        Ok(Self { files: Arc::clone(files), output, name: name.to_owned(), table_id, buffer, at: 0 })
    }

    /// Appends a part. Returns where it begins.
    pub(super) fn part(&mut self, part: &[u8]) -> Result<u64, BlockError> {
        let at = self.at;
        self.buffer.extend_from_slice(part);
        self.buffer.extend(sum(part, self.table_id, at).to_le_bytes());
        self.at += (part.len() + SUM_BYTES) as u64;
        if self.buffer.len() >= BUFFER_BYTES {
            self.flush()?;
        }
        Ok(at)
    }

    /// Returns where the next part begins.
    pub(super) fn at(&self) -> u64 {
        self.at
    }

    /// Writes everything to disk and gives the file its name. Returns the size of the file.
    pub(super) fn finish(mut self, footer: Footer) -> Result<u64, BlockError> {
        self.part(&footer.to_bytes(self.table_id))?;
        self.flush()?;
        let Self { files, mut output, name, .. } = self;
        let mut named = || {
            output.sync()?;
            files.rename(&new_name(&name), &name)?;
            files.sync()
        };
        named().map_err(|error| io_error(&*files, &name, error))?;
        Ok(self.at)
    }

    fn flush(&mut self) -> Result<(), BlockError> {
        self.output.write(&self.buffer).map_err(|error| io_error(&*self.files, &self.name, error))?;
        self.buffer.clear();
        Ok(())
    }
}

/// Reads a file.
pub(super) struct PartReader {
    input: Arc<dyn Input>,
    path: PathBuf,
    table_id: u64,
    bytes: u64,
}

impl PartReader {
    /// Opens the file with this name. It must be of this kind, and for the centroids with these numbers.
    pub(super) fn open(
        files: &dyn Files,
        name: &str,
        table_id: u64,
        (kind, numbers): (PartKind, Stretch),
    ) -> Result<(Self, Footer), BlockError> {
        let (reader, at, footer) = Self::of_its_table(files, name)?;
        if reader.table_id != table_id {
            let found = reader.table_id;
            return Err(BlockError::OtherTable { path: reader.path, found, wanted: table_id });
        }
        if (footer.kind, footer.numbers) != (kind, numbers) {
            return Err(reader.damaged(at, "its contents do not match its name"));
        }
        Ok((reader, footer))
    }

    /// Returns the id of the table that the file with this name belongs to.
    pub(super) fn table_id(files: &dyn Files, name: &str) -> Result<u64, BlockError> {
        Ok(Self::of_its_table(files, name)?.0.table_id)
    }

    /// Opens the file with this name, of whatever table it is. Also returns its footer, and where that begins.
    fn of_its_table(files: &dyn Files, name: &str) -> Result<(Self, u64, Footer), BlockError> {
        let error = |error| io_error(files, name, error);
        let input = files.open(name).map_err(error)?;
        let bytes = input.bytes().map_err(error)?;
        let reader = Self { input, path: files.path(name), table_id: 0, bytes };
        let length = FOOTER_BYTES + SUM_BYTES;
        let Some(at) = bytes.checked_sub(length as u64) else {
            return Err(reader.damaged(0, "it is too short to have a footer"));
        };
        let footer = Footer::from_bytes(&reader.raw(at, length)?[..FOOTER_BYTES]);
        let Some((version, id, footer)) = footer else {
            return Err(reader.damaged(at, "it has no footer"));
        };
        if version > FORMAT_VERSION {
            return Err(BlockError::TooNew { path: reader.path, found: version, known: FORMAT_VERSION });
        }
        if version < FORMAT_VERSION {
            return Err(BlockError::TooOld { path: reader.path, found: version, known: FORMAT_VERSION });
        }
        // The footer's sum is seeded with the table id in the footer.
        let of_its_table = Self { table_id: id, ..reader };
        of_its_table.part(at, length)?;
        Ok((of_its_table, at, footer))
    }

    /// Reads the part at `at`, which has `length` bytes including its sum.
    pub(super) fn part(&self, at: u64, length: usize) -> Result<Vec<u8>, BlockError> {
        let mut bytes = self.raw(at, length)?;
        let end = length.checked_sub(SUM_BYTES);
        let fits = end.and_then(|end| {
            let (part, found) = bytes.split_at(end);
            (sum(part, self.table_id, at).to_le_bytes() == found).then_some(end)
        });
        match fits {
            Some(end) => {
                bytes.truncate(end);
                Ok(bytes)
            }
            None => Err(self.damaged(at, "a checksum does not match")),
        }
    }

    /// Prefetches `length` bytes from `at` on.
    pub(super) fn will_need(&self, at: u64, length: usize) {
        self.input.will_need(at, length);
    }

    /// Returns the size of the file.
    pub(super) fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Returns the error for this problem of the file.
    pub(super) fn damaged(&self, at: u64, problem: &'static str) -> BlockError {
        BlockError::Damaged { path: self.path.clone(), at, problem }
    }

    fn raw(&self, at: u64, length: usize) -> Result<Vec<u8>, BlockError> {
        if at.checked_add(length as u64).is_none_or(|end| end > self.bytes) {
            return Err(self.damaged(at, "the file ends too early"));
        }
        let mut bytes = vec![0; length];
        match self.input.read(&mut bytes, at) {
            Ok(()) => Ok(bytes),
            Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => {
                Err(self.damaged(at, "the file ends too early"))
            }
            Err(error) => Err(BlockError::Io { path: self.path.clone(), error }),
        }
    }
}

impl Footer {
    fn to_bytes(self, table_id: u64) -> Vec<u8> {
        let mut bytes = MAGIC.to_vec();
        bytes.extend(FORMAT_VERSION.to_le_bytes());
        bytes.extend((self.kind as u32).to_le_bytes());
        let numbers = [table_id, self.numbers.first, self.numbers.end];
        bytes.extend(numbers.into_iter().chain(self.places).flat_map(u64::to_le_bytes));
        bytes
    }

    /// Returns format version, table id and footer; `None` if the bytes are not a footer.
    fn from_bytes(bytes: &[u8]) -> Option<(u32, u64, Self)> {
        let mut rest = bytes.strip_prefix(MAGIC)?;
        let version = rest.try_get_u32_le().ok()?;
        let kind = match rest.try_get_u32_le().ok()? {
            1 => PartKind::Centroids,
            2 => PartKind::Keys,
            _ => return None,
        };
        let (numbers, _) = rest.as_chunks::<8>();
        let numbers: Vec<u64> = numbers.iter().map(|number| u64::from_le_bytes(*number)).collect();
        let [table_id, first, end, places @ ..] = &numbers[..] else { return None };
        let numbers = Stretch { first: *first, end: *end };
        let footer = Self { kind, numbers, places: places.try_into().ok()? };
        Some((version, *table_id, footer))
    }
}

/// Returns the temporary name of a file until it is complete.
pub(super) fn new_name(name: &str) -> String {
    format!("{name}{NEW}")
}

fn sum(part: &[u8], table_id: u64, at: u64) -> u64 {
    xxh3_64_with_seed(part, table_id ^ at)
}

fn io_error(files: &dyn Files, name: &str, error: io::Error) -> BlockError {
    BlockError::Io { path: files.path(name), error }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::blocks::sim::SimFolder;

    /// Look-ups would not find centroids by keys that detectors no longer make, so such files must be
    /// refused.
    #[test]
    fn files_of_another_format_are_refused() {
        let files = SimFolder::default();
        let numbers = Stretch { first: 0, end: 9 };
        let footer = Footer { kind: PartKind::Keys, numbers, places: [0; PLACES] };
        let shared: Arc<dyn Files> = Arc::new(files.clone());
        PartWriter::create(&shared, "file", 7).and_then(|file| file.finish(footer)).expect("it is written");
        let opened = |version: u32| {
            let mut bytes = files.bytes("file");
            bytes[MAGIC.len()..][..4].copy_from_slice(&version.to_le_bytes());
            let changed = files.with("file", bytes);
            PartReader::open(&changed, "file", 7, (PartKind::Keys, numbers))
                .map(|_| ())
                .map_err(|error| error.to_string())
        };
        assert_eq!(opened(FORMAT_VERSION), Ok(()));
        assert!(opened(FORMAT_VERSION - 1).is_err_and(|error| error.contains("older")));
        assert!(opened(FORMAT_VERSION + 1).is_err_and(|error| error.contains("newer")));
    }
}
