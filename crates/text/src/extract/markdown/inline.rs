//! One block of running text → one line of Markdown, with links, emphasis, code and images.
//!
//! The words are those of the main text: the same function collapses white space, and each character that is seen gets
//! its style. Styles do not nest, except that a link may contain any: bold code is code, and bold italics are bold. So
//! delimiters never touch others of their kind. Emphasis that CommonMark would not recognise, since a delimiter is
//! between a letter and a punctuation mark, begins after or ends before that mark.

use crate::extract::markdown::formula::{self, formula};
use crate::extract::markdown::{Page, code, escape};
use crate::extract::parse::entities;
use crate::extract::parse::segment::Segment;
use crate::extract::parse::structure::{Image, SpanKind};
use crate::extract::parse::text::{collapse, is_blank, single_spaced};
use crate::extract::parse::tree::Block;

/// A character of the text, or an image.
#[derive(Debug, Clone, Copy)]
struct Unit {
    what: What,
    look: Look,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum What {
    Char(char),
    /// An index into the page's images.
    Image(usize),
    /// A formula, as an index into the page's spans.
    Formula(usize),
}

/// The markup round a character.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
struct Look {
    style: Style,
    /// The link, as an index into the page's spans, counted from 1. 0 for no link.
    link: u32,
}

impl Look {
    /// Returns the look of white space between two texts: what they have in common.
    fn shared_with(self, other: Self) -> Self {
        Self {
            style: if self == other { self.style } else { Style::Plain },
            link: if self.link == other.link { self.link } else { 0 },
        }
    }
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
enum Style {
    #[default]
    Plain,
    Strong,
    Emphasis,
    Code,
    /// The character that stands for a formula or an image.
    Object,
    /// TeX source between delimiters in the text. It is true if the formula has a line of its own.
    Tex(bool),
}

/// The character that stands for a formula or an image until it is written.
pub(super) const OBJECT: char = '\u{fffc}';

/// The place where a line will be written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Around {
    Paragraph,
    Heading,
    TableCell,
}

/// The inline elements of a page, walked through from its start to its end.
#[derive(Default)]
pub(super) struct Spans {
    /// The segment at which a span begins or ends, true if it begins, and the span's index. Sorted by segment.
    events: Vec<(u32, bool, u32)>,
    next: usize,
    strong: u32,
    emphasis: u32,
    code: u32,
    /// Number of open spans that are not written.
    unwritten: u32,
    /// The formula that is open, as an index into the page's spans, counted from 1. 0 for none.
    formula: u32,
    /// Open links, from the outside in.
    links: Vec<u32>,
    next_image: usize,
    /// True if a script of the page shows TeX between delimiters as formulas.
    has_delimiters: bool,
}

impl Spans {
    /// Creates a walk through the spans of `page`.
    pub(super) fn new(page: &Page<'_>) -> Self {
        let spans = (0_u32..).zip(&page.tree.structure.spans).filter(|(_, span)| span.first < span.end);
        let mut events: Vec<_> =
            spans.flat_map(|(at, span)| [(span.first, true, at), (span.end, false, at)]).collect();
        // At one place, spans end before others begin.
        events.sort_by_key(|(segment, begins, _)| (*segment, *begins));
        Self { events, has_delimiters: formula::has_delimiters(page.html), ..Self::default() }
    }

    /// Moves on to `segment`, and returns how its text looks.
    fn look_at(&mut self, page: &Page<'_>, segment: u32) -> Look {
        while let Some(&(_, begins, at)) = self.events.get(self.next).filter(|(place, ..)| *place <= segment)
        {
            self.next += 1;
            let count = match page.tree.structure.spans[at as usize].kind {
                SpanKind::Strong => &mut self.strong,
                SpanKind::Emphasis => &mut self.emphasis,
                SpanKind::Code => &mut self.code,
                SpanKind::Preview => &mut self.unwritten,
                SpanKind::LineNumber => continue,
                SpanKind::Formula(_) => {
                    self.formula = if begins { at + 1 } else { 0 };
                    continue;
                }
                SpanKind::Link => {
                    match self.links.iter().rposition(|link| *link == at + 1).filter(|_| !begins) {
                        Some(link) => _ = self.links.remove(link),
                        None if begins => self.links.push(at + 1),
                        None => {}
                    }
                    continue;
                }
            };
            *count = if begins { *count + 1 } else { count.saturating_sub(1) };
        }
        let style = match self {
            Self { code: 1.., .. } => Style::Code,
            Self { strong: 1.., .. } => Style::Strong,
            Self { emphasis: 1.., .. } => Style::Emphasis,
            _ => Style::Plain,
        };
        Look { style, link: self.links.last().copied().unwrap_or(0) }
    }

    /// Returns the images before block `number`, then those within it. Blocks must come in order.
    pub(super) fn images(&mut self, page: &Page<'_>, number: u32) -> (Vec<usize>, Vec<usize>) {
        let (mut before, mut within) = (Vec::new(), Vec::new());
        let node = page.tree.blocks[number as usize].node;
        while let Some(image) = page.tree.structure.images.get(self.next_image) {
            match image.block {
                block if block > number => break,
                block if block == number && image.node == node => within.push(self.next_image),
                block if block == number => before.push(self.next_image),
                _ => {}
            }
            self.next_image += 1;
        }
        (before, within)
    }
}

/// Returns the text of `block` as one line of Markdown, with the images `within` it.
pub(super) fn line(
    page: &Page<'_>,
    spans: &mut Spans,
    block: &Block,
    within: &[usize],
    around: Around,
) -> String {
    let mut units = units(page, spans, block, within);
    if spans.has_delimiters {
        units = with_formulas(&units);
    }
    drop_dead_links(page, &mut units);
    drop_unwritable_looks(&mut units, around);
    fit_emphasis(&mut units);
    let mut out = String::with_capacity(units.len() + 16);
    let mut at = 0;
    while at < units.len() {
        let link = units[at].look.link;
        let end = end_of(&units, at, |unit| unit.look.link == link);
        if link == 0 {
            push_styles(page, &units, at..end, false, &mut out);
        } else {
            out.push('[');
            push_styles(page, &units, at..end, true, &mut out);
            out.push_str("](");
            out.push_str(
                &destination(page, page.tree.structure.spans[link as usize - 1].value).unwrap_or_default(),
            );
            out.push(')');
        }
        at = end;
    }
    out.truncate(out.trim_end_matches(' ').len());
    out
}

/// Returns `image` as Markdown, with the link around it.
pub(super) fn image(page: &Page<'_>, image: &Image) -> String {
    let text = single_spaced(&decoded(page, image.text));
    if image.is_formula {
        return formula(&text, false);
    }
    let mut out = "![".to_owned();
    push_escaped(&text.chars().collect::<Vec<_>>(), None, Some(']'), true, &mut out);
    out.push_str("](");
    out.push_str(&destination(page, image.source).unwrap_or_default());
    out.push(')');
    let link = image.link.checked_sub(1).map(|link| page.tree.structure.spans[link as usize].value);
    match link.and_then(|link| destination(page, link)) {
        Some(link) => format!("[{out}]({link})"),
        None => out,
    }
}

/// Returns text outside of any markup as one line of Markdown.
pub(super) fn plain(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    push_escaped(&text.chars().collect::<Vec<_>>(), None, None, false, &mut out);
    out
}

fn destination(page: &Page<'_>, link: Segment) -> Option<String> {
    page.base.destination(&entities::decoded_link(&page.html[link.range()]))
}

fn decoded(page: &Page<'_>, segment: Segment) -> String {
    let mut text = String::new();
    entities::decode_into(&page.html[segment.range()], &mut text);
    text
}

/// Returns the characters and images of a block.
fn units(page: &Page<'_>, spans: &mut Spans, block: &Block, within: &[usize]) -> Vec<Unit> {
    let mut raw = Raw::default();
    let mut last_formula = 0;
    let images = &page.tree.structure.images;
    let look_of = |image: usize| Look { link: images[image].link, ..Look::default() };
    let mut within = within.iter().copied().peekable();
    for segment in block.first_segment..block.end_segment {
        let look = spans.look_at(page, segment);
        if spans.unwritten > 0 {
            continue;
        }
        if spans.formula > 0 {
            if spans.formula != last_formula {
                last_formula = spans.formula;
                raw.push_object(What::Formula(spans.formula as usize - 1), look);
            }
            continue;
        }
        while let Some(image) = within.next_if(|image| images[*image].segment <= segment) {
            raw.push_object(What::Image(image), look_of(image));
        }
        let start = raw.text.len();
        match page.tree.segments[segment as usize] {
            Segment::LINE_BREAK => raw.text.push('\n'),
            Segment { start, end } => {
                entities::decode_into(&page.html[start as usize..end as usize], &mut raw.text);
            }
        }
        for c in raw.text[start..].chars() {
            if !is_blank(c) {
                raw.looks.push(look);
            } else if look.style != Style::Code && raw.gaps.last() != Some(&raw.looks.len()) {
                raw.gaps.push(raw.looks.len());
            }
        }
    }
    within.for_each(|image| raw.push_object(What::Image(image), look_of(image)));
    let Raw { text, looks, gaps, objects } = raw;
    let mut objects = objects.into_iter();
    let mut units: Vec<Unit> = Vec::with_capacity(looks.len() + looks.len() / 4);
    let mut seen = 0_usize;
    for c in collapse(text).chars() {
        if is_blank(c) {
            let look = |at: Option<usize>| at.and_then(|at| looks.get(at)).copied().unwrap_or_default();
            let shared = look(seen.checked_sub(1)).shared_with(look(Some(seen)));
            // White space between two code spans keeps them apart.
            let is_between = shared.style == Style::Code && gaps.binary_search(&seen).is_ok();
            let is_plain = is_between || shared.style == Style::Object;
            let style = if is_plain { Style::Plain } else { shared.style };
            units.push(Unit { what: What::Char(c), look: Look { style, ..shared } });
            continue;
        }
        let look = looks.get(seen).copied().unwrap_or_default();
        seen += 1;
        units.extend(match look.style {
            Style::Object => objects.next(),
            _ => Some(Unit { what: What::Char(c), look }),
        });
    }
    units
}

/// The text of a block before white space is collapsed, with one character in the place of each formula and image.
#[derive(Default)]
struct Raw {
    text: String,
    /// The look of each visible character.
    looks: Vec<Look>,
    /// The numbers of visible characters before white space that is outside of code.
    gaps: Vec<usize>,
    objects: Vec<Unit>,
}

impl Raw {
    /// Adds a formula or an image.
    fn push_object(&mut self, what: What, look: Look) {
        self.text.push(OBJECT);
        self.looks.push(Look { style: Style::Object, ..look });
        self.objects.push(Unit { what, look: Look { style: Style::Plain, ..look } });
    }
}

/// Gives TeX source between delimiters its style, and removes the delimiters.
fn with_formulas(units: &[Unit]) -> Vec<Unit> {
    let text: Vec<char> = units
        .iter()
        .map(|unit| unit.char().filter(|_| unit.look.style != Style::Code).unwrap_or(OBJECT))
        .collect();
    let mut marked = Vec::with_capacity(units.len());
    let mut at = 0;
    for found in formula::delimited(&text) {
        marked.extend_from_slice(&units[at..found.range.start]);
        let look = Look { style: Style::Tex(found.has_own_line), ..units[found.range.start].look };
        marked.extend(units[found.source].iter().map(|unit| Unit { look, ..*unit }));
        at = found.range.end;
    }
    marked.extend_from_slice(&units[at..]);
    marked
}

/// Removes the style of links that have no usable destination, and keeps their text.
fn drop_dead_links(page: &Page<'_>, units: &mut [Unit]) {
    let (mut last, mut leads) = (0, false);
    for unit in units.iter_mut().filter(|unit| unit.look.link != 0) {
        if unit.look.link != last {
            last = unit.look.link;
            leads = destination(page, page.tree.structure.spans[last as usize - 1].value).is_some();
        }
        unit.look.link = if leads { last } else { 0 };
    }
}

/// Removes looks that cannot be written or mean nothing at the place of the line.
fn drop_unwritable_looks(units: &mut [Unit], around: Around) {
    let mut at = 0;
    while at < units.len() {
        let look = units[at].look;
        let end = end_of(units, at, |unit| unit.look == look);
        let has = |c: char| units[at..end].iter().any(|unit| unit.what == What::Char(c));
        let is_label = |pair: &[Unit]| [pair[0].what, pair[1].what] == [']', ':'].map(What::Char);
        let is_plain = match look.style {
            Style::Strong => around == Around::Heading,
            // Even in code, a bar after a backslash ends a cell, and a bracket before a colon ends the label of a
            // definition.
            Style::Code if around == Around::TableCell && has('|') && has('\\') => true,
            Style::Code => look.link != 0 && units[at..end].windows(2).any(is_label),
            _ => false,
        };
        if is_plain {
            units[at..end].iter_mut().for_each(|unit| unit.look.style = Style::Plain);
        }
        at = end;
    }
}

/// Returns the index of the first unit from `at` on for which `is_it` returns false.
fn end_of(units: &[Unit], at: usize, is_it: impl Fn(&Unit) -> bool) -> usize {
    at + units[at..].iter().take_while(|unit| is_it(unit)).count()
}

/// Shortens emphasis to what CommonMark recognises as such.
fn fit_emphasis(units: &mut [Unit]) {
    let mut at = 0;
    while at < units.len() {
        let look = units[at].look;
        let end = end_of(units, at, |unit| unit.look == look);
        if matches!(look.style, Style::Strong | Style::Emphasis) {
            fit(units, at, end);
        }
        at = end;
    }
}

fn fit(units: &mut [Unit], mut from: usize, mut to: usize) {
    let look = units[from].look;
    let plain = Look { style: Style::Plain, ..look };
    while from < to && !opens(beside(units, from.checked_sub(1), look), units[from].what) {
        units[from].look = plain;
        from += 1;
    }
    while from < to && !opens(beside(units, Some(to), look), units[to - 1].what) {
        units[to - 1].look = plain;
        to -= 1;
    }
    // Next to other delimiters, an asterisk could become part of them.
    let sides = [beside(units, from.checked_sub(1), look), beside(units, Some(to), look)];
    if look.style == Style::Emphasis && sides.contains(&Side::Emphasis) {
        units[from..to].iter_mut().for_each(|unit| unit.look = plain);
    }
}

/// The kind of text next to a delimiter.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Side {
    /// White space, or an end of the text.
    Blank,
    /// A character that every parser takes for a punctuation mark.
    Mark,
    /// Emphasis, which may turn out to be plain text.
    Emphasis,
    /// Something else.
    Other,
}

fn beside(units: &[Unit], at: Option<usize>, look: Look) -> Side {
    let Some(unit) = at.and_then(|at| units.get(at)) else {
        return Side::Blank;
    };
    match unit.what {
        _ if unit.look.link != look.link => Side::Mark,
        _ if matches!(unit.look.style, Style::Code | Style::Tex(_)) => Side::Mark,
        _ if unit.look.style != Style::Plain => Side::Emphasis,
        What::Image(_) | What::Formula(_) => Side::Mark,
        What::Char(c) if c.is_whitespace() => Side::Blank,
        What::Char(c) if c.is_ascii_punctuation() => Side::Mark,
        What::Char(_) => Side::Other,
    }
}

/// Returns true if a delimiter between `outside` and `inside` opens or closes emphasis.
fn opens(outside: Side, inside: What) -> bool {
    match inside {
        What::Char(c) if c.is_whitespace() => false,
        What::Char(c) if c.is_alphanumeric() => true,
        _ => matches!(outside, Side::Blank | Side::Mark),
    }
}

/// Appends units of one link, or of none.
fn push_styles(
    page: &Page<'_>,
    units: &[Unit],
    range: std::ops::Range<usize>,
    in_brackets: bool,
    out: &mut String,
) {
    let mut at = range.start;
    while at < range.end {
        let unit = units[at];
        let object = match unit.what {
            What::Char(_) => None,
            What::Formula(span) => {
                let span = page.tree.structure.spans[span];
                let source = single_spaced(&decoded(page, span.value));
                Some(formula(&source, span.kind == SpanKind::Formula(true)))
            }
            What::Image(number) => {
                let shown = page.tree.structure.images[number];
                let link = if in_brackets { 0 } else { shown.link };
                Some(image(page, &Image { link, ..shown }))
            }
        };
        if let Some(object) = object {
            out.push_str(&object);
            at += 1;
            continue;
        }
        let is_same = |other: &Unit| other.look == unit.look && matches!(other.what, What::Char(_));
        let end = end_of(units, at, is_same).min(range.end);
        let text: Vec<char> = units[at..end].iter().filter_map(Unit::char).collect();
        let delimiter = match unit.look.style {
            Style::Plain | Style::Object => "",
            Style::Strong => "**",
            Style::Emphasis => "*",
            Style::Code | Style::Tex(_) => {
                let text: String = text.iter().collect();
                out.push_str(&match unit.look.style {
                    Style::Tex(has_own_line) => formula(&text, has_own_line),
                    _ => code::span(&text),
                });
                at = end;
                continue;
            }
        };
        out.push_str(delimiter);
        let after = delimiter.chars().next().or_else(|| first_of(units.get(end), unit.look.link));
        let before = out.chars().next_back();
        push_escaped(&text, before, after, in_brackets, out);
        out.push_str(delimiter);
        at = end;
    }
}

impl Unit {
    fn char(&self) -> Option<char> {
        match self.what {
            What::Char(c) => Some(c),
            What::Image(_) | What::Formula(_) => None,
        }
    }
}

/// Returns the next character of the output at `next`, after units with this `link`.
fn first_of(next: Option<&Unit>, link: u32) -> Option<char> {
    let next = next?;
    Some(match next.look.style {
        _ if next.look.link != link => {
            if link == 0 {
                '['
            } else {
                ']'
            }
        }
        _ if matches!(next.what, What::Image(_)) => '!',
        _ if matches!(next.what, What::Formula(_)) => '$',
        Style::Plain | Style::Object => next.char().unwrap_or(' '),
        Style::Strong | Style::Emphasis => '*',
        Style::Code => '`',
        Style::Tex(_) => '$',
    })
}

/// Appends text with the escapes that it needs between the characters `before` and `after`.
fn push_escaped(
    text: &[char],
    before: Option<char>,
    after: Option<char>,
    in_brackets: bool,
    out: &mut String,
) {
    for (at, c) in text.iter().enumerate() {
        let before = at.checked_sub(1).map_or(before, |before| Some(text[before]));
        let next = text.get(at + 1).copied().or(after);
        let rest: String = match c {
            // The longest name of a character reference has 31 letters.
            '&' => text[at + 1..].iter().take(40).collect(),
            _ => String::new(),
        };
        if escape::acts(before, *c, next, &rest, in_brackets) {
            out.push('\\');
        }
        out.push(*c);
    }
}
