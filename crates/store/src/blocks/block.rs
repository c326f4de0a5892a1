//! The file with the centroids of a block: the parts that look-ups compare, and the parts that are read only
//! for duplicates.
//!
//! ```text
//! group 0: hot │ cold │ group 1: hot │ cold │ … │ corpora │ index │ texts │ footer
//! ```
//! A group has the centroids with [`GROUP`] consecutive numbers. *Hot* has the corpus of each centroid and
//! the part of its fingerprint that look-ups compare. *Cold* is compressed; it has the rest of the
//! fingerprint, offset and time of founding, digest, page id and url. The index has the beginning of each
//! group and takes 8 bytes of memory per group. In a group, a corpus is a number; `corpora` has its name and
//! fingerprint hash, which are also in memory. *Texts* are those of pages that had joined clusters when the
//! block was full, except the texts in earlier blocks. Their clusters are not younger than the block, so the
//! texts expire with the block at the latest.
//!
//! Cost: one read for the compared parts, and one more for the centroid itself.

use std::collections::HashMap;
use std::sync::Arc;

use prost::bytes::Buf as _;
use zstd::bulk::Compressor;

use super::BlockError;
use super::files::Files;
use super::parts::{Footer, PLACES, PartKind, PartReader, PartWriter, SUM_BYTES};
use leitong_base::proto::Stretch;
use leitong_base::record::Timestamp;
use leitong_base::varint::{push_varint, take_varint};
use leitong_cluster::{Centroid, SeenText, SeenTexts};

/// Number of centroids in a group, which is read at once: some 2.5 KB of compared parts with `simhash`.
pub(super) const GROUP: u64 = 32;
/// Level of zstd. Higher levels take several times as long and save only a few bytes.
const LEVEL: i32 = 1;
const NEVER: &str = "memory for zstd, at a level that exists";
/// Number of bits of an index entry for the length of the hot part; the other bits are the part's beginning.
const HOT_BITS: u32 = 24;
/// Maximum size of a cold part before compression, in bytes. It limits the memory that a damaged part can
/// allocate.
const COLD_BYTES_MAX: usize = 1 << 28;

/// Returns the name of the file of the block that begins with number `first`.
pub(super) fn name(first: u64) -> String {
    format!("centroids-{first:012}.block")
}

/// Writes a block.
pub(super) struct BlockWriter {
    parts: PartWriter,
    numbers: Stretch,
    corpora: Vec<(Box<str>, u64)>,
    corpus_ids: HashMap<(Box<str>, u64), u64>,
    heads: Vec<u8>,
    hot: Vec<u8>,
    cold: Vec<u8>,
    /// Created once per block. A compressor per group took 2 % of the time of all insertions.
    compressor: Compressor<'static>,
    index: Vec<u64>,
}

impl BlockWriter {
    /// Creates a block that begins with the centroid with number `first`.
    pub(super) fn create(files: &Arc<dyn Files>, table_id: u64, first: u64) -> Result<Self, BlockError> {
        Ok(Self {
            parts: PartWriter::create(files, &name(first), table_id)?,
            numbers: Stretch { first, end: first },
            corpora: Vec::new(),
            corpus_ids: HashMap::new(),
            heads: Vec::new(),
            hot: Vec::new(),
            cold: Vec::new(),
            compressor: Compressor::new(LEVEL).expect(NEVER),
            index: Vec::new(),
        })
    }

    /// Adds the next centroid. Look-ups compare the first `compared` bytes of its fingerprint.
    pub(super) fn push(
        &mut self,
        corpus: &str,
        fingerprint_hash: u64,
        centroid: &Centroid,
        compared: usize,
    ) -> Result<(), BlockError> {
        let corpus = self.corpus_id(corpus, fingerprint_hash);
        let (hot, rest) = centroid.fingerprint.split_at(compared);
        push_varint(corpus, &mut self.heads);
        push_varint(hot.len() as u64, &mut self.heads);
        self.hot.extend_from_slice(hot);
        push_varint(centroid.log_offset, &mut self.cold);
        // 0 means no time; the time follows a 1.
        match centroid.log_time {
            None => self.cold.push(0),
            Some(time) => {
                self.cold.push(1);
                self.cold.extend(time.as_ms().to_le_bytes());
            }
        }
        self.cold.extend(centroid.text_digest.to_le_bytes());
        for bytes in [rest, centroid.page_id.as_bytes(), centroid.url.as_bytes()] {
            push_varint(bytes.len() as u64, &mut self.cold);
            self.cold.extend_from_slice(bytes);
        }
        self.numbers.end += 1;
        if self.numbers.end.is_multiple_of(GROUP) { self.end_group() } else { Ok(()) }
    }

    /// Writes the block to disk, with these texts. Returns the size of the file.
    pub(super) fn finish(mut self, texts: &SeenTexts) -> Result<u64, BlockError> {
        self.end_group()?;
        let mut corpora = Vec::new();
        for (name, fingerprint_hash) in &self.corpora {
            push_varint(name.len() as u64, &mut corpora);
            corpora.extend_from_slice(name.as_bytes());
            corpora.extend(fingerprint_hash.to_le_bytes());
        }
        let groups_end = self.parts.at();
        let corpora_at = self.parts.part(&corpora)?;
        let index: Vec<u8> = self.index.iter().flat_map(|entry| entry.to_le_bytes()).collect();
        let index_at = self.parts.part(&index)?;
        let index_end = self.parts.at();
        self.parts.part(&bytes_of_texts(texts, self.numbers.end))?;
        let places: [u64; PLACES] = [groups_end, corpora_at, index_at, index_end, self.parts.at()];
        self.parts.finish(Footer { kind: PartKind::Centroids, numbers: self.numbers, places })
    }

    fn corpus_id(&mut self, name: &str, fingerprint_hash: u64) -> u64 {
        // Mostly it is the newest corpus.
        if let Some((last, hash)) = self.corpora.last()
            && (&**last, *hash) == (name, fingerprint_hash)
        {
            return self.corpora.len() as u64 - 1;
        }
        let next = self.corpora.len() as u64;
        let id = *self.corpus_ids.entry((name.into(), fingerprint_hash)).or_insert(next);
        if id == next {
            self.corpora.push((name.into(), fingerprint_hash));
        }
        id
    }

    fn end_group(&mut self) -> Result<(), BlockError> {
        if self.heads.is_empty() {
            return Ok(());
        }
        self.heads.append(&mut self.hot);
        let at = self.parts.part(&self.heads)?;
        debug_assert!(
            at >> (64 - HOT_BITS) == 0 && self.heads.len() >> HOT_BITS == 0,
            "limits of fingerprints"
        );
        self.index.push(at << HOT_BITS | (self.heads.len() + SUM_BYTES) as u64);
        let compressed = self.compressor.compress(&self.cold).expect(NEVER);
        let mut cold = (self.cold.len() as u32).to_le_bytes().to_vec();
        cold.extend(compressed);
        self.parts.part(&cold)?;
        self.heads.clear();
        self.cold.clear();
        Ok(())
    }
}

/// A block on disk.
pub(super) struct Block {
    reader: PartReader,
    numbers: Stretch,
    corpora: Box<[(Box<str>, u64)]>,
    index: Box<[u64]>,
    groups_end: u64,
    /// Beginning and end of the texts in the file.
    texts: (u64, u64),
}

/// The compared parts of a group.
pub(super) struct Hot {
    bytes: Vec<u8>,
    /// Corpus of each centroid, and beginning and end of its compared part.
    heads: Vec<(usize, usize, usize)>,
}

/// The cold part of a centroid.
#[derive(Debug, Clone)]
pub(super) struct Cold {
    pub(super) log_offset: u64,
    pub(super) log_time: Option<Timestamp>,
    pub(super) text_digest: u128,
    uncompared: Box<[u8]>,
    page_id: Box<str>,
    url: Box<str>,
}

impl Block {
    /// Opens the block of the centroids with these numbers; reads its corpora and its index.
    pub(super) fn open(files: &dyn Files, table_id: u64, numbers: Stretch) -> Result<Self, BlockError> {
        let Stretch { first, end } = numbers;
        let (reader, footer) =
            PartReader::open(files, &name(first), table_id, (PartKind::Centroids, numbers))?;
        let [groups_end, corpora_at, index_at, index_end, texts_end] = footer.places;
        let corpora = reader.part(corpora_at, (index_at - corpora_at) as usize)?;
        let corpora = parse_corpora(&corpora).ok_or_else(|| reader.damaged(corpora_at, "no corpora"))?;
        let index = reader.part(index_at, (index_end - index_at) as usize)?;
        let index: Box<[u64]> =
            index.as_chunks::<8>().0.iter().map(|entry| u64::from_le_bytes(*entry)).collect();
        if end <= first || index.len() as u64 != end.div_ceil(GROUP) - first / GROUP {
            return Err(reader.damaged(index_at, "its index has an unexpected length"));
        }
        let texts = (index_end, texts_end.max(index_end));
        Ok(Self { reader, numbers, corpora: corpora.into(), index, groups_end, texts })
    }

    /// Reads the texts of pages that joined clusters.
    pub(super) fn texts(&self) -> Result<SeenTexts, BlockError> {
        let (at, end) = self.texts;
        let bytes = self.reader.part(at, (end - at) as usize)?;
        parse_texts(&bytes, self.numbers.end).ok_or_else(|| self.reader.damaged(at, "its texts are broken"))
    }

    /// Returns the numbers of the centroids.
    pub(super) fn numbers(&self) -> Stretch {
        self.numbers
    }

    /// Returns the size of the file.
    pub(super) fn file_bytes(&self) -> u64 {
        self.reader.bytes()
    }

    /// Returns the bytes of memory in use.
    pub(super) fn bytes(&self) -> usize {
        let names: usize =
            self.corpora.iter().map(|(name, _)| name.len() + size_of::<(Box<str>, u64)>()).sum();
        self.index.len() * 8 + names
    }

    /// Returns name and fingerprint hash of a corpus.
    pub(super) fn corpus(&self, id: usize) -> Option<(&str, u64)> {
        self.corpora.get(id).map(|(name, hash)| (&**name, *hash))
    }

    /// Reads the compared parts of the group of the centroid with this number.
    pub(super) fn hot(&self, number: u64) -> Result<Hot, BlockError> {
        let (at, length) = self.place(number)?;
        let bytes = self.reader.part(at, length)?;
        parse_heads(&bytes, self.group_length(number))
            .map(|heads| Hot { bytes, heads })
            .ok_or_else(|| self.reader.damaged(at, "a group is broken"))
    }

    /// Prefetches the part that [`Self::hot`] reads.
    pub(super) fn will_need_hot(&self, number: u64) {
        if let Ok((at, length)) = self.place(number) {
            self.reader.will_need(at, length);
        }
    }

    /// Reads the cold parts of the group of the centroid with this number.
    pub(super) fn cold(&self, number: u64) -> Result<Vec<Cold>, BlockError> {
        let (at, length) = self.place(number)?;
        let at = at + length as u64;
        let next = self.index.get((number / GROUP - self.numbers.first / GROUP) as usize + 1);
        let end = next.map_or(self.groups_end, |next| next >> HOT_BITS);
        let bytes = self.reader.part(at, (end - at) as usize)?;
        let parse = || {
            let (length, compressed) = bytes.split_first_chunk::<4>()?;
            let length = (u32::from_le_bytes(*length) as usize).min(COLD_BYTES_MAX);
            let bytes = zstd::bulk::decompress(compressed, length).ok()?;
            parse_cold(&bytes)
        };
        parse().ok_or_else(|| self.reader.damaged(at, "a group is broken"))
    }

    /// Reads the centroids of the group of the centroid with this number, each with the name and fingerprint
    /// hash of its corpus.
    pub(super) fn group(&self, number: u64) -> Result<Vec<(&str, u64, Centroid)>, BlockError> {
        let (hot, cold) = (self.hot(number)?, self.cold(number)?);
        let whole = cold.into_iter().enumerate().filter_map(|(at, cold)| {
            let (corpus, compared) = hot.get(at)?;
            let (name, fingerprint_hash) = self.corpus(corpus)?;
            Some((name, fingerprint_hash, cold.with(compared)))
        });
        Ok(whole.collect())
    }

    /// Reads every part. After each one, calls `read` with its approximate size; `read` returns false to
    /// stop. Returns the size of the file.
    pub(super) fn verify(&self, read: &mut dyn FnMut(u64) -> bool) -> Result<u64, BlockError> {
        self.texts()?;
        let bytes_of_group = self.groups_end.div_ceil(self.index.len() as u64);
        for number in self.groups() {
            if self.group(number)?.len() != self.group_length(number) {
                return Err(self.reader.damaged(self.place(number)?.0, "a group has an unexpected length"));
            }
            if !read(bytes_of_group) {
                break;
            }
        }
        Ok(self.reader.bytes())
    }

    /// Returns the number of the first centroid of each group.
    pub(super) fn groups(&self) -> impl Iterator<Item = u64> + use<> {
        let first = self.numbers.first;
        (first / GROUP..self.numbers.end.div_ceil(GROUP)).map(move |group| (group * GROUP).max(first))
    }

    /// Returns the place of the centroid with this number in its group. A block may begin within a group.
    pub(super) fn place_in_group(&self, number: u64) -> usize {
        (number - (number / GROUP * GROUP).max(self.numbers.first)) as usize
    }

    /// Returns the number of centroids in the group of this centroid.
    fn group_length(&self, number: u64) -> usize {
        let begin = number / GROUP * GROUP;
        ((begin + GROUP).min(self.numbers.end) - begin.max(self.numbers.first)) as usize
    }

    /// Returns the beginning of the hot part of this centroid's group, and the part's length including the
    /// checksum.
    fn place(&self, number: u64) -> Result<(u64, usize), BlockError> {
        let group =
            (number >= self.numbers.first).then(|| (number / GROUP - self.numbers.first / GROUP) as usize);
        match group.and_then(|group| self.index.get(group)) {
            Some(entry) => Ok((entry >> HOT_BITS, (entry & ((1 << HOT_BITS) - 1)) as usize)),
            None => Err(self.reader.damaged(0, "a key names a centroid that is not in its block")),
        }
    }
}

impl Hot {
    /// Returns corpus and compared part of the centroid at place `at` of the group.
    pub(super) fn get(&self, at: usize) -> Option<(usize, &[u8])> {
        let (corpus, start, end) = *self.heads.get(at)?;
        Some((corpus, &self.bytes[start..end]))
    }
}

impl Cold {
    /// Returns the whole centroid.
    pub(super) fn with(self, compared: &[u8]) -> Centroid {
        Centroid {
            log_offset: self.log_offset,
            log_time: self.log_time,
            fingerprint: [compared, &self.uncompared].concat().into(),
            text_digest: self.text_digest,
            page_id: self.page_id,
            url: self.url,
        }
    }
}

fn parse_heads(bytes: &[u8], count: usize) -> Option<Vec<(usize, usize, usize)>> {
    let mut rest = bytes;
    let mut heads = Vec::with_capacity(count);
    let mut end = 0_usize;
    for _ in 0..count {
        let corpus = take_varint::<u64>(&mut rest)? as usize;
        let start = end;
        end = end.checked_add(take_varint::<u64>(&mut rest)? as usize)?;
        heads.push((corpus, start, end));
    }
    let begin = bytes.len() - rest.len();
    heads.iter_mut().for_each(|head| (head.1, head.2) = (head.1 + begin, head.2 + begin));
    (begin + end == bytes.len()).then_some(heads)
}

fn parse_cold(mut bytes: &[u8]) -> Option<Vec<Cold>> {
    let mut all = Vec::with_capacity(GROUP as usize);
    while !bytes.is_empty() {
        let log_offset = take_varint(&mut bytes)?;
        let log_time = match bytes.try_get_u8().ok()? {
            1 => Timestamp::from_ms(bytes.try_get_i64_le().ok()?),
            _ => None,
        };
        let text_digest = bytes.try_get_u128_le().ok()?;
        let mut next = || {
            let length = take_varint::<u64>(&mut bytes)? as usize;
            bytes.split_off(..length)
        };
        let (uncompared, page_id, url) = (next()?, next()?, next()?);
        all.push(Cold {
            log_offset,
            log_time,
            text_digest,
            uncompared: uncompared.into(),
            page_id: str::from_utf8(page_id).ok()?.into(),
            url: str::from_utf8(url).ok()?.into(),
        });
    }
    Some(all)
}

/// Encodes the texts for the block that ends before number `end`: for each text its key, and the distance from `end` to
/// the number of its cluster's centroid.
fn bytes_of_texts(texts: &SeenTexts, end: u64) -> Vec<u8> {
    let mut bytes = texts.first.to_le_bytes().to_vec();
    for SeenText { key, cluster } in &texts.texts {
        bytes.extend(key.to_le_bytes());
        push_varint(end.saturating_sub(*cluster), &mut bytes);
    }
    bytes
}

fn parse_texts(mut bytes: &[u8], end: u64) -> Option<SeenTexts> {
    let first = bytes.try_get_u64_le().ok()?;
    let mut texts = Vec::with_capacity(bytes.len() / 20);
    while !bytes.is_empty() {
        let key = bytes.try_get_u128_le().ok()?;
        let cluster = end.checked_sub(take_varint(&mut bytes)?)?;
        texts.push(SeenText { key, cluster });
    }
    Some(SeenTexts { first, texts })
}

fn parse_corpora(mut bytes: &[u8]) -> Option<Vec<(Box<str>, u64)>> {
    let mut corpora = Vec::new();
    while !bytes.is_empty() {
        let length = take_varint::<u64>(&mut bytes)? as usize;
        let name = bytes.split_off(..length)?;
        corpora.push((str::from_utf8(name).ok()?.into(), bytes.try_get_u64_le().ok()?));
    }
    Some(corpora)
}
