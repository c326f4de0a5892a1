//! Evaluates all JSON pointers (RFC 6901) of a mapping in one pass over a message.
//!
//! In: JSON text. Out: for each pointer, the text of its value, borrowed from the input. Values that no
//! pointer leads to are skipped without being kept, so the cost is that of reading the text once. A value
//! that is found is parsed again by its reader. Bodies make up most of a message, so they are decoded
//! directly as text. If one of them turns out not to be text, the message is read again, with all values as
//! raw JSON. Memory: one reference per pointer, and the texts of the bodies.

use std::borrow::Cow;
use std::fmt;

use serde::Deserialize;
use serde::de::{DeserializeSeed, Deserializer, Error, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde_json::value::RawValue;

use crate::page::scalars::Text;

/// A JSON pointer, split into its segments.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Pointer {
    parts: Vec<String>,
}

impl Pointer {
    /// Parses a pointer. Returns `None` if `text` is not a JSON pointer.
    pub(super) fn parse(text: &str) -> Option<Self> {
        let parts = text.strip_prefix('/')?.split('/');
        let parts = parts.map(|part| {
            let wrong = part.split('~').skip(1).any(|rest| !rest.starts_with(['0', '1']));
            (!wrong).then(|| decoded(part).into_owned())
        });
        Some(Self { parts: parts.collect::<Option<_>>()? })
    }
}

/// Returns the segments of a JSON pointer.
pub fn segments(pointer: &str) -> impl Iterator<Item = Cow<'_, str>> {
    pointer.split('/').skip(1).map(decoded)
}

/// Returns the JSON pointer to the field `name` of an object.
#[must_use]
pub fn to_field(name: &str) -> String {
    format!("/{}", name.replace('~', "~0").replace('/', "~1"))
}

fn decoded(segment: &str) -> Cow<'_, str> {
    match segment.contains('~') {
        true => Cow::Owned(segment.replace("~1", "/").replace("~0", "~")),
        false => Cow::Borrowed(segment),
    }
}

/// A set of pointers, as a tree of their segments.
#[derive(Debug, Default)]
pub(super) struct Selector {
    root: Node,
    /// For each pointer, true if texts are expected at its place.
    is_text: Vec<bool>,
}

/// A place in a message at which pointers end, or through which they lead.
#[derive(Debug, Default)]
struct Node {
    /// Numbers of the pointers that end here.
    ends: Vec<usize>,
    children: Vec<(String, Node)>,
}

/// The value of each pointer, by its number.
#[derive(Debug)]
pub(super) struct PointedValues<'de> {
    values: Vec<Option<&'de RawValue>>,
    texts: Vec<Option<Texts>>,
}

/// A text, or the texts of an array.
#[derive(Debug, Default)]
pub(super) struct Texts(pub(super) Vec<Text>);

impl<'de> PointedValues<'de> {
    /// Returns the raw value, unless it was read as texts.
    pub(super) fn value(&self, number: usize) -> Option<&'de RawValue> {
        self.values[number]
    }

    /// Takes the texts, unless they were read as a raw value. A second call returns no texts.
    pub(super) fn take_texts(&mut self, number: usize) -> Option<Vec<Text>> {
        self.texts[number].as_mut().map(|texts| std::mem::take(&mut texts.0))
    }

    /// Returns the pointers that found a value, as a set of bits.
    pub(super) fn hits(&self) -> u64 {
        let hit =
            self.values.iter().zip(&self.texts).map(|(value, texts)| value.is_some() || texts.is_some());
        hit.enumerate().filter(|(_, hit)| *hit).fold(0, |set, (number, _)| set | 1 << number)
    }
}

impl Selector {
    /// Adds a pointer and returns its number. `is_text` means that a text or an array of texts is expected.
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

    /// Returns the first segments of the pointers, each once.
    pub(super) fn first_names(&self) -> impl Iterator<Item = &str> {
        self.root.children.iter().map(|(name, _)| name.as_str())
    }

    /// Finds the values of all pointers in `json`. Null counts as absent.
    ///
    /// # Errors
    /// `json` is not valid JSON.
    pub(super) fn select<'de>(&self, json: &'de str) -> serde_json::Result<PointedValues<'de>> {
        self.walk(json, &self.is_text).or_else(|_| self.walk(json, &[]))
    }

    fn walk<'de>(&self, json: &'de str, is_text: &[bool]) -> serde_json::Result<PointedValues<'de>> {
        let pointers = self.is_text.len();
        let texts = (0..pointers).map(|_| None).collect();
        let mut found = PointedValues { values: vec![None; pointers], texts };
        let mut deserializer = serde_json::Deserializer::from_str(json);
        Walk { node: &self.root, is_text, found: &mut found }.deserialize(&mut deserializer)?;
        deserializer.end()?;
        Ok(found)
    }
}

/// A walk through a value, along the pointers that lead into it.
struct Walk<'n, 'f, 'de> {
    node: &'n Node,
    is_text: &'n [bool],
    found: &'f mut PointedValues<'de>,
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

    // No pointer leads into scalar values.

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
        // Read as bytes, because a text may contain lone surrogates.
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
        Text::from_bytes(bytes).map(|text| Texts(vec![text])).ok_or_else(|| E::custom("not UTF-8"))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Texts, A::Error> {
        let mut texts = Vec::new();
        while let Some(text) = seq.next_element::<Option<Text>>()? {
            texts.extend(text);
        }
        Ok(Texts(texts))
    }
}

/// A seed that finds the child that an object's key names, without storing the key.
struct Child<'n>(&'n Node);

impl<'de, 'n> DeserializeSeed<'de> for Child<'n> {
    type Value = Option<&'n Node>;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Self::Value, D::Error> {
        // Read as bytes, because a key may contain a lone surrogate.
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
    fn invalid_pointers_and_invalid_json_are_refused() {
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
            "values that no pointer leads to may be nested to any depth"
        );
    }

    #[test]
    fn texts_are_decoded_and_other_values_stay_raw() {
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
        assert_eq!(found(json), ([None, None], [value("\"x\""), value("[1]")], 3), "one value is not a text");
    }

    proptest! {
        /// The results must be those of `serde_json` on a tree of the whole value.
        #[test]
        fn finds_the_same_values_as_serde_json(
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
