//! Recognises unsupported formats by their first bytes. One message that names the format is more helpful
//! than a dead letter for each line.

use super::page_file::begins_page;

/// The first bytes of unsupported formats, and their names with advice.
const BEGINNINGS: [(&[u8], &str); 17] = [
    (
        b"PAR1",
        "Parquet from a pipe or compressed as a whole, which cannot be read because its index is at the end (name the plain file)",
    ),
    (b"PARE", "encrypted Parquet"),
    (b"ARROW1", "Arrow"),
    (b"Obj\x01", "Avro"),
    (b"\x89HDF\r\n", "HDF5"),
    (b"PK\x03\x04", "a ZIP archive (unpack it first)"),
    (b"PK\x05\x06", "an empty ZIP archive"),
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
];

/// The position of the marker in a tar archive.
const TAR: std::ops::Range<usize> = 257..262;

/// Returns the name of the unsupported format that begins like `start`, if there is one.
pub(super) fn other_format(start: &[u8]) -> Option<&'static str> {
    let begins = |beginning: &[u8]| {
        let is_word = beginning.iter().all(u8::is_ascii_uppercase);
        let continues = || start.get(beginning.len()).is_some_and(u8::is_ascii_graphic);
        // The names of columns may begin with the same letters.
        start.starts_with(beginning) && !(is_word && continues())
    };
    if let Some((_, name)) = BEGINNINGS.iter().find(|(beginning, _)| begins(beginning)) {
        return Some(name);
    }
    if start.get(TAR) == Some(b"ustar") {
        return Some("a tar archive (unpack it first, and name the folder)");
    }
    let text = start.strip_prefix(b"\xef\xbb\xbf").unwrap_or(start).trim_ascii_start();
    if text.starts_with(b"filedesc://") {
        return Some(
            "ARC, the format before WARC (`warcio recompress FILE.arc.gz FILE.warc.gz` converts it)",
        );
    }
    // A line may be an array, as in messages of Frontera, but not an array of objects.
    if text.strip_prefix(b"[").is_some_and(|rest| matches!(rest.trim_ascii_start().first(), Some(b'{'))) {
        return Some("one JSON array (`jq -c '.[]' FILE` writes its elements as lines)");
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

#[cfg(test)]
mod tests {
    use super::*;

    /// Each line of such files became a dead letter with advice about JSON.
    #[test]
    fn other_formats_are_named() {
        let tar = [&b"pages/a.html"[..], &[0; 245], b"ustar\0"].concat();
        for (start, name) in [
            (&b"filedesc://x.arc 0.0.0.0 20260301000000 text/plain 76\n"[..], "ARC"),
            (b"[{\"url\": 1}]", "JSON array"),
            (b" [\n  {\n", "JSON array"),
            (b"{\r\n  \"url\": 1\r\n}\r\n", "several lines"),
            (b"[\n1]", "several lines"),
            (b"7z\xbc\xaf\x27\x1c\0", "7z"),
            (b"\xfd7zXZ\0\0", "xz"),
            (b"<?xml version=\"1.0\"?><rss>", "XML"),
            (&tar, "tar"),
        ] {
            assert!(other_format(start).is_some_and(|found| found.contains(name)), "{name}");
        }
        for start in [
            &b"{\"url\": \"http://a/\"}\n"[..],
            b"[\"page_crawled\", {\"r\": 1}]\n",
            b"{",
            b"{\n{\"url\": \"http://a/\"}\n",
            b"",
            b"url,text\n",
            b"PARENT,url,text\n",
            b"WARC/1.0\r\n",
            b"<?xml version=\"1.0\"?><!DOCTYPE html>",
        ] {
            assert_eq!(other_format(start), None, "{}", String::from_utf8_lossy(start));
        }
    }
}
