//! Compares the addresses of two pages: whether they are the same page, may be of one series, or are parts of one paged
//! article. An address takes twelve bytes per page, hashes of the site (16 bits), the name (48) and the paged article
//! (32).

use crate::secret::TextHash;
use leitong_text::page::Address;

/// Size of an address in bytes, big-endian. Unknown parts are zero.
pub(crate) const ADDRESS_BYTES: usize = 12;
/// Number of bytes of the hash of a site.
const SITE_BYTES: usize = 2;
/// Number of bytes of the hash of a name. On a site of 100,000 pages one pair in 50,000 such sites seems to be of one
/// name.
const NAME_BYTES: usize = 6;

/// The encoded address of a page.
pub(crate) type AddressBytes = [u8; ADDRESS_BYTES];

/// The relation of two addresses.
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
    /// Compares two addresses. One pair of different sites in 65,536 seems to be the same.
    #[inline]
    pub(super) fn compare(a: &AddressBytes, b: &AddressBytes) -> Self {
        let ((a_site, a_name), (b_site, b_name)) = (site_and_name(a), site_and_name(b));
        let is_known = a_site != 0 && a_name != 0 && b_site != 0 && b_name != 0;
        match (is_known, a_site == b_site, a_name == b_name) {
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

/// Returns the hashes of site and name; 0 for one that is not known.
#[inline]
pub(super) fn site_and_name(address: &AddressBytes) -> (u16, u64) {
    let (site_and_name, _) =
        address.split_first_chunk::<{ SITE_BYTES + NAME_BYTES }>().expect("8 of 12 bytes");
    let bits = u64::from_be_bytes(*site_and_name);
    let name_bits = 8 * NAME_BYTES as u32;
    ((bits >> name_bits) as u16, bits & ((1 << name_bits) - 1))
}

/// Returns the paged article that a page is a part of, or `None`.
pub(super) fn article(address: &AddressBytes) -> Option<u32> {
    let article = u32::from_be_bytes(*address.last_chunk().expect("4 of 12 bytes"));
    (article != 0).then_some(article)
}

/// Returns true if these are different pages of one article. Pages with the same name are one page, fetched
/// twice.
pub(super) fn are_parts(a: &AddressBytes, b: &AddressBytes) -> bool {
    article(a).is_some() && article(a) == article(b) && Addresses::compare(a, b) == Addresses::OneSite
}

/// Encodes an address.
pub(super) fn encoded(address: &Address, hash: &TextHash) -> AddressBytes {
    // 0 means not known.
    let bits = |text: &str, bytes: usize| match text {
        "" => 0,
        _ => (hash.hash(text.as_bytes()) >> (64 - 8 * bytes)).max(1),
    };
    let site_and_name = bits(&address.site, SITE_BYTES) << (8 * NAME_BYTES) | bits(&address.name, NAME_BYTES);
    let article = bits(&address.article, 4) as u32;
    let mut encoded = [0; ADDRESS_BYTES];
    encoded[..8].copy_from_slice(&site_and_name.to_be_bytes());
    encoded[8..].copy_from_slice(&article.to_be_bytes());
    encoded
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
        assert!(are_parts(&first, &second) && are_parts(&second, &first));
        assert!(!are_parts(&second, &second), "the same page once more");
        assert!(!are_parts(&first, &encode("https://a.example/coffee_2.html", "coffee")));
        let [none, other] =
            ["tea.html", "tea_2.html"].map(|page| encode(&format!("https://a.example/{page}"), ""));
        assert!(!are_parts(&none, &other) && !are_parts(&none, &second));
        assert_eq!((article(&none), article(&first) == article(&second)), (None, true));
    }

    /// With names of 16 bits, 76,000 pairs of such a site seemed to be one page, for which few matches are enough.
    #[test]
    fn the_names_of_a_large_site_are_different() {
        let name = |number: u32| {
            let address = Address::from_url(&format!("https://a.example/{number}"));
            site_and_name(&encoded(&address, &TextHash::default())).1
        };
        let names: std::collections::BTreeSet<_> = (0..100_000).map(name).collect();
        assert_eq!(names.len(), 100_000);
    }

    #[test]
    fn addresses_identify_pages_that_may_be_of_one_series() {
        let compare = |a: &str, b: &str| {
            let encode = |url| encoded(&Address::from_url(url), &TextHash::default());
            let (a, b) = (encode(a), encode(b));
            assert_eq!(Addresses::compare(&a, &b), Addresses::compare(&b, &a));
            Addresses::compare(&a, &b)
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
