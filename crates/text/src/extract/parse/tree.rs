//! A parsed page as flat arrays: nodes of block elements,
//! blocks of running text, segments of the source.
//!
//! The tree needs no child links: nodes stand in document order, and each knows its parent and its
//! range of blocks. So all sums over a subtree are differences of sums over blocks. Invariants: a
//! node's parent stands before it; block ranges nest; segments are ranges of the source at
//! character boundaries. Memory: 28 bytes a node, 48 a block, 8 a segment, kept from page to page.

use crate::extract::credits::marks::Mark;
use crate::extract::parse::hints::Hints;
use crate::extract::parse::tag::Tag;

/// A page, cut into blocks.
#[derive(Debug, Default)]
pub(in crate::extract) struct Tree {
    /// Block elements in document order; the first is the page itself.
    pub(in crate::extract) nodes: Vec<Node>,
    /// Runs of text between block boundaries, none of them blank.
    pub(in crate::extract) blocks: Vec<Block>,
    /// The source ranges that blocks are made of.
    pub(in crate::extract) segments: Vec<Segment>,
    /// What the head says.
    pub(in crate::extract) head: Head,
    /// Where the markup says who published or wrote the page, and when.
    pub(in crate::extract) marks: Vec<Mark>,
    /// Elements that the markup hides and that hold prose.
    pub(in crate::extract) hidden: Vec<Hidden>,
}

/// An element whose content is not shown at first, by `hidden`, `aria-hidden` or `display: none`; or a button.
#[derive(Debug, Clone, Copy)]
pub(in crate::extract) struct Hidden {
    /// Its element name.
    pub(in crate::extract) tag: Tag,
    /// Its element or role says that it is a dialog.
    pub(in crate::extract) is_dialog: bool,
    /// Hash of tag and names: elements of one make are equal.
    pub(in crate::extract) signature: u32,
    /// Byte offset of its start tag, which identifies it.
    pub(in crate::extract) at: u32,
    /// Byte offset after its last run of text.
    pub(in crate::extract) end: u32,
    /// The node that it stands in.
    pub(in crate::extract) parent: u32,
    /// The block after it, or that it stands in.
    pub(in crate::extract) block: u32,
    /// What its own name says.
    pub(in crate::extract) hints: Hints,
    /// What was counted in its runs of text that are no links and as long as a sentence.
    pub(in crate::extract) counts: Counts,
    /// The same for all runs that are no links.
    pub(in crate::extract) all: Counts,
    /// Hash of the first such run, to find a part that the page shows elsewhere.
    pub(in crate::extract) first_run: u64,
}

/// A block element.
#[derive(Debug, Clone, Copy)]
pub(in crate::extract) struct Node {
    /// Its element name.
    pub(in crate::extract) tag: Tag,
    /// Its element or role says that it is a dialog.
    pub(in crate::extract) is_dialog: bool,
    /// Its parent's index; its own for the first node.
    pub(in crate::extract) parent: u32,
    /// Nodes above it.
    pub(in crate::extract) depth: u32,
    /// What its own names say.
    pub(in crate::extract) hints: Hints,
    /// Hash of tag and names: nodes of one signature are equal.
    pub(in crate::extract) signature: u32,
    /// The first block within it.
    pub(in crate::extract) first_block: u32,
    /// The block after its last.
    pub(in crate::extract) end_block: u32,
}

/// A run of text between block boundaries.
#[derive(Debug, Clone, Copy, Default)]
pub(in crate::extract) struct Block {
    /// The node that holds it.
    pub(in crate::extract) node: u32,
    /// Its first segment.
    pub(in crate::extract) first_segment: u32,
    /// The segment after its last.
    pub(in crate::extract) end_segment: u32,
    /// What was counted.
    pub(in crate::extract) counts: Counts,
    /// Bytes of text within links.
    pub(in crate::extract) link_bytes: u32,
    /// Links.
    pub(in crate::extract) links: u16,
    /// Bytes in bold or emphasis.
    pub(in crate::extract) strong_bytes: u16,
    /// Features, as bits of [`block_flag`].
    pub(in crate::extract) features: u16,
    /// Images since the block before.
    pub(in crate::extract) images_before: u16,
}

/// Features of a block.
pub(in crate::extract) mod block_flag {
    /// Within `<pre>`: line breaks count.
    pub(crate) const PREFORMATTED: u16 = 1;
    /// Within `<code>`, `<tt>`.
    pub(crate) const CODE: u16 = 2;
    /// `<br>` came before it.
    pub(crate) const AFTER_BREAK: u16 = 4;
    /// `<hr>` came before it.
    pub(crate) const AFTER_RULE: u16 = 8;
    /// A form control came before it.
    pub(crate) const AFTER_CONTROL: u16 = 16;
    /// Within a link that holds block elements.
    pub(crate) const IN_BLOCK_LINK: u16 = 32;
    /// Holds `<time>`.
    pub(crate) const TIME: u16 = 64;
}

/// What is counted in text, in bytes of UTF-8, where letters of all alphabets count once: a
/// Chinese character counts 3, an English or Russian word about 5, which is about what each tells.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(in crate::extract) struct Counts {
    /// Bytes that are not white space; see above for alphabets.
    pub(in crate::extract) bytes: u32,
    /// Words, as far as white space parts them.
    pub(in crate::extract) words: u32,
    /// Commas, semicolons, colons of any script.
    pub(in crate::extract) commas: u16,
    /// Ends of sentences.
    pub(in crate::extract) stops: u16,
    /// ASCII digits.
    pub(in crate::extract) digits: u16,
    /// ASCII capital letters.
    pub(in crate::extract) capitals: u16,
}

/// A range of the source. [`Segment::LINE_BREAK`] stands for `<br>` within preformatted text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::extract) struct Segment {
    /// Byte offset of its start.
    pub(in crate::extract) start: u32,
    /// Byte offset after its end.
    pub(in crate::extract) end: u32,
}

impl Segment {
    /// A line break that has no text.
    pub(in crate::extract) const LINE_BREAK: Self = Self { start: u32::MAX, end: u32::MAX };
}

/// What the head says, as ranges of the source with references undecoded.
#[derive(Debug, Clone, Copy, Default)]
pub(in crate::extract) struct Head {
    /// `<title>`.
    pub(in crate::extract) title: Option<Segment>,
    /// `og:title` or its like.
    pub(in crate::extract) social_title: Option<Segment>,
    /// Descriptions for search engines and social networks.
    pub(in crate::extract) descriptions: [Option<Segment>; 3],
    /// The article's text in linked data.
    pub(in crate::extract) body: Option<Segment>,
    /// The longest state that a script starts from: JSON, or an attribute with references.
    pub(in crate::extract) state: Option<Segment>,
    /// Sorts of page that the page says it is, as bits of [`says`].
    pub(in crate::extract) says: u8,
}

/// Sorts of page by `og:type` and by `@type` of linked data.
pub(in crate::extract) mod says {
    /// News, blog.
    pub(crate) const ARTICLE: u8 = 1;
    /// A product of a shop.
    pub(crate) const PRODUCT: u8 = 2;
    /// A list of other pages.
    pub(crate) const LIST: u8 = 4;
    /// A forum's thread.
    pub(crate) const FORUM: u8 = 8;
    /// Questions and answers.
    pub(crate) const QUESTIONS: u8 = 16;
    /// A form that asks for a password.
    pub(crate) const PASSWORD: u8 = 32;
}

impl Head {
    /// Whether the page says that it is of this sort.
    pub(in crate::extract) fn says(&self, sort: u8) -> bool {
        self.says & sort != 0
    }
}

impl Tree {
    /// Forgets the last page, keeps the memory.
    pub(in crate::extract) fn clear(&mut self) {
        self.nodes.clear();
        self.blocks.clear();
        self.segments.clear();
        self.head = Head::default();
        self.marks.clear();
        self.hidden.clear();
    }

    /// Bytes of text of the whole page.
    pub(in crate::extract) fn bytes(&self) -> u64 {
        self.blocks.iter().map(|block| u64::from(block.counts.bytes)).sum()
    }

    /// `node` and the nodes above it, from the inside out.
    pub(in crate::extract) fn ancestors(&self, node: u32) -> impl Iterator<Item = u32> {
        std::iter::successors(Some(node), |&node| (node != 0).then(|| self.nodes[node as usize].parent))
    }
}
