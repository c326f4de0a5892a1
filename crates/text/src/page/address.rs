//! Compares the addresses of pages: the site of a url, and the name of the page on that site.
//!
//! Pages that are generated from one template are on one site under different names, such as the weather of each day,
//! or a help page for each function. A page that was moved, mirrored or fetched again keeps its name:
//! `…/translated/red-hat-prepares.md`, `…/published/red-hat-prepares.md`. If two pages have nearly the same text,
//! their addresses therefore show whether they may be two pages of one series. Documentation has a folder for each
//! version of a product, in which every page keeps its place: `…/en/3.2/faq/admin/`, `…/en/stable/faq/admin/`. The
//! last word of an address often names what the page is about: `…/sync/struct.AtomicU8.html`.
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
/// Minimum length, in bytes, of a last word that may be a page's subject.
const SUBJECT_BYTES_MIN: usize = 4;
/// Extensions of file names, which are not part of a page's subject.
const EXTENSIONS: [&str; 10] = ["html", "htm", "xhtml", "shtml", "md", "txt", "php", "asp", "aspx", "jsp"];
/// Beginnings of the names of Doxygen's pages.
const DOXYGEN_KINDS: [&str; 5] = ["class", "struct", "union", "namespace", "interface"];
/// The end of the name of a list of all members of a class, in Doxygen and in Qt's documentation.
const MEMBERS: &str = "-members";
/// The form of an underscore in the names of Doxygen's pages.
const DOXYGEN_UNDERSCORE: &str = "__";
/// The form of a point in the names of Doxygen's pages.
const DOXYGEN_POINT: &str = "_8";
/// The form of the two colons of C++ in the names of Doxygen's pages.
const DOXYGEN_COLONS: &str = "_1_1";
/// Minimum number of words, and of bytes, of what the names of a family have in common.
const FAMILY_WORDS: usize = 2;
const FAMILY_BYTES_MIN: usize = 9;
/// Minimum number of letters of the last word of a name of a family.
const MEMBER_LETTERS: usize = 2;
/// Folders that documentation has instead of a version's number.
const VERSION_WORDS: [&str; 12] = [
    "latest", "stable", "unstable", "current", "nightly", "next", "dev", "devel", "main", "master", "trunk",
    "head",
];
/// Names of releases of Debian and Ubuntu, which have folders of packages and manuals.
const RELEASE_NAMES: [&str; 24] = [
    "jessie", "stretch", "buster", "bullseye", "bookworm", "trixie", "forky", "duke", "sid", "trusty",
    "xenial", "bionic", "focal", "hirsute", "impish", "jammy", "kinetic", "lunar", "mantic", "noble",
    "oracular", "plucky", "questing", "resolute",
];
/// Folders of registries. Below them are the names of packages, of one or two segments.
const PACKAGES: [&str; 7] = ["package", "packages", "project", "crate", "crates", "gems", "artifact"];
/// Maximum number of folders from a package to the registry's folder.
const PACKAGE_SEGMENTS: usize = 2;
/// Folders of versions below a package.
const PACKAGE_VERSIONS: [&str; 2] = ["/v", "/versions"];
/// Folders of documentation. A short number directly below or above one of them is a version.
const DOCUMENTATION: [&str; 7] =
    ["docs", "doc", "documentation", "manual", "reference", "javadoc", "apidocs"];
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
    /// The part of the url that only addresses of the same page share. If the last path segment is long enough:
    /// this segment with the query, the language that a subdomain or folder names and, unless the segment is a title,
    /// its folder. Otherwise: the url without scheme, fragment and versions of folders.
    pub name: String,
    /// The last word of the path, without an extension, in lower case: `jsoup` of `/org/jsoup.html`, `atomicu8` of
    /// `/sync/struct.AtomicU8.html`. If the text is about it, it is the page's subject. Empty if there is no word of at
    /// least four letters and digits.
    pub subject: String,
    /// The last path segment without an extension and its last word: `libtea-green` of `/libtea-green-doc`. Pages of one
    /// family with other last words, such as two packages of a library, are about different things. Empty if there
    /// are not two words before the last one, or if it is not a word of letters.
    pub family: String,
    /// The last word of a name of a family: `doc`. Empty if there is no family.
    pub member: String,
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
        let path = without_package_version(url.path().trim_end_matches('/'));
        let last = path.rsplit('/').next().unwrap_or_default();
        let folders = &path[..path.len() - last.len()];
        let site = site(&host);
        let language = || language(&host[..host.len() - site.len()], folders);
        let name = match longest_part(without_extension(last)) >= NAME_CHARS_MIN {
            true if is_title(without_extension(last)) => format!("{}{last}{query}", language()),
            true => format!("{}{}/{last}{query}", language(), last_folder(folders)),
            false => format!("{host}{}{last}{query}", without_versions(folders)),
        };
        let (family, member) = family(last);
        Self { site: site.to_owned(), name, subject: subject(last), family, member, article: String::new() }
    }
}

/// Returns the path of a package in a registry without the version at its end: `/project/tea` of `/project/tea/1.4.2`,
/// `/package/@leaf/tea` of `/package/@leaf/tea/v/1.4.2`. Other paths are returned whole, such as `/releases/1.4.2`.
fn without_package_version(path: &str) -> &str {
    let Some((folders, last)) = path.rsplit_once('/') else { return path };
    if last.is_empty() || version_at(last) > 0 {
        return path;
    }
    let package = PACKAGE_VERSIONS.iter().find_map(|end| folders.strip_suffix(end)).unwrap_or(folders);
    match package.rsplit('/').skip(1).take(PACKAGE_SEGMENTS).any(|folder| PACKAGES.contains(&folder)) {
        true => package,
        false => path,
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

/// Returns true if a name has the words of a title: three that hyphens or spaces separate, or ideographs.
fn is_title(name: &str) -> bool {
    let words = name.split("%20").flat_map(|part| part.split(['-', '+'])).filter(|word| !word.is_empty());
    words.count() >= TITLE_WORDS || ideographs(name) > 0
}

/// Returns the last folder of a path without a version at its end. Empty if the folder has no letters or is a
/// version.
fn last_folder(folders: &str) -> &str {
    let last = folders.trim_end_matches('/').rsplit('/').next().unwrap_or_default();
    let is_named = last.bytes().any(|byte| byte.is_ascii_alphabetic());
    if is_named && !is_version_word(last) { &last[..version_at(last)] } else { "" }
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

/// Returns what the names of a family have in common, and the last word of this one, in lower case; both are empty if
/// the name has too few words.
fn family(last: &str) -> (String, String) {
    let joints = ['-', '_'];
    let name = without_members(without_extension(last));
    let Some((family, member)) = name.rsplit_once(joints) else { return Default::default() };
    let words = family.split(joints).filter(|word| !word.is_empty()).count();
    let is_word = member.len() >= MEMBER_LETTERS && member.bytes().all(|byte| byte.is_ascii_alphabetic());
    match is_word && words >= FAMILY_WORDS && family.len() >= FAMILY_BYTES_MIN {
        true => (family.to_ascii_lowercase(), member.to_ascii_lowercase()),
        false => Default::default(),
    }
}

/// Returns the name of a list of members without its end.
fn without_members(name: &str) -> &str {
    name.strip_suffix(MEMBERS).unwrap_or(name)
}

/// Returns the last part of a path segment that is long enough to be a subject, without an extension.
fn subject(last: &str) -> String {
    if let Some(entity) = doxygen_entity(without_extension(last)) {
        return entity;
    }
    let last = without_members(without_extension(last));
    let mut parts = last.rsplit('.').peekable();
    parts.next_if(|part| EXTENSIONS.contains(part));
    parts
        .map(|part| part.trim_matches(|c: char| !c.is_ascii_alphanumeric()))
        .find(|part| part.len() >= SUBJECT_BYTES_MIN && part.bytes().any(|byte| byte.is_ascii_alphabetic()))
        .unwrap_or_default()
        .to_ascii_lowercase()
}

/// Returns what a page of Doxygen is about, in lower case, from its name: `bintable` of `classCCfits_1_1BinTable`,
/// `ptp_event` of `structptp__event` and of `structptp__event-members`, `span.h` of `span_8h`.
fn doxygen_entity(name: &str) -> Option<String> {
    let (lists_members, name) = (name.ends_with(MEMBERS), without_members(name));
    let of_kind = DOXYGEN_KINDS.iter().find_map(|kind| name.strip_prefix(kind)).filter(|entity| {
        lists_members
            || entity.starts_with(|first: char| first.is_ascii_uppercase())
            || entity.contains(DOXYGEN_UNDERSCORE)
            || entity.contains(DOXYGEN_COLONS)
    });
    let is_file = || name.rsplit_once(DOXYGEN_POINT).is_some_and(|(_, kind)| (1..4).contains(&kind.len()));
    let entity = match of_kind {
        Some(entity) => entity.rsplit(DOXYGEN_COLONS).next().unwrap_or_default(),
        None => Some(name).filter(|_| is_file())?,
    };
    // Where names of files must not differ in case, an underscore marks a capital letter.
    let entity = entity.replace(DOXYGEN_POINT, ".");
    let entity: Vec<String> = entity.split(DOXYGEN_UNDERSCORE).map(|part| part.replace('_', "")).collect();
    let entity = entity.join("_").to_ascii_lowercase();
    (entity.len() >= SUBJECT_BYTES_MIN).then_some(entity)
}

/// Returns the folders of a path without their versions: `/en/3.2/` and `/en/stable/` become `/en/`, as of the current
/// version, which often has no folder; `/api-3.12.0/` becomes `/api-/`.
fn without_versions(folders: &str) -> String {
    let mut before = "";
    let mut below = folders.split('/').skip(1);
    let kept = folders.split('/').filter_map(|folder| {
        let beside = [before, below.next().unwrap_or_default()];
        let is_version = is_version_word(folder) || is_version_number(folder, beside);
        before = folder;
        let name = if is_version { "" } else { &folder[..version_at(folder)] };
        (!name.is_empty() || folder.is_empty()).then_some(name)
    });
    kept.collect::<Vec<_>>().join("/")
}

/// Returns true if a folder has a name that stands for a version: `/stable/`, `/trixie/`.
fn is_version_word(folder: &str) -> bool {
    VERSION_WORDS.contains(&folder) || RELEASE_NAMES.contains(&folder)
}

/// Returns true if a folder is a version without a point: `/v2/`, or the number in `/docs/16/` and `/21/docs/`.
fn is_version_number(folder: &str, beside: [&str; 2]) -> bool {
    let number = folder.strip_prefix('v').unwrap_or(folder);
    (1..YEAR_DIGITS).contains(&number.len())
        && number.bytes().all(|byte| byte.is_ascii_digit())
        && (number.len() < folder.len() || beside.iter().any(|other| DOCUMENTATION.contains(other)))
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
        assert!(is_one("2025/01/15/hello-generators", "2025/01/16/hello-generators"), "folders of dates");
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

    #[test]
    fn the_last_word_of_an_address_may_be_the_subject() {
        for (last, expected) in [
            ("struct.AtomicU8.html", "atomicu8"),
            ("Connection.Method.html", "method"),
            ("fn._block_dim_x", "block_dim_x"),
            ("printf.3.de", "printf"),
            ("classCCfits_1_1BinTable.html", "bintable"),
            ("structptp__event.html", "ptp_event"),
            ("classCCfits_1_1BinTable-members.html", "bintable"),
            ("span_8h.html", "span.h"),
            ("classroom.html", "classroom"),
            ("classwx_tree_list_ctrl-members.html", "wxtreelistctrl"),
            ("qtreeview-members.html", "qtreeview"),
            ("index.php", "index"),
            ("20260501", ""),
            ("faq.html", ""),
            ("html", ""),
        ] {
            assert_eq!(
                Address::from_url(&format!("https://a.example/sync/{last}?x=1")).subject,
                expected,
                "{last}"
            );
        }
    }

    /// Two packages of a library, or two pages of a guide, have one family and are about different things.
    #[test]
    fn names_that_differ_in_their_last_word_are_a_family() {
        let family = |last: &str| {
            let address = Address::from_url(&format!("https://a.example/x/{last}"));
            (address.family, address.member)
        };
        let of = |family: &str, member: &str| (family.to_owned(), member.to_owned());
        assert_eq!(family("libtea-green-doc"), of("libtea-green", "doc"));
        assert_eq!(family("Install_Green_Tea.html"), of("install_green", "tea"));
        assert_eq!(family("qml-teapot-lid-members.html"), of("qml-teapot", "lid"), "the members of a lid");
        for last in
            ["libtea-doc", "green-tea-2", "how-to-brew-green-tea-v2", "a-b-tea", "tea", "", "green-tea-"]
        {
            assert_eq!(family(last), of("", ""), "{last}");
        }
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
        assert!(is_one("https://a.example/docs/13/tea.html", "https://a.example/docs/current/tea.html"));
        assert!(is_one("https://a.example/api/v2/tea.html", "https://a.example/api/latest/tea.html"));
        // The version may also come before the folder of documentation, as in that of Java.
        assert!(is_one(
            "https://a.example/java/21/docs/api/Tea.html",
            "https://a.example/java/25/docs/api/Tea.html"
        ));
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

    /// A version is the last segment of a package's address. Versions of a package are nevertheless not pages of a
    /// series, and packages of one family are not copies of one another.
    #[test]
    fn versions_of_a_package_are_one_page_about_the_package() {
        let address = |path: &str| Address::from_url(&format!("https://a.example/{path}"));
        for (versions, subject) in [
            (["project/green-tea/1.4.2/", "project/green-tea/"], "green-tea"),
            (["package/@leaf/oolong/v/0.9.1", "package/@leaf/oolong/v/2.0.0-rc1"], "oolong"),
            (["gems/sencha/versions/1.4.2", "gems/sencha/versions/1.5.0"], "sencha"),
            (["artifact/org.leaf/sencha/v1.4", "artifact/org.leaf/sencha/1.5"], "sencha"),
        ] {
            let [a, b] = versions.map(address);
            assert_eq!((a.name, a.subject), (b.name, subject.into()), "{versions:?}");
        }
        assert_ne!(address("project/sencha/1.4.2").name, address("project/oolong/1.4.2").name);
    }

    #[test]
    fn a_page_keeps_its_name_in_the_folder_of_another_release() {
        let name = |path: &str| Address::from_url(&format!("https://a.example/{path}")).name;
        assert_eq!(name("bookworm/tea.1.html"), name("trixie/tea.1.html"));
        assert_eq!(name("manuals/jammy/tea.1.html"), name("manuals/noble/tea.1.html"));
        assert_ne!(name("weather/tea.1.html"), name("trixie/tea.1.html"));
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
