//! The host of a url, for naming a corpus.

use url::Url;

/// Returns the host as the URL Standard defines it, in lower-case ASCII (`例子.测试` is
/// `xn--fsqu00a.xn--0zwm56d`), without user, port, brackets and trailing dot. Empty if the url has no valid
/// host.
#[must_use]
pub fn host(url: &str) -> String {
    let Ok(url) = Url::parse(url) else { return String::new() };
    let host = url.host_str().unwrap_or_default();
    host.trim_start_matches('[').trim_end_matches([']', '.']).to_lowercase()
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
            ("http://例子.测试./页", "xn--fsqu00a.xn--0zwm56d"),
            ("http://xn--fsqu00a.xn--0zwm56d/", "xn--fsqu00a.xn--0zwm56d"),
            ("http://BÜCHER.example/", "xn--bcher-kva.example"),
            ("http://example.com?x", "example.com"),
            ("http://under_score.example/", "under_score.example"),
            ("custom://Host.Example/", "host.example"),
            ("urn:isbn:1", ""),
            ("http://two words/", ""),
            ("", ""),
        ] {
            assert_eq!(host(url), expected, "{url}");
        }
    }
}
