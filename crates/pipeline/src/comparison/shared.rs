//! Marks the parts of each page's main text that the other page has as well, in their places on the page.

use std::borrow::Cow;
use std::ops::Range;

use super::Side;
use leitong_text::difference::{Alignment, tokens};
use leitong_text::extract::PageBlock;
use leitong_text::segment::Segmenter;

/// A stretch of a block with its mark.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Piece {
    /// Byte range in the block's text.
    pub text: Range<usize>,
    /// Mark of this stretch.
    pub mark: Mark,
}

/// The result of comparing a stretch with the other page.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mark {
    /// Both pages have the stretch, which is in the passage of this number, from 0.
    Shared(usize),
    /// Only this page has the stretch.
    Only,
    /// The stretch was not compared.
    NotCompared,
}

/// A token of a page's main text: its block, its range in the block, and the normalised text that is
/// compared.
struct Token<'a> {
    block: usize,
    text: Range<usize>,
    key: Cow<'a, str>,
}

/// Aligns the main texts as detectors read them, and marks the original text of the pages. Returns the marked pieces
/// of each block of each page, and the alignment.
pub(super) fn marked(sides: &[Side; 2], segmenter: &Segmenter) -> ([Vec<Vec<Piece>>; 2], Alignment) {
    let found = [main_text(&sides[0], segmenter), main_text(&sides[1], segmenter)];
    let keys =
        [&found[0], &found[1]].map(|tokens| tokens.iter().map(|token| &*token.key).collect::<Vec<_>>());
    let alignment = Alignment::compute(&keys[0], &keys[1]);
    let nothing_to_compare = found.iter().any(Vec::is_empty);
    let pieces = [0, 1].map(|side| {
        let mut marks = vec![Mark::NotCompared; found[side].len()];
        if !nothing_to_compare {
            marks[..alignment.compared[side]].fill(Mark::Only);
            for (number, run) in alignment.runs().enumerate() {
                marks[run[side].clone()].fill(Mark::Shared(number));
            }
        }
        pieces(&sides[side].blocks, &found[side], &marks)
    });
    (pieces, alignment)
}

/// Returns the tokens of a page's main text with the normalised form of each, so Chinese scripts and
/// full-width letters make no difference. Normalisation can change the number of tokens in a paragraph, since
/// a word may have another length in the other script. Then each token is normalised on its own.
fn main_text<'a>(side: &'a Side, segmenter: &Segmenter) -> Vec<Token<'a>> {
    let mut found: Vec<Token<'_>> = Vec::new();
    let kept = side.blocks.iter().enumerate().filter(|(_, block)| block.kept);
    for (number, (block, kept)) in kept.enumerate() {
        // Tokens that are not compared need not be normalised.
        if found.len() > Alignment::TOKENS_MAX {
            break;
        }
        let originals = tokens(&kept.text);
        let paragraph = side.terms.paragraphs().get(number);
        let normal = paragraph.map_or("", |paragraph| &side.terms.text()[paragraph.text.clone()]);
        let normals = tokens(normal);
        let fits = normals.len() == originals.len();
        for (at, text) in originals.into_iter().take(Alignment::TOKENS_MAX + 1).enumerate() {
            let key = match fits {
                true => normal[normals[at].clone()].into(),
                false => segmenter.normalized(&kept.text[text.clone()]).into(),
            };
            found.push(Token { block, text, key });
        }
    }
    found
}

/// Joins consecutive tokens of a block that have the same mark.
fn pieces(blocks: &[PageBlock], tokens: &[Token<'_>], marks: &[Mark]) -> Vec<Vec<Piece>> {
    let mut pieces: Vec<Vec<Piece>> = vec![Vec::new(); blocks.len()];
    for (token, mark) in tokens.iter().zip(marks) {
        let of_block = &mut pieces[token.block];
        match of_block.last_mut() {
            Some(last) if last.mark == *mark => last.text.end = token.text.end,
            _ => of_block.push(Piece { text: token.text.clone(), mark: *mark }),
        }
    }
    pieces
}
