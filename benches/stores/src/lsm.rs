//! fjall: a log-structured merge tree with Bloom filters, in Rust.

use std::path::Path;

use fjall::{Database, Keyspace, KeyspaceCreateOptions, PersistMode};

use crate::{Entry, Store, number_of};

pub struct Lsm {
    database: Database,
    keys: Keyspace,
    centroids: Keyspace,
}

impl Lsm {
    pub fn open(folder: &Path) -> anyhow::Result<Self> {
        let database = Database::builder(folder).open()?;
        let keys = database.keyspace("keys", KeyspaceCreateOptions::default)?;
        let centroids = database.keyspace("centroids", KeyspaceCreateOptions::default)?;
        Ok(Self { database, keys, centroids })
    }
}

impl Store for Lsm {
    fn insert(&mut self, entries: &[Entry], centroids: &[(u32, Vec<u8>)]) -> anyhow::Result<()> {
        let mut batch = self.database.batch();
        entries.iter().for_each(|entry| batch.insert(&self.keys, &entry[..], &b""[..]));
        for (number, bytes) in centroids {
            batch.insert(&self.centroids, &number.to_be_bytes()[..], &bytes[..]);
        }
        Ok(batch.commit()?)
    }

    fn sync(&mut self) -> anyhow::Result<()> {
        Ok(self.database.persist(PersistMode::SyncAll)?)
    }

    fn settle(&mut self) -> anyhow::Result<()> {
        self.sync()?;
        self.keys.rotate_memtable_and_wait()?;
        self.centroids.rotate_memtable_and_wait()?;
        while self.database.active_compactions() > 0 || self.database.outstanding_flushes() > 0 {
            std::thread::yield_now();
        }
        Ok(())
    }

    fn find(&self, key: u64, found: &mut Vec<u32>) -> anyhow::Result<()> {
        for entry in self.keys.prefix(key.to_be_bytes()) {
            found.push(number_of(&entry.key()?));
        }
        Ok(())
    }

    fn centroid(&self, number: u32) -> anyhow::Result<usize> {
        Ok(self.centroids.get(number.to_be_bytes())?.map_or(0, |bytes| bytes.len()))
    }
}
