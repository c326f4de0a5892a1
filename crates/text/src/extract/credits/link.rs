//! Resolves the canonical link to an absolute URL.
//!
//! In: the values of `rel=canonical` and `<base>`, the page's URL. Out: an http or https URL without its fragment;
//! `None` for anything else. Cost: parses two URLs.

use leitong_base::record::Credits;
use url::Url;

/// Returns the URL that `link` on the page at `url` leads to.
pub(super) fn absolute(link: &str, base: Option<&str>, url: &str) -> Option<String> {
    let link = link.trim();
    if link.is_empty() || link.len() > Credits::CANONICAL_LINK_BYTES_MAX {
        return None;
    }
    let page = Url::parse(url).ok();
    let base = match (base, &page) {
        (Some(base), Some(page)) => page.join(base.trim()).ok(),
        (Some(base), None) => Url::parse(base.trim()).ok(),
        (None, _) => None,
    };
    let mut found = match base.or(page) {
        Some(base) => base.join(link).ok()?,
        None => Url::parse(link).ok()?,
    };
    found.set_fragment(None);
    let has_host = found.host_str().is_some_and(|host| !host.is_empty());
    let is_page = matches!(found.scheme(), "http" | "https") && has_host && found.username().is_empty();
    (is_page && found.as_str().len() <= Credits::CANONICAL_LINK_BYTES_MAX).then(|| found.into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn links_are_resolved() {
        let page = "https://a.example/x/y?z=1";
        for (link, base, expected) in [
            ("https://b.example/1#top", None, Some("https://b.example/1")),
            ("/1", None, Some("https://a.example/1")),
            ("//b.example/1", None, Some("https://b.example/1")),
            ("2", None, Some("https://a.example/x/2")),
            ("2", Some("/base/"), Some("https://a.example/base/2")),
            ("2", Some("https://c.example/"), Some("https://c.example/2")),
            ("", None, None),
            ("javascript:alert(1)", None, None),
            ("mailto:a@b.example", None, None),
            ("https://user:secret@b.example/", None, None),
            ("http://[", None, None),
        ] {
            assert_eq!(absolute(link, base, page).as_deref(), expected, "{link}");
        }
        assert_eq!(absolute("/1", None, "no url"), None);
        assert_eq!(absolute(&format!("/{}", "é".repeat(1000)), None, page), None, "longer when encoded");
    }
}
