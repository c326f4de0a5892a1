//! Inputs that are told by their first bytes and are not read: one message that names the format says more than a
//! dead letter for each line.

use super::page_file::begins_page;

/// How inputs of other formats begin, and what to do with them.
const BEGINNINGS: [(&[u8], &str); 17] = [
    (
        b"PAR1",
        "Parquet from a pipe or packed as a whole, which is not read since its index is at the end: name the file itself",
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

/// Where an archive of tar says that it is one.
const TAR: std::ops::Range<usize> = 257..262;

/// The format of an input that begins so, if it is one that is not read.
pub(super) fn other_format(start: &[u8]) -> Option<&'static str> {
    let begins = |beginning: &[u8]| {
        let is_word = beginning.iter().all(u8::is_ascii_uppercase);
        let goes_on = || start.get(beginning.len()).is_some_and(u8::is_ascii_graphic);
        // The names of columns may begin with the same letters.
        start.starts_with(beginning) && !(is_word && goes_on())
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
    // A line may be an array, as Frontera writes them, but not one of objects.
    if text.strip_prefix(b"[").is_some_and(|rest| matches!(rest.trim_ascii_start().first(), Some(b'{'))) {
        return Some("one JSON array (`jq -c '.[]' FILE` writes its elements as lines)");
    }
    let (first_line, rest) = text.split_at(memchr::memchr(b'\n', text).unwrap_or(text.len()));
    // A broken line costs only itself where the next one is an object of its own.
    let goes_on = match first_line.trim_ascii_end() {
        b"{" => matches!(rest.trim_ascii_start().first(), Some(b'"' | b'}')),
        b"[" => !rest.is_empty(),
        _ => false,
    };
    if goes_on {
        return Some(
            "JSON over several lines (`jq -c . FILE` writes one object a line; of an array, `jq -c '.[]' FILE`)",
        );
    }
    (text.starts_with(b"<?xml") && !begins_page(start)).then_some("XML")
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Such files became a dead letter for each line, with advice about JSON.
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
