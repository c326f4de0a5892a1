//! Start tags, end tags and text → the [`Tree`]: which elements are open, where a block of text ends.
//!
//! In: the calls of [`super::scan`]. Out: nodes, blocks and segments. Elements close by the standard's rules as
//! far as they move text (`<p>` before blocks, list items, table cells, links); the adoption agency is left
//! out, since a formatting element that ends late moves no text. Every question "is such an element open in
//! this scope?" is answered from one number per tag, so that no page makes a search long. Invariants: every
//! start tag is pushed once and popped once; time is constant per call but for pops. Memory: 16 bytes an
//! open element.

use memchr::memmem;

use super::count::count;
use super::hints::{self, Hints};
use super::scan::Attributes;
use super::tag::{COUNT, Tag, fact};
use super::tree::{Block, Node, Segment, Tree, block_fact, says};
use super::{ExtractConfig, ExtractError};

/// Names of sorts that are read of one script with linked data.
const LINKED_TYPES_MAX: usize = 64;

/// An open element. Positions in the stack count from 1; 0 is none.
#[derive(Debug, Clone, Copy)]
struct Open {
    tag: Tag,
    /// Facts, as bits of `open`.
    facts: u8,
    /// Its node, or its parent's if it is inline.
    node: u32,
    /// The last open element of the same tag below it in the stack.
    same_tag: u32,
    /// The innermost scope and block below it.
    scope: u32,
    block: u32,
}

mod open {
    /// Counts as a link.
    pub(super) const LINK: u8 = 1;
    /// Its content is skipped.
    pub(super) const SKIPPED: u8 = 2;
    /// Bold or emphasis.
    pub(super) const STRONG: u8 = 4;
    /// Code.
    pub(super) const CODE: u8 = 8;
    /// Preformatted.
    pub(super) const PREFORMATTED: u8 = 16;
}

/// How many elements of each kind are open.
#[derive(Debug, Clone, Copy, Default)]
struct Inside {
    links: u32,
    skipped: u32,
    strong: u32,
    code: u32,
    preformatted: u32,
}

impl Inside {
    fn change(&mut self, facts: u8, by: i32) {
        let add = |count: &mut u32, bit: u8| {
            if facts & bit != 0 {
                *count = count.saturating_add_signed(by);
            }
        };
        add(&mut self.links, open::LINK);
        add(&mut self.skipped, open::SKIPPED);
        add(&mut self.strong, open::STRONG);
        add(&mut self.code, open::CODE);
        add(&mut self.preformatted, open::PREFORMATTED);
    }
}

/// The stack of open elements; kept from page to page for its memory.
#[derive(Debug)]
pub(super) struct Stack {
    elements: Vec<Open>,
    /// Position of the innermost open element of each tag.
    last: [u32; COUNT],
}

impl Default for Stack {
    fn default() -> Self {
        Self { elements: Vec::new(), last: [0; COUNT] }
    }
}

/// Builds one page's tree.
pub(super) struct Builder<'a> {
    html: &'a [u8],
    tree: &'a mut Tree,
    stack: &'a mut Stack,
    nodes_max: usize,
    depth_max: usize,
    keep_hidden: bool,
    inside: Inside,
    /// The innermost open block element, scope and their node.
    scope: u32,
    block_position: u32,
    node: u32,
    /// The block that is being filled.
    block: Block,
}

impl<'a> Builder<'a> {
    pub(super) fn new(
        html: &'a str,
        config: &ExtractConfig,
        keep_hidden: bool,
        tree: &'a mut Tree,
        stack: &'a mut Stack,
    ) -> Self {
        tree.clear();
        stack.elements.clear();
        stack.last = [0; COUNT];
        let root =
            Node { tag: Tag::Html, parent: 0, depth: 0, hints: 0, make: 0, first_block: 0, end_block: 0 };
        tree.nodes.push(root);
        Self {
            html: html.as_bytes(),
            tree,
            stack,
            nodes_max: config.nodes_max,
            depth_max: config.depth_max,
            keep_hidden,
            inside: Inside::default(),
            scope: 0,
            block_position: 0,
            node: 0,
            block: Block::default(),
        }
    }

    /// Text from `start` to `end`; it may be blank.
    pub(super) fn text(&mut self, start: usize, end: usize) {
        if self.inside.skipped != 0 {
            return;
        }
        let before = self.block.counts.bytes;
        count(&self.html[start..end], &mut self.block.counts);
        let bytes = self.block.counts.bytes - before;
        if self.inside.links != 0 {
            self.block.link_bytes = self.block.link_bytes.saturating_add(bytes);
        }
        if self.inside.strong != 0 {
            let bytes = u16::try_from(bytes).unwrap_or(u16::MAX);
            self.block.strong_bytes = self.block.strong_bytes.saturating_add(bytes);
        }
        self.push_segment(start, end);
    }

    /// White space from `start` to `end`.
    pub(super) fn white(&mut self, start: usize, end: usize) {
        let begun = self.tree.segments.len() > self.block.first_segment as usize;
        if self.inside.skipped == 0 && begun {
            self.push_segment(start, end);
        }
    }

    fn push_segment(&mut self, start: usize, end: usize) {
        if let (Ok(start), Ok(end)) = (u32::try_from(start), u32::try_from(end)) {
            self.tree.segments.push(Segment { start, end });
        }
    }

    /// The text of `<title>`: the first one counts, unless it is a drawing's.
    pub(super) fn title(&mut self, start: usize, end: usize) {
        if self.inside.skipped == 0 && self.tree.head.title.is_none() {
            self.tree.head.title = segment_of(start, end);
        }
    }

    /// A start tag.
    pub(super) fn start(&mut self, tag: Tag, attributes: &Attributes<'_>) -> Result<(), ExtractError> {
        if tag.is(fact::VOID) {
            self.void(tag, attributes);
            return Ok(());
        }
        self.close_implied(tag);
        if self.stack.elements.len() >= self.depth_max {
            return Err(ExtractError::TooDeep { depth_max: self.depth_max });
        }
        let mut facts = match tag {
            Tag::A if attributes.href => open::LINK,
            Tag::B | Tag::Strong | Tag::Em => open::STRONG,
            Tag::Code | Tag::Tt => open::CODE,
            Tag::Pre | Tag::Xmp => open::PREFORMATTED,
            _ => 0,
        };
        if tag.is(fact::SKIP) || (is_hidden(attributes) && !self.keep_hidden && tag != Tag::Body) {
            facts |= open::SKIPPED;
        }
        let is_block = tag.is(fact::BLOCK) && self.inside.skipped == 0;
        if is_block {
            self.end_block();
        }
        let position = self.position() + 1;
        let element = Open {
            tag,
            facts,
            node: self.node,
            same_tag: self.stack.last[tag as usize],
            scope: self.scope,
            block: self.block_position,
        };
        self.stack.last[tag as usize] = position;
        self.stack.elements.push(element);
        self.inside.change(facts, 1);
        if tag.is(fact::SCOPE) {
            self.scope = position;
        }
        if tag.is(fact::BLOCK) {
            self.block_position = position;
        }
        if is_block {
            self.push_node(tag, attributes)?;
        } else if facts & open::LINK != 0 && self.inside.skipped == 0 {
            self.block.links = self.block.links.saturating_add(1);
        } else if tag == Tag::Time {
            self.block.facts |= block_fact::TIME;
        } else if matches!(tag, Tag::Button | Tag::Select) {
            self.block.facts |= block_fact::AFTER_CONTROL;
        }
        Ok(())
    }

    fn push_node(&mut self, tag: Tag, attributes: &Attributes<'_>) -> Result<(), ExtractError> {
        if self.tree.nodes.len() >= self.nodes_max {
            return Err(ExtractError::TooManyNodes { nodes_max: self.nodes_max });
        }
        let mut make = tag as u32 + 1;
        let mut hints: Hints = hints::of_tag(tag);
        // Names of the whole page's element speak of its layout, not of its content.
        if !matches!(tag, Tag::Html | Tag::Body) {
            hints |= hints::of_names(attributes.class, &mut make);
            hints |= hints::of_names(attributes.id, &mut 0);
            hints |= hints::of_names(attributes.itemprop, &mut 0);
            hints |= hints::of_role(attributes.role);
            if tag == Tag::Blockquote {
                // A quoted message of a social network is part of the text (`class="twitter-tweet"`).
                hints &= !hints::SHARE;
            }
            if is_hidden(attributes) {
                hints |= hints::HIDDEN;
            }
        }
        let depth = self.tree.nodes[self.node as usize].depth + 1;
        let first_block = index(self.tree.blocks.len());
        let node = Node { tag, parent: self.node, depth, hints, make, first_block, end_block: first_block };
        self.node = index(self.tree.nodes.len());
        self.tree.nodes.push(node);
        Ok(())
    }

    /// An element without content.
    fn void(&mut self, tag: Tag, attributes: &Attributes<'_>) {
        if self.inside.skipped != 0 {
            return;
        }
        match tag {
            Tag::Br if self.inside.preformatted != 0 => self.tree.segments.push(Segment::LINE_BREAK),
            Tag::Br => {
                self.end_block();
                self.block.facts |= block_fact::AFTER_BREAK;
            }
            Tag::Hr => {
                self.close_implied(tag);
                self.end_block();
                self.block.facts |= block_fact::AFTER_RULE;
            }
            Tag::Img => self.block.images_before = self.block.images_before.saturating_add(1),
            Tag::Input => self.block.facts |= block_fact::AFTER_CONTROL,
            Tag::Meta => self.meta(attributes),
            _ => {}
        }
    }

    /// A script with linked data: only the sorts of page that it names are read.
    pub(super) fn linked_data(&mut self, start: usize, end: usize) {
        let data = &self.html[start..end];
        for at in memmem::find_iter(data, b"\"@type\"").take(LINKED_TYPES_MAX) {
            let value = data[at + 7..].trim_ascii_start();
            let Some(value) = value.strip_prefix(b":") else { continue };
            let value = value.trim_ascii_start();
            let value = value.strip_prefix(b"\"").unwrap_or(value);
            let end = value.iter().position(|byte| *byte == b'"').unwrap_or(0);
            self.tree.head.says |= match &value[..end] {
                b"Article" | b"NewsArticle" | b"BlogPosting" | b"Report" | b"TechArticle" => says::ARTICLE,
                b"Product" | b"ProductGroup" => says::PRODUCT,
                b"ItemList" | b"CollectionPage" => says::LIST,
                b"DiscussionForumPosting" => says::FORUM,
                b"QAPage" | b"FAQPage" => says::QUESTIONS,
                _ => 0,
            };
        }
    }

    fn meta(&mut self, attributes: &Attributes<'_>) {
        let head = &mut self.tree.head;
        match attributes.property {
            b"og:title" | b"twitter:title" if head.social_title.is_none() => {
                let start = attributes.content_start;
                head.social_title = segment_of(start, start + attributes.content.len());
            }
            b"og:type" if attributes.content.eq_ignore_ascii_case(b"article") => head.says |= says::ARTICLE,
            b"og:type" if attributes.content.eq_ignore_ascii_case(b"product") => head.says |= says::PRODUCT,
            _ => {}
        }
    }

    /// Closes what `tag` may not stand in.
    fn close_implied(&mut self, tag: Tag) {
        if tag.is(fact::CLOSES_P) {
            let paragraph = self.last(Tag::P);
            if paragraph > self.scope {
                self.pop_to(paragraph);
            }
        }
        match tag {
            Tag::Li => self.close_item(&[Tag::Li], &[Tag::Ul, Tag::Ol, Tag::Menu, Tag::Dir]),
            Tag::Dd | Tag::Dt => self.close_item(&[Tag::Dd, Tag::Dt], &[Tag::Dl]),
            Tag::Td | Tag::Th => self.close_item(&[Tag::Td, Tag::Th, Tag::Caption], &[Tag::Table]),
            Tag::Tr => self.close_item(&[Tag::Tr, Tag::Caption, Tag::Colgroup], &[Tag::Table]),
            Tag::Tbody | Tag::Thead | Tag::Tfoot => {
                self.close_item(
                    &[Tag::Tbody, Tag::Thead, Tag::Tfoot, Tag::Caption, Tag::Colgroup],
                    &[Tag::Table],
                );
            }
            Tag::A => self.end_link(),
            Tag::Option | Tag::Optgroup => self.close_item(&[Tag::Option], &[Tag::Select]),
            _ if tag.is(fact::HEADING) => {
                let top = self.stack.elements.last().map(|element| element.tag);
                if top.is_some_and(|top| top.is(fact::HEADING)) {
                    self.pop_to(self.position());
                }
            }
            _ => {}
        }
    }

    /// Closes the innermost of `items`, unless one of `containers` was opened after it.
    fn close_item(&mut self, items: &[Tag], containers: &[Tag]) {
        let innermost = |tags: &[Tag]| tags.iter().map(|tag| self.last(*tag)).max().unwrap_or(0);
        // A cell is a scope of its own, so that only scopes opened after the item hide it.
        let item = innermost(items);
        if item > innermost(containers) && item >= self.scope {
            self.pop_to(item);
        }
    }

    /// Ends the open link, though its element stays open if blocks began within it.
    fn end_link(&mut self) {
        let link = self.last(Tag::A);
        if link == 0 || link < self.scope {
            return;
        }
        if link > self.block_position {
            self.pop_to(link);
        } else if let Some(element) = self.stack.elements.get_mut(link as usize - 1) {
            self.inside.change(element.facts & open::LINK, -1);
            element.facts &= !open::LINK;
        }
    }

    /// An end tag.
    pub(super) fn end(&mut self, tag: Tag) {
        match tag {
            Tag::A => self.end_link(),
            Tag::Br => self.void(tag, &Attributes::default()),
            Tag::Html | Tag::Body => self.end_block(),
            _ if tag.is(fact::VOID | fact::RAW) => {}
            _ if tag.is(fact::HEADING) => {
                let levels = [Tag::H1, Tag::H2, Tag::H3, Tag::H4, Tag::H5, Tag::H6];
                let heading = levels.into_iter().map(|level| self.last(level)).max().unwrap_or(0);
                self.end_in(heading, self.scope);
            }
            Tag::Li => {
                self.end_in(self.last(tag), self.scope.max(self.last(Tag::Ul)).max(self.last(Tag::Ol)));
            }
            Tag::Table => self.end_in(self.last(tag), 0),
            _ if tag.is(fact::SCOPE) => self.end_in(self.last(tag), self.last(Tag::Table)),
            Tag::Tr | Tag::Tbody | Tag::Thead | Tag::Tfoot => {
                self.end_in(self.last(tag), self.last(Tag::Table));
            }
            _ if tag.is(fact::BLOCK) => self.end_in(self.last(tag), self.scope),
            _ if tag.is(fact::SKIP) => self.end_in(self.last(tag), self.scope),
            // An inline element ends only within the block that it began in.
            _ => {
                let position = self.last(tag);
                if position > self.block_position {
                    self.pop_to(position);
                }
            }
        }
    }

    /// Closes the element at `position` if it stands above `floor`; a stray end tag of a block still ends text.
    fn end_in(&mut self, position: u32, floor: u32) {
        if position > floor {
            self.pop_to(position);
        } else if self.inside.skipped == 0 {
            self.end_block();
        }
    }

    fn last(&self, tag: Tag) -> u32 {
        self.stack.last[tag as usize]
    }

    fn position(&self) -> u32 {
        index(self.stack.elements.len())
    }

    /// Closes all elements down to the one at `position`, that one too.
    fn pop_to(&mut self, position: u32) {
        while self.position() >= position.max(1) {
            let Some(element) = self.stack.elements.pop() else { return };
            if element.tag.is(fact::BLOCK) && self.node != element.node {
                self.end_block();
                let end = index(self.tree.blocks.len());
                self.tree.nodes[self.node as usize].end_block = end;
                self.node = element.node;
            }
            self.inside.change(element.facts, -1);
            self.stack.last[element.tag as usize] = element.same_tag;
            self.scope = element.scope;
            self.block_position = element.block;
        }
    }

    /// Ends the block that is being filled; a blank one leaves no trace but its images.
    fn end_block(&mut self) {
        let mut next = Block::default();
        if self.block.counts.bytes == 0 {
            self.tree.segments.truncate(self.block.first_segment as usize);
            next.facts = self.block.facts
                & (block_fact::AFTER_BREAK | block_fact::AFTER_RULE | block_fact::AFTER_CONTROL);
            next.images_before = self.block.images_before;
        } else {
            self.block.node = self.node;
            self.block.end_segment = index(self.tree.segments.len());
            for (inside, fact) in [
                (self.inside.preformatted, block_fact::PREFORMATTED),
                (self.inside.code, block_fact::CODE),
                (self.inside.links, block_fact::IN_BLOCK_LINK),
            ] {
                if inside != 0 {
                    self.block.facts |= fact;
                }
            }
            self.tree.blocks.push(self.block);
        }
        next.first_segment = index(self.tree.segments.len());
        self.block = next;
    }

    /// Closes everything at the end of the page.
    pub(super) fn finish(&mut self) {
        self.pop_to(1);
        self.end_block();
        self.tree.nodes[0].end_block = index(self.tree.blocks.len());
    }
}

/// Whether the element is not shown. `visibility` does not count: large sites hide their text that way until a
/// script has run.
fn is_hidden(attributes: &Attributes<'_>) -> bool {
    if attributes.hidden {
        return true;
    }
    if attributes.style.len() < "display:none".len() {
        return false;
    }
    memmem::find(attributes.style, b"display").is_some_and(|at| {
        let value = attributes.style[at + "display".len()..].trim_ascii_start();
        value.strip_prefix(b":").is_some_and(|value| value.trim_ascii_start().starts_with(b"none"))
    })
}

fn segment_of(start: usize, end: usize) -> Option<Segment> {
    Some(Segment { start: u32::try_from(start).ok()?, end: u32::try_from(end).ok()? })
}

/// Indices fit, since the caller refuses pages of 4 GiB and nodes are fewer than bytes.
fn index(length: usize) -> u32 {
    u32::try_from(length).unwrap_or(u32::MAX)
}
