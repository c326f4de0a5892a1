//! What the addresses of two pages say of whether they may be of one series, in four bytes a page.

use crate::fingerprint::secret::TextHash;
use crate::page::address::Address;

/// Bytes of an address: 16 bits each of the hashes of site and name, big-endian; zero where there
/// is none.
pub(crate) const ADDRESS_BYTES: usize = 4;

/// How two addresses relate.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Addresses {
    /// The same name: one page, moved, mirrored or fetched again.
    OneName,
    /// The same site, or nothing is known: they may be of one series.
    OneSite,
    /// Different sites.
    Apart,
}

impl Addresses {
    /// How these relate. By 16 bits one pair of different sites or names in 65,536 seems to be the
    /// same.
    #[inline]
    pub(super) fn of(a: [u8; ADDRESS_BYTES], b: [u8; ADDRESS_BYTES]) -> Self {
        let same = |at: usize| a[at..at + 2] == b[at..at + 2];
        let known = |at: usize| [a, b].iter().all(|address| address[at..at + 2] != [0, 0]);
        if known(2) && same(2) {
            Self::OneName
        } else if known(0) && !same(0) {
            Self::Apart
        } else {
            Self::OneSite
        }
    }

    /// As evidence says it.
    pub(super) fn as_str(self) -> &'static str {
        match self {
            Self::OneName => "one name",
            Self::OneSite => "one site",
            Self::Apart => "different sites",
        }
    }
}

/// The four bytes of an address.
pub(super) fn encoded(address: &Address, hash: &TextHash) -> [u8; ADDRESS_BYTES] {
    let bits = |text: &str| match text {
        "" => [0; 2],
        // 0 stands for nothing.
        _ => ((hash.hash(text.as_bytes()) >> 48).max(1) as u16).to_be_bytes(),
    };
    let ([a, b], [c, d]) = (bits(&address.site), bits(&address.name));
    [a, b, c, d]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_tell_what_may_be_of_one_series() {
        let of = |a: &str, b: &str| {
            let encode = |url| encoded(&Address::of(url), &TextHash::default());
            let (a, b) = (encode(a), encode(b));
            assert_eq!(Addresses::of(a, b), Addresses::of(b, a));
            Addresses::of(a, b)
        };
        for (a, b, expected) in [
            ("https://a.example/weather/0411", "https://a.example/weather/0412", Addresses::OneSite),
            ("https://bj.a.example/weather", "https://sh.a.example/weather", Addresses::OneSite),
            ("https://a.example/weather/0411", "https://b.example/weather/0411", Addresses::Apart),
            ("https://a.example/weather/0411", "http://a.example/weather/0411#now", Addresses::OneName),
            (
                "https://a.example/1/the-river-cup-final",
                "https://b.example/the-river-cup-final",
                Addresses::OneName,
            ),
            ("", "https://b.example/the-river-cup-final", Addresses::OneSite),
            ("", "", Addresses::OneSite),
        ] {
            assert_eq!(of(a, b), expected, "{a} {b}");
        }
    }
}
