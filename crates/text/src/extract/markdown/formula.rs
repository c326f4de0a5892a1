//! Formulas as TeX source between dollars, and TeX between delimiters in the text of a page.
//!
//! Many pages have formulas as text, such as `\(x_1\)`, until a script shows them. They must not get escapes.

use std::ops::Range;

use memchr::memmem;

use crate::extract::markdown::inline::OBJECT;

/// Names of the scripts that show TeX between delimiters as formulas.
const SCRIPTS: [&[u8]; 3] = [b"MathJax", b"mathjax", b"katex"];

/// Maximum length of the name of an environment, with its braces.
const NAME_MAX: usize = 20;

/// TeX source between delimiters, as indices into the characters of a text.
#[derive(Debug)]
pub(super) struct Delimited {
    /// The formula with its delimiters.
    pub(super) range: Range<usize>,
    /// The TeX source.
    pub(super) source: Range<usize>,
    /// True if the formula has a line of its own.
    pub(super) has_own_line: bool,
}

/// Returns true if a page names a script that shows TeX between delimiters as formulas.
pub(super) fn has_delimiters(html: &str) -> bool {
    SCRIPTS.iter().any(|script| memmem::find(html.as_bytes(), script).is_some())
}

/// Returns the formulas between delimiters in a text, in order. Cost: linear, since a search that fails is not repeated.
pub(super) fn delimited(text: &[char]) -> Vec<Delimited> {
    let mut found: Vec<Delimited> = Vec::new();
    let mut missing: Vec<Vec<char>> = Vec::new();
    let mut at = 0;
    while at < text.len() {
        let Some((open, close)) = delimiters(&text[at..]).filter(|(_, close)| !missing.contains(close))
        else {
            // The character after a backslash is no delimiter.
            at += if text[at] == '\\' { 2 } else { 1 };
            continue;
        };
        let from = at + open;
        let Some(to) = text[from..].windows(close.len()).position(|end| end == close).map(|to| from + to)
        else {
            missing.push(close);
            continue;
        };
        let end = to + close.len();
        let mut source = if open == 0 { at..end } else { from..to };
        source.start = source.clone().find(|at| text[*at] != ' ').unwrap_or(source.end);
        source.end = source.clone().rfind(|at| text[*at] != ' ').map_or(source.start, |last| last + 1);
        // Amounts of money and prompts of a shell are no formulas.
        let is_text =
            close == ['$'] && (source != (from..to) || text.get(end).is_some_and(char::is_ascii_digit));
        if source.is_empty() || is_text || text[source.clone()].contains(&OBJECT) {
            at = from.max(at + 1);
            continue;
        }
        let has_own_line = !matches!(close[..], ['$'] | ['\\', ')']);
        found.push(Delimited { range: at..end, source, has_own_line });
        at = end;
    }
    found
}

/// Returns the length of the delimiter at the start of a text, 0 for an environment, and the one that ends the formula.
fn delimiters(text: &[char]) -> Option<(usize, Vec<char>)> {
    match text {
        ['\\', '(', ..] => Some((2, vec!['\\', ')'])),
        ['\\', '[', ..] => Some((2, vec!['\\', ']'])),
        ['$', '$', ..] => Some((2, vec!['$', '$'])),
        ['$', ..] => Some((1, vec!['$'])),
        ['\\', 'b', 'e', 'g', 'i', 'n', rest @ ..] => {
            let end = rest.iter().take(NAME_MAX).position(|c| *c == '}')?;
            rest.starts_with(&['{'])
                .then(|| (0, "\\end".chars().chain(rest[..=end].iter().copied()).collect()))
        }
        _ => None,
    }
}

/// Returns a formula with its TeX source, in which other characters of the same meaning stand for those that a reader of
/// Markdown might take for tags, links, code or the end of the formula.
pub(super) fn formula(source: &str, has_own_line: bool) -> String {
    let mark = if has_own_line { "$$" } else { "$" };
    let mut tex = mark.to_owned();
    let (mut before, mut is_escaped) = (' ', false);
    let mut chars = source.chars().peekable();
    while let Some(c) = chars.next() {
        let begins_tag = chars.peek().is_some_and(|next| next.is_ascii_alphabetic() || "/!?".contains(*next));
        match c {
            '<' if begins_tag => tex.push_str("\\lt "),
            '`' if is_escaped => tex.push_str("grave{}"),
            '`' => tex.push_str("\\lq "),
            '$' if !is_escaped => tex.push_str("\\$"),
            '(' | '[' if before == ']' => tex.extend(['{', '}', c]),
            '/' if before == ':' => tex.push_str("{}/"),
            '.' if before == 'w' => tex.push_str("{}."),
            '@' => tex.push_str("{}@{}"),
            c => tex.push(c),
        }
        (before, is_escaped) = (c, c == '\\' && !is_escaped);
    }
    if is_escaped {
        tex.push(' ');
    }
    tex + mark
}
