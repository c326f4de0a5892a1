//! Finds passages of benchmarks in documents.
//!
//! A passage is found if a document and a text of a benchmark share at least [`Benchmarks::letters_min`] letters in a
//! row. [Pieces](super::pieces) of half that length are chosen from both, and every shared passage contains a piece
//! that was chosen from both. The hash of the piece finds it, and the letters around it are compared one by one, so no
//! passage is found that is not there.
//!
//! A piece that is in many places, such as the first words of most questions, is *crowded*. The stretches of
//! `letters_min` letters around each of its places are then looked up by their hashes, so a piece of a document is never
//! compared with more than [`COMPARED_MAX`] places. Memory: the texts of benchmarks, 48 bytes for each of their pieces
//! (one in `letters_min` / 4 letters), and 18 for each different stretch around a crowded piece (`letters_min` / 2 for
//! each place).

use std::cmp::Reverse;
use std::collections::hash_map::Entry;
use std::fmt;
use std::num::NonZeroU32;
use std::ops::{Range, RangeInclusive};

use serde::{Deserialize, Serialize};
use serde_json::Value;
use thiserror::Error;

use super::letters::{count, is_letter, letters, weight};
use super::pieces::{Piece, Sampling};
use crate::verify::shortened;
use leitong_base::hashed::HashedMap;
use leitong_base::mix::mix;
use leitong_text::page::mapping::pointer_to_field;

/// Number of choices that a question may have.
const CHOICES: RangeInclusive<usize> = 2..=26;
/// Memory per piece, in bytes.
const PIECE_BYTES: usize = 48;
/// Maximum number of places of a piece that are compared one by one.
const COMPARED_MAX: usize = 16;
/// Memory per stretch around a crowded piece, in bytes.
const STRETCH_BYTES: usize = 18;
/// An odd multiplier for hashes of stretches.
const STRETCH_FACTOR: u64 = 0xd6e8_feb8_6659_fd93;

/// Texts of benchmarks, to be found in documents.
pub(crate) struct Benchmarks {
    letters_min: u32,
    bytes_max: usize,
    sampling: Sampling,
    /// The names of the files.
    files: Vec<String>,
    texts: Vec<Text>,
    /// The index in `places` of the first place of each piece, by its hash.
    first: HashedMap<u32>,
    places: Vec<PiecePlace>,
    /// The first place, in the order in which places are compared, with each stretch around a crowded piece. The key
    /// is that of [`stretches`](Self::stretches).
    crowded: HashedMap<u32>,
    /// Maximum number of places of a piece that is not crowded.
    compared_max: usize,
    bytes: usize,
    /// Number of texts that are too short to be found.
    short: u64,
}

/// A text of a benchmark.
struct Text {
    /// The normalised text.
    text: String,
    file: u32,
    item: u64,
    /// The JSON pointer of the text in its item.
    field: String,
}

/// The place of a piece.
#[derive(Clone, Copy)]
struct PiecePlace {
    text: u32,
    start: u32,
    /// The index of another place of the same piece.
    next: Option<NonZeroU32>,
}

/// The benchmarks take more memory than is allowed.
#[derive(Debug, Error)]
#[error("the texts of the benchmarks need more than {} MB of memory; raise --passage-memory", .0 >> 20)]
pub(crate) struct TooLarge(usize);

/// A passage of a benchmark in a document.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct SharedPassage {
    /// The benchmark's file, the number of the item in it, and the JSON pointer of the text, as
    /// `FILE#ITEM/POINTER`.
    pub benchmark: String,
    /// The passage in the document's normalised text. Long ones are cut.
    pub passage: String,
    /// Number of letters of the passage.
    pub letters: u32,
}

impl Benchmarks {
    /// Creates an empty collection. A passage has at least `letters_min` letters; texts and pieces take at most
    /// about `bytes_max` bytes.
    #[must_use]
    pub(crate) fn new(letters_min: u32, bytes_max: usize) -> Self {
        let run = letters_min / 2;
        Self {
            letters_min,
            bytes_max,
            sampling: Sampling::new(run, letters_min.saturating_sub(run + 1)),
            files: Vec::new(),
            texts: Vec::new(),
            first: HashedMap::default(),
            places: Vec::new(),
            crowded: HashedMap::default(),
            compared_max: COMPARED_MAX,
            bytes: 0,
            short: 0,
        }
    }

    /// Begins with the next file.
    pub(crate) fn begin_file(&mut self, name: &str) {
        self.files.push(name.to_owned());
    }

    /// Adds all texts in the item with this number of the current file, and short questions together with their choices.
    /// `normalised` returns a text in the form that documents have.
    ///
    /// # Errors
    /// The texts take too much memory.
    pub(crate) fn add(
        &mut self,
        item: u64,
        value: &Value,
        normalised: &impl Fn(&str) -> String,
    ) -> Result<(), TooLarge> {
        self.add_at(item, value, &mut String::new(), normalised)?;
        self.add_questions(item, value, &mut String::new(), normalised)
    }

    /// Adds the short texts of each object with the choices in it, as pages show them: with letters before the choices,
    /// or without. Objects in objects are searched as well.
    fn add_questions(
        &mut self,
        item: u64,
        value: &Value,
        pointer: &mut String,
        normalised: &impl Fn(&str) -> String,
    ) -> Result<(), TooLarge> {
        let Value::Object(fields) = value else { return Ok(()) };
        let is_choice = |name: &str| name.len() == 1 && name.starts_with(|c: char| c.is_ascii_uppercase());
        let columns =
            fields.iter().filter(|(name, _)| is_choice(name)).filter_map(|(_, value)| value.as_str());
        let lists = fields.values().flat_map(choices).chain([columns.collect()]);
        let lists: Vec<Vec<&str>> = lists.filter(|list| CHOICES.contains(&list.len())).collect();
        let length = pointer.len();
        for (name, value) in fields {
            pointer.push_str(&pointer_to_field(name));
            match value {
                Value::String(question) if !is_choice(name) => {
                    for choices in &lists {
                        self.add_question(item, pointer, question, choices, normalised)?;
                    }
                }
                _ => self.add_questions(item, value, pointer, normalised)?,
            }
            pointer.truncate(length);
        }
        Ok(())
    }

    fn add_question(
        &mut self,
        item: u64,
        field: &str,
        question: &str,
        choices: &[&str],
        normalised: &impl Fn(&str) -> String,
    ) -> Result<(), TooLarge> {
        let lettered = || ('a'..='z').zip(choices).map(|(letter, choice)| format!("{letter} {choice}"));
        if (1..self.letters_min).contains(&count(&normalised(question))) {
            for choices in [choices.join("\n"), lettered().collect::<Vec<_>>().join("\n")] {
                let text = normalised(&format!("{question}\n{choices}"));
                if count(&text) >= self.letters_min {
                    self.add_text(item, field, text)?;
                }
            }
        }
        Ok(())
    }

    fn add_at(
        &mut self,
        item: u64,
        value: &Value,
        pointer: &mut String,
        normalised: &impl Fn(&str) -> String,
    ) -> Result<(), TooLarge> {
        let length = pointer.len();
        match value {
            Value::String(text) => self.add_text(item, pointer, normalised(text))?,
            Value::Array(values) => {
                for (at, value) in values.iter().enumerate() {
                    pointer.push_str(&format!("/{at}"));
                    self.add_at(item, value, pointer, normalised)?;
                    pointer.truncate(length);
                }
            }
            Value::Object(fields) => {
                for (name, value) in fields {
                    pointer.push_str(&pointer_to_field(name));
                    self.add_at(item, value, pointer, normalised)?;
                    pointer.truncate(length);
                }
            }
            Value::Null | Value::Bool(_) | Value::Number(_) => {}
        }
        Ok(())
    }

    fn add_text(&mut self, item: u64, field: &str, text: String) -> Result<(), TooLarge> {
        if count(&text) < self.letters_min {
            self.short += u64::from(text.contains(is_letter));
            return Ok(());
        }
        let number = self.texts.len() as u32;
        let Self { first, places, bytes, bytes_max, .. } = self;
        let bytes_max = *bytes_max;
        *bytes += text.len() + field.len() + size_of::<Text>();
        self.sampling.chosen(letters(&text), |piece| {
            let mut place = PiecePlace { text: number, start: piece.start as u32, next: None };
            let index = places.len() as u32;
            match first.entry(piece.hash) {
                Entry::Vacant(none) => _ = none.insert(index),
                Entry::Occupied(other) => {
                    // The first place stays first. Index 0 is a first place, so it is never a next one.
                    let other = &mut places[*other.get() as usize];
                    place.next = other.next;
                    other.next = NonZeroU32::new(index);
                }
            }
            places.push(place);
            *bytes += PIECE_BYTES;
            *bytes <= bytes_max
        });
        if *bytes > bytes_max {
            return Err(TooLarge(bytes_max));
        }
        let file = self.files.len().saturating_sub(1) as u32;
        self.texts.push(Text { text, file, item, field: field.to_owned() });
        Ok(())
    }

    /// Indexes the stretches around crowded pieces. Call this once all items were added.
    ///
    /// # Errors
    /// The stretches take too much memory.
    pub(crate) fn finish(&mut self) -> Result<(), TooLarge> {
        let mut first: Vec<(u64, u32)> = self.first.iter().map(|(hash, first)| (*hash, *first)).collect();
        first.sort_unstable_by_key(|(_, first)| *first);
        for (hash, first) in first {
            if !self.is_crowded(first) {
                continue;
            }
            let mut next = Some(first);
            while let Some(index) = next {
                let place = self.places[index as usize];
                next = place.next.map(NonZeroU32::get);
                let text = &self.texts[place.text as usize].text;
                for key in self.stretches(text, Piece { start: place.start as usize, end: 0, hash }) {
                    if let Entry::Vacant(none) = self.crowded.entry(key) {
                        none.insert(index);
                        self.bytes += STRETCH_BYTES;
                    }
                }
                if self.bytes > self.bytes_max {
                    return Err(TooLarge(self.bytes_max));
                }
            }
        }
        Ok(())
    }

    /// Returns true if a piece with this first place has many places.
    fn is_crowded(&self, first: u32) -> bool {
        self.places_from(first).nth(self.compared_max).is_some()
    }

    /// Returns the places of a piece by their indices, beginning with its first place.
    fn places_from(&self, first: u32) -> impl Iterator<Item = u32> + '_ {
        std::iter::successors(Some(first), |index| Some(self.places[*index as usize].next?.get()))
    }

    /// Returns the hashes of the stretches of text that begin with a letter before or at the start of `piece`, and have
    /// just `letters_min` letters. If two texts have a passage in common around the piece, a stretch of it is the same
    /// in both: the one that begins with the passage, or with the first letter from which on a stretch may end with the
    /// piece. Cost: `letters_min` steps.
    fn stretches(&self, text: &str, piece: Piece) -> Vec<u64> {
        let before_max = self.letters_min - self.letters_min / 2;
        let mut letters: Vec<char> = Vec::new();
        let mut weight_before = 0;
        for (c, _) in letters_before(text, piece.start) {
            letters.push(c);
            weight_before += weight(c);
            if weight_before >= before_max {
                break;
            }
        }
        let before = letters.len();
        letters.reverse();
        let mut weight_after = 0;
        letters.extend(letters_from(text, piece.start).map(|(c, _)| c).take_while(|c| {
            let is_needed = weight_after < self.letters_min;
            weight_after += weight(*c);
            is_needed
        }));
        // The hash of the letters before each place, and the factor of a letter at each distance.
        let (mut hashes, mut powers) = (vec![0_u64], vec![1_u64]);
        for (at, c) in letters.iter().enumerate() {
            hashes.push(hashes[at].wrapping_mul(STRETCH_FACTOR).wrapping_add(mix(u64::from(*c) + 1)));
            powers.push(powers[at].wrapping_mul(STRETCH_FACTOR));
        }
        let (mut end, mut letters_held, mut keys) = (0, 0, Vec::new());
        for start in 0..=before.min(letters.len().saturating_sub(1)) {
            while letters_held < self.letters_min && end < letters.len() {
                letters_held += weight(letters[end]);
                end += 1;
            }
            if letters_held < self.letters_min {
                break;
            }
            let hash = hashes[end].wrapping_sub(hashes[start].wrapping_mul(powers[end - start]));
            keys.push(mix(piece.hash ^ mix(hash).wrapping_add((before - start) as u64)));
            letters_held -= weight(letters[start]);
        }
        keys
    }

    /// Returns the minimum number of letters of a passage.
    #[must_use]
    pub(crate) fn letters_min(&self) -> u32 {
        self.letters_min
    }

    /// Returns the number of texts that can be found.
    #[must_use]
    pub(crate) fn len(&self) -> usize {
        self.texts.len()
    }

    /// Returns the number of texts with letters that are too short to be found.
    #[must_use]
    pub(crate) fn short(&self) -> u64 {
        self.short
    }

    /// Returns the first passage of a benchmark in the normalised `text` of a document.
    #[must_use]
    pub(crate) fn find(&self, text: &str) -> Option<SharedPassage> {
        let mut found = None;
        self.sampling.chosen(letters(text), |piece| {
            found = self.first.get(&piece.hash).and_then(|first| self.find_around(text, piece, *first));
            found.is_none()
        });
        found
    }

    /// Returns the passage around a piece of a document, if the same is around one of its places from `first` on.
    fn find_around(&self, text: &str, piece: Piece, first: u32) -> Option<SharedPassage> {
        let compare = |index: u32| self.compare(text, piece, self.places[index as usize]);
        if !self.is_crowded(first) {
            return self.places_from(first).find_map(compare);
        }
        let stretches = self.stretches(text, piece);
        let known = stretches.iter().filter_map(|key| self.crowded.get(key).copied());
        // The first place is compared first, then the others from the last one on.
        let first_compared = known.min_by_key(|index| (*index != first, Reverse(*index)))?;
        // Without a passage there, two different stretches have one hash, which does not happen in practice.
        compare(first_compared).or_else(|| self.places_from(first).find_map(compare))
    }

    /// Compares the letters around a piece with those around a place. Returns the passage if it is long enough.
    fn compare(&self, text: &str, piece: Piece, place: PiecePlace) -> Option<SharedPassage> {
        let known = &self.texts[place.text as usize];
        let start = place.start as usize;
        let [(before, first), (after, last)] = [
            equal(letters_before(text, piece.start), letters_before(&known.text, start), piece.start),
            equal(letters_from(text, piece.start), letters_from(&known.text, start), piece.start),
        ];
        let letters = before.saturating_add(after);
        (letters >= self.letters_min).then(|| SharedPassage {
            benchmark: Source(&self.files[known.file as usize], known).to_string(),
            passage: shortened(&text[first..last]),
            letters,
        })
    }
}

/// Returns the lists of texts in a field of an item: the field itself, or fields of an object.
fn choices(field: &Value) -> Vec<Vec<&str>> {
    match field {
        Value::Object(fields) => fields.values().filter_map(strings).collect(),
        _ => strings(field).into_iter().collect(),
    }
}

fn strings(value: &Value) -> Option<Vec<&str>> {
    value.as_array()?.iter().map(Value::as_str).collect()
}

/// The source of a text, as `FILE#ITEM/POINTER`.
struct Source<'a>(&'a str, &'a Text);

impl fmt::Display for Source<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}#{}{}", self.0, self.1.item, self.1.field)
    }
}

/// Returns the letters before byte `at`, the last one first.
fn letters_before(text: &str, at: usize) -> impl Iterator<Item = (char, Range<usize>)> + '_ {
    let letters = text[..at].char_indices().rev().filter(|(_, c)| is_letter(*c));
    letters.map(|(start, c)| (c, start..start + c.len_utf8()))
}

/// Returns the letters from byte `at` on.
fn letters_from(text: &str, at: usize) -> impl Iterator<Item = (char, Range<usize>)> + '_ {
    let letters = text[at..].char_indices().filter(|(_, c)| is_letter(*c));
    letters.map(move |(start, c)| (c, at + start..at + start + c.len_utf8()))
}

/// Returns the number of letters that are equal at the start of both iterators. Also returns the byte offset in the
/// first text that the equal letters reach; they begin at `from` and go forwards or backwards.
fn equal(
    a: impl Iterator<Item = (char, Range<usize>)>,
    b: impl Iterator<Item = (char, Range<usize>)>,
    from: usize,
) -> (u32, usize) {
    let mut reached = (0_u32, from);
    for ((c, at), _) in a.zip(b).take_while(|((a, _), (b, _))| a == b) {
        let end = if at.start < from { at.start } else { at.end };
        reached = (reached.0.saturating_add(weight(c)), end);
    }
    reached
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;
    use crate::growth::{GROWTH_MAX, growth};

    const QUESTION: &str =
        "which of the two rivers that rise in the northern hills reaches the harbour of the old town first?";

    fn benchmarks(letters_min: u32, items: &[Value]) -> Benchmarks {
        indexed(letters_min, items, COMPARED_MAX)
    }

    /// Indexes pieces with more than `compared_max` places as crowded ones.
    fn indexed(letters_min: u32, items: &[Value], compared_max: usize) -> Benchmarks {
        let mut benchmarks = Benchmarks { compared_max, ..Benchmarks::new(letters_min, 64 << 20) };
        benchmarks.begin_file("eval.jsonl");
        for (number, item) in (1..).zip(items) {
            benchmarks.add(number, item, &str::to_lowercase).expect("room");
        }
        benchmarks.finish().expect("room");
        benchmarks
    }

    #[test]
    fn a_passage_is_found_with_its_item_and_field() {
        let benchmarks = benchmarks(60, &[json!({ "answer": "a" }), json!({ "q": [{ "a/b": QUESTION }] })]);
        assert_eq!((benchmarks.len(), benchmarks.short()), (1, 1));
        let reset = QUESTION.replace(" rivers ", "\n – RIVERS, ").to_lowercase();
        let document = format!("exam of last year. {reset} write one sentence.");
        let found = benchmarks.find(&document).expect("a passage");
        assert_eq!(found.benchmark, "eval.jsonl#2/q/0/a~1b");
        assert_eq!((found.letters, found.passage.contains("– rivers")), (count(QUESTION), true));
        assert_eq!(benchmarks.find("which of the two rivers that rise in the northern hills"), None);
        assert_eq!(benchmarks.find(""), None);
    }

    /// A question that is too short to be looked for alone is found together with its choices.
    #[test]
    fn a_short_question_is_found_with_its_choices() {
        let question = "Which town is the largest?";
        let towns = ["Old Harbour", "North Bridge", "Mill Valley", "East Market"];
        let [a, b, c, d] = towns;
        for item in [
            json!({ "question": question, "choices": towns, "answer": 2, "subject": "towns" }),
            json!({ "id": "7", "question": question, "choices": { "label": ["A", "B", "C", "D"], "text": towns } }),
            json!({ "Question": question, "A": a, "B": b, "C": c, "D": d, "Answer": "C" }),
            json!({ "doc": { "q": question, "options": towns } }),
        ] {
            let benchmarks = benchmarks(60, &[item]);
            for page in [
                format!("quiz. {question} a) {a} b) {b} c) {c} d) {d}. answer on monday."),
                format!("quiz\n{question}\n- {a}\n- {b}\n- {c}\n- {d}"),
            ] {
                let found = benchmarks.find(&page.to_lowercase()).expect("the question");
                assert!(found.benchmark.to_lowercase().contains("/q"), "{found:?}");
            }
            assert_eq!(benchmarks.find(&format!("{question} {a} {c}").to_lowercase()), None, "other choices");
            assert_eq!(benchmarks.find(&question.to_lowercase()), None, "the question alone");
        }
    }

    #[test]
    fn a_passage_without_spaces_is_found() {
        let question = "两条发源于北部山区的河流中哪一条先到达老城的港口请用一句话回答这个问题";
        let benchmarks = benchmarks(60, &[json!(question)]);
        let part: String = question.chars().skip(7).take(20).collect();
        let found = benchmarks.find(&format!("去年的考题是{part}谢谢")).expect("20 ideographs");
        assert_eq!((found.letters, &*found.passage, &*found.benchmark), (60, &*part, "eval.jsonl#1"));
        let shorter: String = part.chars().skip(1).collect();
        assert_eq!(benchmarks.find(&format!("去年的考题是{shorter}谢谢")), None, "19 ideographs");
    }

    #[test]
    fn benchmarks_that_need_too_much_memory_are_refused() {
        let mut benchmarks = Benchmarks::new(60, 20_000);
        benchmarks.begin_file("eval.jsonl");
        let add = |item| benchmarks.add(item, &json!(format!("{item} {QUESTION}")), &str::to_owned);
        let results: Vec<_> = (0..1_000).map(add).collect();
        let refused = results.iter().position(Result::is_err).expect("too much");
        assert!((20..100).contains(&refused), "{refused}");
    }

    /// A page of one character, or one that repeats a template of the benchmark, must not take long.
    #[test]
    fn repeated_letters_take_linear_time() {
        let template = "which of the following statements about ";
        let items: Vec<Value> = (0..2_000).map(|item| json!(format!("{template}{item:060}"))).collect();
        let benchmarks = benchmarks(60, &items);
        assert_eq!(benchmarks.find(&"a".repeat(5_000_000)), None);
        assert_eq!(benchmarks.find(&template.repeat(200)), None);
        assert!(benchmarks.find(&format!("x {template}{:060}", 1_999)).is_some());
    }

    /// Most questions of a benchmark may begin with the same words, and a page may repeat them.
    #[test]
    fn questions_that_begin_with_the_same_words_cost_what_their_letters_cost() {
        let stem = "which of the following statements about rivers and lakes is ";
        let varied = |at: usize, of: u64| format!("{:x}", mix(at as u64 + of)).repeat(3);
        let prepare = |count: usize| {
            let items: Vec<Value> = (0..count).map(|at| json!(format!("{stem}{}", varied(at, 0)))).collect();
            let page: String =
                (0..count).map(|at| format!("{stem}{} ", &varied(at, 1 << 40)[..20])).collect();
            (items, page)
        };
        let grown = growth(400, prepare, |(items, page)| {
            assert_eq!(benchmarks(60, items).find(page), None);
        });
        assert!(grown < GROWTH_MAX, "{grown}");
        let (items, page) = prepare(400);
        let question = items[333].as_str().expect("a text");
        let found = benchmarks(60, &items).find(&format!("{page}{question}")).expect("a question");
        assert_eq!(found.benchmark, "eval.jsonl#334");
    }

    #[test]
    fn stretches_around_crowded_pieces_count_as_memory() {
        let mut benchmarks = Benchmarks::new(60, 1 << 20);
        benchmarks.begin_file("eval.jsonl");
        for item in 0..1_000_u64 {
            let text = format!(
                "which of the following statements about rivers and lakes is {:x}{:x}",
                mix(item),
                mix(!item)
            );
            benchmarks.add(item, &json!(text), &str::to_owned).expect("room for texts and pieces");
        }
        benchmarks.bytes_max = benchmarks.bytes + 5_000 * STRETCH_BYTES;
        assert!(benchmarks.finish().is_err());
    }

    /// The naive twin: compares every part of the text with every part of every known text.
    fn naive(letters_min: u32, known: &[String], text: &str) -> bool {
        let spelled = |text: &str| -> Vec<char> { text.chars().filter(|c| is_letter(*c)).collect() };
        let text = spelled(text);
        known.iter().any(|known| {
            let known = spelled(known);
            (0..text.len()).any(|a| {
                (0..known.len()).any(|b| {
                    let equal = text[a..].iter().zip(&known[b..]).take_while(|(a, b)| a == b);
                    equal.map(|(c, _)| weight(*c)).sum::<u32>() >= letters_min
                })
            })
        })
    }

    proptest! {
        #[test]
        fn exactly_the_texts_with_a_shared_passage_are_found(
            known in prop::collection::vec("[ab中文 .\n]{0,40}", 1..4),
            own in "[ab中文 .\n]{0,20}",
            part in any::<prop::sample::Index>(),
            length in 0_usize..40,
            letters_min in 4_u32..24,
            compared_max in 0_usize..3,
        ) {
            let items: Vec<Value> = known.iter().map(|text| json!({ "text": text })).collect();
            let benchmarks = indexed(letters_min, &items, compared_max);
            let start = part.index(known[0].chars().count() + 1);
            let shared: String = known[0].chars().skip(start).take(length).collect();
            let text = format!("{own}{shared}{own}");
            let found = benchmarks.find(&text);
            let one_by_one = indexed(letters_min, &items, usize::MAX).find(&text);
            prop_assert_eq!(&found, &one_by_one, "the same passage of the same text");
            prop_assert_eq!(found.is_some(), naive(letters_min, &known, &text));
            if let Some(SharedPassage { passage, letters, .. }) = found {
                prop_assert_eq!((count(&passage), letters >= letters_min), (letters, true));
            }
        }
    }
}
