//! Common paragraphs such as licences, footers and disclaimers, which say nothing about the page they are on.
//!
//! A versioned list decides what is common, never the size of a bucket in the index: a verdict stays a
//! function of the log. The file has a line `# leitong boilerplate 1`, then one paragraph per line; further
//! lines that begin with `#` are comments. `leitong boilerplate` builds such a file from pages. The built-in
//! `boilerplate.txt` holds a few paragraphs that many sites have; a user's file replaces it. Paragraphs are
//! compared only by their letters and ideographs, in lower case: `阅读 (1,234)` equals `阅读（99）`.

use xxhash_rust::xxh3::xxh3_64;

use crate::resources::{ResourceError, shortened};
use leitong_base::hashed::HashedSet;

/// The first line of the file.
pub const HEADER: &str = "# leitong boilerplate 1";
const PREFIX_LETTERS: usize = 4;
const DEFAULT: &str = include_str!("boilerplate.txt");

/// A set of common paragraphs.
#[derive(Debug)]
pub(crate) struct Boilerplate {
    paragraphs: HashedSet,
    /// Hashes of the paragraphs' first [`PREFIX_LETTERS`] letters, which rule out most other paragraphs by
    /// their beginning.
    prefixes: HashedSet,
    /// XXH3-64 of the file's contents.
    contents: u64,
}

impl Boilerplate {
    /// Reads the set from the contents of `file`, or the built-in set if they are empty.
    ///
    /// # Errors
    /// [`ResourceError::WrongHeader`].
    pub(crate) fn new(file: &str) -> Result<Self, ResourceError> {
        let file = if file.is_empty() { DEFAULT } else { file };
        let first = file.lines().next().unwrap_or_default();
        if first != HEADER {
            let found = shortened(first);
            let setting = "paragraph.boilerplate_file";
            return Err(ResourceError::WrongHeader { setting, expected: HEADER, found });
        }
        let lines = || file.lines().filter(|line| !line.starts_with('#'));
        let paragraphs = lines().filter_map(letters_hash).collect();
        let prefixes = lines().filter_map(prefix_hash).collect();
        Ok(Self { paragraphs, prefixes, contents: xxh3_64(file.as_bytes()) })
    }

    /// Returns true if a paragraph is common.
    #[must_use]
    pub(crate) fn contains(&self, paragraph: &str) -> bool {
        prefix_hash(paragraph).is_some_and(|hash| self.prefixes.contains(&hash))
            && letters_hash(paragraph).is_some_and(|hash| self.paragraphs.contains(&hash))
    }

    /// Returns the hash of the file's contents, which is part of the fingerprint hash.
    #[must_use]
    pub(crate) fn contents(&self) -> u64 {
        self.contents
    }
}

/// Returns the hash of a paragraph's letters, or `None` if it has no letter. Paragraphs of the list and of
/// pages are normalised alike, except for the script: write lists in simplified script.
#[must_use]
pub fn letters_hash(paragraph: &str) -> Option<u64> {
    hash(letters(paragraph))
}

fn prefix_hash(paragraph: &str) -> Option<u64> {
    hash(letters(paragraph).take(PREFIX_LETTERS))
}

fn letters(paragraph: &str) -> impl Iterator<Item = char> {
    paragraph.chars().filter(|c| c.is_alphabetic()).flat_map(char::to_lowercase)
}

fn hash(letters: impl Iterator<Item = char>) -> Option<u64> {
    let letters: String = letters.collect();
    (!letters.is_empty()).then(|| xxh3_64(letters.as_bytes()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paragraphs_are_compared_by_their_letters() {
        let set =
            Boilerplate::new("# leitong boilerplate 1\n# footers\n阅读 (1,234)\nAll rights reserved.\n***\n")
                .expect("right");
        for common in ["阅读（99）", "all rights reserved", "ALL RIGHTS RESERVED! 2026"] {
            assert!(set.contains(common), "{common}");
        }
        for other in ["阅读全文", "# footers", "", "***", "1,234"] {
            assert!(!set.contains(other), "{other}");
        }
        let none = Boilerplate::new(HEADER).expect("right");
        assert!(!none.contains("阅读") && !none.contains("You must be logged in to post a comment."));
    }

    #[test]
    fn the_built_in_list_has_long_distinct_paragraphs() {
        let set = Boilerplate::new("").expect("right");
        assert!(set.contains("Your email address will not be published. Required fields are marked"));
        let lines: Vec<&str> = DEFAULT.lines().filter(|line| !line.starts_with('#')).collect();
        assert_eq!(set.paragraphs.len(), lines.len(), "each once");
        // Shorter paragraphs have no fingerprint, or occur in articles as well.
        for line in lines {
            assert!(line.chars().filter(|c| c.is_alphabetic()).count() >= 16, "{line}");
        }
    }

    #[test]
    fn a_file_without_its_header_is_refused() {
        let error = Boilerplate::new("阅读\n").expect_err("no header");
        assert!(error.to_string().contains("paragraph.boilerplate_file: line 1: \"阅读\""), "{error}");
    }
}
