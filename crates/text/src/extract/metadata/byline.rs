//! Finds the authors in bylines: lines that begin with a word such as `By`, in English or the page's language.
//!
//! In: lines around the main text. Out: distinct names. Cost: linear in the input.

use super::author::split;
use super::lines::{LinePlace, PageLine};
use super::words::{cue_length, list};

/// Returns the authors that a line names in the page's language: `Von Jane Doe`, `Texte : Jane Doe`.
fn byline_in(language: &str, line: &str) -> Vec<String> {
    for cue in list(&format!("byline {}", language.split('-').next().unwrap_or_default())) {
        let Some(length) = cue_length(line, cue) else { continue };
        let rest = &line[length..];
        let is_field = cue.ends_with(':');
        if !is_field && !rest.starts_with(char::is_whitespace) {
            continue;
        }
        let mut names = people_of_byline(rest.trim_start());
        // `Von Jana Doll, Hamburg`.
        if !is_field && names.first().is_some_and(|name| name.contains(' ')) {
            names.retain(|name| name.contains(' '));
        }
        if is_field || names.iter().all(|name| name.contains(' ')) {
            return names;
        }
    }
    Vec::new()
}

/// Returns the authors that a line in English or in the page's language names: `By Jane Doe`, or `By` with the name in
/// the next line.
pub(super) fn from_lines(lines: &[PageLine], language: Option<&str>) -> Vec<String> {
    let is_place = |line: &&PageLine| matches!(line.place, LinePlace::Top | LinePlace::First);
    let mut lines = lines.iter().filter(is_place).map(|line| line.text.trim()).peekable();
    while let Some(line) = lines.next() {
        let cue = list("byline").iter().find(|cue| {
            let is_cue = line.get(..cue.len()).is_some_and(|found| found.eq_ignore_ascii_case(cue));
            is_cue && !line[cue.len()..].starts_with(|c: char| c.is_alphanumeric() || matches!(c, '-' | '\''))
        });
        let Some(cue) = cue else {
            // `Posted on 3 May 2025 by Jane Doe`.
            let after = super::date::find_at(line).map_or("", |(.., end)| &line[end..]);
            let after = after.trim_start_matches([' ', ',', '|', '·', '•']);
            let named = after.strip_prefix("by ").or_else(|| after.strip_prefix("By "));
            if let Some(names) = named.map(people_of_byline).filter(|names| !names.is_empty()) {
                return names;
            }
            match language.map(|language| byline_in(language, line)).filter(|names| !names.is_empty()) {
                Some(names) => return names,
                None => continue,
            }
        };
        let rest = line[cue.len()..].trim_start_matches([':', ' ']);
        let value = if rest.is_empty() { lines.peek().copied().unwrap_or_default() } else { rest };
        let names = people_of_byline(value);
        if !names.is_empty() {
            return names;
        }
    }
    Vec::new()
}

/// Returns the people in the text after a byline's cue, up to a date or another field.
fn people_of_byline(value: &str) -> Vec<String> {
    if value.chars().count() > 100 {
        return Vec::new();
    }
    let end = super::date::find_at(value).map_or(value.len(), |(at, ..)| at);
    let mut value = value[..end].trim_end_matches([' ', ',', '|', '•', '·', '-', '–', '—']);
    // `Words: Jane Doe. Photographs: Ann Lee`, `Written by Jane Doe on` before a date.
    value = value.split(['|', '•', '·', '\n', '/', '—', '–']).next().unwrap_or_default();
    let ends = list("end of byline").iter().filter_map(|end| value.find(end));
    value = &value[..ends.min().unwrap_or(value.len())];
    for end in list("before date") {
        value = value.strip_suffix(end).filter(|name| name.contains(' ')).unwrap_or(value);
    }
    let is_name =
        |word: &str| word.starts_with(|c: char| c.is_uppercase()) || list("particle").contains(&word);
    let words = value.split_whitespace();
    let fits = (1..=10).contains(&words.clone().count()) && words.clone().all(is_name);
    if fits { split(value.trim()) } else { Vec::new() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bylines_are_lines_of_their_own() {
        let authors =
            |text: &str| from_lines(&[PageLine { text: text.to_owned(), place: LinePlace::Top }], None);
        assert_eq!(authors("By Jane Doe"), ["Jane Doe"]);
        assert_eq!(authors("By Jane Doe | May 3, 2025"), ["Jane Doe"]);
        assert_eq!(authors("By JANE DOE May 3, 2025, 8 a.m."), ["JANE DOE"]);
        assert_eq!(authors("By the time that she came, all was over"), [""; 0]);
        assert_eq!(authors("By Jane Doe, Harbour Correspondent"), ["Jane Doe"]);
        assert_eq!(authors("Written by Jane Doe on 3 May 2025"), ["Jane Doe"]);
        assert_eq!(authors("Words: Jane Doe. Photographs: Ann Lee"), ["Jane Doe"]);
        assert_eq!(authors("Posted on 3 May 2025 by Jane Doe"), ["Jane Doe"]);
        assert_eq!(authors("On 3 May 2025 by noon all was over"), [""; 0]);
    }

    /// Authors of pages in other languages than English and Chinese are found not only in markup.
    #[test]
    fn bylines_are_read_in_the_language_of_the_page() {
        let authors = |language, text: &str| {
            from_lines(&[PageLine { text: text.to_owned(), place: LinePlace::Top }], Some(language))
        };
        for (language, text, expected) in [
            ("de", "Von Jana Doll", &["Jana Doll"][..]),
            ("de-AT", "Ein Beitrag von Jana Doll und Karl Roth, 3. März 2025", &["Jana Doll", "Karl Roth"]),
            ("de", "Text: Jana Doll", &["Jana Doll"]),
            ("de", "Von Jana Doll, Hamburg", &["Jana Doll"]),
            ("de", "Von Hamburg", &[]),
            ("de", "Von Hand gemacht", &[]),
            ("de", "Vonjana Doll", &[]),
            ("fr", "Par Jeanne Dol", &["Jeanne Dol"]),
            ("fr", "Écrit par Jeanne Dol le 3 mai 2025", &["Jeanne Dol"]),
            ("fr", "Par ailleurs, le port reste fermé", &[]),
            ("it", "A cura di Gianna Dol", &["Gianna Dol"]),
            ("ru", "Автор: Жанна Доль", &["Жанна Доль"]),
            ("fr-CA", "Auteur\u{202f}: Jeanne Dol", &["Jeanne Dol"]),
            ("fr", "Texte\u{a0}: Jeanne Dol et Karl Roth", &["Jeanne Dol", "Karl Roth"]),
            ("de", "Autorin : Jana Doll", &["Jana Doll"]),
            ("sv", "Av Johanna Dal", &["Johanna Dal"]),
            ("sv", "Av Stockholm", &[]),
            ("vi", "Tác giả: Nguyễn Thị Đào", &["Nguyễn Thị Đào"]),
            ("id", "Penulis: Jaya Dol", &["Jaya Dol"]),
            ("en", "Von Jana Doll", &[]),
        ] {
            assert_eq!(authors(language, text), expected, "{text}");
        }
    }
}
