//! Features of a page as a whole: its title, its best node and best run of blocks, and its kind.
//!
//! The *balance* of blocks is the evidence for text minus the evidence against it. The best node and the best run have
//! the highest balance. Cost: linear in nodes and blocks.

use crate::extract::main_text::features::columns::{Feature, Row};
use crate::extract::main_text::features::phrases::{self, Phrases};
use crate::extract::main_text::features::{ANCESTORS_MAX, Sums, clamp, distance, is_heading, share, source};
use crate::extract::parse::tag::Tag;
use crate::extract::parse::tree::{Block, Tree, declared};

/// Maximum bytes of a title that are compared with blocks, because every block is searched for in it.
const TITLE_BYTES_MAX: usize = 2048;

/// Levels of headings that may be the headline.
const HEADLINE_LEVELS: u8 = 3;

/// Values that are the same for all blocks of a page.
#[derive(Default)]
pub(in crate::extract) struct Page<'a> {
    title: &'a [u8],
    pub(in crate::extract) title_block: Option<usize>,
    /// The heading of the highest level that is most of the page's title.
    pub(in crate::extract) headline: Option<usize>,
    /// Block range of the node with the best balance.
    best_node: (usize, usize),
    /// The run of blocks with the best balance.
    pub(in crate::extract) best_run: (usize, usize),
    paragraphs: u32,
    high: u32,
    articles: u32,
    headings: u32,
    item_bytes: u32,
    largest_similar: u32,
    shop_phrases: u32,
    dates: u32,
    /// Bytes of text in comment sections.
    pub(in crate::extract) comment_text: u32,
    /// Bytes of text outside of comment sections.
    pub(in crate::extract) other_text: u32,
}

impl<'a> Page<'a> {
    pub(super) fn from_tree(tree: &Tree, html: &'a [u8], sums: &[Sums]) -> Self {
        let title = tree.head.title.or(tree.head.social_title);
        let title = title.and_then(|title| html.get(title.range())).unwrap_or_default();
        let title = &title[..title.len().min(TITLE_BYTES_MAX)];
        let mut page = Self { title, best_run: best_run(sums), ..Self::default() };
        let social = tree.head.social_title.and_then(|title| html.get(title.range())).unwrap_or_default();
        let is_social = |text: &[u8]| text.len() * 3 >= social.len() && holds_title(social, text);
        let (mut best, mut highest) = (i32::MIN, HEADLINE_LEVELS + 1);
        for node in &tree.nodes {
            let balance = sums[node.end_block as usize].balance - sums[node.first_block as usize].balance;
            // The inner node wins ties.
            if balance >= best && node.end_block > node.first_block {
                best = balance;
                page.best_node = (node.first_block as usize, node.end_block as usize);
            }
            page.articles += u32::from(node.tag == Tag::Article);
        }
        for (at, block) in tree.blocks.iter().enumerate() {
            let tag = tree.nodes[block.node as usize].tag;
            page.paragraphs += if tag == Tag::P { block.counts.bytes } else { 0 };
            // Long words are those of scripts without spaces.
            page.high += if block.counts.bytes > 12 * block.counts.words { block.counts.bytes } else { 0 };
            if page.title_block.is_none()
                && tag.heading_level() != 0
                && page.title_has(source(tree, block, html))
            {
                page.title_block = Some(at);
            }
            if let Some(level) = tree.heading_level(block).filter(|level| *level < highest)
                && (page.is_title(source(tree, block, html)) || is_social(source(tree, block, html)))
                && !is_apart(tree, block)
            {
                (page.headline, highest) = (Some(at), level);
            }
        }
        page
    }

    /// Counts elements that distinguish kinds of pages.
    pub(in crate::extract) fn count(
        &mut self,
        tree: &Tree,
        similar: &[(u32, u32, u32)],
        phrases: &[Phrases],
    ) {
        self.largest_similar = similar.iter().map(|(_, bytes, _)| *bytes).max().unwrap_or(0);
        for (block, phrases) in tree.blocks.iter().zip(phrases) {
            self.headings += u32::from(is_heading(tree, block));
            let item = tree.around(block).take(3).any(|node| node.tag == Tag::Li);
            self.item_bytes += if item { block.counts.bytes } else { 0 };
            self.shop_phrases += phrases >> phrases::SHOP & 1;
            self.dates += phrases >> phrases::DATE & 1;
        }
    }

    /// Returns true if `text` is part of the title, and long enough to be more than a single word of it.
    pub(in crate::extract) fn title_has(&self, text: &[u8]) -> bool {
        holds_title(self.title, text)
    }

    /// Returns true if `text` is at least a third of the title: probably all of it but the site's name.
    pub(in crate::extract) fn is_title(&self, text: &[u8]) -> bool {
        self.title_has(text) && text.len() * 3 >= self.title.len()
    }

    /// Sets the features of the best node, the best run and the page.
    pub(super) fn place(&self, tree: &Tree, sums: &[Sums], row: &mut Row<'_>) {
        let at = row.at;
        let count = tree.blocks.len();
        let all = sums[count];
        let far_from = |(first, end): (usize, usize)| {
            if at < first { distance(first, at) } else { (distance(end, at) + 1).max(0) }
        };
        let text = |(first, end): (usize, usize)| share(sums[end].text - sums[first].text, all.text);
        for (range, inside, far, part) in [
            (self.best_node, Feature::InBestNode, Feature::BestNodeDistance, Feature::BestNodeShare),
            (self.best_run, Feature::InBestRun, Feature::BestRunDistance, Feature::BestRunShare),
        ] {
            row.set(inside, i16::from(range.0 <= at && at < range.1));
            row.set(far, far_from(range));
            row.set(part, text(range));
        }
        row.set(Feature::FromBestStart, distance(self.best_run.0, at));
        row.set(Feature::ToBestEnd, distance(at, self.best_run.1));
        row.set(Feature::Index, clamp(at as u32));
        row.set(Feature::IndexShare, share(at as u32, count as u32));
        row.set(Feature::BytesShare, share(sums[at].bytes, all.bytes));
        row.set(Feature::BlocksAfter, clamp((count - at) as u32));
        row.set(Feature::Depth, clamp(tree.nodes[tree.blocks[at].node as usize].depth));
        row.set(Feature::CommentShare, share(self.comment_text, all.text));
        row.set(Feature::OutsideComment, clamp(self.other_text));
        row.set(Feature::PageBytes, clamp(all.bytes / 4));
        row.set(Feature::PageLinks, share(all.linked, all.bytes));
        row.set(Feature::PageBlocks, clamp(count as u32));
        row.set(Feature::PageMean, clamp(all.bytes / (count as u32).max(1)));
        row.set(Feature::PageLongShare, share(all.text, all.bytes));
        row.set(Feature::PageParagraphShare, share(self.paragraphs, all.bytes));
        row.set(Feature::PageHighShare, share(self.high, all.bytes));
        row.set(Feature::PageArticle, i16::from(tree.head.declares(declared::ARTICLE)));
        row.set(Feature::PageArticles, clamp(self.articles));
        row.set(Feature::PageHeadings, clamp(self.headings));
        row.set(Feature::PageItemShare, share(self.item_bytes, all.bytes));
        row.set(Feature::PageSimilarShare, share(self.largest_similar, all.bytes));
        row.set(Feature::PageShopPhrases, clamp(self.shop_phrases));
        row.set(Feature::PageDates, clamp(self.dates));
        row.set(Feature::PageProduct, i16::from(tree.head.declares(declared::PRODUCT)));
        row.set(Feature::PageList, i16::from(tree.head.declares(declared::LIST)));
        row.set(Feature::PageForum, i16::from(tree.head.declares(declared::FORUM)));
        row.set(Feature::PageQuestions, i16::from(tree.head.declares(declared::QUESTIONS)));
        row.set(Feature::PageNodesPerBlock, clamp((tree.nodes.len() * 10 / count.max(1)) as u32));
    }
}

/// Returns true if `text` is part of `title`, and long enough to be more than a single word of it.
fn holds_title(title: &[u8], text: &[u8]) -> bool {
    text.len() >= 8 && text.len() <= title.len() && memchr::memmem::find(title, text).is_some()
}

/// Returns true if the block is in a side column, a menu or a footer.
fn is_apart(tree: &Tree, block: &Block) -> bool {
    let mut around = tree.around(block).take(ANCESTORS_MAX);
    around.any(|node| matches!(node.tag, Tag::Aside | Tag::Nav | Tag::Footer))
}

/// Returns the run of blocks with the largest sum of balances (Kadane's algorithm).
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
