//! Renders two texts side by side: what extraction kept and dropped, and what both pages have.
//!
//! Bounded: at most [`BLOCKS_MAX`] blocks and [`TEXT_BYTES_MAX`] bytes of each page are shown. The rest is
//! counted.

use maud::{Markup, html};

use super::comparison::LETTERS;
use super::language::Language;
use super::layout::{quoted, shown};
use leitong_pipeline::comparison::{Comparison, Side};
use leitong_pipeline::comparison::{Mark, Piece};
use leitong_text::extract::{PageBlock, ParagraphKind};

/// Limit on the blocks of a page that are shown.
const BLOCKS_MAX: usize = 3_000;
/// Limit on the bytes of a page's text that are shown.
const TEXT_BYTES_MAX: usize = 300_000;

/// Renders both texts.
pub(super) fn side_by_side(comparison: &Comparison, language: Language) -> Markup {
    html! {
        section aria-labelledby="texts" {
            h2 #texts { (language.say("Side by side", "并排对照")) }
            ul.legend {
                li { mark.shared { (language.say("in both pages", "双方都有")) } }
                li { span.only { (language.say("only here", "仅此页有")) } }
                li { span.dropped { (language.say("dropped by extraction", "抽取时舍弃")) } }
            }
            div.columns {
                @for (number, side) in comparison.sides.iter().enumerate() {
                    article.page aria-labelledby={ "page-" (LETTERS[number]) } {
                        h3 #{ "page-" (LETTERS[number]) } {
                            span.letter { (LETTERS[number]) } " "
                            (quoted(side.title.as_deref().unwrap_or(&side.name)))
                        }
                        (text_of(side, &comparison.pieces[number], number, language))
                    }
                }
            }
        }
    }
}

/// Renders the blocks of a page in their order, up to the limits.
fn text_of(side: &Side, pieces: &[Vec<Piece>], number: usize, language: Language) -> Markup {
    let mut bytes = 0;
    let fits = |block: &&PageBlock| {
        bytes += block.text.len();
        bytes <= TEXT_BYTES_MAX
    };
    let count = side.blocks.iter().take(BLOCKS_MAX).take_while(fits).count();
    // If the first block alone exceeds the limit, its beginning is shown.
    let cut = side.blocks.first().filter(|_| count == 0).map(|block| beginning(block, &pieces[0]));
    let cut_block = cut.iter().map(|(block, pieces)| (block, pieces));
    let blocks: Vec<(&PageBlock, &Vec<Piece>)> =
        side.blocks.iter().zip(pieces).take(count).chain(cut_block).collect();
    // Consecutive dropped blocks of the same region form one group.
    let groups = blocks.chunk_by(|(a, _), (b, _)| !a.kept && !b.kept && a.region == b.region);
    let mut linked = None;
    html! {
        @for group in groups {
            @match group {
                [(block, pieces)] if block.kept => (kept_block(block, pieces, number, &mut linked)),
                group => (dropped(group, language)),
            }
        }
        @if count < side.blocks.len() {
            p.note {
                (language.say(
                    format!("{} more blocks are not shown, or are cut.", side.blocks.len() - count),
                    format!("另有 {} 块未显示或未显示完。", side.blocks.len() - count),
                ))
            }
        }
        @if side.blocks.is_empty() { p.note { (language.say("No text.", "没有文本。")) } }
    }
}

/// Returns the beginning of a block, with its pieces.
fn beginning(block: &PageBlock, pieces: &[Piece]) -> (PageBlock, Vec<Piece>) {
    let end = block.text.floor_char_boundary(TEXT_BYTES_MAX);
    let text = block.text[..end].to_owned();
    let cut = |piece: &Piece| Piece { text: piece.text.start..piece.text.end.min(end), ..piece.clone() };
    let pieces = pieces.iter().filter(|piece| piece.text.start < end).map(cut).collect();
    (PageBlock { text, ..block.clone() }, pieces)
}

fn dropped(group: &[(&PageBlock, &Vec<Piece>)], language: Language) -> Markup {
    let region = group.first().and_then(|(block, _)| block.region);
    html! {
        div.dropped {
            p.tag {
                (language.say("dropped", "舍弃"))
                @if let Some(region) = region { " · " code { (region) } }
            }
            p dir="auto" {
                @for (at, (block, _)) in group.iter().enumerate() {
                    @if at > 0 { span.between aria-hidden="true" { " · " } }
                    (quoted(&block.text))
                }
            }
        }
    }
}

fn kept_block(block: &PageBlock, pieces: &[Piece], number: usize, linked: &mut Option<usize>) -> Markup {
    let class = match block.kind {
        ParagraphKind::Heading(_) => "heading",
        ParagraphKind::Paragraph => "paragraph",
        ParagraphKind::ListItem => "item",
        ParagraphKind::TableCell => "table-cell",
        ParagraphKind::Quote => "quote",
        ParagraphKind::Code => "code",
    };
    // White space between two pieces belongs to neither.
    let begins = pieces.iter().map(|piece| piece.text.start).skip(1).chain([block.text.len()]);
    html! {
        p.kept.(class) dir="auto" {
            @if let Some(first) = pieces.first() { (shown(&block.text[..first.text.start])) }
            @for (piece, next) in pieces.iter().zip(begins) {
                (stretch(&block.text[piece.text.clone()], piece.mark, number, linked))
                (shown(&block.text[piece.text.end..next]))
            }
            @if pieces.is_empty() { (shown(&block.text)) }
        }
    }
}

/// Renders a stretch of text. The start of a shared passage links to the same passage in the other page.
fn stretch(text: &str, mark: Mark, number: usize, linked: &mut Option<usize>) -> Markup {
    let text = shown(text);
    match mark {
        Mark::Shared(passage) => {
            let is_begin = *linked != Some(passage);
            *linked = Some(passage);
            let [here, there] = [LETTERS[number], LETTERS[1 - number]];
            html! {
                @if is_begin {
                    a.shared #{ (here) (passage) } href={ "#" (there) (passage) } { (text) }
                } @else { mark.shared { (text) } }
            }
        }
        Mark::Only => html! { span.only { (text) } },
        Mark::NotCompared => html! { (text) },
    }
}
