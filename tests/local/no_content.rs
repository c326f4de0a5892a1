//! Pages without content, which show a notice instead, are recognised; pages that only write about such
//! notices are not.
//!
//! The pages are in `tests/data/no_content`, all written for this test: `learned_from.txt` was visible while the
//! rules were written, `held_back.txt` was not, and `content.txt` holds short texts that must stay content.

use leitong_text::extract::{Document, ExtractConfig, Extractor, NoContent};
use serde_json::{Value, json};

use crate::common::wait::cpu_time;
use crate::common::{self, run, write};

struct Page {
    name: String,
    html: String,
}

impl Page {
    /// Returns the page as a line of a file of pages.
    fn line(&self) -> Value {
        let body =
            self.html.strip_prefix("{text}").map_or(("html", self.html.as_str()), |text| ("text", text));
        json!({"id": self.name, "url": format!("https://{}.example/", self.name), body.0: body.1})
    }

    fn page_kind(&self, extractor: &mut Extractor) -> Option<NoContent> {
        match self.html.strip_prefix("{text}") {
            Some(text) => Document::from_text(None, text).page_kind,
            None => extractor.extract(&self.html).expect("within the limits").page_kind,
        }
    }
}

fn pages(file: &str) -> Vec<Page> {
    let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/no_content").join(file);
    let text = std::fs::read_to_string(path).expect("the pages are part of the sources");
    let pages = text.split("=== ").skip(1).filter_map(|page| page.split_once('\n'));
    let name = |head: &str| head.split(" | ").next().unwrap_or_default().to_owned();
    pages.map(|(head, html)| Page { name: name(head), html: html.to_owned() }).collect()
}

/// Returns the names of the pages with content, and the number of all pages.
fn content_of(file: &str) -> (Vec<String>, usize) {
    let mut extractor = Extractor::new(&ExtractConfig::default());
    let pages = pages(file);
    let content = pages.iter().filter(|page| page.page_kind(&mut extractor).is_none());
    (content.map(|page| page.name.clone()).collect(), pages.len())
}

#[test]
fn pages_without_content_are_recognised() {
    let (missed, all) = content_of("learned_from.txt");
    assert!(all > 60 && missed.is_empty(), "{missed:?} of {all}");
    let (missed, all) = content_of("held_back.txt");
    assert!(all > 95 && missed.len() * 10 <= all, "{missed:?} of {all}");
}

#[test]
fn texts_about_notices_stay_content() {
    let mut extractor = Extractor::new(&ExtractConfig::default());
    for page in pages("content.txt") {
        assert_eq!(page.page_kind(&mut extractor), None, "{}", page.name);
    }
}

/// A long text stays content whatever its title and its headings say.
#[test]
fn a_page_with_a_text_has_content() {
    let mut extractor = Extractor::new(&ExtractConfig::default());
    let text = common::article(3, 30);
    for page in pages("learned_from.txt").iter().filter(|page| page.html.contains("</body>")) {
        let html = page.html.replacen("</body>", &format!("<article><p>{text}</p></article></body>"), 1);
        assert_eq!(extractor.extract(&html).expect("within the limits").page_kind, None, "{}", page.name);
    }
}

/// Phrases are compared with each other, so a page that only repeats them would take minutes if all of it
/// were read.
#[test]
fn endless_repetitions_are_fast() {
    let mut extractor = Extractor::new(&ExtractConfig::default());
    let phrases = "404 not found error ".repeat(100_000);
    for html in [
        format!("<title>{phrases}</title><p>short"),
        format!("<nav>short</nav><div>{phrases}</div>"),
        format!("<p>short<p class=nav>{phrases}"),
        format!("<noscript>{phrases}</noscript><script></script>"),
        format!("<p>{}", "404 ".repeat(9) + &"<br>404 not found".repeat(20_000)),
    ] {
        let begun = cpu_time();
        let _ = extractor.extract(&html).expect("within the limits").page_kind;
        assert!((cpu_time() - begun).as_secs() < 20, "{}", &html[..40]);
    }
    assert_eq!(Document::from_text(Some(phrases.clone()), &phrases).page_kind, None);
}

#[test]
fn pages_without_content_are_undecidable_in_every_command() {
    let folder = tempfile::tempdir().expect("a folder");
    let notices = pages("learned_from.txt");
    let lines: Vec<String> = notices.iter().map(|page| page.line().to_string()).collect();
    let file = write(folder.path(), "notices.jsonl", lines.join("\n"));
    let on = run(["dedup".as_ref(), file.as_os_str()]);
    for verdict in on.verdicts() {
        assert_eq!(
            (&verdict["kind"], &verdict["reason"]),
            (&json!("UNDECIDABLE"), &json!("NO_CONTENT")),
            "{verdict}"
        );
    }
    let config = write(folder.path(), "off.toml", "[extract]\npage_kinds = false\n");
    let off = run(["dedup".as_ref(), "--config".as_ref(), config.as_os_str(), file.as_os_str()]);
    assert!(off.verdicts().iter().all(|verdict| verdict["reason"] != "NO_CONTENT"));
    assert!(off.verdicts().iter().any(|verdict| verdict["kind"] == "UNIQUE"));
    assert_ne!(on.verdicts()[0]["fingerprint_hash"], off.verdicts()[0]["fingerprint_hash"]);

    let extracted = run(["extract".as_ref(), "--jsonl".as_ref(), file.as_os_str()]);
    let lines: Vec<Value> =
        extracted.stdout.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect();
    assert!(lines.iter().all(|line| line["reason"] == "NO_CONTENT" && line["page_kind"].is_string()));
    assert!(lines.iter().any(|line| line["text"] != ""), "the text is given all the same");

    let page = notices.iter().find(|page| page.html.contains("<h1>")).expect("there is one");
    let a = write(folder.path(), "a.html", &page.html);
    let compared = run(["compare".as_ref(), a.as_os_str(), a.as_os_str()]);
    assert!(
        compared.stdout.contains("none (NO_CONTENT)") && compared.stdout.contains("\npage kind "),
        "{}",
        compared.stdout
    );
}

#[test]
fn listings_are_undecidable_if_configured() {
    let folder = tempfile::tempdir().expect("a folder");
    let listing = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/kinds/listing-zh.html");
    let html = std::fs::read_to_string(listing).expect("a page");
    let file =
        write(folder.path(), "a.jsonl", json!({"url": "https://a.example/", "html": html}).to_string());
    let config = write(folder.path(), "on.toml", "[extract]\nlistings = true\n");
    let on = run(["dedup".as_ref(), "--config".as_ref(), config.as_os_str(), file.as_os_str()]);
    assert_eq!(on.verdicts()[0]["reason"], "LISTING", "{}", on.stdout);
    let off = run(["dedup".as_ref(), file.as_os_str()]);
    assert_ne!(off.verdicts()[0]["reason"], "LISTING", "{}", off.stdout);
}
