//! Finds the text that a page describes: by its description for search engines and social networks, and by the
//! article's text in linked data. The block with that text is the main text or its beginning. A block whose text is in
//! linked data (an article, the steps and ingredients of a recipe) is main text.
//!
//! In: ranges of the head, blocks. Out: for each block, how much of it is described, and the block with most of the
//! description. Texts are compared by their letters alone: lower case, without tags, white space and punctuation. Cost:
//! 2 ns per byte for the first [`BLOCK_BYTES`] bytes of each block, only on pages with a description.

use crate::extract::main_text::features::share;
use crate::extract::main_text::json::Json;
use crate::extract::main_text::linked_text::{article_bodies, article_body, steps};
use crate::extract::parse::entities::{Characters, reference};

/// Length in bytes of the windows in which letters are compared: five Chinese characters, or three English words.
const WINDOW: usize = 15;

/// Number of bits in a set of windows. The longest text that is read sets one bit in 16.
const BITS: usize = 1 << 17;

/// Maximum bytes of letters that are read of a description or of an article's text in linked data.
const TEXT_BYTES: usize = 8192;

/// Maximum bytes of source that are read of a block.
const BLOCK_BYTES: usize = 400;

/// The windows of one text.
#[derive(Debug, Default)]
pub(in crate::extract) struct Windows {
    bits: Vec<u64>,
    /// Number of windows of the text.
    pub(in crate::extract) count: u32,
}

impl Windows {
    /// Removes the windows of the last page.
    pub(in crate::extract) fn clear(&mut self) {
        if self.count > 0 {
            self.bits.fill(0);
            self.count = 0;
        }
    }

    /// Adds the windows of `text`.
    pub(in crate::extract) fn add(&mut self, text: &[u8], letters: &mut Vec<u8>) {
        self.bits.resize(BITS / 64, 0);
        read_letters(text, TEXT_BYTES, letters);
        let (bits, count) = (&mut self.bits, &mut self.count);
        each_window(letters, |place| {
            bits[place / 64] |= 1 << (place % 64);
            *count += 1;
        });
    }

    /// Returns the number of windows of `letters`, and how many of them are in this text.
    fn found_in(&self, letters: &[u8]) -> (u32, u32) {
        let (mut all, mut found) = (0, 0);
        each_window(letters, |place| {
            all += 1;
            found += u32::from(self.bits[place / 64] >> (place % 64) & 1 != 0);
        });
        (all, found)
    }
}

/// Names of values of linked data, of which a script with text that the page shows has one.
const TEXT_NAMES: [&str; 4] = ["articleBody", "recipeInstructions", "recipeIngredient", "\"step\""];

/// Number of windows of linked data's texts above which no further text is read: the set would be too full.
const TOLD_COUNT_MAX: u32 = 8192;

/// Share of a block's windows, in thousandths, that must be in the text of linked data for the block to be main text.
const TOLD_SHARE_MIN: i16 = 800;

/// The text that a page describes.
#[derive(Debug, Default)]
pub(in crate::extract) struct Described {
    pub(in crate::extract) description: Windows,
    pub(in crate::extract) body: Windows,
    /// The texts of linked data.
    pub(in crate::extract) told: Windows,
    /// For each block, true if its text is in linked data.
    pub(in crate::extract) is_told: Vec<bool>,
    letters: Vec<u8>,
    /// For each block, in thousandths: the share of the block's windows that are in the description, of the
    /// description's windows that are in the block, and of the block's windows that are in the article's text in linked
    /// data.
    pub(in crate::extract) shares: Vec<[i16; 3]>,
    /// The block that holds most of the description, if it holds more than [`ANCHOR_SHARE_MIN`].
    pub(in crate::extract) anchor: Option<usize>,
    /// The share of the description in the block `anchor`, in thousandths; 0 if there is none.
    pub(in crate::extract) anchor_share: i16,
}

/// Share of the description, in thousandths, above which a block counts as the place of the description.
const ANCHOR_SHARE_MIN: i16 = 250;

impl Described {
    /// Reads the descriptions, then looks for them in `blocks`, the sources of all blocks in order.
    pub(in crate::extract) fn gather<'a, 'b>(
        &mut self,
        descriptions: impl Iterator<Item = &'a [u8]>,
        linked: impl Iterator<Item = &'a str>,
        blocks: impl Iterator<Item = &'b [u8]>,
    ) {
        self.description.clear();
        self.body.clear();
        self.told.clear();
        self.is_told.clear();
        let mut last: &[u8] = &[];
        for text in descriptions.filter(|text| text.len() > WINDOW) {
            // The description for social networks is mostly the same.
            if text != last {
                self.description.add(text, &mut self.letters);
            }
            last = text;
        }
        let holds_text = |script: &&str| TEXT_NAMES.iter().any(|name| script.contains(name));
        let scripts: Vec<Json<'_>> = linked.filter(holds_text).map(Json::parse).collect();
        if let Some(body) = scripts.iter().find_map(article_body) {
            self.body.add(body.as_bytes(), &mut self.letters);
        }
        for text in scripts.iter().flat_map(|script| article_bodies(script).chain(steps(script))) {
            if self.told.count < TOLD_COUNT_MAX {
                self.told.add(text.as_bytes(), &mut self.letters);
            }
        }
        self.shares.clear();
        (self.anchor, self.anchor_share) = (None, ANCHOR_SHARE_MIN);
        let nothing = self.description.count + self.body.count + self.told.count == 0;
        for (at, block) in blocks.enumerate() {
            if nothing || block.len() <= WINDOW {
                self.shares.push([0; 3]);
                self.is_told.push(false);
                continue;
            }
            read_letters(&block[..block.len().min(BLOCK_BYTES)], BLOCK_BYTES, &mut self.letters);
            let mut shares = [0; 3];
            if self.description.count > 0 {
                let (all, found) = self.description.found_in(&self.letters);
                shares[0] = share(found, all);
                shares[1] = share(found, self.description.count);
            }
            if self.body.count > 0 {
                let (all, found) = self.body.found_in(&self.letters);
                shares[2] = share(found, all);
            }
            let told = if self.told.count > 0 { self.told.found_in(&self.letters) } else { (0, 0) };
            self.is_told.push(share(told.1, told.0) >= TOLD_SHARE_MIN);
            // Among equal blocks the first one counts, because teasers of the same article come later.
            if shares[1] > self.anchor_share {
                (self.anchor, self.anchor_share) = (Some(at), shares[1]);
            }
            self.shares.push(shares);
        }
        if self.anchor.is_none() {
            self.anchor_share = 0;
        }
    }
}

/// Calls `each` with an index below [`BITS`] for each window.
fn each_window(letters: &[u8], mut each: impl FnMut(usize)) {
    const FACTOR: u32 = 0x0100_0193;
    const LAST: u32 = FACTOR.wrapping_pow(WINDOW as u32);
    let mut hash = 0_u32;
    for (at, &byte) in letters.iter().enumerate() {
        hash = hash.wrapping_mul(FACTOR).wrapping_add(u32::from(byte) + 1);
        if at >= WINDOW {
            hash = hash.wrapping_sub(LAST.wrapping_mul(u32::from(letters[at - WINDOW]) + 1));
        }
        if at + 1 >= WINDOW {
            each((hash.wrapping_mul(0x9e37_79b1) >> 15) as usize % BITS);
        }
    }
}

/// Replaces `letters` by the letters of `text`, at most `most` bytes of them.
fn read_letters(text: &[u8], most: usize, letters: &mut Vec<u8>) {
    letters.clear();
    let mut at = 0;
    // After one tag without an end, no later tag has one: this avoids searching again for each.
    let mut tags_end = true;
    while let Some(&byte) = text.get(at).filter(|_| letters.len() < most) {
        at += match byte {
            b'a'..=b'z' | b'0'..=b'9' => {
                letters.push(byte);
                1
            }
            b'A'..=b'Z' => {
                letters.push(byte | 0x20);
                1
            }
            b'<' if tags_end => {
                let end = memchr::memchr(b'>', &text[at..]);
                tags_end = end.is_some();
                end.map_or(1, |end| end + 1)
            }
            b'&' => match reference(&text[at..]) {
                Some((Characters::Named(_), length)) => length,
                Some((Characters::Numbered(character), length)) => {
                    push(character, letters);
                    length
                }
                None => 1,
            },
            // `\u4e2d` in linked data.
            b'\\' => match escape(&text[at..]) {
                Some(character) => {
                    push(character, letters);
                    6
                }
                None => 2,
            },
            // Punctuation and blanks of U+2000–U+203F, U+3000–U+303F, U+FF00–U+FF3F.
            0xe2 if text.get(at + 1) == Some(&0x80) => 3,
            0xe3 if text.get(at + 1) == Some(&0x80) => 3,
            0xef if text.get(at + 1) == Some(&0xbc) => 3,
            0xc2 => 2,
            0x80.. => {
                letters.push(byte);
                1
            }
            _ => 1,
        };
    }
}

fn push(character: char, letters: &mut Vec<u8>) {
    if character.is_alphanumeric() {
        let mut buffer = [0; 4];
        letters.extend_from_slice(character.to_ascii_lowercase().encode_utf8(&mut buffer).as_bytes());
    }
}

/// Returns the character of `\uXXXX`.
fn escape(text: &[u8]) -> Option<char> {
    let digits = text.get(2..6).filter(|_| text[1] == b'u')?;
    char::from_u32(u32::from_str_radix(std::str::from_utf8(digits).ok()?, 16).ok()?)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn gathered(description: &str, linked: &str, blocks: &[&str]) -> Described {
        let mut described = Described::default();
        described.gather(
            std::iter::once(description.as_bytes()),
            std::iter::once(linked),
            blocks.iter().map(|block| block.as_bytes()),
        );
        described
    }

    #[test]
    fn the_described_block_is_found_whatever_its_markup() {
        let described = gathered(
            "The harvest began nine days later; a late frost had held the buds back.",
            "",
            &[
                "Home of the leaf and of other things",
                "The <b>harvest</b> began&nbsp;nine days later, a late frost had held",
                "Short",
            ],
        );
        assert_eq!(described.anchor, Some(1));
        assert!(described.shares[1][0] > 950 && described.shares[1][1] > 700, "{:?}", described.shares);
        assert!(described.shares[0][0] < 50, "{:?}", described.shares);
    }

    #[test]
    fn escapes_in_linked_data_are_decoded() {
        let linked = r#"{"articleBody": "\u4eca\u5e74\u5934\u91c7\u8336\n晚了九天，因为二月末的一场霜冻，把茶树的嫩芽压住了整整一个星期，直到惊蛰以后才重新长出来"}"#;
        let described = gathered("", linked, &["今年头采茶，晚了九天。"]);
        assert_eq!(described.shares[0][2], 1000);
        assert_eq!(described.anchor, None);
    }

    /// A short description must not cost the steps of a recipe, which are far from it and shorter than the article
    /// above.
    #[test]
    fn blocks_with_the_text_of_linked_data_are_found() {
        let linked = r#"{"@type":"Recipe","recipeInstructions":[{"@type":"HowToStep","text":"Roast the sweet potatoes for
            half an hour."},{"text":"Blitz the dressing \u2013 slowly \u2013 until it is smooth."}],"name":"Kale salad"}"#;
        let described = gathered(
            "",
            linked,
            &[
                "Roast the <b>sweet potatoes</b> for half an hour.",
                "Blitz the dressing – slowly – until it is smooth.",
                "Kale was my grandmother's answer to winter.",
                "Kale salad",
            ],
        );
        assert_eq!(described.is_told, [true, true, false, false]);
    }

    #[test]
    fn broken_escapes_and_references_do_no_harm() {
        for text in ["\\", "\\u", "\\u12", "&", "&#", "<", "\u{3000}", "\\ud800 and more than a window"] {
            read_letters(text.as_bytes(), 100, &mut Vec::new());
        }
        for cut in 1..3 {
            read_letters(&"　".as_bytes()[..cut], 100, &mut Vec::new());
        }
    }
}
