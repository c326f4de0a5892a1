//! What keeps pages apart, by a number: corpus, and the settings that made the fingerprint.

use std::collections::HashMap;

/// A corpus and fingerprint hash that has centroids.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct CorpusId(pub(super) u32);

impl CorpusId {
    /// What its keys and bits are XORed with, so that those of
    /// several corpora seldom meet; nothing for the first one. It leaves a key
    /// [wide](leitong_fingerprint::WIDE_KEY) that is.
    #[inline]
    pub(super) fn salt(self) -> u64 {
        let mut salt = u64::from(self.0).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        salt ^= salt >> 32;
        salt.wrapping_mul(0xff51_afd7_ed55_8ccd) & !leitong_fingerprint::WIDE_KEY
    }
}

/// All that have centroids.
#[derive(Debug, Default)]
pub(super) struct Corpora {
    /// By name: the fingerprint hashes and their numbers.
    ids: HashMap<Box<str>, Vec<(u64, CorpusId)>>,
    /// By number.
    entries: Vec<Entry>,
    /// The one that was entered last: mostly the next one too.
    last: Option<CorpusId>,
    unused: Vec<CorpusId>,
    /// Bytes that the allocator takes for one copy of each name.
    name_bytes: usize,
}

#[derive(Debug)]
struct Entry {
    name: Box<str>,
    fingerprint_hash: u64,
    centroids: u64,
}

/// Elements for which a vector makes room with the first one: hardly any corpus has more hashes.
const HASHES_AT_FIRST: usize = 4;

/// Bytes that the allocator takes for so many: a multiple of 16, with a head of 8, and 32 at least.
fn allocated(bytes: usize) -> usize {
    if bytes == 0 { 0 } else { (bytes + 8).next_multiple_of(16).max(32) }
}

impl Corpora {
    /// The number of a corpus, if it has centroids.
    #[inline]
    pub(super) fn find(&self, name: &str, fingerprint_hash: u64) -> Option<CorpusId> {
        if let Some(last) = self.last
            && self.get(last) == (name, fingerprint_hash)
        {
            return Some(last);
        }
        let ids = self.ids.get(name)?;
        ids.iter().find(|(hash, _)| *hash == fingerprint_hash).map(|(_, id)| *id)
    }

    /// Counts a centroid in.
    pub(super) fn enter(&mut self, name: &str, fingerprint_hash: u64) -> CorpusId {
        let id = self.find(name, fingerprint_hash).unwrap_or_else(|| {
            let entry = Entry { name: name.into(), fingerprint_hash, centroids: 0 };
            let id = match self.unused.pop() {
                Some(id) => {
                    self.entries[id.0 as usize] = entry;
                    id
                }
                None => {
                    self.entries.push(entry);
                    CorpusId(self.entries.len() as u32 - 1)
                }
            };
            self.name_bytes += allocated(name.len());
            self.ids.entry(name.into()).or_default().push((fingerprint_hash, id));
            id
        });
        self.entries[id.0 as usize].centroids += 1;
        self.last = Some(id);
        id
    }

    /// Counts a centroid out. A corpus without any is forgotten.
    pub(super) fn leave(&mut self, id: CorpusId) {
        let entry = &mut self.entries[id.0 as usize];
        entry.centroids -= 1;
        if entry.centroids > 0 {
            return;
        }
        let name = std::mem::take(&mut entry.name);
        self.name_bytes -= allocated(name.len());
        self.last = None;
        if let Some(ids) = self.ids.get_mut(&name) {
            ids.retain(|(_, other)| *other != id);
            if ids.is_empty() {
                self.ids.remove(&name);
            }
        }
        self.unused.push(id);
    }

    /// Name and fingerprint hash of a number.
    pub(super) fn get(&self, id: CorpusId) -> (&str, u64) {
        let entry = &self.entries[id.0 as usize];
        (&entry.name, entry.fingerprint_hash)
    }

    /// Bytes of memory, with what the allocator adds: with a corpus for each host there may be as many of
    /// them as centroids.
    pub(super) fn bytes(&self) -> usize {
        // A hash map fills seven of eight places, each of which has a byte beside it.
        let place = size_of::<(Box<str>, Vec<(u64, CorpusId)>)>() + 1;
        let places = self.ids.capacity() * 8 / 7 * place;
        let hashes = self.ids.len() * allocated(HASHES_AT_FIRST * size_of::<(u64, CorpusId)>());
        let entries = self.entries.capacity() * size_of::<Entry>();
        places + hashes + entries + self.unused.capacity() * size_of::<CorpusId>() + 2 * self.name_bytes
    }

    /// How many there are.
    #[cfg(test)]
    pub(super) fn len(&self) -> usize {
        self.entries.len() - self.unused.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// With `corpus.by = "host"` the memory of a table grew by some 350 bytes a host, and its figures did not.
    #[test]
    fn the_memory_of_corpora_is_counted_and_given_back() {
        let mut corpora = Corpora::default();
        assert_eq!(corpora.bytes(), 0);
        let names = (0..10_000).map(|number| format!("host-{number}.example"));
        let ids: Vec<_> = names.map(|name| corpora.enter(&name, 7)).collect();
        let full = corpora.bytes();
        assert!((200..450).contains(&(full / ids.len())), "{} bytes a host", full / ids.len());
        ids.into_iter().for_each(|id| corpora.leave(id));
        let places = (corpora.ids.capacity() + corpora.entries.capacity()) * 100;
        assert!(corpora.name_bytes == 0 && corpora.bytes() < places, "{} bytes are left", corpora.bytes());
    }
}
