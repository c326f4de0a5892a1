//! Code spans and fenced code blocks, and the programming language that a class names.

/// Longest name of a language.
const LANGUAGE_BYTES_MAX: usize = 30;

/// Beginnings of class names after which a language follows.
const PREFIXES: [&str; 7] =
    ["language-", "lang-", "highlight-source-", "highlight-text-", "highlight-", "brush:", "sourcecode-"];

/// Words after these prefixes that are not languages.
const NOT_LANGUAGES: [&str; 9] =
    ["none", "default", "source", "notranslate", "wrapper", "container", "box", "auto", "wrap"];

/// Returns a code span. Its text is on one line.
pub(super) fn span(text: &str) -> String {
    let fence = "`".repeat(longest_run(text) + 1);
    let is_blank = text.chars().all(|c| c == ' ');
    let ends_in_space = text.starts_with(' ') && text.ends_with(' ');
    let touches = text.starts_with('`') || text.ends_with('`');
    let pad = if touches || (ends_in_space && !is_blank) { " " } else { "" };
    format!("{fence}{pad}{text}{pad}{fence}")
}

/// Returns the lines of a fenced code block.
pub(super) fn block(text: &str, language: Option<&str>) -> Vec<String> {
    let fence = "`".repeat(longest_run(text).max(2) + 1);
    let mut lines = vec![format!("{fence}{}", language.unwrap_or_default())];
    // A bare carriage return ends a line in Markdown.
    lines.extend(text.split(['\n', '\r']).map(|line| line.replace('\0', "")));
    lines.push(fence);
    lines
}

/// Returns the length of the longest run of backticks.
fn longest_run(text: &str) -> usize {
    text.split(|c| c != '`').map(str::len).max().unwrap_or(0)
}

/// Returns the programming language that the value of a `class` attribute names.
pub(super) fn language(class: &str) -> Option<String> {
    let class = class.to_ascii_lowercase().replace(": ", ":");
    let words: Vec<&str> = class.split([' ', '\t', '\n', ';']).filter(|word| !word.is_empty()).collect();
    let named = PREFIXES.iter().find_map(|prefix| {
        words.iter().filter_map(|word| word.strip_prefix(prefix)).find(|name| is_language(name))
    });
    // Pandoc writes `sourceCode python`, and Hexo `highlight python`.
    let after = words.iter().position(|word| *word == "sourcecode");
    let after = after.or((words.len() == 2 && words[0] == "highlight").then_some(0));
    let after = after.and_then(|at| words.get(at + 1).copied().filter(|name| is_language(name)));
    named.or(after).map(str::to_owned)
}

/// Returns the programming language that the value of a `data-language` attribute names.
pub(super) fn named(language: &str) -> Option<String> {
    Some(language.to_ascii_lowercase()).filter(|name| is_language(name))
}

fn is_language(name: &str) -> bool {
    let is_part = |c: char| c.is_ascii_alphanumeric() || matches!(c, '+' | '#' | '-' | '.' | '_');
    (1..=LANGUAGE_BYTES_MAX).contains(&name.len())
        && name.chars().all(is_part)
        && name.starts_with(|c: char| c.is_ascii_alphabetic())
        && !NOT_LANGUAGES.contains(&name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn classes_name_languages_in_the_usual_ways() {
        for (class, expected) in [
            ("language-rust", Some("rust")),
            ("hljs lang-C++ x", Some("c++")),
            ("highlight highlight-source-shell", Some("shell")),
            ("highlight-python notranslate", Some("python")),
            ("brush: js; gutter: false", Some("js")),
            ("sourceCode haskell", Some("haskell")),
            ("highlight python", Some("python")),
            ("highlight plaintext", Some("plaintext")),
            ("highlight wide python", None),
            ("language-none", None),
            ("highlight", None),
            ("lang-", None),
            ("language-`x`", None),
        ] {
            assert_eq!(language(class).as_deref(), expected, "{class}");
        }
    }
}
