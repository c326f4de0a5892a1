//! A parsed page as flat arrays: nodes of block elements, blocks of running text, segments of the source.
//!
//! The tree needs no links to children: nodes are in document order, and each has its parent and its range of blocks.
//! All sums over a subtree are thus differences of sums over blocks. Invariants: a node's parent comes before it; block
//! ranges nest; segments are ranges of the source at character boundaries. Memory: 32 bytes per node, 40 per block, 8
//! per segment, kept from page to page.

use crate::extract::parse::count::Counts;
use crate::extract::parse::hints::Hints;
use crate::extract::parse::marks::Mark;
use crate::extract::parse::segment::Segment;
use crate::extract::parse::structure::Structure;
use crate::extract::parse::tag::Tag;
use crate::extract::parse::unseen::Unseen;

/// A page, divided into blocks.
#[derive(Debug, Default)]
pub(in crate::extract) struct Tree {
    /// Block elements in document order; the first is the page itself.
    pub(in crate::extract) nodes: Vec<Node>,
    /// Runs of text between block boundaries; none is blank.
    pub(in crate::extract) blocks: Vec<Block>,
    /// The source ranges of the blocks.
    pub(in crate::extract) segments: Vec<Segment>,
    /// Information from the head.
    pub(in crate::extract) head: Head,
    /// Marks of the publisher, author and date in the markup.
    pub(in crate::extract) marks: Vec<Mark>,
    /// Hidden elements that hold prose or may be short sections.
    pub(in crate::extract) hidden: Vec<Hidden>,
    /// The nodes with `itemprop="articleBody"`.
    pub(in crate::extract) bodies: Vec<u32>,
    /// Links, emphasis, images and the like. Empty unless it was requested.
    pub(in crate::extract) structure: Structure,
}

/// An element whose content is not shown at first, by `hidden`, `aria-hidden` or its style; or a button.
#[derive(Debug, Clone, Copy)]
pub(in crate::extract) struct Hidden {
    /// Name of the element.
    pub(in crate::extract) tag: Tag,
    /// How the element is hidden.
    pub(in crate::extract) unseen: Unseen,
    /// True if the element's name or role is a dialog.
    pub(in crate::extract) is_dialog: bool,
    /// Structural signature: a hash of tag and names, equal for similar elements.
    pub(in crate::extract) signature: u32,
    /// Byte offset of the start tag, which identifies the element.
    pub(in crate::extract) at: u32,
    /// Byte offset after the element's last run of text.
    pub(in crate::extract) end: u32,
    /// The node that contains the element.
    pub(in crate::extract) parent: u32,
    /// The block that contains the element, or the next one.
    pub(in crate::extract) block: u32,
    /// The hints of the element's own names.
    pub(in crate::extract) hints: Hints,
    /// Counts of the element's runs of text that are not links and are as long as a sentence.
    pub(in crate::extract) counts: Counts,
    /// Counts of all runs of the element that are not links.
    pub(in crate::extract) all: Counts,
}

/// A block element.
#[derive(Debug, Clone, Copy)]
pub(in crate::extract) struct Node {
    /// Name of the element.
    pub(in crate::extract) tag: Tag,
    /// True if the element's name or role is a dialog.
    pub(in crate::extract) is_dialog: bool,
    /// Byte offset of the start tag.
    pub(in crate::extract) start: u32,
    /// Index of the parent; for the first node, its own index.
    pub(in crate::extract) parent: u32,
    /// Number of nodes above this one.
    pub(in crate::extract) depth: u32,
    /// The hints of the element's own names.
    pub(in crate::extract) hints: Hints,
    /// Structural signature: a hash of tag and names, equal for similar nodes.
    pub(in crate::extract) signature: u32,
    /// The first block within the node.
    pub(in crate::extract) first_block: u32,
    /// The block after the last one within the node.
    pub(in crate::extract) end_block: u32,
}

/// A run of text between block boundaries.
#[derive(Debug, Clone, Copy, Default)]
pub(in crate::extract) struct Block {
    /// The node that holds the block.
    pub(in crate::extract) node: u32,
    /// First segment of the block.
    pub(in crate::extract) first_segment: u32,
    /// The segment after the last one of the block.
    pub(in crate::extract) end_segment: u32,
    /// Counts of the block's text.
    pub(in crate::extract) counts: Counts,
    /// Bytes of text within links.
    pub(in crate::extract) link_bytes: u32,
    /// Number of links.
    pub(in crate::extract) links: u16,
    /// Bytes in bold or emphasis.
    pub(in crate::extract) strong_bytes: u16,
    /// Features, as bits of [`block_flag`].
    pub(in crate::extract) features: u16,
    /// Number of images since the previous block.
    pub(in crate::extract) images_before: u16,
}

/// Features of a block.
pub(in crate::extract) mod block_flag {
    /// The block is within `<pre>`, where line breaks matter.
    pub(crate) const PREFORMATTED: u16 = 1;
    /// The block is within `<code>` or `<tt>`.
    pub(crate) const CODE: u16 = 2;
    /// The block follows a `<br>`.
    pub(crate) const AFTER_BREAK: u16 = 4;
    /// The block follows an `<hr>`.
    pub(crate) const AFTER_RULE: u16 = 8;
    /// The block follows a form control.
    pub(crate) const AFTER_CONTROL: u16 = 16;
    /// The block is within a link that holds block elements.
    pub(crate) const IN_BLOCK_LINK: u16 = 32;
    /// The block holds a `<time>`.
    pub(crate) const TIME: u16 = 64;
}

/// Information from the head, as ranges of the source with references not decoded.
#[derive(Debug, Clone, Copy, Default)]
pub(in crate::extract) struct Head {
    /// `<title>`.
    pub(in crate::extract) title: Option<Segment>,
    /// `og:title` or the like.
    pub(in crate::extract) social_title: Option<Segment>,
    /// Descriptions for search engines and social networks.
    pub(in crate::extract) descriptions: [Option<Segment>; 3],
    /// The longest page in an `<iframe srcdoc>`.
    pub(in crate::extract) inner_page: Option<Segment>,
    /// Kinds of page that the page declares, as bits of [`declared`].
    pub(in crate::extract) declared: u8,
}

/// Kinds of page by `og:type` and by `@type` of linked data.
pub(in crate::extract) mod declared {
    /// A news or blog article.
    pub(crate) const ARTICLE: u8 = 1;
    /// A product of a shop.
    pub(crate) const PRODUCT: u8 = 2;
    /// A list of other pages.
    pub(crate) const LIST: u8 = 4;
    /// A forum's thread.
    pub(crate) const FORUM: u8 = 8;
    /// Questions and answers.
    pub(crate) const QUESTIONS: u8 = 16;
    /// A page with a password field.
    pub(crate) const PASSWORD: u8 = 32;
}

impl Head {
    /// Returns true if the page declares this kind.
    pub(in crate::extract) fn declares(&self, kind: u8) -> bool {
        self.declared & kind != 0
    }
}

impl Node {
    /// Returns true if the node holds the block.
    pub(in crate::extract) fn holds(&self, block: usize) -> bool {
        (self.first_block as usize..self.end_block as usize).contains(&block)
    }
}

impl Tree {
    /// Removes the last page and keeps the memory.
    pub(in crate::extract) fn clear(&mut self) {
        self.nodes.clear();
        self.blocks.clear();
        self.segments.clear();
        self.head = Head::default();
        self.marks.clear();
        self.hidden.clear();
        self.bodies.clear();
        self.structure.clear();
    }

    /// Returns the bytes of text of the whole page.
    pub(in crate::extract) fn bytes(&self) -> u64 {
        self.blocks.iter().map(|block| u64::from(block.counts.bytes)).sum()
    }

    /// Returns the bytes of text in `blocks`.
    pub(in crate::extract) fn bytes_of(&self, blocks: &[u32]) -> u64 {
        blocks.iter().map(|&block| u64::from(self.blocks[block as usize].counts.bytes)).sum()
    }

    /// Returns the elements around a block, from the inside out.
    pub(in crate::extract) fn around(&self, block: &Block) -> impl Iterator<Item = &Node> {
        self.ancestors(block.node).map(|node| &self.nodes[node as usize])
    }

    /// Returns the level of the heading that a block is.
    pub(in crate::extract) fn heading_level(&self, block: &Block) -> Option<u8> {
        self.around(block).take(3).map(|node| node.tag.heading_level()).find(|level| *level != 0)
    }

    /// Returns `node` and the nodes above it, from the inside out.
    pub(in crate::extract) fn ancestors(&self, node: u32) -> impl Iterator<Item = u32> {
        std::iter::successors(Some(node), |&node| (node != 0).then(|| self.nodes[node as usize].parent))
    }
}
