//! Finds page numbers in urls: `…/tea_2.html` is page 2 of `…/tea.html`.
//!
//! Sites split an article into pages whose urls differ in a number. The number is in one of a few places:
//! after the name (`tea_2.html`, `tea-p2.html`), as a folder (`/tea/2/`, `/tea/page/2`), or as a parameter
//! (`?page=2`). But other things are numbered in the same way: chapters, days, the second post with the same
//! name. So a url alone is not proof. The caller looks for two pages with the same [`Reading`] that link to
//! each other (`extract/page_kind/paged`).
//!
//! In: a parsed url. Out: all possible readings; the first one assumes that the url has no page number. Cost:
//! linear in the length of the url.

use url::Url;

/// The largest page number. Larger numbers are years or ids.
const NUMBER_MAX: u32 = 99;
/// Parameters whose value is a page number.
const PARAMETERS: &str = "page p pg pn paged pageno page_no pagenum pagenumber pageindex currentpage curpage";
/// Words in front of a page number.
const WORDS: [&str; 6] = ["page", "pg", "p", "seite", "pagina", "strona"];
/// Maximum length of a file name extension.
const ENDING_CHARS_MAX: usize = 5;

/// One interpretation of a url.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Reading {
    /// The url of the first page without scheme and fragment. It is the same for all pages of an article.
    pub article: String,
    /// The page number, or 0 if the url has none.
    pub number: u32,
    /// True if such a number is almost always a page number. After a name and a hyphen, the number may be
    /// part of the name.
    pub certain: bool,
}

/// Returns all readings of a url. Empty if the url has no host.
#[must_use]
pub(crate) fn readings(url: &Url) -> Vec<Reading> {
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
    // A reading without path and query would be shared by the whole site.
    found.retain(|reading| reading.article.len() > host.len());
    found
}

/// Removes the page number from a query.
fn without_parameter(query: &str) -> Option<(String, u32)> {
    let number_of = |parameter: &str| {
        let (name, value) = parameter.split_once('=')?;
        let is_page = PARAMETERS.split(' ').any(|known| name.eq_ignore_ascii_case(known));
        if is_page { number(value) } else { None }
    };
    let number = query.split('&').find_map(number_of)?;
    let rest: Vec<&str> = query.split('&').filter(|parameter| number_of(parameter).is_none()).collect();
    Some((rest.join("&"), number))
}

/// Removes the page number from the last segment of a path. The last value is true if it is certainly a page
/// number.
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
    let is_separated = without.len() < rest.len() && !without.is_empty();
    let is_certain = rest.ends_with('_');
    (is_separated && !is_date(without)).then(|| (format!("{folder}/{without}{ending}"), number, is_certain))
}

/// Parses a page number of one or two digits.
fn number(digits: &str) -> Option<u32> {
    let is_number = matches!(digits.len(), 1 | 2) && digits.bytes().all(|byte| byte.is_ascii_digit());
    digits.parse().ok().filter(|number| is_number && *number <= NUMBER_MAX)
}

fn is_ending(ending: &str) -> bool {
    (1..=ENDING_CHARS_MAX).contains(&ending.len())
        && ending.bytes().all(|byte| byte.is_ascii_alphanumeric())
        && ending.bytes().any(|byte| byte.is_ascii_alphabetic())
}

/// Returns true if the text in front of a number ends with a year, or with a year and a month: then the
/// number is a month or a day.
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

/// Removes a word for "page" from the end of a folder, as in `/tea/page`.
fn without_word(folder: &str) -> String {
    match folder.rsplit_once('/') {
        Some((before, last)) if WORDS.iter().any(|word| last.eq_ignore_ascii_case(word)) => before.to_owned(),
        _ => folder.to_owned(),
    }
}

/// Returns the part of `name` in front of a word for "page" at its end.
fn without_ending_word(name: &str) -> Option<&str> {
    WORDS.iter().find_map(|word| {
        let before = name.len().checked_sub(word.len()).filter(|before| name.is_char_boundary(*before))?;
        name[before..].eq_ignore_ascii_case(word).then(|| &name[..before])
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(url: &str) -> Vec<(String, u32, bool)> {
        let found = readings(&Url::parse(url).expect("a url"));
        found.into_iter().map(|reading| (reading.article, reading.number, reading.certain)).collect()
    }

    #[test]
    fn finds_page_numbers_in_the_usual_places() {
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
            let found = read(url);
            assert_eq!(found.len(), 2, "{url}: {found:?}");
            assert_eq!(found[1], (article.to_owned(), number, certain), "{url}");
            assert!(found[0].1 == 0 && url.trim_end_matches('/').ends_with(&found[0].0), "{url}: {found:?}");
        }
    }

    #[test]
    fn days_ids_and_versions_are_not_page_numbers() {
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
            assert_eq!(read(url).len(), 1, "{url}: {:?}", read(url));
        }
        for url in
            ["https://a.example/", "https://a.example/page/2", "https://a.example/?page=2", "urn:isbn:1"]
        {
            assert!(read(url).iter().all(|(article, _, _)| article != "a.example"), "{url}: {:?}", read(url));
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
