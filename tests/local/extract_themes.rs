//! Themes: the text of a page is nearly the same whatever its classes and ids are called.

use std::fmt::Write as _;

use leitong_text::extract::{ExtractConfig, Extractor};

/// Words in names: at least one of each kind that counts against text, of each that counts for code, and some that
/// count for nothing.
const WORDS: [&str; 36] = [
    "LEFT",
    "no-right",
    "right",
    "sidebar",
    "nav",
    "header",
    "footer",
    "comment",
    "discussion",
    "reply",
    "related",
    "more",
    "share",
    "ad",
    "meta",
    "source",
    "sourceCode",
    "notice",
    "cookie",
    "cmp",
    "crumb",
    "pages",
    "form",
    "hidden",
    "user",
    "widget",
    "caption",
    "toc",
    "promo",
    "title",
    "list",
    "author",
    "tags",
    "legal",
    "product",
    "highlight",
];

/// The element that has the word in its class.
#[derive(Debug, Clone, Copy)]
enum Place {
    /// The element around the whole text.
    Text,
    /// Each part of the text.
    Parts,
    /// Each block of code.
    Code,
}

/// Returns a documentation page of our own, with `word` among its names.
fn page(word: &str, place: Place) -> String {
    let class = |wanted: fn(&Place) -> bool| match wanted(&place) && !word.is_empty() {
        true => format!(" class=\"{word}\""),
        false => String::new(),
    };
    let text = class(|place| matches!(place, Place::Text));
    let part = class(|place| matches!(place, Place::Parts));
    let code = class(|place| matches!(place, Place::Code));
    let mut parts = String::new();
    for (name, what) in
        [("union", "joins"), ("intersect", "keeps what is common to"), ("setdiff", "subtracts")]
    {
        let _ = write!(
            parts,
            "<div{part}><h2>{name}</h2><p>The function <code>{name}</code> {what} two tables. Rows count as equal if \
             all of their columns are, whatever their order, and rows that occur twice are given once. Tables with \
             other columns are refused with an error that names the first column they do not share.</p>\
             <p>Large tables are sorted on disk, so that memory stays below the limit that the session was started \
             with. A sort that fails leaves no files behind.</p></div><div{code}><pre{code}>"
        );
        for row in 0..25 {
            let _ = writeln!(parts, "first <- table(x = {row}, y = \"{name}\")  # row {row} of the example");
        }
        parts.push_str("</pre></div>");
    }
    let menu: String = (1..9).map(|at| format!("<li><a href=/r/{at}.html>Function {at}</a></li>")).collect();
    format!(
        "<html lang=en><head><title>Set operations - tables</title></head><body><ul>{menu}</ul>\
         <div{text}><h1>Set operations</h1>{parts}</div><p>Made with a generator, 2026</p></body></html>"
    )
}

/// No class may decide alone. Formerly, `sourceCode` decided whether 406 or 14,996 letters of a page of R's
/// documentation were kept, and `LEFT` and `no-right` removed nine tenths of the article of a page in Chinese.
#[test]
fn no_single_word_of_a_theme_decides() {
    let mut extractor = Extractor::new(&ExtractConfig::default());
    let mut length = |html: &str| extractor.extract(html).expect("within the limits").text().len();
    let plain = length(&page("", Place::Text));
    assert!(plain > 5_000, "{plain}");
    for word in WORDS {
        for place in [Place::Text, Place::Parts, Place::Code] {
            let kept = length(&page(word, place));
            assert!(kept * 10 >= plain * 9, "{word} on {place:?}: {kept} of {plain}");
        }
    }
}
