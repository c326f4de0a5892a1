//! Compares the addresses of two pages: whether they are the same page, may be of one series, or are parts of
//! one paged article. An address takes eight bytes per page.

use crate::secret::TextHash;
use leitong_text::page::Address;

/// Bytes of an address: 16 bits each of the hashes of site and name, and 32 of the paged article's,
/// big-endian. Unknown parts are zero.
pub(crate) const ADDRESS_BYTES: usize = 8;

/// How two addresses relate.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Addresses {
    /// The same name on one site: one page, moved or fetched again.
    OnePage,
    /// The same name on different sites: one page, mirrored.
    OneName,
    /// Different names on one site: they may be of one series.
    OneSite,
    /// Different sites and different names.
    Apart,
    /// One of the addresses is not known.
    Unknown,
}

impl Addresses {
    /// Compares two addresses. With 16 bits, one pair of different sites or names in 65,536 seems to be the
    /// same.
    #[inline]
    pub(super) fn compare(a: [u8; ADDRESS_BYTES], b: [u8; ADDRESS_BYTES]) -> Self {
        let same = |at: usize| a[at..at + 2] == b[at..at + 2];
        let known = |at: usize| [a, b].iter().all(|address| address[at..at + 2] != [0, 0]);
        match (known(0) && known(2), same(0), same(2)) {
            (false, _, _) => Self::Unknown,
            (true, true, true) => Self::OnePage,
            (true, false, true) => Self::OneName,
            (true, true, false) => Self::OneSite,
            (true, false, false) => Self::Apart,
        }
    }

    /// Returns the wording used in evidence.
    pub(super) fn as_str(self) -> &'static str {
        match self {
            Self::OnePage => "one page",
            Self::OneName => "one name",
            Self::OneSite => "one site",
            Self::Apart => "different sites",
            Self::Unknown => "not known",
        }
    }
}

/// Returns the paged article that a page is a part of, or `None`.
pub(super) fn article(address: [u8; ADDRESS_BYTES]) -> Option<u32> {
    let article = u32::from_be_bytes(*address.last_chunk().expect("8 bytes"));
    (article != 0).then_some(article)
}

/// Returns true if these are different pages of one article. Pages with the same name are one page, fetched
/// twice.
pub(super) fn are_parts(a: [u8; ADDRESS_BYTES], b: [u8; ADDRESS_BYTES]) -> bool {
    article(a).is_some() && article(a) == article(b) && Addresses::compare(a, b) == Addresses::OneSite
}

/// Encodes an address in eight bytes.
pub(super) fn encoded(address: &Address, hash: &TextHash) -> [u8; ADDRESS_BYTES] {
    // 0 means not known.
    let bits = |text: &str, count: u32| match text {
        "" => 0,
        _ => (hash.hash(text.as_bytes()) >> (64 - count)).max(1),
    };
    let [site, name] = [&address.site, &address.name].map(|text| bits(text, 16));
    (site << 48 | name << 32 | bits(&address.article, 32)).to_be_bytes()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pages_of_one_article_are_parts_of_it() {
        let encode = |url: &str, article: &str| {
            encoded(&Address { article: article.into(), ..Address::from_url(url) }, &TextHash::default())
        };
        let first = encode("https://a.example/tea.html", "tea");
        let second = encode("https://a.example/tea_2.html", "tea");
        assert!(are_parts(first, second) && are_parts(second, first));
        assert!(!are_parts(second, second), "the same page once more");
        assert!(!are_parts(first, encode("https://a.example/coffee_2.html", "coffee")));
        let [none, other] =
            ["tea.html", "tea_2.html"].map(|page| encode(&format!("https://a.example/{page}"), ""));
        assert!(!are_parts(none, other) && !are_parts(none, second));
        assert_eq!((article(none), article(first) == article(second)), (None, true));
    }

    #[test]
    fn addresses_identify_pages_that_may_be_of_one_series() {
        let compare = |a: &str, b: &str| {
            let encode = |url| encoded(&Address::from_url(url), &TextHash::default());
            let (a, b) = (encode(a), encode(b));
            assert_eq!(Addresses::compare(a, b), Addresses::compare(b, a));
            Addresses::compare(a, b)
        };
        for (a, b, expected) in [
            ("https://a.example/weather/0411", "https://a.example/weather/0412", Addresses::OneSite),
            ("https://bj.a.example/weather", "https://sh.a.example/weather", Addresses::OneSite),
            ("https://a.example/weather/0411", "https://b.example/weather/0411", Addresses::Apart),
            ("https://a.example/weather/0411", "http://a.example/weather/0411#now", Addresses::OnePage),
            (
                "https://a.example/1/the-river-cup-final",
                "https://www.a.example/the-river-cup-final",
                Addresses::OnePage,
            ),
            (
                "https://a.example/1/the-river-cup-final",
                "https://b.example/the-river-cup-final",
                Addresses::OneName,
            ),
            ("", "https://b.example/the-river-cup-final", Addresses::Unknown),
            ("", "", Addresses::Unknown),
        ] {
            assert_eq!(compare(a, b), expected, "{a} {b}");
        }
    }
}
