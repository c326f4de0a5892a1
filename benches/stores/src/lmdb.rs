//! LMDB through heed: a B-tree in a mapped file, in C.

use std::path::Path;

use heed::types::Bytes;
use heed::{Database, Env, EnvFlags, EnvOpenOptions};

use crate::{Entry, Store, number_of};

/// Size of the address range; only the used part is on disk.
const MAP_BYTES: usize = 64 << 30;

pub struct Lmdb {
    env: Env,
    keys: Database<Bytes, Bytes>,
    centroids: Database<Bytes, Bytes>,
}

impl Lmdb {
    pub fn open(folder: &Path) -> anyhow::Result<Self> {
        let mut options = EnvOpenOptions::new();
        options.map_size(MAP_BYTES).max_dbs(2);
        // SAFETY: nobody else writes the file, and a crash makes this measurement worthless anyway.
        let env = unsafe { options.flags(EnvFlags::NO_SYNC).open(folder)? };
        let mut transaction = env.write_txn()?;
        let keys = env.create_database(&mut transaction, Some("keys"))?;
        let centroids = env.create_database(&mut transaction, Some("centroids"))?;
        transaction.commit()?;
        Ok(Self { env, keys, centroids })
    }
}

impl Store for Lmdb {
    fn insert(&mut self, entries: &[Entry], centroids: &[(u32, Vec<u8>)]) -> anyhow::Result<()> {
        let mut transaction = self.env.write_txn()?;
        for entry in entries {
            self.keys.put(&mut transaction, entry, b"")?;
        }
        for (number, bytes) in centroids {
            self.centroids.put(&mut transaction, &number.to_be_bytes(), bytes)?;
        }
        Ok(transaction.commit()?)
    }

    fn sync(&mut self) -> anyhow::Result<()> {
        Ok(self.env.force_sync()?)
    }

    fn find(&self, key: u64, found: &mut Vec<u32>) -> anyhow::Result<()> {
        let transaction = self.env.read_txn()?;
        for pair in self.keys.prefix_iter(&transaction, &key.to_be_bytes())? {
            found.push(number_of(pair?.0));
        }
        Ok(())
    }

    fn centroid(&self, number: u32) -> anyhow::Result<usize> {
        let transaction = self.env.read_txn()?;
        Ok(self.centroids.get(&transaction, &number.to_be_bytes())?.map_or(0, <[u8]>::len))
    }
}
