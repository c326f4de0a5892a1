//! Tells a page's article from the frame of its site, such as an app's menu and its praise: the frame has nothing of what
//! the page says it is about.
//!
//! In: the tree, the headline, the chosen blocks. Out: whether none of them has a word of the headline and of the title
//! for social networks. Words count by their first letters, so inflected ones match; Chinese characters and kana count
//! in pairs. Cost: linear in the chosen text, which is searched once per word of the title.

use std::collections::BTreeSet;

use crate::extract::parse::text;
use crate::extract::parse::tree::Tree;

/// Minimum letters of a word that counts; shorter ones are in any text.
const WORD_LETTERS_MIN: usize = 4;
/// Number of a word's letters that are compared.
const STEM_LETTERS: usize = 5;
/// Minimum number of different words of a title that says what the page is about.
const WORDS_MIN: usize = 3;
/// Maximum number of words that are searched for.
const WORDS_MAX: usize = 40;
/// Maximum bytes of text of a frame.
const FRAME_BYTES_MAX: u32 = 2_600;

/// Returns true if the blocks `chosen`, of `bytes` in all, have no word of the title of the page, which has several.
pub(super) fn is_frame(html: &str, tree: &Tree, headline: Option<usize>, chosen: &[u32], bytes: u32) -> bool {
    let headline = headline.map(|at| text::of_block(html, tree, &tree.blocks[at], false));
    let titles = [headline, text::of_segment(html, tree.head.social_title)];
    let words: BTreeSet<String> =
        titles.iter().flatten().flat_map(|title| words(title)).take(WORDS_MAX).collect();
    if chosen.is_empty() || bytes > FRAME_BYTES_MAX || words.len() < WORDS_MIN {
        return false;
    }
    chosen.iter().all(|&block| {
        let text = text::of_block(html, tree, &tree.blocks[block as usize], false).to_lowercase();
        words.iter().all(|word| !text.contains(word.as_str()))
    })
}

/// Returns the beginnings of the words of a title, in lower case.
fn words(title: &str) -> Vec<String> {
    let title = title.to_lowercase();
    let runs = title.split(|c: char| !c.is_alphanumeric()).filter(|run| !run.is_empty());
    let mut words = Vec::new();
    for run in runs {
        let letters: Vec<char> = run.chars().collect();
        if letters.iter().any(|&letter| is_syllable(letter)) {
            words.extend(letters.windows(2).map(|pair| pair.iter().collect::<String>()));
        } else if letters.len() >= WORD_LETTERS_MIN {
            words.push(letters.iter().take(STEM_LETTERS).collect());
        }
    }
    words
}

/// Returns true for Chinese characters, kana and Korean syllables.
fn is_syllable(letter: char) -> bool {
    matches!(letter, '\u{2e80}'..='\u{d7ff}' | '\u{f900}'..='\u{faff}' | '\u{20000}'..)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::extract::{Document, ExtractConfig, Extractor};

    const PROMO: &str = "<div class=app><p>Overwhelmed by wellness advice? Movement and rituals that match your energy, your \
        day, and your goal, in one place.</p><p>Our app has four stars and two million downloads, and the first week is \
        free of charge for everybody who joins before the end of the month.</p></div>";

    fn document(head: &str, body: &str) -> Document {
        let html = format!("<title>Creamy kale salad | Ella</title>{head}<body>{body}");
        Extractor::new(&ExtractConfig::default()).extract(&html).expect("within the limits")
    }

    #[test]
    fn words_are_compared_by_their_beginnings() {
        assert_eq!(words("The Harbours of Brest"), ["harbo", "brest"]);
        assert_eq!(words("老石桥修好了"), ["老石", "石桥", "桥修", "修好", "好了"]);
    }

    /// Two recipes of a site whose app puts its own praise on each page must not become copies of one another.
    #[test]
    fn the_frame_of_a_site_is_not_the_article_that_a_page_announces() {
        let article =
            "<meta property=og:type content=article><meta property=og:title content='Creamy kale salad'>";
        for (head, body, is_frame) in [
            (article, format!("<h1>Creamy kale salad</h1>{PROMO}"), true),
            (article, PROMO.to_owned(), true),
            // Nothing says that there is an article.
            ("", format!("<h1>Creamy kale salad</h1>{PROMO}"), false),
            (article, format!("<h1>Creamy kale salad</h1>{}", PROMO.replace("goal", "salad")), false),
            (
                "<script type=application/ld+json>{\"@type\":\"Recipe\",\"recipeIngredient\":[\"2 sweet potatoes\",\"200 g of chickpeas\"]}</script>",
                format!("<h1>Creamy kale salad</h1>{PROMO}"),
                true,
            ),
        ] {
            assert_eq!(document(head, &body).is_frame, is_frame, "{head} {body}");
        }
    }
}
