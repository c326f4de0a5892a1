//! Reads the word lists of walls, `meanings.txt` and `phrases.txt`.
//!
//! A line `[NAME]` begins a list. Each word after it ends with a vertical bar, so blanks at its end are part of it. Lines
//! that begin with `#` are comments.

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
