//! Stores texts of documents, compressed, until they are compared.
//!
//! The fingerprint stage [compresses](TextCompressor) a text. The sink receives it together with the verdict, and
//! appends it to a file of the run ([`TextFile`]), which is deleted when the process ends. The texts are not held in
//! memory.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::path::Path;

use lz4_flex::block::{CompressTable, compress_into_with_table, decompress_into, get_maximum_output_size};
use serde::{Deserialize, Serialize};
use xxhash_rust::xxh3::xxh3_64;

use crate::sink::Extent;
use crate::sink::summed::Sum;

/// Number of bytes before the url and the LZ4 block of a compressed text: hash of the text, length of the text, length
/// of the url.
const HEAD_BYTES: usize = 16;
/// Maximum length of a url and its text together, in bytes. Longer ones are not stored.
const TEXT_BYTES_MAX: usize = 256 << 20;

/// Compresses texts. Reused from page to page.
///
/// A text becomes an LZ4 block. That takes 40 % of the time of zstd's level 1, and a quarter more space.
#[derive(Default)]
pub struct TextCompressor {
    /// Boxed, because its alignment of 64 bytes would pass to all that holds the compressor, and Python's allocator
    /// aligns its objects to 16.
    table: Box<CompressTable>,
    buffer: Vec<u8>,
}

impl TextCompressor {
    /// Compresses the normalised `text` of the page at `url`. Returns `None` if it is too long.
    pub fn compress(&mut self, url: &str, text: &str) -> Option<Box<[u8]>> {
        if url.len() + text.len() > TEXT_BYTES_MAX {
            return None;
        }
        let Self { table, buffer } = self;
        buffer.clear();
        buffer.extend_from_slice(&xxh3_64(text.as_bytes()).to_le_bytes());
        buffer.extend_from_slice(&(text.len() as u32).to_le_bytes());
        buffer.extend_from_slice(&(url.len() as u32).to_le_bytes());
        buffer.extend_from_slice(url.as_bytes());
        let body = buffer.len();
        buffer.resize(body + get_maximum_output_size(text.len()), 0);
        let bytes = compress_into_with_table(text.as_bytes(), &mut buffer[body..], table).ok()?;
        Some(buffer[..body + bytes].into())
    }
}

/// A decompressed text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Text {
    all: String,
    url_bytes: usize,
    /// Hash of the text without the url.
    pub hash: u64,
}

impl Text {
    /// Returns the url, which may be empty.
    #[must_use]
    pub(crate) fn url(&self) -> &str {
        &self.all[..self.url_bytes]
    }

    /// Returns the normalised text.
    #[must_use]
    pub(crate) fn text(&self) -> &str {
        &self.all[self.url_bytes..]
    }
}

/// Decompresses a text. Returns `None` if the bytes are damaged.
#[must_use]
pub(crate) fn decompressed(compressed: &[u8]) -> Option<Text> {
    let (head, rest) = compressed.split_first_chunk::<HEAD_BYTES>()?;
    let number = |at: usize| Some(u32::from_le_bytes(*head[at..].first_chunk()?) as usize);
    let (hash, text_bytes, url_bytes) = (hash_of(compressed)?, number(8)?, number(12)?);
    let (url, body) = rest.split_at_checked(url_bytes)?;
    if url_bytes + text_bytes > TEXT_BYTES_MAX {
        return None;
    }
    let mut all = Vec::with_capacity(url_bytes + text_bytes);
    all.extend_from_slice(url);
    all.resize(url_bytes + text_bytes, 0);
    let decompressed = decompress_into(body, &mut all[url_bytes..]).ok()?;
    let is_whole = decompressed == text_bytes && xxh3_64(&all[url_bytes..]) == hash;
    let all = String::from_utf8(all).ok().filter(|all| is_whole && all.is_char_boundary(url_bytes))?;
    Some(Text { all, url_bytes, hash })
}

/// Returns the hash of a compressed text.
#[must_use]
pub(crate) fn hash_of(compressed: &[u8]) -> Option<u64> {
    compressed.first_chunk().map(|hash| u64::from_le_bytes(*hash))
}

/// The place of a compressed text in a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub(crate) struct TextPlace {
    /// The byte offset in the file.
    pub(crate) at: u64,
    /// The length in bytes.
    pub(crate) bytes: u32,
}

/// A file of texts or lines, one after the other, each found by its place.
pub(crate) struct TextFile {
    pub(super) file: File,
    /// Length of the file.
    pub(super) bytes: u64,
    sum: Sum,
}

impl TextFile {
    /// Creates a nameless file in `folder`.
    ///
    /// # Errors
    /// The operating system's error.
    pub(crate) fn create(folder: &Path) -> io::Result<Self> {
        tempfile::tempfile_in(folder).map(Self::new)
    }

    /// Creates a text file over `file`, which is empty, or whose length the caller sets after reading it.
    pub(super) fn new(file: File) -> Self {
        Self { file, bytes: 0, sum: Sum::default() }
    }

    /// Opens the file at `path` and truncates it to `extent`. Without an extent, creates an empty file.
    ///
    /// # Errors
    /// The operating system's error, or an error if the file is too short or was changed.
    pub(crate) fn at(path: &Path, extent: Option<Extent>) -> io::Result<Self> {
        let (file, sum) = Sum::open(path, extent)?;
        Ok(Self { file, bytes: extent.map_or(0, |extent| extent.bytes), sum })
    }

    /// Appends a text.
    ///
    /// # Errors
    /// The text cannot be written.
    pub(crate) fn push(&mut self, text: &[u8]) -> io::Result<TextPlace> {
        self.file.write_all_at(text, self.bytes)?;
        self.sum.add(text);
        let place = TextPlace { at: self.bytes, bytes: length(text)? };
        self.bytes += text.len() as u64;
        Ok(place)
    }

    /// Returns the text at `place`.
    ///
    /// # Errors
    /// The file cannot be read.
    pub(crate) fn read(&self, place: TextPlace) -> io::Result<Vec<u8>> {
        let mut text = vec![0; place.bytes as usize];
        self.file.read_exact_at(&mut text, place.at)?;
        Ok(text)
    }

    /// Returns the hash of the compressed text at `place`, without reading the rest of it.
    ///
    /// # Errors
    /// The file cannot be read.
    pub(super) fn hash_at(&self, place: TextPlace) -> io::Result<Option<u64>> {
        let mut hash = [0; 8];
        if (place.bytes as usize) < hash.len() {
            return Ok(None);
        }
        self.file.read_exact_at(&mut hash, place.at)?;
        Ok(hash_of(&hash))
    }

    /// Syncs all texts to disk, and returns the length of the file.
    ///
    /// # Errors
    /// The texts cannot be written.
    pub(crate) fn extent(&mut self) -> io::Result<Extent> {
        self.file.sync_data()?;
        Ok(self.sum.extent(self.bytes))
    }

    /// Returns the length of the file.
    #[must_use]
    pub(crate) fn bytes(&self) -> u64 {
        self.bytes
    }
}

/// Returns the length of a compressed text, which is limited by [`TEXT_BYTES_MAX`], or of a line.
pub(crate) fn length(text: &[u8]) -> io::Result<u32> {
    u32::try_from(text.len()).map_err(io::Error::other)
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    /// Returns a text as the fingerprint stage gives it.
    pub(in crate::verify) fn compressed(text: &str) -> Box<[u8]> {
        TextCompressor::default().compress("http://a.example/", text).expect("a short text")
    }

    #[test]
    fn a_compressed_text_comes_back_and_a_damaged_one_does_not() {
        let whole = compressed("河水涨过了第二座桥\n");
        let text = decompressed(&whole).expect("a text");
        assert_eq!((text.url(), text.text()), ("http://a.example/", "河水涨过了第二座桥\n"));
        assert_eq!(Some(text.hash), hash_of(&whole));
        for at in 0..whole.len() {
            let mut damaged = whole.clone();
            damaged[at] ^= 0x41;
            assert!(decompressed(&damaged).is_none_or(|other| other.text() == text.text()), "byte {at}");
            assert!(decompressed(&whole[..at]).is_none());
        }
    }
}
