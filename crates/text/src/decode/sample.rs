//! The part of a page that the detector sees: the lines
//! with bytes above 0x7F, without scripts and styles.
//!
//! In: bytes of an unknown encoding. Out: at most [`BYTES_MAX`] bytes round the first
//! non-ASCII places. ASCII tells nothing of a legacy encoding, and markup is mostly ASCII,
//! so that 8 KB of these are worth a page. Cost: a scan up to the last place taken.

/// The most that is taken. chardetng reads 35 to 58 MB a second: 0.2 ms.
pub(super) const BYTES_MAX: usize = 8 << 10;

/// ASCII bytes that stay between two non-ASCII ones: enough for a word with its neighbours.
const ASCII_BETWEEN: usize = 24;

/// The sample of `bytes`.
pub(super) fn take(bytes: &[u8]) -> Vec<u8> {
    let mut sample = Vec::with_capacity(BYTES_MAX.min(bytes.len()));
    let mut at = 0;
    while at < bytes.len() && sample.len() < BYTES_MAX {
        let Some(found) = bytes[at..].iter().position(|b| *b >= 0x80 || *b == 0x1b) else { break };
        // The byte before may be the word's ASCII start (é in
        // café), never half of a character: those start high.
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
    fn only_the_places_with_high_bytes_are_taken() {
        let mut page = vec![b'x'; 50_000];
        page.extend_from_slice(b" caf\xe9 ");
        page.extend(vec![b'y'; 50_000]);
        let sample = take(&page);
        assert!(sample.len() < 100 && sample.windows(4).any(|w| w == b"caf\xe9"));
        assert!(take(&[0xb0; 100_000]).len() <= BYTES_MAX);
        assert!(take(b"ascii").is_empty());
    }
}
