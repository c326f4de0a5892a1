//! Pages made to be expensive: none may need more work than `page.work_max`, and a page of twice the length
//! costs about twice as much. Each is generated, so there are no files of them.
//!
//! Work is counted, not timed. Work that is not counted shows in the only bound of CPU time. That bound is
//! generous: only a cost that grows faster than the page breaks it. Most of these pages once took minutes.

use std::sync::LazyLock;
use std::time::Duration;

use leitong::config::Config;
use leitong::pipeline::FingerprintStage;
use leitong_base::random::Random;
use leitong_base::record::{LogRecord, Outcome, Place, Reason};
use leitong_text::page::{Body, Page, PageRules};

use crate::common::wait::cpu_time;

/// Bytes of the smaller page of each kind; the larger has twice as many.
const BYTES: usize = 128 << 10;
/// Maximum steps per byte. Most pages take some hundred; U+FDFA, which becomes eleven times as long, takes
/// 1,560.
const STEPS_MAX: u64 = 2_000;
/// CPU time for each page of each size. In a debug build the slowest takes two seconds.
const TIME_MAX: Duration = Duration::from_secs(120);

static HALF: LazyLock<FingerprintStage> =
    LazyLock::new(|| FingerprintStage::new(Config::default()).expect("defaults"));

/// Returns characters from `range`, at least `bytes` bytes.
fn text_of(random: &mut Random, range: std::ops::Range<u32>, bytes: usize) -> String {
    let mut text = String::with_capacity(bytes + 4);
    while text.len() < bytes {
        let number = range.start + (random.next_bits() % u64::from(range.end - range.start)) as u32;
        text.extend(char::from_u32(number));
    }
    text
}

fn repeated(pattern: &str, bytes: usize) -> String {
    pattern.repeat(bytes / pattern.len() + 1)
}

fn page(body: Body) -> Page {
    let rules = PageRules { page_bytes_max: 1 << 30, url_required: true };
    Page { body, ..Page::from_json(br#"{"url": "http://hostile.example/"}"#, rules).expect("a page") }
}

fn process(half: &FingerprintStage, body: Body) -> (Outcome, u64) {
    let place = Place::Line { input: "test".into(), line: 1 };
    let processed = half.process_page(place, page(body), &mut half.workspace());
    let Ok(LogRecord::Page(record)) = processed.record else { panic!("a page has an outcome") };
    (record.outcome, processed.work)
}

/// Checks that a page of twice the size costs about twice as much, and that no page fails.
fn assert_linear(kinds: &[(&str, &dyn Fn(usize) -> Body)]) {
    for (name, body) in kinds {
        let mut costs = [0; 2];
        for (times, cost) in (1..).zip(&mut costs) {
            let began = cpu_time();
            let (outcome, work) = process(&HALF, body(BYTES * times));
            assert_ne!(outcome, Outcome::Undecidable(Reason::Internal), "{name}");
            let took = cpu_time() - began;
            assert!(took < TIME_MAX, "{name}: {} bytes took {took:?}", BYTES * times);
            assert!(
                work <= STEPS_MAX * (BYTES * times) as u64,
                "{name}: {work} steps for {} bytes",
                BYTES * times
            );
            *cost = work;
        }
        assert!(costs[1] <= costs[0] * 5 / 2 + 1_000_000, "{name}: {costs:?} steps for twice the bytes");
    }
}

fn text(pattern: &'static str) -> impl Fn(usize) -> Body {
    move |bytes| Body::Text(repeated(pattern, bytes))
}

fn html(start: &'static str, pattern: &'static str, end: &'static str) -> impl Fn(usize) -> Body {
    move |bytes| Body::Html(format!("{start}{}{end}", repeated(pattern, bytes)))
}

fn characters(range: std::ops::Range<u32>) -> impl Fn(usize) -> Body {
    move |bytes| Body::Text(text_of(&mut Random::from_seed(7), range.clone(), bytes))
}

#[test]
fn texts_of_one_pattern_cost_linear_work() {
    assert_linear(&[
        ("one word", &text("a")),
        ("one ideograph", &text("的")),
        ("one traditional ideograph", &text("說")),
        ("one kana", &text("あ")),
        ("one accented letter", &text("é")),
        ("words of a letter", &text("a ")),
        ("numbers", &text("1,")),
        ("sentences of a character", &text("我。")),
        ("lines of a character", &text("字\n")),
        ("punctuation", &text("。，")),
        ("alternating scripts", &text("中a")),
        ("marks on one letter", &|bytes| Body::Text("a".to_owned() + &repeated("\u{301}", bytes))),
        ("marks out of order", &|bytes| {
            Body::Text("a".to_owned() + &repeated("\u{345}\u{301}\u{323}\u{334}", bytes))
        }),
        ("letters that become phrases", &text("\u{fdfa}")),
        ("conjoining jamo", &text("\u{1100}\u{1161}\u{11a8}")),
        ("apostrophes with marks", &text("ж'\u{301}\u{301}\u{301}\u{301}")),
        ("flags", &text("\u{1f1e9}\u{1f1ea}")),
        ("joined signs", &text("\u{1f469}\u{200d}")),
        ("Hebrew quotes", &text("א\"")),
        ("Thai", &text("สวัสดีครับผมอาศัยอยู่ในกรุงเทพมหานคร")),
    ]);
}

#[test]
fn texts_of_random_characters_cost_linear_work() {
    assert_linear(&[
        ("ideographs", &characters(0x4e00..0x9fff)),
        ("rare ideographs", &characters(0x20000..0x2a6d0)),
        ("kana", &characters(0x3041..0x3096)),
        ("Thai", &characters(0xe01..0xe3a)),
        ("Lao", &characters(0xe81..0xede)),
        ("Khmer", &characters(0x1780..0x17d0)),
        ("Burmese", &characters(0x1000..0x1040)),
        ("Arabic", &characters(0x621..0x64a)),
        ("Hangul", &characters(0xac00..0xd7a3)),
        ("marks", &characters(0x300..0x34f)),
        ("anything", &characters(0xa0..0xd7ff)),
        ("planes above", &characters(0x10000..0x1ffff)),
    ]);
}

#[test]
fn floods_of_markup_cost_linear_work() {
    assert_linear(&[
        ("nested divisions", &html("", "<div>", "x")),
        ("nested tables", &html("", "<table><tr><td>", "x")),
        ("unclosed inline elements", &html("", "<b>a<i>b<span>c", "")),
        ("links round blocks", &html("", "<a href=x><div>a", "")),
        ("blocks of a letter", &html("", "<div>a</div>", "")),
        ("line breaks", &html("", "a<br>", "")),
        ("breaks in preformatted text", &html("<pre>", "<br>", "x")),
        ("headings", &html("", "<h1>a<h2>b", "")),
        ("end tags", &html("<div>", "</p></span>", "")),
        ("attributes", &html("<div ", "a=b ", ">hello</div>")),
        ("names", &html("<div class=\"", "post-meta ", "\">hello</div>")),
        ("a long style", &html("<div style=\"", "display:none;/*", "\">hello</div>")),
        ("references", &html("<p>", "&amp;&#x4e2d;&nbsp", "")),
        ("ampersands", &html("<p>", "&", "")),
        ("angles", &html("", "<", "")),
        ("open comments", &html("", "<!--", "")),
        ("open scripts", &html("", "<script>", "")),
        ("ends of other elements in a script", &html("<script>", "</", "")),
        ("open marked sections", &html("", "<![CDATA[", "")),
        ("hidden paragraphs", &html("<div hidden>", "<p>some words here and more. ", "")),
        ("invisible characters", &html("<p>", "x\u{200b}", "")),
    ]);
}

/// A title of half a page must not be searched once for each block of the other half, which took 20 s per megabyte.
#[test]
fn long_titles_over_many_blocks_cost_linear_work() {
    let title = |block: &'static str| {
        move |bytes: usize| {
            let (title, blocks) = (repeated("abcdefgh ", bytes / 2), repeated(block, bytes / 2));
            Body::Html(format!("<title>{title}</title>{blocks}"))
        }
    };
    let long_headings = |bytes: usize| {
        let headings = format!("<h1>{}b</h1>", "a".repeat(bytes / 40)).repeat(16);
        Body::Html(format!("<title>{}</title>{headings}", "a".repeat(bytes / 2)))
    };
    assert_linear(&[
        ("headings", &title("<h1>abcdefgh abcdefgx</h1>")),
        ("paragraphs", &title("<p>hbcdefgh ")),
        ("long headings", &long_headings),
    ]);
}

/// In an article in linked data, the rest of the text must not be searched for a `>` at each `<`. A megabyte took
/// 50 s.
#[test]
fn linked_data_full_of_angles_costs_linear_work() {
    const START: &str = r#"<script type="application/ld+json">{"@type": "Article", "articleBody": ""#;
    const END: &str = r#""}</script><p>x"#;
    assert_linear(&[
        ("no tags", &html(START, "<", END)),
        ("tags without an end", &html(START, "<a", END)),
        ("one end for all", &|bytes| Body::Html(format!("{START}{}>{END}", repeated("<", bytes)))),
        ("types", &html("<script type=\"application/ld+json\">{", "\"@type\":", "}</script><p>x")),
        ("many", &html("", "<script type=\"application/ld+json\">{\"articleBody\":\"x\"}</script>", "<p>x")),
    ]);
}

/// A script's state is searched for text if the markup has none.
#[test]
fn state_full_of_strings_costs_linear_work() {
    const START: &str = "<meta name=description content='One two three four five six seven eight'>\
                         <script type=application/json>[";
    const END: &str = "]</script><p>x";
    let long = "\"One two three four five six seven eight ".repeat(4);
    let nested = "\"{\\\"a\\\":\\\"One two three four five six seven eight, and nine, and ten, and all the others too\\\"}\",";
    assert_linear(&[
        ("short strings", &html(START, "\"a\",", END)),
        ("names", &html(START, "\"a\":", END)),
        ("quotes", &html(START, "\"", END)),
        ("escapes", &html(START, "\"\\", END)),
        ("objects", &html(START, "{\"a\":", END)),
        ("long strings", &|bytes| Body::Html(format!("{START}{}{END}", repeated(&long, bytes)))),
        ("strings of JSON", &html(START, nested, END)),
        ("scripts", &html("", "<script type=application/json>{\"a\":1}</script>", "<p>x")),
        ("attributes", &html("", "<a data-preloaded='{&quot;a&quot;:1}'>", "<p>x")),
    ]);
}

#[test]
fn bytes_of_no_charset_cost_linear_work() {
    let bytes =
        |pattern: &'static [u8]| move |bytes: usize| Body::HtmlBytes(pattern.repeat(bytes / pattern.len()));
    let random = |bytes: usize| {
        let mut random = Random::from_seed(3);
        Body::HtmlBytes((0..bytes).map(|_| 0x20 + (random.next_bits() % 0xe0) as u8).collect())
    };
    assert_linear(&[
        ("random bytes", &random),
        ("0xff", &bytes(b"\xff")),
        ("UTF-8 with a broken byte in three", &bytes(b"\xc3\xa9\xe9 ")),
        (
            "UTF-8 with a broken byte in many",
            &bytes(b"\xc3\xa9\xc3\xa9\xc3\xa9\xc3\xa9\xc3\xa9\xc3\xa9\xc3\xa9\xc3\xa9\xc3\xa9\xc3\xa9\xe9"),
        ),
        ("escapes of ISO-2022-JP", &bytes(b"\x1b$B")),
        ("shifts of ISO-2022-KR", &bytes(b"\x1b$)C\x0e\x21\x21\x0f")),
        ("EUC-TW", &bytes(b"\x8e\xa1\xc4\xa1")),
        ("open declarations", &bytes(b"<meta <!--\xe9")),
    ]);
}

/// 130,000 words whose hashes fall into one slot would take three minutes in a table without a seed. Such words can
/// only be found by search, so only a few are used here; the table's own test uses made-up hashes.
#[test]
fn words_with_colliding_hashes_cost_linear_work() {
    let mut words = String::new();
    let mut found = 0;
    for number in 0_u64.. {
        let word = format!("w{number:x}");
        if xxhash_rust::xxh3::xxh3_64(word.as_bytes()).is_multiple_of(256) {
            words += &word;
            words.push(' ');
            found += 1;
        }
        if found == 4_000 {
            break;
        }
    }
    let (outcome, work) = process(&HALF, Body::Text(words.clone()));
    assert!(matches!(outcome, Outcome::Fingerprint(_)), "{outcome:?}");
    assert!(work <= STEPS_MAX * words.len() as u64, "{work}");
    // The seed of a process decides only the positions of words in a table.
    assert_eq!(process(&HALF, Body::Text(words)).0, outcome);
}

/// The budget counts steps: every build and machine gives up on a page at the same step.
#[test]
fn work_is_the_same_every_time_and_bounds_the_outcome() {
    let body = || Body::Html(format!("<p>{}", repeated("春天来了，万物复苏。", 100_000)));
    let (outcome, work) = process(&HALF, body());
    assert!(matches!(outcome, Outcome::Fingerprint(_)), "{outcome:?}");
    let with = |work_max: u64| {
        let mut config = Config::default();
        config.page.work_max = work_max;
        process(&FingerprintStage::new(config).expect("right"), body())
    };
    assert_eq!(with(work), (outcome, work));
    assert_eq!(with(work - 1).0, Outcome::Undecidable(Reason::TooComplex));
}
