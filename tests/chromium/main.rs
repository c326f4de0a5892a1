//! The console in Chromium: its Content-Security-Policy blocks nothing of the console itself, no script of a shown page
//! runs, every width is readable, and the keyboard is enough.
//!
//! `LEITONG_SCREENSHOTS=write cargo test --test chromium` writes the pictures of docs/operations.md.

#[path = "../common/mod.rs"]
mod common;

mod browser;
mod checks;

use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Stdio};

use browser::Browser;
use checks::{HOSTILE, assert_well_made, picture};

/// `leitong console`. It is ended when dropped.
struct Console {
    child: Child,
    origin: String,
}

impl Console {
    fn start(arguments: &[&str]) -> Self {
        let mut child = common::leitong()
            .args(["console", "--address", "127.0.0.1:0"])
            .args(arguments)
            .stderr(Stdio::piped())
            .spawn()
            .expect("the program starts");
        let mut lines = BufReader::new(child.stderr.take().expect("standard error")).lines();
        let address = lines.by_ref().find_map(|line| {
            line.expect("UTF-8").split_once("serving ").map(|(_, address)| address.to_owned())
        });
        std::thread::spawn(move || lines.for_each(drop));
        Self { child, origin: address.expect("it starts") }
    }
}

impl Drop for Console {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Returns a page with hostile markup in its text and in dropped parts.
fn hostile_page() -> String {
    let text = HOSTILE.replace('&', "&amp;").replace('<', "&lt;");
    format!(
        "<title>{text}</title><nav>{text}</nav><article><h1>{text}</h1><p>Ships come in at noon, when the tide is high and \
         the whole village stands on the quay to see what they have brought along this time. {text}</p><pre>{text}</pre>\
         </article><footer>{text}</footer>"
    )
}

/// Saves a table of the sample pages and of a hostile page with a copy.
fn saved_table(folder: &Path) -> [String; 3] {
    let name = |name: &str| folder.join(name).to_str().expect("UTF-8").to_owned();
    let [table, verdicts, pages] = ["table", "verdicts.jsonl", "pages.jsonl"].map(name);
    let page = |id: &str| serde_json::json!({ "id": id, "url": format!("https://x.example/{HOSTILE}"), "html": hostile_page() });
    let samples = std::fs::read_to_string("examples/pages.jsonl").expect("the sample pages");
    std::fs::write(&pages, format!("{samples}{}\n{}\n", page(&HOSTILE[..100]), page("copy")))
        .expect("a file");
    let run = common::run(["dedup", "--table", &table, "--output", &verdicts, &pages]);
    assert_eq!(run.status, 0, "{}", run.stderr);
    [table, verdicts, pages]
}

#[test]
fn pages_are_compared_and_looked_up() {
    let folder = tempfile::tempdir().expect("a folder");
    let [table, verdicts, pages] = saved_table(folder.path());
    let console = Console::start(&["--table", &table, "--verdicts", &verdicts, "--pages", &pages]);
    let origin = &console.origin;
    let mut browser = Browser::start();
    for path in ["/", "/?lang=zh", "/page", "/page?q=copy", "/page?q=en-rowing-reprint&lang=zh", "/nothing"] {
        // A browser's console reports an address that does not exist as an error.
        if path != "/nothing" {
            assert_well_made(&mut browser, &format!("{origin}{path}"), origin);
        }
    }
    for path in
        ["/compare?a=copy&b=copy", "/compare?a=zh-pc&b=zh-pc-tw&lang=zh", "/compare?a=en-login&b=copy"]
    {
        assert_well_made(&mut browser, &format!("{origin}{path}"), origin);
    }
    browser.window((960, 1280), false);
    browser.open(&format!("{origin}/compare?a=en-rowing&b=en-rowing-reprint"));
    picture(&mut browser, "console-compare.png");
    browser.window((360, 740), false);
    browser.open(&format!("{origin}/compare?a=zh-pc&b=zh-pc-tw&lang=zh"));
    browser.run("document.getElementById('texts').scrollIntoView()");
    picture(&mut browser, "console-phone.png");
    // A form is filled in and sent with the keyboard only.
    browser.window((1100, 900), false);
    browser.open(&format!("{origin}/?lang=en"));
    browser.press("Tab", 9);
    assert_eq!(browser.run("document.activeElement.className"), "skip");
    let fill = format!(
        "for (const id of ['a_text', 'b_text']) document.getElementById(id).value = {};\
         document.querySelector('button').focus()",
        serde_json::json!(hostile_page())
    );
    browser.run(&fill);
    browser.follow("document.activeElement.form.requestSubmit(document.activeElement)");
    assert_eq!(browser.complaints(origin), Vec::<String>::new());
    assert_eq!(browser.run("document.querySelector('h1').textContent"), "The same text");
    assert_eq!(browser.run("typeof window.ran"), "undefined");
    assert!(browser.run("document.title").as_str().is_some_and(|title| title.contains("<script>")));
    // The test notices requests that the policy refuses.
    browser.run("document.body.insertAdjacentHTML('beforeend', '<img src=https://evil.example/x onerror=window.ran=1>')");
    assert!(!browser.complaints(origin).is_empty(), "a picture from elsewhere is not a complaint");
    assert_eq!(browser.run("typeof window.ran"), "undefined");
    let shown = browser.run("document.querySelector('main').textContent");
    assert!(shown.as_str().is_some_and(|shown| shown.contains("<script>window.ran=1</script>")), "{shown}");
}

#[test]
fn a_comparison_in_a_file_is_self_contained() {
    let folder = tempfile::tempdir().expect("a folder");
    let page = common::write(folder.path(), "hostile.html", hostile_page());
    let file = folder.path().join("comparison.html");
    let run = common::run([
        "compare".as_ref(),
        "--html".as_ref(),
        file.as_os_str(),
        page.as_os_str(),
        page.as_os_str(),
    ]);
    assert_eq!(run.status, 0, "{}", run.stderr);
    let address = format!("file://{}", file.display());
    let mut browser = Browser::start();
    assert_well_made(&mut browser, &address, &address);
    assert_eq!(
        browser.run("getComputedStyle(document.querySelector('a.shared')).textDecorationLine"),
        "none"
    );
}

/// A person answers with the keyboard only, and leaves the page in between.
#[test]
fn removals_are_judged_by_keys_and_answers_survive_a_reload() {
    let folder = tempfile::tempdir().expect("a folder");
    let line = |id: &str, text: &str| {
        serde_json::json!({ "id": id, "url": format!("https://a.example/{id}"), "title": id, "text": text })
            .to_string()
            + "\n"
    };
    let news = "Ships come in at noon, when the tide is high and the whole village stands on the quay to see what they have \
                brought along this time. ";
    let more = "A second sailing in the evening is for those who work in town, and tickets for it are sold in both bakeries.";
    let kept = common::write(folder.path(), "kept.jsonl", line("kept", &news.repeat(2)));
    let removed = [
        line("shorter", news),
        line(&HOSTILE[..100], &format!("{news}{more}{HOSTILE}")),
        line("other", &more.repeat(2)),
    ];
    let removed = common::write(folder.path(), "removed.jsonl", removed.concat());
    let page = folder.path().join("review.html");
    let [kept, removed, page] = [&kept, &removed, &page].map(|path| common::name(path));
    let run = common::run([
        "audit",
        "--kept",
        kept,
        "--removed",
        removed,
        "--report",
        page,
        "--output",
        "/dev/null",
    ]);
    assert_eq!(run.status, 0, "{}", run.stderr);
    let address = format!("file://{page}");
    let mut browser = Browser::start();
    assert_well_made(&mut browser, &address, &address);
    browser.window((1200, 900), false);
    browser.open(&address);
    let progress = "document.getElementById('progress').textContent";
    let shown = "document.querySelectorAll('.pair:not([hidden])').length";
    assert_eq!((browser.run(progress), browser.run(shown)), ("Pair 1 of 3, 0 answered".into(), 1.into()));
    browser.press("w", 87);
    browser.press("r", 82);
    browser.open(&address);
    assert_eq!(browser.run(progress), "Pair 3 of 3, 2 answered");
    browser.press("ArrowLeft", 37);
    assert_eq!(browser.run("document.querySelector('[aria-pressed=true]').dataset.answer"), "right");
    browser.press("ArrowRight", 39);
    browser.press("u", 85);
    assert_eq!(browser.run(progress), "Pair 3 of 3, 3 answered: save the answers");
    browser.ask(
        "Page.setDownloadBehavior",
        &serde_json::json!({ "behavior": "allow", "downloadPath": folder.path() }),
    );
    browser.press("s", 83);
    let answers = folder.path().join("answers.json");
    common::wait::wait_until("the answers are saved", || answers.exists());
    assert_eq!(browser.complaints(&address), Vec::<String>::new());
    let run = common::run(["audit", "--answers", common::name(&answers)]);
    assert!(
        run.stdout.starts_with("3 pairs, drawn with the seed 1: 1 right, 1 wrong, 1 unsure, 0 without"),
        "{}",
        run.stdout
    );
    browser.run("document.querySelector('[data-key=ArrowLeft]').click()");
    picture(&mut browser, "review.png");
}
