//! Structure of the markup within and between blocks of text: links, emphasis, code, images, numbers of list
//! items, sizes of table cells, languages of programs.
//!
//! The main text does not need it, so it is recorded only if [`Builder::with_structure`] requests it. In: the
//! same calls that build the tree. Out: [`Structure`], whose places are indices into the tree's segments,
//! blocks and nodes. Cost: constant for each tag; memory: 28 bytes per inline element.

use memchr::memmem;

use crate::extract::parse::scan::{Attributes, has_attribute, values};
use crate::extract::parse::segment::Segment;
use crate::extract::parse::stack::open;
use crate::extract::parse::tag::Tag;
use crate::extract::parse::tree::Node;
use crate::extract::parse::{Builder, index};

/// Number of bytes after the start of a formula in which its TeX source is searched for.
const FORMULA_BYTES_MAX: usize = 16 * 1024;

/// Attributes with the address of an image that a script loads late.
const LATE_SOURCES: [&str; 4] = ["data-src", "data-original", "data-lazy-src", "data-actualsrc"];

/// Class names of the numbers of lines within programs.
const LINE_NUMBERS: [&[u8]; 6] = [b"ln", b"lnt", b"lineno", b"linenos", b"line-number", b"linenumber"];

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
    /// First segment of the span.
    pub(in crate::extract) first: u32,
    /// The segment after the last one of the span.
    pub(in crate::extract) end: u32,
    /// The `href` of a link, the attribute of code that may name its programming language, or the TeX source of a
    /// formula.
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
    /// `<math>` with its TeX source. It is true if the formula has a line of its own.
    Formula(bool),
    /// The number of a line of a program.
    LineNumber,
    /// Text that MathJax shows until it has rendered the formula after it.
    Preview,
}

/// An image, or a formula that is a script or an image.
#[derive(Debug, Clone, Copy)]
pub(in crate::extract) struct Image {
    /// The segment after the image.
    pub(in crate::extract) segment: u32,
    /// The block that contains the image if both have the same node; otherwise the block after the image.
    pub(in crate::extract) block: u32,
    /// The node that contains the image.
    pub(in crate::extract) node: u32,
    /// The link around the image, as an index into the spans, counted from 1. 0 for no link.
    pub(in crate::extract) link: u32,
    /// `src` of the image.
    pub(in crate::extract) source: Segment,
    /// `alt` of the image, or the TeX source of the formula.
    pub(in crate::extract) text: Segment,
    /// True for a formula, false for any other image.
    pub(in crate::extract) is_formula: bool,
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
    /// The `role` of a table says that it is layout.
    Presentation,
    /// An item of a task list, or the first paragraph of such an item. True if the task is done.
    Task(bool),
    /// A table cell that is a line of a program.
    ProgramLine,
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

    /// Returns the numbers of columns and rows that the cell `node` covers.
    pub(in crate::extract) fn size_of_cell(&self, node: u32) -> (u32, u32) {
        let size = |property| {
            if let Property::Cell { columns, rows } = property { Some((columns, rows)) } else { None }
        };
        self.of_node(node).find_map(size).unwrap_or((1, 1))
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
            Tag::Math => match formula(self.html, attributes.start) {
                Some((source, is_display)) => (SpanKind::Formula(is_display), source),
                None => return,
            },
            _ if has_class(attributes.class, &LINE_NUMBERS) => (SpanKind::LineNumber, &[][..]),
            _ if is_preview(self.html, attributes) => (SpanKind::Preview, &[][..]),
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
        if self.records_structure {
            let segment = index(self.tree.segments.len());
            self.tree.structure.breaks.push(segment);
        }
    }

    /// Records an image, if it has an alternative text.
    pub(super) fn record_image(&mut self, attributes: &Attributes<'_>) {
        if !self.records_structure {
            return;
        }
        let [source, text, set] = values(self.html, attributes.start, ["src", "alt", "srcset"]);
        if text.trim_ascii().is_empty() {
            return;
        }
        let late = values(self.html, attributes.start, LATE_SOURCES);
        let is_address = |source: &&[u8]| !source.is_empty() && !source.starts_with(b"data:");
        let mut sources = late.into_iter().chain([source, largest_of_set(set)]);
        let source = sources.find(is_address).unwrap_or_default();
        let is_formula = has_class(attributes.class, &[b"latex", b"tex", b"mwe-math-fallback-image-inline"])
            || has_class(attributes.class, &[b"mwe-math-fallback-image-display"]);
        self.push_image(source, text, is_formula);
    }

    /// Records the formula in a script with the TeX source from `start` to `end`.
    pub(in crate::extract) fn formula(&mut self, start: usize, end: usize) {
        if self.records_structure && self.inside.skipped == 0 {
            let html = self.html;
            self.push_image(&[], &html[start..end], true);
        }
    }

    fn push_image(&mut self, source: &[u8], text: &[u8], is_formula: bool) {
        let Some(text) = self.range_of(text) else { return };
        let link = self.last(Tag::A).checked_sub(1).and_then(|at| self.stack.elements.get(at as usize));
        let link =
            link.filter(|element| element.features & open::LINK != 0).map_or(0, |element| element.span);
        let source = self.range_of(source).filter(|_| !source.is_empty()).unwrap_or(NONE);
        let (segment, block) = (index(self.tree.segments.len()), index(self.tree.blocks.len()));
        self.tree.structure.images.push(Image {
            segment,
            block,
            node: self.node,
            link,
            source,
            text,
            is_formula,
        });
    }

    /// Records a checkbox at the beginning of an item, or of the first paragraph in it.
    pub(super) fn record_checkbox(&mut self, attributes: &Attributes<'_>) {
        let node = self.node;
        let is_last = index(self.tree.nodes.len()) == node + 1;
        if !self.records_structure
            || !attributes.kind.eq_ignore_ascii_case(b"checkbox")
            || !is_last
            || self.block.counts.bytes != 0
        {
            return;
        }
        let Node { tag, parent, .. } = self.tree.nodes[node as usize];
        let is_first = parent + 1 == node && self.tree.nodes[parent as usize].tag == Tag::Li;
        if tag == Tag::Li || is_first {
            let is_done = has_attribute(self.html, attributes.start, "checked");
            self.tree.structure.properties.push((node, Property::Task(is_done)));
        }
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
            Tag::Td if has_class(attributes.class, &[b"blob-code"]) => Some(Property::ProgramLine),
            Tag::Td | Tag::Th => {
                let [columns, rows] = values(self.html, attributes.start, ["colspan", "rowspan"])
                    .map(|value| number(value).unwrap_or(1).clamp(1, CELL_SPAN_MAX));
                (columns > 1 || rows > 1).then_some(Property::Cell { columns, rows })
            }
            Tag::Table if [&b"presentation"[..], b"none"].contains(&attributes.role) => {
                Some(Property::Presentation)
            }
            Tag::Pre | Tag::Div | Tag::Figure => {
                let names =
                    ["data-language", "data-lang", "data-enlighter-language", "data-code-language", "lang"];
                let [named @ .., lang] = values(self.html, attributes.start, names);
                let value = [lang, attributes.class].into_iter().find(|value| !value.is_empty());
                match named.into_iter().find(|name| !name.is_empty()) {
                    Some(name) => self.range_of(name).map(Property::Language),
                    None if tag == Tag::Pre => {
                        value.and_then(|value| self.range_of(value)).map(Property::Class)
                    }
                    None => class(),
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
    [&b"lang"[..], b"highlight", b"brush", b"source", b"type-"]
        .iter()
        .any(|word| memmem::find(class, word).is_some())
}

/// Returns true if one of these names is in a `class` attribute.
fn has_class(class: &[u8], names: &[&[u8]]) -> bool {
    !class.is_empty() && class.split(u8::is_ascii_whitespace).any(|name| names.contains(&name))
}

/// Returns true if MathJax replaces the element by the formula in the script after it.
fn is_preview(html: &[u8], attributes: &Attributes<'_>) -> bool {
    let after = || &html[attributes.start..html.len().min(attributes.start + FORMULA_BYTES_MAX)];
    has_class(attributes.class, &[b"MathJax_Preview"]) && memmem::find(after(), b"math/tex").is_some()
}

/// Returns the address of the last image of a `srcset`, which is mostly the largest one.
fn largest_of_set(set: &[u8]) -> &[u8] {
    let last = set.rsplit(|byte| *byte == b',').next().unwrap_or_default().trim_ascii();
    last.split(u8::is_ascii_whitespace).next().unwrap_or_default()
}

/// Returns the TeX source of the `<math>` whose name begins at `start`, and true if the formula has a line of its own.
fn formula(html: &[u8], start: usize) -> Option<(&[u8], bool)> {
    let [alternative, display] = values(html, start, ["alttext", "display"]);
    let html = &html[start..html.len().min(start + FORMULA_BYTES_MAX)];
    let html = &html[..memmem::find(html, b"</math")?];
    let annotated = || {
        let from = &html[memmem::find(html, b"application/x-tex")?..];
        let from = &from[memmem::find(from, b">")? + 1..];
        Some(&from[..memmem::find(from, b"</annotation")?])
    };
    let source = annotated().unwrap_or(alternative).trim_ascii();
    (!source.is_empty()).then_some((source, display.eq_ignore_ascii_case(b"block")))
}

/// An empty range.
const NONE: Segment = Segment { start: 0, end: 0 };
