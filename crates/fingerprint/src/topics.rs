//! Extracts the topics of a text, what it is about: the numbers and code-like names of its title and first line, and
//! names that recur throughout. Pages of a series have the sentences of one template with other topics.
//!
//! A word of the title counts if it has a digit (`2.5.7`, `preview1`) or is joined as names in programs and versions
//! are (`read_entry`, `acme.common`). A recurring word counts if it is a [name](super::facts): in a language without a
//! table of common words its frequent words count as well, which copies have in common.
//!
//! Encoding: an odd sketch, as of [facts]. Cost: linear in the title, one look-up per recurring term.

use super::facts::{self, Facts};
use super::secret::TextHash;
use leitong_text::segment::Terms;

/// Maximum number of characters of a title, or of a first line that is taken for one. A copy may lack the first lines,
/// and then begins with a paragraph.
const TITLE_CHARS: usize = 200;
/// Number of times from which on a name recurs.
const RECURRING: u32 = 3;
/// Characters that join the parts of a code-like name.
const JOINTS: [char; 5] = ['.', '-', '_', ':', '/'];

/// Returns the topics of a text.
pub(crate) fn topics(terms: &Terms, hash: &TextHash) -> Facts {
    let mut found = Vec::new();
    let first_line = terms.paragraphs().iter().map(|paragraph| &terms.text()[paragraph.text.clone()]);
    let first_line = first_line.into_iter().find(|line| !line.is_empty()).unwrap_or_default();
    for head in [terms.title(), first_line] {
        if head.chars().nth(TITLE_CHARS).is_none() {
            codes(head, |code| found.push(hash.hash(code.as_bytes())));
        }
    }
    let recurring = terms.distinct().iter().filter(|term| term.frequency >= RECURRING);
    found.extend(recurring.filter_map(|term| facts::name(terms, *term, hash)));
    facts::odd_sketch(&mut found)
}

/// Calls `code` with each word that has a digit and is no label, and with those that have letters and an inner joint
/// other than a hyphen.
fn codes<'a>(line: &'a str, mut code: impl FnMut(&'a str)) {
    facts::words_with_digits(line, &mut code);
    for word in line.split(|c| !facts::is_of_a_word(c) && !JOINTS.contains(&c)) {
        let word = word.trim_matches(JOINTS);
        if word.contains(char::is_alphabetic) && word.contains(|c| c != '-' && JOINTS.contains(&c)) {
            code(word);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::test_texts::terms_of;
    use leitong_text::extract::Document;

    fn replaced(a: [&str; 2], b: [&str; 2]) -> u32 {
        let [a, b] = [a, b].map(|[title, text]| {
            let document = Document::from_text(Some(title.into()), text);
            topics(&terms_of(&document), &TextHash::default())
        });
        facts::replaced(&a, &b)
    }

    #[test]
    fn codes_are_words_with_digits_and_joined_words() {
        let of = |line| {
            let mut found = Vec::new();
            codes(line, |code| found.push(code));
            found
        };
        let found = of("ruby 1.8.4 preview1公开: acme.common.errors, read_entry (well-known), a/b 3-2.");
        assert_eq!(found, ["1.8.4", "preview1", "3-2", "acme.common.errors", "read_entry", "a/b"]);
        assert!(of("8:07 a title. and - well - more").is_empty());
    }

    #[test]
    fn another_version_in_the_title_is_a_replaced_topic() {
        let text = "the program has become faster, and some of its errors were mended";
        assert!(replaced(["tea 2.5.7 released", text], ["tea 2.6.5 released", text]) >= 100);
        assert!(replaced(["", &format!("tea 2.5.7\n{text}")], ["", &format!("tea 2.6.5\n{text}")]) >= 100);
        assert_eq!(replaced(["tea 2.5.7 released", text], ["tea 2.5.7 is there", text]), 0, "edited");
        assert!(replaced(["tea 2.5.7", text], ["tea", text]) < 60, "added");
        let [a, b] = ["a", "b"].map(|word| format!("tea 2.5.7{word} has {}", text.repeat(4)));
        assert_eq!(replaced(["", &a], ["", &b]), 0, "a paragraph");
    }

    #[test]
    fn a_name_that_is_replaced_throughout_is_a_replaced_topic() {
        let text = "Lintharbour has a ferry. To reach Lintharbour by road, cross the dam of Lintharbour.";
        let other = text.replace("Lintharbour", "Gullmouth");
        assert!(replaced(["", text], ["", &other]) >= 100);
        assert!(replaced(["", text], ["", &text.replacen("Lintharbour", "Gullmouth", 1)]) < 60, "edited");
    }
}
