//! Recognises pages of an article that is spread over several pages: `tea.html`, `tea_2.html`, `tea_3.html`.
//!
//! All of these conditions must hold, since other pages meet each of them alone:
//! * The page has a text of its own (`text.rs`). Lists and threads are numbered in the same way, and there are more of
//!   them.
//! * It links to a page with the same URL except for the page number ([`page_number`]), by `rel=next` or `rel=prev`, or
//!   by a pager's label: a number, "next page", `下一页`. If the number may be part of a name (`tea-2.html`, the second
//!   post called tea), words for "next" alone are not enough, because links to a site's next article have them too.
//! * Its title, except for the page number, is that of the other page; chapters have titles of their own. As the other
//!   page is not available, the title becomes part of the article's name, and comparing two pages compares both names.
//!
//! In: the page, its URL, title and kind. Out: a text that is the same for all pages of the article; `None` for other
//! pages. Cost: a search for `href`, and at most [`LINKS_MAX`] URLs.

mod links;
mod text;
mod title;

use memchr::memmem::Finder;
use url::Url;

use crate::extract::document::Document;
use crate::page::page_number::{self, Reading};
use links::{Label, Link};
pub(in crate::extract) use text::has_text;

/// Maximum number of links that are examined, of those that may lead to a page of the article.
const LINKS_MAX: usize = 64;
/// Maximum length in bytes of a link that may consist of a page number alone: `2/`, `./page/2`.
const SHORT_BYTES: usize = 12;
/// Minimum length in bytes of a name by which links are searched.
const NAME_BYTES_MIN: usize = 3;

/// Parts of URLs of lists and threads, which are spread over pages more often than articles are.
#[rustfmt::skip]
const LISTS: [&str; 18] = [
    "archive", "archives", "author", "bbs", "categories", "category", "forum", "forums", "search",
    "showthread.php", "tag", "tags", "thread", "threads", "topic", "topics", "viewthread.php",
    "viewtopic.php",
];

/// Returns the name of the article that the page at `url` is a part of, if the page [has a text](has_text) of its own.
pub(in crate::extract) fn article(html: &str, url: &str, document: &Document) -> Option<String> {
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
    let mut links = links::find(html).filter(may_lead_there).take(LINKS_MAX);
    let page = links.find_map(|link| matching_reading(&own, &url, &link))?;
    let title = title::without_number(title, page.number)?;
    Some(format!("{}\n{title}", page.article))
}

/// Returns the reading of the page's own URL by which `link` leads to another page of its article.
fn matching_reading<'a>(own: &'a [Reading], url: &Url, link: &Link<'_>) -> Option<&'a Reading> {
    let others = page_number::readings(&url.join(&link.href()).ok()?);
    let pairs = own.iter().flat_map(|own| others.iter().map(move |other| (own, other)));
    let mut of_one = pairs.filter(|(own, other)| own.article == other.article && own.number != other.number);
    let announced = of_one.find(|(own, other)| match link.label() {
        // If the first page has no number, some sites count the pages after it from 1.
        Label::Number(number) => number == other.number || number == other.number + 1,
        Label::Page => true,
        Label::Next => own.certain && other.certain,
        Label::Other => false,
    });
    announced.map(|(own, _)| own)
}

/// Returns a text that all links to pages of this article contain: the last part of its path without extension, or as
/// many parts as it takes to be long enough not to occur in other links.
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

    /// Returns the name of the paged article that a page with this address, title and markup belongs to.
    fn article_of(url: &str, title: &str, markup: &str) -> Option<String> {
        let html = format!("<title>{title}</title><p>text</p>{markup}");
        let document = Document { title: Some(title.into()), ..Document::default() };
        article(&html, url, &document)
    }

    #[test]
    fn pages_of_one_article_have_one_name() {
        let pager = "<a href='tea.html'>1</a> <a href='tea_2.html'>2</a> <a href=tea_3.html>[3]</a>";
        let first = article_of("https://a.example/x/tea.html", "Tea", pager);
        assert_eq!(first.as_deref(), Some("a.example/x/tea.html\ntea"));
        for (number, title) in [(2, "Tea (2)"), (3, "Tea - Page 3 of 3")] {
            let url = format!("http://a.example/x/tea_{number}.html#top");
            assert_eq!(article_of(&url, title, pager), first, "{title}");
        }
        assert_ne!(article_of("https://a.example/y/tea_2.html", "Tea", pager), first, "another folder");
        assert_ne!(article_of("https://b.example/x/tea_2.html", "Tea", pager), first, "another site");
        assert_ne!(article_of("https://a.example/x/tea_2.html", "Coffee", pager), first, "another title");
    }

    #[test]
    fn pagers_are_recognised_in_many_forms() {
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
            assert!(article_of(url, "Tea", markup).is_some(), "{url} {markup}");
        }
    }

    #[test]
    fn other_neighbours_are_not_pages_of_the_article() {
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
            assert_eq!(article_of(url, "Tea", markup), None, "{url} {markup}");
        }
    }

    proptest::proptest! {
        #[test]
        fn no_page_panics(html in "(<a |href=|rel=next|['\"=>/?2]|tea|é|</a>|page|第|页){0,30}", title in "(page|第|页|[ 12/]|é|of){0,9}") {
            for url in ["https://a.example/tea", "https://a.example/tea/2", "https://a.example/é?page=2"] {
                let found = article_of(url, &title, &html);
                proptest::prop_assert!(found.is_none_or(|article| article.contains("a.example/")));
            }
        }
    }
}
