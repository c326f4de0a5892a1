//! Holds the kept texts that were compared last. The next documents of their clusters probably need them again.
//!
//! Memory: about [`BYTES_MAX`], or a single text if it is larger.

use std::cell::OnceCell;
use std::collections::HashMap;
use std::rc::Rc;

use super::slots::Filling;
use super::texts::TextPlace;
use super::words::SplitText;

/// Maximum size of the texts that are held, in bytes.
const BYTES_MAX: usize = 32 << 20;

/// A kept text that was compared.
#[derive(Debug)]
pub(super) struct KnownText {
    /// The text.
    pub(super) text: SplitText,
    /// The words in which it differs from the first kept text of its cluster, once they were searched for.
    pub(super) fillings: OnceCell<Vec<Filling>>,
}

/// The texts that were used last.
#[derive(Debug, Default)]
pub(super) struct RecentTexts {
    /// The texts that were used since the other ones became `older`.
    newer: HashMap<TextPlace, Rc<KnownText>>,
    newer_bytes: usize,
    older: HashMap<TextPlace, Rc<KnownText>>,
}

impl RecentTexts {
    /// Returns the text at `place`, if it is held.
    pub(super) fn get(&mut self, place: TextPlace) -> Option<Rc<KnownText>> {
        if let Some(text) = self.newer.get(&place) {
            return Some(Rc::clone(text));
        }
        let text = self.older.remove(&place)?;
        self.insert(place, &text);
        Some(text)
    }

    /// Adds a text. If it makes the newer texts half of [`BYTES_MAX`], the older ones go.
    pub(super) fn insert(&mut self, place: TextPlace, text: &Rc<KnownText>) {
        self.newer_bytes += text.text.bytes();
        self.newer.insert(place, Rc::clone(text));
        if self.newer_bytes > BYTES_MAX / 2 {
            self.older = std::mem::take(&mut self.newer);
            self.newer_bytes = 0;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::verify::words::tests::{RIVER, split};

    #[test]
    fn texts_that_are_used_stay_and_memory_is_bounded() {
        let known = || {
            let text = split("", &RIVER.repeat(100));
            Rc::new(KnownText { text, fillings: OnceCell::new() })
        };
        let place = |at: u64| TextPlace { at, bytes: 1 };
        let mut recent = RecentTexts::default();
        recent.insert(place(0), &known());
        let rounds = 3 * BYTES_MAX / known().text.bytes();
        for at in 1..rounds as u64 {
            recent.insert(place(at), &known());
            assert!(recent.get(place(0)).is_some(), "used after each other text");
            let held = recent.newer.values().chain(recent.older.values());
            let bytes: usize = held.map(|text| text.text.bytes()).sum();
            assert!(bytes <= BYTES_MAX + known().text.bytes(), "{bytes}");
        }
        assert!(recent.get(place(1)).is_none(), "not used for long");
    }
}
