//! Renders a sample of removals for a person to judge: the kept and the removed text side by side, what differs, and
//! keys for the answers. The page is a file, and works without a server.
//!
//! Bounded: long stretches that both texts have are shortened, and of each text at most [`TEXT_CHARS_MAX`] characters
//! are shown.

use maud::{Markup, html};
use xxhash_rust::xxh3::Xxh3;

use super::language::Language;
use super::layout::{self, Delivery, Frame, quoted, shown};
use leitong_keep::{AuditOutcome, Audited, AuditedNames};
use leitong_pipeline::comparison::Side;
use leitong_pipeline::comparison::{Mark, Piece};

/// Maximum number of characters of a text that are shown.
const TEXT_CHARS_MAX: usize = 6_000;
/// Number of characters that are shown at each end of a long stretch that both texts have.
const SHARED_ENDS: usize = 120;
/// Maximum number of consecutive paragraphs that both texts have and are all shown.
const SHARED_BLOCKS: usize = 4;
/// Number of characters that are shown at each end of a long stretch that one text has.
const ONLY_ENDS: usize = 700;

/// A sample of removals.
pub struct Review {
    /// Seed by which the sample was drawn.
    pub seed: u64,
    /// Number of all removed documents.
    pub removed: usize,
    /// Number of removed documents with the same text as a kept one. The sample is drawn from the others.
    pub same_text: usize,
    /// The removals to judge.
    pub pairs: Vec<Pair>,
}

/// A removed document with the kept one.
pub struct Pair {
    /// Result of the audit.
    pub audited: Audited,
    /// Source of the removed document.
    pub source: String,
    /// The removed page and, if there is one, the kept page, each with the marked pieces of each block.
    pub removed: (Side, Vec<Vec<Piece>>),
    /// The kept page.
    pub kept: Option<(Side, Vec<Vec<Piece>>)>,
}

/// Renders the whole page.
#[must_use]
pub fn file_of_review(review: &Review) -> String {
    let frame = Frame {
        language: Language::English,
        title: "Review of removals",
        delivery: Delivery::Review,
        links: Vec::new(),
        other_language: None,
    };
    let Review { seed, removed, same_text, pairs } = review;
    let body = html! {
        h1 { "Was it right to remove these?" }
        p {
            (pairs.len()) " of " (removed - same_text) " removed documents, drawn by outcome and source with the seed " (seed)
            ". Not shown: " (same_text) " with the same text as a kept document. "
            b { "Right" } ": you would not miss the removed document. " b { "Wrong" } ": you would have kept it."
        }
        div #answers.panel hidden {
            p #progress role="status" {}
            p.actions {
                @for (key, answer) in [("r", "right"), ("w", "wrong"), ("u", "unsure")] {
                    button type="button" data-key=(key) data-answer=(answer) aria-pressed="false" { kbd { (key) } " " (answer) }
                }
                button.plain type="button" data-key="ArrowLeft" { kbd { "←" } " back" }
                button.plain type="button" data-key="ArrowRight" { kbd { "→" } " next" }
                button.plain type="button" data-key="s" { kbd { "s" } " save answers.json" }
            }
        }
        noscript { p.note { "Answers by keys need JavaScript. All pairs are shown below." } }
        div #review data-key=(key(review)) data-seed=(seed) data-removed=(removed) data-same=(same_text) {
            @for pair in pairs { (pair_of_texts(pair)) }
        }
        @if pairs.is_empty() { p { "No removed document has a text of its own, so there is nothing to judge." } }
    };
    layout::page(&frame, &body)
}

/// Returns a key of the sample. The browser keeps its answers under this key.
fn key(review: &Review) -> String {
    let mut hash = Xxh3::new();
    hash.update(&review.seed.to_le_bytes());
    for pair in &review.pairs {
        let AuditedNames { id, url, place } = &pair.audited.removed;
        [id, url, place].iter().for_each(|name| hash.update(format!("{name}\n").as_bytes()));
    }
    format!("{:016x}", hash.digest())
}

fn pair_of_texts(Pair { audited, source, removed, kept }: &Pair) -> Markup {
    let AuditedNames { id, url, place } = &audited.removed;
    html! {
        section.pair data-id=(id) data-url=(url) data-place=(place) data-source=(source) data-outcome=(audited.outcome.as_str()) {
            h2 { (reason(audited)) }
            @if let Some(differs) = &audited.differs {
                @let (ours, theirs) = differs.split_once(" | ").unwrap_or((differs, ""));
                p { "Removed: " span.only { (shown(ours)) } " Kept: " span.only { (shown(theirs)) } }
            } @else if !audited.lost_passage.is_empty() && audited.outcome != AuditOutcome::SameText {
                p { "Longest stretch that only the removed document has: " span.only { (shown(&audited.lost_passage)) } }
            }
            div.columns {
                article.page {
                    h3 { "Kept" }
                    @match (kept, &audited.kept) {
                        (Some((side, pieces)), Some(names)) => { (names_of(side, names)) (text(side, pieces)) }
                        _ => p.note { "No kept document is like it." },
                    }
                }
                article.page {
                    h3 { "Removed" }
                    (names_of(&removed.0, &audited.removed))
                    (text(&removed.0, &removed.1))
                }
            }
        }
    }
}

/// Returns the outcome in a few words.
fn reason(audited: &Audited) -> String {
    let share = (audited.lost_share * 100.0).round();
    match audited.outcome {
        AuditOutcome::SameText => "The same text was kept".to_owned(),
        AuditOutcome::Contained => "A kept document has its text".to_owned(),
        AuditOutcome::FactsDiffer => "Facts differ".to_owned(),
        AuditOutcome::TextLost => {
            format!("Text is lost: {share} % of it, {} letters at once", audited.lost_letters)
        }
        AuditOutcome::NothingLikeIt => "Nothing like it was kept".to_owned(),
        AuditOutcome::NoText => "It has no text that is compared".to_owned(),
    }
}

fn names_of(side: &Side, names: &AuditedNames) -> Markup {
    html! {
        @if let Some(title) = &side.title { p { b { (quoted(title)) } } }
        p.note { (quoted(&names.id)) @if names.url != names.id { " · " (quoted(&names.url)) } }
    }
}

/// Renders the main text of a page. Stretches are shortened, so that what differs is on the first screen.
fn text(side: &Side, pieces: &[Vec<Piece>]) -> Markup {
    let kept: Vec<_> = side.blocks.iter().zip(pieces).filter(|(block, _)| block.kept).collect();
    let is_shared = |pieces: &[Piece]| matches!(pieces, [Piece { mark: Mark::Shared(_), .. }]);
    // Of many consecutive blocks that the other text has, the first and the last are shown.
    let groups: Vec<_> = kept.chunk_by(|(_, a), (_, b)| is_shared(a) && is_shared(b)).collect();
    let mut left = TEXT_CHARS_MAX;
    html! {
        @for group in &groups {
            @for (number, (block, pieces)) in group.iter().enumerate() {
                @if number == 0 || number + 1 == group.len() || group.len() <= SHARED_BLOCKS {
                    @if left > 0 { p.kept dir="auto" { (block_text(&block.text, pieces, &mut left)) } }
                    @else { p.note { "…" } }
                } @else if number == 1 {
                    p.note { "… " (group.len() - 2) " more paragraphs that both have …" }
                }
            }
        }
        @if left == 0 { p.note { "The rest is not shown." } }
        @if kept.is_empty() { p.note { "No text." } }
    }
}

fn block_text(text: &str, pieces: &[Piece], left: &mut usize) -> Markup {
    let only_piece = [Piece { text: 0..text.len(), mark: Mark::NotCompared }];
    let pieces = if pieces.is_empty() { &only_piece[..] } else { pieces };
    html! {
        @for piece in pieces {
            @let stretch = shortened(&text[piece.text.clone()], piece.mark, left);
            @match piece.mark {
                Mark::Only => span.only { (shown(&stretch)) },
                Mark::Shared(_) | Mark::NotCompared => (shown(&stretch)),
            }
            " "
        }
    }
}

/// Returns the beginning and the end of a long stretch, and no more than is `left` to show.
fn shortened(stretch: &str, mark: Mark, left: &mut usize) -> String {
    let ends = if matches!(mark, Mark::Shared(_)) { SHARED_ENDS } else { ONLY_ENDS };
    let ends = ends.min(*left / 2);
    let chars: Vec<char> = stretch.chars().collect();
    let is_long = chars.len() > 4 * ends;
    *left = left.saturating_sub(if is_long { 2 * ends } else { chars.len() });
    match is_long {
        false => stretch.to_owned(),
        true => {
            let [first, last] = [&chars[..ends], &chars[chars.len() - ends..]].map(String::from_iter);
            format!("{first} […{} characters…] {last}", chars.len() - 2 * ends)
        }
    }
}
