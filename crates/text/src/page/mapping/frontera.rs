//! Converts messages of Frontera's spider log to plain JSON, with the body separate.
//!
//! * MessagePack: `["pc", [url, status, meta, headers, body]]`; texts may be strings or bytes.
//! * JSON: every value is a pair of its Python type and itself, as in
//!   `["dict", [[["other", "type"], ["other", "page_crawled"]], …]]`; the body is Base64.
//!
//! Both become `{"type": "page_crawled", "r": {"url": …, "status_code": …, "meta": …, "headers": …}}`.
//! Memory: the body, once, and at most [`VALUES_MAX`] other values; further values become null.

use std::cell::Cell;
use std::fmt;

use serde::Deserialize;
use serde::de::{DeserializeSeed, Deserializer, Error, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde_json::value::RawValue;
use serde_json::{Map, Value};
use thiserror::Error;

use crate::page::scalars::Text;

/// The place of the body in the resulting message. The body is removed before pointers are followed.
pub(super) const BODY: &str = "/r/body";
/// Maximum number of values that are kept of a message.
const VALUES_MAX: u32 = 10_000;
/// Maximum nesting of brackets.
const DEPTH_MAX: usize = 128;

/// A message with a page, as plain JSON and a body.
#[derive(Debug, PartialEq)]
pub(super) struct Unframed {
    pub(super) json: String,
    pub(super) body: Option<SeparateBody>,
}

/// The body as the codec stores it.
#[derive(Debug, PartialEq)]
pub(super) enum SeparateBody {
    Bytes(Vec<u8>),
    Base64(String),
}

/// The reason why a message cannot be decoded.
#[derive(Debug, Error)]
pub(super) enum FronteraError {
    #[error("broken MessagePack: {0}")]
    MsgPack(#[from] rmp_serde::decode::Error),
    #[error("broken JSON of Frontera's codec: {0}")]
    Json(#[from] serde_json::Error),
    #[error("neither MessagePack nor JSON of Frontera's codecs: it begins with {0:?}")]
    Neither(String),
    #[error("a message without a `type`")]
    NoType,
}

/// Returns true if a message begins as Frontera's codecs write it.
pub(super) fn begins(value: &[u8]) -> bool {
    let tagged = value.trim_ascii_start().strip_prefix(b"[").map(<[u8]>::trim_ascii_start);
    // An array of two to four elements that begins with a short string or byte string: `pc`, `le`, …
    let is_message_pack = matches!(value, [0x92..=0x94, 0xa2..=0xa4, ..] | [0x92..=0x94, 0xc4, 2..=4, ..]);
    is_message_pack || tagged.is_some_and(|rest| rest.starts_with(b"\"dict\""))
}

/// Decodes a message. Returns `None` for kinds of messages that contain no page.
pub(super) fn unframe(value: &[u8]) -> Result<Option<Unframed>, FronteraError> {
    let left = Cell::new(VALUES_MAX);
    match value.trim_ascii_start() {
        [b'[', ..] => {
            let json = String::from_utf8_lossy(value);
            let mut deserializer = serde_json::Deserializer::from_str(&json);
            let message = Tagged(&left).deserialize(&mut deserializer)?;
            deserializer.end()?;
            from_tagged(message)
        }
        _ if matches!(value.first(), Some(0x90..=0x9f | 0xdc | 0xdd)) => {
            let mut deserializer = rmp_serde::Deserializer::from_read_ref(value);
            deserializer.set_max_depth(DEPTH_MAX);
            Ok(deserializer.deserialize_any(MessagePack(&left))?)
        }
        _ => {
            let start: String = String::from_utf8_lossy(&value[..value.len().min(20)]).into();
            Err(FronteraError::Neither(start))
        }
    }
}

fn from_tagged(mut message: Value) -> Result<Option<Unframed>, FronteraError> {
    match message.get("type").and_then(Value::as_str) {
        None => return Err(FronteraError::NoType),
        Some("page_crawled") => {}
        Some(_) => return Ok(None),
    }
    let body = message.pointer_mut(BODY).map(Value::take);
    let body = match body {
        Some(Value::String(base64)) => Some(SeparateBody::Base64(base64)),
        _ => None,
    };
    Ok(Some(Unframed { json: message.to_string(), body }))
}

/// Counts a value. Returns false if the limit is reached.
fn take(left: &Cell<u32>) -> bool {
    let some = left.get() > 0;
    left.set(left.get().saturating_sub(1));
    some
}

/// A seed that deserializes a pair of a Python type and its value.
struct Tagged<'a>(&'a Cell<u32>);

impl<'de> DeserializeSeed<'de> for Tagged<'_> {
    type Value = Value;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Value, D::Error> {
        deserializer.deserialize_seq(self)
    }
}

impl<'de> Visitor<'de> for Tagged<'_> {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a pair of a type and a value")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut pair: A) -> Result<Value, A::Error> {
        let missing = || A::Error::custom("a pair of a type and a value is cut short");
        let kind: Text = pair.next_element()?.ok_or_else(missing)?;
        let value = if !take(self.0) {
            pair.next_element::<IgnoredAny>()?.map(|_| Value::Null)
        } else {
            match kind.text.as_str() {
                "dict" => pair.next_element_seed(Dict(self.0))?,
                "list" | "tuple" => pair.next_element_seed(List(self.0))?,
                _ => pair.next_element::<Scalar>()?.map(|Scalar(value)| value),
            }
        };
        let value = value.ok_or_else(missing)?;
        while pair.next_element::<IgnoredAny>()?.is_some() {}
        Ok(value)
    }
}

/// A seed that deserializes an array of tagged values.
struct List<'a>(&'a Cell<u32>);

impl<'de> DeserializeSeed<'de> for List<'_> {
    type Value = Value;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Value, D::Error> {
        deserializer.deserialize_seq(self)
    }
}

impl<'de> Visitor<'de> for List<'_> {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an array of pairs of a type and a value")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Value, A::Error> {
        let mut values = Vec::new();
        while let Some(value) = seq.next_element_seed(Tagged(self.0))? {
            if self.0.get() > 0 {
                values.push(value);
            }
        }
        Ok(Value::Array(values))
    }
}

/// A seed that deserializes an array of pairs of a key and a value, both tagged.
struct Dict<'a>(&'a Cell<u32>);

impl<'de> DeserializeSeed<'de> for Dict<'_> {
    type Value = Value;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Value, D::Error> {
        deserializer.deserialize_seq(self)
    }
}

impl<'de> Visitor<'de> for Dict<'_> {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an array of pairs of a key and a value")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Value, A::Error> {
        let mut values = Map::new();
        while let Some(pair) = seq.next_element_seed(List(self.0))? {
            let Value::Array(pair) = pair else { continue };
            let Ok([key, value]) = <[Value; 2]>::try_from(pair) else { continue };
            if let Some(key) = key_of(key) {
                values.insert(key, value);
            }
        }
        Ok(Value::Object(values))
    }
}

/// Converts the key of an object to text. Returns `None` for arrays and objects: no pointer can name them,
/// and as text, each level of nesting would double the escape characters of the level below.
fn key_of(key: Value) -> Option<String> {
    match key {
        Value::String(key) => Some(key),
        Value::Array(_) | Value::Object(_) => None,
        other => Some(other.to_string()),
    }
}

/// A scalar JSON value. Objects and arrays become null.
struct Scalar(Value);

impl<'de> Deserialize<'de> for Scalar {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let raw = <&RawValue>::deserialize(deserializer)?;
        Ok(Self(match raw.get().as_bytes() {
            [b'"', ..] => serde_json::from_str::<Text>(raw.get())
                .map(|text| Value::String(text.text))
                .unwrap_or_default(),
            [b'{' | b'[', ..] => Value::Null,
            _ => serde_json::from_str(raw.get()).unwrap_or_default(),
        }))
    }
}

/// A visitor that deserializes a whole MessagePack message.
struct MessagePack<'a>(&'a Cell<u32>);

impl<'de> Visitor<'de> for MessagePack<'_> {
    type Value = Option<Unframed>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an array that begins with the message's kind")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Self::Value, A::Error> {
        let kind = seq.next_element_seed(Plain(self.0))?;
        let is_page = kind.as_ref().and_then(Value::as_str) == Some("pc");
        let unframed = if is_page { seq.next_element_seed(Response(self.0))? } else { None };
        while seq.next_element::<IgnoredAny>()?.is_some() {}
        match (kind, unframed) {
            (Some(Value::String(_)), None) if is_page => {
                Err(A::Error::custom("a crawled page without its response"))
            }
            (Some(Value::String(_)), unframed) => Ok(unframed),
            _ => Err(A::Error::custom("a message without its kind")),
        }
    }
}

/// A seed that deserializes `[url, status, meta, headers, body]`.
struct Response<'a>(&'a Cell<u32>);

impl<'de> DeserializeSeed<'de> for Response<'_> {
    type Value = Unframed;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Unframed, D::Error> {
        deserializer.deserialize_seq(self)
    }
}

impl<'de> Visitor<'de> for Response<'_> {
    type Value = Unframed;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an array of url, status, meta, headers and body")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Unframed, A::Error> {
        let mut response = Map::new();
        for name in ["url", "status_code", "meta", "headers"] {
            let value = seq.next_element_seed(Plain(self.0))?;
            response.insert(name.to_owned(), value.unwrap_or_default());
        }
        let body = seq.next_element::<Bytes>()?.and_then(|Bytes(bytes)| bytes).map(SeparateBody::Bytes);
        while seq.next_element::<IgnoredAny>()?.is_some() {}
        let mut message = Map::new();
        message.insert("type".to_owned(), "page_crawled".into());
        message.insert("r".to_owned(), Value::Object(response));
        Ok(Unframed { json: Value::Object(message).to_string(), body })
    }
}

/// Bytes, the bytes of a string, or null.
struct Bytes(Option<Vec<u8>>);

impl<'de> Deserialize<'de> for Bytes {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(BytesVisitor)
    }
}

struct BytesVisitor;

impl Visitor<'_> for BytesVisitor {
    type Value = Bytes;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("bytes or null")
    }

    fn visit_bytes<E>(self, bytes: &[u8]) -> Result<Bytes, E> {
        Ok(Bytes(Some(bytes.to_vec())))
    }

    fn visit_str<E>(self, text: &str) -> Result<Bytes, E> {
        Ok(Bytes(Some(text.as_bytes().to_vec())))
    }

    fn visit_unit<E>(self) -> Result<Bytes, E> {
        Ok(Bytes(None))
    }
}

/// A seed that deserializes any MessagePack value, with bytes as text.
struct Plain<'a>(&'a Cell<u32>);

impl<'de> DeserializeSeed<'de> for Plain<'_> {
    type Value = Value;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Value, D::Error> {
        if take(self.0) {
            deserializer.deserialize_any(self)
        } else {
            IgnoredAny::deserialize(deserializer).map(|_| Value::Null)
        }
    }
}

impl<'de> Visitor<'de> for Plain<'_> {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a value")
    }

    fn visit_bytes<E>(self, bytes: &[u8]) -> Result<Value, E> {
        Ok(Value::String(String::from_utf8_lossy(bytes).into_owned()))
    }

    fn visit_str<E>(self, text: &str) -> Result<Value, E> {
        Ok(text.into())
    }

    fn visit_bool<E>(self, value: bool) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_i64<E>(self, value: i64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_u64<E>(self, value: u64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_f64<E>(self, value: f64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_unit<E>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Value, A::Error> {
        let mut values = Vec::new();
        while let Some(value) = seq.next_element_seed(Plain(self.0))? {
            if self.0.get() > 0 {
                values.push(value);
            }
        }
        Ok(Value::Array(values))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Value, A::Error> {
        let mut values = Map::new();
        while let Some(key) = map.next_key_seed(Plain(self.0))? {
            let value = map.next_value_seed(Plain(self.0))?;
            if let Some(key) = key_of(key).filter(|_| self.0.get() > 0) {
                values.insert(key, value);
            }
        }
        Ok(Value::Object(values))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn json(unframed: &Unframed) -> Value {
        serde_json::from_str(&unframed.json).expect("JSON")
    }

    /// `["pc", ["http://a/", 200, {"encoding": "gbk"}, {"Content-Type": ["text/html"]}, "<p>\xc4\xe3"]]`,
    /// with the kind and some strings as bytes.
    const MESSAGE_PACK: &[u8] = b"\x92\xc4\x02pc\x95\xc4\x09http://a/\xcc\xc8\x81\xa8encoding\xa3gbk\
        \x81\xc4\x0cContent-Type\x91\xc4\x09text/html\xc4\x05<p>\xc4\xe3";

    #[test]
    fn messagepack_is_read() {
        let found = unframe(MESSAGE_PACK).expect("right").expect("a page");
        let expected = serde_json::json!({ "type": "page_crawled", "r": { "url": "http://a/", "status_code": 200,
            "meta": { "encoding": "gbk" }, "headers": { "Content-Type": ["text/html"] } } });
        assert_eq!(json(&found), expected);
        assert_eq!(found.body, Some(SeparateBody::Bytes(b"<p>\xc4\xe3".to_vec())));
        assert!(begins(MESSAGE_PACK));
        // Offsets, statistics and links are other kinds of messages.
        assert_eq!(unframe(b"\x93\xc4\x02of\x01\x02").expect("right"), None);
        assert_eq!(unframe(b"\x92\xa2st\x80").expect("right"), None);
    }

    #[test]
    fn tagged_json_is_read() {
        let message = r#"["dict", [[["other", "type"], ["other", "page_crawled"]], [["bytes", "r"], ["dict", [
            [["other", "url"], ["bytes", "http://a/"]], [["other", "status_code"], ["other", 200]],
            [["other", "meta"], ["dict", [[["bytes", "t"], ["tuple", [["other", 1], ["list", []]]]]]]],
            [["other", "body"], ["bytes", "PHA+xOM="]]]]]]]"#;
        let found = unframe(message.as_bytes()).expect("right").expect("a page");
        assert_eq!(json(&found)["r"]["url"], "http://a/");
        assert_eq!(json(&found)["r"]["meta"], serde_json::json!({ "t": [1, []] }));
        assert_eq!(found.body, Some(SeparateBody::Base64("PHA+xOM=".to_owned())));
        assert!(begins(message.as_bytes()));
        let other = r#"["dict", [[["other", "type"], ["other", "offset"]]]]"#;
        assert_eq!(unframe(other.as_bytes()).expect("right"), None);
    }

    #[test]
    fn invalid_messages_are_refused_at_bounded_cost() {
        let deep = [&[0x91; 100_000][..], b"\xc0"].concat();
        let many = [&b"\x92\xa2pc\x91\xdd\xff\xff\xff\xff"[..], &[0xc0; 100_000]].concat();
        let nested = format!("[\"list\",[{}", "[\"list\",[".repeat(5_000));
        for wrong in [
            &b""[..],
            b"{}",
            b"\x90",
            b"\x92\xc4\x02pc",
            b"\x92\xa2pc\xc0",
            b"[]",
            b"[1,2]",
            &deep,
            &many,
            nested.as_bytes(),
        ] {
            assert!(unframe(wrong).is_err(), "{:?}", &wrong[..wrong.len().min(20)]);
        }
        let half = MESSAGE_PACK.len() / 2;
        assert!(unframe(&MESSAGE_PACK[..half]).is_err());
    }

    /// Found by fuzzing: as text, such keys doubled in size with each level of nesting.
    #[test]
    fn keys_that_are_objects_are_left_out() {
        let nested = [&[0x81; 100][..], b"\xa1k", &[0xc0; 100]].concat();
        let values = [&b"\x92\xa2pc\x95\xa1u\xcc\xc8"[..], &nested, b"\x80\xc0"].concat();
        let found = unframe(&values).expect("right").expect("a page");
        assert!(found.json.len() < 1_000, "{}", found.json.len());
    }

    #[test]
    fn the_number_of_values_kept_is_bounded() {
        let values =
            [&b"\x92\xa2pc\x95\xa1u\xcc\xc8\xdd\0\x0f\x42\x40"[..], &[0xc0; 1_000_000], b"\x80\xc0"].concat();
        let found = unframe(&values).expect("right").expect("a page");
        assert!(found.json.len() < 100_000, "{}", found.json.len());
    }
}
