//! Splits markup into calls of the [`Builder`]: text, start tags with the attributes that matter, end tags.
//!
//! In: a page. Out: calls in the order of the page. It follows the HTML standard's tokenizer wherever the text depends
//! on it: quotes in attributes, bogus comments, raw text of scripts and styles, tags cut off by the end of the page.
//! Cost: one pass; vectorised search skips text, attribute values, comments and scripts, and nothing is allocated.

use std::ops::Range;

use memchr::{memchr, memchr2, memchr3_iter, memmem};

use crate::extract::config::ExtractError;
use crate::extract::parse::Builder;
use crate::extract::parse::count::is_white;
use crate::extract::parse::entities;
use crate::extract::parse::tag::{Tag, flag};

/// The attribute values of one start tag that are used.
#[derive(Debug, Clone, Copy, Default)]
pub(in crate::extract) struct Attributes<'a> {
    pub(in crate::extract) class: &'a [u8],
    pub(in crate::extract) id: &'a [u8],
    pub(in crate::extract) style: &'a [u8],
    pub(in crate::extract) role: &'a [u8],
    pub(in crate::extract) itemprop: &'a [u8],
    pub(in crate::extract) rel: &'a [u8],
    pub(in crate::extract) lang: &'a [u8],
    pub(in crate::extract) datetime: &'a [u8],
    /// `property`, `name` or `http-equiv` of `<meta>`.
    pub(in crate::extract) property: &'a [u8],
    pub(in crate::extract) content: &'a [u8],
    /// Offset of `content` in the page.
    pub(in crate::extract) content_start: usize,
    /// `type` of scripts.
    pub(in crate::extract) kind: &'a [u8],
    /// Offset of the tag in the page.
    pub(in crate::extract) start: usize,
    /// `hidden` or `aria-hidden=true`.
    pub(in crate::extract) hidden: bool,
    /// `open`, without which a `<dialog>` is not shown.
    pub(in crate::extract) open: bool,
    /// `srcdoc` of `<iframe>`, a page within the page.
    pub(in crate::extract) srcdoc: &'a [u8],
    /// `href`; empty if the attribute is missing or empty, which `linked` distinguishes.
    pub(in crate::extract) href: &'a [u8],
    /// True if there is an `href`.
    pub(in crate::extract) linked: bool,
    /// True if the tag ends with `/>`.
    pub(in crate::extract) self_closing: bool,
    /// `shadowrootmode=open` or `closed` of `<template>`, whose content is shown. Saved pages may have the former name
    /// of the attribute, `shadowroot`.
    pub(in crate::extract) shadow: bool,
}

/// Reads all of `html` into `builder`.
pub(in crate::extract) fn scan(html: &[u8], builder: &mut Builder<'_>) -> Result<(), ExtractError> {
    let mut at = 0;
    while at < html.len() {
        // White space is most of the text between tags.
        let start = at;
        while at < html.len() && is_white(html[at]) {
            at += 1;
        }
        if html.get(at) != Some(&b'<') {
            at += memchr(b'<', &html[at..]).unwrap_or(html.len() - at);
            text(html, start, at, builder);
        } else if at > start {
            builder.white(start, at);
        }
        if at < html.len() {
            at = markup(html, at, builder)?;
        }
    }
    builder.finish();
    Ok(())
}

/// Reads the text from `start` to `end`, without the places that a script fills if this is a template.
fn text(html: &[u8], mut start: usize, end: usize, builder: &mut Builder<'_>) {
    while builder.leaves_out_places()
        && let Some(place) = place_in(&html[start..end])
    {
        builder.text(start, start + place.start);
        start += place.end;
    }
    builder.text(start, end);
}

/// Reads the markup that begins with the `<` at `at`. Returns its end.
fn markup(html: &[u8], at: usize, builder: &mut Builder<'_>) -> Result<usize, ExtractError> {
    match html.get(at + 1) {
        Some(byte) if byte.is_ascii_alphabetic() => start_tag(html, at + 1, builder),
        Some(b'/') => Ok(end_tag(html, at + 2, builder)),
        Some(b'!')
            if (builder.is_in_foreign() || builder.is_xml()) && html[at + 2..].starts_with(b"[CDATA[") =>
        {
            Ok(character_data(html, at + 9, builder))
        }
        Some(b'!') => Ok(declaration(html, at + 2)),
        Some(b'%') if builder.leaves_out_places() => Ok(at + place_at(&html[at..]).unwrap_or(1)),
        Some(b'?') if builder.is_xml() => Ok(after_instruction(html, at + 2)),
        Some(b'?') => Ok(after_angle(html, at + 2)),
        _ => {
            // A `<` that does not open a tag is text.
            builder.text(at, at + 1);
            Ok(at + 1)
        }
    }
}

/// Returns the offset after the next `>`.
fn after_angle(html: &[u8], at: usize) -> usize {
    memchr(b'>', &html[at..]).map_or(html.len(), |found| at + found + 1)
}

/// Returns the offset after the next `?>`, which ends an instruction in XML.
fn after_instruction(html: &[u8], at: usize) -> usize {
    memmem::find(&html[at..], b"?>").map_or(html.len(), |found| at + found + 2)
}

/// Reads a comment, a document type or a bogus comment.
fn declaration(html: &[u8], at: usize) -> usize {
    let rest = &html[at..];
    let Some(comment) = rest.strip_prefix(b"--") else { return after_angle(html, at) };
    // `<!-->` and `<!--->` are comments too.
    if comment.starts_with(b">") {
        return at + 3;
    }
    if comment.starts_with(b"->") {
        return at + 4;
    }
    let mut from = at + 2;
    while let Some(found) = memmem::find(&html[from..], b"--") {
        let end = from + found + 2;
        match html.get(end) {
            Some(b'>') => return end + 1,
            Some(b'!') if html.get(end + 1) == Some(&b'>') => return end + 2,
            _ => from = end - 1,
        }
    }
    html.len()
}

/// Reads text after `<![CDATA[`, from `at`. In HTML only drawings and formulas have it.
fn character_data(html: &[u8], at: usize, builder: &mut Builder<'_>) -> usize {
    let length = memmem::find(&html[at..], b"]]>").unwrap_or(html.len() - at);
    builder.text(at, at + length);
    (at + length + 3).min(html.len())
}

/// Reads an end tag whose name begins at `at`.
fn end_tag(html: &[u8], at: usize, builder: &mut Builder<'_>) -> usize {
    match html.get(at) {
        Some(byte) if byte.is_ascii_alphabetic() => {
            let end = name_end(html, at);
            builder.end(Tag::from_name(&html[at..end]));
            if html.get(end) == Some(&b'>') {
                end + 1
            } else {
                attributes(html, end, &mut Attributes::default())
            }
        }
        // `</>` is ignored; `</` followed by anything else is a bogus comment.
        Some(_) => after_angle(html, at),
        None => {
            builder.text(at - 2, at);
            html.len()
        }
    }
}

fn start_tag(html: &[u8], at: usize, builder: &mut Builder<'_>) -> Result<usize, ExtractError> {
    let name = name_end(html, at);
    let tag = Tag::from_name(&html[at..name]);
    let mut found = Attributes { start: at, ..Attributes::default() };
    let end = if html.get(name) == Some(&b'>') { name + 1 } else { attributes(html, name, &mut found) };
    if end > html.len() {
        // The standard drops a tag that the end of the page cuts off.
        return Ok(html.len());
    }
    if builder.is_in_foreign() {
        builder.start(tag, &found)?;
        return Ok(end);
    }
    if builder.reads_all_hidden() && may_hold_page(html, tag, found.kind, end, builder.reads_templates()) {
        return Ok(end);
    }
    if found.self_closing && builder.is_xml() && !tag.is(flag::VOID) {
        if !tag.is(flag::RAW) {
            builder.start(tag, &found)?;
            // Drawings and formulas that close themselves are not opened.
            if !matches!(tag, Tag::Svg | Tag::Math) {
                builder.end(tag);
            }
        }
        return Ok(end);
    }
    if tag.is(flag::RAW) {
        builder.close_select(tag);
        let close = match tag {
            Tag::Script => script_end(html, end, &html[at..name]),
            _ if builder.is_unended(tag) => html.len(),
            _ => raw_text_end(html, end, &html[at..name]),
        };
        if found.self_closing && close == html.len() && builder.closes_itself() {
            return Ok(end);
        }
        if close == html.len() && builder.passes_unended(tag) {
            let next = memchr(b'<', &html[end..]).map_or(close, |found| end + found);
            if tag == Tag::Title {
                builder.title(end, next);
            }
            return Ok(next);
        }
        if tag == Tag::Title {
            builder.title(end, close);
        } else if tag == Tag::Script && is_type(found.kind, "application/ld+json") {
            builder.linked_data(end, close);
        } else if tag == Tag::Script && found.kind.starts_with(b"math/tex") {
            builder.formula(end, close);
        } else if tag == Tag::Iframe {
            builder.inner_page(found.srcdoc);
        }
        return Ok(after_end_tag(html, close));
    }
    builder.start(tag, &found)?;
    if matches!(tag, Tag::Xmp | Tag::Plaintext) {
        // Markup within these elements is text; `<plaintext>` has no end.
        let close = if tag == Tag::Xmp { raw_text_end(html, end, &html[at..name]) } else { html.len() };
        builder.text(end, close);
        builder.end(tag);
        return Ok(after_end_tag(html, close));
    }
    Ok(end)
}

/// Parts of the types of scripts that hold markup or text, which another script shows.
const TEMPLATES: [&str; 8] =
    ["template", "tmpl", "html", "plain", "handlebars", "mustache", "text/markdown", "text/x-markdown"];

/// Begins and ends of places in a template that a script fills.
const PLACES: [(&[u8], &[u8]); 4] = [(b"{{", b"}}"), (b"{%", b"%}"), (b"${", b"}"), (b"<%", b"%>")];

/// Maximum length in bytes of such a place.
const PLACE_BYTES_MAX: usize = 1024;

/// Returns the length of the place that a script fills at the start of `text`; `{{{html}}}` is one place.
fn place_at(text: &[u8]) -> Option<usize> {
    let (begin, end) = PLACES.iter().find(|(begin, _)| text.starts_with(begin))?;
    let text = &text[..text.len().min(PLACE_BYTES_MAX)];
    let length = begin.len() + memmem::find(&text[begin.len()..], end)? + end.len();
    Some(length + text[length..].iter().take_while(|byte| **byte == b'}').count())
}

/// Returns the range of the first place in `text` that a script fills.
fn place_in(text: &[u8]) -> Option<Range<usize>> {
    memchr3_iter(b'{', b'$', b'<', text).find_map(|at| Some(at..at + place_at(&text[at..])?))
}

/// Returns true if the element, whose content begins at `from`, may hold the text of a page that shows none: content for
/// browsers without scripts or frames, or the source of slides and documents that a script renders. A template with
/// places to fill may be part of the program, the same on all of a site's pages, so it is read last, `with_places`.
fn may_hold_page(html: &[u8], tag: Tag, kind: &[u8], from: usize, with_places: bool) -> bool {
    match tag {
        Tag::Noscript | Tag::Noframes | Tag::Noembed | Tag::Textarea => true,
        Tag::Script => {
            let kind = entities::decoded(&String::from_utf8_lossy(kind)).to_ascii_lowercase();
            kind.starts_with("text/")
                && TEMPLATES.iter().any(|template| kind.contains(template))
                && (with_places || place_in(&html[from..script_end(html, from, b"script")]).is_none())
        }
        _ => false,
    }
}

/// Returns true if `html` may have templates with places to fill.
pub(in crate::extract) fn has_templates(html: &str) -> bool {
    ["<template", "text/"].iter().any(|mark| memmem::find(html.as_bytes(), mark.as_bytes()).is_some())
        && place_in(html.as_bytes()).is_some()
}

/// Returns true if a script's type is `wanted`, with or without parameters.
fn is_type(kind: &[u8], wanted: &str) -> bool {
    let is = |kind: &str| kind.split(';').next().is_some_and(|kind| kind.trim().eq_ignore_ascii_case(wanted));
    let Ok(kind) = std::str::from_utf8(kind) else { return false };
    if !kind.contains('&') {
        return is(kind);
    }
    is(&entities::decoded(kind))
}

/// Returns the offset after the end tag that begins at `close`, if there is one.
fn after_end_tag(html: &[u8], close: usize) -> usize {
    if close >= html.len() {
        return html.len();
    }
    attributes(html, name_end(html, close + 2), &mut Attributes::default()).min(html.len())
}

fn name_end(html: &[u8], at: usize) -> usize {
    let ends = |byte: &u8| is_white(*byte) || matches!(byte, b'>' | b'/');
    html[at..].iter().position(ends).map_or(html.len(), |length| at + length)
}

/// Returns the offset of the end tag of the script that starts at `from`, or the page's end. Between `<!--` and `-->`,
/// a script may hold another one with its end tag (the standard's *double escaped* state).
fn script_end(html: &[u8], from: usize, name: &[u8]) -> usize {
    let first = raw_text_end(html, from, name);
    if memmem::find(&html[from..first], b"<!--").is_none() {
        return first;
    }
    let is_tag = |at: usize| {
        let name = html.get(at..at + 6).is_some_and(|name| name.eq_ignore_ascii_case(b"script"));
        name && html.get(at + 6).is_some_and(|byte| is_white(*byte) || matches!(byte, b'>' | b'/'))
    };
    let (mut escaped, mut nested) = (false, false);
    let mut at = from;
    while let Some(found) = memchr2(b'<', b'>', &html[at..]) {
        let (here, rest) = (at + found, &html[at + found..]);
        at = here + 1;
        if rest[0] == b'>' {
            if escaped && html[from..here].ends_with(b"--") {
                (escaped, nested) = (false, false);
            }
        } else if rest.starts_with(b"<!--") {
            escaped = true;
            at = here + 4;
        } else if rest.starts_with(b"</") && is_tag(here + 2) {
            if !nested {
                return here;
            }
            nested = false;
        } else if escaped && is_tag(here + 1) {
            nested = true;
        }
    }
    html.len()
}

/// Returns the offset of the end tag of a raw text element, or the page's end.
fn raw_text_end(html: &[u8], from: usize, name: &[u8]) -> usize {
    let mut at = from;
    while let Some(found) = memmem::find(&html[at..], b"</") {
        let start = at + found + 2;
        let end = start + name.len();
        if html.get(start..end).is_some_and(|found| found.eq_ignore_ascii_case(name))
            && html.get(end).is_none_or(|&byte| is_white(byte) || matches!(byte, b'>' | b'/'))
        {
            return start - 2;
        }
        at = start;
    }
    html.len()
}

/// Reads attributes up to the tag's `>`. Returns the offset after it, or more than the page's length if there is none.
fn attributes<'a>(html: &'a [u8], from: usize, found: &mut Attributes<'a>) -> usize {
    let mut self_closing = false;
    let end =
        each_attribute(html, from, &mut self_closing, |name, value, start| keep(found, name, value, start));
    found.self_closing |= self_closing;
    end
}

/// Returns the values of the attributes `names` of the tag whose name begins at `tag`, and an empty value for an
/// attribute that is missing. Used for the few attributes that are seldom needed.
pub(in crate::extract) fn values<'a, const N: usize>(
    html: &'a [u8],
    tag: usize,
    names: [&str; N],
) -> [&'a [u8]; N] {
    let mut values: [&[u8]; N] = [&[]; N];
    each_attribute(html, name_end(html, tag), &mut false, |name, value, _| {
        let wanted = names.iter().position(|wanted| name.eq_ignore_ascii_case(wanted.as_bytes()));
        if let Some(at) = wanted.filter(|at| values[*at].is_empty()) {
            values[at] = value;
        }
    });
    values
}

/// Returns true if the tag whose name begins at `tag` has the attribute, with or without a value.
pub(in crate::extract) fn has_attribute(html: &[u8], tag: usize, wanted: &str) -> bool {
    let mut has = false;
    each_attribute(html, name_end(html, tag), &mut false, |name, _, _| {
        has |= name.eq_ignore_ascii_case(wanted.as_bytes());
    });
    has
}

/// Calls `found` with the name, the value and the value's offset of each attribute up to the tag's `>`. Returns the
/// same offset as [`attributes`].
#[inline]
fn each_attribute<'a>(
    html: &'a [u8],
    from: usize,
    self_closing: &mut bool,
    mut found: impl FnMut(&[u8], &'a [u8], usize),
) -> usize {
    let mut at = from;
    loop {
        let mut value_start = 0;
        let gap = at;
        while at < html.len() && (is_white(html[at]) || html[at] == b'/') {
            at += 1;
        }
        match html.get(at) {
            None => return html.len() + 1,
            Some(b'>') => {
                *self_closing = at > gap && html[at - 1] == b'/';
                return at + 1;
            }
            Some(_) => {}
        }
        let name_start = at;
        // A `=` may be the first character of a name, but not a later one.
        at += 1;
        while at < html.len() && !is_white(html[at]) && !matches!(html[at], b'=' | b'>' | b'/') {
            at += 1;
        }
        let name = &html[name_start..at];
        while at < html.len() && is_white(html[at]) {
            at += 1;
        }
        let mut value: &[u8] = &[];
        if html.get(at) == Some(&b'=') {
            at += 1;
            while at < html.len() && is_white(html[at]) {
                at += 1;
            }
            match html.get(at) {
                Some(&quote @ (b'"' | b'\'')) => {
                    let Some(length) = memchr(quote, &html[at + 1..]) else { return html.len() + 1 };
                    value = &html[at + 1..at + 1 + length];
                    value_start = at + 1;
                    at += length + 2;
                }
                Some(b'>') | None => {}
                Some(_) => {
                    let length = unquoted_length(&html[at..]);
                    value = &html[at..at + length];
                    value_start = at;
                    at += length;
                }
            }
        }
        found(name, value, value_start);
    }
}

fn unquoted_length(rest: &[u8]) -> usize {
    let angle = memchr2(b'>', b' ', rest).unwrap_or(rest.len());
    rest[..angle].iter().position(|byte| is_white(*byte)).unwrap_or(angle)
}

/// Keeps the attribute if it is used; the first one of a name counts.
#[inline]
fn keep<'a>(found: &mut Attributes<'a>, name: &[u8], value: &'a [u8], start: usize) {
    let slot = match (name.len(), name[0] | 0x20) {
        (2, b'i') if name.eq_ignore_ascii_case(b"id") => &mut found.id,
        (5, b'c') if name.eq_ignore_ascii_case(b"class") => &mut found.class,
        (5, b's') if name.eq_ignore_ascii_case(b"style") => &mut found.style,
        (4, b'r') if name.eq_ignore_ascii_case(b"role") => &mut found.role,
        (4, b't') if name.eq_ignore_ascii_case(b"type") => &mut found.kind,
        (8, b'i') if name.eq_ignore_ascii_case(b"itemprop") => &mut found.itemprop,
        (8, b'p') if name.eq_ignore_ascii_case(b"property") => &mut found.property,
        (4, b'n') if name.eq_ignore_ascii_case(b"name") => &mut found.property,
        (7, b'c') if name.eq_ignore_ascii_case(b"content") => {
            found.content_start = start;
            &mut found.content
        }
        (4, b'h') if name.eq_ignore_ascii_case(b"href") => {
            found.linked = true;
            &mut found.href
        }
        (3, b'r') if name.eq_ignore_ascii_case(b"rel") => &mut found.rel,
        (4, b'l') if name.eq_ignore_ascii_case(b"lang") => &mut found.lang,
        (8, b'd') if name.eq_ignore_ascii_case(b"datetime") => &mut found.datetime,
        (10, b'h') if name.eq_ignore_ascii_case(b"http-equiv") => &mut found.property,
        (14 | 10, b's')
            if name.eq_ignore_ascii_case(b"shadowrootmode") || name.eq_ignore_ascii_case(b"shadowroot") =>
        {
            found.shadow |= value.eq_ignore_ascii_case(b"open") || value.eq_ignore_ascii_case(b"closed");
            return;
        }
        (6, b'h') if name.eq_ignore_ascii_case(b"hidden") => {
            found.hidden |= !value.eq_ignore_ascii_case(b"until-found");
            return;
        }
        (4, b'o') if name.eq_ignore_ascii_case(b"open") => {
            found.open = true;
            return;
        }
        (6, b's') if name.eq_ignore_ascii_case(b"srcdoc") => &mut found.srcdoc,
        (11, b'a') if name.eq_ignore_ascii_case(b"aria-hidden") => {
            found.hidden |= value.eq_ignore_ascii_case(b"true");
            return;
        }
        _ => return,
    };
    if slot.is_empty() {
        *slot = value;
    }
}
