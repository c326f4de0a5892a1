//! The console in Chromium: its own policy refuses nothing, nothing in shown pages runs, every width is
//! readable, and the keyboard is enough.
//!
//! `LEITONG_SCREENSHOTS=write cargo test --test chromium` writes the pictures of docs/operations.md.

#[path = "../common/mod.rs"]
mod common;

mod browser;

use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Stdio};
use std::sync::Arc;

use browser::Browser;
use leitong::console::admin::AdminConsole;
use leitong::telemetry::admin::{AdminPort, MorePaths};
use leitong::telemetry::health::Health;
use leitong::telemetry::tally::{self, Tallied};
use metrics_exporter_prometheus::PrometheusBuilder;

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

/// Markup that runs if it is shown as anything but text.
const HOSTILE: &str = "</title></textarea><script>window.ran=1</script><img src=x onerror=window.ran=2>\
                       \" onfocus=window.ran=3 autofocus x=\"<svg onload=window.ran=4><a href=javascript:window.ran=5>\
                       <meta http-equiv=refresh content=0;url=https://evil.example/><base href=//evil.example/>";

/// Returns a page with hostile markup in its text and in dropped parts.
fn hostile_page() -> String {
    let text = HOSTILE.replace('&', "&amp;").replace('<', "&lt;");
    format!(
        "<title>{text}</title><nav>{text}</nav><article><h1>{text}</h1><p>Ships come in at noon, when the tide is high and \
         the whole village stands on the quay to see what they have brought along this time. {text}</p><pre>{text}</pre>\
         </article><footer>{text}</footer>"
    )
}

/// Checks what must hold for every page, light and dark, wide and narrow.
#[track_caller]
fn assert_well_made(browser: &mut Browser, address: &str, origin: &str) {
    for (width, dark) in [(1200, false), (1200, true), (360, false), (360, true)] {
        browser.window((width, 800), dark);
        browser.open(address);
        let at = format!("{address} at {width} px");
        assert_eq!(browser.complaints(origin), Vec::<String>::new(), "{at}");
        assert_eq!(browser.run("typeof window.ran"), "undefined", "{at}");
        let scroll =
            browser.run("document.documentElement.scrollWidth - document.documentElement.clientWidth");
        assert_eq!(scroll, 0, "{at}: it scrolls sideways");
        let colours = browser.run(CONTRAST);
        assert_eq!(colours, serde_json::json!([]), "{at}: too little contrast");
        assert_eq!(browser.run(UNNAMED), serde_json::json!([]), "{at}: without a name");
    }
}

/// Finds texts with too little contrast to their background, by the rule of WCAG 2 (4.5 to 1).
const CONTRAST: &str = "(() => {
  const parts = colour => colour.match(/[\\d.]+/g).map(Number);
  const light = colour => {
    const [r, g, b] = parts(colour).map(v => (v /= 255) <= .04045 ? v / 12.92 : ((v + .055) / 1.055) ** 2.4);
    return .2126 * r + .7152 * g + .0722 * b;
  };
  const behind = element => {
    for (; element; element = element.parentElement) {
      const colour = getComputedStyle(element).backgroundColor;
      if (parts(colour)[3] !== 0) return colour;
    }
    return 'rgb(255, 255, 255)';
  };
  const poor = new Set();
  for (const element of document.body.querySelectorAll('*')) {
    const says = [...element.childNodes].some(node => node.nodeType === 3 && node.data.trim());
    if (!says || !element.checkVisibility()) continue;
    const [a, b] = [light(getComputedStyle(element).color), light(behind(element))].sort((a, b) => b - a);
    const ratio = (a + .05) / (b + .05);
    if (ratio < 4.5) poor.add(`${element.tagName}.${element.className} ${ratio.toFixed(2)}`);
  }
  return [...poor];
})()";

/// Finds fields without a label, and incorrect headings, tables and landmarks.
const UNNAMED: &str = "(() => {
  const all = (selector, is) => [...document.querySelectorAll(selector)].filter(is).map(e => e.outerHTML.slice(0, 80));
  return [
    ...all('input:not([type=hidden]), textarea', e => !e.labels.length),
    ...all('th', e => !e.scope),
    ...all('a, button, summary', e => !e.textContent.trim()),
    ...all('[aria-labelledby]', e => !document.getElementById(e.getAttribute('aria-labelledby'))),
    ...(document.querySelectorAll('main, h1').length === 2 ? [] : ['one main and one h1']),
    ...(document.documentElement.lang ? [] : ['lang']),
  ];
})()";

/// Writes a picture for the docs if requested.
fn picture(browser: &mut Browser, name: &str) {
    let picture = browser.picture();
    assert!(picture.len() > 10_000, "{name}: a picture of nothing");
    if std::env::var("LEITONG_SCREENSHOTS").as_deref() == Ok("write") {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/images").join(name);
        std::fs::create_dir_all(path.parent().expect("a folder")).expect("a folder");
        std::fs::write(path, picture).expect("a picture");
    }
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

/// A worker at work; all its names are hostile, except those in a picture.
#[test]
fn a_worker_is_shown_as_it_is_now() {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(1)
        .enable_all()
        .build()
        .expect("a runtime");
    let port = runtime.block_on(AdminPort::bind("127.0.0.1:0")).expect("a port");
    let origin = format!("http://{}", port.address());
    let recorder = PrometheusBuilder::new().build_recorder();
    let health = Arc::new(Health::default());
    let console = Arc::new(AdminConsole::begin(Arc::clone(&health), recorder.handle(), true));
    let working = Arc::clone(&console);
    let more_paths: MorePaths = Arc::new(move |request| working.answer(request));
    runtime.spawn(port.serve(Arc::clone(&health), recorder.handle(), Some(more_paths)));
    metrics::with_local_recorder(&recorder, || work(&console));
    let mut browser = Browser::start();
    browser.window((1100, 1180), true);
    browser.open(&format!("{origin}/console/?lang=en"));
    picture(&mut browser, "console-worker.png");
    // The script updates the page, and stays within the page's policy.
    metrics::with_local_recorder(&recorder, || {
        metrics::counter!("leitong_dead_letters_total", "cause" => HOSTILE).increment(9);
    });
    let name = |name: &str| name.to_owned();
    let joined = Some((name(HOSTILE), name(HOSTILE)));
    tally::committed(&[Tallied { corpus: name(HOSTILE), host: name(HOSTILE), joined }]);
    health.add("cluster").refuse(name(HOSTILE));
    browser.run("new Promise(done => { const see = () => document.querySelector('#state').textContent === 'Not ready' \
                 ? done() : setTimeout(see, 50); see(); })");
    assert_eq!(browser.complaints(&origin), Vec::<String>::new());
    assert_eq!(browser.run("typeof window.ran"), "undefined");
    assert_well_made(&mut browser, &format!("{origin}/console/"), &origin);
    assert_well_made(&mut browser, &format!("{origin}/console/?lang=zh"), &origin);
}

/// Simulates a quarter of an hour of work.
fn work(console: &AdminConsole) {
    let set = |name: &'static str, partition: &'static str, value: f64| {
        metrics::gauge!(name, "partition" => partition).set(value);
    };
    let now = leitong_base::record::timestamp::Timestamp::now().as_ms() as f64 / 1e3;
    metrics::gauge!("leitong_start_timestamp_seconds").set(now - 93_784.0);
    for (stage, partitions) in [("fingerprint", 6.0), ("cluster", 2.0)] {
        metrics::gauge!("leitong_partitions_owned", "stage" => stage).set(partitions);
    }
    for (partition, lag) in [("0", 1_204.0), ("1", 37.0), ("2", 0.0)] {
        metrics::gauge!("leitong_lag_records", "topic" => "leitong.pages", "partition" => partition).set(lag);
    }
    for (partition, centroids) in [("0", 2_481_772.0), ("1", 2_479_035.0)] {
        set("leitong_centroids", partition, centroids);
        set("leitong_restored_centroids", partition, centroids - 96_310.0);
        set("leitong_restore_seconds", partition, 38.2);
        set("leitong_snapshot_timestamp_seconds", partition, now - 412.0);
    }
    set("leitong_standby_centroids", "2", 2_480_204.0);
    metrics::histogram!("leitong_verdict_delay_seconds").record(0.42);
    metrics::counter!("leitong_dead_letters_total", "cause" => "NO_URL").increment(17);
    metrics::counter!("leitong_undecidable_total", "reason" => "WALL").increment(20_415);
    for step in 0..180_u32 {
        let wave = (f64::from(step) / 14.0).sin() * 700.0 + (f64::from(step) / 3.0).cos() * 180.0;
        let pages = (9_000.0 + wave * 5.0) as u64;
        metrics::counter!("leitong_pages_read_total").increment(pages);
        for (kind, of_ten) in
            [("UNIQUE", 6), ("NEAR_DUPLICATE", 2), ("EXACT_DUPLICATE", 1), ("UNDECIDABLE", 1)]
        {
            metrics::counter!("leitong_verdicts_total", "kind" => kind).increment(pages * of_ten / 10);
        }
        console.tick_at(f64::from(step) * 5.0);
    }
    for (host, verdicts, duplicates) in
        [("news.example", 420, 201), ("blog.example", 260, 31), ("shop.example", 90, 64)]
    {
        for number in 0..verdicts {
            let joined = (number < duplicates).then(|| {
                (format!("{:032x}", 7 + number % 3), format!("https://news.example/2026/11/{}", number % 3))
            });
            let corpus = if host.starts_with("shop") { "products" } else { "default" }.to_owned();
            tally::committed(&[Tallied { corpus, host: host.to_owned(), joined }]);
        }
    }
}
