//! Structure of the markup within and between blocks of text: links, emphasis, code, images, numbers of list
//! items, sizes of table cells, languages of programs.
//!
//! The main text does not need it, so it is recorded only if [`Builder::with_structure`] requests it. In: the
//! same calls that build the tree. Out: [`Structure`], whose places are indices into the tree's segments,
//! blocks and nodes. Cost: constant for each tag; memory: 28 bytes per inline element.

use memchr::memmem;

use crate::extract::parse::scan::{Attributes, values};
use crate::extract::parse::segment::Segment;
use crate::extract::parse::stack::open;
use crate::extract::parse::tag::Tag;
use crate::extract::parse::{Builder, index};

/// Largest `colspan` and `rowspan` that count. The standard allows more, but no such table is worth writing.
const CELL_SPAN_MAX: u32 = 100;

/// The structure of a page.
#[derive(Debug, Default)]
pub(in crate::extract) struct Structure {
    /// Inline elements, in the order in which they begin.
    pub(in crate::extract) spans: Vec<Span>,
    /// Images with an alternative text.
    pub(in crate::extract) images: Vec<Image>,
    /// For each line break between blocks, the segment after it.
    pub(in crate::extract) breaks: Vec<u32>,
    /// Properties of nodes, in the order of the nodes.
    pub(in crate::extract) properties: Vec<(u32, Property)>,
    /// The spans that began or ended since the current block began.
    recent: Vec<u32>,
    /// Number of images and breaks before the current block.
    before_block: (usize, usize),
}

/// An inline element.
#[derive(Debug, Clone, Copy)]
pub(in crate::extract) struct Span {
    /// The kind of element.
    pub(in crate::extract) kind: SpanKind,
    /// Its first segment.
    pub(in crate::extract) first: u32,
    /// The segment after its last.
    pub(in crate::extract) end: u32,
    /// The `href` of a link, or the attribute of code that may name its programming language.
    pub(in crate::extract) value: Segment,
}

/// The kind of an inline element.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::extract) enum SpanKind {
    /// `<a href>`.
    Link,
    /// `<b>`, `<strong>`.
    Strong,
    /// `<i>`, `<em>`.
    Emphasis,
    /// `<code>`, `<tt>`.
    Code,
}

/// An image.
#[derive(Debug, Clone, Copy)]
pub(in crate::extract) struct Image {
    /// The segment after it.
    pub(in crate::extract) segment: u32,
    /// The block that contains it, if that has the same node, or else the block after it.
    pub(in crate::extract) block: u32,
    /// The node that contains it.
    pub(in crate::extract) node: u32,
    /// The link round it, as an index into the spans, counted from 1. 0 for no link.
    pub(in crate::extract) link: u32,
    /// Its `src`.
    pub(in crate::extract) source: Segment,
    /// Its `alt`.
    pub(in crate::extract) text: Segment,
}

/// A property of a node.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::extract) enum Property {
    /// The number of a list's first item, or of an item.
    Number(u32),
    /// The columns and rows that a table cell covers.
    Cell {
        /// Number of columns.
        columns: u32,
        /// Number of rows.
        rows: u32,
    },
    /// The `class`, or the `lang` of a preformatted block, which may name a programming language.
    Class(Segment),
    /// The programming language of a preformatted block.
    Language(Segment),
    /// A table that is layout by its `role`.
    Presentation,
}

impl Structure {
    /// Clears the structure of the last page, but keeps its memory for the next one.
    pub(in crate::extract) fn clear(&mut self) {
        self.spans.clear();
        self.images.clear();
        self.breaks.clear();
        self.properties.clear();
        self.begin_block();
    }

    /// Notes that a block begins.
    pub(in crate::extract) fn begin_block(&mut self) {
        self.recent.clear();
        self.before_block = (self.images.len(), self.breaks.len());
    }

    /// Moves all places within the current block, which turned out to be blank, to its start at `segment`.
    pub(in crate::extract) fn remove_after(&mut self, segment: u32) {
        for span in &self.recent {
            let span = &mut self.spans[*span as usize];
            span.first = span.first.min(segment);
            if span.end != u32::MAX {
                span.end = span.end.min(segment);
            }
        }
        let (images, breaks) = self.before_block;
        self.images[images..].iter_mut().for_each(|image| image.segment = image.segment.min(segment));
        self.breaks[breaks..].iter_mut().for_each(|at| *at = (*at).min(segment));
    }

    /// Returns the properties of `node`.
    pub(in crate::extract) fn of_node(&self, node: u32) -> impl Iterator<Item = Property> {
        let first = self.properties.partition_point(|(known, _)| *known < node);
        let own = self.properties[first..].iter().take_while(move |(known, _)| *known == node);
        own.map(|(_, property)| *property)
    }
}

impl Builder<'_> {
    /// Records the inline element that was just opened.
    pub(super) fn begin_span(&mut self, tag: Tag, attributes: &Attributes<'_>) {
        let (kind, value) = match tag {
            Tag::A if attributes.linked => (SpanKind::Link, attributes.href),
            Tag::B | Tag::Strong => (SpanKind::Strong, &[][..]),
            Tag::I | Tag::Em => (SpanKind::Emphasis, &[][..]),
            Tag::Code | Tag::Tt => {
                let names = values(self.html, attributes.start, ["data-language", "data-lang", "lang"]);
                let name = names.into_iter().find(|name| !name.is_empty());
                (SpanKind::Code, name.unwrap_or(attributes.class))
            }
            _ => return,
        };
        let value = self.range_of(value).filter(|_| !value.is_empty()).unwrap_or(NONE);
        let first = index(self.tree.segments.len());
        let structure = &mut self.tree.structure;
        structure.recent.push(index(structure.spans.len()));
        structure.spans.push(Span { kind, first, end: u32::MAX, value });
        if let Some(element) = self.stack.elements.last_mut() {
            element.span = index(structure.spans.len());
        }
    }

    /// Ends `span`, which is counted from 1.
    pub(super) fn end_span(&mut self, span: u32) {
        let Some(at) = span.checked_sub(1) else { return };
        let end = index(self.tree.segments.len());
        let structure = &mut self.tree.structure;
        if let Some(span) = structure.spans.get_mut(at as usize) {
            span.end = end;
            structure.recent.push(at);
        }
    }

    /// Records a line break between two blocks.
    pub(super) fn record_break(&mut self) {
        if self.records {
            let segment = index(self.tree.segments.len());
            self.tree.structure.breaks.push(segment);
        }
    }

    /// Records an image, if it has an alternative text.
    pub(super) fn record_image(&mut self, attributes: &Attributes<'_>) {
        if !self.records {
            return;
        }
        let [source, text] = values(self.html, attributes.start, ["src", "alt"]);
        if text.trim_ascii().is_empty() {
            return;
        }
        let Some(text) = self.range_of(text) else { return };
        let link = self.last(Tag::A).checked_sub(1).and_then(|at| self.stack.elements.get(at as usize));
        let link =
            link.filter(|element| element.features & open::LINK != 0).map_or(0, |element| element.span);
        let source = self.range_of(source).filter(|_| !source.is_empty()).unwrap_or(NONE);
        let (segment, block) = (index(self.tree.segments.len()), index(self.tree.blocks.len()));
        self.tree.structure.images.push(Image { segment, block, node: self.node, link, source, text });
    }

    /// Records the properties of the node that was just added.
    pub(super) fn record_node(&mut self, tag: Tag, attributes: &Attributes<'_>) {
        let number = |value: &[u8]| std::str::from_utf8(value).ok()?.trim().parse::<u32>().ok();
        let class = || {
            let class = Some(attributes.class).filter(|class| names_language(class))?;
            self.range_of(class).map(Property::Class)
        };
        let property = match tag {
            Tag::Ol | Tag::Li => {
                let name = if tag == Tag::Ol { "start" } else { "value" };
                let [value] = values(self.html, attributes.start, [name]);
                number(value).map(Property::Number)
            }
            Tag::Td | Tag::Th => {
                let [columns, rows] = values(self.html, attributes.start, ["colspan", "rowspan"])
                    .map(|value| number(value).unwrap_or(1).clamp(1, CELL_SPAN_MAX));
                (columns > 1 || rows > 1).then_some(Property::Cell { columns, rows })
            }
            Tag::Table if [&b"presentation"[..], b"none"].contains(&attributes.role) => {
                Some(Property::Presentation)
            }
            Tag::Pre => {
                let names =
                    ["data-language", "data-lang", "data-enlighter-language", "data-code-language", "lang"];
                let [named @ .., lang] = values(self.html, attributes.start, names);
                let class = || [lang, attributes.class].into_iter().find(|value| !value.is_empty());
                match named.into_iter().find(|name| !name.is_empty()) {
                    Some(name) => self.range_of(name).map(Property::Language),
                    None => class().and_then(|class| self.range_of(class)).map(Property::Class),
                }
            }
            _ => class(),
        };
        if let Some(property) = property {
            let node = self.node;
            self.tree.structure.properties.push((node, property));
        }
    }
}

/// Returns true if a class may name a programming language.
fn names_language(class: &[u8]) -> bool {
    [&b"lang"[..], b"highlight", b"brush", b"source"].iter().any(|word| memmem::find(class, word).is_some())
}

/// An empty range.
const NONE: Segment = Segment { start: 0, end: 0 };
