//! A sorted array of keys and an array of centroids, in mapped files: everything is sorted in memory and
//! written once.

use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};

use anyhow::Context;
use memmap2::Mmap;

use crate::{CENTROID_BYTES, Entry, Store, number_of};

/// Bytes of an entry.
const ENTRY_BYTES: usize = size_of::<Entry>();

pub struct Mapped {
    folder: PathBuf,
    entries: Vec<Entry>,
    centroids: Option<BufWriter<File>>,
    maps: Option<(Mmap, Mmap)>,
}

impl Mapped {
    pub fn open(folder: &Path) -> anyhow::Result<Self> {
        let (keys, centroids) = (folder.join("keys"), folder.join("centroids"));
        let folder = folder.to_owned();
        if !keys.exists() {
            let centroids = Some(BufWriter::new(File::create(centroids)?));
            return Ok(Self { folder, entries: Vec::new(), centroids, maps: None });
        }
        // SAFETY: nobody writes these files any more.
        let map = |path: &Path| anyhow::Ok(unsafe { Mmap::map(&File::open(path)?)? });
        Ok(Self { folder, entries: Vec::new(), centroids: None, maps: Some((map(&keys)?, map(&centroids)?)) })
    }
}

impl Store for Mapped {
    fn insert(&mut self, entries: &[Entry], centroids: &[(u32, Vec<u8>)]) -> anyhow::Result<()> {
        self.entries.extend_from_slice(entries);
        let file = self.centroids.as_mut().context("it is written once")?;
        centroids.iter().try_for_each(|(_, bytes)| file.write_all(bytes))?;
        Ok(())
    }

    fn sync(&mut self) -> anyhow::Result<()> {
        Ok(())
    }

    fn settle(&mut self) -> anyhow::Result<()> {
        self.entries.sort_unstable();
        let mut keys = BufWriter::new(File::create(self.folder.join("keys"))?);
        self.entries.iter().try_for_each(|entry| keys.write_all(entry))?;
        for file in [keys, self.centroids.take().context("it is written once")?] {
            file.into_inner()?.sync_all()?;
        }
        Ok(())
    }

    fn find(&self, key: u64, found: &mut Vec<u32>) -> anyhow::Result<()> {
        let (keys, _) = self.maps.as_ref().context("a read beyond the end")?;
        let (entries, _) = keys.as_chunks::<ENTRY_BYTES>();
        let key = key.to_be_bytes();
        let first = entries.partition_point(|entry| entry[..8] < key[..]);
        found.extend(
            entries[first..].iter().take_while(|entry| entry[..8] == key).map(|entry| number_of(entry)),
        );
        Ok(())
    }

    fn centroid(&self, number: u32) -> anyhow::Result<usize> {
        let (_, centroids) = self.maps.as_ref().context("a read beyond the end")?;
        let at = number as usize * CENTROID_BYTES;
        Ok(centroids.get(at..at + CENTROID_BYTES).map_or(0, |bytes| std::hint::black_box(bytes).len()))
    }
}
