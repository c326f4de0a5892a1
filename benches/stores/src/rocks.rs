//! RocksDB: a log-structured merge tree, in C++. Its Bloom filters contain keys without the number, so a key
//! that no centroid has costs no read.

use std::path::Path;

use anyhow::Context;
use rocksdb::{
    BlockBasedOptions, ColumnFamilyDescriptor, DB, DBCompressionType, Direction, IteratorMode, Options,
    ReadOptions, SliceTransform, WaitForCompactOptions, WriteBatch,
};

use crate::{Entry, Store, number_of};

const KEY_BYTES: usize = 8;

pub struct Rocks(DB);

impl Rocks {
    pub fn open(folder: &Path) -> anyhow::Result<Self> {
        let mut options = Options::default();
        options.create_if_missing(true);
        options.create_missing_column_families(true);
        options.increase_parallelism(2);
        let mut table = BlockBasedOptions::default();
        table.set_bloom_filter(10.0, false);
        table.set_whole_key_filtering(false);
        let mut keys = Options::default();
        keys.set_prefix_extractor(SliceTransform::create_fixed_prefix(KEY_BYTES));
        keys.set_block_based_table_factory(&table);
        keys.set_compression_type(DBCompressionType::Lz4);
        let mut centroids = Options::default();
        centroids.set_compression_type(DBCompressionType::Lz4);
        let families =
            [ColumnFamilyDescriptor::new("keys", keys), ColumnFamilyDescriptor::new("centroids", centroids)];
        Ok(Self(DB::open_cf_descriptors(&options, folder, families)?))
    }

    fn family(&self, name: &str) -> anyhow::Result<&rocksdb::ColumnFamily> {
        self.0.cf_handle(name).context("a column family")
    }
}

impl Store for Rocks {
    fn insert(&mut self, entries: &[Entry], centroids: &[(u32, Vec<u8>)]) -> anyhow::Result<()> {
        let mut batch = WriteBatch::default();
        let keys = self.family("keys")?;
        entries.iter().for_each(|entry| batch.put_cf(keys, entry, b""));
        let family = self.family("centroids")?;
        for (number, bytes) in centroids {
            batch.put_cf(family, number.to_be_bytes(), bytes);
        }
        Ok(self.0.write(batch)?)
    }

    fn sync(&mut self) -> anyhow::Result<()> {
        Ok(self.0.flush_wal(true)?)
    }

    fn settle(&mut self) -> anyhow::Result<()> {
        for name in ["keys", "centroids"] {
            self.0.flush_cf(self.family(name)?)?;
        }
        Ok(self.0.wait_for_compact(&WaitForCompactOptions::default())?)
    }

    fn find(&self, key: u64, found: &mut Vec<u32>) -> anyhow::Result<()> {
        let prefix = key.to_be_bytes();
        let mut options = ReadOptions::default();
        options.set_prefix_same_as_start(true);
        let from = IteratorMode::From(&prefix, Direction::Forward);
        for entry in self.0.iterator_cf_opt(self.family("keys")?, options, from) {
            let (entry, _) = entry?;
            found.push(number_of(&entry));
        }
        Ok(())
    }

    fn centroid(&self, number: u32) -> anyhow::Result<usize> {
        let bytes = self.0.get_pinned_cf(self.family("centroids")?, number.to_be_bytes())?;
        Ok(bytes.map_or(0, |bytes| bytes.len()))
    }
}
