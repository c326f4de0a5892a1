//! Whether a page is part of an article that is spread over several pages: `tea.html`,
//! `tea_2.html`, `tea_3.html`.
//!
//! All of this has to be so, since each alone is said of other pages too:
//! * The page has a text of its own (`text.rs`): pages of lists and threads are numbered in the same
//!   way, and there are more of them.
//! * It links to a page of the same url but for the page number ([`page_number`]), by `rel=next` or
//!   `rel=prev`, or by what pagers say: a number, "next page", `下一页`. Where the number may as well
//!   be part of a name (`tea-2.html`, the second post called tea), words for "next" alone do not do:
//!   a site's next article is announced by them too.
//! * Its title, but for the page number, is that of the other page: chapters have titles of their
//!   own. As the other page is not at hand, the title becomes part of the article's name, and who
//!   compares two pages compares both names.
//!
//! In: the page, its url, title and kind. Out: a text that is the same for all pages of the
//! article; none for other pages. Cost: a search for `href`, and at most [`LINKS_MAX`] urls.

mod links;
mod text;
mod title;

use memchr::memmem::Finder;
use url::Url;

use super::Document;
use crate::page::page_number::{self, Reading};
use links::{Label, Link};
pub(super) use text::has_text;

/// Links that are read of a page, of those that may lead to a page of its article.
const LINKS_MAX: usize = 64;
/// Bytes of a link that may name a page by its number alone: `2/`, `./page/2`.
const SHORT_BYTES: usize = 12;
/// Bytes at least of what links are looked for by.
const NAME_BYTES_MIN: usize = 3;

/// Parts of urls of lists and threads, which are spread over pages more often than articles are.
const LISTS: [&str; 18] = [
    "archive",
    "archives",
    "author",
    "bbs",
    "categories",
    "category",
    "forum",
    "forums",
    "search",
    "showthread.php",
    "tag",
    "tags",
    "thread",
    "threads",
    "topic",
    "topics",
    "viewthread.php",
    "viewtopic.php",
];

/// The name of the article that the page at `url` is a part of, if it [has a text](has_text) of its own.
pub(super) fn article(html: &str, url: &str, document: &Document) -> Option<String> {
    let title = document.title.as_deref()?;
    let url = Url::parse(url).ok()?;
    let mut parts = url.host_str().unwrap_or_default().split('.').chain(url.path().split('/'));
    if parts.any(|part| LISTS.iter().any(|list| part.eq_ignore_ascii_case(list))) {
        return None;
    }
    let own = page_number::readings(&url);
    let names: Vec<Finder<'_>> = own.iter().map(|reading| Finder::new(name(reading))).collect();
    let may_lead_there = |link: &Link<'_>| {
        let href = link.href.as_bytes();
        let is_short = href.starts_with(b"?") || href.len() <= SHORT_BYTES;
        (is_short && href.iter().any(u8::is_ascii_digit))
            || names.iter().any(|name| name.find(href).is_some())
    };
    let mut links = links::of(html).filter(may_lead_there).take(LINKS_MAX);
    let page = links.find_map(|link| of_one_article(&own, &url, &link))?;
    let title = title::without_number(title, page.number)?;
    Some(format!("{}\n{title}", page.article))
}

/// The reading of a page's own url by which `link` leads to another page of its article.
fn of_one_article<'a>(own: &'a [Reading], url: &Url, link: &Link<'_>) -> Option<&'a Reading> {
    let others = page_number::readings(&url.join(&link.href()).ok()?);
    let pairs = own.iter().flat_map(|own| others.iter().map(move |other| (own, other)));
    let mut of_one = pairs.filter(|(own, other)| own.article == other.article && own.number != other.number);
    let announced = of_one.find(|(own, other)| match link.label() {
        // Where the first page has no number, some count from there, so that page 2 has the number 1.
        Label::Number(number) => number == other.number || number == other.number + 1,
        Label::Page => true,
        Label::Next => own.certain && other.certain,
        Label::Other => false,
    });
    announced.map(|(own, _)| own)
}

/// What links to pages of this article hold: the last part of its path without ending, or so many
/// parts that these are no few characters that any link may hold.
fn name(reading: &Reading) -> &str {
    let path = reading.article.split('?').next().unwrap_or_default();
    let start =
        path.rmatch_indices('/').map(|(at, _)| at + 1).find(|start| path.len() - start >= NAME_BYTES_MIN);
    let name = &path[start.unwrap_or(0)..];
    match name.rfind('.') {
        Some(dot) if dot >= NAME_BYTES_MIN => &name[..dot],
        _ => name,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The article of a page of some text with this title and markup.
    fn of(url: &str, title: &str, markup: &str) -> Option<String> {
        let html = format!("<title>{title}</title><p>text</p>{markup}");
        let document = Document { title: Some(title.into()), ..Document::default() };
        article(&html, url, &document)
    }

    #[test]
    fn pages_of_one_article_have_one_name() {
        let pager = "<a href='tea.html'>1</a> <a href='tea_2.html'>2</a> <a href=tea_3.html>[3]</a>";
        let first = of("https://a.example/x/tea.html", "Tea", pager);
        assert_eq!(first.as_deref(), Some("a.example/x/tea.html\ntea"));
        for (number, title) in [(2, "Tea (2)"), (3, "Tea - Page 3 of 3")] {
            let url = format!("http://a.example/x/tea_{number}.html#top");
            assert_eq!(of(&url, title, pager), first, "{title}");
        }
        assert_ne!(of("https://a.example/y/tea_2.html", "Tea", pager), first, "another folder");
        assert_ne!(of("https://b.example/x/tea_2.html", "Tea", pager), first, "another site");
        assert_ne!(of("https://a.example/x/tea_2.html", "Coffee", pager), first, "another title");
    }

    #[test]
    fn pagers_are_known_in_many_forms() {
        for (url, markup) in [
            ("https://a.example/tea", r#"<link rel="next" href="https://a.example/tea?page=2">"#),
            ("https://a.example/tea?page=3", r#"<a class="p" rel="prev" href="?page=2">&laquo;</a>"#),
            ("https://a.example/show.php?id=7", r#"<a href="show.php?id=7&amp;page=2">Next</a>"#),
            ("https://a.example/tea/2/", r#"<a href="/tea/"><span>1</span></a>"#),
            ("https://a.example/tea/2/", r#"<a href="../3/">3</a>"#),
            ("https://a.example/t71.shtml", r#"<A HREF="t71_1.shtml">2</A>"#),
            ("https://a.example/t71_2.html", r#"<a href="t71.html">上一页</a>"#),
            ("https://a.example/tea-2.html", r#"<a href="tea-3.html">Nächste Seite</a>"#),
            ("https://a.example/tea_2.html", r#"<a href="tea_3.html">Next</a>"#),
            ("https://a.example/tea/3/", r#"<a href='/news3'>3</a> <a href='/tea/2/'>2</a>"#),
        ] {
            assert!(of(url, "Tea", markup).is_some(), "{url} {markup}");
        }
    }

    #[test]
    fn other_neighbours_are_no_pages_of_the_article() {
        for (url, markup) in [
            ("https://a.example/tea-2", r#"<a rel="prev" href="/tea">Tea</a> <a href="/tea-3">Next</a>"#),
            ("https://a.example/tea.html", r#"<a href="tea_2.html">More about tea</a>"#),
            ("https://a.example/tea.html", r#"<a rel="next" href="coffee.html">2</a>"#),
            ("https://a.example/tea", r##"<a href="/tea">1</a> <a href="#2">2</a>"##),
            ("https://a.example/2026-11-23.html", r#"<a href="2026-11-22.html">22</a>"#),
            ("https://a.example/", r#"<a href="/page/2">2</a>"#),
            ("https://a.example/tea", r#"<a href="https://b.example/tea?page=2">2</a>"#),
            ("https://a.example/tea", ""),
            ("https://a.example/category/tea", r#"<a href="?page=2">2</a>"#),
            ("https://bbs.a.example/viewtopic.php?id=7", r#"<a href="viewtopic.php?id=7&page=2">2</a>"#),
        ] {
            assert_eq!(of(url, "Tea", markup), None, "{url} {markup}");
        }
    }

    proptest::proptest! {
        #[test]
        fn no_page_panics(html in "(<a |href=|rel=next|['\"=>/?2]|tea|é|</a>|page|第|页){0,30}", title in "(page|第|页|[ 12/]|é|of){0,9}") {
            for url in ["https://a.example/tea", "https://a.example/tea/2", "https://a.example/é?page=2"] {
                let found = of(url, &title, &html);
                proptest::prop_assert!(found.is_none_or(|article| article.contains("a.example/")));
            }
        }
    }
}
