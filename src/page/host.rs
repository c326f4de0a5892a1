//! The host of a url, where it names a corpus.

/// The host in lower case, without user, port and brackets; empty for a url without one.
#[must_use]
pub fn host(url: &str) -> String {
    let Some((_, rest)) = url.split_once("://") else { return String::new() };
    let authority = rest.split(['/', '?', '#', '\\']).next().unwrap_or_default();
    let host = authority.rsplit_once('@').map_or(authority, |(_, host)| host);
    let host = match host.strip_prefix('[') {
        Some(ipv6) => ipv6.split(']').next().unwrap_or_default(),
        None => host.split(':').next().unwrap_or_default(),
    };
    host.trim_end_matches('.').to_lowercase()
}

#[cfg(test)]
mod tests {
    use super::host;

    #[test]
    fn finds_the_host() {
        for (url, expected) in [
            ("https://News.Example.com/a?b#c", "news.example.com"),
            ("http://user:pass@example.com:8080", "example.com"),
            ("http://[2001:DB8::1]:80/", "2001:db8::1"),
            ("http://例子.测试./页", "例子.测试"),
            ("http://example.com?x", "example.com"),
            ("urn:isbn:1", ""),
            ("", ""),
        ] {
            assert_eq!(host(url), expected, "{url}");
        }
    }
}
