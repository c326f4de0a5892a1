//! Maps whose keys are hashes already: hashing them again would be wasted time.

use std::hash::Hasher;

/// Takes a `u64` key that is a well-mixed hash as its own hash.
#[derive(Debug, Default)]
pub(crate) struct HashedKey(u64);

impl Hasher for HashedKey {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, _: &[u8]) {
        unreachable!("keys are written as u64");
    }

    fn write_u64(&mut self, key: u64) {
        self.0 = key;
    }
}
