//! Extracts number slots from a text: which numbers are in which places. Number slots separate copies from
//! texts in which only numbers changed.
//!
//! Weather, markets, results and draws are the same sentences every day with other numbers. Words and passages hardly
//! show that: the digits are one term among many, and each affects only a few shingles. So up to [`SLOTS`] numbers are
//! kept, each as 16 bits of its *context* (the text before it, and one word or character after it) and 8 bits of its
//! *value*. Two texts with one context and different values say different things in the same place: a *conflict*. A
//! context that occurs several times, such as the dates of comments, is one slot with its first number, since such
//! pages grow at their ends. A number within a name counts as well (`sha256sum`, `RTX4080`): the name without it is
//! part of the context.
//!
//! Which contexts are kept depends only on their hashes (the smallest ones), so a text and an excerpt of it
//! keep many of the same: a min-wise sample (Broder 1997).
//!
//! In: the normalised text. Out: [`SLOT_BYTES`] bytes, contexts ascending; a slot without a number is
//! zero. Cost: linear; one scan for digits, and two hashes per number.

use super::secret::TextHash;
use super::units::is_unit;

/// Maximum number of slots for a text.
pub(crate) const SLOTS: usize = 6;
/// Number of bytes of a slot: the context (big-endian) and the value.
const SLOT: usize = 3;
/// Number of bytes of all slots.
pub(crate) const SLOT_BYTES: usize = SLOTS * SLOT;
/// Sum of the sizes of the units before a number in its context: two words, or four characters of Chinese.
const BEFORE_SIZE: u32 = 4;
/// Placeholder for other numbers in a context. One changed number does not change its neighbours' contexts.
const ANOTHER_NUMBER: char = '#';

/// All slots of a text.
pub(crate) type Slots = [u8; SLOT_BYTES];

/// Contexts that two texts have in common.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Agreement {
    /// Number of contexts with the same number in both.
    pub(crate) same: u32,
    /// Number of contexts with different numbers.
    pub(crate) conflicts: u32,
}

/// Returns the number slots of a normalised text.
pub(crate) fn slots(text: &str, hash: &TextHash) -> Slots {
    let mut found: Vec<(u16, u64)> = Vec::new();
    let mut context = String::new();
    let mut at = 0;
    while let Some(digit) = text.as_bytes()[at..].iter().position(u8::is_ascii_digit) {
        let digit = at + digit;
        let begin = digit - word_length_back(&text[at..digit]);
        at = begin + word_length(&text[begin..]);
        let word = &text[begin..at];
        context.clear();
        before(&text[..begin], &mut context);
        context.push('\n');
        push_named(word, &mut context);
        context.push('\n');
        if let Some(unit) = units(&text[at..]).next() {
            push_named(unit, &mut context);
        }
        // 0 marks an empty slot.
        let context = (hash.hash(context.as_bytes()) >> 48).max(1) as u16;
        found.push((context, hash.hash(word.as_bytes())));
    }
    // Stable: the numbers of one context stay in order, so the first one comes first.
    found.sort_by_key(|(context, _)| *context);
    let mut slots = [0; SLOT_BYTES];
    let of_one_context = found.chunk_by(|(a, _), (b, _)| a == b);
    for (slot, numbers) in slots.as_chunks_mut::<SLOT>().0.iter_mut().zip(of_one_context) {
        let (context, first) = numbers[0];
        let [high, low] = context.to_be_bytes();
        *slot = [high, low, (first >> 56) as u8];
    }
    slots
}

/// Returns the contexts of a text's slots, ascending, and their values; 0 where there is no slot.
pub(crate) fn contexts_and_values(slots: &Slots) -> ([u16; SLOTS], [u8; SLOTS]) {
    let slots = slots.as_chunks::<SLOT>().0;
    let slot = |at: usize| slots.get(at).copied().unwrap_or_default();
    (
        std::array::from_fn(|at| u16::from_be_bytes([slot(at)[0], slot(at)[1]])),
        std::array::from_fn(|at| slot(at)[2]),
    )
}

/// Counts the contexts of both texts in which their numbers are the same, or different.
pub(crate) fn agreement(a: &Slots, b: &Slots) -> Agreement {
    let (mut a, mut b) = (a.as_chunks::<SLOT>().0, b.as_chunks::<SLOT>().0);
    let mut agreement = Agreement::default();
    while let ([[a_high, a_low, a_value], a_rest @ ..], [[b_high, b_low, b_value], b_rest @ ..]) = (a, b) {
        let (a_context, b_context) =
            (u16::from_be_bytes([*a_high, *a_low]), u16::from_be_bytes([*b_high, *b_low]));
        // Empty slots come last and end the comparison.
        if a_context == 0 || b_context == 0 {
            break;
        }
        match a_context.cmp(&b_context) {
            std::cmp::Ordering::Less => a = a_rest,
            std::cmp::Ordering::Greater => b = b_rest,
            std::cmp::Ordering::Equal => {
                *if a_value == b_value { &mut agreement.same } else { &mut agreement.conflicts } += 1;
                (a, b) = (a_rest, b_rest);
            }
        }
    }
    agreement
}

/// Appends the last units of `text`, last word first.
fn before(mut text: &str, context: &mut String) {
    let mut size = 0;
    while size < BEFORE_SIZE {
        text = text.trim_end_matches(|c| !is_unit(c) && !is_of_a_word(c));
        let Some(last) = text.chars().next_back() else { return };
        let length = if is_unit(last) { last.len_utf8() } else { word_length_back(text) };
        let (rest, unit) = text.split_at(text.len() - length);
        let from = context.len();
        push_named(unit, context);
        size += if is_unit(last) || context[from..].chars().nth(1).is_none() { 1 } else { 2 };
        context.push(' ');
        text = rest;
    }
}

/// Splits `text` into units from its beginning: words, and single characters in scripts without spaces.
fn units(text: &str) -> impl Iterator<Item = &str> {
    let mut rest = text;
    std::iter::from_fn(move || {
        rest = rest.trim_start_matches(|c| !is_unit(c) && !is_of_a_word(c));
        let first = rest.chars().next()?;
        let length = if is_unit(first) { first.len_utf8() } else { word_length(rest) };
        let (unit, after) = rest.split_at(length);
        rest = after;
        Some(unit)
    })
}

/// Returns the number of bytes of the word that `text` begins with.
fn word_length(text: &str) -> usize {
    text.find(|c| !is_of_a_word(c)).unwrap_or(text.len())
}

/// Returns the number of bytes of the word that `text` ends with.
fn word_length_back(text: &str) -> usize {
    text.len() - text.trim_end_matches(is_of_a_word).len()
}

/// Returns true for letters and digits of words of several characters. Ideographs and kana are units of their own.
pub(super) fn is_of_a_word(c: char) -> bool {
    c.is_alphanumeric() && !is_unit(c)
}

/// Appends a unit with its numbers replaced by the placeholder.
fn push_named(unit: &str, context: &mut String) {
    let mut in_number = false;
    for c in unit.chars() {
        if !c.is_ascii_digit() {
            context.push(c);
        } else if !in_number {
            context.push(ANOTHER_NUMBER);
        }
        in_number = c.is_ascii_digit();
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use proptest::prelude::*;

    use super::*;

    fn slots_of(text: &str) -> Slots {
        slots(text, &TextHash::default())
    }

    fn compared(a: &str, b: &str) -> (u32, u32) {
        let Agreement { same, conflicts } = agreement(&slots_of(a), &slots_of(b));
        (same, conflicts)
    }

    #[test]
    fn other_numbers_in_the_same_places_conflict() {
        let today = "北京今天晴，最高气温31度，最低气温22度。";
        assert_eq!(compared(today, today), (2, 0));
        assert_eq!(compared(today, "北京今天晴，最高气温31度，最低气温19度。"), (1, 1));
        assert_eq!(compared(today, "北京今天晴。"), (0, 0));
        assert_eq!(compared(today, "北京今天晴，夜里最低气温22度。最高气温31度。"), (2, 0), "moved");
        assert_eq!(compared("beat them 3-1 on Saturday", "beat them 2-1 on Saturday"), (1, 1));
    }

    #[test]
    fn numbers_within_names_count() {
        assert_eq!(compared("打印 sha256sum 的校验和", "打印 sha384sum 的校验和"), (0, 1));
        assert_eq!(compared("The RTX4080 draws 320 W", "The RTX4090 draws 450 W"), (0, 2));
        assert_eq!(compared("The RTX4080 draws 320 W", "The GTX4080 draws 320 W"), (0, 0), "other names");
        assert_eq!(compared("on the 1st of 2 days", "on the 2nd of 2 days"), (0, 0), "the context differs");
    }

    #[test]
    fn digits_of_other_scripts_are_not_numbers() {
        for text in ["", "第一章", "Ⅷ", "no number"] {
            assert_eq!(slots_of(text), [0; SLOT_BYTES], "{text}");
        }
        assert_ne!(slots_of("第1章"), [0; SLOT_BYTES]);
    }

    /// In threads that get more answers, and other pages that grow, each date of an answer has the same context. Such
    /// pages are versions of one another nevertheless.
    #[test]
    fn a_context_that_occurs_twice_is_one_slot_with_its_first_number() {
        let two = "上周价格上涨5元。本周价格上涨7元。";
        assert_eq!(compared(two, two), (1, 0), "four characters before each, and one after");
        assert_eq!(compared(two, &format!("{two}下周价格上涨9元。")), (1, 0), "it grew");
        assert_eq!(compared(two, "本周价格上涨7元。上周价格上涨5元。"), (0, 1), "in another order");
    }

    /// A naive version of [`agreement`].
    fn compared_as_maps(a: &Slots, b: &Slots) -> Agreement {
        let map = |slots: &Slots| -> BTreeMap<[u8; 2], u8> {
            let used = slots.as_chunks::<SLOT>().0.iter().filter(|slot| slot[..2] != [0, 0]);
            used.map(|[high, low, value]| ([*high, *low], *value)).collect()
        };
        let (a, b) = (map(a), map(b));
        let shared = a.iter().filter_map(|(context, value)| Some((value, b.get(context)?)));
        let (same, other): (Vec<_>, Vec<_>) = shared.partition(|(a, b)| a == b);
        Agreement { same: same.len() as u32, conflicts: other.len() as u32 }
    }

    proptest! {
        #[test]
        fn agreement_equals_a_naive_count(a in "[a-c]( [a-c]{1,2}| [0-9]{1,2}){0,40}", b in "[a-c]( [a-c]{1,2}| [0-9]{1,2}){0,40}") {
            let (a, b) = (slots_of(&a), slots_of(&b));
            prop_assert_eq!(agreement(&a, &b), compared_as_maps(&a, &b));
            prop_assert_eq!(agreement(&a, &b), agreement(&b, &a));
            prop_assert_eq!(agreement(&a, &a).conflicts, 0);
        }

        #[test]
        fn no_text_panics(text in "(\\PC|[0-9]|[一二三]){0,60}") {
            let slots = slots_of(&text);
            prop_assert!(slots.as_chunks::<SLOT>().0.is_sorted_by_key(|slot| (slot[..2] == [0, 0], slot[0], slot[1])));
        }
    }
}
