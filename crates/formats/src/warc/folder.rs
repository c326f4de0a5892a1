//! Reads single records of WARC files in a folder: the bodies of pages whose messages only name their place.
//!
//! In: the name of a file, and an offset in it. Out: the record at that offset. A name must not contain
//! folders, so nothing outside of the folder is read. A file that its writer has not closed yet (`….open`, as
//! Heritrix names it) is read, too. Cost: each record opens one file. Memory: the record.

use std::fs::File;
use std::io::{self, BufRead, BufReader, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};

use flate2::bufread::GzDecoder;

use super::WarcReader;
use crate::source::fetch::open_regular;
use crate::source::record::{Payload, Source};
use leitong_base::record::Place;
use leitong_text::page::{InWarc, PageConfig, WarcRecord};

/// Size of the read buffer in bytes.
const BUFFER_BYTES: usize = 64 * 1024;

/// A folder of WARC files.
#[derive(Debug)]
pub struct WarcFolder {
    dir: PathBuf,
}

impl WarcFolder {
    /// Creates a reader of the files in `dir`.
    #[must_use]
    pub fn new(dir: &Path) -> Self {
        Self { dir: dir.to_owned() }
    }

    /// Reads the record at `place`. Returns `None` for a type of record without a page.
    ///
    /// # Errors
    /// A description of the problem.
    pub fn record(&self, place: &InWarc, limits: &PageConfig) -> Result<Option<WarcRecord>, String> {
        let named = format!("{} at byte {}", place.file, place.offset);
        let with_place = |error: io::Error| format!("{named}: {error}");
        let mut file = BufReader::with_capacity(BUFFER_BYTES, self.open(&place.file).map_err(with_place)?);
        file.seek(SeekFrom::Start(place.offset)).map_err(with_place)?;
        let start = file.fill_buf().map_err(with_place)?;
        if start.is_empty() {
            return Err(format!("{named}: the file ends before this offset"));
        }
        if start.starts_with(b"\x1f\x8b") { first(GzDecoder::new(file), limits) } else { first(file, limits) }
            .map_err(|problem| format!("{named}: {problem}"))
    }

    fn open(&self, name: &str) -> io::Result<File> {
        match open_regular(&self.dir.join(name)) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                open_regular(&self.dir.join(format!("{name}.open"))).map_err(|_| error)
            }
            opened => opened,
        }
    }
}

/// Reads the record at the start of `reader`.
fn first(reader: impl Read + Send, limits: &PageConfig) -> Result<Option<WarcRecord>, String> {
    let mut source = WarcReader::new(BufReader::new(reader), "-".into(), limits);
    let mut batch = Vec::new();
    source.read_batch(&mut batch, 1).map_err(|error| error.to_string())?;
    let Some(record) = batch.into_iter().next() else { return Ok(None) };
    match (record.place, record.payload) {
        // A later record belongs to another page.
        (Place::Record { record: 1, .. }, Payload::Warc(record)) => Ok(Some(*record)),
        (Place::Record { record: 1, .. }, Payload::Broken(error)) => Err(error.to_string()),
        _ => Ok(None),
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use super::*;

    fn record(kind: &str, body: &str) -> Vec<u8> {
        let http = format!("HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n\r\n{body}");
        format!(
            "WARC/1.0\r\nWARC-Type: {kind}\r\nWARC-Target-URI: http://a/\r\nContent-Length: {}\r\n\r\n{http}\r\n\r\n",
            http.len()
        )
        .into_bytes()
    }

    fn gzip(bytes: &[u8]) -> Vec<u8> {
        let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        encoder.write_all(bytes).expect("memory");
        encoder.finish().expect("memory")
    }

    #[test]
    fn records_are_found_by_file_and_offset() {
        let folder = tempfile::tempdir().expect("a folder");
        let records = [record("response", "<p>one"), record("revisit", ""), record("response", "<p>two")];
        let compressed: Vec<Vec<u8>> = records.iter().map(|record| gzip(record)).collect();
        std::fs::write(folder.path().join("a.warc"), records.concat()).expect("written");
        std::fs::write(folder.path().join("b.warc.gz.open"), compressed.concat()).expect("written");
        let warcs = WarcFolder::new(folder.path());
        for (file, records) in [("a.warc", &records[..]), ("b.warc.gz", &compressed)] {
            let body = |number: usize| {
                let offset = records[..number].iter().map(Vec::len).sum::<usize>() as u64;
                let place = InWarc { file: file.to_owned(), offset };
                let record = warcs.record(&place, &PageConfig::default()).expect("a record");
                record.map(|record| String::from_utf8_lossy(&record.content).into_owned())
            };
            assert!(body(0).expect("a response").ends_with("<p>one"));
            assert_eq!(body(1), None, "a revisit has no body, and what follows is another page");
            assert!(body(2).expect("a response").ends_with("<p>two"));
            let error = |file: &str, offset| {
                let place = InWarc { file: file.to_owned(), offset };
                warcs.record(&place, &PageConfig::default()).expect_err("nothing there")
            };
            assert!(error(file, 5).contains("byte 5"), "{}", error(file, 5));
            assert!(error(file, 1 << 40).contains("ends before"), "{}", error(file, 1 << 40));
            assert!(error("c.warc", 0).starts_with("c.warc at byte 0: "), "{}", error("c.warc", 0));
        }
    }
}
