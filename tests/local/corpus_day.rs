//! The script of `examples/corpus`, as its users run it, over its sample crawl.

use std::collections::BTreeMap;
use std::io::Read;
use std::path::Path;
use std::process::{Command, Output};

use serde_json::Value;

use crate::common::{name, run, write};

const CRAWL: &str = "examples/corpus/crawl.warc.gz";

fn day(corpus: &Path, day: &str, crawl: &str) -> Output {
    let mut command = Command::new("examples/corpus/day.sh");
    command.args([name(corpus), day, crawl]).env("LEITONG", env!("CARGO_BIN_EXE_leitong"));
    command.output().expect("the script runs")
}

/// Returns the objects of a file of JSON lines, compressed or not.
fn objects(file: &Path) -> Vec<Value> {
    let bytes = std::fs::read(file).expect("an output");
    let mut text = String::new();
    match file.extension().is_some_and(|extension| extension == "gz") {
        true => flate2::read::MultiGzDecoder::new(&*bytes).read_to_string(&mut text).expect("gzip"),
        false => (&*bytes).read_to_string(&mut text).expect("UTF-8"),
    };
    text.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect()
}

fn by_url(verdicts: &[Value]) -> BTreeMap<&str, Vec<&Value>> {
    let mut kinds = BTreeMap::<&str, Vec<&Value>>::new();
    for verdict in verdicts {
        kinds.entry(verdict["url"].as_str().expect("a url")).or_default().push(&verdict["kind"]);
    }
    kinds
}

#[test]
fn the_script_of_a_day_says_how_to_use_it() {
    let run = Command::new("examples/corpus/day.sh").arg("corpus").output().expect("the script runs");
    let said = String::from_utf8_lossy(&run.stderr).into_owned();
    assert!(run.status.code() == Some(2) && said.contains("day.sh CORPUS DAY CRAWL..."), "{said}");
}

#[test]
fn the_script_of_a_day_turns_a_crawl_into_markdown_once() {
    let folder = tempfile::tempdir().expect("a folder");
    let out = folder.path().join("monday");
    let first = day(folder.path(), "monday", CRAWL);
    let said = String::from_utf8_lossy(&first.stderr).into_owned();
    assert!(first.status.success(), "{said}");

    // The sample crawl has the sample pages.
    let verdicts = objects(&out.join("verdicts.jsonl"));
    assert_eq!(by_url(&verdicts), by_url(&run(["dedup", "examples/pages.jsonl"]).verdicts()));

    let texts = objects(&out.join("texts.jsonl.gz"));
    let unique = verdicts.iter().filter(|verdict| verdict["kind"] == "UNIQUE").count();
    // One document is dropped for the benchmark.
    assert_eq!(texts.len(), unique - 1, "{said}");
    assert!(said.contains("benchmarks: 1 documents contain a passage"), "{said}");
    assert!(said.contains("0 because text would be lost, 0 because facts differ"), "{said}");
    let urls: Vec<&str> = texts.iter().filter_map(|text| text["url"].as_str()).collect();
    assert!(!urls.contains(&"https://nightgarden.example/observing/autumn-binoculars"), "{urls:?}");
    let tea = texts.iter().find(|text| text["url"] == "https://tea.example/2026/spring-harvest.html");
    let tea = tea.and_then(|tea| tea["text"].as_str()).expect("its text");
    assert!(tea.contains("[茶叶合作社](https://tea.example/people/coop)"), "{tea}");
    let sites = std::fs::read_to_string(out.join("sites.csv")).expect("accounts");
    assert!(sites.contains("\ntea.example,,1,"), "{sites}");

    let written = std::fs::read(out.join("texts.jsonl.gz")).expect("texts");
    let again = day(folder.path(), "monday", CRAWL);
    let said = String::from_utf8_lossy(&again.stderr).into_owned();
    assert!(again.status.success() && said.contains("already done"), "{said}");
    assert_eq!(std::fs::read(out.join("texts.jsonl.gz")).expect("texts"), written);

    // The next day compares its pages with those of the first day, and leaves the texts of the first day as they are.
    let mut records = Vec::new();
    let compressed = std::fs::read(CRAWL).expect("the crawl");
    flate2::read::MultiGzDecoder::new(&*compressed).read_to_end(&mut records).expect("gzip");
    let crawl = write(folder.path(), "tuesday.warc", records);
    let next = day(folder.path(), "tuesday", name(&crawl));
    assert!(next.status.success(), "{}", String::from_utf8_lossy(&next.stderr));
    assert_eq!(std::fs::read(out.join("texts.jsonl.gz")).expect("texts"), written);
    let texts = objects(&folder.path().join("tuesday/texts.jsonl.gz"));
    assert_eq!(texts, Vec::<Value>::new(), "all texts are known");
}
