//! Reads and writes one part of a bucket's list of objects, as the protocols of S3 and Azure send it.
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

/// How a store writes its lists.
#[derive(Debug)]
pub(super) struct Dialect {
    /// The parameter of a query that asks for a list.
    pub(super) request: &'static str,
    /// The parameter with the token of the previous part.
    pub(super) continuation: &'static str,
    /// The name of the token in an answer.
    pub(super) token: &'static str,
    /// The root element.
    root: &'static str,
    /// The path from the root to an object.
    object: &'static [&'static str],
    /// The element with the key of an object.
    key: &'static str,
    /// The element with the other fields of an object. Empty if they are next to the key.
    fields: &'static str,
}

impl Dialect {
    /// The lists of S3 and Google Cloud Storage.
    pub(super) const S3: Self = Self {
        request: "list-type=2",
        continuation: "continuation-token",
        token: "NextContinuationToken",
        root: "ListBucketResult",
        object: &["Contents"],
        key: "Key",
        fields: "",
    };

    /// The lists of Azure.
    pub(super) const AZURE: Self = Self {
        request: "comp=list",
        continuation: "marker",
        token: "NextMarker",
        root: "EnumerationResults",
        object: &["Blobs", "Blob"],
        key: "Name",
        fields: "Properties",
    };

    /// The lists of the Hub, which are JSON.
    pub(super) const HUB: Self = Self {
        token: "cursor",
        continuation: "cursor",
        request: "",
        root: "",
        object: &[],
        key: "",
        fields: "",
    };
}

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

/// An object of a list.
#[derive(Debug, Default)]
pub(super) struct ListedObject {
    key: String,
    /// Names and values of the other fields.
    fields: Vec<(String, String)>,
}

impl ListedObject {
    pub(super) fn new(key: String, bytes: u64) -> Self {
        Self { key, fields: vec![("Size".to_owned(), bytes.to_string())] }
    }

    /// Returns the key.
    pub(super) fn key(&self) -> &str {
        &self.key
    }

    /// Returns the number of bytes.
    pub(super) fn size(&self) -> Option<&str> {
        let size = self.fields.iter().find(|(name, _)| name == "Size" || name == "Content-Length");
        size.map(|(_, value)| value.as_str())
    }

    fn decode_key(&mut self) {
        // In this encoding, a space is a plus sign.
        let spaced = self.key.replace('+', " ");
        self.key = percent_decode_str(&spaced).decode_utf8_lossy().into_owned();
    }

    /// Stores the value of a field.
    fn set(&mut self, name: &str, value: &str, dialect: &Dialect) {
        match name {
            name if name == dialect.key => value.clone_into(&mut self.key),
            // Azure leaves out the quotes that requests and other answers have.
            "Etag" if !value.starts_with('"') => self.fields.push((name.to_owned(), format!("\"{value}\""))),
            _ => self.fields.push((name.to_owned(), value.to_owned())),
        }
    }
}

impl List {
    /// Reads a part. Returns `None` if it is not a whole list.
    pub(super) fn read(xml: &[u8], dialect: &Dialect) -> Option<Self> {
        let mut reader = Reader::from_reader(xml);
        reader.config_mut().expand_empty_elements = true;
        let mut list = Self::default();
        let mut names: Vec<String> = Vec::new();
        let (mut text, mut is_encoded, mut is_list) = (String::new(), false, false);
        loop {
            match reader.read_event().ok()? {
                Event::Start(tag) => {
                    let name = String::from_utf8_lossy(tag.local_name().as_ref()).into_owned();
                    if names.is_empty() {
                        if name != dialect.root || is_list {
                            return None;
                        }
                        is_list = true;
                    }
                    names.push(name);
                    if names[1..] == *dialect.object {
                        list.objects.push(ListedObject::default());
                    }
                    text.clear();
                }
                Event::Text(part) => text.push_str(&String::from_utf8_lossy(&part)),
                Event::CData(part) => text.push_str(&String::from_utf8_lossy(&part)),
                Event::GeneralRef(name) => push_reference(&mut text, &String::from_utf8_lossy(&name)),
                Event::End(_) => {
                    is_encoded |= list.set(&names, &text, dialect);
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
    fn set(&mut self, names: &[String], value: &str, dialect: &Dialect) -> bool {
        let names: Vec<&str> = names.iter().skip(1).map(String::as_str).collect();
        if let (Some(within), Some(object)) = (names.strip_prefix(dialect.object), self.objects.last_mut()) {
            match within {
                [name] => object.set(name, value, dialect),
                [fields, name] if *fields == dialect.fields => object.set(name, value, dialect),
                _ => {}
            }
            return false;
        }
        match names.as_slice() {
            ["CommonPrefixes", ..] | ["Blobs", "BlobPrefix", ..] => self.has_prefixes = true,
            ["IsTruncated"] => {
                self.says_truncated = true;
                let value = value.trim();
                self.is_truncated =
                    !(value.is_empty() || value.eq_ignore_ascii_case("false") || value == "0");
            }
            [name] if *name == dialect.token => {
                // Azure always writes it, and leaves it empty at the end.
                self.says_truncated |= !dialect.fields.is_empty();
                self.token = Some(value.to_owned()).filter(|token| !token.trim().is_empty());
            }
            ["EncodingType"] => return value.trim().eq_ignore_ascii_case("url"),
            _ => {}
        }
        false
    }

    /// Writes the part for `object_store`.
    pub(super) fn to_xml(&self, dialect: &Dialect) -> Bytes {
        let mut xml = String::new();
        let [folders @ .., object_tag] = dialect.object else { return Bytes::new() };
        push_tag(&mut xml, "", dialect.root);
        push_element(&mut xml, "IsTruncated", if self.is_truncated { "true" } else { "false" });
        if let Some(token) = &self.token {
            push_element(&mut xml, dialect.token, token);
        }
        folders.iter().for_each(|folder| push_tag(&mut xml, "", folder));
        for object in &self.objects {
            push_tag(&mut xml, "", object_tag);
            push_element(&mut xml, dialect.key, &object.key);
            let fields = Some(dialect.fields).filter(|name| !name.is_empty());
            fields.into_iter().for_each(|name| push_tag(&mut xml, "", name));
            object.fields.iter().for_each(|(name, value)| push_element(&mut xml, name, value));
            fields.into_iter().for_each(|name| push_tag(&mut xml, "/", name));
            push_tag(&mut xml, "/", object_tag);
        }
        folders.iter().for_each(|folder| push_tag(&mut xml, "/", folder));
        push_tag(&mut xml, "/", dialect.root);
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
        "the store's list of objects is circular ({0} is repeated, or all keys of a part are); name objects or smaller \
         prefixes one by one, or use another gateway"
    )]
    Repeated(&'static str),
    #[error(
        "the store reports that more objects follow, but names none in {EMPTY_PARTS_MAX} parts of its list; name objects or \
         smaller prefixes one by one, or use another gateway"
    )]
    Empty,
    #[error(
        "the store's answer is not a complete list of objects; it begins with {0:?}; check {1}, and whether a proxy or \
         a log-in page answers instead of the store; then run again"
    )]
    NoList(String, &'static str),
    #[error(
        "the Hub's answer names no commit; it begins with {0:?}; check {1}, and whether a proxy or a log-in page \
         answers instead of the Hub; then run again"
    )]
    NoCommit(String, &'static str),
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
        "the store's answer is longer than a list of 1,000 objects; check {0}, and whether another server answers \
         instead of the store; then run again"
    )]
    TooLong(&'static str),
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn references_are_decoded_once_and_unknown_ones_stay() {
        let key = "a&amp;lt;b&lt;&#65;&#x42;&#X43;&#x1;&other;&#xd800;<![CDATA[&amp;]]>";
        let xml = format!("<ListBucketResult><Contents><Key>{key}</Key></Contents></ListBucketResult>");
        let list = List::read(xml.as_bytes(), &Dialect::S3).expect("a list");
        assert_eq!(list.objects[0].key(), "a&lt;b<ABC\u{1}&other;&#xd800;&amp;");
    }
}
