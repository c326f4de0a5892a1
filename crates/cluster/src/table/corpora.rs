//! Numbers of corpora: a centroid stores a number of four bytes instead of the name of its corpus and its fingerprint
//! hash. Only centroids with the same number are compared.

use std::collections::HashMap;

/// The number of a pair of corpus and fingerprint hash that has centroids.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct CorpusId(pub(super) u32);

impl CorpusId {
    /// Returns the number that is XORed with the keys of this corpus, so keys of different corpora
    /// are seldom equal; 0 for the first corpus. It does not change whether a key is
    /// [wide](leitong_fingerprint::SecondKey::WIDE).
    #[inline]
    pub(super) fn salt(self) -> u64 {
        let mut salt = u64::from(self.0).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        salt ^= salt >> 32;
        salt.wrapping_mul(0xff51_afd7_ed55_8ccd) & !leitong_fingerprint::SecondKey::WIDE
    }
}

/// All corpora that have centroids.
#[derive(Debug, Default)]
pub(super) struct Corpora {
    /// For each name, its fingerprint hashes and their numbers.
    ids: HashMap<Box<str>, Vec<(u64, CorpusId)>>,
    /// The corpora by number.
    entries: Vec<Entry>,
    /// The corpus of the last centroid, which mostly is that of the next one too.
    last: Option<CorpusId>,
    /// The numbers in `entries` that are free.
    unused: Vec<CorpusId>,
    /// Bytes that the allocator uses for one copy of each name.
    name_bytes: usize,
}

#[derive(Debug)]
struct Entry {
    name: Box<str>,
    fingerprint_hash: u64,
    centroids: u64,
}

/// Capacity of a vector after its first element. Hardly any corpus has more hashes.
const HASHES_AT_FIRST: usize = 4;

/// Returns the bytes that the allocator uses for an allocation of `bytes`: a multiple of 16, with a header of 8,
/// and at least 32.
fn allocated(bytes: usize) -> usize {
    if bytes == 0 { 0 } else { (bytes + 8).next_multiple_of(16).max(32) }
}

impl Corpora {
    /// Returns the number of a corpus, if it has centroids.
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

    /// Adds a new centroid to the count. Returns the number of its corpus.
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

    /// Subtracts a removed centroid. A corpus without centroids is removed.
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

    /// Returns name and fingerprint hash of the corpus with this number.
    pub(super) fn get(&self, id: CorpusId) -> (&str, u64) {
        let entry = &self.entries[id.0 as usize];
        (&entry.name, entry.fingerprint_hash)
    }

    /// Returns the bytes of memory in use, including the overhead of the allocator. With one corpus per host
    /// there may be as many corpora as centroids.
    pub(super) fn bytes(&self) -> usize {
        // A hash map fills at most seven of eight places, and each place has one more byte.
        let place = size_of::<(Box<str>, Vec<(u64, CorpusId)>)>() + 1;
        let places = self.ids.capacity() * 8 / 7 * place;
        let hashes = self.ids.len() * allocated(HASHES_AT_FIRST * size_of::<(u64, CorpusId)>());
        let entries = self.entries.capacity() * size_of::<Entry>();
        places + hashes + entries + self.unused.capacity() * size_of::<CorpusId>() + 2 * self.name_bytes
    }

    /// Returns the number of corpora.
    #[cfg(test)]
    pub(super) fn len(&self) -> usize {
        self.entries.len() - self.unused.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// With `corpus.by = "host"`, each host takes some 350 bytes of memory, which metrics must show.
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
