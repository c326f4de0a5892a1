//! Decodes EUC-TW, the Unix encoding of traditional Chinese, which the Encoding Standard lacks.
//!
//! In: bytes that fit no other encoding. Out: the text, if it reads as Chinese. CNS 11643 took the characters of its
//! planes 1 and 2 from Big5 in Big5's order, with a few exceptions, so two short tables of ranges convert one to the
//! other. Characters of higher planes become `?`. Cost: decodes the sample, and the page only if the sample fits.

use encoding_rs::BIG5;

use super::plausible::{common_permille, high_bytes, reads_as_chinese};

/// Number of characters per row of a 94 × 94 plane.
const ROW: usize = 94;

/// Number of characters per lead byte of Big5: trail bytes 0x40–0x7E and 0xA1–0xFE.
const BIG5_ROW: usize = 157;

/// Returns the text of `bytes`, if its sample reads as EUC-TW.
pub(super) fn decode(bytes: &[u8], sample: &[u8]) -> Option<String> {
    let pairs = high_bytes(sample) / 2;
    let (_, gbk_broken) = encoding_rs::GBK.decode_without_bom_handling(sample);
    if pairs < 16
        || gbk_broken
        || common_permille(&encoding_rs::GBK.decode_without_bom_handling(sample).0) > 150
    {
        return None;
    }
    reads_as_chinese(&convert(sample)?).then(|| convert(bytes)).flatten()
}

/// Converts EUC-TW to text by way of Big5; `None` if a byte is not valid EUC-TW.
fn convert(bytes: &[u8]) -> Option<String> {
    let mut big5 = Vec::with_capacity(bytes.len());
    let mut at = 0;
    while let Some(&lead) = bytes.get(at) {
        if lead < 0x80 {
            big5.push(lead);
            at += 1;
            continue;
        }
        // 0x8E 0xA1..0xB0 selects the plane; without it the plane is the first.
        let (plane, start) = if lead == 0x8e {
            (usize::from(*bytes.get(at + 1)?).checked_sub(0xa0)?, at + 2)
        } else {
            (1, at)
        };
        let (Some(&row), Some(&cell)) = (bytes.get(start), bytes.get(start + 1)) else { break };
        let position = usize::from(row).checked_sub(0xa1)? * ROW + usize::from(cell).checked_sub(0xa1)?;
        big5.extend_from_slice(&big5_of(plane, position));
        at = start + 2;
    }
    Some(BIG5.decode_without_bom_handling(&big5).0.into_owned())
}

/// Returns the character in this row and cell of a plane, given by their bytes below 0x80, or `?`.
pub(super) fn character(plane: usize, row: u8, cell: u8) -> String {
    let index = |byte: u8| usize::from(byte.saturating_sub(0x21));
    let big5 = big5_of(plane, index(row) * ROW + index(cell));
    BIG5.decode_without_bom_handling(&big5).0.trim_end().to_owned()
}

/// Returns the two bytes of Big5 for a position in a plane, or `?` and a space if Big5 has none.
fn big5_of(plane: usize, position: usize) -> [u8; 2] {
    let runs = match plane {
        1 => PLANE_1,
        2 => PLANE_2,
        _ => return *b"? ",
    };
    let run = runs.partition_point(|(start, _)| usize::from(*start) <= position);
    let Some(&(start, big5)) = run.checked_sub(1).and_then(|run| runs.get(run)) else { return *b"? " };
    let index = usize::from(big5) + position - usize::from(start);
    let (lead, trail) = (0xa1 + index / BIG5_ROW, index % BIG5_ROW);
    let trail = if trail < 63 { 0x40 + trail } else { 0xa1 + trail - 63 };
    match (u8::try_from(lead), u8::try_from(trail)) {
        (Ok(lead), Ok(trail)) => [lead, trail],
        _ => *b"? ",
    }
}

/// Ranges that both sets have in the same order: (position in the plane, position in Big5 from 0xA140).
#[rustfmt::skip]
const PLANE_1: &[(u16, u16)] = &[
    (0, 0), (21, 23), (24, 22), (29, 29), (73, 74), (74, 73), (75, 75), (127, 128), (128, 127), (129, 129),
    (148, 149), (149, 148), (150, 150), (155, 21), (156, 158), (158, 158), (282, 234), (470, 6101), (3290, 471),
    (4702, 1884), (5126, 1883), (5127, 2308), (7003, 4571), (7004, 4184), (7391, 4572), (7916, 5286),
    (7917, 5097), (8106, 5287), (8190, 5517), (8191, 5371), (8245, 5426), (8246, 5425), (8247, 5427), (8337, 5518),
];

/// The ranges of plane 2.
#[rustfmt::skip]
const PLANE_2: &[(u16, u16)] = &[
    (0, 6280), (10, 6291), (43, 6372), (44, 6324), (92, 6373), (138, 6586), (139, 6419), (306, 6587),
    (2146, 9074), (2147, 8428), (2255, 8537), (2792, 8427), (2793, 9075), (2893, 8536), (2894, 9175),
    (3293, 9575), (4930, 11761), (4931, 11212), (5077, 11899), (5078, 11358), (5365, 12508), (5366, 11645),
    (5482, 11762), (5619, 11900), (5723, 12425), (5724, 12004), (5946, 12227), (6144, 12426), (6226, 12509),
    (6312, 12226), (6313, 12595), (6321, 12604), (6474, 12758), (6530, 13114), (6531, 12814), (6644, 12603),
    (6645, 12927), (6787, 12757), (6788, 13069), (6833, 13115), (6904, 13380), (6905, 13186), (7099, 13381),
    (7589, 13914), (7590, 13871), (7633, 13915), (7634, 13917), (7645, 13916), (7646, 13928),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_hanzi_of_both_planes_are_big5s() {
        assert_eq!(convert(b"\xc4\xa1\x8e\xa2\xa1\xa1ok").as_deref(), Some("一乂ok"));
        assert_eq!(convert(b"\x8e"), None);
        assert_eq!(convert(b"\xff\x01"), None);
    }
}
