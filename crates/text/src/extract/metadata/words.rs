//! The words by which pages name authors, publishers and dates, in all languages (`words.txt`).

use std::sync::LazyLock;

use crate::extract::word_lists::Lists;

static LISTS: LazyLock<Lists> = LazyLock::new(|| Lists::read(include_str!("words.txt")));

/// The names of each month, the English one first.
pub(super) static MONTHS: LazyLock<Vec<&'static [&'static str]>> =
    LazyLock::new(|| (1..=12).map(|month| list(&format!("month {month}"))).collect());

/// Builds the tables, which are otherwise built on first use.
pub(super) fn build_tables() {
    LazyLock::force(&LISTS);
    LazyLock::force(&MONTHS);
}

/// Returns the words of a list.
pub(super) fn list(name: &str) -> &'static [&'static str] {
    LISTS.get(name)
}

/// Returns true if a list has `word`, whatever the case of its ASCII letters.
pub(super) fn has(name: &str, word: &str) -> bool {
    list(name).iter().any(|known| known.eq_ignore_ascii_case(word))
}

/// Returns true if `text` contains a word of a list.
pub(super) fn any_in(name: &str, text: &str) -> bool {
    list(name).iter().any(|word| text.contains(word))
}

/// Returns true if `text` ends with a word of a list.
pub(super) fn any_ends(name: &str, text: &str) -> bool {
    list(name).iter().any(|word| text.ends_with(word))
}

/// Returns true if `words` are all that comes before an author's name, in any of the languages.
pub(super) fn is_byline(words: &str) -> bool {
    let mut cues = LISTS.all("byline").map(|cue| cue.trim_end_matches(':'));
    cues.any(|cue| cue_length(words, cue) == Some(words.len()))
}

/// Returns the length of `cue` at the start of `line`, in any case. Before a colon there may be a space, as in French,
/// where it may be a narrow one.
pub(super) fn cue_length(line: &str, cue: &str) -> Option<usize> {
    let mut rest = line;
    for wanted in cue.chars() {
        let start = if wanted == ':' { rest.trim_start() } else { rest };
        let mut after = start.chars();
        let found = after.next()?;
        let is_same = match wanted {
            ':' => matches!(found, ':' | '：'),
            ' ' => found.is_whitespace(),
            _ => found.to_lowercase().eq([wanted]),
        };
        is_same.then_some(())?;
        rest = after.as_str();
    }
    Some(line.len() - rest.len())
}
