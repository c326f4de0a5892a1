//! Reads and writes one part of a bucket's list of objects, as the S3 protocol sends it.
//!
//! In: the XML of a part, with any prefix, comments and attributes, and keys in the url encoding that some gateways
//! use unasked. Out: the content of the part, and its XML in the plain form that `object_store` reads. Cost: linear.

use bytes::Bytes;
use percent_encoding::percent_decode_str;
use quick_xml::Reader;
use quick_xml::escape::{escape, resolve_predefined_entity};
use quick_xml::events::Event;

/// Maximum number of consecutive parts of a list without an object. Stores skip deleted objects in such parts.
pub(super) const EMPTY_PARTS_MAX: usize = 1000;

/// The root element of a list.
const ROOT: &str = "ListBucketResult";

/// One part of a list.
#[derive(Debug, Default)]
pub(super) struct List {
    /// True if more objects follow.
    pub(super) is_truncated: bool,
    /// The token for requesting the next part of the list. Never blank.
    pub(super) token: Option<String>,
    /// The objects of this part.
    pub(super) objects: Vec<ListedObject>,
    /// True if the part says whether more objects follow.
    pub(super) says_truncated: bool,
    /// True if objects are grouped by common prefixes, which only a request with a delimiter asks for.
    pub(super) has_prefixes: bool,
}

/// An object of a list: names and values of its fields.
#[derive(Debug, Default)]
pub(super) struct ListedObject(Vec<(String, String)>);

impl ListedObject {
    /// Returns the value of a field.
    pub(super) fn field(&self, name: &str) -> Option<&str> {
        self.0.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str())
    }

    /// Returns the key.
    pub(super) fn key(&self) -> &str {
        self.field("Key").unwrap_or_default()
    }

    fn decode_key(&mut self) {
        for (_, value) in self.0.iter_mut().filter(|(name, _)| name == "Key") {
            // In this encoding, a space is a plus sign.
            let spaced = value.replace('+', " ");
            *value = percent_decode_str(&spaced).decode_utf8_lossy().into_owned();
        }
    }
}

impl List {
    /// Reads a part. Returns `None` if it is not a whole list.
    pub(super) fn read(xml: &[u8]) -> Option<Self> {
        let mut reader = Reader::from_reader(xml);
        reader.config_mut().expand_empty_elements = true;
        let mut list = Self::default();
        let mut names: Vec<String> = Vec::new();
        let (mut text, mut is_encoded, mut is_list) = (String::new(), false, false);
        loop {
            match reader.read_event().ok()? {
                Event::Start(tag) => {
                    let name = String::from_utf8_lossy(tag.local_name().as_ref()).into_owned();
                    match names.len() {
                        0 if name != ROOT || is_list => return None,
                        0 => is_list = true,
                        1 if name == "Contents" => list.objects.push(ListedObject::default()),
                        _ => {}
                    }
                    names.push(name);
                    text.clear();
                }
                Event::Text(part) => text.push_str(&String::from_utf8_lossy(&part)),
                Event::CData(part) => text.push_str(&String::from_utf8_lossy(&part)),
                Event::GeneralRef(name) => push_reference(&mut text, &String::from_utf8_lossy(&name)),
                Event::End(_) => {
                    is_encoded |= list.set(&names, &text);
                    names.pop();
                    text.clear();
                }
                Event::Eof if is_list && names.is_empty() => break,
                Event::Eof => return None,
                _ => {}
            }
        }
        if is_encoded {
            list.objects.iter_mut().for_each(ListedObject::decode_key);
        }
        Some(list)
    }

    /// Stores the value of the element at the path `names`. Returns true if the element says that keys are in url
    /// encoding.
    fn set(&mut self, names: &[String], value: &str) -> bool {
        let names: Vec<&str> = names.iter().skip(1).map(String::as_str).collect();
        match (names.as_slice(), self.objects.last_mut()) {
            (["Contents", field], Some(object)) => object.0.push(((*field).to_owned(), value.to_owned())),
            (["CommonPrefixes", ..], _) => self.has_prefixes = true,
            (["IsTruncated"], _) => {
                self.says_truncated = true;
                let value = value.trim();
                self.is_truncated =
                    !(value.is_empty() || value.eq_ignore_ascii_case("false") || value == "0");
            }
            (["NextContinuationToken"], _) => {
                self.token = Some(value.to_owned()).filter(|token| !token.trim().is_empty());
            }
            (["EncodingType"], _) => return value.trim().eq_ignore_ascii_case("url"),
            _ => {}
        }
        false
    }

    /// Writes the part for `object_store`.
    pub(super) fn to_xml(&self) -> Bytes {
        let mut xml = String::new();
        push_tag(&mut xml, "", ROOT);
        push_element(&mut xml, "IsTruncated", if self.is_truncated { "true" } else { "false" });
        if let Some(token) = &self.token {
            push_element(&mut xml, "NextContinuationToken", token);
        }
        for object in &self.objects {
            xml.push_str("<Contents>");
            object.0.iter().for_each(|(name, value)| push_element(&mut xml, name, value));
            xml.push_str("</Contents>");
        }
        push_tag(&mut xml, "/", ROOT);
        xml.into()
    }
}

/// Appends what the reference `&name;` stands for. An unknown one stands for itself.
fn push_reference(text: &mut String, name: &str) {
    let number = name.strip_prefix('#').and_then(|number| match number.strip_prefix(['x', 'X']) {
        Some(digits) => u32::from_str_radix(digits, 16).ok(),
        None => number.parse().ok(),
    });
    match (number.and_then(char::from_u32), resolve_predefined_entity(name)) {
        (Some(character), _) => text.push(character),
        (_, Some(characters)) => text.push_str(characters),
        _ => text.extend(["&", name, ";"]),
    }
}

fn push_element(xml: &mut String, name: &str, value: &str) {
    push_tag(xml, "", name);
    xml.push_str(&escape(value));
    push_tag(xml, "/", name);
}

fn push_tag(xml: &mut String, slash: &str, name: &str) {
    xml.extend(["<", slash, name, ">"]);
}

/// The reason why a list of objects cannot be used.
#[derive(Debug, thiserror::Error)]
pub(super) enum BrokenList {
    #[error(
        "the store's list of objects is incomplete (IsTruncated without NextContinuationToken); name objects \
         or smaller prefixes one by one, or use another gateway"
    )]
    NoToken,
    #[error(
        "the store's list of objects is circular (NextContinuationToken is repeated, or all keys of a part \
         are); name objects or smaller prefixes one by one, or use another gateway"
    )]
    Repeated,
    #[error(
        "the store reports that more objects follow, but names none in {EMPTY_PARTS_MAX} parts of its list; name objects or \
         smaller prefixes one by one, or use another gateway"
    )]
    Empty,
    #[error(
        "the store's answer is not a complete list of objects; it begins with {0:?}; check AWS_ENDPOINT_URL, and whether a \
         proxy or a log-in page answers instead of the store; then run again"
    )]
    NoList(String),
    #[error(
        "the store's answer lists common prefixes, which were not requested, instead of the objects below them; name \
         smaller prefixes one by one, or use another gateway"
    )]
    Prefixes,
    #[error(
        "the store's list has the object {0:?}, which is not below the requested prefix; name objects one by one, or use \
         another gateway"
    )]
    OtherPrefix(String),
    #[error(
        "the store's answer is longer than a list of 1,000 objects; check AWS_ENDPOINT_URL, and whether another server \
         answers instead of the store; then run again"
    )]
    TooLong,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn references_are_decoded_once_and_unknown_ones_stay() {
        let key = "a&amp;lt;b&lt;&#65;&#x42;&#X43;&#x1;&other;&#xd800;<![CDATA[&amp;]]>";
        let xml = format!("<{ROOT}><Contents><Key>{key}</Key></Contents></{ROOT}>");
        let list = List::read(xml.as_bytes()).expect("a list");
        assert_eq!(list.objects[0].key(), "a&lt;b<ABC\u{1}&other;&#xd800;&amp;");
    }
}
