//! Reads values in the forms that crawlers write them: plain, or as the first element of an array.

use serde_json::value::RawValue;

use crate::page::scalars::{Scalar, Text, timestamp_from_json};
use leitong_base::record::Timestamp;

/// Maximum number of elements of an array that are examined.
const ELEMENTS_MAX: usize = 64;
/// Maximum number of field names in an explanation.
const NAMES_MAX: usize = 12;
/// Maximum number of characters of a name or a value in an explanation.
const SHOWN_CHARS_MAX: usize = 40;

/// Returns the elements of an array that are not null, or the value itself.
pub(super) fn alternatives(value: &RawValue) -> Vec<&RawValue> {
    if !value.get().starts_with('[') {
        return vec![value];
    }
    let elements: Vec<&RawValue> = serde_json::from_str(value.get()).unwrap_or_default();
    elements.into_iter().filter(|value| value.get() != "null").take(ELEMENTS_MAX).collect()
}

/// Returns the first text that is not empty, or an empty text if all are empty. Returns `None` if the value is not a
/// text.
pub(super) fn text(value: &RawValue, surrogates: &mut u32) -> Option<String> {
    let mut texts =
        alternatives(value).into_iter().map(|value| serde_json::from_str::<Text>(value.get()).ok());
    let mut empty = None;
    let text = texts.find_map(|text| {
        let text = text?;
        if text.text.is_empty() { empty.replace(text).and(None) } else { Some(text) }
    });
    let text = text.or(empty)?;
    *surrogates += text.lone_surrogates;
    Some(text.text)
}

/// Joins the texts of an array with line feeds.
pub(super) fn joined(value: &RawValue, surrogates: &mut u32) -> Option<String> {
    if !value.get().starts_with('[') {
        return text(value, surrogates);
    }
    let texts: Vec<String> =
        alternatives(value).into_iter().filter_map(|value| text(value, surrogates)).collect();
    (!texts.is_empty()).then(|| texts.join("\n"))
}

/// Returns the first scalar value, as text.
pub(super) fn scalar(value: &RawValue) -> Option<String> {
    let scalar = |value: &RawValue| serde_json::from_str::<Scalar>(value.get()).ok();
    alternatives(value).into_iter().find_map(scalar).map(|Scalar(text)| text.text)
}

/// Returns the first whole number. It may be in a string, or have a fraction of zero.
#[expect(clippy::cast_possible_truncation, reason = "far above every status, a cast stays there")]
pub(super) fn number(value: &RawValue) -> Option<i64> {
    let number = |value: &RawValue| {
        let text = value.get().trim_matches('"').trim();
        text.parse().ok().or_else(|| {
            let float = text.parse::<f64>().ok().filter(|number| number.is_finite() && number.fract() == 0.0);
            float.map(|number| number as i64)
        })
    };
    alternatives(value).into_iter().find_map(number)
}

/// Returns the first date.
pub(super) fn timestamp(value: &RawValue) -> Option<Timestamp> {
    alternatives(value).into_iter().find_map(timestamp_from_json)
}

/// Returns the content type; the first one with a slash, if there are several values.
pub(super) fn content_type(value: &RawValue, surrogates: &mut u32) -> Option<String> {
    let all = alternatives(value);
    let typed = all.iter().find(|value| value.get().contains('/')).or(all.first())?;
    text(typed, surrogates)
}

/// Describes a value, for people.
pub(super) fn described(value: &RawValue) -> String {
    let json = value.get();
    let short = || {
        let shown: String = json.chars().take(SHOWN_CHARS_MAX).collect();
        if shown.len() < json.len() { shown + "…" } else { shown }
    };
    match json.as_bytes() {
        [b'{', ..] => "an object".to_owned(),
        [b'[', b']'] => "an empty array".to_owned(),
        [b'[', ..] => alternatives(value).first().map_or("an array of nulls".to_owned(), |first| {
            format!("an array that begins with {}", described(first))
        }),
        [b'"', ..] => format!("the string {}", short()),
        [b't' | b'f', ..] => json.to_owned(),
        _ => format!("the number {}", short()),
    }
}

/// Describes a whole message, for people: the names of its fields, or the kind of value.
pub(super) fn fields_of(json: &str) -> String {
    let value: Option<&RawValue> = serde_json::from_str(json).ok();
    let Some(value) = value.filter(|value| value.get().starts_with('{')) else {
        return value.map_or("not JSON".to_owned(), described);
    };
    let names = names(value.get());
    if names.is_empty() {
        return "an empty object".to_owned();
    }
    let shown: Vec<String> =
        names.iter().take(NAMES_MAX).map(|name| name.chars().take(SHOWN_CHARS_MAX).collect()).collect();
    let more = if names.len() > NAMES_MAX { ", …" } else { "" };
    format!("the fields {}{more}", shown.join(", "))
}

/// Returns the names of an object's fields, in order.
pub(super) fn names(json: &str) -> Vec<String> {
    use serde::de::{IgnoredAny, MapAccess, Visitor};
    struct Names;
    impl<'de> Visitor<'de> for Names {
        type Value = Vec<String>;
        fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
            f.write_str("an object")
        }
        fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Vec<String>, A::Error> {
            let mut names = Vec::new();
            while let Some(Text { text, .. }) = map.next_key()? {
                map.next_value::<IgnoredAny>()?;
                names.push(text);
            }
            Ok(names)
        }
    }
    let mut deserializer = serde_json::Deserializer::from_str(json);
    serde::Deserializer::deserialize_map(&mut deserializer, Names).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn raw(json: &str) -> &RawValue {
        serde_json::from_str(json).expect("JSON")
    }

    #[test]
    fn values_may_be_plain_or_in_arrays() {
        let text = |json| text(raw(json), &mut 0);
        for json in [r#""a""#, r#"["a"]"#, r#"[null,"","a","b"]"#, r#"[1,"a"]"#] {
            assert_eq!(text(json).as_deref(), Some("a"), "{json}");
        }
        assert_eq!(text(r#"["",""]"#).as_deref(), Some(""));
        assert_eq!(joined(raw(r#"["a",null,"b"]"#), &mut 0).as_deref(), Some("a\nb"));
        assert_eq!((joined(raw("[]"), &mut 0), joined(raw("[{}]"), &mut 0)), (None, None));
        for json in ["1", "{}", "[]", "[[\"a\"]]", "true"] {
            assert_eq!(text(json), None, "{json}");
        }
        for json in ["200", "\"200\"", "200.0", "[\" 200 \"]", "[null,200]"] {
            assert_eq!(number(raw(json)), Some(200), "{json}");
        }
        assert_eq!(number(raw("-6")), Some(-6));
        assert_eq!((number(raw("200.5")), number(raw("\"ok\"")), number(raw("{}"))), (None, None, None));
        assert_eq!(scalar(raw("[12]")).as_deref(), Some("12"));
        let kind = content_type(raw(r#"["html","text","text/html"]"#), &mut 0);
        assert_eq!(kind.as_deref(), Some("text/html"));
        assert!(timestamp(raw(r#"["Sat Nov 21 08:00:00 UTC 2026"]"#)).is_some());
    }

    #[test]
    fn an_error_describes_the_value_that_was_found() {
        let long = format!("\"{}\"", "x".repeat(100));
        for (json, expected) in [
            ("{}", "an object"),
            ("[]", "an empty array"),
            ("[null]", "an array of nulls"),
            ("[5]", "an array that begins with the number 5"),
            ("false", "false"),
            (&long, &*format!("the string \"{}…", "x".repeat(39))),
        ] {
            assert_eq!(described(raw(json)), expected);
        }
        assert_eq!(fields_of(r#"{"a":1,"b":{"c":2}}"#), "the fields a, b");
        assert_eq!(fields_of("[1]"), "an array that begins with the number 1");
        assert_eq!(fields_of("{"), "not JSON");
    }
}
