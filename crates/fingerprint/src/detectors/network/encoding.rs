//! Encodes and decodes fingerprints: key concepts with frequencies and positions. [The module](super)
//! describes the layout.

use crate::term_vector::TermVector;
use leitong_base::varint::take_varint;

/// A decoded fingerprint.
pub(super) struct KeyConcepts<'a> {
    /// Names and frequencies of the key concepts, and the text's length in terms.
    pub(super) frequencies: TermVector<'a>,
    /// Positions of each key concept.
    pub(super) positions: Vec<Vec<u32>>,
}

pub(super) fn decode(bytes: &[u8]) -> Option<KeyConcepts<'_>> {
    let mut rest = bytes;
    let total = take_varint(&mut rest)?;
    let (mut terms, mut positions) = (Vec::with_capacity(20), Vec::with_capacity(20));
    while let Some(length) = rest.split_off_first() {
        let name = rest.split_off(..usize::from(*length))?;
        std::str::from_utf8(name).ok()?;
        let frequency = take_varint(&mut rest)?;
        let count = rest.split_off_first()?;
        let mut at = 0_u32;
        let mut of_this = Vec::with_capacity(usize::from(*count));
        for _ in 0..*count {
            at = at.checked_add(take_varint(&mut rest)?)?;
            of_this.push(at);
        }
        let known = terms.iter().any(|(other, _)| *other == name);
        if known
            || frequency == 0
            || of_this.is_empty()
            || of_this.len() > frequency as usize
            || at > i32::MAX as u32
        {
            return None;
        }
        terms.push((name, frequency));
        positions.push(of_this);
    }
    Some(KeyConcepts { frequencies: TermVector { total, terms }, positions })
}

/// Decodes a fingerprint that was validated when it was read.
pub(super) fn read(fingerprint: &[u8]) -> KeyConcepts<'_> {
    decode(fingerprint).expect("a checked fingerprint")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Detector;
    use crate::detectors::network::{Network, WordNetworkConfig};
    use crate::resources::Resources;
    use crate::test_texts;

    #[test]
    fn positions_of_several_bytes_are_read() {
        // Some steps between positions take one byte, others two.
        let sentence = |word: usize| format!("alpha word{word} beta gamma.\n");
        let text: String = (0..30).map(sentence).collect::<String>()
            + &"delta epsilon. ".repeat(150)
            + &(0..30).map(sentence).collect::<String>();
        let terms = test_texts::terms(&text);
        let network =
            Network::word_network(&WordNetworkConfig::default(), &Resources::default()).expect("no files");
        let fingerprint = network.fingerprint(&terms).expect("key words");
        let whole = read(&fingerprint);
        assert!(whole.positions.iter().flatten().any(|position| *position > 300));
        let counts = network.counts(&terms);
        assert_eq!(
            counts.iter().map(|(name, _)| *name).collect::<Vec<_>>(),
            ["words", "concepts", "nodes", "connected", "hubs"]
        );
        assert_eq!(counts[0].1 as usize, terms.distinct().len());
        assert_eq!((counts[1].1, counts[4].1), (counts[0].1, 30));
    }
}
