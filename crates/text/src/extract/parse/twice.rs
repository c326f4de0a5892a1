//! Decodes references to letters that were escaped twice: `caf&amp;eacute;` in a page, `caf&eacute;` in a text.
//!
//! In: a page, or a text without markup. Out: the same with these references written once, or decoded; `None` unless
//! many words contain them. Code stays as it is, and so do references to `<`, `>` and `&`, which would become markup.
//! Cost: linear; one search for a page without such references.

use memchr::{memchr, memmem};

use crate::extract::parse::entities;

/// Minimum number of references within words.
const LETTERS_MIN: usize = 5;
/// Maximum number of words for each of these references.
const WORDS_MAX: usize = 50;
/// Maximum length in bytes of a reference after its `&`.
const NAME_BYTES_MAX: usize = 33;
/// Elements whose text is code.
const CODE: [&str; 8] = ["pre", "code", "kbd", "samp", "tt", "textarea", "script", "style"];

/// A text whose references are decoded once more.
#[derive(Default)]
struct Once {
    out: String,
    /// Number of references to letters within words.
    letters: usize,
    words: usize,
}

impl Once {
    /// Appends `text`, in which `escaped` is what begins a reference and `written` what replaces it; `None` to replace
    /// the reference itself.
    fn push(&mut self, text: &str, escaped: &str, written: Option<&str>) {
        self.words += text.split_whitespace().count();
        let (mut rest, mut follows) = (text, false);
        while let Some(at) = memmem::find(rest.as_bytes(), escaped.as_bytes()) {
            self.out.push_str(&rest[..at]);
            follows = (follows && at == 0) || self.out.ends_with(char::is_alphabetic);
            rest = &rest[at + escaped.len()..];
            let end =
                rest.bytes().take(NAME_BYTES_MAX).position(|byte| byte == b';').map_or(0, |end| end + 1);
            let Some(characters) = characters(&rest[..end]) else {
                self.out.push_str(escaped);
                follows = false;
                continue;
            };
            let is_letter = characters.chars().all(char::is_alphabetic);
            let after = &rest[end..];
            let is_in_word = follows || after.starts_with(char::is_alphabetic) || after.starts_with(escaped);
            self.letters += usize::from(is_letter && is_in_word);
            match written {
                Some(written) => self.out.extend([written, &rest[..end]]),
                None => self.out.push_str(&characters),
            }
            (rest, follows) = (after, is_letter);
        }
        self.out.push_str(rest);
    }

    /// Returns the text if many words have such references.
    fn finish(self) -> Option<String> {
        (self.letters >= LETTERS_MIN && self.letters * WORDS_MAX >= self.words).then_some(self.out)
    }
}

/// Returns the characters of a reference without its `&`, unless they would be markup.
fn characters(name: &str) -> Option<String> {
    let reference = format!("&{name}");
    let characters = entities::decoded(&reference);
    (!name.is_empty() && characters != reference && !characters.contains(['<', '>', '&']))
        .then_some(characters)
}

/// Returns `html` with its references that are escaped twice escaped once.
pub(in crate::extract) fn in_source(html: &str) -> Option<String> {
    let is_reference = |at: &usize| {
        let name = &html.as_bytes()[at + "&amp;".len()..];
        let end =
            name.iter().take(NAME_BYTES_MAX).position(|byte| !byte.is_ascii_alphanumeric() && *byte != b'#');
        end.is_some_and(|end| end > 1 && name[end] == b';')
    };
    let references = memmem::find_iter(html.as_bytes(), b"&amp;").filter(is_reference);
    if references.take(LETTERS_MIN).count() < LETTERS_MIN {
        return None;
    }
    let mut once = Once { out: String::with_capacity(html.len()), ..Once::default() };
    let mut unclosed = Vec::new();
    let mut rest = html;
    while let Some(at) = memchr(b'<', rest.as_bytes()) {
        once.push(&rest[..at], "&amp;", Some("&"));
        let tag = &rest[at..];
        let name = tag[1..].split(|c: char| !c.is_ascii_alphanumeric()).next().unwrap_or_default();
        let code = CODE.iter().find(|code| name.eq_ignore_ascii_case(code) && !unclosed.contains(*code));
        let close = code.and_then(|code| {
            let found = memmem::find(tag.as_bytes(), format!("</{code}").as_bytes());
            unclosed.extend(found.is_none().then_some(*code));
            found
        });
        let end = close.or_else(|| memchr(b'>', tag.as_bytes()).map(|end| end + 1)).unwrap_or(tag.len());
        once.out.push_str(&tag[..end]);
        rest = &tag[end..];
    }
    once.push(rest, "&amp;", Some("&"));
    once.finish()
}

/// Returns `text`, which has no markup, with its references decoded. Lines between fences and words between backticks
/// are code.
pub(in crate::extract) fn in_text(text: &str) -> Option<String> {
    memchr(b'&', text.as_bytes())?;
    let mut once = Once::default();
    let mut is_code = false;
    for line in text.split_inclusive('\n') {
        let is_fence = line.trim_start().starts_with("```");
        is_code ^= is_fence;
        for (at, part) in line.split('`').enumerate() {
            once.out.push_str(if at > 0 { "`" } else { "" });
            match is_code || is_fence || at % 2 == 1 {
                true => once.out.push_str(part),
                false => once.push(part, "&", None),
            }
        }
    }
    once.finish()
}
