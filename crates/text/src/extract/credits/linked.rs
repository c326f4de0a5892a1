//! Reads linked data (JSON-LD) about the page: authors, date, publisher, language.
//!
//! In: the source of a script. Out: the data of the nodes that are pages. People named by reference are looked up among
//! the nodes of the same script. Comments, reviews and other pages within a page's node are not read. Cost: one pass
//! that copies only what is kept. Limits: [`SCRIPTS_BYTES_MAX`] bytes of a page are read, the JSON parser limits
//! nesting to 128, and [`VALUES_MAX`] limits the memory.

use std::borrow::Cow;
use std::cell::Cell;
use std::fmt;

use serde::de::{DeserializeSeed, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer};

use crate::extract::parse::entities;
use leitong_base::record::Credits;

/// Maximum bytes of scripts that are read of a page.
pub(super) const SCRIPTS_BYTES_MAX: usize = 256 * 1024;

/// Maximum length in bytes of a text that is kept; names and dates are shorter.
const TEXT_BYTES_MAX: usize = 512;

/// Maximum number of nodes of a script that are searched for pages and people.
const NODES_MAX: usize = 64;

/// Maximum number of list values of a script that are kept, all lists together. This limits the memory.
const VALUES_MAX: u32 = 1024;

/// The linked data of a page.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct LinkedData {
    /// Authors that are people, or of no declared type.
    pub(super) authors: Vec<String>,
    /// Authors that are organisations.
    pub(super) organisations: Vec<String>,
    pub(super) published: Option<String>,
    /// The publisher of the site.
    pub(super) publisher: Option<String>,
    /// The source of the text.
    pub(super) source: Option<String>,
    pub(super) language: Option<String>,
}

/// The parts of a linked data value that are kept.
#[derive(Debug, Default, Clone)]
struct Node {
    /// The text, if the value is a text.
    text: Option<String>,
    id: Option<String>,
    name: Option<String>,
    types: Vec<String>,
    authors: Vec<Node>,
    published: Option<String>,
    publisher: Vec<Node>,
    source: Vec<Node>,
    language: Option<String>,
    /// The nodes of a graph or a list.
    nodes: Vec<Node>,
}

/// Returns what the script `source` says about its page.
pub(super) fn read(source: &str) -> Option<LinkedData> {
    let wanted = ["author", "datePublished", "pubDate", "publisher", "creator"];
    if !wanted.iter().any(|word| memchr::memmem::find(source.as_bytes(), word.as_bytes()).is_some()) {
        return None;
    }
    let source = unescaped(source);
    let text = unwrapped(&source);
    let node = parse(text).or_else(|| parse(&repaired(text)))?;
    let mut nodes = Vec::new();
    flatten(node, &mut nodes);
    let mut found = LinkedData::default();
    // Articles come first, then other pages.
    let by_kind = [is_article, is_page].into_iter();
    for kind in by_kind {
        for node in nodes.iter().filter(|node| kind(node)) {
            found.add(node, &nodes);
        }
    }
    (found != LinkedData::default()).then_some(found)
}

/// Returns `source` with its character references decoded, if all of its quotation marks are references: a program has
/// escaped the script like text.
fn unescaped(source: &str) -> Cow<'_, str> {
    let is_escaped = source.contains('&') && !source.contains('"');
    if !is_escaped {
        return Cow::Borrowed(source);
    }
    Cow::Owned(entities::decoded(source))
}

/// Returns `source` from its first value on: without byte order marks, comments, and marks that hide scripts from old
/// browsers and XML. Text after the value is not read.
fn unwrapped(source: &str) -> &str {
    // `//><!--` ends a comment that is one in scripts and in markup.
    const MARKS: [&str; 7] = ["<![CDATA[", "]]>", "-->", ">", "*/", "//<![CDATA[", "//><!--"];
    let mut text = source;
    loop {
        text = text.trim_start_matches(|c: char| c.is_whitespace() || matches!(c, '\u{feff}' | ';'));
        let has_value = |comment: &str| comment.contains(['{', '[']);
        let rest = if let Some(rest) = MARKS.iter().find_map(|mark| text.strip_prefix(mark)) {
            rest
        } else if let Some(comment) = text.strip_prefix("<!--") {
            // A comment of words ends before the value; a comment around the value only hides it.
            comment.split_once("-->").filter(|(words, _)| !has_value(words)).map_or(comment, |(_, rest)| rest)
        } else if let Some(comment) = text.strip_prefix("/*") {
            let (words, rest) = comment.split_once("*/").unwrap_or((comment, ""));
            if words.trim_start().starts_with("<![CDATA[") && rest.is_empty() { words } else { rest }
        } else if let Some(line) = text.strip_prefix("//") {
            match ["<!--", "-->"].iter().find_map(|mark| line.trim_start().strip_prefix(mark)) {
                Some(rest) => rest,
                None => line.split_once(['\n', '\r']).map_or("", |(_, rest)| rest),
            }
        } else {
            return text;
        };
        text = rest;
    }
}

/// Returns `text` without common errors that are not valid JSON: commas after the last value, comments, and line breaks
/// within strings.
fn repaired(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let (mut in_string, mut escaped) = (false, false);
    let mut rest = text;
    while let Some(c) = rest.chars().next() {
        let after = &rest[c.len_utf8()..];
        rest = after;
        if in_string {
            in_string = escaped || c != '"';
            escaped = !escaped && c == '\\';
            out.push(if c.is_control() { ' ' } else { c });
            continue;
        }
        match c {
            '/' if after.starts_with('/') => rest = after.find(['\n', '\r']).map_or("", |end| &after[end..]),
            '/' if after.starts_with('*') => rest = after.split_once("*/").map_or("", |(_, rest)| rest),
            // White space and commas before a closing bracket.
            '}' | ']' => {
                out.truncate(out.trim_end_matches(|c: char| c.is_whitespace() || c == ',').len());
                out.push(c);
            }
            _ => {
                in_string = c == '"';
                out.push(if c.is_control() { ' ' } else { c });
            }
        }
    }
    out
}

impl LinkedData {
    fn add(&mut self, node: &Node, all: &[Node]) {
        let named = |nodes: &[&Node]| -> Vec<String> {
            nodes.iter().filter_map(|node| named(node, all)).take(Credits::AUTHORS_MAX).collect()
        };
        let first = |nodes: &[Node]| nodes.iter().find_map(|node| self::named(node, all));
        if self.authors.is_empty() {
            let is_organisation = |node: &&Node| node.types.iter().any(|kind| kind.ends_with("Organization"));
            let (organisations, people): (Vec<&Node>, Vec<&Node>) =
                node.authors.iter().partition(is_organisation);
            self.authors = named(&people);
            self.organisations = named(&organisations);
        }
        if self.source.is_none() {
            self.source = first(&node.source);
        }
        if self.publisher.is_none() {
            self.publisher = first(&node.publisher);
        }
        self.published = self.published.take().or_else(|| node.published.clone());
        self.language = self.language.take().or_else(|| node.language.clone());
    }
}

/// Returns the name of a person or organisation, which may be a reference to another node.
fn named(node: &Node, all: &[Node]) -> Option<String> {
    let by_id = || {
        let id = node.id.as_ref()?;
        all.iter().find(|other| other.id.as_ref() == Some(id) && other.name.is_some())?.name.clone()
    };
    node.text.clone().or_else(|| node.name.clone()).or_else(by_id)
}

fn is_article(node: &Node) -> bool {
    let kinds =
        ["Article", "NewsArticle", "BlogPosting", "Report", "Posting", "Recipe", "Review", "Reportage"];
    node.types.iter().any(|found| kinds.iter().any(|kind| found.ends_with(kind)))
}

/// Returns true if a node may be the page: not a person, a site or a list of other pages.
fn is_page(node: &Node) -> bool {
    let others =
        ["Person", "Organization", "WebSite", "ImageObject", "BreadcrumbList", "Comment", "Product", "Offer"];
    !node.types.iter().any(|found| others.iter().any(|other| found.ends_with(other)))
}

/// Appends `node` and the nodes within it in order, up to [`NODES_MAX`] in all.
fn flatten(mut node: Node, nodes: &mut Vec<Node>) {
    let within = std::mem::take(&mut node.nodes);
    if nodes.len() < NODES_MAX {
        nodes.push(node);
    }
    for node in within {
        if nodes.len() >= NODES_MAX {
            break;
        }
        flatten(node, nodes);
    }
}

fn parse(text: &str) -> Option<Node> {
    let mut deserializer = serde_json::Deserializer::from_str(text);
    ValueSeed { left: &Cell::new(VALUES_MAX) }.deserialize(&mut deserializer).ok()
}

/// Reads any JSON value as a [`Node`].
#[derive(Clone, Copy)]
struct ValueSeed<'a> {
    /// Number of list values that may still be kept.
    left: &'a Cell<u32>,
}

impl<'de> DeserializeSeed<'de> for ValueSeed<'_> {
    type Value = Node;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Node, D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for ValueSeed<'_> {
    type Value = Node;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("JSON")
    }

    fn visit_str<E>(self, text: &str) -> Result<Node, E> {
        let text = text.trim();
        let fits = !text.is_empty() && text.len() <= TEXT_BYTES_MAX;
        Ok(Node { text: fits.then(|| text.to_owned()), ..Node::default() })
    }

    fn visit_unit<E>(self) -> Result<Node, E> {
        Ok(Node::default())
    }

    fn visit_bool<E>(self, _: bool) -> Result<Node, E> {
        Ok(Node::default())
    }

    fn visit_i64<E>(self, _: i64) -> Result<Node, E> {
        Ok(Node::default())
    }

    fn visit_u64<E>(self, _: u64) -> Result<Node, E> {
        Ok(Node::default())
    }

    fn visit_f64<E>(self, _: f64) -> Result<Node, E> {
        Ok(Node::default())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut values: A) -> Result<Node, A::Error> {
        let mut list = Node::default();
        while self.left.get() > 0 {
            let Some(node) = values.next_element_seed(self)? else { return Ok(list) };
            self.left.set(self.left.get().saturating_sub(1));
            list.nodes.push(node);
        }
        while values.next_element::<IgnoredAny>()?.is_some() {}
        Ok(list)
    }

    fn visit_map<A: MapAccess<'de>>(self, mut fields: A) -> Result<Node, A::Error> {
        let mut node = Node::default();
        while let Some(field) = fields.next_key::<Field>()? {
            let Field::Known(known) = field else {
                fields.next_value::<IgnoredAny>()?;
                continue;
            };
            let value = fields.next_value_seed(self)?;
            node.set(known, value);
        }
        Ok(node)
    }
}

/// The name of a field; fields that are not used share one value.
enum Field {
    Known(Known),
    Other,
}

#[derive(Clone, Copy)]
enum Known {
    Type,
    Id,
    Name,
    Author,
    Published,
    Publisher,
    Source,
    Language,
    Nodes,
    Parts,
    Value,
}

impl<'de> Deserialize<'de> for Field {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct FieldVisitor;
        impl Visitor<'_> for FieldVisitor {
            type Value = Field;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a name")
            }

            fn visit_str<E>(self, name: &str) -> Result<Field, E> {
                let of_schema = ["schema:", "http://schema.org/", "https://schema.org/"];
                let name = of_schema.iter().find_map(|start| name.strip_prefix(start)).unwrap_or(name);
                Ok(Field::Known(match name {
                    "@type" => Known::Type,
                    "@id" => Known::Id,
                    "name" => Known::Name,
                    "author" | "creator" => Known::Author,
                    "datePublished" | "pubDate" => Known::Published,
                    "publisher" => Known::Publisher,
                    "sourceOrganization" => Known::Source,
                    "inLanguage" => Known::Language,
                    "@graph" | "mainEntity" | "mainEntityOfPage" => Known::Nodes,
                    "hasPart" => Known::Parts,
                    "@value" => Known::Value,
                    _ => return Ok(Field::Other),
                }))
            }
        }
        deserializer.deserialize_identifier(FieldVisitor)
    }
}

impl Node {
    fn set(&mut self, known: Known, value: Self) {
        let several = |value: Self| if value.nodes.is_empty() { vec![value] } else { value.nodes };
        let text = |value: Self| value.text.or_else(|| value.nodes.into_iter().find_map(|node| node.text));
        match known {
            Known::Type => self.types = several(value).into_iter().filter_map(|node| node.text).collect(),
            Known::Id => self.id = value.text,
            Known::Name => self.name = text(value),
            Known::Author => self.authors = several(value),
            Known::Published => self.published = text(value),
            Known::Publisher => self.publisher = several(value),
            Known::Source => self.source = several(value),
            Known::Language => self.language = text(value),
            Known::Nodes => self.nodes.extend(several(value)),
            Known::Parts => {
                // If one part is an article, it is the page's own; several articles are those of other pages.
                let mut articles = several(value).into_iter().filter(is_article);
                self.nodes.extend(articles.next().filter(|_| articles.next().is_none()));
            }
            Known::Value => self.text = value.text,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn articles_name_their_authors_and_dates() {
        let found = read(
            r##"{"@context":"https://schema.org","@graph":[
                {"@type":"WebPage","@id":"#page","datePublished":"2020-01-01"},
                {"@type":["Article","NewsArticle"],"datePublished":"2025-05-03T08:00:00+08:00",
                 "author":[{"@id":"#jane"},{"@type":"Person","name":"John Roe"}],
                 "publisher":{"@type":"Organization","name":"The Site"},"inLanguage":"en-GB",
                 "comment":[{"@type":"Comment","author":{"name":"A Reader"}}]},
                {"@type":"Person","@id":"#jane","name":"Jane Doe"}]}"##,
        );
        let expected = LinkedData {
            authors: vec!["Jane Doe".into(), "John Roe".into()],
            organisations: Vec::new(),
            published: Some("2025-05-03T08:00:00+08:00".into()),
            publisher: Some("The Site".into()),
            source: None,
            language: Some("en-GB".into()),
        };
        assert_eq!(found, Some(expected));
    }

    /// Linked data after a comment, a byte order mark or a character reference must be read, and so must data with an
    /// extra comma.
    #[test]
    fn scripts_are_read_whatever_is_around_and_between_their_values() {
        let plain = r#"{"@type":"Article","author":{"name":"Jane Doe"},"datePublished":"2026-05-03"}"#;
        let with = |before: &str, after: &str| format!("{before}{plain}{after}");
        for source in [
            with("", ""),
            with("\u{feff} ", " ;"),
            with("// The article [1] {of} the page\n", ""),
            with("/* The {article} */ // again\r\n", "\n// end"),
            with("<!-- Yoast SEO -->\n", "\n<!-- / Yoast SEO -->"),
            with("<!--\n", "\n-->"),
            with("//<![CDATA[\n", "\n//]]>"),
            with("/*<![CDATA[*/", "/*]]>*/"),
            with("<![CDATA[", "]]>"),
            with("<!--//--><![CDATA[//><!--\n", "\n//--><!]]>"),
            with("// <!--\n", "// -->"),
            plain.replace('"', "&quot;"),
            plain.replace('"', "&#34;"),
            plain.replace("\"}", "\" , \n}"),
            plain.replace(",\"", ", // who\n /* and when */ \""),
            plain.replace("\"2026-05-03\"", r#"{"@type":"Date","@value":"2026-05-03"}"#),
            plain.replace("\"author", "\"schema:author").replace("\"date", "\"schema:date"),
            plain.replace("\"author", "\"http://schema.org/author"),
            format!(r#"[{plain},]"#),
            format!(r#"{{"@type":"WebPage","hasPart":[{{"@type":"WebPageElement"}},{plain}]}}"#),
            format!(r#"{{"@type":"WebPage","hasPart":{plain}}}"#),
        ] {
            let found = read(&source).unwrap_or_default();
            assert_eq!(found.authors, ["Jane Doe"], "{source}");
            assert_eq!(found.published.as_deref(), Some("2026-05-03"), "{source}");
        }
        // The parts of a list are articles of other pages.
        assert_eq!(read(&format!(r#"{{"@type":"CollectionPage","hasPart":[{plain},{plain}]}}"#)), None);
        let text = r#"{"@type":"Article","author":"A, ] // \" B",}"#;
        assert_eq!(read(text).map(|found| found.authors), Some(vec![r#"A, ] // " B"#.into()]));
    }

    #[test]
    fn broken_and_hostile_scripts_give_nothing_or_less() {
        let with_line_breaks = "{\"@type\":\"Article\",\"headline\":\"a\nb\",\"author\":\"Jane\tDoe\"}";
        assert_eq!(read(with_line_breaks).map(|found| found.authors), Some(vec!["Jane Doe".into()]));
        assert_eq!(read(r#"[{"@type":"Comment","author":"A Reader"}]"#), None);
        for text in ["", "{", "null", "\"author\"", "{\"author\":", "{\"author\":null,\"publisher\":7}"] {
            assert_eq!(read(text), None, "{text}");
        }
        let deep = format!("{{\"author\":{}", "[".repeat(100_000));
        assert_eq!(read(&deep), None);
        let long = format!("{{\"author\":\"{}\"}}", "x".repeat(10_000));
        assert_eq!(read(&long), None);
        let many = format!("{{\"author\":[{}\"y\"]}}", "\"x\",".repeat(10_000));
        assert_eq!(read(&many).map(|found| found.authors.len()), Some(Credits::AUTHORS_MAX));
    }
}
