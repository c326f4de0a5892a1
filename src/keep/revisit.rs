//! Duplicates in WARC files as `revisit` records (ISO 28500:2017, WARC 1.1, section 6.7): that the page was visited,
//! when, and with what HTTP headers stays on record, and its payload does not.
//!
//! In: the response record of a document that goes, and what is known of the document that stays in its place
//! ([`Referents`](super::referents)). Out: the record that is written in its place.
//!
//! * Where the payloads are the same, byte by byte, the record has the profile of the standard for that, so that
//!   whoever replays the archive shows the payload of the other record.
//! * Near-duplicates are something else. The standard lets others define profiles, and has readers leave records alone
//!   whose profile they do not know. Ours ([`DUPLICATE_PROFILE`]) says: the main text is that of the document referred to, or
//!   nearly, and the payload is gone.

use std::borrow::Cow;

use data_encoding::BASE32;
use sha1::Sha1;
use sha2::{Digest, Sha256};

use super::referents::Referent;
use crate::page::http_head::Head;

/// The payload is that of the record referred to.
pub const IDENTICAL_PROFILE: &str = "http://netpreserve.org/warc/1.1/revisit/identical-payload-digest";
/// The main text is that of the document referred to, or nearly.
pub const DUPLICATE_PROFILE: &str = "urn:leitong:warc:revisit:duplicate";

/// Fields that a revisit record has anew, or that say something of the payload that it has no more.
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

/// The response record of an HTTP exchange, taken apart.
pub(super) struct Response<'a> {
    /// The lines of its head, behind the one with the version; a line that goes on is part of the one before.
    fields: Vec<(&'a str, Cow<'a, str>)>,
    /// The HTTP head with the blank line behind it.
    http_head: &'a [u8],
    /// What follows.
    payload: &'a [u8],
}

impl<'a> Response<'a> {
    /// The record `bytes`, which is whole; none if it is something else, or a segment of a record.
    pub(super) fn of(bytes: &'a [u8]) -> Option<Self> {
        let (head, block) = parted(bytes)?;
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
        let (http_head, payload) = block.split_at(Head::parse_final(block).map_or(0, |head| head.bytes));
        let response = Self { fields, http_head, payload };
        let is_response =
            response.field("WARC-Type").is_some_and(|kind| kind.eq_ignore_ascii_case("response"));
        (is_response && response.field("WARC-Segment-Number").is_none()).then_some(response)
    }

    /// The value of the first field with this name.
    fn field(&self, name: &str) -> Option<&str> {
        let found = self.fields.iter().find(|(field, _)| field.eq_ignore_ascii_case(name));
        found.map(|(_, value)| &**value).filter(|value| !value.is_empty())
    }

    /// What others that refer to this record say of it.
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

    /// As the record says, since indexes of archives have it, else SHA-1 in Base32 as is the custom.
    fn payload_digest(&self) -> String {
        self.field("WARC-Payload-Digest").map_or_else(|| sha1(self.payload), str::to_owned)
    }

    /// By which payloads are compared: nothing that a record says of itself is believed for that, and two payloads
    /// with the same SHA-1 can be made.
    fn payload_sha256(&self) -> String {
        BASE32.encode(&Sha256::digest(self.payload))
    }

    /// The revisit record that refers to `referent`, without the line ends behind it.
    pub(super) fn revisit(&self, referent: &Referent) -> Vec<u8> {
        let is_identical =
            referent.payload_sha256.as_ref().is_some_and(|sha256| *sha256 == self.payload_sha256());
        let profile = if is_identical { IDENTICAL_PROFILE } else { DUPLICATE_PROFILE };
        // Replay finds the payload by the digest that the index of the archive has of it.
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

/// What stands before the first blank line, and what behind it.
fn parted(bytes: &[u8]) -> Option<(&[u8], &[u8])> {
    let ends = memchr::memchr_iter(b'\n', bytes).find_map(|end| match &bytes[end + 1..] {
        [b'\n', ..] => Some((end, end + 2)),
        [b'\r', b'\n', ..] => Some((end, end + 3)),
        _ => None,
    });
    ends.map(|(head, rest)| (&bytes[..head], &bytes[rest..]))
}

/// A digest as WARC files have it.
fn sha1(bytes: &[u8]) -> String {
    format!("sha1:{}", BASE32.encode(&Sha1::digest(bytes)))
}

/// `url` without what would end its line.
fn one_line(url: &str) -> Cow<'_, str> {
    match url.contains(char::is_control) {
        true => url.replace(char::is_control, "").into(),
        false => url.into(),
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
    fn headers_stay_and_the_payload_goes() {
        let http = "HTTP/1.1 200 OK\r\nX: y\r\n\r\n";
        let bytes = record(HEAD, &format!("{http}<p>one\n\ntwo"));
        let response = Response::of(&bytes).expect("a response");
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
    fn only_the_same_bytes_are_the_same_payload() {
        let [one, other] =
            ["<p>one", "<p>two"].map(|payload| record(HEAD, &format!("HTTP/1.1 200 OK\n\n{payload}")));
        let [one, other] = [&one, &other].map(|bytes| Response::of(bytes).expect("a response"));
        let text = String::from_utf8(other.revisit(&one.referent("http://a/"))).expect("UTF-8");
        assert!(
            text.contains(&format!("WARC-Profile: {DUPLICATE_PROFILE}\r\n")),
            "both claim one digest: {text}"
        );
        assert!(text.ends_with("\r\n\r\nHTTP/1.1 200 OK\n\n"), "{text}");
    }

    #[test]
    fn what_is_no_whole_response_is_none() {
        for head in [
            "WARC/1.0\r\nWARC-Type: conversion\r\n",
            "WARC/1.0\r\nWARC-Type: response\r\nWARC-Segment-Number: 1\r\n",
        ] {
            assert!(Response::of(&record(head, "text")).is_none(), "{head}");
        }
        assert!(Response::of(b"WARC/1.0\r\nWARC-Type: response").is_none());
    }

    #[test]
    fn digests_are_those_that_others_compute() {
        // printf abc | sha1sum | xxd -r -p | base32
        assert_eq!(sha1(b"abc"), "sha1:VGMT4NSHA2AWVOR6EVYXQUGCNSONBWE5");
    }
}
