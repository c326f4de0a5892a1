//! The extensions of compressed files, in any case.

/// File extensions of compressed files.
const COMPRESSED: [&str; 3] = [".gz", ".zst", ".lz4"];

/// Removes the extension of compressed files from a name.
pub(crate) fn without_compression(name: &str) -> &str {
    let is_end = |end: &&str| {
        let bytes = name.as_bytes();
        bytes.len() > end.len() && bytes[bytes.len() - end.len()..].eq_ignore_ascii_case(end.as_bytes())
    };
    COMPRESSED.iter().find(|end| is_end(end)).map_or(name, |end| &name[..name.len() - end.len()])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn extensions_may_have_capitals() {
        for (name, plain) in
            [("a.csv.gz", "a.csv"), ("A.CSV.GZ", "A.CSV"), ("é.Zst", "é"), ("a.gz.lz4", "a.gz")]
        {
            assert_eq!(without_compression(name), plain);
        }
        for name in ["", "gz", "a.bz2", "gz.é", "é"] {
            assert_eq!(without_compression(name), name);
        }
    }
}
