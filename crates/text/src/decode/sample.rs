//! Takes the part of a page that the detector reads: places with bytes above 0x7F or escape codes, and the text next
//! to them.
//!
//! In: bytes of an unknown encoding. Out: at most [`BYTES_MAX`] bytes around the first non-ASCII places. ASCII says
//! nothing about a legacy encoding, and markup is mostly ASCII, so 8 KB of such places represent a whole page. Cost: a
//! scan up to the last place taken.

/// The largest sample. chardetng reads 35 to 58 MB per second, so this takes 0.2 ms.
pub(super) const BYTES_MAX: usize = 8 << 10;

/// Maximum number of ASCII bytes that are kept before and after a non-ASCII place: enough for a word and its
/// neighbours.
const ASCII_BETWEEN: usize = 24;

/// Returns the sample of `bytes`.
pub(super) fn take(bytes: &[u8]) -> Vec<u8> {
    let mut sample = Vec::with_capacity(BYTES_MAX.min(bytes.len()));
    let mut at = 0;
    while at < bytes.len() && sample.len() < BYTES_MAX {
        let Some(found) = bytes[at..].iter().position(|b| *b >= 0x80 || *b == 0x1b) else { break };
        // The ASCII byte before may be the start of a word (caf in café), never half of a character: those begin with a
        // high byte.
        let from = at.max((at + found).saturating_sub(ASCII_BETWEEN));
        let mut to = at + found;
        let mut ascii = 0;
        while to < bytes.len() && ascii < ASCII_BETWEEN && sample.len() + (to - from) < BYTES_MAX {
            ascii = if bytes[to] < 0x80 && bytes[to] != 0x1b { ascii + 1 } else { 0 };
            to += 1;
        }
        sample.extend_from_slice(&bytes[from..to]);
        if sample.len() < BYTES_MAX {
            sample.push(b'\n');
        }
        at = to;
    }
    sample
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_places_with_high_bytes_are_taken() {
        let mut page = vec![b'x'; 50_000];
        page.extend_from_slice(b" caf\xe9 ");
        page.extend(vec![b'y'; 50_000]);
        let sample = take(&page);
        assert!(sample.len() < 100 && sample.windows(4).any(|w| w == b"caf\xe9"));
        assert!(take(&[0xb0; 100_000]).len() <= BYTES_MAX);
        assert!(take(b"ascii").is_empty());
    }
}
