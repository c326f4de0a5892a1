//! Finds a page's text in the state from which a script would build the page: `__NEXT_DATA__`, `window.__NUXT__`,
//! `data-page`, `data-preloaded` and the like.
//!
//! In: the page and its tree. Out: paragraphs; none unless something shows that a string is this page's text. Either it
//! contains the page's description, or it is named like a text and in an object with the page's title. State without
//! such a string is ignored: pages of one application share messages and terms there, and would all be copies of one
//! another. Editors keep paragraphs as strings of their own, which are found by their common name. Cost: linear in the
//! page, times the few levels and titles that are tried. Memory: twice the length of the state, and some 20 MB for
//! strings and objects at most.

use std::borrow::Cow;
use std::collections::HashMap;

use crate::extract::document::Paragraph;
use crate::extract::main_text::features::described::Described;
use crate::extract::main_text::in_data::{TEXT_BYTES_MIN, paragraphs};
use crate::extract::main_text::json::{Json, PARTS_MAX, Value, string_end, unescaped};
use crate::extract::main_text::{PROSE_MIN, title};
use crate::extract::parse::entities::decoded;
use crate::extract::parse::segment::Segment;
use crate::extract::parse::text::single_spaced;
use crate::extract::parse::tree::Tree;

/// Minimum share of the page's description, in thousandths, that a string must contain.
const DESCRIBED_SHARE_MIN: i16 = 250;

/// Number of bytes by which a string may be longer than the description and still count as the same text: they may be
/// markup.
const MARKUP_BYTES: usize = 20;

/// The name of the field that holds a post's text in threads of Discourse.
const POST: &str = "cooked";

/// Parts of names of fields with text, in lower case.
const BODY_NAMES: [&str; 10] =
    ["article", "body", "children", "content", "html", "markdown", "paragraph", "rendered", "text", "value"];

/// Minimum length of a title in bytes. Shorter ones may be in an object by chance.
const TITLE_BYTES_MIN: usize = 12;
/// Maximum number of objects with the page's title that are examined.
const TITLES_MAX: usize = 16;
/// Maximum number of levels from a paragraph up to the object that holds all of them.
const LEVELS_MAX: usize = 4;
/// Minimum bytes of a string that counts as prose, if it has the end of a sentence.
const PROSE_BYTES_MIN: usize = 60;
/// Maximum number of levels of JSON within strings of JSON.
const INNER_LEVELS_MAX: usize = 3;

/// Returns the text in the state of the scripts and attributes of `html`.
pub(super) fn text(html: &str, tree: &Tree) -> Vec<Paragraph> {
    text_within(html, tree, &sources(html), Vec::new(), INNER_LEVELS_MAX)
}

/// Returns the text in `states`, in `sources`, and in the JSON within strings of `sources`, up to `levels` deep.
fn text_within<'a>(
    html: &str,
    tree: &Tree,
    sources: &'a [Cow<'_, str>],
    mut states: Vec<Json<'a>>,
    levels: usize,
) -> Vec<Paragraph> {
    let known = states.len();
    let mut parts: usize = states.iter().map(Json::parts).sum();
    let within_room = |state: &Json<'_>| {
        parts += state.parts();
        parts <= 2 * PARTS_MAX
    };
    states.extend(sources.iter().map(|source| Json::parse(source)).take_while(within_room));
    let new = &states[known..];
    if levels > 0 && new.len() == sources.len() {
        let inner: Vec<_> = new.iter().flat_map(Json::inner).map(Cow::Owned).collect();
        if !inner.is_empty() {
            return text_within(html, tree, &inner, states, levels - 1);
        }
    }
    text_of_states(html, tree, &states)
}

/// Returns the text in `states` that the page's title or description shows to be its text.
fn text_of_states(html: &str, tree: &Tree, states: &[Json<'_>]) -> Vec<Paragraph> {
    let by_title = title::find(html, tree).map_or_else(Vec::new, |title| by_title(states, &title));
    let range = |segment: Segment| html.get(segment.range());
    let descriptions = tree.head.descriptions.into_iter().flatten().filter_map(range);
    let descriptions: Vec<&[u8]> = descriptions.map(str::as_bytes).collect();
    let by_description = by_description(states, &descriptions);
    let bytes = |paragraphs: &[Paragraph]| paragraphs.iter().map(|one| one.text.len()).sum::<usize>();
    if bytes(&by_title) > bytes(&by_description) { by_title } else { by_description }
}

/// Returns the state that Next.js sends in strings of several scripts, `self.__next_f.push([1,"…"])`: rows of JSON. A
/// long string has a row of its own, `5:T2f0,…`, which replaces the reference to it, `"$5"`.
fn flight(html: &str) -> Option<String> {
    let mut stream = String::new();
    let mut rest = html;
    while let Some((_, piece)) = rest.split_once("__next_f").and_then(|(_, rest)| rest.split_once("push([1,"))
    {
        rest = piece.trim_start();
        let Some(piece) = rest.strip_prefix('"') else { continue };
        let Some(end) = string_end(piece.as_bytes(), 0) else { break };
        stream.push_str(&unescaped(&piece[..end]).unwrap_or_default());
        rest = &piece[end..];
    }
    let (mut rows, mut texts) = (String::new(), HashMap::new());
    let mut rest = stream.as_str();
    while !rest.is_empty() {
        let line = rest.split_inclusive('\n').next().unwrap_or(rest);
        let text = line.split_once(":T").and_then(|(id, row)| {
            let length = usize::from_str_radix(row.split_once(',')?.0, 16).ok()?;
            let start = id.len() + row.find(',')? + ":T,".len();
            Some((id, rest.get(start..start.checked_add(length)?)?, start + length))
        });
        if let Some((id, text, end)) = text {
            texts.insert(id, serde_json::json!(text).to_string());
            rest = &rest[end..];
        } else {
            rows.push_str(line.split_once(':').map_or(line, |(_, row)| row));
            rest = &rest[line.len()..];
        }
    }
    let mut state = String::with_capacity(stream.len());
    for (at, part) in rows.split("\"$").enumerate() {
        match part.split_once('"').filter(|_| at > 0) {
            // An element, `["$","p",null,{…}]`, is its properties.
            Some(("", properties)) => state.push_str(properties.find('{').map_or("", |at| &properties[at..])),
            Some((id, after)) if let Some(text) = texts.remove(id) => state.extend([text.as_str(), after]),
            _ => state.extend([if at > 0 { "\"$" } else { "" }, part]),
        }
    }
    (!state.is_empty()).then_some(state)
}

/// Returns the inline scripts of `html`, and the attributes that hold JSON, without their references.
fn sources(html: &str) -> Vec<Cow<'_, str>> {
    let mut found: Vec<Cow<'_, str>> = flight(html).map(Cow::Owned).into_iter().collect();
    let mut rest = html;
    while let Some(at) = memchr::memmem::find(rest.as_bytes(), b"<script") {
        rest = &rest[at..];
        let Some((tag, after)) = rest.split_once('>') else { break };
        let (content, after) = after.split_once("</script").unwrap_or((after, ""));
        if content.len() >= TEXT_BYTES_MIN && !tag.contains("ld+json") && !content.contains("__next_f") {
            // Angular writes references of its own.
            found.push(match content.contains("&q;") {
                true => Cow::Owned(content.replace("&q;", "\"").replace("&l;", "<").replace("&g;", ">")),
                false => Cow::Borrowed(content),
            });
        }
        rest = after;
    }
    for (begin, quote) in [("=\"{", '"'), ("='{", '\''), ("=\"[", '"'), ("='[", '\'')] {
        let mut rest = html;
        while let Some((_, after)) = rest.split_once(begin) {
            let (value, after) = after.split_once(quote).unwrap_or((after, ""));
            if value.len() >= TEXT_BYTES_MIN {
                found.push(Cow::Owned(decoded(value)));
            }
            rest = after;
        }
    }
    found
}

/// Returns the longest text that contains enough of `descriptions`. If the string with the description is a post or a
/// paragraph, the other posts or paragraphs are part of the text.
fn by_description(states: &[Json<'_>], descriptions: &[&[u8]]) -> Vec<Paragraph> {
    // The state of many pages repeats the description itself.
    let repeated = descriptions.iter().map(|one| one.len() + MARKUP_BYTES).max().unwrap_or_default();
    let texts: Vec<(&Json<'_>, &Value<'_>)> = states
        .iter()
        .flat_map(|state| state.values.iter().map(move |value| (state, value)))
        .filter(|(_, value)| value.text.len() >= TEXT_BYTES_MIN && !is_nested(value.text))
        .filter(|(_, value)| is_body(value.name) || value.name == POST || value.text.len() > repeated)
        .collect();
    let mut described = Described::default();
    described.gather(
        descriptions.iter().copied(),
        std::iter::empty(),
        texts.iter().map(|(_, value)| value.text.as_bytes()),
    );
    let found = texts.iter().zip(&described.shares).filter(|(_, shares)| shares[1] >= DESCRIBED_SHARE_MIN);
    let Some(((state, value), _)) = found.max_by_key(|((_, value), _)| value.text.len()) else {
        return Vec::new();
    };
    if value.name == POST {
        let posts = states.iter().flat_map(|state| &state.values).filter(|value| value.name == POST);
        return posts.flat_map(|post| paragraphs(post.text)).collect();
    }
    if is_body(value.name) && value.text.len() < PROSE_MIN as usize {
        let mut object = value.object;
        for _ in 0..LEVELS_MAX {
            let parts = state.named(object, value.name);
            let (prose, bytes) =
                (prose_bytes(&parts), parts.iter().map(|part| part.text.len()).sum::<usize>());
            if prose >= PROSE_MIN as usize && prose * 2 > bytes {
                return parts.into_iter().flat_map(|part| paragraphs(part.text)).collect();
            }
            object = state.objects[object].parent;
        }
    }
    // Neither a repeated description nor a list of the page's `<meta>` is a text.
    if value.text.len() > repeated { paragraphs(value.text) } else { Vec::new() }
}

/// Returns the longest text that is in an object with the page's title.
fn by_title(states: &[Json<'_>], title: &str) -> Vec<Paragraph> {
    if title.len() < TITLE_BYTES_MIN {
        return Vec::new();
    }
    // The page's title may end with the site's name. Escapes make a string up to six times as long.
    let is_title = |value: &Value<'_>| {
        (TITLE_BYTES_MIN.max(title.len() / 2)..=title.len() * 6 + 100).contains(&value.text.len())
            && unescaped(value.text).is_some_and(|text| {
                let text = single_spaced(&decoded(&text));
                text.len() * 2 >= title.len() && title.starts_with(&text)
            })
    };
    let titles = states.iter().flat_map(|state| {
        state.values.iter().filter(|value| is_title(value)).map(move |title| (state, title.object))
    });
    let texts = titles.take(TITLES_MAX).map(|(state, object)| state.text_of(object));
    texts.max_by_key(|(bytes, _)| *bytes).map_or_else(Vec::new, |(_, text)| text)
}

impl Json<'_> {
    /// Returns the JSON in strings of this source.
    fn inner(&self) -> Vec<String> {
        let inner =
            self.values.iter().filter(|value| value.text.len() >= TEXT_BYTES_MIN && is_nested(value.text));
        inner.filter_map(|value| unescaped(value.text)).collect()
    }

    /// Returns the strings of this name in `object`.
    fn named(&self, object: usize, name: &str) -> Vec<Value<'_>> {
        let values = &self.values[self.objects[object].values.clone()];
        values.iter().filter(|value| value.name == name && !is_nested(value.text)).copied().collect()
    }

    /// Returns the text in `object` and its length in bytes: the longest string, or all strings of one name.
    fn text_of(&self, object: usize) -> (usize, Vec<Paragraph>) {
        let mut by_name: HashMap<&str, usize> = HashMap::new();
        for value in &self.values[self.objects[object].values.clone()] {
            if is_body(value.name) && is_sentence(value.text) {
                *by_name.entry(value.name).or_default() += value.text.len();
            }
        }
        let longest = by_name.into_iter().max_by_key(|(name, bytes)| (*bytes, *name));
        let Some((name, bytes)) = longest.filter(|(_, bytes)| *bytes >= PROSE_MIN as usize) else {
            return (0, Vec::new());
        };
        let parts = self.named(object, name);
        let whole = parts.iter().max_by_key(|part| part.text.len());
        // A string with markup or several lines is the whole text; others of the same name belong to other articles.
        let is_whole = |part: &&Value<'_>| {
            (part.text.contains('<') || part.text.contains("\\n")) && part.text.len() >= PROSE_MIN as usize
        };
        match whole.filter(is_whole) {
            Some(whole) => (whole.text.len(), paragraphs(whole.text)),
            None => (bytes, parts.into_iter().flat_map(|part| paragraphs(part.text)).collect()),
        }
    }
}

/// Returns true if the string is JSON itself.
fn is_nested(text: &str) -> bool {
    text.starts_with(['{', '['])
}

fn is_body(name: &str) -> bool {
    let name = name.to_ascii_lowercase();
    BODY_NAMES.iter().any(|body| name.contains(body))
}

/// Returns true if the string has the length of a sentence and the end of one.
fn is_sentence(text: &str) -> bool {
    text.len() >= PROSE_BYTES_MIN
        && !is_nested(text)
        && (text.contains([' ', '\u{3002}', '\u{ff0c}']) || text.contains("\\u3002"))
        && (text.contains(['.', '!', '?', '\u{3002}', '\u{ff01}', '\u{ff1f}', '\u{964}', '\u{61f}'])
            || text.contains("\\u3002"))
}

fn prose_bytes(values: &[Value<'_>]) -> usize {
    values.iter().filter(|value| is_sentence(value.text)).map(|value| value.text.len()).sum()
}

#[cfg(test)]
mod tests {
    use crate::extract::{ExtractConfig, extract};
    use crate::lost_text_tests::SENTENCES;

    const TERMS: &str =
        "These terms govern the use of the service, and everybody who uses it agrees to them in full. ";

    fn found(head: &str, body: &str) -> usize {
        let html = format!(
            "<title>The last ferry of October - Bay News</title>{head}<body><div id=app></div>{body}"
        );
        let text = extract(&html, &ExtractConfig::default()).expect("within the limits").text();
        assert!(!text.contains("govern"), "{text}");
        SENTENCES.iter().filter(|sentence| text.contains(*sentence)).count()
    }

    /// The state of these frameworks is not a script of JSON, or their pages have no description. The text must be
    /// found nevertheless.
    #[test]
    fn a_text_is_found_in_the_state_by_its_title_or_description() {
        let html = SENTENCES.map(|sentence| format!("<p>{sentence}<\\/p>")).concat();
        let blocks = SENTENCES
            .map(|sentence| format!(r#"{{"type":"paragraph","children":[{{"text":"{sentence}"}}]}}"#));
        let rest = format!(
            r#""nav":[{{"title":"Home","text":"All news."}}],"terms":{{"html":"{}"}}"#,
            TERMS.repeat(20)
        );
        let title = r#""title":"The last ferry of October""#;
        let data = format!(r#"{{"page":{{"post":{{{title},"id":4,"html":"{html}"}},{rest}}}}}"#);
        let blocks = format!(r#"{{"page":{{"post":{{{title},"body":[{}]}},{rest}}}}}"#, blocks.join(","));
        let flight =
            SENTENCES.map(|sentence| format!(r#"[\"$\",\"p\",null,{{\"children\":\"{sentence}\"}}]"#));
        let described = format!("<meta name=description content='{}'>", SENTENCES[0]);
        let title_row = title.replace('"', "\\\"");
        let html_text = html.replace("<\\/", "</");
        let (length, (begin, end)) = (html_text.len(), html_text.split_at(300));
        for (head, body) in [
            ("", format!("<script id=__NEXT_DATA__ type=application/json>{data}</script>")),
            ("", format!("<script id=__NEXT_DATA__ type=application/json>{blocks}</script>")),
            (&described, format!("<script id=__NEXT_DATA__ type=application/json>{blocks}</script>")),
            ("", format!("<script>window.__INITIAL_STATE__ = {data};</script>")),
            (
                "",
                format!(
                    "<script>window.__NUXT__=(function(a){{return {{data:[{{post:{{title:\"The last ferry of October\",\
                     id:a,body:\"{}\"}}}}]}}}}(1));</script>",
                    html.replace('<', "\\u003C")
                ),
            ),
            ("", format!("<main data-page=\"{}\"></main>", data.replace('"', "&quot;"))),
            ("", format!("<script>window.state = JSON.parse({});</script>", serde_json::json!(data))),
            ("", format!("<script id=ng-state type=application/json>{}</script>", data.replace('"', "&q;"))),
            (
                &described,
                format!(
                    "<script>self.__next_f.push([1,\"5:[\\\"$\\\",\\\"div\\\",null,{{\\\"children\\\":[{}]}}]\"])</script>",
                    flight.join(",")
                ),
            ),
            (
                "",
                format!(
                    "<script>self.__next_f.push([1, \"1:{{{title_row},\\\"id\\\":4,\\\"body\\\":\\\"$a\\\"}}\\na:T{length:x},{begin}\"])\
                     </script><script>self.__next_f.push([1,\"{end}2:[]\"])</script>"
                ),
            ),
        ] {
            assert_eq!(found(head, &body), SENTENCES.len(), "{body}");
        }
        // Without title and description nothing shows that the text is this page's.
        let other = data.replace("last ferry", "first ferry");
        assert_eq!(found("", &format!("<script>window.state = {other};</script>")), 0);
    }
}
