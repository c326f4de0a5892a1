//! Start tags, end tags and text → the [`Tree`]: which
//! elements are open, where a block of text ends.
//!
//! In: the calls of [`crate::extract::parse::scan`]. Out: nodes, blocks and segments. Elements
//! close by the standard's rules as far as they move text (`<p>` before blocks, list items, table
//! cells, links); the adoption agency is left out, since a formatting element that ends late moves
//! no text. Every question "is such an element open in this scope?" is answered from one number per
//! tag, so that no page makes a search long. Invariants: every start tag is pushed once and popped
//! once; time is constant per call but for pops. Memory: 16 bytes an open element.

pub(super) mod count;
pub(super) mod entities;
mod head;
pub(super) mod hints;
mod nesting;
pub(super) mod scan;
mod stack;
pub(super) mod tag;
pub(super) mod tree;
mod unseen;

use crate::extract::parse::count::count;
use crate::extract::parse::scan::Attributes;
use crate::extract::parse::tag::{COUNT, Tag, flag};
use crate::extract::parse::tree::{Block, Node, Segment, Tree, block_flag, says};
use crate::extract::{ExtractConfig, ExtractError};
use hints::Hints;
pub(in crate::extract) use stack::Stack;
use stack::{Inside, Open, open};
use unseen::{is_hidden, is_mark};

/// Builds one page's tree.
pub(in crate::extract) struct Builder<'a> {
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
    pub(in crate::extract) fn new(
        html: &'a str,
        config: &ExtractConfig,
        keep_hidden: bool,
        tree: &'a mut Tree,
        stack: &'a mut Stack,
    ) -> Self {
        tree.clear();
        stack.elements.clear();
        stack.last = [0; COUNT];
        let root = Node {
            tag: Tag::Html,
            parent: 0,
            depth: 0,
            hints: 0,
            signature: 0,
            first_block: 0,
            end_block: 0,
        };
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

    /// Whether this time what is not shown is read too.
    pub(in crate::extract) fn keeps_hidden(&self) -> bool {
        self.keep_hidden
    }

    /// Text from `start` to `end`; it may be blank.
    pub(in crate::extract) fn text(&mut self, start: usize, end: usize) {
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
    pub(in crate::extract) fn white(&mut self, start: usize, end: usize) {
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
    pub(in crate::extract) fn title(&mut self, start: usize, end: usize) {
        if self.inside.skipped == 0 && self.tree.head.title.is_none() {
            self.tree.head.title = segment_of(start, end);
        }
    }

    /// A start tag.
    pub(in crate::extract) fn start(
        &mut self,
        tag: Tag,
        attributes: &Attributes<'_>,
    ) -> Result<(), ExtractError> {
        if self.tree.nodes.len() + self.tree.blocks.len() >= self.nodes_max {
            return Err(ExtractError::TooManyNodes { nodes_max: self.nodes_max });
        }
        if tag.is(flag::VOID) {
            self.void(tag, attributes);
            return Ok(());
        }
        self.close_implied(tag);
        if self.stack.elements.len() >= self.depth_max {
            return Err(ExtractError::TooDeep { depth_max: self.depth_max });
        }
        let mut features = match tag {
            Tag::A if attributes.linked => open::LINK,
            Tag::B | Tag::Strong | Tag::Em => open::STRONG,
            Tag::Code | Tag::Tt => open::CODE,
            Tag::Pre | Tag::Xmp => open::PREFORMATTED,
            _ => 0,
        };
        let is_unseen = is_hidden(attributes) && !self.keep_hidden && tag != Tag::Body;
        if tag.is(flag::SKIP) || is_unseen || is_mark(tag, attributes.class) {
            features |= open::SKIPPED;
        }
        let is_block = tag.is(flag::BLOCK) && self.inside.skipped == 0;
        if is_block {
            self.end_block();
        }
        if self.inside.skipped == 0 && features & open::SKIPPED == 0 && !is_block {
            self.mark_element(tag, attributes, true);
        }
        let position = self.position() + 1;
        let element = Open {
            tag,
            features,
            node: self.node,
            same_tag: self.stack.last[tag as usize],
            scope: self.scope,
            block: self.block_position,
        };
        self.stack.last[tag as usize] = position;
        self.stack.elements.push(element);
        self.inside.change(features, 1);
        if tag.is(flag::SCOPE) {
            self.scope = position;
        }
        if tag.is(flag::BLOCK) {
            self.block_position = position;
        }
        if is_block {
            let hints = self.push_node(tag, attributes);
            if features & open::SKIPPED == 0 {
                // Their words have been looked up already.
                self.mark_element(tag, attributes, hints & (hints::AUTHOR | hints::META) != 0);
            }
        } else if features & open::LINK != 0 && self.inside.skipped == 0 {
            self.block.links = self.block.links.saturating_add(1);
        } else if tag == Tag::Time {
            self.block.features |= block_flag::TIME;
        } else if matches!(tag, Tag::Button | Tag::Select) {
            self.block.features |= block_flag::AFTER_CONTROL;
        }
        Ok(())
    }

    /// Adds a node, and says what its names say.
    fn push_node(&mut self, tag: Tag, attributes: &Attributes<'_>) -> Hints {
        let mut signature = tag as u32 + 1;
        let mut hints: Hints = hints::of_tag(tag);
        // Names of the whole page's element speak of its layout, not of its content.
        if !matches!(tag, Tag::Html | Tag::Body) {
            hints |= hints::of_names(attributes.class, &mut signature);
            hints |= hints::of_names(attributes.id, &mut 0);
            hints |= hints::of_names(attributes.itemprop, &mut 0);
            hints |= hints::of_role(attributes.role);
            if tag == Tag::Blockquote {
                // A quoted message of a social network is
                // part of the text (`class="twitter-tweet"`).
                hints &= !hints::SHARE;
            }
            if is_hidden(attributes) {
                hints |= hints::HIDDEN;
            }
        }
        let depth = self.tree.nodes[self.node as usize].depth + 1;
        let first_block = index(self.tree.blocks.len());
        let node =
            Node { tag, parent: self.node, depth, hints, signature, first_block, end_block: first_block };
        self.node = index(self.tree.nodes.len());
        self.tree.nodes.push(node);
        hints
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
                self.block.features |= block_flag::AFTER_BREAK;
            }
            Tag::Hr => {
                self.close_implied(tag);
                self.end_block();
                self.block.features |= block_flag::AFTER_RULE;
            }
            Tag::Img => self.block.images_before = self.block.images_before.saturating_add(1),
            Tag::Input => {
                self.block.features |= block_flag::AFTER_CONTROL;
                if attributes.kind.eq_ignore_ascii_case(b"password") {
                    self.tree.head.says |= says::PASSWORD;
                }
            }
            Tag::Meta => self.meta(attributes),
            Tag::Link | Tag::Base => self.link(tag, attributes),
            _ => {}
        }
    }

    /// Ends the block that is being filled; a blank one leaves no trace but its images.
    fn end_block(&mut self) {
        let mut next = Block::default();
        if self.block.counts.bytes == 0 {
            self.tree.segments.truncate(self.block.first_segment as usize);
            next.features = self.block.features
                & (block_flag::AFTER_BREAK | block_flag::AFTER_RULE | block_flag::AFTER_CONTROL);
            next.images_before = self.block.images_before;
        } else {
            self.block.node = self.node;
            self.block.end_segment = index(self.tree.segments.len());
            for (inside, flag) in [
                (self.inside.preformatted, block_flag::PREFORMATTED),
                (self.inside.code, block_flag::CODE),
                (self.inside.links, block_flag::IN_BLOCK_LINK),
            ] {
                if inside != 0 {
                    self.block.features |= flag;
                }
            }
            self.tree.blocks.push(self.block);
        }
        next.first_segment = index(self.tree.segments.len());
        self.block = next;
    }

    /// Closes everything at the end of the page.
    pub(in crate::extract) fn finish(&mut self) {
        self.pop_to(1);
        self.end_block();
        self.tree.nodes[0].end_block = index(self.tree.blocks.len());
    }
}

fn segment_of(start: usize, end: usize) -> Option<Segment> {
    Some(Segment { start: u32::try_from(start).ok()?, end: u32::try_from(end).ok()? })
}

/// Indices fit, since the caller refuses pages of 4 GiB and nodes are fewer than bytes.
fn index(length: usize) -> u32 {
    u32::try_from(length).unwrap_or(u32::MAX)
}
