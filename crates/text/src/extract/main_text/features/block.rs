//! Features of one block: the block itself, its neighbours, the nodes and the section around it.
//!
//! Cost: constant per block, with at most [`ANCESTORS_MAX`] nodes examined.

use crate::extract::main_text::features::columns::Feature;
use crate::extract::main_text::features::page::Page;
use crate::extract::main_text::features::phrases;
use crate::extract::main_text::features::{
    ANCESTORS, ANCESTORS_MAX, Features, clamp, distance, is_heading, share, source,
};
use crate::extract::parse::hints;
use crate::extract::parse::tag::Tag;
use crate::extract::parse::tree::{Block, Node, Tree, block_flag};

impl Features {
    pub(in crate::extract) fn own_features(
        &mut self,
        tree: &Tree,
        html: &[u8],
        at: usize,
        page: &Page,
        since_heading: &mut i16,
    ) {
        let block = &tree.blocks[at];
        let counts = &block.counts;
        let text = source(tree, block, html);
        let mut row = self.columns.row(at);
        row.set(Feature::Bytes, clamp(counts.bytes));
        row.set(Feature::LinkShare, share(block.link_bytes, counts.bytes));
        row.set(Feature::Commas, clamp(counts.commas.into()));
        row.set(Feature::Stops, clamp(counts.stops.into()));
        row.set(Feature::DigitShare, share(u32::from(counts.digits), counts.bytes));
        row.set(Feature::CapitalShare, share(u32::from(counts.capitals), counts.bytes));
        row.set(Feature::Words, clamp(counts.words));
        row.set(Feature::BytesPerWord, clamp(counts.bytes * 10 / counts.words.max(1)));
        row.set(Feature::StrongShare, share(u32::from(block.strong_bytes), counts.bytes));
        row.set(Feature::Links, clamp(block.links.into()));
        row.set(Feature::ImagesBefore, clamp(block.images_before.into()));
        row.set(Feature::Segments, clamp(block.end_segment - block.first_segment));
        for (flag, bit) in [
            (Feature::AfterBreak, block_flag::AFTER_BREAK),
            (Feature::AfterRule, block_flag::AFTER_RULE),
            (Feature::AfterControl, block_flag::AFTER_CONTROL),
            (Feature::InBlockLink, block_flag::IN_BLOCK_LINK),
            (Feature::Preformatted, block_flag::PREFORMATTED),
            (Feature::Code, block_flag::CODE),
            (Feature::Time, block_flag::TIME),
        ] {
            row.set(flag, i16::from(block.features & bit != 0));
        }
        let tag = tree.nodes[block.node as usize].tag;
        row.set(Feature::HeadingLevel, i16::from(tag.heading_level()));
        row.set(Feature::IsParagraph, i16::from(tag == Tag::P));
        row.set(Feature::IsItem, i16::from(tag == Tag::Li));
        row.set(Feature::IsCell, i16::from(matches!(tag, Tag::Td | Tag::Th)));
        row.set(Feature::IsDivision, i16::from(matches!(tag, Tag::Div | Tag::Section | Tag::Custom)));
        row.set(Feature::IsDefinition, i16::from(matches!(tag, Tag::Dd | Tag::Dt)));
        let mut in_heading = tag.heading_level() != 0;
        for (up, node) in tree.around(block).take(ANCESTORS_MAX).enumerate() {
            match node.tag {
                Tag::Table => row.add(Feature::InTable),
                Tag::Ul | Tag::Ol => row.add(Feature::InList),
                Tag::Blockquote => row.add(Feature::InQuote),
                Tag::Form => row.add(Feature::InForm),
                tag if up < 3 && tag.heading_level() != 0 => in_heading = true,
                _ => {}
            }
        }
        row.set(Feature::InHeading, i16::from(in_heading));
        // The title is not part of the text, so copies under another headline remain copies.
        self.kept_out.push(
            (in_heading && page.is_title(text))
                || is_credit(text)
                || are_buttons(text)
                || (block.features & block_flag::PREFORMATTED != 0
                    && u32::from(counts.digits) == counts.bytes
                    && are_line_numbers(text, is_in_row_of_code(tree, at)))
                || self.trusted[block.node as usize] & hints::CONSENT != 0,
        );
        row.set(Feature::SinceHeading, *since_heading);
        *since_heading = if in_heading { 1 } else { (*since_heading + 1).min(1000) };
        row.set(Feature::LastByte, last_class(text));
        row.set(Feature::FirstByte, first_class(text));
        let high = text.iter().take(64).filter(|byte| **byte >= 0x80).count() as u32;
        row.set(Feature::HighShare, share(high, text.len().min(64) as u32));
        row.set(Feature::InTitle, i16::from(page.title_has(text)));
        row.set(Feature::HasTitle, i16::from(page.title_block.is_some()));
        row.set(Feature::SinceTitle, page.title_block.map_or(-1000, |title| distance(title, at)));
        let (group, before) = self.copies[at];
        row.set(Feature::CopiesBefore, clamp(before));
        row.set(Feature::Copies, clamp(self.copy_counts[group as usize]));
        row.set(Feature::InComment, i16::from(self.in_comment[block.node as usize]));
        let trusted = self.trusted[block.node as usize];
        for bit in 0..31 {
            row.put(Feature::Hint0 as usize + bit, (trusted >> bit & 1) as i16);
        }
        for kind in 0..phrases::KINDS {
            row.put(Feature::Phrase0 as usize + kind, (self.phrases[at] >> kind & 1) as i16);
        }
    }

    pub(in crate::extract) fn neighbours(&mut self, tree: &Tree, at: usize) {
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
        let mut row = self.columns.row(at);
        row.set(Feature::PreviousBytes, clamp(previous.counts.bytes));
        row.set(Feature::PreviousLinkShare, share(previous.link_bytes, previous.counts.bytes));
        row.set(Feature::PreviousStops, clamp(previous.counts.stops.into()));
        row.set(Feature::PreviousHeading, heading(previous));
        row.set(Feature::PreviousSameNode, i16::from(previous.node == block.node));
        row.set(Feature::NextBytes, clamp(next.counts.bytes));
        row.set(Feature::NextLinkShare, share(next.link_bytes, next.counts.bytes));
        row.set(Feature::NextStops, clamp(next.counts.stops.into()));
        row.set(Feature::NextHeading, heading(next));
        row.set(Feature::NextSameNode, i16::from(next.node == block.node));
        row.set(Feature::Previous2Bytes, clamp(previous2.counts.bytes));
        row.set(Feature::Next2Bytes, clamp(next2.counts.bytes));
        row.set(Feature::Previous2LinkShare, share(previous2.link_bytes, previous2.counts.bytes));
        row.set(Feature::Next2LinkShare, share(next2.link_bytes, next2.counts.bytes));
        row.set(Feature::AroundText, clamp(around.0));
        row.set(Feature::AroundLinks, clamp(around.1));
        row.set(Feature::BeforeText, clamp(before.0));
        row.set(Feature::AfterText, clamp(after.0));
    }

    pub(in crate::extract) fn enclosing(&mut self, tree: &Tree, at: usize, page: &Page) {
        let block = &tree.blocks[at];
        let all = self.sums[tree.blocks.len()];
        let sums = &self.sums;
        let within = |first: u32, end: u32| {
            let (from, to) = (sums[first as usize], sums[end as usize]);
            (to.bytes - from.bytes, to.linked - from.linked, to.text - from.text)
        };
        let (mut boilerplate_share, mut boilerplate_count, mut content_share, mut content_count) =
            (0, 0, 1001, 0);
        let (mut near, mut near_content) = (0, 0);
        let good = hints::CONTENT | hints::ARTICLE | hints::MAIN | hints::POST;
        let strong = hints::BOILERPLATE
            & !(hints::WIDGET | hints::HEADER | hints::TITLE | hints::CAPTION | hints::LIST);
        for (up, node) in tree.around(block).take(ANCESTORS_MAX).enumerate() {
            if up < 3 {
                near |= i16::from(node.hints & strong != 0) << (2 - up);
                near_content |= i16::from(node.hints & good != 0) << (2 - up);
            }
            if node.hints & (strong | good) != 0 {
                let (bytes, _, _) = within(node.first_block, node.end_block);
                if node.hints & strong != 0 {
                    boilerplate_share = share(bytes, all.bytes).max(boilerplate_share);
                    boilerplate_count += 1;
                }
                if node.hints & good != 0 {
                    content_share = share(bytes, all.bytes).min(content_share);
                    content_count += 1;
                }
            }
        }
        let mut row = self.columns.row(at);
        for (ancestor, &(first, end)) in self.ancestor_ranges[at].iter().enumerate() {
            let (bytes, linked, text) = within(first, end);
            let base = Feature::Ancestor0Share as usize + ancestor * 5;
            row.put(base, share(bytes, all.bytes));
            row.put(base + 1, share(linked, bytes));
            row.put(base + 2, clamp(end - first));
            row.put(base + 3, clamp(bytes / (end - first).max(1)));
            row.put(base + 4, share(text, bytes));
        }
        row.set(Feature::BoilerplateShare, boilerplate_share);
        row.set(Feature::BoilerplateCount, boilerplate_count);
        row.set(Feature::ContentShare, content_share);
        row.set(Feature::ContentCount, content_count);
        row.set(Feature::NearHints, near);
        row.set(Feature::NearContent, near_content);
        let (first, end) = self.sections[at];
        let (bytes, linked, text) = within(first, end);
        let above = self.phrases[first as usize];
        let head = &tree.blocks[first as usize];
        row.set(Feature::SectionBytes, clamp(bytes));
        row.set(Feature::SectionLinks, share(linked, bytes));
        row.set(Feature::SectionText, share(text, bytes));
        row.set(Feature::SectionBlocks, clamp(end - first));
        row.set(Feature::SectionLevel, i16::from(tree.nodes[head.node as usize].tag.heading_level()));
        if is_heading(tree, head) {
            for (flag, kind) in [
                (Feature::SectionRelated, phrases::RELATED),
                (Feature::SectionComment, phrases::COMMENT),
                (Feature::SectionAccount, phrases::ACCOUNT),
                (Feature::SectionShop, phrases::SHOP),
                (Feature::SectionShare, phrases::SHARE),
            ] {
                row.set(flag, (above >> kind & 1) as i16);
            }
        }
        let (count, bytes, linked) = self.similar_sums[self.similar[at] as usize];
        row.set(Feature::SimilarCount, clamp(count));
        row.set(Feature::SimilarBytes, share(bytes, all.bytes));
        row.set(Feature::SimilarLinks, share(linked, bytes));
        row.set(Feature::SimilarMean, clamp(bytes / count.max(1)));
        page.place(tree, sums, &mut row);
    }
}

/// Returns the block ranges of the nodes around a block, each larger than the previous one; the last is repeated.
pub(in crate::extract) fn ancestor_ranges(tree: &Tree, at: usize, block: &Block) -> [(u32, u32); ANCESTORS] {
    let mut range = (at as u32, at as u32 + 1);
    let mut ancestor_ranges = [range; ANCESTORS];
    let mut ancestor = 0;
    for node in tree.around(block).take(ANCESTORS_MAX) {
        if (node.first_block, node.end_block) != range && node.end_block - node.first_block > 1 {
            range = (node.first_block, node.end_block);
            ancestor_ranges[ancestor..].fill(range);
            ancestor += 1;
            if ancestor == ANCESTORS {
                break;
            }
        }
    }
    ancestor_ranges
}

/// Maximum length of a credit line in bytes; a longer line is a sentence.
const CREDIT_BYTES_MAX: usize = 70;

/// Returns true if the text is a line that names the author or the source. Of 435 such lines on the labelled pages, the
/// annotators kept 31, most of them signatures of readers' comments.
fn is_credit(text: &[u8]) -> bool {
    #[rustfmt::skip]
    let begins = [
        "作者：", "作者:", "文/", "文／", "来源：", "来源:", "责任编辑", "责编", "编辑：", "编辑:", "记者：", "稿源",
    ];
    let begins_english = |word: &[u8]| {
        let rest = text.get(word.len()..).unwrap_or_default().trim_ascii_start();
        text[..word.len().min(text.len())].eq_ignore_ascii_case(word)
            && rest.len() < text.len() - word.len()
            && rest.first().is_some_and(u8::is_ascii_uppercase)
    };
    text.len() <= CREDIT_BYTES_MAX
        && (begins.iter().any(|credit| text.starts_with(credit.as_bytes()))
            || [&b"by"[..], b"by:", b"written by"].into_iter().any(begins_english))
}

/// Maximum length of bracketed labels in bytes of markup; longer ones are a list.
const BUTTONS_BYTES_MAX: usize = 300;

/// Returns true if the markup shows only several labels in brackets, as in `[<a>Print</a>] [<a>Back to top</a>]`.
fn are_buttons(html: &[u8]) -> bool {
    let (mut in_tag, mut inside, mut labels) = (false, false, 0);
    html.len() <= BUTTONS_BYTES_MAX
        && html.iter().all(|byte| match byte {
            b'<' | b'>' => {
                in_tag = *byte == b'<';
                true
            }
            _ if in_tag => true,
            b'[' => {
                labels += 1;
                !std::mem::replace(&mut inside, true)
            }
            b']' => std::mem::replace(&mut inside, false),
            b',' | b'"' | b'\'' | b'0'..=b'9' => false,
            byte => inside || byte.is_ascii_whitespace() || *byte == b'|',
        })
        && !inside
        && labels > 1
}

/// Returns true if the markup shows only numbers that go up by one: the line numbers of a program next to it, in a
/// column of their own. With `is_in_row_of_code`, one number is enough.
fn are_line_numbers(html: &[u8], is_in_row_of_code: bool) -> bool {
    let (mut in_tag, mut number, mut last, mut count) = (false, None::<u64>, None::<u64>, 0);
    for byte in html.iter().chain(b" ") {
        match byte {
            b'0'..=b'9' if !in_tag => {
                number = Some(number.unwrap_or(0).saturating_mul(10).saturating_add(u64::from(byte - b'0')));
                continue;
            }
            b'<' => in_tag = true,
            b'>' => in_tag = false,
            _ => {}
        }
        if let Some(number) = number.take() {
            if last.is_some_and(|last| last.checked_add(1) != Some(number)) {
                return false;
            }
            (last, count) = (Some(number), count + 1);
        }
    }
    count > 1 || (count == 1 && is_in_row_of_code)
}

/// Returns true if the block is in a cell of a table, and program text follows.
fn is_in_row_of_code(tree: &Tree, at: usize) -> bool {
    let is_cell = |node: &Node| matches!(node.tag, Tag::Td | Tag::Th);
    let next = tree.blocks.get(at + 1);
    next.is_some_and(|next| next.features & block_flag::PREFORMATTED != 0)
        && tree.around(&tree.blocks[at]).take(3).any(is_cell)
}

/// Classifies the end of a text: 4 sentence or closing bracket, 3 colon, 2 comma or semicolon, 1 other.
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

/// Classifies the start of a text: 0 lower case, 1 upper case, 2 digit, 3 another script, 4 bracket, quote or one of
/// U+3000–U+3FFF and U+F000–U+FFFF (mostly East Asian punctuation and kana), 5 other.
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn labels_in_brackets_are_buttons() {
        for buttons in ["[Print] [Back to top]", "[<a href='x(1)'>打印本页</a>] | [返回顶部]", "[a][b] [c]"]
        {
            assert!(are_buttons(buttons.as_bytes()), "{buttons}");
        }
        for other in
            ["", "[Print]", "[a] [b", "a] [b]", "[a] [b] more", "[a[b]]", "[1] [2]", &"[long]".repeat(60)]
        {
            assert!(!are_buttons(other.as_bytes()), "{other}");
        }
    }

    /// Line numbers must not be taken for text in themes that write them into a column of their own.
    #[test]
    fn numbers_that_go_up_by_one_are_those_of_lines() {
        for numbers in ["1\n2\n3", "<span id=l9>9</span><br><span>10</span><br>", "  99\n 100 "] {
            assert!(are_line_numbers(numbers.as_bytes(), false), "{numbers}");
        }
        for other in ["", "7", "1\n2\n4", "3 2 1", "5 5", "99999999999999999999 1"] {
            assert!(!are_line_numbers(other.as_bytes(), false), "{other}");
        }
        assert!(are_line_numbers(b"7", true) && !are_line_numbers(b"", true));
    }

    #[test]
    fn credit_lines_stand_alone() {
        for credit in ["By: Nell Harrow 2026", "by  Tom Ash", "作者：柳汀文史小组　2018年6月", "责任编辑：王"]
        {
            assert!(is_credit(credit.as_bytes()), "{credit}");
        }
        for other in [
            "by then it was late",
            "Bywater is a village",
            "By",
            "by",
            "",
            "作者在书里说，那一年的冬天特别长，河面结了厚厚的冰，孩子们都去滑冰。",
        ] {
            assert!(!is_credit(other.as_bytes()), "{other}");
        }
    }
}
