//! Puts the parts of a page that React sends later into their places, as its script does in a browser.
//!
//! In: a page. Out: the page with the content of `<div hidden id="S:1">` instead of `<template id="B:1">` and of the
//! text that is shown until then, up to the comment `<!--/$-->`; `None` if there is nothing to move. A segment of a part has a
//! place `<template id="P:1">`, which shows nothing. Parts without a place stay where they are. Cost: linear; each part
//! is moved at most once.

use std::collections::HashMap;
use std::ops::Range;

use memchr::{memchr, memchr_iter, memmem};

/// Returns `html` with its streamed parts in their places.
pub(in crate::extract) fn in_place(html: &str) -> Option<String> {
    memmem::find(html.as_bytes(), b"id=\"S:")?;
    let (places, mut parts) = find(html);
    // Each range, and what takes its place. A part that holds its own place is put there once.
    let mut replaced: Vec<(Range<usize>, Option<Range<usize>>)> = Vec::new();
    for (number, range) in places {
        if let Some((whole, content)) = parts.remove(number) {
            replaced.extend([(whole, None), (range, Some(content))]);
        }
    }
    if replaced.is_empty() {
        return None;
    }
    replaced.sort_by_key(|(range, _)| range.start);
    let mut out = String::with_capacity(html.len());
    let whole = 0..html.len();
    let mut open = vec![whole];
    while let Some(Range { start, end }) = open.pop() {
        let next = replaced.partition_point(|(range, _)| range.start < start);
        let Some((range, content)) = replaced.get_mut(next).filter(|(range, _)| range.start < end) else {
            out.push_str(&html[start..end]);
            continue;
        };
        out.push_str(&html[start..range.start]);
        open.push(range.end.min(end)..end);
        open.extend(content.take());
    }
    Some(out)
}

/// The numbers of places, with the ranges that the parts replace.
type Places<'a> = Vec<(&'a str, Range<usize>)>;
/// The ranges of the parts, with and without their own tags, by their numbers.
type Parts<'a> = HashMap<&'a str, (Range<usize>, Range<usize>)>;

/// Finds the places and parts of a page.
fn find(html: &str) -> (Places<'_>, Parts<'_>) {
    let (mut places, mut parts) = (Places::new(), Parts::new());
    // The open part: its number, the name of its element, how many of these are open, and its range so far.
    let mut part: Option<(&str, &str, u32, Range<usize>)> = None;
    // For each open boundary, the index of its place.
    let mut boundaries: Vec<Option<usize>> = Vec::new();
    for at in memchr_iter(b'<', html.as_bytes()) {
        let rest = &html[at + 1..];
        if rest.starts_with("!--$") {
            boundaries.push(None);
        } else if rest.starts_with("!--/$-->")
            && let Some(place) = boundaries.pop().flatten()
        {
            let (_, range): &mut (&str, Range<usize>) = &mut places[place];
            range.end = at;
        }
        let closes = rest.starts_with('/');
        let name = rest[usize::from(closes)..]
            .split(|c: char| !c.is_ascii_alphanumeric())
            .next()
            .unwrap_or_default();
        if let Some((number, element, depth, range)) = &mut part
            && name == *element
        {
            *depth = if closes { *depth - 1 } else { *depth + 1 };
            if *depth == 0 {
                let end = at + 1 + memchr(b'>', rest.as_bytes()).map_or(rest.len(), |end| end + 1);
                parts.insert(number, (range.start..end, range.end..at));
                part = None;
            }
            continue;
        }
        if closes || name.is_empty() {
            continue;
        }
        let tag = &rest[..memchr(b'>', rest.as_bytes()).unwrap_or(rest.len())];
        let number = |prefix: &str| Some(tag.split_once(prefix)?.1.split('"').next().unwrap_or_default());
        let end = (at + tag.len() + 2).min(html.len());
        if name == "template" {
            let end = end + html[end..].strip_prefix("</template>").map_or(0, |_| "</template>".len());
            if let Some(number) = number("id=\"B:") {
                if let Some(boundary) = boundaries.last_mut() {
                    *boundary = Some(places.len());
                }
                places.push((number, at..end));
            } else if let Some(number) = number("id=\"P:") {
                places.push((number, at..end));
            }
        } else if part.is_none() && tag.contains("hidden") {
            part = number("id=\"S:").map(|number| (number, name, 1, at..end));
        }
    }
    (places, parts)
}
