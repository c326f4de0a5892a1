//! Derives an id for pages that come without one.

use xxhash_rust::xxh3::xxh3_128;

/// Returns the XXH3-128 (seed 0) of the url's bytes as given, as 32 hex digits. This never changes, because
/// users join data on it.
///
/// `printf %s URL | xxhsum -H2` prints the same id.
#[must_use]
pub(crate) fn from_url(url: &str) -> String {
    format!("{:032x}", xxh3_128(url.as_bytes()))
}

#[cfg(test)]
mod tests {
    #[test]
    fn ids_never_change() {
        assert_eq!(super::from_url("https://example.com/"), "503c1beec51db0209ff1930daa8e5b98");
        assert_eq!(super::from_url("https://例子.测试/页?a=1"), "1f15933a8a5bf6863fd381132f043407");
    }
}
