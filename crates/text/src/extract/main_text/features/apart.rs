//! Finds parts of a page that read like its article and are not: what the site says about itself in a header, a side
//! column or a widget, the next articles, which endless scrolling appends, teasers of other pages ("You might also
//! like"), and invitations to subscribe ("Join our newsletter").
//!
//! In: the nodes, the phrases of each block, and the headline, a heading with the page's title. Out: for each node,
//! whether it is in such a part. The article is the innermost element around the headline and most of the prose below
//! it, up to the last prose outside of such parts. A site's words about itself are found only outside of it, so its
//! own header stays, and so does all text of a page that has more prose above its headline than below it. Teasers and
//! invitations say so in their first line. The learned weights take all of these for text, because they judge each
//! block by its neighbourhood. Cost: linear in the nodes.

use std::ops::Range;

use super::phrases::{self, Phrases};
use super::{NAMED_BYTES_MAX, PROSE_BYTES, Sums, is_heading, is_prose, source};
use crate::extract::parse::hints::{self, Hints};
use crate::extract::parse::tag::Tag;
use crate::extract::parse::tree::{Node, Tree, block_flag};

/// Minimum bytes of prose below a headline that make an article: two short paragraphs.
const ARTICLE_BYTES_MIN: u32 = 2 * PROSE_BYTES;

/// Maximum bytes of source, from the start of an article to the end of its headline, that are searched for its address.
const ADDRESS_BYTES_MAX: usize = 4096;

/// Maximum bytes of a start tag that is searched for its name.
const TAG_BYTES_MAX: usize = 512;

/// Maximum number of blocks from the start of an article to its headline.
const HEADLINE_BLOCKS_MAX: usize = 5;

/// Maximum number of elements around the headline that may be the first article.
const FIRSTS_MAX: usize = 4;

/// Names of parts in which a site speaks about itself.
const FRAME: Hints = hints::HEADER | hints::SIDE;

/// Names of parts that hold an article.
const TEXT: Hints = hints::CONTENT | hints::ARTICLE | hints::MAIN | hints::POST;

/// Maximum bytes of text in an invitation to subscribe.
const INVITATION_BYTES_MAX: u32 = 600;

/// Writes into `apart` whether each node is in such a part; `headline` is the block of the page's title.
pub(super) fn find(
    tree: &Tree,
    html: &[u8],
    sums: &[Sums],
    phrases: &[Phrases],
    headline: Option<usize>,
    apart: &mut Vec<bool>,
) {
    let article = headline.map(|headline| Article::find(tree, html, sums, headline));
    let mut holds_form: Vec<bool> = tree.nodes.iter().map(|node| node.tag == Tag::Form).collect();
    for (at, node) in tree.nodes.iter().enumerate().skip(1).rev() {
        holds_form[node.parent as usize] |= holds_form[at];
    }
    apart.clear();
    apart.push(false);
    for (node, has_form) in tree.nodes.iter().zip(holds_form).skip(1) {
        let (first, end) = (node.first_block as usize, node.end_block as usize);
        let says = |kind: u32| {
            first < end
                && tree.blocks[first].counts.bytes < NAMED_BYTES_MAX
                && phrases[first] >> kind & 1 != 0
        };
        let is_below = headline.is_some_and(|headline| headline < first);
        let teases = is_below && node.hints & hints::RELATED != 0 && says(phrases::RELATED);
        let invites = has_form
            && sums[end].bytes - sums[first].bytes <= INVITATION_BYTES_MAX
            && says(phrases::ACCOUNT)
            && headline.is_none_or(|headline| is_below || end <= headline)
            && is_heading(tree, &tree.blocks[first]);
        let is_other = article.as_ref().is_some_and(|article| article.leaves_out(node));
        apart.push(apart[node.parent as usize] || teases || invites || is_other);
    }
}

/// Returns true if the element is an article by its name.
fn is_named(node: &Node) -> bool {
    node.tag == Tag::Article || node.hints & (hints::ARTICLE | hints::POST) != 0
}

/// A page and the article that it shows.
struct Article<'a> {
    tree: &'a Tree,
    html: &'a [u8],
    sums: &'a [Sums],
    headline: usize,
    /// The innermost `<article>` around the headline.
    element: Option<&'a Node>,
    /// The elements around the headline that may be the first of several articles.
    firsts: Vec<&'a Node>,
    /// The first blocks of the parts that are named as the main one, in order.
    main_parts: Vec<u32>,
    /// True if there is enough prose below the headline.
    is_shown: bool,
    /// The end of the article.
    end: usize,
}

impl<'a> Article<'a> {
    fn find(tree: &'a Tree, html: &'a [u8], sums: &'a [Sums], headline: usize) -> Self {
        let around = || tree.around(&tree.blocks[headline]);
        let is_main = |node: &&Node| node.hints & hints::MAIN != 0 || node.tag == Tag::Article;
        let mut article = Self {
            tree,
            html,
            sums,
            headline,
            element: around().find(|node| node.tag == Tag::Article),
            firsts: Vec::new(),
            main_parts: tree.nodes.iter().filter(is_main).map(|node| node.first_block).collect(),
            is_shown: false,
            end: 0,
        };
        let [frames_before, frames_after] = article.frames();
        let before = article.prose_outside(0..headline, &frames_before);
        let after = article.prose_outside(headline + 1..tree.blocks.len(), &frames_after);
        let prose = |node: &&Node| article.prose(node, headline + 1);
        let end =
            around().find(|node| 2 * prose(node) >= after).map_or(usize::MAX, |node| node.end_block as usize);
        let firsts = around().filter(|node| is_named(node) && prose(node) >= ARTICLE_BYTES_MIN);
        let firsts = firsts.take(FIRSTS_MAX).collect();
        article.end = end.min(article.last_prose(&frames_after));
        article.firsts = firsts;
        article.is_shown = after >= ARTICLE_BYTES_MIN && after >= before;
        article
    }

    /// Returns true if the node is a frame outside of the article, or another article.
    fn leaves_out(&self, node: &Node) -> bool {
        let is_outside = node.end_block as usize <= self.headline || node.first_block as usize >= self.end;
        self.is_shown && is_outside && self.is_frame(node) || self.is_appended(node)
    }

    /// Returns the bytes of prose in the node, from the block `from` on.
    fn prose(&self, node: &Node, from: usize) -> u32 {
        let end = node.end_block as usize;
        self.sums[end].text - self.sums[from.clamp(node.first_block as usize, end)].text
    }

    /// Returns true if the node does not hold the headline, and is a header, a side column or a widget by its element
    /// or name. After the headline, and outside of its `<article>`, only asides and what calls itself a sidebar count,
    /// if prose comes first, and neither code begins nor a main part is within: other parts have headers, columns of
    /// an article may be called `right`, and a layout may be called after its sidebar.
    fn is_frame(&self, node: &Node) -> bool {
        let (first, end) = (node.first_block as usize, node.end_block as usize);
        if end <= self.headline {
            let is_named = node.hints & FRAME != 0 && node.hints & TEXT == 0;
            return is_named || matches!(node.tag, Tag::Header | Tag::Aside) || self.is_widget(node);
        }
        first > self.headline
            && self.sums[first].text - self.sums[self.headline].text >= ARTICLE_BYTES_MIN
            && self.element.is_none_or(|article| node.end_block > article.end_block)
            && self.tree.blocks.get(first).is_none_or(|block| block.features & block_flag::PREFORMATTED == 0)
            && (node.tag == Tag::Aside || self.is_sidebar(node))
            && !self.holds_main_part(node)
    }

    /// Returns true if a part that is named as the main one begins within the node.
    fn holds_main_part(&self, node: &Node) -> bool {
        let next = self.main_parts.partition_point(|first| *first < node.first_block);
        self.main_parts.get(next).is_some_and(|first| *first < node.end_block)
    }

    /// Returns true if a class of the start tag is `widget`. Others with that word are of page builders, which call
    /// any part so.
    fn is_widget(&self, node: &Node) -> bool {
        let ends_word = |byte: Option<&u8>| byte.is_some_and(|byte| b"\"'= >".contains(byte));
        let tag = self.start_tag(node);
        node.hints & hints::WIDGET != 0
            && memchr::memmem::find_iter(tag, b"widget")
                .any(|at| ends_word(tag.get(at.wrapping_sub(1))) && ends_word(tag.get(at + b"widget".len())))
    }

    fn is_sidebar(&self, node: &Node) -> bool {
        node.hints & hints::SIDE != 0 && memchr::memmem::find(self.start_tag(node), b"sidebar").is_some()
    }

    /// Returns the start tag, up to a limit.
    fn start_tag(&self, node: &Node) -> &[u8] {
        let source = self.html.get(node.start as usize..).unwrap_or_default();
        let source = &source[..source.len().min(TAG_BYTES_MAX)];
        &source[..memchr::memchr(b'>', source).map_or(source.len(), |end| end + 1)]
    }

    /// Returns the block ranges of these parts that are outside of the article, in order: before and after the
    /// headline.
    fn frames(&self) -> [Vec<Range<usize>>; 2] {
        let mut found = [Vec::new(), Vec::new()];
        let mut end = 0;
        for node in &self.tree.nodes {
            let range = node.first_block as usize..node.end_block as usize;
            if range.start >= end && !range.is_empty() && self.is_frame(node) {
                end = range.end;
                found[usize::from(range.start > self.headline)].push(range);
            }
        }
        found
    }

    /// Returns the bytes of prose in `blocks` that are not in `frames`.
    fn prose_outside(&self, blocks: Range<usize>, frames: &[Range<usize>]) -> u32 {
        let prose = |range: &Range<usize>| self.sums[range.end].text - self.sums[range.start].text;
        prose(&blocks) - frames.iter().map(prose).sum::<u32>()
    }

    /// Returns the end of the last prose below the headline that is not in `frames`.
    fn last_prose(&self, frames: &[Range<usize>]) -> usize {
        let is_text = |at: &usize| {
            let frame = frames.partition_point(|frame| frame.end <= *at);
            is_prose(&self.tree.blocks[*at]) && frames.get(frame).is_none_or(|frame| *at < frame.start)
        };
        let last = (self.headline + 1..self.tree.blocks.len()).rev().find(is_text);
        last.map_or(self.headline, |last| last + 1)
    }

    /// Returns true if the node comes after one of `firsts`, has the same names, and is an article with another
    /// headline of the same level and an address.
    fn is_appended(&self, node: &Node) -> bool {
        let is_alike = |first: &&Node| {
            (first.tag, first.signature) == (node.tag, node.signature) && first.end_block <= node.first_block
        };
        let level = |block: usize| self.tree.heading_level(&self.tree.blocks[block]);
        if !self.firsts.iter().any(is_alike) || self.prose(node, 0) < ARTICLE_BYTES_MIN {
            return false;
        }
        let mut blocks = (node.first_block as usize..node.end_block as usize).take(HEADLINE_BLOCKS_MAX);
        let Some(own) = blocks.find(|block| level(*block) == level(self.headline)) else { return false };
        let text = |block: usize| source(self.tree, &self.tree.blocks[block], self.html);
        let is_other = memchr::memmem::find(text(own), text(self.headline)).is_none();
        is_other && (self.tree.blocks[own].links > 0 || self.has_address(node, own))
    }

    /// Returns true if an attribute between the start of an article and the end of its headline is an address, other
    /// than that of an image.
    fn has_address(&self, node: &Node, headline: usize) -> bool {
        let (start, block) = (node.start as usize, &self.tree.blocks[headline]);
        let segments = &self.tree.segments[block.first_segment as usize..block.end_segment as usize];
        let end =
            segments.first().map_or(start, |segment| segment.end as usize).min(start + ADDRESS_BYTES_MAX);
        let source = self.html.get(start..end).unwrap_or_default();
        memchr::memchr_iter(b'=', source).any(|at| {
            let value = source[at + 1..].trim_ascii_start();
            let value = value.strip_prefix(b"\"").or_else(|| value.strip_prefix(b"'")).unwrap_or(value);
            let name = source[..at].trim_ascii_end();
            (value.starts_with(b"/") || value.starts_with(b"http"))
                && !name.ends_with(b"src")
                && !name.ends_with(b"srcset")
        })
    }
}

#[cfg(test)]
mod tests {
    use crate::extract::{ExtractConfig, extract};

    const CRANE: &str = "<p>The hand-driven crane that stood on Marlow quay until the war has been put back on its stone \
        ring, after a joiner found its jib in a boat shed.</p><p>It took the volunteers four winters to replace the oak \
        posts, and the iron parts were cleaned with pumice and linseed oil.</p>";
    const BEES: &str = "<p>Keepers on the northern moor carried their hives down to the valley early this year, after a dry \
        July left the ling with half of its flowers closed.</p><p>A colony that finds no nectar robs its neighbour, and \
        once fighting starts there is little to do but wait for dusk.</p>";
    const ABOUT: &str = "<p>Welcome to the pages of the island history circle, neighbours who have met each month since 1983 \
        to read old papers.</p><p>Our aim is to keep what is told at kitchen tables. Members with letters are welcome to \
        bring them; we copy them and give them back.</p><p>The circle has no fees and no chairman. Coffee is provided, \
        and cake is hoped for.</p>";

    fn text_of(title: &str, body: &str) -> String {
        let html = format!("<title>{title}</title><meta property=og:title content='{title}'><body>{body}");
        extract(&html, &ExtractConfig::default()).expect("within the limits").text()
    }

    /// A site's words about itself, on each of its pages, must not make copies of pages with short articles.
    #[test]
    fn descriptions_of_the_site_outside_of_the_article_are_left_out() {
        let post =
            format!("<div class=post><h2>A crane returns</h2><div class=post-body>{CRANE}</div></div>");
        for (begin, end) in [
            ("<header class=site-header>", "</header>"),
            ("<header>", "</header>"),
            ("<aside id=sidebar-left><h2>About this circle</h2>", "</aside>"),
            ("<div class='widget widget_text'><h3>About</h3>", "</div>"),
            ("<div id=left-column>", "</div>"),
        ] {
            let about = format!("{begin}{ABOUT}{end}");
            let text = text_of("A crane returns", &format!("{about}<div class=page>{post}</div>"));
            assert!(text.contains("stone ring") && !text.contains("kitchen"), "{begin}: {text}");
        }
        for after in ["<aside>", "<div id=sidebar>"] {
            let text = text_of("A crane returns", &format!("<div>{post}</div>{after}{ABOUT}"));
            assert!(text.contains("stone ring") && !text.contains("kitchen"), "{after}: {text}");
        }
    }

    #[test]
    fn the_header_of_an_article_and_pages_about_a_site_stay() {
        for body in [
            format!("<article><header><h1>A crane returns</h1>{ABOUT}</header>{CRANE}</article>"),
            format!("<header><h1>A crane returns</h1>{ABOUT}</header><div>{CRANE}</div>"),
            format!("<header class=site-header><h1>A crane returns</h1>{ABOUT}</header>"),
            format!("<header class=site-header>{ABOUT}</header><h1>A crane returns</h1>"),
            format!("<article><h1>A crane returns</h1>{CRANE}<aside>{ABOUT}</aside>{BEES}</article>"),
        ] {
            let text = text_of("A crane returns", &body);
            assert!(text.contains("kitchen"), "{body}: {text}");
        }
    }

    /// Endless scrolling appends articles in the order of the day; two fetches of the first one are copies.
    #[test]
    fn articles_that_endless_scrolling_appended_are_left_out() {
        let article = |names: &str, headline: &str, text: &str| {
            format!(
                "<article {names}><header><h1>{headline}</h1></header><div class=entry>{text}</div></article>"
            )
        };
        let (crane, bees) = ("A crane returns", "The hives came home early");
        for (first, second, between) in [
            (
                "class=post data-url=/crane",
                "class=post data-url=/bees",
                "<div><span>Next article</span></div>",
            ),
            ("class=post itemid=https://a.example/1", "class=post itemid='https://a.example/2'", ""),
        ] {
            let body = format!("{}{between}{}", article(first, crane, CRANE), article(second, bees, BEES));
            let text = text_of(crane, &body);
            assert!(text.contains("stone ring") && !text.contains("nectar"), "{body}: {text}");
        }
        let linked = article("", "<a href=/bees>The hives came home early</a>", BEES);
        let text = text_of(crane, &format!("{}{}", article("", crane, CRANE), linked));
        assert!(text.contains("stone ring") && !text.contains("nectar"), "{text}");
    }

    #[test]
    fn listings_threads_and_parts_of_an_article_stay() {
        let article = |names: &str, headline: &str, text: &str| {
            format!("<article {names}><h1>{headline}</h1><div class=entry>{text}</div></article>")
        };
        let (crane, bees) = ("A crane returns", "The hives came home early");
        for (title, body) in [
            // The page is a list of articles.
            ("Island news", article("data-url=/1", crane, CRANE) + &article("data-url=/2", bees, BEES)),
            // Answers have the headline of the question.
            (
                crane,
                article("id=1 data-url=/1", crane, CRANE)
                    + &article("id=2 data-url=/2", "Re: A crane returns", BEES),
            ),
            // Parts of one article have no addresses.
            (crane, article("id=1", crane, CRANE) + &article("id=2", bees, BEES)),
            (
                crane,
                format!(
                    "<article data-url=/1><h1>{crane}</h1>{CRANE}</article><article data-url=/2>{BEES}</article>"
                ),
            ),
        ] {
            let text = text_of(title, &body);
            assert!(text.contains("stone ring") && text.contains("nectar"), "{body}: {text}");
        }
    }
}
