//! Holds the kept texts that were compared last. The next documents of their clusters probably need them again.

use std::collections::HashMap;
use std::rc::Rc;

use super::texts::TextPlace;
use super::words::SplitText;

/// Maximum size of the texts that are held, in bytes. A single text may be larger.
const BYTES_MAX: usize = 32 << 20;

/// The texts that were compared last.
#[derive(Debug, Default)]
pub(super) struct RecentTexts {
    texts: HashMap<TextPlace, Rc<SplitText>>,
    bytes: usize,
}

impl RecentTexts {
    /// Returns the text at `place`, if it is held.
    pub(super) fn get(&self, place: TextPlace) -> Option<Rc<SplitText>> {
        self.texts.get(&place).map(Rc::clone)
    }

    /// Adds a text. If it makes the texts larger than [`BYTES_MAX`], the other ones go.
    pub(super) fn insert(&mut self, place: TextPlace, text: SplitText) -> Rc<SplitText> {
        self.bytes += text.bytes();
        if self.bytes > BYTES_MAX {
            self.texts.clear();
            self.bytes = text.bytes();
        }
        let text = Rc::new(text);
        self.texts.insert(place, Rc::clone(&text));
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::verify::words::tests::{RIVER, split};

    #[test]
    fn memory_is_bounded() {
        let text = || split("", &RIVER.repeat(100));
        let mut recent = RecentTexts::default();
        for at in 0..3 * (BYTES_MAX / text().bytes()) as u64 {
            let place = TextPlace { at, bytes: 1 };
            recent.insert(place, text());
            assert!(recent.get(place).is_some());
            let bytes: usize = recent.texts.values().map(|text| text.bytes()).sum();
            assert!(bytes <= BYTES_MAX && bytes == recent.bytes, "{bytes}");
        }
    }
}
