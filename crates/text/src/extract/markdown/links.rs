//! Links as destinations of Markdown: absolute by the page's base, and escaped.

use url::Url;

use crate::extract::main_text::MainText;
use crate::extract::parse::marks::MarkKind;
use crate::extract::parse::text;

/// Maximum length in bytes of a link that is written. Longer links are data rather than addresses.
const LINK_BYTES_MAX: usize = 4096;

/// The base url of relative links.
#[derive(Debug, Clone, Default)]
pub(in crate::extract) struct Base(Option<Url>);

impl Base {
    /// Returns the base of the page at `url`.
    pub(in crate::extract) fn of_page(page: &MainText<'_>, url: &str) -> Self {
        let marks = page.tree.marks.iter().filter(|mark| mark.kind == MarkKind::Base);
        let named =
            marks.filter_map(|mark| Some((mark.rank, text::of_segment(page.html, Some(mark.value))?)));
        let named = named.min_by_key(|(rank, _)| *rank).map(|(_, link)| link);
        Self::new(url, named.as_deref())
    }

    /// Creates the base of the page at `url` that names `base` in `<base href>`.
    pub(in crate::extract) fn new(url: &str, base: Option<&str>) -> Self {
        let is_web = |url: &Url| matches!(url.scheme(), "http" | "https");
        let page = Url::parse(url).ok().filter(is_web);
        let named = base.and_then(|base| match &page {
            Some(page) => page.join(base.trim()).ok(),
            None => Url::parse(base.trim()).ok(),
        });
        Self(named.filter(is_web).or(page))
    }

    /// Returns the absolute address of `link`.
    pub(in crate::extract) fn join(&self, link: &str) -> Option<Url> {
        self.0.as_ref().map_or_else(|| Url::parse(link), |base| base.join(link)).ok()
    }

    /// Returns the destination for `link`, without characters that have a meaning in Markdown. `None` for a link
    /// that leads to no address, such as a script. Without a base, a relative link stays relative.
    pub(super) fn destination(&self, link: &str) -> Option<String> {
        let link = link.trim();
        if link.is_empty() || link.len() > LINK_BYTES_MAX {
            return None;
        }
        match self.join(link) {
            Some(url) if matches!(url.scheme(), "http" | "https" | "mailto" | "ftp" | "tel") => {
                Some(escaped(url.as_str()))
            }
            Some(_) => None,
            None if self.0.is_none() && is_relative(link) => Some(escaped(link)),
            None => None,
        }
    }
}

/// Returns true for a link without scheme.
fn is_relative(link: &str) -> bool {
    link.find([':', '/', '?', '#']).is_none_or(|at| !link[at..].starts_with(':'))
}

/// Percent-encodes what could end the destination, or act as markup within it.
fn escaped(url: &str) -> String {
    let mut escaped = String::with_capacity(url.len());
    for (at, c) in url.char_indices() {
        match c {
            // Markdown decodes character references here, too.
            '&' if super::escape::ends_reference(&url[at + 1..]) => escaped.push_str("\\&"),
            c if c.is_whitespace() || c.is_control() || "<>()\\`|[]\"^{}".contains(c) => {
                c.encode_utf8(&mut [0; 4]).bytes().for_each(|byte| escaped.push_str(&format!("%{byte:02X}")));
            }
            c => escaped.push(c),
        }
    }
    escaped
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn links_are_absolute_by_the_base_of_the_page() {
        let page = "https://a.example/x/y?z=1";
        for (link, base, expected) in [
            ("2#top", None, Some("https://a.example/x/2#top")),
            ("#top", None, Some("https://a.example/x/y?z=1#top")),
            ("2", Some("/base/"), Some("https://a.example/base/2")),
            ("//b.example/a b", None, Some("https://b.example/a%20b")),
            ("/a(1)?b&copy;=2&c=3", None, Some("https://a.example/a%281%29?b\\&copy;=2&c=3")),
            ("/`|<>", None, Some("https://a.example/%60%7C%3C%3E")),
            ("mailto:a@b.example", None, Some("mailto:a@b.example")),
            ("javascript:alert(1)", None, None),
            ("data:text/html,x", None, None),
            ("", None, None),
            ("http://[", None, None),
        ] {
            assert_eq!(Base::new(page, base).destination(link).as_deref(), expected, "{link}");
        }
        let unknown = Base::new("pages/1.html", None);
        assert_eq!(unknown.destination("a/b.html").as_deref(), Some("a/b.html"));
        assert_eq!(unknown.destination("https://a.example/").as_deref(), Some("https://a.example/"));
        assert_eq!(unknown.destination("javascript:x").as_deref(), None);
    }
}
