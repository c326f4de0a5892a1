//! Replaces duplicates in WARC files by `revisit` records (ISO 28500:2017, WARC 1.1, section 6.7). Such a
//! record documents the visit, with its time and HTTP headers, but does not contain the payload.
//!
//! In: the response record of a dropped document, and the data about the canonical document of its cluster, which
//! [`Referents`] stores. Out: the record that is written instead.
//!
//! * If the payloads are identical, byte by byte, the record has the standard profile for that, and programs
//!   that replay the archive show the payload of the other record.
//! * Near-duplicates need another profile. The standard allows further profiles, and tells readers to ignore
//!   records with an unknown profile. Ours ([`DUPLICATE_PROFILE`]) means: the main text is the same as, or
//!   similar to, that of the other document, and the payload was removed.
//!
//! Memory: about 40 bytes per cluster. The file of [`Referents`] has about 300 bytes per cluster, and is deleted when the
//! process ends. With `--checkpoint` it has a name, and a continued run can use it.

use std::borrow::Cow;
use std::collections::HashMap;
use std::fs::File;
use std::io::{self, BufRead, BufReader};
use std::path::Path;

use data_encoding::BASE32;
use serde::{Deserialize, Serialize};
use sha1::Sha1;
use sha2::{Digest, Sha256};

use super::Decision;
use super::verify::texts::{TextFile, TextPlace, length};
use crate::sink::Extent;
use leitong_text::page::HttpHead;

/// The profile of records whose payload equals that of the record they refer to.
const IDENTICAL_PROFILE: &str = "http://netpreserve.org/warc/1.1/revisit/identical-payload-digest";
/// The profile of records whose main text is the same as, or similar to, that of the document they refer to.
const DUPLICATE_PROFILE: &str = "urn:leitong:warc:revisit:duplicate";

/// Fields that are not copied from the original record, because a revisit record has its own values, or
/// because they describe the removed payload.
const REPLACED: [&str; 9] = [
    "warc-type",
    "content-length",
    "warc-block-digest",
    "warc-payload-digest",
    "warc-truncated",
    "warc-profile",
    "warc-refers-to",
    "warc-refers-to-target-uri",
    "warc-refers-to-date",
];

/// The response record of an HTTP exchange, split into its parts.
pub(super) struct Response<'a> {
    /// The fields of the record's header, without the version. Continuation lines are joined.
    fields: Vec<(&'a str, Cow<'a, str>)>,
    /// The HTTP header with the blank line that ends it.
    http_head: &'a [u8],
    /// The payload of the response.
    payload: &'a [u8],
}

impl<'a> Response<'a> {
    /// Parses the complete record `bytes`. Returns `None` if it is not a response, or only a segment of one.
    pub(super) fn parse(bytes: &'a [u8]) -> Option<Self> {
        let (head, block) = split_at_blank_line(bytes)?;
        let head = std::str::from_utf8(head).ok()?;
        let mut lines = head.lines();
        lines.next().filter(|version| version.starts_with("WARC/"))?;
        let mut fields: Vec<(&str, Cow<str>)> = Vec::new();
        for line in lines {
            match line.split_once(':') {
                Some((name, value)) if !line.starts_with([' ', '\t']) => {
                    fields.push((name.trim(), value.trim().into()));
                }
                _ => {
                    let (_, value) = fields.last_mut()?;
                    *value = format!("{value} {}", line.trim()).into();
                }
            }
        }
        let (http_head, payload) = block.split_at(HttpHead::parse_final(block).map_or(0, |head| head.bytes));
        let response = Self { fields, http_head, payload };
        let is_response =
            response.field("WARC-Type").is_some_and(|kind| kind.eq_ignore_ascii_case("response"));
        (is_response && response.field("WARC-Segment-Number").is_none()).then_some(response)
    }

    /// Returns the value of the first field with this name.
    fn field(&self, name: &str) -> Option<&str> {
        let found = self.fields.iter().find(|(field, _)| field.eq_ignore_ascii_case(name));
        found.map(|(_, value)| &**value).filter(|value| !value.is_empty())
    }

    /// Returns the data that revisit records need to refer to this record.
    pub(super) fn referent(&self, url: &str) -> Referent {
        // Old writers put the uri in angle brackets.
        let target = self.field("WARC-Target-URI").map(|uri| uri.trim_matches(['<', '>']));
        Referent {
            record_id: self.field("WARC-Record-ID").map(str::to_owned),
            url: target.unwrap_or(url).to_owned(),
            date: self.field("WARC-Date").map(str::to_owned),
            payload_digest: Some(self.payload_digest()),
            payload_sha256: Some(self.payload_sha256()),
        }
    }

    /// Returns the digest in the record's header, because indexes of the archive contain it. Without one,
    /// returns the SHA-1 in Base32, the usual form.
    fn payload_digest(&self) -> String {
        self.field("WARC-Payload-Digest").map_or_else(|| sha1(self.payload), str::to_owned)
    }

    /// Returns the SHA-256 by which payloads are compared. The digest in the header is not used for this: it
    /// may be false, and different payloads with the same SHA-1 can be constructed.
    fn payload_sha256(&self) -> String {
        BASE32.encode(&Sha256::digest(self.payload))
    }

    /// Creates the revisit record that refers to `referent`, without the line ends after it.
    pub(super) fn revisit(&self, referent: &Referent) -> Vec<u8> {
        let is_identical =
            referent.payload_sha256.as_ref().is_some_and(|sha256| *sha256 == self.payload_sha256());
        let profile = if is_identical { IDENTICAL_PROFILE } else { DUPLICATE_PROFILE };
        // Replay software finds the payload by the digest in the archive's index.
        let known = referent.payload_digest.clone().filter(|_| is_identical);
        let digest = known.unwrap_or_else(|| self.payload_digest());
        let block_digest = sha1(self.http_head);
        let length = self.http_head.len().to_string();
        let mut record = String::from("WARC/1.1\r\n");
        let mut add = |name: &str, value: &str| {
            record.extend([name, ": ", value, "\r\n"]);
        };
        add("WARC-Type", "revisit");
        let kept = self.fields.iter().filter(|(name, _)| {
            let name = name.to_ascii_lowercase();
            !REPLACED.contains(&name.as_str()) && !name.starts_with("leitong-")
        });
        kept.for_each(|(name, value)| add(name, value));
        add("WARC-Profile", profile);
        if let Some(id) = &referent.record_id {
            add("WARC-Refers-To", id);
        }
        add("WARC-Refers-To-Target-URI", &one_line(&referent.url));
        if let Some(date) = &referent.date {
            add("WARC-Refers-To-Date", date);
        }
        add("WARC-Payload-Digest", &digest);
        add("WARC-Block-Digest", &block_digest);
        add("WARC-Truncated", "length");
        add("Content-Length", &length);
        record.push_str("\r\n");
        let mut record = record.into_bytes();
        record.extend_from_slice(self.http_head);
        record
    }
}

/// Splits `bytes` at the first blank line.
fn split_at_blank_line(bytes: &[u8]) -> Option<(&[u8], &[u8])> {
    let ends = memchr::memchr_iter(b'\n', bytes).find_map(|end| match &bytes[end + 1..] {
        [b'\n', ..] => Some((end, end + 2)),
        [b'\r', b'\n', ..] => Some((end, end + 3)),
        _ => None,
    });
    ends.map(|(head, rest)| (&bytes[..head], &bytes[rest..]))
}

/// Computes a digest in the format of WARC files.
fn sha1(bytes: &[u8]) -> String {
    format!("sha1:{}", BASE32.encode(&Sha1::digest(bytes)))
}

/// Removes characters from `url` that would end its line.
fn one_line(url: &str) -> Cow<'_, str> {
    match url.contains(char::is_control) {
        true => url.replace(char::is_control, "").into(),
        false => url.into(),
    }
}

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

/// A line of the file, with the canonical document of a cluster.
#[derive(Debug, Serialize, Deserialize)]
struct StoredReferent<T> {
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
            let StoredReferent { founded, .. } =
                serde_json::from_slice::<StoredReferent<serde::de::IgnoredAny>>(&line)?;
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
        let mut line = serde_json::to_vec(&StoredReferent { founded: decision.founded, referent })?;
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
        Ok(Some(serde_json::from_slice::<StoredReferent<Referent>>(&self.lines.read(*place)?)?.referent))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn record(head: &str, block: &str) -> Vec<u8> {
        format!("{head}Content-Length: {}\r\n\r\n{block}", block.len()).into_bytes()
    }

    const HEAD: &str = "WARC/1.0\r\nWARC-Type: response\r\nWARC-Record-ID: <urn:uuid:1>\r\nWARC-Target-URI: \
                        <http://a/>\r\nWARC-Date: 2026-01-01T00:00:00Z\r\nX-Long: one\r\n two\r\n\
                        WARC-Payload-Digest: sha1:CLAIMED\r\nLeitong-Kind: UNIQUE\r\n";

    #[test]
    fn headers_are_kept_and_the_payload_is_removed() {
        let http = "HTTP/1.1 200 OK\r\nX: y\r\n\r\n";
        let bytes = record(HEAD, &format!("{http}<p>one\n\ntwo"));
        let response = Response::parse(&bytes).expect("a response");
        let referent = response.referent("http://other/");
        assert_eq!(
            (referent.url.as_str(), referent.record_id.as_deref()),
            ("http://a/", Some("<urn:uuid:1>"))
        );
        let text = String::from_utf8(response.revisit(&referent)).expect("UTF-8");
        let (head, block) = text.split_once("\r\n\r\n").expect("a head");
        assert_eq!(format!("{block}"), http);
        let expected = [
            "WARC/1.1",
            "WARC-Type: revisit",
            "WARC-Record-ID: <urn:uuid:1>",
            "WARC-Target-URI: <http://a/>",
            "WARC-Date: 2026-01-01T00:00:00Z",
            "X-Long: one two",
            "WARC-Profile: http://netpreserve.org/warc/1.1/revisit/identical-payload-digest",
            "WARC-Refers-To: <urn:uuid:1>",
            "WARC-Refers-To-Target-URI: http://a/",
            "WARC-Refers-To-Date: 2026-01-01T00:00:00Z",
            "WARC-Payload-Digest: sha1:CLAIMED",
        ];
        assert!(head.starts_with(&expected.join("\r\n")), "{head}");
        assert!(
            head.ends_with(&format!("WARC-Truncated: length\r\nContent-Length: {}", http.len())),
            "{head}"
        );
    }

    #[test]
    fn payloads_are_compared_by_their_bytes() {
        let [one, other] =
            ["<p>one", "<p>two"].map(|payload| record(HEAD, &format!("HTTP/1.1 200 OK\n\n{payload}")));
        let [one, other] = [&one, &other].map(|bytes| Response::parse(bytes).expect("a response"));
        let text = String::from_utf8(other.revisit(&one.referent("http://a/"))).expect("UTF-8");
        assert!(
            text.contains(&format!("WARC-Profile: {DUPLICATE_PROFILE}\r\n")),
            "both claim the same digest: {text}"
        );
        assert!(text.ends_with("\r\n\r\nHTTP/1.1 200 OK\n\n"), "{text}");
    }

    #[test]
    fn only_complete_responses_are_parsed() {
        for head in [
            "WARC/1.0\r\nWARC-Type: conversion\r\n",
            "WARC/1.0\r\nWARC-Type: response\r\nWARC-Segment-Number: 1\r\n",
        ] {
            assert!(Response::parse(&record(head, "text")).is_none(), "{head}");
        }
        assert!(Response::parse(b"WARC/1.0\r\nWARC-Type: response").is_none());
    }

    #[test]
    fn digests_agree_with_other_programs() {
        // printf abc | sha1sum | xxd -r -p | base32
        assert_eq!(sha1(b"abc"), "sha1:VGMT4NSHA2AWVOR6EVYXQUGCNSONBWE5");
    }

    #[test]
    fn data_stored_before_a_checkpoint_is_found_after_it() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("referents");
        let referent = |number: u64| Referent { url: format!("http://host/{number}"), ..Referent::default() };
        let mut referents = Referents::at(&path, None).expect("a file");
        (0..3).for_each(|number| {
            referents.add(&Decision::of_cluster(number, number), &referent(number)).expect("written");
        });
        let extent = referents.extent().expect("on disk");
        referents.add(&Decision::of_cluster(3, 3), &referent(3)).expect("written");
        drop(referents);
        let referents = Referents::at(&path, Some(extent)).expect("the file");
        for number in 0..3 {
            assert_eq!(
                referents.find(&Decision::of_cluster(number, number)).expect("read"),
                Some(referent(number))
            );
        }
        let founder = referents.find(&Decision::of_cluster(3, 3)).expect("read").expect("its url is known");
        assert_eq!(founder.url, "http://founder/", "later data is removed");
    }
}
