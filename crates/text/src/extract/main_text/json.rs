//! Reads the strings and objects of JSON, also where a script assigns it to a variable.
//!
//! In: JSON, or any other source. Out: its strings that are values, with their names and the objects that hold them. In
//! source that is not JSON, it finds whatever looks like a string. Cost: linear.

use std::ops::Range;

/// Maximum number of strings and objects that are read, which bounds the memory.
pub(super) const PARTS_MAX: usize = 250_000;

/// A string of JSON, with its escapes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Value<'a> {
    /// The last name before the string.
    pub(super) name: &'a str,
    pub(super) text: &'a str,
    /// The index of the innermost object that contains the string.
    pub(super) object: usize,
}

#[derive(Debug)]
pub(super) struct Object {
    /// The index of the object around this one. For the first object, which is the whole source, its own index.
    pub(super) parent: usize,
    /// Strings in the object, and in objects within it.
    pub(super) values: Range<usize>,
}

/// The strings and objects of JSON, or of a script in which JSON is assigned to a variable.
#[derive(Debug)]
pub(super) struct Json<'a> {
    pub(super) values: Vec<Value<'a>>,
    pub(super) objects: Vec<Object>,
}

impl<'a> Json<'a> {
    /// Returns the number of strings and objects.
    pub(super) fn parts(&self) -> usize {
        self.values.len() + self.objects.len()
    }

    /// Reads `source`, up to its first [`PARTS_MAX`] strings and objects.
    pub(super) fn parse(source: &'a str) -> Self {
        let bytes = source.as_bytes();
        let mut json =
            Self { values: Vec::new(), objects: vec![Object { parent: 0, values: 0..usize::MAX }] };
        let (mut name, mut object, mut at) = ("", 0, 0);
        while let Some(&byte) = bytes.get(at).filter(|_| json.parts() < PARTS_MAX) {
            let begin = at;
            at += 1;
            match byte {
                b'{' => {
                    json.objects.push(Object { parent: object, values: json.values.len()..usize::MAX });
                    object = json.objects.len() - 1;
                }
                b'}' if object != 0 => {
                    json.objects[object].values.end = json.values.len();
                    object = json.objects[object].parent;
                }
                b'"' => {
                    let Some(end) = string_end(bytes, at) else { break };
                    let Some(text) = source.get(at..end) else { break };
                    at = end + 1;
                    if begins_value(&bytes[at..]) {
                        name = text;
                    } else {
                        json.values.push(Value { name, text, object });
                    }
                }
                b'a'..=b'z' | b'A'..=b'Z' | b'_' | b'$' => {
                    let is_name = |byte: &u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'$');
                    at += bytes[at..].iter().take_while(|byte| is_name(byte)).count();
                    if begins_value(&bytes[at..]) {
                        name = &source[begin..at];
                    }
                }
                _ => {}
            }
        }
        let end = json.values.len();
        for object in &mut json.objects {
            object.values.end = object.values.end.min(end);
        }
        json
    }
}

/// Returns the offset of the quotation mark that ends the string from `at`.
pub(super) fn string_end(bytes: &[u8], mut at: usize) -> Option<usize> {
    loop {
        at += memchr::memchr2(b'"', b'\\', bytes.get(at..)?)?;
        if bytes[at] == b'"' {
            return Some(at);
        }
        at += 2;
    }
}

/// Returns true if what comes before `rest` is a name.
fn begins_value(rest: &[u8]) -> bool {
    rest.trim_ascii_start().starts_with(b":")
}

/// Returns the value of `source`, a JSON string without its quotes.
pub(super) fn unescaped(source: &str) -> Option<String> {
    // Scripts also have escapes that JSON does not know.
    let plain = || source.replace("\\x", "\\u00").replace("\\'", "'");
    let parse = |source: &str| serde_json::from_str(&format!("\"{source}\"")).ok();
    parse(source).or_else(|| parse(&plain()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn strings_come_with_the_name_before_them() {
        let source = r#"{"a": "one", "b" : ["two", 3, "th\"ree"], c: {"d": "\\"}}"#;
        let expected = [("a", "one", 1), ("b", "two", 1), ("b", r#"th\"ree"#, 1), ("d", r"\\", 2)];
        let values = Json::parse(source).values;
        let found: Vec<_> = values.iter().map(|value| (value.name, value.text, value.object)).collect();
        assert_eq!(found, expected);
        for broken in ["", "\"", "\"a", "\"a\\", "\"a\\\"", "{\"a\":", "}}}", "{{{"] {
            assert_eq!(Json::parse(broken).values.len(), 0, "{broken}");
        }
    }

    #[test]
    fn floods_of_objects_and_strings_take_bounded_memory() {
        for flood in ["{", "\"\",", "{\"\"", "a:\"\""] {
            assert!(Json::parse(&flood.repeat(300_000)).parts() <= PARTS_MAX + 1, "{flood}");
        }
    }
}
