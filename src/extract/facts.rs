//! What is known of each block when it is weighed: itself, its neighbours, the nodes round it, the page.
//!
//! In: the tree. Out: one column of integers a [`Fact`], one value a block. Shares are in thousandths. Cost: linear in
//! the blocks, with at most [`ANCESTORS_MAX`] nodes looked at for each. Memory: 340 bytes a block, kept
//! from page to page.

use xxhash_rust::xxh3::xxh3_64;

use super::hints::{self, Hints};
use super::phrases::{self, Phrases};
use super::tag::Tag;
use super::tree::{Block, Tree, block_fact, says};

/// Nodes above a block that are looked at.
const ANCESTORS_MAX: usize = 64;

/// Enclosing nodes whose sums are facts; wrappers with the same blocks count once.
pub(super) const RINGS: usize = 4;

macro_rules! facts {
    ($($fact:ident)*) => {
        /// The columns.
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        #[repr(usize)]
        #[allow(missing_docs, dead_code, reason = "the names say it; rings, hints and phrases are reached by number")]
        pub(super) enum Fact { $($fact,)* Hint0, Phrase0 = Fact::Hint0 as usize + 31, End = Fact::Hint0 as usize + 31 + phrases::KINDS }

        /// Names of the columns, for the training tool.
        pub(super) fn names() -> Vec<String> {
            let mut names: Vec<String> = [$(stringify!($fact),)*].iter().map(|name| (*name).to_owned()).collect();
            names.extend((0..31).map(|bit| format!("Hint{bit}")));
            names.extend((0..phrases::KINDS).map(|kind| format!("Phrase{kind}")));
            names
        }
    };
}

facts! {
    // The block itself.
    Bytes LinkShare Commas Stops DigitShare CapitalShare Words BytesPerWord StrongShare Links ImagesBefore Segments
    AfterBreak AfterRule AfterControl InBlockLink Preformatted Code Time
    HeadingLevel IsParagraph IsItem IsCell IsDivision IsDefinition InTable InList InQuote InForm InHeading
    LastByte FirstByte HighShare
    // Its neighbours.
    PreviousBytes PreviousLinkShare PreviousStops PreviousHeading PreviousSameNode
    NextBytes NextLinkShare NextStops NextHeading NextSameNode
    Previous2Bytes Next2Bytes Previous2LinkShare Next2LinkShare
    AroundText AroundLinks BeforeText AfterText
    SinceHeading ToHeading
    // Its place on the page.
    Index IndexShare BytesShare BlocksAfter Depth
    // Enclosing nodes, from the inside out.
    Ring0Share Ring0Links Ring0Blocks Ring0Mean Ring0Text
    Ring1Share Ring1Links Ring1Blocks Ring1Mean Ring1Text
    Ring2Share Ring2Links Ring2Blocks Ring2Mean Ring2Text
    Ring3Share Ring3Links Ring3Blocks Ring3Mean Ring3Text
    FurnitureShare FurnitureCount ContentShare ContentCount NearHints NearContent
    // Blocks of the same make.
    KinCount KinBytes KinLinks KinMean
    // The best node and the best run of blocks.
    InBestNode BestNodeDistance BestNodeShare InBestRun BestRunDistance BestRunShare FromBestStart ToBestEnd
    // The title.
    InTitle SinceTitle HasTitle
    // The same text elsewhere on the page.
    CopiesBefore Copies
    // The section: from the last heading to the next.
    SectionBytes SectionLinks SectionText SectionBlocks SectionLevel SectionRelated SectionComment SectionAccount SectionShop SectionShare
    // Readers' comments.
    InComment CommentShare OutsideComment
    // The page.
    PageBytes PageLinks PageBlocks PageMean PageLongShare PageParagraphShare PageHighShare PageArticle PageArticles PageNodesPerBlock
    PageHeadings PageItemShare PageKinShare PageShopPhrases PageDates PageProduct PageList PageForum PageQuestions
}

/// Number of columns.
pub(super) const WIDTH: usize = Fact::End as usize;

/// Bytes from which a block with few links counts as text: about 15 words, 27 Chinese characters.
pub(super) const TEXT_BYTES: u32 = 80;

/// Sums over all blocks before a place.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Sums {
    pub(super) bytes: u32,
    pub(super) linked: u32,
    /// Bytes in blocks that count as text.
    pub(super) text: u32,
    /// What speaks for text less what speaks against it.
    pub(super) balance: i32,
}

/// The facts of one page, with the sums that they and later steps use.
#[derive(Debug, Default)]
pub(super) struct Facts {
    /// All values of the first column, then all of the second…: weighing goes down a column at a time.
    pub(super) columns: Vec<i16>,
    /// One more than there are blocks.
    pub(super) sums: Vec<Sums>,
    /// For each block, its [`RINGS`] enclosing block ranges.
    pub(super) rings: Vec<[(u32, u32); RINGS]>,
    /// For each block, the number of its kin group.
    pub(super) kin: Vec<u32>,
    /// Blocks in each kin group, their bytes and link bytes.
    kin_sums: Vec<(u32, u32, u32)>,
    /// For each block, the number of the group of blocks with the same text, and how many came before.
    copies: Vec<(u32, u32)>,
    copy_counts: Vec<u32>,
    groups: Groups,
    /// For each node, the hints of itself and those above, furniture only where believed.
    believed: Vec<Hints>,
    phrases: Vec<Phrases>,
    /// For each block, the range from the heading above it to the next.
    pub(super) sections: Vec<(u32, u32)>,
    /// For each node, whether it is or stands in a comment section.
    in_comment: Vec<bool>,
}

/// The place of one block's values in the columns.
struct Row<'a> {
    columns: &'a mut [i16],
    blocks: usize,
    at: usize,
}

impl Row<'_> {
    #[inline]
    fn put(&mut self, column: usize, value: i16) {
        self.columns[column * self.blocks + self.at] = value;
    }

    #[inline]
    fn set(&mut self, fact: Fact, value: i16) {
        self.put(fact as usize, value);
    }

    fn get(&self, fact: Fact) -> i16 {
        self.columns[fact as usize * self.blocks + self.at]
    }

    fn add(&mut self, fact: Fact) {
        self.set(fact, self.get(fact).saturating_add(1));
    }
}

/// Numbers keys in the order of their first appearance: open addressing, kept from page to page.
#[derive(Debug, Default)]
struct Groups {
    slots: Vec<(u64, u32)>,
    count: u32,
}

impl Groups {
    /// Makes room for `keys` keys.
    fn clear(&mut self, keys: usize) {
        self.count = 0;
        self.slots.clear();
        self.slots.resize((keys * 2).next_power_of_two(), (0, u32::MAX));
    }

    /// The number of `key`.
    fn of(&mut self, key: u64) -> u32 {
        let mask = self.slots.len() - 1;
        let mut slot = (key.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32) as usize & mask;
        loop {
            match self.slots[slot] {
                (_, u32::MAX) => {
                    self.slots[slot] = (key, self.count);
                    self.count += 1;
                    return self.count - 1;
                }
                (found, number) if found == key => return number,
                _ => slot = (slot + 1) & mask,
            }
        }
    }
}

/// Whether the block counts as text.
fn is_text(block: &Block) -> bool {
    block.counts.bytes >= TEXT_BYTES && block.link_bytes * 3 < block.counts.bytes
}

/// Whether the block is a heading.
fn is_heading(tree: &Tree, block: &Block) -> bool {
    let mut above = tree.ancestors(block.node).take(3);
    above.any(|node| tree.nodes[node as usize].tag.heading_level() != 0)
}

/// `part` in thousandths of `whole`.
pub(super) fn share(part: u32, whole: u32) -> i16 {
    if whole == 0 { 0 } else { (u64::from(part) * 1000 / u64::from(whole)).min(1000) as i16 }
}

/// Larger values tell no more.
fn clamp(value: u32) -> i16 {
    value.min(30_000) as i16
}

/// A distance in blocks.
fn distance(from: usize, to: usize) -> i16 {
    (to as i64 - from as i64).clamp(-1000, 1000) as i16
}

impl Facts {
    /// The values of one block.
    pub(super) fn row_of(&self, block: usize) -> Vec<i16> {
        let blocks = self.kin.len();
        (0..WIDTH).map(|column| self.columns[column * blocks + block]).collect()
    }

    /// Whether the block stands in a comment section.
    pub(super) fn in_comment(&self, block: &Block) -> bool {
        self.in_comment[block.node as usize]
    }

    /// Gathers the facts of all blocks of `tree`. With `comments`, comment sections are not known as such.
    pub(super) fn gather(&mut self, tree: &Tree, html: &[u8], comments: bool) {
        self.sum(tree);
        let mut page = Page::of(tree, html, &self.sums);
        self.believe(tree, &page, comments);
        for block in &tree.blocks {
            let bytes = if is_text(block) { block.counts.bytes } else { 0 };
            let comment = self.in_comment[block.node as usize];
            *(if comment { &mut page.comment_text } else { &mut page.other_text }) += bytes;
        }
        self.group(tree, html);
        self.phrases.clear();
        for block in &tree.blocks {
            let text = source(tree, block, html);
            self.phrases.push(if text.len() <= phrases::BYTES_MAX { phrases::of(text) } else { 0 });
        }
        self.divide(tree);
        page.count(tree, &self.kin_sums, &self.phrases);
        self.rings.clear();
        self.rings.extend(tree.blocks.iter().enumerate().map(|(at, block)| rings(tree, at, block)));
        self.columns.clear();
        self.columns.resize(tree.blocks.len() * WIDTH, 0);
        let mut since_heading = 1000;
        for at in 0..tree.blocks.len() {
            self.itself(tree, html, at, &page, &mut since_heading);
            self.neighbours(tree, at);
            self.enclosing(tree, at, &page);
        }
        let mut to_heading = 1000;
        for at in (0..tree.blocks.len()).rev() {
            let mut row = Row { columns: &mut self.columns, blocks: tree.blocks.len(), at };
            row.set(Fact::ToHeading, to_heading);
            to_heading = if row.get(Fact::InHeading) != 0 { 1 } else { (to_heading + 1).min(1000) };
        }
    }

    fn sum(&mut self, tree: &Tree) {
        self.sums.clear();
        let mut sum = Sums::default();
        self.sums.push(sum);
        for block in &tree.blocks {
            sum.bytes += block.counts.bytes;
            sum.linked += block.link_bytes;
            let text = is_text(block);
            sum.text += if text { block.counts.bytes } else { 0 };
            // A text block is worth its length up to a long paragraph's; a short or linked one costs what a
            // line of a menu is.
            sum.balance += if text {
                block.counts.bytes.min(1000) as i32
            } else {
                -(30 + block.link_bytes.min(200) as i32)
            };
            self.sums.push(sum);
        }
    }

    /// Hints of each node with those above it. Furniture is not believed of a node that holds over 60 % of the
    /// best run, for its name speaks of one part (`main-with-sidebar`) or of the page's first state (`hide`);
    /// a comment section is one unless it holds the page's title or nearly all text.
    fn believe(&mut self, tree: &Tree, page: &Page, comments: bool) {
        self.believed.clear();
        self.in_comment.clear();
        let all = self.sums[tree.blocks.len()];
        let best = self.sums[page.best_run.1].text - self.sums[page.best_run.0].text;
        for node in &tree.nodes {
            let (first, end) = (node.first_block as usize, node.end_block as usize);
            let text = self.sums[end].text - self.sums[first].text;
            let (from, to) = (first.max(page.best_run.0), end.min(page.best_run.1));
            let of_best = if from < to { self.sums[to].text - self.sums[from].text } else { 0 };
            let has_title = page.title_block.is_some_and(|title| first <= title && title < end);
            let mut doubted = if comments { hints::COMMENT } else { 0 };
            if u64::from(of_best) * 10 > u64::from(best) * 6 {
                doubted |= (hints::FURNITURE | hints::HIDDEN) & !hints::COMMENT;
            }
            if has_title || u64::from(text) * 20 > u64::from(all.text) * 19 {
                doubted |= hints::COMMENT;
            }
            let own = node.hints & !doubted;
            let above = self.believed.get(node.parent as usize).copied().unwrap_or(0);
            self.believed.push(own | above);
            self.in_comment.push((own | above) & hints::COMMENT != 0);
        }
    }

    /// Groups blocks whose node and its parent are of one make, and blocks of the same text.
    fn group(&mut self, tree: &Tree, html: &[u8]) {
        self.kin.clear();
        self.kin_sums.clear();
        self.groups.clear(tree.blocks.len());
        for block in &tree.blocks {
            let node = &tree.nodes[block.node as usize];
            let parent = &tree.nodes[node.parent as usize];
            let group = self.groups.of(u64::from(node.make) << 32 | u64::from(parent.make));
            self.kin.push(group);
            self.kin_sums.resize(self.groups.count as usize, (0, 0, 0));
            let sums = &mut self.kin_sums[group as usize];
            *sums = (sums.0 + 1, sums.1 + block.counts.bytes, sums.2 + block.link_bytes);
        }
        self.copies.clear();
        self.copy_counts.clear();
        self.groups.clear(tree.blocks.len());
        for block in &tree.blocks {
            let group = self.groups.of(xxh3_64(source(tree, block, html)));
            self.copy_counts.resize(self.groups.count as usize, 0);
            self.copies.push((group, self.copy_counts[group as usize]));
            self.copy_counts[group as usize] += 1;
        }
    }

    /// Cuts the page into sections at its headings.
    fn divide(&mut self, tree: &Tree) {
        self.sections.clear();
        let mut start = 0;
        for at in 1..=tree.blocks.len() {
            let cut = tree.blocks.get(at).is_none_or(|block| is_heading(tree, block));
            if cut {
                self.sections.resize(at, (start, at as u32));
                start = at as u32;
            }
        }
    }

    fn itself(&mut self, tree: &Tree, html: &[u8], at: usize, page: &Page, since_heading: &mut i16) {
        let block = &tree.blocks[at];
        let counts = &block.counts;
        let text = source(tree, block, html);
        let mut row = Row { columns: &mut self.columns, blocks: tree.blocks.len(), at };
        row.set(Fact::Bytes, clamp(counts.bytes));
        row.set(Fact::LinkShare, share(block.link_bytes, counts.bytes));
        row.set(Fact::Commas, clamp(counts.commas.into()));
        row.set(Fact::Stops, clamp(counts.stops.into()));
        row.set(Fact::DigitShare, share(u32::from(counts.digits), counts.bytes));
        row.set(Fact::CapitalShare, share(u32::from(counts.capitals), counts.bytes));
        row.set(Fact::Words, clamp(counts.words));
        row.set(Fact::BytesPerWord, clamp(counts.bytes * 10 / counts.words.max(1)));
        row.set(Fact::StrongShare, share(u32::from(block.strong_bytes), counts.bytes));
        row.set(Fact::Links, clamp(block.links.into()));
        row.set(Fact::ImagesBefore, clamp(block.images_before.into()));
        row.set(Fact::Segments, clamp(block.end_segment - block.first_segment));
        for (fact, bit) in [
            (Fact::AfterBreak, block_fact::AFTER_BREAK),
            (Fact::AfterRule, block_fact::AFTER_RULE),
            (Fact::AfterControl, block_fact::AFTER_CONTROL),
            (Fact::InBlockLink, block_fact::IN_BLOCK_LINK),
            (Fact::Preformatted, block_fact::PREFORMATTED),
            (Fact::Code, block_fact::CODE),
            (Fact::Time, block_fact::TIME),
        ] {
            row.set(fact, i16::from(block.facts & bit != 0));
        }
        let tag = tree.nodes[block.node as usize].tag;
        row.set(Fact::HeadingLevel, i16::from(tag.heading_level()));
        row.set(Fact::IsParagraph, i16::from(tag == Tag::P));
        row.set(Fact::IsItem, i16::from(tag == Tag::Li));
        row.set(Fact::IsCell, i16::from(matches!(tag, Tag::Td | Tag::Th)));
        row.set(Fact::IsDivision, i16::from(matches!(tag, Tag::Div | Tag::Section | Tag::Custom)));
        row.set(Fact::IsDefinition, i16::from(matches!(tag, Tag::Dd | Tag::Dt)));
        let mut in_heading = tag.heading_level() != 0;
        for (up, node) in tree.ancestors(block.node).take(ANCESTORS_MAX).enumerate() {
            let node = &tree.nodes[node as usize];
            match node.tag {
                Tag::Table => row.add(Fact::InTable),
                Tag::Ul | Tag::Ol => row.add(Fact::InList),
                Tag::Blockquote => row.add(Fact::InQuote),
                Tag::Form => row.add(Fact::InForm),
                tag if up < 3 && tag.heading_level() != 0 => in_heading = true,
                _ => {}
            }
        }
        row.set(Fact::InHeading, i16::from(in_heading));
        row.set(Fact::SinceHeading, *since_heading);
        *since_heading = if in_heading { 1 } else { (*since_heading + 1).min(1000) };
        row.set(Fact::LastByte, last_class(text));
        row.set(Fact::FirstByte, first_class(text));
        let high = text.iter().take(64).filter(|byte| **byte >= 0x80).count() as u32;
        row.set(Fact::HighShare, share(high, text.len().min(64) as u32));
        row.set(Fact::InTitle, i16::from(page.title_has(text)));
        row.set(Fact::HasTitle, i16::from(page.title_block.is_some()));
        row.set(Fact::SinceTitle, page.title_block.map_or(-1000, |title| distance(title, at)));
        let (group, before) = self.copies[at];
        row.set(Fact::CopiesBefore, clamp(before));
        row.set(Fact::Copies, clamp(self.copy_counts[group as usize]));
        row.set(Fact::InComment, i16::from(self.in_comment[block.node as usize]));
        let believed = self.believed[block.node as usize];
        for bit in 0..31 {
            row.put(Fact::Hint0 as usize + bit, (believed >> bit & 1) as i16);
        }
        for kind in 0..phrases::KINDS {
            row.put(Fact::Phrase0 as usize + kind, (self.phrases[at] >> kind & 1) as i16);
        }
    }

    fn neighbours(&mut self, tree: &Tree, at: usize) {
        let blocks = &tree.blocks;
        let none = Block { node: u32::MAX, ..Block::default() };
        let get = |index: Option<usize>| index.and_then(|index| blocks.get(index)).unwrap_or(&none);
        let block = &blocks[at];
        let heading = |block: &Block| {
            let node = tree.nodes.get(block.node as usize);
            node.map_or(0, |node| i16::from(node.tag.heading_level()))
        };
        let (previous, next) = (get(at.checked_sub(1)), get(Some(at + 1)));
        let (previous2, next2) = (get(at.checked_sub(2)), get(Some(at + 2)));
        let sums = &self.sums;
        let between = |from: usize, to: usize| {
            let (from, to) = (sums[from.min(blocks.len())], sums[to.min(blocks.len())]);
            (to.text - from.text, to.linked - from.linked)
        };
        let around = between(at.saturating_sub(5), at + 6);
        let (before, after) = (between(at.saturating_sub(8), at), between(at + 1, at + 9));
        let mut row = Row { columns: &mut self.columns, blocks: tree.blocks.len(), at };
        row.set(Fact::PreviousBytes, clamp(previous.counts.bytes));
        row.set(Fact::PreviousLinkShare, share(previous.link_bytes, previous.counts.bytes));
        row.set(Fact::PreviousStops, clamp(previous.counts.stops.into()));
        row.set(Fact::PreviousHeading, heading(previous));
        row.set(Fact::PreviousSameNode, i16::from(previous.node == block.node));
        row.set(Fact::NextBytes, clamp(next.counts.bytes));
        row.set(Fact::NextLinkShare, share(next.link_bytes, next.counts.bytes));
        row.set(Fact::NextStops, clamp(next.counts.stops.into()));
        row.set(Fact::NextHeading, heading(next));
        row.set(Fact::NextSameNode, i16::from(next.node == block.node));
        row.set(Fact::Previous2Bytes, clamp(previous2.counts.bytes));
        row.set(Fact::Next2Bytes, clamp(next2.counts.bytes));
        row.set(Fact::Previous2LinkShare, share(previous2.link_bytes, previous2.counts.bytes));
        row.set(Fact::Next2LinkShare, share(next2.link_bytes, next2.counts.bytes));
        row.set(Fact::AroundText, clamp(around.0));
        row.set(Fact::AroundLinks, clamp(around.1));
        row.set(Fact::BeforeText, clamp(before.0));
        row.set(Fact::AfterText, clamp(after.0));
    }

    fn enclosing(&mut self, tree: &Tree, at: usize, page: &Page) {
        let block = &tree.blocks[at];
        let all = self.sums[tree.blocks.len()];
        let sums = &self.sums;
        let within = |first: u32, end: u32| {
            let (from, to) = (sums[first as usize], sums[end as usize]);
            (to.bytes - from.bytes, to.linked - from.linked, to.text - from.text)
        };
        let (mut furniture_share, mut furniture_count, mut content_share, mut content_count) =
            (0, 0, 1001, 0);
        let (mut near, mut near_content) = (0, 0);
        let good = hints::CONTENT | hints::ARTICLE | hints::MAIN | hints::POST;
        let strong =
            hints::FURNITURE & !(hints::WIDGET | hints::HEADER | hints::TITLE | hints::CAPTION | hints::LIST);
        for (up, node) in tree.ancestors(block.node).take(ANCESTORS_MAX).enumerate() {
            let node = &tree.nodes[node as usize];
            if up < 3 {
                near |= i16::from(node.hints & strong != 0) << (2 - up);
                near_content |= i16::from(node.hints & good != 0) << (2 - up);
            }
            if node.hints & (strong | good) != 0 {
                let (bytes, _, _) = within(node.first_block, node.end_block);
                if node.hints & strong != 0 {
                    furniture_share = share(bytes, all.bytes).max(furniture_share);
                    furniture_count += 1;
                }
                if node.hints & good != 0 {
                    content_share = share(bytes, all.bytes).min(content_share);
                    content_count += 1;
                }
            }
        }
        let mut row = Row { columns: &mut self.columns, blocks: tree.blocks.len(), at };
        for (ring, &(first, end)) in self.rings[at].iter().enumerate() {
            let (bytes, linked, text) = within(first, end);
            let base = Fact::Ring0Share as usize + ring * 5;
            row.put(base, share(bytes, all.bytes));
            row.put(base + 1, share(linked, bytes));
            row.put(base + 2, clamp(end - first));
            row.put(base + 3, clamp(bytes / (end - first).max(1)));
            row.put(base + 4, share(text, bytes));
        }
        row.set(Fact::FurnitureShare, furniture_share);
        row.set(Fact::FurnitureCount, furniture_count);
        row.set(Fact::ContentShare, content_share);
        row.set(Fact::ContentCount, content_count);
        row.set(Fact::NearHints, near);
        row.set(Fact::NearContent, near_content);
        let (first, end) = self.sections[at];
        let (bytes, linked, text) = within(first, end);
        let above = self.phrases[first as usize];
        let head = &tree.blocks[first as usize];
        row.set(Fact::SectionBytes, clamp(bytes));
        row.set(Fact::SectionLinks, share(linked, bytes));
        row.set(Fact::SectionText, share(text, bytes));
        row.set(Fact::SectionBlocks, clamp(end - first));
        row.set(Fact::SectionLevel, i16::from(tree.nodes[head.node as usize].tag.heading_level()));
        if is_heading(tree, head) {
            for (fact, kind) in [
                (Fact::SectionRelated, phrases::RELATED),
                (Fact::SectionComment, phrases::COMMENT),
                (Fact::SectionAccount, phrases::ACCOUNT),
                (Fact::SectionShop, phrases::SHOP),
                (Fact::SectionShare, phrases::SHARE),
            ] {
                row.set(fact, (above >> kind & 1) as i16);
            }
        }
        let (count, bytes, linked) = self.kin_sums[self.kin[at] as usize];
        row.set(Fact::KinCount, clamp(count));
        row.set(Fact::KinBytes, share(bytes, all.bytes));
        row.set(Fact::KinLinks, share(linked, bytes));
        row.set(Fact::KinMean, clamp(bytes / count.max(1)));
        page.place(tree, sums, &mut row);
    }
}

/// What is the same for all blocks of a page.
struct Page<'a> {
    title: &'a [u8],
    title_block: Option<usize>,
    /// Blocks of the node with the best balance.
    best_node: (usize, usize),
    /// The run of blocks with the best balance.
    best_run: (usize, usize),
    paragraphs: u32,
    high: u32,
    articles: u32,
    headings: u32,
    item_bytes: u32,
    largest_kin: u32,
    shop_phrases: u32,
    dates: u32,
    /// Bytes of text in and out of comment sections.
    comment_text: u32,
    other_text: u32,
}

impl<'a> Page<'a> {
    fn of(tree: &Tree, html: &'a [u8], sums: &[Sums]) -> Self {
        let title = tree.head.title.or(tree.head.social_title);
        let title =
            title.and_then(|title| html.get(title.start as usize..title.end as usize)).unwrap_or_default();
        let mut page = Self {
            title,
            title_block: None,
            best_node: (0, 0),
            best_run: best_run(sums),
            paragraphs: 0,
            high: 0,
            articles: 0,
            headings: 0,
            item_bytes: 0,
            largest_kin: 0,
            shop_phrases: 0,
            dates: 0,
            comment_text: 0,
            other_text: 0,
        };
        let mut best = i32::MIN;
        for node in &tree.nodes {
            let balance = sums[node.end_block as usize].balance - sums[node.first_block as usize].balance;
            // Ties go to the inner node.
            if balance >= best && node.end_block > node.first_block {
                best = balance;
                page.best_node = (node.first_block as usize, node.end_block as usize);
            }
            page.articles += u32::from(node.tag == Tag::Article);
        }
        for (at, block) in tree.blocks.iter().enumerate() {
            let tag = tree.nodes[block.node as usize].tag;
            page.paragraphs += if tag == Tag::P { block.counts.bytes } else { 0 };
            // Long words are words of scripts without spaces.
            page.high += if block.counts.bytes > 12 * block.counts.words { block.counts.bytes } else { 0 };
            if page.title_block.is_none()
                && tag.heading_level() != 0
                && page.title_has(source(tree, block, html))
            {
                page.title_block = Some(at);
            }
        }
        page
    }

    /// Counts what tells sorts of pages apart.
    fn count(&mut self, tree: &Tree, kin: &[(u32, u32, u32)], phrases: &[Phrases]) {
        self.largest_kin = kin.iter().map(|(_, bytes, _)| *bytes).max().unwrap_or(0);
        for (block, phrases) in tree.blocks.iter().zip(phrases) {
            self.headings += u32::from(is_heading(tree, block));
            let item =
                tree.ancestors(block.node).take(3).any(|node| tree.nodes[node as usize].tag == Tag::Li);
            self.item_bytes += if item { block.counts.bytes } else { 0 };
            self.shop_phrases += phrases >> phrases::SHOP & 1;
            self.dates += phrases >> phrases::DATE & 1;
        }
    }

    /// Whether `text` is part of the title, and not a mere word of it.
    fn title_has(&self, text: &[u8]) -> bool {
        text.len() >= 8 && text.len() <= self.title.len() && memchr::memmem::find(self.title, text).is_some()
    }

    /// The facts of the best node, the best run and the page.
    fn place(&self, tree: &Tree, sums: &[Sums], row: &mut Row<'_>) {
        let at = row.at;
        let count = tree.blocks.len();
        let all = sums[count];
        let far_from = |(first, end): (usize, usize)| {
            if at < first { distance(first, at) } else { (distance(end, at) + 1).max(0) }
        };
        let text = |(first, end): (usize, usize)| share(sums[end].text - sums[first].text, all.text);
        for (range, inside, far, part) in [
            (self.best_node, Fact::InBestNode, Fact::BestNodeDistance, Fact::BestNodeShare),
            (self.best_run, Fact::InBestRun, Fact::BestRunDistance, Fact::BestRunShare),
        ] {
            row.set(inside, i16::from(range.0 <= at && at < range.1));
            row.set(far, far_from(range));
            row.set(part, text(range));
        }
        row.set(Fact::FromBestStart, distance(self.best_run.0, at));
        row.set(Fact::ToBestEnd, distance(at, self.best_run.1));
        row.set(Fact::Index, clamp(at as u32));
        row.set(Fact::IndexShare, share(at as u32, count as u32));
        row.set(Fact::BytesShare, share(sums[at].bytes, all.bytes));
        row.set(Fact::BlocksAfter, clamp((count - at) as u32));
        row.set(Fact::Depth, clamp(tree.nodes[tree.blocks[at].node as usize].depth));
        row.set(Fact::CommentShare, share(self.comment_text, all.text));
        row.set(Fact::OutsideComment, clamp(self.other_text));
        row.set(Fact::PageBytes, clamp(all.bytes / 4));
        row.set(Fact::PageLinks, share(all.linked, all.bytes));
        row.set(Fact::PageBlocks, clamp(count as u32));
        row.set(Fact::PageMean, clamp(all.bytes / (count as u32).max(1)));
        row.set(Fact::PageLongShare, share(all.text, all.bytes));
        row.set(Fact::PageParagraphShare, share(self.paragraphs, all.bytes));
        row.set(Fact::PageHighShare, share(self.high, all.bytes));
        row.set(Fact::PageArticle, i16::from(tree.head.says(says::ARTICLE)));
        row.set(Fact::PageArticles, clamp(self.articles));
        row.set(Fact::PageHeadings, clamp(self.headings));
        row.set(Fact::PageItemShare, share(self.item_bytes, all.bytes));
        row.set(Fact::PageKinShare, share(self.largest_kin, all.bytes));
        row.set(Fact::PageShopPhrases, clamp(self.shop_phrases));
        row.set(Fact::PageDates, clamp(self.dates));
        row.set(Fact::PageProduct, i16::from(tree.head.says(says::PRODUCT)));
        row.set(Fact::PageList, i16::from(tree.head.says(says::LIST)));
        row.set(Fact::PageForum, i16::from(tree.head.says(says::FORUM)));
        row.set(Fact::PageQuestions, i16::from(tree.head.says(says::QUESTIONS)));
        row.set(Fact::PageNodesPerBlock, clamp((tree.nodes.len() * 10 / count.max(1)) as u32));
    }
}

/// The run of blocks with the largest sum of balances (Kadane).
fn best_run(sums: &[Sums]) -> (usize, usize) {
    let (mut best, mut lowest, mut start, mut run) = (0, sums[0].balance, 0, (0, 0));
    for (at, sum) in sums.iter().enumerate() {
        if sum.balance - lowest > best {
            best = sum.balance - lowest;
            run = (start, at);
        }
        if sum.balance < lowest {
            lowest = sum.balance;
            start = at;
        }
    }
    run
}

/// The block ranges of the nodes round a block, each larger than the one before; the last is repeated.
fn rings(tree: &Tree, at: usize, block: &Block) -> [(u32, u32); RINGS] {
    let mut range = (at as u32, at as u32 + 1);
    let mut rings = [range; RINGS];
    let mut ring = 0;
    for node in tree.ancestors(block.node).take(ANCESTORS_MAX) {
        let node = &tree.nodes[node as usize];
        if (node.first_block, node.end_block) != range && node.end_block - node.first_block > 1 {
            range = (node.first_block, node.end_block);
            rings[ring..].fill(range);
            ring += 1;
            if ring == RINGS {
                break;
            }
        }
    }
    rings
}

/// The source from a block's first to its last segment, with the tags within.
pub(super) fn source<'a>(tree: &Tree, block: &Block, html: &'a [u8]) -> &'a [u8] {
    let segments = &tree.segments[block.first_segment as usize..block.end_segment as usize];
    let real = |segment: &&super::tree::Segment| segment.start != u32::MAX;
    let start = segments.iter().find(real).map_or(0, |segment| segment.start as usize);
    let end = segments.iter().rev().find(real).map_or(0, |segment| segment.end as usize);
    html.get(start..end).unwrap_or_default().trim_ascii()
}

/// How a text ends: 4 as a sentence, 3 with a colon, 2 with a comma, 1 otherwise.
fn last_class(text: &[u8]) -> i16 {
    let text = text.strip_suffix(b"\"").or_else(|| text.strip_suffix("”".as_bytes())).unwrap_or(text);
    let ends = |list: &[&str]| list.iter().any(|end| text.ends_with(end.as_bytes()));
    if ends(&["。", "！", "？", ".", "!", "?", "…", "।", "؟", "）", ")"]) {
        4
    } else if ends(&["：", ":"]) {
        3
    } else if ends(&["，", ",", "；", ";", "、"]) {
        2
    } else {
        1
    }
}

/// How a text begins: 0 small letter, 1 capital, 2 digit, 3 another script, 4 bracket or quote, 5 other.
fn first_class(text: &[u8]) -> i16 {
    match text.first() {
        Some(b'a'..=b'z') => 0,
        Some(b'A'..=b'Z') => 1,
        Some(b'0'..=b'9') => 2,
        Some(0xe3 | 0xef) => 4,
        Some(0x80..) => 3,
        Some(b'[' | b'(' | b'"' | b'\'' | b'<') => 4,
        _ => 5,
    }
}
