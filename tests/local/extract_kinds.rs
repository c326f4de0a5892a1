//! Extraction of pages of many kinds and languages that were not used to learn the weights. Each file of
//! `tests/data/kinds` ends with a comment that states what must stay, what must go, and the kind of the page.

use leitong_text::extract::{Document, ExtractConfig, PageKind, extract};

struct Page {
    name: String,
    expected: Vec<(String, String)>,
    document: Document,
}

fn pages() -> Vec<Page> {
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/kinds");
    let files = std::fs::read_dir(folder).expect("the pages are part of the sources");
    let mut paths: Vec<_> = files.map(|file| file.expect("a readable folder").path()).collect();
    paths.sort();
    paths
        .iter()
        .map(|path| {
            let html = std::fs::read_to_string(path).expect("a page is UTF-8");
            let (page, expected) =
                html.rsplit_once("<!-- kind:").expect("the expected values are at the end");
            let expected = format!("kind:{}", expected.trim_end().trim_end_matches("-->"));
            let expected = expected.lines().filter_map(|line| line.split_once(':'));
            Page {
                name: path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default(),
                expected: expected.map(|(what, value)| (what.to_owned(), value.trim().to_owned())).collect(),
                document: extract(page, &ExtractConfig::default()).expect("within the limits"),
            }
        })
        .collect()
}

#[test]
fn main_text_is_kept_and_boilerplate_dropped_on_every_kind_of_page() {
    let mut wrong = Vec::new();
    for page in pages() {
        let text = page.document.text();
        for (what, value) in &page.expected {
            let right = match what.as_str() {
                "keep" => text.contains(value),
                "drop" => !text.contains(value),
                "kind" => match value.as_str() {
                    "article" => page.document.kind == PageKind::Article,
                    "forum" => page.document.kind == PageKind::Forum,
                    "listing" => page.document.kind == PageKind::Listing,
                    _ => true,
                },
                _ => false,
            };
            if !right {
                wrong.push(format!("{}: {what} {value:?}; it is {:?}", page.name, page.document.kind));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn titles_do_not_contain_the_sites_name() {
    for page in pages().iter().filter(|page| page.name.starts_with("article")) {
        let title = page.document.title.as_deref().unwrap_or_default();
        assert!(!title.is_empty() && !title.contains(['|', '｜', '—']), "{}: {title:?}", page.name);
    }
    // The weblog's name, also a heading, was once taken for the page's title.
    let pages = pages();
    let page = pages.iter().find(|page| page.name == "blog-ja.html").expect("it is there");
    assert_eq!(page.document.title.as_deref(), Some("古い万年筆を分解して洗った"));
}
