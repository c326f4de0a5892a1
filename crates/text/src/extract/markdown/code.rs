//! Code spans and fenced code blocks, and the programming language that a class or another attribute names.

use crate::extract::markdown::Page;
use crate::extract::parse::structure::{SpanKind, Structure};
use crate::extract::parse::text;
use crate::extract::parse::tree::Block;

/// Maximum length of a language's name in bytes.
const LANGUAGE_BYTES_MAX: usize = 30;

/// Beginnings of class names after which a language follows.
#[rustfmt::skip]
const PREFIXES: [&str; 9] = [
    "language-", "lang-", "lang:", "highlight-source-", "highlight-text-", "highlight-", "brush:",
    "sourcecode-", "src-",
];

/// Languages that highlighters write as a whole class of `code` or `pre` (`hljs rust`, `code literal-block python`).
/// Words that often mean something else in a class, such as `text`, are not among them.
#[rustfmt::skip]
const LANGUAGES: [&str; 62] = [
    "bash", "bat", "c", "c#", "c++", "clojure", "cmake", "cpp", "cs", "csharp", "css", "dart", "delphi",
    "diff", "docker", "dockerfile", "elixir", "elm", "erlang", "fsharp", "go", "golang", "graphql",
    "groovy", "haskell", "html", "ini", "java", "javascript", "js", "json", "jsx", "julia", "kotlin",
    "latex", "less", "lisp", "lua", "makefile", "matlab", "nginx", "objectivec", "ocaml", "perl", "php",
    "powershell", "python", "r", "ruby", "rust", "scala", "scss", "sh", "shell", "sql", "swift", "toml",
    "ts", "tsx", "typescript", "xml", "yaml",
];

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

/// Returns the text of a preformatted block without the numbers of its lines.
pub(super) fn text(page: &Page<'_>, block: &Block) -> String {
    let Structure { spans, .. } = &page.tree.structure;
    let mut text = String::with_capacity(block.counts.bytes as usize + 8);
    let mut push = |from: u32, to: u32| {
        text::push_segments(page.html, &page.tree.segments[from as usize..to as usize], &mut text);
    };
    let mut at = block.first_segment;
    let first = spans.partition_point(|span| span.first < at);
    let spans = spans[first..].iter().take_while(|span| span.first < block.end_segment);
    for number in spans.filter(|span| span.kind == SpanKind::LineNumber) {
        push(at, number.first.max(at));
        at = number.end.clamp(at, block.end_segment);
    }
    push(at, block.end_segment);
    text::trim_lines(&text)
}

/// Returns the programming language that the value of a `class` attribute names.
pub(super) fn language(class: &str) -> Option<String> {
    let class = class.to_ascii_lowercase().replace(": ", ":");
    // rustdoc's examples are `language-rust,no_run`.
    let words: Vec<&str> = class.split([' ', '\t', '\n', ';', ',']).filter(|word| !word.is_empty()).collect();
    let named = PREFIXES.iter().find_map(|prefix| {
        let names = words.iter().filter_map(|word| word.strip_prefix(prefix));
        // Lines to mark and titles follow without a space, as in `language-js{1,3}` and `language-js:title=a.js`.
        names.filter_map(|name| name.split(['{', ':']).next()).find(|name| is_language(name))
    });
    // Pandoc writes `sourceCode python`, and Hexo `highlight python`.
    let after = words.iter().position(|word| *word == "sourcecode");
    let after = after.or((words.len() == 2 && words[0] == "highlight").then_some(0));
    let after = after.and_then(|at| words.get(at + 1).copied().filter(|name| is_language(name)));
    // GitHub writes `blob-wrapper data type-python`.
    let kind =
        || words.iter().filter_map(|word| word.strip_prefix("type-")).find(|name| LANGUAGES.contains(name));
    named.or(after).or_else(kind).map(str::to_owned)
}

/// Returns the first word of an attribute of `code` or `pre` that is a well-known language.
pub(super) fn well_known(value: &str) -> Option<String> {
    let value = value.to_ascii_lowercase();
    value.split_ascii_whitespace().find(|word| LANGUAGES.contains(word)).map(str::to_owned)
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
            ("language-js{1,3}", Some("js")),
            ("language-js:title=a.js", Some("js")),
            ("language-js{numberLines:true}", Some("js")),
            ("highlight wide python", None),
            ("language-none", None),
            ("language-rust,no_run", Some("rust")),
            ("language-{.rust,ignore}", None),
            ("highlight", None),
            ("blob-wrapper data type-python", Some("python")),
            ("type-post", None),
            ("lang-", None),
            ("language-`x`", None),
            ("crayon-plain lang:swift decode:true", Some("swift")),
            ("src src-lisp", Some("lisp")),
        ] {
            assert_eq!(language(class).as_deref(), expected, "{class}");
        }
    }
}
