//! Messages of crawlers, and their outcomes: for each preset a file of sample messages with traps (wrong
//! types, missing fields, Base64 in lines, charsets, failures), and a file with the outcome of each.
//!
//! `tests/data/presets/NAME.jsonl` holds messages as they are. Where a key, headers or bytes matter, each
//! line states them (`key`, `headers`, and `json`, `value` or `value_b64`). After an intended change, run
//! `LEITONG_GOLDEN=write cargo test --test local presets::` and read the difference.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use leitong::config::Config;
use leitong::pipeline::Message;
use leitong::pipeline::PageReader;
use leitong_base::record::{Place, Received};
use leitong_formats::source::Payload;
use leitong_text::page::mapping::{MessageOutcome, Preset};
use leitong_text::page::{Body, Page, PageError};
use serde_json::{Value, json};

use crate::common::{self, gzip, run, run_with_input, write};

/// Presets whose samples state key, headers and bytes.
const MESSAGES: [&str; 4] = ["json", "norconex", "warc-record", "raw-body"];

/// Presets of documents in files.
const CORPORA: [&str; 5] = ["fineweb", "dolma", "datatrove", "oscar", "the-pile"];

fn samples(preset: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("tests/data/presets/{preset}.jsonl"))
}

fn reader(preset: &str, warcs: &Path) -> PageReader {
    let mut config = Config::default();
    config.input.preset = preset.to_owned();
    config.input.warc_dir = Some(warcs.to_owned());
    PageReader::new(&config).expect("a right configuration")
}

/// Writes a file of three records, and returns where each begins.
fn warc_file(folder: &Path) -> Vec<usize> {
    let record = |kind: &str, body: &str| {
        let http = format!("HTTP/1.1 200 OK\r\nContent-Type: text/html; charset=utf-8\r\n\r\n{body}");
        let head = format!("WARC/1.1\r\nWARC-Type: {kind}\r\nWARC-Target-URI: http://a.example/1\r\n");
        gzip(format!("{head}Content-Length: {}\r\n\r\n{http}\r\n\r\n", http.len()).as_bytes())
    };
    let records = [record("response", "<p>第一"), record("response", "<p>第二"), record("revisit", "")];
    write(folder, "one.warc.gz", records.concat());
    (0..3).map(|number| records[..number].iter().map(Vec::len).sum()).collect()
}

/// Reads a sample as a message of a topic.
fn message(reader: &PageReader, sample: &Value) -> Result<MessageOutcome, PageError> {
    let bytes = |name: &str| {
        let text = sample[name].as_str()?;
        Some(STANDARD.decode(text).expect("Base64"))
    };
    let text = |name: &str| sample[name].as_str().map(|text| text.as_bytes().to_vec());
    let json = || sample.get("json").map(|json| json.to_string().into_bytes());
    let value = bytes("value_b64").or_else(|| text("value")).or_else(json);
    let headers = sample["headers"].as_object().into_iter().flatten();
    let headers = headers.map(|(name, value)| {
        (name.clone(), Some(value.as_str().expect("a header is text").as_bytes().to_vec()))
    });
    let received = Received {
        key: bytes("key_b64").or_else(|| text("key")),
        headers: headers.collect(),
        log_time: None,
    };
    reader.message(&Message { value: value.as_deref(), received: Box::new(received) })
}

fn shown(page: &Page) -> String {
    let start = |text: &str| text.chars().take(60).collect::<String>().escape_debug().to_string();
    let body = match &page.body {
        Body::Html(html) => format!("html {}", start(html)),
        Body::HtmlBytes(bytes) => {
            let (text, charset, _) = encoding_rs::GB18030.decode(bytes);
            match std::str::from_utf8(bytes) {
                Ok(text) => format!("bytes in UTF-8 {}", start(text)),
                Err(_) => format!("bytes in {} {}", charset.name(), start(&text)),
            }
        }
        Body::Text(text) => format!("text {}", start(text)),
        Body::Missing => "no body".to_owned(),
        other => format!("{other:?}"),
    };
    let mut line = format!("page {}", page.url);
    if page.id != Page::id_for_url(&page.url) {
        let _ = write!(line, " id={}", page.id);
    }
    for (name, value) in [
        ("status", page.status.map(|status| status.to_string())),
        ("title", page.title.clone()),
        ("charset", page.hints.charset.clone()),
        ("type", page.hints.content_type.clone()),
        ("fetched", page.fetched_at.map(|time| time.to_string())),
        ("passthrough", page.passthrough.clone()),
    ] {
        if let Some(value) = value {
            let _ = write!(line, " {name}={value}");
        }
    }
    let _ = write!(line, " | {body}");
    if page.repaired != leitong_text::page::Repaired::default() {
        let _ = write!(line, " | {:?}", page.repaired);
    }
    line
}

fn outcome(taken: Result<MessageOutcome, (String, String)>) -> String {
    match taken {
        Ok(MessageOutcome::Page(page)) => shown(&page),
        Ok(MessageOutcome::Skipped(why)) => format!("skipped {}", why.as_str()),
        Err((cause, message)) => format!("dead {cause} | {message}"),
    }
}

fn outcomes(preset: &str) -> String {
    let folder = tempfile::tempdir().expect("a folder");
    let offsets = warc_file(folder.path());
    let reader = reader(preset, folder.path());
    let text = std::fs::read_to_string(samples(preset)).expect("samples");
    let text = text.replace("\"@second\"", &offsets[1].to_string());
    let text = text.replace("\"@revisit\"", &offsets[2].to_string());
    let mut out = String::new();
    for line in text.lines() {
        let taken = if MESSAGES.contains(&preset) {
            let sample = serde_json::from_str(line).expect("a sample");
            message(&reader, &sample).map_err(|error| (error.cause().to_string(), error.to_string()))
        } else {
            // Lines of a file. Those without a URL are identified by their place.
            let place = Place::Line { input: "samples.jsonl".into(), line: 7 };
            let payload = Payload::Json(line.as_bytes().to_vec());
            let taken = match CORPORA.contains(&preset) {
                true => reader.record_of_file(&place, payload),
                false => reader.record(payload),
            };
            taken.map_err(|no_page| (no_page.cause.to_string(), no_page.message))
        };
        out.push_str(&outcome(taken));
        out.push('\n');
    }
    out
}

#[test]
fn every_message_has_its_recorded_outcome() {
    let mut wrong = Vec::new();
    for preset in Preset::all() {
        let path = samples(preset.name).with_extension("outcomes");
        let found = outcomes(preset.name);
        if std::env::var("LEITONG_GOLDEN").is_ok_and(|value| value == "write") {
            std::fs::write(&path, &found).expect("written");
        }
        let expected = std::fs::read_to_string(&path).unwrap_or_default();
        for (number, (found, expected)) in (1..).zip(found.lines().zip(expected.lines())) {
            if found != expected {
                wrong.push(format!("{} line {number}:\n  {expected}\n  {found}", preset.name));
            }
        }
        assert_eq!(found.lines().count(), expected.lines().count(), "{}", preset.name);
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// The first sample of each preset is in its crawler's own format.
#[test]
fn every_preset_recognises_its_own_messages() {
    use leitong_text::page::mapping::Recognizer;
    let recognizer = Recognizer::default();
    for Preset { name, .. } in Preset::all() {
        let text = std::fs::read_to_string(samples(name)).expect("samples");
        let line = text.lines().next().expect("a sample");
        let sample: Value = serde_json::from_str(line).expect("JSON");
        let value = match sample["value_b64"].as_str() {
            Some(base64) => STANDARD.decode(base64).expect("Base64"),
            None if MESSAGES.contains(name) => sample["json"].to_string().into_bytes(),
            None => line.as_bytes().to_vec(),
        };
        assert_eq!(recognizer.preset(&value).map(|preset| preset.name), Some(*name));
    }
}

#[test]
fn a_run_with_a_preset_gives_verdicts_and_counts_the_rest() {
    let path = samples("scrapy-cluster");
    let path = path.to_str().expect("UTF-8");
    let found = run(["dedup", "--preset", "scrapy-cluster", path]);
    assert_eq!(found.status, 3, "{}", found.stderr);
    let verdicts = found.verdicts();
    assert_eq!(verdicts[0]["url"], "http://a.example/1");
    assert_eq!(
        verdicts[0]["passthrough"],
        json!({ "appid": "news", "crawlid": "c-1", "attrs": { "step": 1 } })
    );
    assert_eq!(verdicts[0]["fetched_at"], "2026-11-21T08:00:00.123Z");
    assert!(found.stderr.contains("1  messages that only report a failure, skipped"), "{}", found.stderr);
}

/// Scrapy Cluster's messages must not become `UNDECIDABLE EMPTY` without a message, nor twenty thousand
/// messages of Nutch give as many lines.
#[test]
fn messages_of_a_crawler_without_its_preset_are_recognised() {
    let lines = |preset: &str, times: usize| {
        let text = std::fs::read_to_string(samples(preset)).expect("samples");
        format!("{}\n", text.lines().next().expect("a sample")).repeat(times)
    };
    let found = run_with_input(["dedup", "-"], lines("crawl4ai", 3).replace("\"html\"", "\"page\""));
    assert!(found.verdicts().iter().all(|verdict| verdict["reason"] == "EMPTY"));
    let found = run_with_input(["dedup", "-"], lines("nutch", 500));
    assert_eq!(found.status, 3);
    assert!(found.stderr.contains("set preset = \"nutch\" under [input]"), "{}", found.stderr);
    assert!(found.stderr.contains("500 of these records look like messages of nutch"), "{}", found.stderr);
    assert!(found.stderr.lines().count() < 50, "{}", found.stderr);
    let found = run_with_input(["dedup", "-"], lines("os-scrapy", 20));
    assert!(found.stderr.contains("this looks like a message of os-scrapy"), "{}", found.stderr);
}

#[test]
fn the_preset_of_a_file_is_recognised_or_guessed() {
    let path = samples("katana");
    let found = run(["preset", "detect", path.to_str().expect("UTF-8")]);
    assert_eq!(found.status, 0, "{}", found.stderr);
    assert!(found.stdout.contains("7 of 9 messages look like katana"), "{}", found.stdout);
    assert!(found.stdout.contains("/response/technologies"), "what nothing reads: {}", found.stdout);
    // The output is a configuration.
    let folder = tempfile::tempdir().expect("a folder");
    let config = write(folder.path(), "leitong.toml", &found.stdout);
    assert_eq!(run(["config", "check", config.to_str().expect("UTF-8")]).status, 0, "{}", found.stdout);
    let page = json!({ "doc": { "link": "https://a.example/1", "source": format!("<p>{}", common::article(1, 30)) } });
    let guess = run_with_input(["preset", "detect", "-"], format!("{page}\n"));
    assert_eq!(guess.status, 0, "{}", guess.stderr);
    let config = write(folder.path(), "guess.toml", &guess.stdout);
    let arguments = ["dedup", "--config", config.to_str().expect("UTF-8"), "-"];
    let verdict = &run_with_input(arguments, format!("{page}\n")).verdicts()[0];
    assert_eq!((&verdict["kind"], &verdict["url"]), (&json!("UNIQUE"), &json!("https://a.example/1")));
    // Texts without urls match no preset, but `dedup` reads them.
    let text = json!({ "id": "a", "title": "A", "text": common::article(1, 30) });
    let plain = run_with_input(["preset", "detect", "-"], format!("{text}\n"));
    assert!(
        plain.status == 0 && plain.stdout.contains("`leitong dedup` reads this file as it is"),
        "{}",
        plain.stdout
    );
    assert!(plain.stdout.contains("read this way: 1 pages, 0 pages without a body, 0 dead letters"));
    let nothing = run_with_input(["preset", "detect", "-"], "[1]\n");
    assert!(nothing.status == 1 && nothing.stdout.contains("no field looks like"), "{}", nothing.stdout);
    let missing = run(["preset", "detect", "no-such-topic"]);
    assert!(missing.status == 1 && missing.stderr.contains("--config"), "{}", missing.stderr);
}

#[test]
fn users_can_change_fields_filters_and_passthrough() {
    let folder = tempfile::tempdir().expect("a folder");
    let config = write(
        folder.path(),
        "leitong.toml",
        "[input]\npreset = \"json\"\n[input.fields]\nurl = [\"/meta/none\", \"/meta/link\"]\nhtml = [\"/page/0/source\"]\n\
         [input.passthrough]\n\"tenant \\\"a\\\"\" = \"/tenant\"\ndeep = \"/meta/list/1\"\n\
         [input.filter]\nstatuses = [\"200-299\"]\ncontent_types = [\"text/*\"]\n\n\
         [input.filter.skip_if]\n\"\" = \"FAILED\"\n\"/meta/error\" = true\n\"/ok\" = \"false\"\n\"/meta\" = \"missing\"\n",
    );
    let text = common::article(3, 30);
    let line = |status: u32, kind: &str| {
        let page = json!({ "meta": { "link": format!("http://a.example/{status}"), "list": [1, { "b": 2.0 }] },
            "page": [{ "source": format!("<article><p>{text}</p></article>") }], "tenant": "七", "status": status,
            "content_type": kind });
        format!("{page}\n")
    };
    let input = [&*line(200, "text/html"), &line(404, "text/html"), &line(204, "image/png"), "FAILED\n"]
        .concat()
        + "{\"meta\":{\"link\":\"http://a.example/\",\"error\":true}}\n{\"ok\":false,\"meta\":{\"link\":\"http://a.example/\"}}\n{\"url\":\"x\"}\n";
    let found = run_with_input(["dedup", "--config", config.to_str().expect("UTF-8"), "-"], input);
    assert_eq!(found.status, 0, "{}", found.stderr);
    let [verdict] = &found.verdicts()[..] else { panic!("{}", found.stdout) };
    assert_eq!((&verdict["url"], &verdict["kind"]), (&json!("http://a.example/200"), &json!("UNIQUE")));
    assert_eq!(verdict["passthrough"], json!({ "tenant \"a\"": "七", "deep": { "b": 2.0 } }));
    for counted in [
        "1  messages that only report",
        "1  messages with other statuses",
        "1  messages with other content",
        "3  messages that state they have no page",
    ] {
        assert!(found.stderr.contains(counted), "{counted}: {}", found.stderr);
    }
}

/// `preset list` prints a file whose `[input]` is a user's own mapping, here of messages that say "no page".
#[test]
fn a_preset_can_be_printed_copied_and_changed() {
    let printed = run(["preset", "list", "crawl4ai"]);
    assert_eq!(printed.status, 0, "{}", printed.stderr);
    let input = &printed.stdout[printed.stdout.find("[input.fields]").expect("a section")..];
    let folder = tempfile::tempdir().expect("a folder");
    let config = write(folder.path(), "leitong.toml", input.replace("/success", "/well"));
    let page = json!({ "url": "http://a.example/1", "html": format!("<p>{}", common::article(1, 30)), "markdown": "other" });
    let failed = json!({ "url": "http://a.example/2", "html": "", "well": false });
    let found = run_with_input(
        ["dedup", "--config", config.to_str().expect("UTF-8"), "-"],
        format!("{page}\n{failed}\n"),
    );
    assert_eq!(found.status, 0, "{}", found.stderr);
    let [verdict] = &found.verdicts()[..] else { panic!("{}", found.stdout) };
    assert_eq!((&verdict["url"], &verdict["kind"]), (&json!("http://a.example/1"), &json!("UNIQUE")));
    assert!(found.stderr.contains("1  messages that state they have no page"), "{}", found.stderr);
    let unknown = run(["preset", "list", "crawl4all"]);
    assert!(unknown.status == 2 && unknown.stderr.contains("crawl4ai"), "{}", unknown.stderr);
}

#[test]
fn problems_of_the_input_are_reported_at_once() {
    let folder = tempfile::tempdir().expect("a folder");
    let config = write(
        folder.path(),
        "leitong.toml",
        "[input]\npreset = \"json\"\n[input.fields]\nurl = [\"url\"]\nhtml = [\"/a~2\"]\n[input.filter]\nstatuses = [\"ok\"]\n",
    );
    let found = run(["config", "check", config.to_str().expect("UTF-8")]);
    assert_eq!(found.status, 2);
    for told in [
        "input.fields.url: \"url\" is not a JSON pointer",
        "\"/a~2\" is not a JSON pointer",
        "input.filter.statuses: entry 1 of the list is not a status",
    ] {
        assert!(found.stderr.contains(told), "{told}: {}", found.stderr);
    }
    let found = run(["dedup", "--preset", "nuch", "-"]);
    assert_eq!(found.status, 2);
    assert!(found.stderr.contains("did you mean \"nutch\"?"), "{}", found.stderr);
    let found = run(["dedup", "--preset", "heritrix-log", "-"]);
    assert!(found.status == 2 && found.stderr.contains("input.warc_dir: is not set"), "{}", found.stderr);
    let found = run(["dedup", "--preset", "raw-body", "-"]);
    assert!(found.status == 2 && found.stderr.contains("leitong run"), "{}", found.stderr);
}

/// A line above the limit keeps its fields, wherever the preset has them.
#[test]
fn the_preset_reads_the_head_of_a_long_line() {
    let folder = tempfile::tempdir().expect("a folder");
    let text = "[input]\npreset = \"katana\"\n[page]\nline_bytes_max = 20000\nbytes_max = 10000\n";
    let config = write(folder.path(), "leitong.toml", text);
    let line = json!({ "request": { "endpoint": "http://a.example/1" },
        "response": { "body": "x".repeat(30_000), "status_code": 200 } });
    let config = config.to_str().expect("UTF-8");
    let found = run_with_input(["dedup", "--config", config, "-"], format!("{line}\n{line}"));
    let verdicts = found.verdicts();
    assert_eq!(verdicts.len(), 2, "{}", found.stderr);
    assert!(verdicts.iter().all(|verdict| verdict["reason"] == "TOO_LARGE"), "{}", found.stdout);
}
