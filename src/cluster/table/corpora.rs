//! What keeps pages apart, by a number: corpus, and the settings that made the fingerprint.

use std::collections::HashMap;

/// A corpus and fingerprint hash that has centroids.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct CorpusId(pub(super) u32);

impl CorpusId {
    /// What its keys and bits are XORed with, so that those of
    /// several corpora seldom meet; nothing for the first one. It leaves a key
    /// [wide](crate::fingerprint::WIDE_KEY) that is.
    #[inline]
    pub(super) fn salt(self) -> u64 {
        let mut salt = u64::from(self.0).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        salt ^= salt >> 32;
        salt.wrapping_mul(0xff51_afd7_ed55_8ccd) & !crate::fingerprint::WIDE_KEY
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
}

#[derive(Debug)]
struct Entry {
    name: Box<str>,
    fingerprint_hash: u64,
    centroids: u64,
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

    /// How many there are.
    #[cfg(test)]
    pub(super) fn len(&self) -> usize {
        self.entries.len() - self.unused.len()
    }
}
