//! Articles in several pages: each page is reported as a part of the same article, and stays the original of
//! its own text.

use leitong::{Config, Deduplicator, Kind, Page, Verdict};
use leitong_fingerprint::relation::Relation;

use crate::common;

/// Returns a page of an article: its own text, a title, and links to all pages.
fn page(path: &str, title: &str, text: usize, pager: &[(&str, &str)]) -> Page {
    let links: String =
        pager.iter().map(|(href, label)| format!("<a href=\"{href}\">{label}</a> ")).collect();
    let text = common::article(text, 14);
    let html = format!(
        "<title>{title} - The Harbour Post</title><article><h1>{title}</h1><p>{text}</p></article><div class=\"pages\">{links}</div>"
    );
    Page::html(format!("https://a.example{path}"), html)
}

fn verdicts(pages: Vec<Page>) -> Vec<Verdict> {
    Deduplicator::new(&Config::default()).expect("defaults").decide_batch(pages).expect("in memory")
}

const PAGER: [(&str, &str); 3] = [("tea.html", "1"), ("tea_2.html", "2"), ("tea_3.html", "3")];

#[test]
fn pages_of_one_article_are_parts_of_it() {
    let verdicts = verdicts(vec![
        page("/x/tea.html", "The tea road", 1, &PAGER),
        page("/x/coffee.html", "The coffee road", 2, &[]),
        page("/x/tea_2.html", "The tea road (2)", 3, &PAGER),
        page("/x/tea_3.html", "The tea road (3)", 4, &PAGER),
    ]);
    assert!(verdicts.iter().all(|verdict| verdict.kind == Kind::Unique), "{verdicts:?}");
    let related: Vec<_> =
        verdicts.iter().map(|verdict| (verdict.relation, verdict.related_url.as_deref())).collect();
    let part = |url| (Some(Relation::Part), Some(url));
    let expected = [
        (None, None),
        (None, None),
        part("https://a.example/x/tea.html"),
        part("https://a.example/x/tea_2.html"),
    ];
    assert_eq!(related, expected);
    assert!(verdicts[2].share.is_some_and(|share| share.0 < 0.4), "{:?}", verdicts[2].share);
    let json = serde_json::to_value(&verdicts[2]).expect("a verdict is JSON");
    assert_eq!(json["relation"], "PART");
}

/// A copy is a duplicate, whatever its page says about other pages.
#[test]
fn a_page_of_an_article_that_is_a_copy_is_a_duplicate() {
    let verdicts = verdicts(vec![
        page("/x/tea.html", "The tea road", 1, &PAGER),
        page("/x/tea_2.html", "The tea road", 1, &PAGER),
    ]);
    assert_eq!(verdicts[1].kind, Kind::ExactDuplicate);
    assert_eq!(verdicts[1].relation, Some(Relation::Same));
}

#[test]
fn neighbours_with_their_own_titles_are_not_parts() {
    let verdicts = verdicts(vec![
        page("/book/chapter-1.html", "Leaves", 1, &[("chapter-2.html", "2")]),
        page("/book/chapter-2.html", "Water", 2, &[("chapter-1.html", "1")]),
        page("/links", "Weekly links", 3, &[("links-2", "Next")]),
        page("/links-2", "Weekly links", 4, &[("links", "Previous")]),
    ]);
    assert!(verdicts.iter().all(|verdict| verdict.related_url.is_none()), "{verdicts:?}");
}
