//! The parts of a centroid that only duplicates, expiry and saving read: offset and time of founding, digest,
//! the rest of the fingerprint, page id and url.
//!
//! They are in blocks of [`BLOCK`] centroids, in order of founding. A full block is sealed: ids and urls
//! resemble one another, so they are compressed together. The other values do not, so they stay uncompressed;
//! to read those of one centroid, all earlier ones of its block are decoded.

use std::borrow::Cow;
use std::collections::VecDeque;
use std::ops::Range;

use zstd::bulk::{Compressor, Decompressor};

use super::centroid::Centroid;
use leitong_base::record::Timestamp;
use leitong_base::varint::{ZigZag, push_varint, take_varint};

/// Centroids in a block.
const BLOCK: usize = 128;
/// Level of zstd. Higher levels take several times as long and save only a few bytes.
const LEVEL: i32 = 1;
const IN_MEMORY: &str = "a block that was written here";

/// The cold parts of all centroids.
#[derive(Default)]
pub(super) struct Cold {
    sealed: VecDeque<Sealed>,
    open: Open,
    packer: Packer,
    /// Number of the first centroid ever added; blocks are counted from there.
    origin: u64,
    /// Number of the oldest centroid.
    first: u64,
    /// Number of the next centroid.
    end: u64,
}

/// The cold part of one centroid, without its texts.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct ColdCentroid<'a> {
    pub(super) log_offset: u64,
    pub(super) log_time: Option<Timestamp>,
    pub(super) text_digest: u128,
    /// The fingerprint without its compared part.
    pub(super) uncompared: &'a [u8],
}

/// A block that is being filled.
#[derive(Debug, Default)]
struct Open {
    /// Encoded [`ColdCentroid`]s: the difference of offsets; 0, or the difference of times and 1; the digest; the length
    /// of the rest of the fingerprint, and this rest.
    records: Vec<u8>,
    /// Page ids and urls, each after its length.
    texts: Vec<u8>,
    last: Last,
}

/// The values of the last record. Those of the next one are stored as differences from them.
#[derive(Debug, Default, Clone, Copy)]
struct Last {
    log_offset: u64,
    log_time_ms: i64,
}

/// A full block.
#[derive(Debug)]
struct Sealed {
    records: Box<[u8]>,
    /// Compressed page ids and urls.
    texts: Box<[u8]>,
    /// Length of the texts before compression.
    texts_bytes: u32,
}

const NEVER: &str = "memory for zstd, at a level that exists";

/// A compressor. Creating a new one for each block would take longer than compressing the block.
struct Packer(Compressor<'static>);

impl Default for Packer {
    fn default() -> Self {
        Self(Compressor::new(LEVEL).expect(NEVER))
    }
}

/// A decompressor. Creating a new one for each block would take longer than decompressing the block.
pub(super) struct Unpacker(Decompressor<'static>);

impl Default for Unpacker {
    fn default() -> Self {
        Self(Decompressor::new().expect(NEVER))
    }
}

impl Cold {
    /// Creates an empty queue; the first centroid will have the number `origin`.
    pub(super) fn starting_at(origin: u64) -> Self {
        Self { origin, first: origin, end: origin, ..Self::default() }
    }

    /// Adds a centroid. Only the `uncompared` part of its fingerprint is stored here.
    pub(super) fn push(&mut self, centroid: &Centroid, uncompared: &[u8]) {
        self.open.push(centroid, uncompared);
        self.end += 1;
        if (self.end - self.origin).is_multiple_of(BLOCK as u64) {
            self.sealed.push_back(self.open.seal(&mut self.packer.0));
        }
    }

    /// Removes the oldest centroid.
    pub(super) fn pop(&mut self) {
        if self.first == self.end {
            return;
        }
        self.first += 1;
        if (self.first - self.origin).is_multiple_of(BLOCK as u64) {
            self.sealed.pop_front();
        }
    }

    /// Returns the centroid with this number, without its texts.
    pub(super) fn get(&self, number: u64) -> Option<ColdCentroid<'_>> {
        let (records, at) = self.records(number)?;
        read_records(records).nth(at)
    }

    /// Returns page id and url of the centroid with this number.
    pub(super) fn texts(&self, number: u64, unpacker: &mut Unpacker) -> Option<(Box<str>, Box<str>)> {
        let (_, at) = self.records(number)?;
        let texts = self.block_texts(self.block_of(number), unpacker);
        read_texts(&texts).nth(at).map(|(page_id, url)| (page_id.into(), url.into()))
    }

    /// Returns the centroids with these numbers and those in the same blocks, block by block: the number of a
    /// block's first centroid, and the centroids. Their fingerprints lack the compared part, which is not
    /// stored here.
    pub(super) fn blocks(&self, numbers: Range<u64>) -> impl Iterator<Item = (u64, Vec<Centroid>)> + '_ {
        let (from, to) = (numbers.start.max(self.first), numbers.end.min(self.end));
        let blocks = match from < to {
            true => self.block_of(from)..self.block_of(to - 1) + 1,
            false => 0..0,
        };
        let mut unpacker = Unpacker::default();
        blocks.map(move |block| {
            let start = self.origin + block * BLOCK as u64;
            let texts = self.block_texts(block, &mut unpacker);
            let records = self.records(start.max(self.first)).map_or(&[][..], |(records, _)| records);
            let whole =
                read_records(records).zip(read_texts(&texts)).map(|(record, (page_id, url))| Centroid {
                    log_offset: record.log_offset,
                    log_time: record.log_time,
                    fingerprint: record.uncompared.into(),
                    text_digest: record.text_digest,
                    page_id: page_id.into(),
                    url: url.into(),
                });
            let gone = self.first.saturating_sub(start);
            (start + gone, whole.skip(gone as usize).collect())
        })
    }

    /// Returns the bytes of memory in use.
    pub(super) fn bytes(&self) -> usize {
        let sealed = self.sealed.iter().map(|s| size_of::<Sealed>() + s.records.len() + s.texts.len());
        sealed.sum::<usize>() + self.open.records.capacity() + self.open.texts.capacity()
    }

    /// Returns the records of the block with the centroid `number`, and its place among them.
    fn records(&self, number: u64) -> Option<(&[u8], usize)> {
        if !(self.first..self.end).contains(&number) {
            return None;
        }
        let records = self.sealed(self.block_of(number)).map_or(&*self.open.records, |block| &*block.records);
        Some((records, ((number - self.origin) % BLOCK as u64) as usize))
    }

    /// Returns page ids and urls of a block, uncompressed.
    fn block_texts(&self, block: u64, unpacker: &mut Unpacker) -> Cow<'_, [u8]> {
        self.sealed(block).map_or(Cow::Borrowed(&*self.open.texts), |sealed| {
            let texts = unpacker.0.decompress(&sealed.texts, sealed.texts_bytes as usize);
            Cow::Owned(texts.expect(IN_MEMORY))
        })
    }

    /// Returns a block that still has centroids, unless it is the open one.
    fn sealed(&self, block: u64) -> Option<&Sealed> {
        self.sealed.get((block - self.block_of(self.first)) as usize)
    }

    /// Returns the block of a centroid, counted from the origin.
    fn block_of(&self, number: u64) -> u64 {
        (number - self.origin) / BLOCK as u64
    }
}

impl Open {
    fn push(&mut self, centroid: &Centroid, uncompared: &[u8]) {
        let difference = centroid.log_offset.wrapping_sub(self.last.log_offset) as i64;
        push_varint(ZigZag::from(difference).0, &mut self.records);
        self.last.log_offset = centroid.log_offset;
        // 0 means no time; so 1 is added to the difference of two times.
        match centroid.log_time {
            None => push_varint(0_u64, &mut self.records),
            Some(time) => {
                let ms = time.as_ms();
                let difference = ZigZag::from(ms.wrapping_sub(self.last.log_time_ms)).0;
                push_varint(difference.wrapping_add(1), &mut self.records);
                self.last.log_time_ms = ms;
            }
        }
        self.records.extend_from_slice(&centroid.text_digest.to_le_bytes());
        push_varint(uncompared.len() as u64, &mut self.records);
        self.records.extend_from_slice(uncompared);
        for text in [&centroid.page_id, &centroid.url] {
            push_varint(text.len() as u64, &mut self.texts);
            self.texts.extend_from_slice(text.as_bytes());
        }
    }

    /// Seals the full block, and begins the next one in the same memory.
    fn seal(&mut self, compressor: &mut Compressor<'_>) -> Sealed {
        let sealed = Sealed {
            records: self.records.as_slice().into(),
            texts: compressor.compress(&self.texts).expect("memory for a block").into(),
            texts_bytes: u32::try_from(self.texts.len()).expect("limits of ids and urls keep a block small"),
        };
        self.records.clear();
        self.texts.clear();
        self.last = Last::default();
        sealed
    }
}

/// Reads the records of a block, in order.
fn read_records(mut bytes: &[u8]) -> impl Iterator<Item = ColdCentroid<'_>> {
    let mut last = Last::default();
    std::iter::from_fn(move || {
        if bytes.is_empty() {
            return None;
        }
        let difference = ZigZag(varint(&mut bytes)).signed();
        last.log_offset = last.log_offset.wrapping_add_signed(difference);
        let log_time = match varint(&mut bytes) {
            0 => None,
            difference => {
                last.log_time_ms = last.log_time_ms.wrapping_add(ZigZag(difference.wrapping_sub(1)).signed());
                Timestamp::from_ms(last.log_time_ms)
            }
        };
        let (digest, rest) = bytes.split_first_chunk::<16>().expect(IN_MEMORY);
        bytes = rest;
        let text_digest = u128::from_le_bytes(*digest);
        let length = varint(&mut bytes) as usize;
        let uncompared = bytes.split_off(..length).expect(IN_MEMORY);
        Some(ColdCentroid { log_offset: last.log_offset, log_time, text_digest, uncompared })
    })
}

/// Reads the ids and urls of a block, in order.
fn read_texts(mut bytes: &[u8]) -> impl Iterator<Item = (&str, &str)> {
    std::iter::from_fn(move || {
        if bytes.is_empty() {
            return None;
        }
        let mut text = || {
            let length = varint(&mut bytes) as usize;
            str::from_utf8(bytes.split_off(..length).expect(IN_MEMORY)).expect(IN_MEMORY)
        };
        Some((text(), text()))
    })
}

/// Reads a number that was written here.
fn varint(bytes: &mut &[u8]) -> u64 {
    take_varint(bytes).expect(IN_MEMORY)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn centroid() -> impl Strategy<Value = Centroid> {
        let bytes = prop_oneof![
            Just(vec![]),
            prop::collection::vec(any::<u8>(), 32),
            prop::collection::vec(any::<u8>(), 0..300)
        ];
        let time =
            prop::option::of(prop_oneof![-62_135_596_800_000..253_402_300_799_999_i64, Just(0), Just(1)]);
        let text = "\\PC{0,40}";
        (any::<u64>(), time, bytes, any::<u128>(), text, text).prop_map(
            |(log_offset, ms, fingerprint, text_digest, page_id, url)| Centroid {
                log_offset,
                log_time: ms.and_then(Timestamp::from_ms),
                fingerprint: fingerprint.into(),
                text_digest,
                page_id: page_id.into(),
                url: url.into(),
            },
        )
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(40))]

        #[test]
        fn holds_what_a_queue_holds(
            runs in prop::collection::vec((prop::collection::vec(centroid(), 0..300), 0..300_usize), 1..5),
            origin in 0..1_000_u64,
        ) {
            let mut cold = Cold::starting_at(origin);
            let mut queue = VecDeque::new();
            let mut number = origin;
            for (come, go) in runs {
                for centroid in come {
                    cold.push(&centroid, &centroid.fingerprint);
                    queue.push_back((number, centroid));
                    number += 1;
                }
                for _ in 0..go {
                    cold.pop();
                    queue.pop_front();
                }
                for (number, centroid) in queue.iter().step_by(7) {
                    let found = cold.get(*number).expect("it is there");
                    let Centroid { log_offset, log_time, text_digest, .. } = *centroid;
                    let expected = ColdCentroid { log_offset, log_time, text_digest, uncompared: &centroid.fingerprint };
                    prop_assert_eq!(found, expected);
                    let texts = (centroid.page_id.clone(), centroid.url.clone());
                    prop_assert_eq!(cold.texts(*number, &mut Unpacker::default()), Some(texts));
                }
                prop_assert!(cold.get(number).is_none() && cold.texts(number, &mut Unpacker::default()).is_none());
                let all: Vec<(u64, Centroid)> = cold.blocks(0..u64::MAX).flat_map(|(first, block)| (first..).zip(block)).collect();
                prop_assert_eq!(all, queue.iter().cloned().collect::<Vec<_>>());
                let (from, to) = (number.saturating_sub(200), number.saturating_sub(30));
                let part: Vec<u64> = cold.blocks(from..to).flat_map(|(first, block)| (first..).take(block.len())).collect();
                let expected = queue.iter().map(|(number, _)| *number).filter(|number| (from..to).contains(number));
                prop_assert!(expected.into_iter().all(|number| part.contains(&number)));
                prop_assert!(cold.blocks(number..number + 9).next().is_none());
                prop_assert!(cold.sealed.len() <= queue.len() / BLOCK + 2);
            }
        }
    }
}
