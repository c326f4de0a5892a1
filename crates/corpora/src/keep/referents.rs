//! Stores the data about canonical documents that revisit records need: one line per cluster in a file. The
//! places of the lines are held in memory.
//!
//! Memory: about 40 bytes per cluster. The file has about 300 bytes per cluster, and is deleted when the
//! process ends. With `--checkpoint` it has a name, and a continued run can use it.

use std::collections::HashMap;
use std::fs::File;
use std::io::{self, BufRead, BufReader};
use std::path::Path;

use serde::{Deserialize, Serialize};

use super::Decision;
use super::verify::texts::{TextFile, TextPlace, length};
use crate::sink::Extent;

/// The data about a document to which revisit records refer.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Referent {
    /// `WARC-Record-ID`. `None` if the document is not in a WARC file.
    pub(super) record_id: Option<String>,
    /// The url of the document.
    pub(super) url: String,
    /// `WARC-Date`.
    pub(super) date: Option<String>,
    /// `WARC-Payload-Digest`.
    pub(super) payload_digest: Option<String>,
    /// The SHA-256 of the payload.
    pub(super) payload_sha256: Option<String>,
}

/// A line of the file.
#[derive(Debug, Serialize, Deserialize)]
struct Line<T> {
    /// The log offset of the cluster's founder.
    founded: u64,
    referent: T,
}

/// The canonical documents of clusters, to which revisit records refer.
pub(crate) struct Referents {
    lines: TextFile,
    /// The place of each cluster's line, by the log offset of the cluster's founder.
    places: HashMap<u64, TextPlace>,
    /// True if all clusters are present. Otherwise they are added as their documents are copied.
    is_complete: bool,
}

impl Referents {
    /// Creates a nameless file in `folder`.
    ///
    /// # Errors
    /// The operating system's error.
    pub(crate) fn create(folder: &Path) -> io::Result<Self> {
        Ok(Self { lines: TextFile::create(folder)?, places: HashMap::new(), is_complete: false })
    }

    /// Opens the file at `path` and truncates it to `extent`. Without an extent, creates an empty file.
    ///
    /// # Errors
    /// The operating system's error, or an error if the file is too short, was changed or has other content.
    pub(crate) fn at(path: &Path, extent: Option<Extent>) -> io::Result<Self> {
        let lines = TextFile::at(path, extent)?;
        let mut places = HashMap::new();
        let mut reader = BufReader::new(File::open(path)?);
        let (mut at, mut line) = (0, Vec::new());
        while reader.read_until(b'\n', &mut line)? > 0 {
            let Line { founded, .. } = serde_json::from_slice::<Line<serde::de::IgnoredAny>>(&line)?;
            places.insert(founded, TextPlace { at, bytes: length(&line)? });
            at += line.len() as u64;
            line.clear();
        }
        Ok(Self { lines, places, is_complete: false })
    }

    /// Records that all clusters are present.
    pub(super) fn complete(&mut self) {
        self.is_complete = true;
    }

    pub(super) fn is_complete(&self) -> bool {
        self.is_complete
    }

    /// Syncs everything to disk, and returns the length of the file.
    ///
    /// # Errors
    /// The data cannot be written.
    pub(crate) fn extent(&mut self) -> io::Result<Extent> {
        self.lines.extent()
    }

    /// Stores the canonical document of the cluster of `decision`.
    pub(super) fn add(&mut self, decision: &Decision, referent: &Referent) -> io::Result<()> {
        let mut line = serde_json::to_vec(&Line { founded: decision.founded, referent })?;
        line.push(b'\n');
        self.places.insert(decision.founded, self.lines.push(&line)?);
        Ok(())
    }

    /// Returns the canonical document of the cluster of `decision`. For a cluster of an earlier run, only the
    /// url is known.
    pub(super) fn find(&self, decision: &Decision) -> io::Result<Option<Referent>> {
        let Some(place) = self.places.get(&decision.founded) else {
            let url = decision.canonical_url.clone();
            return Ok(url.map(|url| Referent { url, ..Referent::default() }));
        };
        Ok(Some(serde_json::from_slice::<Line<Referent>>(&self.lines.read(*place)?)?.referent))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use leitong_cluster::verdict::Kind;

    fn decision(founded: u64) -> Decision {
        Decision {
            input: 0,
            number: founded,
            kind: Kind::Unique,
            page_id: founded.to_string(),
            url: format!("http://host/{founded}"),
            cluster_id: Some(founded.to_string()),
            founded,
            canonical_page_id: Some(founded.to_string()),
            canonical_url: Some("http://founder/".to_owned()),
            text_chars: 1,
            fetched_at_ms: None,
            published_at_ms: None,
            text: None,
            written: None,
            check: None,
            benchmark: None,
        }
    }

    #[test]
    fn data_stored_before_a_checkpoint_is_found_after_it() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("referents");
        let referent = |number: u64| Referent { url: format!("http://host/{number}"), ..Referent::default() };
        let mut referents = Referents::at(&path, None).expect("a file");
        (0..3).for_each(|number| referents.add(&decision(number), &referent(number)).expect("written"));
        let extent = referents.extent().expect("on disk");
        referents.add(&decision(3), &referent(3)).expect("written");
        drop(referents);
        let referents = Referents::at(&path, Some(extent)).expect("the file");
        for number in 0..3 {
            assert_eq!(referents.find(&decision(number)).expect("read"), Some(referent(number)));
        }
        let founder = referents.find(&decision(3)).expect("read").expect("its url is known");
        assert_eq!(founder.url, "http://founder/", "later data is removed");
    }
}
