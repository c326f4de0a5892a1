//! The extensions of compressed files.

/// File extensions of compressed files.
const COMPRESSED: [&str; 3] = [".gz", ".zst", ".lz4"];

/// Removes the extension of compressed files from a name.
pub(crate) fn without_compression(name: &str) -> &str {
    COMPRESSED.iter().find_map(|end| name.strip_suffix(end)).unwrap_or(name)
}
