//! redb: a copy-on-write B-tree, in Rust.

use std::path::Path;

use redb::{Database, Durability, ReadableDatabase, TableDefinition};

use crate::{Entry, Store, entry, number_of};

const KEYS: TableDefinition<&[u8], ()> = TableDefinition::new("keys");
const CENTROIDS: TableDefinition<u32, &[u8]> = TableDefinition::new("centroids");

pub struct Tree {
    database: Database,
}

impl Tree {
    pub fn open(folder: &Path) -> anyhow::Result<Self> {
        Ok(Self { database: Database::create(folder.join("redb"))? })
    }

    fn write(
        &mut self,
        entries: &[Entry],
        centroids: &[(u32, Vec<u8>)],
        durability: Durability,
    ) -> anyhow::Result<()> {
        let mut transaction = self.database.begin_write()?;
        transaction.set_durability(durability)?;
        {
            let mut keys = transaction.open_table(KEYS)?;
            for entry in entries {
                keys.insert(&entry[..], ())?;
            }
            let mut table = transaction.open_table(CENTROIDS)?;
            for (number, bytes) in centroids {
                table.insert(number, &bytes[..])?;
            }
        }
        Ok(transaction.commit()?)
    }
}

impl Store for Tree {
    fn insert(&mut self, entries: &[Entry], centroids: &[(u32, Vec<u8>)]) -> anyhow::Result<()> {
        self.write(entries, centroids, Durability::None)
    }

    fn sync(&mut self) -> anyhow::Result<()> {
        self.write(&[], &[], Durability::Immediate)
    }

    fn find(&self, key: u64, found: &mut Vec<u32>) -> anyhow::Result<()> {
        let transaction = self.database.begin_read()?;
        let keys = transaction.open_table(KEYS)?;
        let (from, to) = (entry(key, 0), entry(key, u32::MAX));
        for pair in keys.range(&from[..]..=&to[..])? {
            found.push(number_of(pair?.0.value()));
        }
        Ok(())
    }

    fn centroid(&self, number: u32) -> anyhow::Result<usize> {
        let transaction = self.database.begin_read()?;
        let table = transaction.open_table(CENTROIDS)?;
        Ok(table.get(number)?.map_or(0, |bytes| bytes.value().len()))
    }
}
