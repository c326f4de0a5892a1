//! The document for consumers, `docs/verdict.schema.json`, checked against the program's output.

use std::collections::BTreeSet;
use std::path::Path;

use jsonschema::Validator;
use leitong_base::record::Reason;
use leitong_cluster::verdict::Kind;
use serde_json::{Value, json};

use crate::common::{article, name, run, run_with_input};

fn document(name: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs").join(name);
    std::fs::read_to_string(path).expect("the document")
}

fn schema() -> Value {
    serde_json::from_str(&document("verdict.schema.json")).expect("JSON")
}

fn validator() -> Validator {
    jsonschema::options().should_validate_formats(true).build(&schema()).expect("a schema")
}

fn names(object: &Value) -> BTreeSet<&str> {
    object.as_object().expect("an object").keys().map(String::as_str).collect()
}

#[track_caller]
fn assert_fits(validator: &Validator, verdicts: &[Value]) {
    let schema = schema();
    for verdict in verdicts {
        let errors: Vec<_> = validator.iter_errors(verdict).map(|error| error.to_string()).collect();
        assert!(errors.is_empty(), "{errors:?}: {verdict}");
        assert_eq!(names(verdict), names(&schema["properties"]), "every field is described");
    }
}

/// Returns verdicts of every kind, relation and place that a run can produce.
fn verdicts() -> Vec<Value> {
    let mut all = run(["dedup", "examples/pages.jsonl"]).verdicts();
    all.extend(run(["dedup", "--detector", "agglomerate-term", "examples/pages.jsonl"]).verdicts());
    let text = article(1, 40);
    let page = |more: Value| {
        let mut page = json!({ "url": "http://a.example/1", "text": text });
        page.as_object_mut().expect("an object").extend(more.as_object().expect("an object").clone());
        format!("{page}\n")
    };
    let lines = [
        page(json!({ "passthrough": [1, { "a": null }], "fetched_at": 1_795_248_000 })),
        page(json!({})),
        page(json!({ "url": "http://b.example/", "text": format!("{text}{}", article(2, 30)) })),
        page(json!({ "text": "short" })),
        page(json!({ "text": "" })),
        page(json!({ "status": 404 })),
        page(json!({ "text": null, "html": "%PDF-1.7 %\u{1}" })),
    ];
    all.extend(run_with_input(["dedup", "-"], lines.concat()).verdicts());
    let warc = "WARC/1.0\r\nWARC-Type: conversion\r\nWARC-Target-URI: http://a/\r\nContent-Length: 4\r\n\r\ntext\r\n\r\n";
    all.extend(run_with_input(["dedup", "-"], warc).verdicts());
    all
}

#[test]
fn verdicts_fit_their_schema() {
    let verdicts = verdicts();
    assert_fits(&validator(), &verdicts);
    let kinds: BTreeSet<&str> = verdicts.iter().filter_map(|verdict| verdict["kind"].as_str()).collect();
    assert_eq!(kinds.len(), Kind::ALL.len(), "{kinds:?}");
    // A verdict of a topic differs only in its place.
    let mut of_topic = verdicts[0].clone();
    of_topic["source"] = json!({ "topic": "leitong.pages", "partition": 0, "offset": 7, "epoch": 0 });
    assert_fits(&validator(), &[of_topic]);
}

#[test]
fn invalid_verdicts_do_not_fit_the_schema() {
    let validator = validator();
    let verdicts = verdicts();
    let unique = verdicts.iter().find(|verdict| verdict["kind"] == "UNIQUE").expect("one");
    for (field, wrong) in [
        ("kind", json!("NEW")),
        ("reason", json!("EMPTY")),
        ("cluster_id", json!(null)),
        ("cluster_id", json!("12")),
        ("same_url", json!(false)),
        ("similarity", json!(1.5)),
        ("fetched_at", json!("yesterday")),
        ("source", json!({ "input": "x" })),
        ("fingerprint_hash", json!(7)),
    ] {
        let mut verdict = unique.clone();
        verdict[field] = wrong;
        assert!(!validator.is_valid(&verdict), "{field}: {verdict}");
    }
    for field in names(unique) {
        let mut verdict = unique.clone();
        verdict.as_object_mut().expect("an object").remove(field);
        assert!(!validator.is_valid(&verdict), "without {field}");
    }
}

#[test]
fn the_schema_covers_all_names() {
    let schema = schema();
    let known = |field: &str| -> BTreeSet<String> {
        let names = schema["properties"][field]["enum"].as_array().expect("names").iter();
        names.filter_map(|name| Some(name.as_str()?.to_owned())).collect()
    };
    assert_eq!(known("kind"), Kind::ALL.iter().map(|kind| kind.as_str().to_owned()).collect());
    assert_eq!(known("reason"), Reason::ALL.iter().map(|reason| reason.as_str().to_owned()).collect());
}

/// The sentence in all documents once dropped undecidable pages. What it selects must be what `--keep` keeps.
#[test]
fn the_documented_selection_is_what_keep_keeps() {
    let selection = "select(.kind | endswith(\"_DUPLICATE\") | not)";
    for file in ["README.md", "docs/commands.md", "docs/zh/start.md"] {
        let text = std::fs::read_to_string(file).expect("a page");
        assert!(text.contains(selection), "{file}");
    }
    let help = run(["dedup", "--help"]).stdout.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(help.contains(selection), "{help}");
    for file in ["docs/kafka.md", "docs/rust.md", "docs/asyncapi.yaml"] {
        let text = std::fs::read_to_string(file).expect("a page");
        let words = text.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(words.contains("eep what is not a duplicate"), "{file}");
    }
    let folder = tempfile::tempdir().expect("a folder");
    let [keep, verdicts] = ["keep.jsonl", "verdicts.jsonl"].map(|name| folder.path().join(name));
    let sample = "examples/pages.jsonl";
    let dedup = run(["dedup", sample, "--keep", name(&keep), "--output", name(&verdicts)]);
    assert_eq!(dedup.status, 0, "{}", dedup.stderr);
    let lines = |path: &Path| -> Vec<Value> {
        let text = std::fs::read_to_string(path).expect("lines");
        text.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect()
    };
    let is_selected = |verdict: &&Value| !verdict["kind"].as_str().expect("a kind").ends_with("_DUPLICATE");
    let verdicts = lines(&verdicts);
    let selected: Vec<_> = verdicts.iter().filter(is_selected).map(|verdict| &verdict["page_id"]).collect();
    let kept = lines(&keep);
    assert_eq!(selected, kept.iter().map(|page| &page["id"]).collect::<Vec<_>>());
    assert!(verdicts.iter().any(|verdict| verdict["kind"] == "UNDECIDABLE") && selected.len() == 41);
}
