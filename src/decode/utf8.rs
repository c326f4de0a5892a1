//! Is this UTF-8 with a few broken bytes? Pages cut off in
//! a character, or with a stray Latin-1 comment, are.
//!
//! In: bytes that are not valid UTF-8. Out: whether UTF-8 is meant. Well-formed sequences of two
//! or more bytes hardly occur by chance (in GBK text about one in four looks well-formed), so ten
//! for each broken byte decide. Cost: linear, and an early end after [`BROKEN_MAX`] broken places.

/// Well-formed multi-byte sequences demanded for each broken byte. GBK, Big5, Shift_JIS and
/// windows-125x pages of our sets stay below 0.6; UTF-8 pages with damage are above 40.
const WELL_FORMED_PER_BROKEN: usize = 10;

/// Broken places after which a page with little UTF-8 so far is given up.
const BROKEN_MAX: usize = 64;

/// Whether `bytes`, which are not valid UTF-8, are meant as UTF-8.
pub(super) fn is_meant(bytes: &[u8]) -> bool {
    let mut well_formed = 0;
    let mut broken = 0;
    let mut rest = bytes;
    while !rest.is_empty() {
        match simdutf8::compat::from_utf8(rest) {
            Ok(text) => {
                well_formed += multi_byte_sequences(text.as_bytes());
                break;
            }
            Err(error) => {
                let (good, bad) = rest.split_at(error.valid_up_to());
                well_formed += multi_byte_sequences(good);
                broken += 1;
                if broken >= BROKEN_MAX && well_formed < broken * WELL_FORMED_PER_BROKEN {
                    return false;
                }
                rest = &bad[error.error_len().unwrap_or(bad.len()).max(1)..];
            }
        }
    }
    well_formed >= broken * WELL_FORMED_PER_BROKEN
}

fn multi_byte_sequences(bytes: &[u8]) -> usize {
    bytes.iter().filter(|&&b| b >= 0xc0).count()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cut_page_is_utf8_and_gbk_is_not() {
        let text = "这一页在字中间断了，其余都好。".repeat(3);
        assert!(is_meant(&text.as_bytes()[..text.len() - 1]));
        let (gbk, _, _) = encoding_rs::GBK.encode(&text);
        assert!(!is_meant(&gbk));
        assert!(!is_meant(b"caf\xe9"));
    }
}
