//! Compares the addresses of pages: the site of a url, and the name of the page on that site.
//!
//! Pages that are generated from one template are on one site under different names, such as the weather of each day,
//! or a help page for each function. A page that was moved, mirrored or fetched again keeps its name:
//! `…/translated/red-hat-prepares.md`, `…/published/red-hat-prepares.md`. If two pages have nearly the same text,
//! their addresses therefore show whether they may be two pages of one series. Documentation has a folder for each
//! version of a product, in which every page keeps its place: `…/en/3.2/faq/admin/`, `…/en/stable/faq/admin/`.
//!
//! In: a url as given. Out: strings to compare, empty if the url does not have that part. Cost: one parse.

use std::ops::RangeInclusive;

use url::Url;

/// Minimum length, in characters, of a last path segment that identifies a text: without its extension, and counting
/// only its longest part between points. Shorter segments (`index.html`, `main0101.html`, `42`) occur on every site or
/// in every folder.
const NAME_CHARS_MIN: usize = 16;
/// Number of characters that an ideograph in a path counts for: three ideographs make a name (a dish, a town), two do
/// not (a table of contents).
const IDEOGRAPH_CHARS: usize = 6;
/// Number of encoded bytes of an ideograph.
const IDEOGRAPH_BYTES: usize = 3;
/// Minimum number of words in the last path segment for it to be a title, which names the same text in any folder. A
/// shorter segment (`account_settings`, `VectorSpecies`) may name different things in different folders of a site.
const TITLE_WORDS: usize = 3;
/// Extensions of file names, which are not part of a name.
const EXTENSIONS: [&str; 10] = ["html", "htm", "xhtml", "shtml", "md", "txt", "php", "asp", "aspx", "jsp"];
/// Folders that documentation has instead of a version's number.
const VERSION_WORDS: [&str; 12] = [
    "latest", "stable", "unstable", "current", "nightly", "next", "dev", "devel", "main", "master", "trunk",
    "head",
];
/// Number of digits of a year, which is not taken for a version.
const YEAR_DIGITS: usize = 4;
/// Maximum length of a second label that belongs to a registry instead of an owner: `co.uk`, `com.cn`,
/// `org.br`.
const SECOND_LEVEL_CHARS_MAX: usize = 3;

/// The address of a page, in a form to compare.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash)]
pub struct Address {
    /// The part of the host that belongs to one owner, such as `example.com` in `news.example.com`.
    pub site: String,
    /// The part of the url that only addresses of the same page share. If the last path segment is a title: this
    /// segment with the query and the language that a subdomain or folder names. Otherwise: the url without scheme,
    /// fragment and versions of folders.
    pub name: String,
    /// The part of the url that is shared by all pages of an article that is split over several pages. Empty
    /// for other pages. It cannot be found from the url, only from the page's markup; see `extract/page_kind/paged`.
    pub article: String,
}

impl Address {
    /// Returns the address of a url. It is empty if the url has no host.
    #[must_use]
    pub fn from_url(url: &str) -> Self {
        let Ok(url) = Url::parse(url) else { return Self::default() };
        let host = url.host_str().unwrap_or_default().trim_end_matches('.').to_lowercase();
        if host.is_empty() {
            return Self::default();
        }
        let query = url.query().map(|query| format!("?{query}")).unwrap_or_default();
        let path = url.path().trim_end_matches('/');
        let last = path.rsplit('/').next().unwrap_or_default();
        let folders = &path[..path.len() - last.len()];
        let site = site(&host);
        let language = || language(&host[..host.len() - site.len()], folders);
        let name = match is_title(without_extension(last)) {
            true => format!("{}{last}{query}", language()),
            false => format!("{host}{}{last}{query}", without_versions(folders)),
        };
        Self { site: site.to_owned(), name, article: String::new() }
    }
}

/// Returns the last two labels of a host, or three if the last one is a country and the second to last is
/// short. An IP address is returned whole.
fn site(host: &str) -> &str {
    let is_address = host.starts_with('[') || host.bytes().all(|byte| byte == b'.' || byte.is_ascii_digit());
    if is_address {
        return host;
    }
    let mut labels = host.rsplit('.');
    let (last, second) = (labels.next().unwrap_or_default(), labels.next().unwrap_or_default());
    let kept = if last.len() == 2 && second.len() <= SECOND_LEVEL_CHARS_MAX { 3 } else { 2 };
    match host.rmatch_indices('.').nth(kept - 1) {
        Some((dot, _)) => &host[dot + 1..],
        None => host,
    }
}

/// Returns a path segment without the extension of a file.
fn without_extension(last: &str) -> &str {
    match last.rsplit_once('.') {
        Some((name, extension)) if EXTENSIONS.contains(&extension) => name,
        _ => last,
    }
}

/// Returns the length of the longest part of a name. `struct.ValuesMut` is a short name, and its module matters.
fn longest_part(name: &str) -> usize {
    name.split('.').map(chars).max().unwrap_or(0)
}

/// Returns true if a name is a title: long enough, and of three words that hyphens or spaces separate, or of
/// ideographs.
fn is_title(name: &str) -> bool {
    if longest_part(name) < NAME_CHARS_MIN {
        return false;
    }
    let words = name.split("%20").flat_map(|part| part.split(['-', '+'])).filter(|word| !word.is_empty());
    words.count() >= TITLE_WORDS || ideographs(name) > 0
}

/// Returns the subdomain or the folder that names a language, such as `de` or `zh_cn`, with a slash. It distinguishes
/// translations of one page, whose last segments are the same. Any two letters count, with or without a region or
/// script.
fn language(subdomains: &str, folders: &str) -> String {
    let is_language = |part: &&str| {
        let (language, region) = part.split_once(['-', '_']).unwrap_or((part, "any"));
        let letters = |part: &str, range: RangeInclusive<usize>| {
            range.contains(&part.len()) && part.bytes().all(|byte| byte.is_ascii_alphabetic())
        };
        letters(language, 2..=2) && letters(region, 2..=4)
    };
    let part = subdomains.split('.').chain(folders.split('/')).find(is_language);
    part.map(|part| format!("{}/", part.to_ascii_lowercase())).unwrap_or_default()
}

/// Returns the folders of a path without their versions: `/en/3.2/` and `/en/stable/` become `/en/`, as of the current
/// version, which often has no folder; `/api-3.12.0/` becomes `/api-/`.
fn without_versions(folders: &str) -> String {
    let kept = folders.split('/').filter_map(|folder| {
        let is_version = VERSION_WORDS.contains(&folder) || is_version_number(folder);
        let name = if is_version { "" } else { &folder[..version_at(folder)] };
        (!name.is_empty() || folder.is_empty()).then_some(name)
    });
    kept.collect::<Vec<_>>().join("/")
}

/// Returns true if a folder is a version without a point: `/v2/`.
fn is_version_number(folder: &str) -> bool {
    let number = folder.strip_prefix('v').unwrap_or_default();
    (1..YEAR_DIGITS).contains(&number.len()) && number.bytes().all(|byte| byte.is_ascii_digit())
}

/// Returns where the version in the name of a folder begins, or the length of the name if it has none. A version has
/// a point between its first two numbers, or an `x` for the second one (`10.x`). A first number of four digits is a
/// year.
fn version_at(folder: &str) -> usize {
    let bytes = folder.as_bytes();
    let is_digit = |at: usize| bytes.get(at).is_some_and(u8::is_ascii_digit);
    let is_any =
        |at: usize| bytes.get(at) == Some(&b'x') && !bytes.get(at + 1).is_some_and(u8::is_ascii_alphanumeric);
    let begin = (0..bytes.len()).find(|&begin| {
        // A number is counted only at its first digit: a url may have thousands of digits.
        let is_first = begin == 0 || !(is_digit(begin - 1) || bytes[begin - 1] == b'.');
        is_first && {
            let digits = bytes[begin..].iter().take_while(|byte| byte.is_ascii_digit()).count();
            let end = begin + digits;
            (1..YEAR_DIGITS).contains(&digits)
                && bytes.get(end) == Some(&b'.')
                && (is_digit(end + 1) || is_any(end + 1))
        }
    });
    match begin {
        Some(1) if bytes[0] == b'v' => 0,
        Some(begin) => begin,
        None => folder.len(),
    }
}

/// Returns the length of a path segment in characters. A percent-encoded byte (`%D0`) counts as one, and the three of
/// an ideograph (`%E7%B2%A5`) as [`IDEOGRAPH_CHARS`].
fn chars(part: &str) -> usize {
    let encoded = part.bytes().filter(|byte| *byte == b'%').count().min(part.len() / 3);
    part.len() - 2 * encoded + (IDEOGRAPH_CHARS - IDEOGRAPH_BYTES) * ideographs(part)
}

/// Returns the number of percent-encoded ideographs (`%E7%B2%A5`).
fn ideographs(part: &str) -> usize {
    let is_first = |bytes: &[u8]| bytes[0] == b'%' && bytes[1] == b'E' && (b'4'..=b'9').contains(&bytes[2]);
    part.as_bytes().windows(3).filter(|bytes| is_first(bytes)).count()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_site_is_the_part_of_the_host_that_belongs_to_one_owner() {
        for (url, expected) in [
            ("https://news.example.com/a", "example.com"),
            ("https://Example.COM./a", "example.com"),
            ("https://bj.58.com/", "58.com"),
            ("http://www.news.com.cn/", "news.com.cn"),
            ("http://com.cn/", "com.cn"),
            ("http://shop.example.co.uk", "example.co.uk"),
            ("http://a.verein.de", "verein.de"),
            ("http://localhost:8080/x", "localhost"),
            ("http://192.168.7.1/x", "192.168.7.1"),
            ("http://[2001:db8::1]/x", "[2001:db8::1]"),
            ("urn:isbn:1", ""),
            ("no url", ""),
            ("", ""),
        ] {
            assert_eq!(Address::from_url(url).site, expected, "{url}");
        }
    }

    #[test]
    fn a_moved_page_keeps_its_name() {
        let is_one = |a: &str, b: &str| Address::from_url(a).name == Address::from_url(b).name;
        assert!(is_one(
            "https://a.example/drafts/how-to-read-a-log.md",
            "http://b.example/published/how-to-read-a-log.md#top"
        ));
        assert!(is_one("http://a.example/7", "https://a.example/7/"), "the same page");
        assert!(is_one("https://a.example/", "https://a.example"));
        assert!(!is_one("https://a.example/writer/main0101.html", "https://a.example/calc/main0101.html"));
        assert!(!is_one("https://a.example/show.php?id=1", "https://a.example/show.php?id=2"));
        assert!(!is_one("https://a.example/", "https://b.example/"));
        // Items of two modules are two pages: `struct.` does not count in the length of a name.
        assert!(!is_one(
            "https://a.example/map/hop/struct.ValuesMut.html",
            "https://a.example/map/basic/struct.ValuesMut.html"
        ));
        // Summaries of two packages are two pages: the extension does not count in the length of a name.
        assert!(!is_one(
            "https://a.example/java/net/package-summary.html",
            "https://a.example/java/xml/package-summary.html"
        ));
        assert!(
            !is_one("https://a.example/x/%E7%9B%AE%E5%BD%95", "https://a.example/y/%E7%9B%AE%E5%BD%95"),
            "two characters of Chinese"
        );
        assert!(is_one("https://a.example/x/%E5%B0%8F%E7%82%92%E8%82%89", "https://a.example/meat/小炒肉"));
        assert!(!is_one("https://a.example/x/кошка", "https://a.example/y/кошка"), "five letters");
    }

    /// Two pages of a reference, on reading and on changing a thing, are not one: `data-sources/account_settings` and
    /// `resources/account_settings`.
    #[test]
    fn a_name_of_few_words_is_another_page_in_another_folder() {
        let is_one = |a: &str, b: &str| {
            let [a, b] = [a, b].map(|path| Address::from_url(&format!("https://a.example/{path}")).name);
            a == b
        };
        assert!(!is_one("data-sources/account_settings", "resources/account_settings"));
        assert!(!is_one("junit/ArgumentsAreDifferent.html", "opentest4j/ArgumentsAreDifferent.html"));
        assert!(is_one("3.1/resources/account_settings", "latest/resources/account_settings"));
        assert!(is_one("api-3.1/account_settings", "api-4.0/account_settings"));
        assert!(is_one("drafts/how-to-read-a-log", "published/how-to-read-a-log"), "a title");
        assert!(is_one("drafts/Love Your Many Bugs", "published/Love Your Many Bugs"));
    }

    /// Translations of a release's notes share its name, its code and its downloads, but are not one page.
    #[test]
    fn a_translation_in_the_folder_of_its_language_is_another_page() {
        let is_one = |a: &str, b: &str| Address::from_url(a).name == Address::from_url(b).name;
        let news = |folder: &str| format!("https://a.example/{folder}/news/ruby-3-0-0-rc1-released/");
        assert!(!is_one(&news("ko"), &news("de")) && !is_one(&news("zh-Hans"), &news("zh_tw")));
        assert!(is_one(&news("zh-TW"), &news("zh-tw")) && is_one(&news("drafts"), &news("c++")));
    }

    /// For versions of one page, a quarter of common text is enough. Translations on subdomains have that much in
    /// common, their examples of code, but are not versions of one page.
    #[test]
    fn a_translation_on_the_subdomain_of_its_language_is_another_page() {
        let name =
            |host: &str| Address::from_url(&format!("https://{host}/news/ruby-3-0-0-rc1-released/")).name;
        assert_ne!(name("ja.a.example"), name("en.a.example"));
        assert_ne!(name("zh-cn.a.example"), name("a.example"));
        assert_eq!(name("zh-cn.a.example"), name("zh-CN.b.example"), "a mirror");
        assert_eq!(name("www.a.example"), name("docs.a.example"));
        assert_eq!(name("it.example"), name("a.example"), "a site of two letters");
    }

    /// A page with a short name in the documentation of another version is the same page, not another page of a series.
    #[test]
    fn a_page_keeps_its_name_in_the_folder_of_another_version() {
        let is_one = |a: &str, b: &str| Address::from_url(a).name == Address::from_url(b).name;
        assert!(is_one(
            "https://docs.a.example/en/3.2/faq/admin/",
            "https://docs.a.example/en/4.2/faq/admin/"
        ));
        assert!(is_one("https://a.example/v1.10/tea.html", "https://a.example/2.0.1-rc1/tea.html"));
        assert!(is_one(
            "https://a.example/api-3.5/org/Tea.html",
            "https://a.example/api-3.12.0/org/Tea.html"
        ));
        assert!(is_one("https://a.example/api/v2/tea.html", "https://a.example/api/latest/tea.html"));
        // Half of the pages of two versions were missed, since the current version has no folder, or `10.x`.
        assert!(is_one("https://a.example/docs/10.x/tea", "https://a.example/docs/v9.x/tea"));
        assert!(is_one("https://a.example/docs/tea", "https://a.example/docs/10.x/tea"));
        for (a, b) in [
            ("https://a.example/docs/10.xml/tea", "https://a.example/docs/9.xml/tea"),
            ("https://a.example/2024/docs/tea", "https://a.example/docs/2024/tea"),
            ("https://a.example/latest", "https://a.example/stable"),
            ("https://a.example/releases/1.4.4/", "https://a.example/releases/1.4.5/"),
            ("https://a.example/project/1.4.4/", "https://a.example/project/1.4.5/"),
            ("https://a.example/project/tea/20260501", "https://a.example/project/tea/20260502"),
            ("https://a.example/weather/2024.05.01/bern", "https://a.example/weather/2024.05.02/bern"),
            ("https://a.example/3/tea", "https://a.example/4/tea"),
            ("https://a.example/3.2/tea", "https://b.example/3.2/tea"),
            ("https://a.example/3.2/tea", "https://a.example/4.2/coffee"),
        ] {
            assert!(!is_one(a, b), "{a} {b}");
        }
    }

    proptest::proptest! {
        #[test]
        fn no_url_panics(rest in "\\PC{0,40}", odd in "[%./?#:a]{0,30}") {
            for url in [rest.clone(), format!("http://{rest}"), format!("http://a.b/{odd}{rest}"), format!("http://{odd}")] {
                let Address { site, name, .. } = Address::from_url(&url);
                proptest::prop_assert_eq!(site.is_empty(), name.is_empty());
            }
        }
    }
}
