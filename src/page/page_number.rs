//! Url → what it would be without a page number: `…/tea_2.html` is page 2 of `…/tea.html`.
//!
//! Sites spread an article over pages whose urls differ in a number at one of a few places: behind
//! the name (`tea_2.html`, `tea-p2.html`), as a folder (`/tea/2/`, `/tea/page/2`), or as a parameter
//! (`?page=2`). The same shapes are given to other things: chapters, days, the second post of one
//! name. So a url alone says nothing: whoever asks looks for two pages of one [`Reading`] that link
//! to one another (`extract/paged.rs`).
//!
//! In: a parsed url. Out: all ways to read it, the first of which takes it for a first page. Cost:
//! linear in the url's length.

use url::Url;

/// The greatest page number; what is greater is a year or an id.
const NUMBER_MAX: u32 = 99;
/// Parameters that hold a page number.
const PARAMETERS: [&str; 12] = [
    "page",
    "p",
    "pg",
    "pn",
    "paged",
    "pageno",
    "page_no",
    "pagenum",
    "pagenumber",
    "pageindex",
    "currentpage",
    "curpage",
];
/// Words before a number that say that it is a page's.
const WORDS: [&str; 6] = ["page", "pg", "p", "seite", "pagina", "strona"];
/// Letters at most of the ending of a file's name.
const ENDING_CHARS_MAX: usize = 5;

/// One way to read a url.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Reading {
    /// The url of the first page without scheme and fragment; the same for all pages.
    pub article: String,
    /// 0 where the url has none.
    pub number: u32,
    /// Hardly anything but a page is numbered like this; behind a name and a hyphen the number may be
    /// part of the name.
    pub certain: bool,
}

/// All ways to read a url; none of one that has no host.
#[must_use]
pub fn readings(url: &Url) -> Vec<Reading> {
    let host = url.host_str().unwrap_or_default().trim_end_matches('.').to_lowercase();
    if host.is_empty() {
        return Vec::new();
    }
    let path = url.path().trim_end_matches('/');
    let query = url.query().unwrap_or_default();
    let reading = |path: &str, query: &str, number: u32, certain: bool| {
        let mark = if query.is_empty() { "" } else { "?" };
        Reading { article: format!("{host}{path}{mark}{query}"), number, certain }
    };
    let mut found = vec![reading(path, query, 0, true)];
    if let Some((rest, number)) = without_parameter(query) {
        found.push(reading(path, &rest, number, true));
    }
    if let Some((path, number, certain)) = without_number(path) {
        found.push(reading(&path, query, number, certain));
    }
    // Below the root stands what the whole site has.
    found.retain(|reading| reading.article.len() > host.len());
    found
}

/// A query without its page number.
fn without_parameter(query: &str) -> Option<(String, u32)> {
    let number_of = |parameter: &str| {
        let (name, value) = parameter.split_once('=')?;
        let is_page = PARAMETERS.iter().any(|known| name.eq_ignore_ascii_case(known));
        if is_page { number(value) } else { None }
    };
    let number = query.split('&').find_map(number_of)?;
    let rest: Vec<&str> = query.split('&').filter(|parameter| number_of(parameter).is_none()).collect();
    Some((rest.join("&"), number))
}

/// A path without the page number of its last part, and whether that is one for certain.
fn without_number(path: &str) -> Option<(String, u32, bool)> {
    let (folder, last) = path.rsplit_once('/')?;
    let (name, ending) = match last.rsplit_once('.') {
        Some((name, ending)) if is_ending(ending) => (name, &last[name.len()..]),
        _ => (last, ""),
    };
    let rest = name.trim_end_matches(|c: char| c.is_ascii_digit());
    let number = number(&name[rest.len()..])?;
    if rest.is_empty() {
        return (ending.is_empty() && !is_date(folder)).then(|| (without_word(folder), number, true));
    }
    let without = rest.trim_end_matches(['_', '-']);
    // `tea-page-2`, `tea_p2`, `page2`.
    if let Some(before) = without_ending_word(without) {
        let kept = before.trim_end_matches(['_', '-']);
        if kept.is_empty() {
            return Some((folder.to_owned(), number, true));
        }
        if kept.len() < before.len() {
            return Some((format!("{folder}/{kept}{ending}"), number, true));
        }
    }
    let is_parted = without.len() < rest.len() && !without.is_empty();
    let is_certain = rest.ends_with('_');
    (is_parted && !is_date(without)).then(|| (format!("{folder}/{without}{ending}"), number, is_certain))
}

/// A page number of one or two digits.
fn number(digits: &str) -> Option<u32> {
    let is_number = matches!(digits.len(), 1 | 2) && digits.bytes().all(|byte| byte.is_ascii_digit());
    digits.parse().ok().filter(|number| is_number && *number <= NUMBER_MAX)
}

fn is_ending(ending: &str) -> bool {
    (1..=ENDING_CHARS_MAX).contains(&ending.len())
        && ending.bytes().all(|byte| byte.is_ascii_alphanumeric())
        && ending.bytes().any(|byte| byte.is_ascii_alphabetic())
}

/// Whether what stands before a number ends with a year and a month, or with a year: then the
/// number is a day or a month.
fn is_date(before: &str) -> bool {
    let mut parts = before.rsplit(|c: char| !c.is_ascii_alphanumeric());
    let is_year = |part: Option<&str>| {
        part.is_some_and(|part| {
            part.len() == 4 && (part.starts_with("19") || part.starts_with("20")) && all_digits(part)
        })
    };
    let last = parts.next();
    is_year(last) || (last.is_some_and(|last| last.len() <= 2 && all_digits(last)) && is_year(parts.next()))
}

fn all_digits(part: &str) -> bool {
    part.bytes().all(|byte| byte.is_ascii_digit())
}

/// A folder without the word for a page at its end: `/tea/page`.
fn without_word(folder: &str) -> String {
    match folder.rsplit_once('/') {
        Some((before, last)) if WORDS.iter().any(|word| last.eq_ignore_ascii_case(word)) => before.to_owned(),
        _ => folder.to_owned(),
    }
}

/// What stands before the word for a page at the end of `name`.
fn without_ending_word(name: &str) -> Option<&str> {
    WORDS.iter().find_map(|word| {
        let before = name.len().checked_sub(word.len()).filter(|before| name.is_char_boundary(*before))?;
        name[before..].eq_ignore_ascii_case(word).then(|| &name[..before])
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(url: &str) -> Vec<(String, u32, bool)> {
        let found = readings(&Url::parse(url).expect("a url"));
        found.into_iter().map(|reading| (reading.article, reading.number, reading.certain)).collect()
    }

    #[test]
    fn page_numbers_are_read_where_sites_put_them() {
        for (url, article, number, certain) in [
            ("https://a.example/x/tea_2.html", "a.example/x/tea.html", 2, true),
            ("https://a.example/x/tea-12.shtml", "a.example/x/tea.shtml", 12, false),
            ("https://a.example/x/tea-p2.html", "a.example/x/tea.html", 2, true),
            ("https://a.example/x/tea-page-2", "a.example/x/tea", 2, true),
            ("https://a.example/x/tea/2/", "a.example/x/tea", 2, true),
            ("https://a.example/x/tea/page/2", "a.example/x/tea", 2, true),
            ("https://a.example/x/tea/page2", "a.example/x/tea", 2, true),
            ("https://a.example/tea?page=2", "a.example/tea", 2, true),
            ("https://a.example/show.php?id=71&Page=3&x=1", "a.example/show.php?id=71&x=1", 3, true),
            ("https://a.example/t20261123_52318_3.htm", "a.example/t20261123_52318.htm", 3, true),
        ] {
            let found = of(url);
            assert_eq!(found.len(), 2, "{url}: {found:?}");
            assert_eq!(found[1], (article.to_owned(), number, certain), "{url}");
            assert!(found[0].1 == 0 && url.trim_end_matches('/').ends_with(&found[0].0), "{url}: {found:?}");
        }
    }

    #[test]
    fn days_ids_and_versions_are_no_page_numbers() {
        for url in [
            "https://a.example/weather/2026-11-23.html",
            "https://a.example/weather/2026/11/23",
            "https://a.example/news/2026/11",
            "https://a.example/show-1234.html",
            "https://a.example/windows10.html",
            "https://a.example/tea?id=2",
            "https://a.example/tea?page=2026",
            "https://a.example/tea",
            "https://a.example/homepage2",
            "https://a.example/x/2.html",
        ] {
            assert_eq!(of(url).len(), 1, "{url}: {:?}", of(url));
        }
        for url in
            ["https://a.example/", "https://a.example/page/2", "https://a.example/?page=2", "urn:isbn:1"]
        {
            assert!(of(url).iter().all(|(article, _, _)| article != "a.example"), "{url}: {:?}", of(url));
        }
    }

    proptest::proptest! {
        #[test]
        fn no_url_panics(rest in "\\PC{0,30}", odd in "[%./?=&_page0-9-]{0,30}") {
            for url in [format!("http://a.b/{odd}{rest}"), format!("http://a.b/{rest}?{odd}"), format!("http://{odd}")] {
                if let Ok(url) = Url::parse(&url) {
                    let found = readings(&url);
                    proptest::prop_assert!(found.len() <= 3 && found.iter().all(|reading| reading.number <= NUMBER_MAX));
                }
            }
        }
    }
}
