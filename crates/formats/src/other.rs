//! Recognises unsupported formats by their first bytes. One message that names the format is more helpful
//! than a dead letter for each line.

use std::io;
use std::net::IpAddr;
use std::ops::Range;
use std::path::Path;

use serde::de::IgnoredAny;

use super::csv;
use super::form::Form;
use super::format::{Format, Head, Opened, WantedRecords};
use super::html::begins_page;
use super::jsonl::Jsonl;
use crate::source::record::{FramingError, Source};
use crate::source::rules::InputRules;

/// Files in an unsupported format. Each is reported once, with the name of its format.
pub(crate) struct Other;

impl Format for Other {
    fn name(&self) -> &'static str {
        "a file in another format"
    }

    fn recognise(&self, head: &Head<'_>) -> bool {
        other_format(head.start).is_some() || (begins_page(head.start) && !head.is_file)
    }

    fn read(
        &self,
        opened: Opened,
        rules: &InputRules,
        wanted: &WantedRecords<'_>,
    ) -> io::Result<Box<dyn Source>> {
        let name = other_format(opened.reader.buffer()).unwrap_or(PAGE_FROM_A_PIPE);
        let broken = opened.broken.or(Some(FramingError::OtherFormat(name)));
        Jsonl.read(Opened { broken, ..opened }, rules, wanted)
    }

    fn form(&self, _: &Path, opened: Opened, _: &InputRules) -> io::Result<Form> {
        Ok(if csv::delimiter(&opened.name).is_some() { Form::Unreadable } else { Form::Lines })
    }
}

/// The first bytes of unsupported formats, and their names with advice.
const BEGINNINGS: [(&[u8], &str); 37] = [
    (
        b"PAR1",
        "Parquet from a pipe or compressed as a whole, which cannot be read because its index is at the end (name the plain file)",
    ),
    (b"PARE", "encrypted Parquet"),
    (b"FEA1", "the first version of Feather (write it again with a newer library)"),
    (b"ORC\n", "ORC (convert it to Parquet)"),
    (b"ORC\x0b", "ORC (convert it to Parquet)"),
    (b"\x93NUMPY", "a NumPy array"),
    (b"\x80\x02", PICKLE),
    (b"\x80\x03", PICKLE),
    (b"\x80\x04", PICKLE),
    (b"\x80\x05", PICKLE),
    (b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", "an old Office document, such as .xls (save its table as CSV)"),
    (b"\x1f\x8b\x08", TWICE),
    (b"\x28\xb5\x2f\xfd", TWICE),
    (b"\x04\x22\x4d\x18", TWICE),
    (b"]\0\0", "compressed with lzma (`xz --format=lzma -dc FILE | leitong dedup -` reads it)"),
    (
        b"\x1e",
        "a JSON text sequence (`tr -d '\\036' <FILE | leitong dedup -` reads it if each record is one line)",
    ),
    (b"Obj\x01", "Avro"),
    (b"\x89HDF\r\n", "HDF5"),
    (b"PK\x03\x04", "a ZIP archive (unpack it first)"),
    (b"PK\x05\x06", "an empty ZIP archive"),
    (b"070701", CPIO),
    (b"070702", CPIO),
    (b"070707", CPIO),
    (b"!<arch>\n", "an ar archive (unpack it first, and name the folder)"),
    (b"MSCF\0\0\0\0", "a cabinet archive (unpack it first, and name the folder)"),
    (b"7z\xbc\xaf\x27\x1c", "a 7z archive (unpack it first)"),
    (b"Rar!\x1a\x07", "a RAR archive (unpack it first)"),
    (b"BZh", "compressed with bzip2 (`bzip2 -dc FILE | leitong dedup -` reads it)"),
    (b"\xfd7zXZ\0", "compressed with xz (`xz -dc FILE | leitong dedup -` reads it)"),
    (b"LZIP", "compressed with lzip (`lzip -dc FILE | leitong dedup -` reads it)"),
    (b"\x1f\x9d", "compressed with compress (`gzip -dc FILE | leitong dedup -` reads it)"),
    (b"\xff\x06\0\0sNaPpY", "compressed with Snappy (unpack it first)"),
    (b"\x02\x21\x4c\x18", "compressed with the legacy form of lz4 (compress it without `lz4 -l`)"),
    (b"%PDF-", "a PDF"),
    (b"SQLite format 3", "an SQLite database"),
    (b"bplist00", "a web archive of Safari or another binary property list (save the page as HTML)"),
    (b"%YAML", "YAML (write it as JSON lines)"),
];

/// Number of bytes in which the headers of a mail message are looked for.
const HEAD_BYTES: usize = 4096;

/// Number of bytes in which a zero byte shows that this is not text.
const BINARY_LOOKED_AT: usize = 256;

/// Number of bytes after a JSON object in which another one must begin.
const SEPARATOR_BYTES: usize = 16;

/// Number of words of an ARC record's header that are looked at. Version 2 has ten.
const ARC_WORDS_MAX: usize = 16;

const CPIO: &str = "a cpio archive (unpack it first, and name the folder)";
const PAGE_FROM_A_PIPE: &str = "an HTML page from a pipe (use `leitong extract`)";
const PICKLE: &str = "a Python pickle";
const TWICE: &str = "compressed twice (decompress it once)";

/// Size of the header of a file in a tar archive, in bytes.
const TAR_HEADER_BYTES: usize = 512;
/// Position of the marker in the header of a tar archive's file.
const TAR_MARKER: Range<usize> = 257..262;
/// Position of the checksum in the header of a tar archive's file.
const TAR_CHECKSUM: Range<usize> = 148..156;

/// Returns the name of the unsupported format that begins like `start`, if there is one.
pub(crate) fn other_format(start: &[u8]) -> Option<&'static str> {
    let begins = |beginning: &[u8]| {
        let is_word = beginning.iter().all(u8::is_ascii_uppercase);
        // ORC begins with a word as well, but bytes that are not text follow.
        if beginning.starts_with(b"ORC") {
            let head = &start[..start.len().min(BINARY_LOOKED_AT)];
            return start.starts_with(beginning) && memchr::memchr(0, head).is_some();
        }
        let continues = || start.get(beginning.len()).is_some_and(u8::is_ascii_graphic);
        // The names of columns may begin with the same letters.
        start.starts_with(beginning) && !(is_word && continues())
    };
    if let Some((_, name)) = BEGINNINGS.iter().find(|(beginning, _)| begins(beginning)) {
        return Some(name);
    }
    if is_tar(start) {
        return Some("a tar archive (unpack it first, and name the folder)");
    }
    if is_tf_record(start) {
        return Some("TFRecord (write its examples as JSON lines)");
    }
    if is_zlib(start) {
        return Some("compressed with zlib, without a header of gzip (decompress it first)");
    }
    if is_utf16_json(start) {
        return Some(
            "JSON in UTF-16, as PowerShell writes it (`iconv -f UTF-16 -t UTF-8 FILE | leitong dedup -` reads it)",
        );
    }
    let text = start.strip_prefix(b"\xef\xbb\xbf").unwrap_or(start).trim_ascii_start();
    if is_index(text) || start.starts_with(b" CDX ") {
        return Some("an index of WARC files (give --warc-base DIR to read the records that it names)");
    }
    if is_arc(text) {
        return Some(
            "ARC, the format before WARC (`warcio recompress FILE.arc.gz FILE.warc.gz` converts it)",
        );
    }
    if let Some(name) = mail(text) {
        return Some(name);
    }
    // A line may be an array, but not an array of objects.
    if text.strip_prefix(b"[").is_some_and(|rest| matches!(rest.trim_ascii_start().first(), Some(b'{'))) {
        return Some("one JSON array (`jq -c '.[]' FILE` writes its elements as lines)");
    }
    if is_objects_in_one_line(text) {
        return Some(
            "JSON objects in one line, such as lines that end in carriage returns (`jq -c . FILE` writes one per line)",
        );
    }
    let (first_line, rest) = text.split_at(memchr::memchr(b'\n', text).unwrap_or(text.len()));
    // If the next line is a complete object, only this line is broken.
    let continues = match first_line.trim_ascii_end() {
        b"{" => matches!(rest.trim_ascii_start().first(), Some(b'"' | b'}')),
        b"[" => !rest.is_empty(),
        _ => false,
    };
    if continues {
        return Some(
            "JSON over several lines (`jq -c . FILE` writes one object a line; of an array, `jq -c '.[]' FILE`)",
        );
    }
    (text.starts_with(b"<?xml") && !begins_page(start)).then_some("XML")
}

/// Returns true if the first line is the header of an ARC record: an address, the address of its server, a time, a media
/// type and a length, with more words before the length in version 2. Archives that were cut into parts begin with any
/// record.
fn is_arc(text: &[u8]) -> bool {
    let line = &text[..memchr::memchr(b'\n', text).unwrap_or(text.len())];
    let words: Vec<_> = line.trim_ascii_end().split(|byte| *byte == b' ').take(ARC_WORDS_MAX).collect();
    let is_number = |word: &[u8]| !word.is_empty() && word.iter().all(u8::is_ascii_digit);
    let is_server = |word: &[u8]| std::str::from_utf8(word).is_ok_and(|word| word.parse::<IpAddr>().is_ok());
    let is_header = match words[..] {
        [address, server, time, _, .., length] => {
            let is_time = matches!(time.len(), 12..=14) && is_number(time);
            address.contains(&b':') && is_server(server) && is_time && is_number(length)
        }
        _ => false,
    };
    is_header || line.starts_with(b"filedesc://")
}

/// Returns true for a tar archive. The oldest form has no marker and is recognised by the checksum in its first
/// header.
fn is_tar(start: &[u8]) -> bool {
    if start.get(TAR_MARKER) == Some(b"ustar") {
        return true;
    }
    let Some(header) = start.get(..TAR_HEADER_BYTES) else { return false };
    let digits =
        header[TAR_CHECKSUM].split(|byte| matches!(byte, b' ' | 0)).find(|digits| !digits.is_empty());
    let digits = digits.and_then(|digits| std::str::from_utf8(digits).ok());
    let checksum = digits.and_then(|digits| u32::from_str_radix(digits, 8).ok());
    // In the sum, the bytes of the checksum itself count as spaces.
    let bytes = header.iter().enumerate();
    let sum = bytes.map(|(at, byte)| u32::from(if TAR_CHECKSUM.contains(&at) { b' ' } else { *byte })).sum();
    checksum == Some(sum)
}

/// Returns true if the bytes are several JSON objects without a line feed between them. If further lines follow, only
/// this one is broken.
fn is_objects_in_one_line(text: &[u8]) -> bool {
    let text = text.trim_ascii_end();
    if !text.starts_with(b"{") || memchr::memchr(b'\n', text).is_some() {
        return false;
    }
    let mut values = serde_json::Deserializer::from_slice(text).into_iter::<IgnoredAny>();
    let is_one = values.next().is_some_and(|value| value.is_ok());
    // The separator of records may also be a character that JSON does not count as white space.
    let rest = &text[values.byte_offset()..];
    let rest = String::from_utf8_lossy(&rest[..rest.len().min(SEPARATOR_BYTES)]);
    is_one && rest.trim_start_matches(|c: char| c.is_whitespace() || c.is_control()).starts_with('{')
}

/// Returns true if the bytes begin with a valid header of zlib, whose two bytes are a multiple of 31, and the data
/// after it is not text.
fn is_zlib(start: &[u8]) -> bool {
    let [0x78, flags @ (0x01 | 0x5e | 0x9c | 0xda), rest @ ..] = start else { return false };
    let head = &rest[..rest.len().min(BINARY_LOOKED_AT)];
    (0x7800 + u16::from(*flags)) % 31 == 0
        && std::str::from_utf8(head).is_err_and(|error| error.error_len().is_some())
}

/// Returns the name of the mail format if `text` begins with the header lines of a message, after a line `From …` in
/// a mailbox.
fn mail(text: &[u8]) -> Option<&'static str> {
    const HEADERS: [&[u8]; 8] = [
        b"from:",
        b"to:",
        b"subject:",
        b"date:",
        b"received:",
        b"return-path:",
        b"message-id:",
        b"mime-version:",
    ];
    let begins = |line: &[u8]| {
        HEADERS
            .iter()
            .any(|header| line.get(..header.len()).is_some_and(|start| start.eq_ignore_ascii_case(header)))
    };
    let mut lines = text.split(|byte| *byte == b'\n').take_while(|line| !line.trim_ascii().is_empty());
    let first = lines.next()?;
    let is_mailbox = first.starts_with(b"From ");
    let headers = usize::from(begins(first)) + lines.filter(|line| begins(line)).count();
    let is_web_page = || {
        let head = &text[..text.len().min(HEAD_BYTES)].to_ascii_lowercase();
        memchr::memmem::find(head, b"multipart/related").is_some()
    };
    match headers {
        1.. if is_mailbox => Some("a mailbox (write its messages as JSON lines)"),
        2.. if is_web_page() => Some("MHTML, a page saved with its parts (save the page as HTML)"),
        2.. => Some("a mail message (write its text as JSON lines)"),
        _ => None,
    }
}

/// Returns true if the bytes may begin a file of TFRecords: a length in 8 bytes, of which the upper four are zero,
/// and a checksum in 4 bytes.
fn is_tf_record(start: &[u8]) -> bool {
    let Some((length, _)) = start.split_first_chunk::<8>() else { return false };
    let length = u64::from_le_bytes(*length);
    (1..1 << 32).contains(&length) && start.len() > 12
}

/// Returns true for JSON whose characters have two bytes each, with a byte order mark or without.
fn is_utf16_json(start: &[u8]) -> bool {
    let text = start.strip_prefix(b"\xff\xfe").or_else(|| start.strip_prefix(b"\xfe\xff")).unwrap_or(start);
    matches!(text, [b'{' | b'[', 0, ..] | [0, b'{' | b'[', ..])
}

/// Returns true if the first line names a record of a WARC file, in the form of CDXJ or CDX.
fn is_index(text: &[u8]) -> bool {
    let line = &text[..memchr::memchr(b'\n', text).unwrap_or(text.len())];
    let mut words = line.split(u8::is_ascii_whitespace).filter(|word| !word.is_empty());
    let (Some(key), Some(time)) = (words.next(), words.next()) else { return false };
    let is_key = key.starts_with(b"!")
        || key == b"CDX"
        || key.contains(&b')')
        || key.contains(&b'/')
        || key.contains(&b'.');
    let is_time = time.len() >= 4 && time.iter().all(u8::is_ascii_digit);
    let has = |name: &[u8]| memchr::memmem::find(line, name).is_some();
    let is_cdxj = has(b"{") && has(b"\"filename\"") && has(b"\"offset\"");
    let is_cdx = matches!(words.count(), 7..=9) && time.len() == 14;
    (is_key && is_time && (is_cdxj || is_cdx))
        || line.starts_with(b"CDX N b ")
        || line.starts_with(b"!OpenWayback-CDXJ")
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A file in an unsupported format must not give a dead letter with advice about JSON for each of its lines.
    #[test]
    fn other_formats_are_named() {
        let tar = [&b"pages/a.html"[..], &[0; 245], b"ustar\0"].concat();
        // Pages in such an archive were read as lines, except the first and the last one of each file.
        let mut old_tar = [&b"pages/a.jsonl"[..], &[0; 499]].concat();
        old_tar[124..135].copy_from_slice(b"00000000100");
        let sum: u32 = old_tar.iter().map(|byte| u32::from(*byte)).sum();
        old_tar[148..156].copy_from_slice(format!("{:06o}\0 ", sum + 8 * 32).as_bytes());
        for (start, name) in [
            (&b"filedesc://x.arc 0.0.0.0 20260301000000 text/plain 76\n"[..], "ARC"),
            (b"\nhttp://a.example/ 1.2.3.4 20260301000000 text/html 654\nHTTP/1.1 200 OK\n", "ARC"),
            (b"dns:a.example 2001:db8::1 20260301000000 text/dns 66\n20260301\na.example.", "ARC"),
            (
                b"http://a.example/ 1.2.3.4 20260301000000 text/html 200 - - 1500 x.arc.gz 654\r\nHTTP/1.1 200 OK",
                "ARC",
            ),
            (b"[{\"url\": 1}]", "JSON array"),
            (b" [\n  {\n", "JSON array"),
            (b"{\r\n  \"url\": 1\r\n}\r\n", "several lines"),
            (b"[\n1]", "several lines"),
            (b"{\"url\": \"http://a/\"}\r{\"url\": \"http://b/\"}\r", "carriage returns"),
            (b"{\"url\": \"http://a/\"}{\"url\": \"http://b/\"}\n", "in one line"),
            ("{\"url\": \"http://a/\"}\u{2028}{\"url\": \"http://b/\"}".as_bytes(), "in one line"),
            (b"7z\xbc\xaf\x27\x1c\0", "7z"),
            (b"\xfd7zXZ\0\0", "xz"),
            (b"<?xml version=\"1.0\"?><rss>", "XML"),
            (&tar, "tar"),
            (&old_tar, "tar"),
            (b"07070100000", "cpio"),
            (b"!<arch>\na.jsonl/", "ar archive"),
            (b"MSCF\0\0\0\0\x99\0", "cabinet"),
            (b"ORC\n\x06\x12\x04\x08\x04P\0\n8", "ORC"),
            (b"\xc8\0\0\0\0\0\0\0abcd\n\x05", "TFRecord"),
            (b"]\0\0\x80\0\xff\xff", "lzma"),
            (b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1\0", ".xls"),
            (b"\x93NUMPY\x01\0", "NumPy"),
            (b"\x80\x04\x95\x10", "pickle"),
            (b"\xff\xfe{\0\"\0u\0", "UTF-16"),
            (b"\0{\0\"\0u", "UTF-16"),
            (b"\x28\xb5\x2f\xfd\x04", "compressed twice"),
            (b"\x1f\x8b\x08\0", "compressed twice"),
            (b"\x1e{\"url\": 1}\n", "JSON text sequence"),
            (b"bplist00\xd1\x01\x02", "web archive"),
            (b"x\x9c\xed\x96\xcdj\xc4 ", "zlib"),
            (
                b"From: <Saved by Blink>\r\nMIME-Version: 1.0\r\nContent-Type: multipart/related;\r\n boundary=x\r\n\r\n--x",
                "MHTML",
            ),
            (b"Received: from a\n by b\nSubject: x\nDate: y\n\ntext", "mail message"),
            (b"From a@b Thu Jan  1 00:00:00 2026\nSubject: x\n\ntext", "mailbox"),
            (
                b"org,e)/ 2026 {\"url\":\"http://e/\",\"filename\":\"a.warc.gz\",\"offset\":\"1\"}",
                "--warc-base",
            ),
            (b" CDX N b a m s k r M S V g\n", "--warc-base"),
            (b"!OpenWayback-CDXJ 1.0\n", "--warc-base"),
            (b"org,e)/ 20260101000000 http://e/ text/html 200 ABC - - 1 2 a.warc.gz\n", "--warc-base"),
        ] {
            assert!(other_format(start).is_some_and(|found| found.contains(name)), "{name}");
        }
        for start in [
            &b"{\"url\": \"http://a/\"}\n"[..],
            b"[\"page_crawled\", {\"r\": 1}]\n",
            b"{",
            b"{\n{\"url\": \"http://a/\"}\n",
            b"{\"url\":\r\"http://a/\"}\r",
            b"{\"url\": \"http://a/\"}{\"url\": \"http://b/\"}\n{\"url\": \"http://c/\"}\n",
            b"{\"url\": \"http://a/\"}\r\n{\"url\": \"http://b/\"}\r\n",
            b"",
            b"url,text\n",
            b"From: \nthe beginning\n",
            b"From here\nto there\n",
            b"x\x9c is not a text",
            b"PARENT,url,text\n",
            b"ORC\nelves and orcs\n",
            b"\xff\xfe<\0h\0t\0m\0l\0",
            b"see example.com/ 20260101000000 for more\n",
            b"WARC/1.0\r\n",
            b"<?xml version=\"1.0\"?><!DOCTYPE html>",
        ] {
            assert_eq!(other_format(start), None, "{}", String::from_utf8_lossy(start));
        }
    }
}
