//! Reads word lists, such as `metadata/words.txt`: what is said in each language is data.
//!
//! A line `[NAME]` begins a list. Each word after it ends with a vertical bar, so blanks at its end are part of it. Lines
//! that begin with `#` are comments.

use std::collections::HashMap;

use aho_corasick::{AhoCorasick, AhoCorasickKind};

/// An automaton that finds words, and what each of them stands for.
pub(super) type Automaton<T> = Option<(AhoCorasick, Vec<T>)>;

/// Builds the automaton of `words`, which finds them whatever the case of their ASCII letters.
pub(super) fn automaton<T>(
    kind: AhoCorasickKind,
    words: impl Iterator<Item = (&'static str, T)>,
) -> Automaton<T> {
    let (words, values): (Vec<&str>, Vec<T>) = words.unzip();
    let automaton = AhoCorasick::builder().ascii_case_insensitive(true).kind(Some(kind)).build(words);
    Some((automaton.ok()?, values))
}

/// The lists of a file by their names.
pub(super) struct Lists(HashMap<&'static str, Vec<&'static str>>);

impl Lists {
    /// Reads a file.
    pub(super) fn read(file: &'static str) -> Self {
        let mut lists: HashMap<_, Vec<_>> = HashMap::new();
        words(file).for_each(|(name, word)| lists.entry(name).or_default().push(word));
        Self(lists)
    }

    /// Returns the words of a list in their order; none if there is no such list.
    pub(super) fn get(&self, name: &str) -> &[&'static str] {
        self.0.get(name).map_or(&[], Vec::as_slice)
    }

    /// Returns all words of the lists whose names begin with `name`, in no order.
    pub(super) fn all(&self, name: &str) -> impl Iterator<Item = &'static str> {
        self.0.iter().filter(move |(known, _)| known.starts_with(name)).flat_map(|(_, words)| words).copied()
    }
}

/// Returns the words of all lists in their order, each after the name of its list.
pub(super) fn words(file: &'static str) -> impl Iterator<Item = (&'static str, &'static str)> {
    let mut name = "";
    file.lines().filter(|line| !line.starts_with('#')).flat_map(move |line| {
        let list = match line.strip_prefix('[').and_then(|line| line.strip_suffix(']')) {
            Some(next) => {
                name = next;
                ""
            }
            None => line,
        };
        let name = name;
        list.split('|').filter(|word| !word.is_empty()).map(move |word| (name, word))
    })
}

#[cfg(test)]
mod tests {
    #[test]
    fn lists_go_over_several_lines_and_blanks_are_part_of_a_word() {
        let file = "# a comment\n\n[PLACE]\ncountry|land |\nregion|\n[REFUSAL]\ncannot|\n";
        let words: Vec<_> = super::words(file).collect();
        assert_eq!(
            words,
            [("PLACE", "country"), ("PLACE", "land "), ("PLACE", "region"), ("REFUSAL", "cannot")]
        );
    }
}
