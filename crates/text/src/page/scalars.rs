//! Scalar JSON values in the forms that crawlers write them: texts with lone surrogates, numeric ids,
//! statuses in strings, dates in many formats.

use std::fmt;

use serde::de::{Deserialize, Deserializer, Unexpected, Visitor};
use serde_json::value::RawValue;

use leitong_base::record::Timestamp;

/// Reads a date from a string or a number. All formats of messages and files use this function.
pub(super) fn timestamp_from_json(value: &RawValue) -> Option<Timestamp> {
    match value.get().as_bytes() {
        [b'"', ..] => Timestamp::from_text(&serde_json::from_str::<String>(value.get()).ok()?),
        [b'{' | b'[' | b't' | b'f' | b'n', ..] => None,
        _ => Timestamp::from_text(value.get()),
    }
}

/// An HTTP status.
pub(super) struct Status(pub(super) u32);

impl<'de> Deserialize<'de> for Status {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(StatusVisitor)
    }
}

struct StatusVisitor;

impl Visitor<'_> for StatusVisitor {
    type Value = Status;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a whole number from 0 to 4294967295")
    }

    /// JSON does not distinguish integers from floats, and some crawlers write `200.0`.
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "within the range and whole")]
    fn visit_f64<E: serde::de::Error>(self, number: f64) -> Result<Status, E> {
        let fits = number.fract() == 0.0 && (0.0..=f64::from(u32::MAX)).contains(&number);
        if fits { Ok(Status(number as u32)) } else { Err(E::invalid_value(Unexpected::Float(number), &self)) }
    }

    fn visit_u64<E: serde::de::Error>(self, number: u64) -> Result<Status, E> {
        let status = u32::try_from(number);
        status.map(Status).map_err(|_| E::invalid_value(Unexpected::Unsigned(number), &self))
    }

    /// The error must not quote the string, which may be of any length.
    fn visit_str<E: serde::de::Error>(self, text: &str) -> Result<Status, E> {
        let wrong = || E::custom("invalid value: string, expected a whole number from 0 to 4294967295");
        text.trim().parse().map(Status).map_err(|_| wrong())
    }
}

/// A JSON string, number or boolean, as text.
pub(super) struct Scalar(pub(super) Text);

impl<'de> Deserialize<'de> for Scalar {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let value = Box::<RawValue>::deserialize(deserializer)?;
        let wrong = |error: &dyn fmt::Display| serde::de::Error::custom(error);
        match value.get().as_bytes() {
            [b'{', ..] => Err(wrong(&"invalid type: map, expected a string or a number")),
            [b'[', ..] => Err(wrong(&"invalid type: sequence, expected a string or a number")),
            [b'"', ..] => serde_json::from_str(value.get()).map(Self).map_err(|error| wrong(&error)),
            _ => Ok(Self(Text { text: value.get().to_owned(), lone_surrogates: 0 })),
        }
    }
}

/// A JSON string in which lone surrogates are replaced.
#[derive(Debug)]
pub(super) struct Text {
    pub(super) text: String,
    pub(super) lone_surrogates: u32,
}

impl Text {
    /// Converts bytes from `serde_json`, which are UTF-8 except for lone surrogates.
    pub(super) fn from_bytes(bytes: &[u8]) -> Option<Self> {
        if let Ok(text) = simdutf8::basic::from_utf8(bytes) {
            return Some(Self { text: text.to_owned(), lone_surrogates: 0 });
        }
        let mut repaired = Self { text: String::with_capacity(bytes.len()), lone_surrogates: 0 };
        for chunk in bytes.utf8_chunks() {
            repaired.text.push_str(chunk.valid());
            // The three bytes of a surrogate, ED A0..BF xx, form three invalid chunks of one byte each. Only
            // the first is counted.
            match chunk.invalid() {
                [0xed] => {
                    repaired.text.push(char::REPLACEMENT_CHARACTER);
                    repaired.lone_surrogates += 1;
                }
                [] | [0x80..=0xbf] => {}
                _ => return None,
            }
        }
        Some(repaired)
    }
}

impl<'de> Deserialize<'de> for Text {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        // Read as bytes: as `str`, serde_json refuses lone surrogates. As bytes, it encodes each one in three
        // bytes, as UTF-8 would.
        deserializer.deserialize_bytes(TextVisitor)
    }
}

struct TextVisitor;

impl<'de> Visitor<'de> for TextVisitor {
    type Value = Text;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a string")
    }

    fn visit_bytes<E: serde::de::Error>(self, bytes: &[u8]) -> Result<Text, E> {
        Text::from_bytes(bytes).ok_or_else(|| E::custom("a string that is not UTF-8"))
    }

    fn visit_seq<A: serde::de::SeqAccess<'de>>(self, _: A) -> Result<Text, A::Error> {
        Err(serde::de::Error::invalid_type(Unexpected::Seq, &self))
    }
}
