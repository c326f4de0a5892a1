//! Reads linked data (JSON-LD) about the page: authors, date, publisher, language.
//!
//! In: the source of a script. Out: the data of the nodes that are pages. People named by reference are looked up among
//! the nodes of the same script. Comments, reviews and other pages within a page's node are not read. Cost: linear in
//! the scripts, of which at most [`SCRIPTS_BYTES_MAX`] bytes are read of a page; the parser limits nesting to 128.

use std::borrow::Cow;

use serde_json::{Map, Value};

use crate::extract::parse::entities;
use leitong_base::record::Metadata;

/// Maximum bytes of scripts that are read of a page.
pub(super) const SCRIPTS_BYTES_MAX: usize = 256 * 1024;

/// Maximum length in bytes of a text that is kept; names and dates are shorter.
const TEXT_BYTES_MAX: usize = 512;

/// Maximum number of nodes of a script that are searched for pages and people.
const NODES_MAX: usize = 64;

/// Maximum number of brackets in a script at which its value may begin, after comments.
const STARTS_MAX: usize = 4;

/// An object of linked data.
type Node = Map<String, Value>;

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

/// Returns `source` with its character references decoded, if all of its quotation marks are references: a program has
/// escaped the script like text.
fn unescaped(source: &str) -> Cow<'_, str> {
    let is_escaped = source.contains('&') && !source.contains('"');
    if !is_escaped {
        return Cow::Borrowed(source);
    }
    Cow::Owned(entities::decoded(source))
}

/// Returns the first value of `source` that is a list or an object. Comments and marks that hide scripts from old browsers
/// and XML may be around it.
fn value_in(source: &str) -> Option<Value> {
    let starts = source.match_indices(['{', '[']).take(STARTS_MAX).map(|(at, _)| &source[at..]);
    let mut parsed = starts.filter_map(|text| parse(text).or_else(|| parse(&repaired(text))));
    let holds_node = |value: &Value| match value {
        Value::Array(values) => values.iter().any(Value::is_object),
        value => value.is_object(),
    };
    parsed.find(holds_node)
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
    /// Adds what the script `source` says about its page, unless another script has said it.
    pub(super) fn read(&mut self, source: &str) {
        let wanted = ["author", "datePublished", "pubDate", "publisher", "creator"];
        if !wanted.iter().any(|word| source.contains(word)) {
            return;
        }
        let value = value_in(&unescaped(source)).unwrap_or_default();
        let mut nodes = Vec::new();
        flatten(&value, &mut nodes);
        // Articles come first, then other pages.
        for kind in [is_article, is_page] {
            nodes.iter().filter(|node| kind(node)).for_each(|node| self.add(node, &nodes));
        }
    }

    fn add(&mut self, node: &Node, all: &[&Node]) {
        let names = |values: Vec<&Value>| -> Vec<String> {
            values.into_iter().filter_map(|value| named(value, all)).take(Metadata::AUTHORS_MAX).collect()
        };
        let first = |field: &str| several(get(node, field)).into_iter().find_map(|value| named(value, all));
        let written = |field: &str| get(node, field).and_then(text);
        if self.authors.is_empty() {
            let authors = several(get(node, "author").or_else(|| get(node, "creator")));
            let is_organisation =
                |value: &&Value| value.as_object().is_some_and(|node| is_any(node, &["Organization"]));
            let (organisations, people) = authors.into_iter().partition(is_organisation);
            (self.authors, self.organisations) = (names(people), names(organisations));
        }
        self.source = self.source.take().or_else(|| first("sourceOrganization"));
        self.publisher = self.publisher.take().or_else(|| first("publisher"));
        let published = || written("datePublished").or_else(|| written("pubDate"));
        self.published = self.published.take().or_else(published);
        self.language = self.language.take().or_else(|| written("inLanguage"));
    }
}

/// Returns the value of a field, whose name may have the vocabulary before it.
fn get<'a>(node: &'a Node, field: &str) -> Option<&'a Value> {
    let vocabularies = ["", "schema:", "http://schema.org/", "https://schema.org/"];
    vocabularies.iter().find_map(|vocabulary| node.get(&format!("{vocabulary}{field}")))
}

/// Returns the values of a list, or the only value.
fn several(value: Option<&Value>) -> Vec<&Value> {
    match value {
        Some(Value::Array(values)) => values.iter().collect(),
        value => value.into_iter().collect(),
    }
}

/// Returns a value that is a text, or the first text of a list.
fn text(value: &Value) -> Option<String> {
    let text = match value {
        Value::String(text) => text.trim(),
        Value::Array(values) => return values.iter().find_map(text),
        Value::Object(node) => node.get("@value")?.as_str()?.trim(),
        _ => return None,
    };
    (!text.is_empty() && text.len() <= TEXT_BYTES_MAX).then(|| text.to_owned())
}

/// Returns the name of a person or organisation, which may be a reference to another node.
fn named(value: &Value, all: &[&Node]) -> Option<String> {
    let name = |node: &Node| get(node, "name").and_then(text);
    let by_id = || {
        let id = value.get("@id")?;
        all.iter().filter(|other| other.get("@id") == Some(id)).find_map(|other| name(other))
    };
    text(value).or_else(|| name(value.as_object()?)).or_else(by_id)
}

/// Returns true if the type of a node ends with one of `kinds`.
fn is_any(node: &Node, kinds: &[&str]) -> bool {
    let mut types = several(node.get("@type")).into_iter().filter_map(Value::as_str);
    types.any(|found| kinds.iter().any(|kind| found.ends_with(kind)))
}

fn is_article(node: &Node) -> bool {
    let kinds = ["Article", "BlogPosting", "Report", "Posting", "Recipe", "Review", "Reportage"];
    is_any(node, &kinds)
}

/// Returns true if a node may be the page: not a person, a site or a list of other pages.
fn is_page(node: &Node) -> bool {
    let others =
        ["Person", "Organization", "WebSite", "ImageObject", "BreadcrumbList", "Comment", "Product", "Offer"];
    !is_any(node, &others)
}

/// Appends the objects in `value`, in a list or a graph, in order, up to [`NODES_MAX`] in all.
fn flatten<'a>(value: &'a Value, nodes: &mut Vec<&'a Node>) {
    if nodes.len() >= NODES_MAX {
        return;
    }
    let node = match value {
        Value::Object(node) => node,
        Value::Array(values) => return values.iter().for_each(|value| flatten(value, nodes)),
        _ => return,
    };
    nodes.push(node);
    for field in ["@graph", "mainEntity", "mainEntityOfPage"] {
        several(get(node, field)).into_iter().for_each(|value| flatten(value, nodes));
    }
}

fn parse(text: &str) -> Option<Value> {
    // Text after the value is ignored.
    serde_json::Deserializer::from_str(text).into_iter().next()?.ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(source: &str) -> LinkedData {
        let mut found = LinkedData::default();
        found.read(source);
        found
    }

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
        assert_eq!(found, expected);
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
        ] {
            let found = read(&source);
            assert_eq!(found.authors, ["Jane Doe"], "{source}");
            assert_eq!(found.published.as_deref(), Some("2026-05-03"), "{source}");
        }
        let text = r#"{"@type":"Article","author":"A, ] // \" B",}"#;
        assert_eq!(read(text).authors, [r#"A, ] // " B"#]);
    }

    #[test]
    fn broken_and_hostile_scripts_give_nothing_or_less() {
        let with_line_breaks = "{\"@type\":\"Article\",\"headline\":\"a\nb\",\"author\":\"Jane\tDoe\"}";
        assert_eq!(read(with_line_breaks).authors, ["Jane Doe"]);
        assert_eq!(read(r#"[{"@type":"Comment","author":"A Reader"}]"#), LinkedData::default());
        for text in ["", "{", "null", "\"author\"", "{\"author\":", "{\"author\":null,\"publisher\":7}"] {
            assert_eq!(read(text), LinkedData::default(), "{text}");
        }
        let deep = format!("{{\"author\":{}", "[".repeat(100_000));
        assert_eq!(read(&deep), LinkedData::default());
        let long = format!("{{\"author\":\"{}\"}}", "x".repeat(10_000));
        assert_eq!(read(&long), LinkedData::default());
        let many = format!("{{\"author\":[{}\"y\"]}}", "\"x\",".repeat(10_000));
        assert_eq!(read(&many).authors.len(), Metadata::AUTHORS_MAX);
    }
}
