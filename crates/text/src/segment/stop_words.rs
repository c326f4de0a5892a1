//! Words that carry no meaning of their own: lists by language, and the user's own.

use xxhash_rust::xxh3::xxh3_64;

use super::SegmentError;
use leitong_base::hashed::HashedSet;

/// A set of stop words, by the hash that terms have already.
pub(super) struct StopWords(HashedSet);

impl StopWords {
    /// Combines the lists of `languages` (ISO 639-1 codes) with the words of `own`, one per line. Blank lines and lines
    /// that begin with `#` are skipped.
    pub(super) fn new(
        languages: &[String],
        own: &str,
        normalize: impl Fn(&str) -> String,
    ) -> Result<Self, SegmentError> {
        let mut words = HashedSet::default();
        let mut add = |word: &str| words.insert(xxh3_64(normalize(word).as_bytes()));
        for language in languages {
            let list = stop_words::lookup(language).ok_or_else(|| SegmentError::UnknownLanguage {
                language: language.clone(),
                known: stop_words::available_languages().join(", "),
            })?;
            list.iter().for_each(|word| {
                add(word);
            });
        }
        for word in own.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with('#')) {
            add(word);
        }
        Ok(Self(words))
    }

    /// Returns true if the word with this XXH3-64 hash is a stop word.
    #[inline]
    pub(super) fn contains(&self, hash: u64) -> bool {
        self.0.contains(&hash)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn contains(words: &StopWords, word: &str) -> bool {
        words.contains(xxh3_64(word.as_bytes()))
    }

    #[test]
    fn takes_lists_and_the_users_own_words() {
        let languages = ["zh".to_owned(), "en".to_owned()];
        let words =
            StopWords::new(&languages, "# ours\n编辑\n\n Reprint \n", str::to_lowercase).expect("lists");
        for word in ["的", "the", "doesn't", "编辑", "reprint"] {
            assert!(contains(&words, word), "{word}");
        }
        for word in ["雷同", "duplicate", "# ours", ""] {
            assert!(!contains(&words, word), "{word}");
        }
    }

    #[test]
    fn an_unknown_language_is_an_error_that_names_the_known_ones() {
        let error = StopWords::new(&["klingon".to_owned()], "", str::to_owned).err().expect("no such list");
        let message = error.to_string();
        assert!(message.contains("\"klingon\"") && message.contains("zh"), "{message}");
    }
}
