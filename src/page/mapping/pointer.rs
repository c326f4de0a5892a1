//! JSON pointers (RFC 6901), all of a mapping in one pass over a message.
//!
//! In: JSON text. Out: for each pointer the text of the value that it points to, borrowed. What no
//! pointer leads to is passed over without being kept, so the cost is that of reading the text
//! once; a value that is found is read once more by whoever makes sense of it. Bodies, of which
//! messages mostly consist, are read as texts at once; a message in which one is none is read anew,
//! with all values as they stand. Memory: one reference a pointer, and the bodies' texts.

use std::fmt;

use serde::Deserialize;
use serde::de::{DeserializeSeed, Deserializer, Error, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde_json::value::RawValue;

use crate::page::scalars::Text;

/// A JSON pointer, in parts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Pointer {
    parts: Vec<String>,
}

impl Pointer {
    /// The pointer that `text` writes; none where it is none.
    pub(super) fn parse(text: &str) -> Option<Self> {
        let parts = text.strip_prefix('/')?.split('/');
        let parts = parts.map(|part| {
            let wrong = part.split('~').skip(1).any(|rest| !rest.starts_with(['0', '1']));
            (!wrong).then(|| part.replace("~1", "/").replace("~0", "~"))
        });
        Some(Self { parts: parts.collect::<Option<_>>()? })
    }
}

/// Pointers, ordered by what they begin with.
#[derive(Debug, Default)]
pub(super) struct Selector {
    root: Node,
    /// Of each pointer whether texts are expected there.
    is_text: Vec<bool>,
}

/// A place in a message to which pointers lead, or past which they lead on.
#[derive(Debug, Default)]
struct Node {
    /// Numbers of the pointers that end here.
    ends: Vec<usize>,
    children: Vec<(String, Node)>,
}

/// What each pointer points to, by its number.
#[derive(Debug)]
pub(super) struct Found<'de> {
    values: Vec<Option<&'de RawValue>>,
    texts: Vec<Option<Texts>>,
}

/// A text, or those of an array.
#[derive(Debug, Default)]
pub(super) struct Texts(pub(super) Vec<Text>);

impl<'de> Found<'de> {
    /// The value, unless it was read as texts.
    pub(super) fn value(&self, number: usize) -> Option<&'de RawValue> {
        self.values[number]
    }

    /// The texts, unless they stand as a value. They can be had once.
    pub(super) fn take_texts(&mut self, number: usize) -> Option<Vec<Text>> {
        self.texts[number].as_mut().map(|texts| std::mem::take(&mut texts.0))
    }

    /// The pointers that hit, as a set of bits.
    pub(super) fn hits(&self) -> u64 {
        let hit =
            self.values.iter().zip(&self.texts).map(|(value, texts)| value.is_some() || texts.is_some());
        hit.enumerate().filter(|(_, hit)| *hit).fold(0, |set, (number, _)| set | 1 << number)
    }
}

impl Selector {
    /// Adds a pointer, and gives its number; `is_text`
    /// where a text, or an array of texts, is expected.
    pub(super) fn add(&mut self, pointer: &Pointer, is_text: bool) -> usize {
        let number = self.is_text.len();
        self.is_text.push(is_text);
        let mut node = &mut self.root;
        for part in &pointer.parts {
            let at = node.children.iter().position(|(name, _)| name == part).unwrap_or_else(|| {
                node.children.push((part.clone(), Node::default()));
                node.children.len() - 1
            });
            node = &mut node.children[at].1;
        }
        node.ends.push(number);
        number
    }

    /// The names with which the pointers begin, each once.
    pub(super) fn first_names(&self) -> impl Iterator<Item = &str> {
        self.root.children.iter().map(|(name, _)| name.as_str())
    }

    /// What the pointers point to in `json`; null counts as nothing.
    ///
    /// # Errors
    /// This is no JSON.
    pub(super) fn select<'de>(&self, json: &'de str) -> serde_json::Result<Found<'de>> {
        self.walk(json, &self.is_text).or_else(|_| self.walk(json, &[]))
    }

    fn walk<'de>(&self, json: &'de str, is_text: &[bool]) -> serde_json::Result<Found<'de>> {
        let pointers = self.is_text.len();
        let texts = (0..pointers).map(|_| None).collect();
        let mut found = Found { values: vec![None; pointers], texts };
        let mut deserializer = serde_json::Deserializer::from_str(json);
        Walk { node: &self.root, is_text, found: &mut found }.deserialize(&mut deserializer)?;
        deserializer.end()?;
        Ok(found)
    }
}

/// Walks a value beside the pointers that lead into it.
struct Walk<'n, 'f, 'de> {
    node: &'n Node,
    is_text: &'n [bool],
    found: &'f mut Found<'de>,
}

impl<'de> DeserializeSeed<'de> for Walk<'_, '_, 'de> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        if self.node.ends.is_empty() {
            return deserializer.deserialize_any(self);
        }
        if let [number] = self.node.ends[..]
            && self.node.children.is_empty()
            && self.is_text.get(number) == Some(&true)
        {
            self.found.texts[number] = Option::deserialize(deserializer)?;
            return Ok(());
        }
        let value = <&RawValue>::deserialize(deserializer)?;
        let there = (value.get() != "null").then_some(value);
        for end in &self.node.ends {
            self.found.values[*end] = there;
        }
        if !self.node.children.is_empty() && value.get().starts_with(['{', '[']) {
            let mut inside = serde_json::Deserializer::from_str(value.get());
            inside.deserialize_any(self).map_err(D::Error::custom)?;
        }
        Ok(())
    }
}

impl<'de> Visitor<'de> for Walk<'_, '_, 'de> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("any JSON")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        while let Some(child) = map.next_key_seed(Child(self.node))? {
            match child {
                Some(node) => {
                    map.next_value_seed(Walk { node, is_text: self.is_text, found: self.found })?;
                }
                None => _ = map.next_value::<IgnoredAny>()?,
            }
        }
        Ok(())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<(), A::Error> {
        for at in 0_usize.. {
            let at = at.to_string();
            let child = self.node.children.iter().find(|(name, _)| *name == at);
            let more = match child {
                Some((_, node)) => {
                    let walk = Walk { node, is_text: self.is_text, found: self.found };
                    seq.next_element_seed(walk)?.is_some()
                }
                None => seq.next_element::<IgnoredAny>()?.is_some(),
            };
            if !more {
                break;
            }
        }
        Ok(())
    }

    // No pointer leads into these.

    fn visit_unit<E>(self) -> Result<(), E> {
        Ok(())
    }

    fn visit_bool<E>(self, _: bool) -> Result<(), E> {
        Ok(())
    }

    fn visit_i64<E>(self, _: i64) -> Result<(), E> {
        Ok(())
    }

    fn visit_u64<E>(self, _: u64) -> Result<(), E> {
        Ok(())
    }

    fn visit_f64<E>(self, _: f64) -> Result<(), E> {
        Ok(())
    }

    fn visit_str<E>(self, _: &str) -> Result<(), E> {
        Ok(())
    }
}

impl<'de> Deserialize<'de> for Texts {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        // As bytes, since texts may hold lone surrogates.
        deserializer.deserialize_bytes(TextsVisitor)
    }
}

struct TextsVisitor;

impl<'de> Visitor<'de> for TextsVisitor {
    type Value = Texts;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a text, or an array of texts")
    }

    fn visit_bytes<E: Error>(self, bytes: &[u8]) -> Result<Texts, E> {
        Text::of(bytes).map(|text| Texts(vec![text])).ok_or_else(|| E::custom("no UTF-8"))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Texts, A::Error> {
        let mut texts = Vec::new();
        while let Some(text) = seq.next_element::<Option<Text>>()? {
            texts.extend(text);
        }
        Ok(Texts(texts))
    }
}

/// Finds the child that an object's key names, without keeping the key.
struct Child<'n>(&'n Node);

impl<'de, 'n> DeserializeSeed<'de> for Child<'n> {
    type Value = Option<&'n Node>;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Self::Value, D::Error> {
        // As bytes, since a key may hold a lone surrogate.
        deserializer.deserialize_bytes(self)
    }
}

impl<'n> Visitor<'_> for Child<'n> {
    type Value = Option<&'n Node>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a key")
    }

    fn visit_bytes<E>(self, key: &[u8]) -> Result<Self::Value, E> {
        Ok(self.0.children.iter().find(|(name, _)| name.as_bytes() == key).map(|(_, node)| node))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::Value;

    use super::*;

    fn selected(pointers: &[&str], json: &str) -> Vec<Option<String>> {
        let mut selector = Selector::default();
        for pointer in pointers {
            selector.add(&Pointer::parse(pointer).expect("a pointer"), false);
        }
        let found = selector.select(json).expect("JSON");
        found.values.into_iter().map(|value| value.map(|value| value.get().to_owned())).collect()
    }

    #[test]
    fn values_are_found_in_one_pass() {
        let json = r#"{"a":{"b":[1,{"c":"x\ud800"}],"d":null},"e~f/g":true,"":2,"\ud800":3,"a\u0062":4}"#;
        let pointers = ["/a", "/a/b/1/c", "/a/b/0", "/a/d", "/e~0f~1g", "/", "/x", "/a/b/c", "/ab"];
        let expected = [
            Some(r#"{"b":[1,{"c":"x\ud800"}],"d":null}"#),
            Some(r#""x\ud800""#),
            Some("1"),
            None,
            Some("true"),
            Some("2"),
            None,
            None,
            Some("4"),
        ];
        assert_eq!(selected(&pointers, json), expected.map(|value| value.map(str::to_owned)));
        for json in ["7", "null", "\"text\"", "[]", "true"] {
            assert_eq!(selected(&["/a"], json), [None], "{json}");
        }
    }

    #[test]
    fn what_is_no_pointer_or_no_json_is_told() {
        for wrong in ["", "url", "a/b", "/~", "/~2", "/a~"] {
            assert_eq!(Pointer::parse(wrong), None, "{wrong:?}");
        }
        let mut selector = Selector::default();
        selector.add(&Pointer::parse("/a/b").expect("a pointer"), true);
        let nested = format!("{{\"a\":{}{}}}", "[".repeat(100_000), "]".repeat(100_000));
        for broken in ["", "{", r#"{"a":}"#, r#"{"a":1} x"#, r#"{"a":{"b":"\x"}}"#, r#"{"b":[}"#] {
            assert!(selector.select(broken).is_err(), "{broken}");
        }
        assert!(
            selector.select(&nested).is_ok(),
            "what no pointer leads to may be nested as deep as it likes"
        );
    }

    #[test]
    fn texts_are_read_at_once_and_all_else_as_it_stands() {
        let mut selector = Selector::default();
        let pointers = ["/a", "/b"].map(|text| Pointer::parse(text).expect("a pointer"));
        let numbers = pointers.map(|pointer| selector.add(&pointer, true));
        let found = |json: &str| {
            let mut found = selector.select(json).expect("JSON");
            let hits = found.hits();
            let texts = numbers.map(|number| {
                found
                    .take_texts(number)
                    .map(|texts| texts.into_iter().map(|text| text.text).collect::<Vec<_>>())
            });
            let values = numbers.map(|number| found.value(number).map(|value| value.get().to_owned()));
            (texts, values, hits)
        };
        let texts = |texts: &[&str]| Some(texts.iter().map(ToString::to_string).collect::<Vec<_>>());
        let json = r#"{"a":"x\ud800","b":[null,"y","z"]}"#;
        assert_eq!(found(json), ([texts(&["x\u{fffd}"]), texts(&["y", "z"])], [None, None], 3));
        assert_eq!(found(r#"{"a":null,"b":[]}"#), ([None, texts(&[])], [None, None], 2));
        let value = |json: &str| Some(json.to_owned());
        let json = r#"{"a":"x","b":[1]}"#;
        assert_eq!(found(json), ([None, None], [value("\"x\""), value("[1]")], 3), "one is no text");
    }

    proptest! {
        /// As `serde_json` finds them in a tree of the whole value.
        #[test]
        fn the_same_as_in_a_tree(
            json in r#"\{("(a|b|1)":(1|"x"|null|\[1,\{"a":2\}\]|\{"a":3,"b":\[\]\})(,"c":\{"a":\{"b":4\}\})?)\}"#,
            pointers in prop::collection::vec("(/(a|b|c|0|1)){1,3}", 1..6),
        ) {
            let tree: Value = serde_json::from_str(&json).expect("JSON");
            let pointers: Vec<&str> = pointers.iter().map(String::as_str).collect();
            for (pointer, found) in pointers.iter().zip(selected(&pointers, &json)) {
                let expected = tree.pointer(pointer).filter(|value| !value.is_null()).map(Value::to_string);
                prop_assert_eq!(found, expected, "{}", pointer);
            }
        }
    }
}
