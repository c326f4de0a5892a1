//! Builds the [`Tree`] from start tags, end tags and text: keeps the open elements, and ends blocks of text.
//!
//! In: the calls of [`crate::extract::parse::scan`]. Out: nodes, blocks and segments. Elements close by the standard's
//! rules as far as these affect the text (`<p>` before blocks, list items, table cells, links). The adoption agency
//! algorithm is left out, since a formatting element that ends late does not move text. Whether an element is open in a
//! scope is answered from one number per tag, so no page makes a search long. Invariants: every start tag is pushed
//! once and popped once; a call takes constant time, plus popped elements. Memory: 24 bytes per open element.

mod ahead;
pub(super) mod count;
pub(super) mod entities;
mod foreign;
mod head;
pub(super) mod hints;
pub(super) mod marks;
mod nesting;
pub(super) mod scan;
pub(super) mod segment;
mod shadow;
mod stack;
pub(super) mod streamed;
pub(super) mod structure;
pub(super) mod tag;
#[cfg(test)]
mod tests;
pub(super) mod text;
pub(super) mod tree;
pub(super) mod twice;
mod unseen;

use crate::extract::config::{ExtractConfig, ExtractError};
use crate::extract::parse::count::Counts;
use crate::extract::parse::count::count;
use crate::extract::parse::scan::Attributes;
use crate::extract::parse::segment::Segment;
use crate::extract::parse::tag::{COUNT, Tag, flag};
use crate::extract::parse::tree::{Block, Hidden, Node, Tree, block_flag, declared};
use hints::Hints;
pub(in crate::extract) use stack::Stack;
use stack::{Inside, Open, open};
pub(in crate::extract) use unseen::Unseen;
use unseen::{is_mark, unseen};

/// Minimum length in bytes of a run of text in a hidden element that counts as prose.
const HIDDEN_RUN_MIN: usize = 40;
/// Minimum number of bytes in runs of at least [`HIDDEN_RUN_MIN`] bytes in a hidden element that holds prose.
const HIDDEN_PROSE_MIN: u32 = 80;

/// Minimum bytes of text in a hidden element that may be a short section among others, such as an answer.
const HIDDEN_SHORT_MIN: u32 = 10;
/// Number of hidden elements kept for a page above which further short sections are not kept.
const HIDDEN_SHORT_COUNT_MAX: usize = 2_000;

/// Maximum number of levels from a button up to the heading that it begins.
const HEADING_LEVELS_MAX: usize = 3;

/// The hidden elements of a page that are read like visible ones.
#[derive(Debug, Clone, Copy)]
pub(in crate::extract) enum Show<'a> {
    /// The elements that begin at these offsets.
    Also(&'a [u32]),
    /// All hidden elements, and content for browsers without scripts.
    Everything,
    /// Like [`Self::Everything`], with templates that have places for a script to fill.
    Templates,
}

/// The syntax rules of a page's markup. They differ for tags that close themselves: in XML `<script/>` and `<title/>`
/// are empty, while HTML ignores the slash, and the rest of the page is a script or title.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Syntax {
    /// The content type is unknown. HTML's rules apply, unless a script, title or the like closes itself and has no end
    /// tag. The page is then XML from there on, since as HTML it would be blank.
    #[default]
    Unstated,
    /// The page was sent as HTML.
    Html,
    /// The page was sent as XHTML.
    Xml,
}

/// Builds one page's tree.
pub(in crate::extract) struct Builder<'a> {
    html: &'a [u8],
    syntax: Syntax,
    tree: &'a mut Tree,
    stack: &'a mut Stack,
    nodes_max: usize,
    depth_max: usize,
    show: Show<'a>,
    inside: Inside,
    /// The outermost open hidden element.
    hidden: Option<Hidden>,
    /// Position in the stack of the innermost open scope.
    scope: u32,
    /// Position in the stack of the innermost open block element.
    block_position: u32,
    /// The innermost open node.
    node: u32,
    /// The current block.
    block: Block,
    /// True if the tree's [`structure`] is recorded.
    records_structure: bool,
    /// Elements of raw text that have no end tag in the rest of the page.
    unended: Vec<Tag>,
}

impl<'a> Builder<'a> {
    pub(in crate::extract) fn new(
        html: &'a str,
        config: &ExtractConfig,
        show: Show<'a>,
        tree: &'a mut Tree,
        stack: &'a mut Stack,
    ) -> Self {
        tree.clear();
        stack.elements.clear();
        stack.shadow_trees.clear();
        stack.last = [0; COUNT];
        let root = Node {
            tag: Tag::Html,
            is_dialog: false,
            start: 0,
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
            syntax: Syntax::default(),
            tree,
            stack,
            nodes_max: config.nodes_max,
            depth_max: config.depth_max,
            show,
            inside: Inside::default(),
            hidden: None,
            scope: 0,
            block_position: 0,
            node: 0,
            block: Block::default(),
            records_structure: false,
            unended: Vec::new(),
        }
    }

    /// Records the tree's [`structure`] if `records_structure` is true.
    pub(in crate::extract) fn with_structure(mut self, records_structure: bool) -> Self {
        self.records_structure = records_structure;
        self
    }

    /// Sets the syntax rules of the page.
    pub(in crate::extract) fn with_syntax(mut self, syntax: Syntax) -> Self {
        self.syntax = syntax;
        self
    }

    /// Returns true if XML's rules apply.
    pub(in crate::extract) fn is_xml(&self) -> bool {
        self.syntax == Syntax::Xml
    }

    /// Handles an element with raw text that closes itself and has no end tag. Returns true if it is empty.
    pub(in crate::extract) fn closes_itself(&mut self) -> bool {
        if self.syntax == Syntax::Unstated {
            self.syntax = Syntax::Xml;
        }
        self.is_xml()
    }

    /// Returns true if an element of raw text that has no end tag is passed over, with the text up to the next tag. By
    /// the standard it holds the rest of the page; if that is all there is, authors meant something else.
    pub(in crate::extract) fn passes_unended(&mut self, tag: Tag) -> bool {
        let passes = self.reads_all_hidden() && tag != Tag::Script;
        if passes && !self.unended.contains(&tag) {
            self.unended.push(tag);
        }
        passes
    }

    /// Returns true if no end tag of `tag` follows, as a search has shown. Searching for it again and again would take
    /// quadratic time.
    pub(in crate::extract) fn is_unended(&self, tag: Tag) -> bool {
        self.unended.contains(&tag)
    }

    /// Returns true if all hidden content is read in this pass.
    pub(in crate::extract) fn reads_all_hidden(&self) -> bool {
        matches!(self.show, Show::Everything | Show::Templates)
    }

    /// Returns true if templates with places for a script to fill are read in this pass.
    pub(in crate::extract) fn reads_templates(&self) -> bool {
        matches!(self.show, Show::Templates)
    }

    /// Returns true if places for a script to fill are left out here. In code they are what the page is about.
    pub(in crate::extract) fn leaves_out_places(&self) -> bool {
        self.reads_all_hidden() && self.inside.preformatted == 0 && self.inside.code == 0
    }

    /// Returns how the element is hidden if its content is not to be read. A button counts as closed, since one without
    /// an end tag may hold a whole page.
    fn unseen(&self, tag: Tag, attributes: &Attributes<'_>) -> Option<Unseen> {
        let is_shown = || match self.show {
            Show::Everything | Show::Templates => true,
            Show::Also(shown) => shown.binary_search(&index(attributes.start)).is_ok(),
        };
        let is_closed = || {
            (tag == Tag::Button && !self.begins_heading()) || (tag.is(flag::BLOCK) && self.is_in_slotless())
        };
        let style = self.style_of(tag, attributes).filter(|_| !self.is_word(tag, attributes));
        let unseen = style.or_else(|| is_closed().then_some(Unseen::Closed));
        unseen.filter(|_| !matches!(tag, Tag::Html | Tag::Body) && !is_shown())
    }

    /// Returns how the element is hidden by its own attributes.
    fn style_of(&self, tag: Tag, attributes: &Attributes<'_>) -> Option<Unseen> {
        unseen(tag, attributes, self.html.get(attributes.start..).unwrap_or_default())
    }

    /// Returns true if a heading, or a term of a list, has begun and has no text yet. A button there opens the section
    /// below, and its words are the heading.
    fn begins_heading(&self) -> bool {
        let is_heading = |node: u32| {
            let node = &self.tree.nodes[node as usize];
            (node.tag.heading_level() != 0 || node.tag == Tag::Dt)
                && node.first_block == index(self.tree.blocks.len())
        };
        let mut above = self.tree.ancestors(self.node).take(HEADING_LEVELS_MAX);
        self.inside.skipped == 0 && self.block.counts.bytes == 0 && above.any(is_heading)
    }

    /// Adds the text from `start` to `end`, which may be blank.
    pub(in crate::extract) fn text(&mut self, start: usize, end: usize) {
        if self.inside.skipped != 0 {
            self.hidden_text(start, end);
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

    /// Counts text that is not read because it is in hidden elements, and for no other reason.
    fn hidden_text(&mut self, start: usize, end: usize) {
        if self.inside.skipped != self.inside.unseen || self.inside.links != 0 {
            return;
        }
        let Some(hidden) = &mut self.hidden else { return };
        count(&self.html[start..end], &mut hidden.all);
        hidden.end = index(end);
        if end - start < HIDDEN_RUN_MIN {
            return;
        }
        count(&self.html[start..end], &mut hidden.counts);
    }

    /// Adds the white space from `start` to `end`.
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

    /// Sets the page's title; the first `<title>` counts, unless it belongs to a drawing.
    pub(in crate::extract) fn title(&mut self, start: usize, end: usize) {
        if self.inside.skipped == 0 && self.tree.head.title.is_none() {
            self.tree.head.title = segment_of(start, end);
        }
    }

    /// Handles a start tag.
    pub(in crate::extract) fn start(
        &mut self,
        tag: Tag,
        attributes: &Attributes<'_>,
    ) -> Result<(), ExtractError> {
        if self.tree.nodes.len() + self.tree.blocks.len() >= self.nodes_max {
            return Err(ExtractError::TooManyNodes { nodes_max: self.nodes_max });
        }
        self.close_label(tag);
        if self.is_in_foreign() && self.start_foreign(tag, attributes)? {
            return Ok(());
        }
        if matches!(tag, Tag::Svg | Tag::Math) {
            return self.push_foreign(tag, attributes);
        }
        if self.close_select(tag) {
            return Ok(());
        }
        if tag.is(flag::VOID) {
            self.void(tag, attributes);
            return Ok(());
        }
        self.close_implied(tag);
        self.check_depth()?;
        let unseen = self.unseen(tag, attributes);
        let is_unseen = unseen.is_some();
        let is_shadow = self.may_be_shadow_tree(tag, attributes);
        let features = self.open_features(tag, attributes, is_unseen, is_shadow);
        if let Some(unseen) = unseen.filter(|unseen| *unseen != Unseen::Away && self.inside.skipped == 0) {
            self.begin_hidden(tag, attributes, unseen);
        }
        let is_heading = tag == Tag::Button && !is_unseen && self.begins_heading();
        let is_line = is_heading || self.is_word(tag, attributes);
        let is_block = tag.is(flag::BLOCK) && self.inside.skipped == 0 && !is_line;
        if tag == Tag::Slot {
            self.fill_slot();
        }
        if is_shadow && self.inside.skipped == 0 && features & open::SKIPPED == 0 {
            self.begin_shadow_tree();
        }
        if is_block {
            self.end_block();
        }
        self.open(tag, attributes, features, is_block);
        Ok(())
    }

    /// Returns true if the element is a template that is read like a shadow tree. A script may show any template, so
    /// all are read if all hidden content is.
    fn may_be_shadow_tree(&self, tag: Tag, attributes: &Attributes<'_>) -> bool {
        tag == Tag::Template
            && (self.reads_all_hidden() || (attributes.shadow && self.may_begin_shadow_tree()))
    }

    /// Returns what the stack records of an element.
    fn open_features(&self, tag: Tag, attributes: &Attributes<'_>, is_unseen: bool, is_shadow: bool) -> u16 {
        let mut features = match tag {
            Tag::A if attributes.linked => open::LINK,
            Tag::B | Tag::Strong | Tag::Em => open::STRONG,
            Tag::Code | Tag::Tt => open::CODE,
            Tag::Pre | Tag::Xmp | Tag::Listing | Tag::Plaintext => open::PREFORMATTED,
            _ => 0,
        };
        // Browsers that cannot play or draw show the content of these.
        let is_fallback = self.reads_all_hidden() && matches!(tag, Tag::Audio | Tag::Canvas | Tag::Video);
        let is_skipped = tag.is(flag::SKIP) && !is_shadow && !is_fallback;
        if is_skipped || is_unseen || is_mark(tag, attributes.class) {
            features |= open::SKIPPED;
        }
        if is_unseen && self.inside.skipped == 0 {
            features |= open::HIDDEN | open::UNSEEN;
        } else if is_unseen && tag != Tag::Button {
            features |= open::UNSEEN;
        }
        features
    }

    /// Opens an element with these features: puts it on the stack, and notes what the tree or the present block needs.
    fn open(&mut self, tag: Tag, attributes: &Attributes<'_>, features: u16, is_block: bool) {
        if self.inside.skipped == 0 && features & open::SKIPPED == 0 && !is_block {
            self.mark_element(tag, attributes, true);
        }
        let position = self.push_open(tag, features);
        if self.records_structure && self.inside.skipped == 0 && !is_block {
            self.begin_span(tag, attributes);
        }
        if tag.is(flag::SCOPE) {
            self.scope = position;
        }
        if tag.is(flag::BLOCK) {
            self.block_position = position;
        }
        if is_block {
            let hints = self.push_node(tag, attributes);
            if self.records_structure {
                self.record_node(tag, attributes);
            }
            if features & open::SKIPPED == 0 {
                // The hints of the element's names say if its class and id can announce anything.
                self.mark_element(tag, attributes, hints & (hints::AUTHOR | hints::META) != 0);
            }
        } else if features & open::LINK != 0 && self.inside.skipped == 0 {
            self.block.links = self.block.links.saturating_add(1);
        } else if tag == Tag::Time {
            self.block.features |= block_flag::TIME;
        } else if matches!(tag, Tag::Button | Tag::Select) {
            self.block.features |= block_flag::AFTER_CONTROL;
        }
    }

    fn begin_hidden(&mut self, tag: Tag, attributes: &Attributes<'_>, unseen: Unseen) {
        let mut signature = tag as u32 + 1;
        let names =
            [hints::from_names(attributes.class, &mut signature), hints::from_names(attributes.id, &mut 0)];
        self.hidden = Some(Hidden {
            tag,
            unseen,
            is_dialog: hints::is_dialog(tag, attributes.role),
            signature,
            at: index(attributes.start),
            end: index(attributes.start),
            parent: self.node,
            block: index(self.tree.blocks.len()),
            hints: hints::from_tag(tag) | hints::from_role(attributes.role) | names[0] | names[1],
            counts: Counts::default(),
            all: Counts::default(),
        });
    }

    /// Ends the open hidden element, and keeps it if it holds prose or may be a short section.
    fn end_hidden(&mut self) {
        let Some(hidden) = self.hidden.take() else { return };
        let is_short = hidden.all.bytes >= HIDDEN_SHORT_MIN && hidden.tag != Tag::Button;
        let has_room = self.tree.hidden.len() < HIDDEN_SHORT_COUNT_MAX;
        if hidden.counts.bytes >= HIDDEN_PROSE_MIN || (is_short && has_room) {
            self.tree.hidden.push(hidden);
        }
    }

    fn check_depth(&self) -> Result<(), ExtractError> {
        match self.stack.elements.len() >= self.depth_max {
            true => Err(ExtractError::TooDeep { depth_max: self.depth_max }),
            false => Ok(()),
        }
    }

    /// Opens an element, and returns its position in the stack.
    fn push_open(&mut self, tag: Tag, features: u16) -> u32 {
        let position = self.position() + 1;
        self.stack.elements.push(Open {
            tag,
            features,
            node: self.node,
            same_tag: std::mem::replace(&mut self.stack.last[tag as usize], position),
            scope: self.scope,
            block: self.block_position,
            span: 0,
        });
        self.inside.change(features, 1);
        position
    }

    /// Adds a node, and returns the hints of its names.
    fn push_node(&mut self, tag: Tag, attributes: &Attributes<'_>) -> Hints {
        let mut signature = tag as u32 + 1;
        let mut hints: Hints = hints::from_tag(tag);
        // Names of `<html>` and `<body>` refer to the page's layout, not to its content.
        if !matches!(tag, Tag::Html | Tag::Body) {
            hints |= hints::from_names(attributes.class, &mut signature);
            hints |= self.hints_of_id(tag, attributes);
            hints |= hints::from_names(attributes.itemprop, &mut 0);
            hints |= hints::from_role(attributes.role);
            if tag == Tag::Blockquote {
                // A quoted message of a social network is part of the text (`class="twitter-tweet"`).
                hints &= !hints::SHARE;
            }
            match self.show {
                Show::Everything | Show::Templates if self.style_of(tag, attributes).is_some() => {
                    hints |= hints::HIDDEN;
                }
                // A hidden element that is read belongs to the text, whatever its name.
                Show::Also(_) if self.style_of(tag, attributes).is_some() => hints &= !hints::POPUP,
                _ => {}
            }
        }
        let depth = self.tree.nodes[self.node as usize].depth + 1;
        let first_block = index(self.tree.blocks.len());
        let (parent, end_block) = (self.node, first_block);
        let is_dialog = hints::is_dialog(tag, attributes.role);
        let start = index(attributes.start);
        let node = Node { tag, is_dialog, start, parent, depth, hints, signature, first_block, end_block };
        self.node = index(self.tree.nodes.len());
        self.tree.nodes.push(node);
        if marks::has_word(attributes.itemprop, b"articleBody") {
            self.tree.bodies.push(self.node);
        }
        hints
    }

    /// Handles an element without content.
    fn void(&mut self, tag: Tag, attributes: &Attributes<'_>) {
        if self.inside.skipped != 0 {
            return;
        }
        match tag {
            Tag::Br if self.inside.preformatted != 0 => self.tree.segments.push(Segment::LINE_BREAK),
            Tag::Br => {
                self.end_block();
                self.block.features |= block_flag::AFTER_BREAK;
                self.record_break();
            }
            Tag::Hr => {
                self.close_implied(tag);
                self.end_block();
                self.block.features |= block_flag::AFTER_RULE;
            }
            Tag::Img => {
                self.block.images_before = self.block.images_before.saturating_add(1);
                self.record_image(attributes);
            }
            Tag::Input => {
                self.record_checkbox(attributes);
                self.block.features |= block_flag::AFTER_CONTROL;
                if attributes.kind.eq_ignore_ascii_case(b"password") {
                    self.tree.head.declared |= declared::PASSWORD;
                }
            }
            Tag::Meta => self.meta(attributes),
            Tag::Link | Tag::Base => self.link(tag, attributes),
            _ => {}
        }
    }

    /// Ends the current block. A blank one is dropped, but its images count.
    fn end_block(&mut self) {
        let mut next = Block::default();
        if self.block.counts.bytes == 0 {
            self.tree.segments.truncate(self.block.first_segment as usize);
            self.tree.structure.remove_after(self.block.first_segment);
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
        self.tree.structure.begin_block();
        self.block = next;
    }

    /// Closes all elements at the end of the page.
    pub(in crate::extract) fn finish(&mut self) {
        self.pop_to(1);
        self.end_block();
        self.tree.nodes[0].end_block = index(self.tree.blocks.len());
    }
}

fn segment_of(start: usize, end: usize) -> Option<Segment> {
    Some(Segment { start: u32::try_from(start).ok()?, end: u32::try_from(end).ok()? })
}

/// Converts an index. It fits, because pages of 4 GiB are rejected and nodes are fewer than bytes.
fn index(length: usize) -> u32 {
    u32::try_from(length).unwrap_or(u32::MAX)
}
