//! `canonical.prefer`: which page represents a cluster, as consumers of verdicts see it.

use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use crate::common::{self, article, run, run_with_input, write};

const RULES: &str = "[canonical]\nprefer = [\"hosts\", \"canonical-link\", \"https\", \"longest\"]\n\
                     hosts = [\"www.news.example\", \"*.news.example\"]\n";

fn config(folder: &Path, text: &str) -> PathBuf {
    write(folder, "leitong.toml", text)
}

fn dedup(config: &Path, more: &[&str], pages: &[Value]) -> Vec<Value> {
    let config = config.to_str().expect("UTF-8");
    let lines: String = pages.iter().map(|page| format!("{page}\n")).collect();
    let run = run_with_input([&["dedup", "-", "--config", config], more].concat(), lines);
    assert_eq!(run.status, 0, "{}", run.stderr);
    run.verdicts()
}

/// Returns a page with the same text plus `more`.
fn page(url: &str, more: &str) -> Value {
    json!({ "id": url, "url": url, "text": format!("{}{more}", article(3, 40)) })
}

fn named(verdict: &Value) -> (&str, &str, Option<&str>) {
    let text = |field: &str| verdict[field].as_str();
    (text("kind").expect("a kind"), text("canonical_page_id").expect("a page"), text("replaces_page_id"))
}

/// The first copy to arrive is not canonical permanently: the original replaces a mobile copy.
#[test]
fn the_original_replaces_a_mobile_copy_that_came_first() {
    let folder = tempfile::tempdir().expect("a folder");
    let [copy, mobile, original] =
        ["https://reprints.example/1", "http://m.news.example/1", "https://www.news.example/1"];
    let pages = [
        page(copy, ""),
        page(mobile, ""),
        page(original, ""),
        page("https://m.news.example/1?again", ""),
        page(original, "编辑部后来添了一句话。"),
        page("https://reprints.example/2", ""),
    ];
    let verdicts = dedup(&config(folder.path(), RULES), &[], &pages);
    let named: Vec<_> = verdicts.iter().map(named).collect();
    assert_eq!(
        named,
        [
            ("UNIQUE", copy, None),
            ("EXACT_DUPLICATE", mobile, Some(copy)),
            ("EXACT_DUPLICATE", original, Some(mobile)),
            ("EXACT_DUPLICATE", original, None),
            // The page is longer now than when it was first fetched, but a page never replaces itself.
            ("NEAR_DUPLICATE", original, None),
            ("EXACT_DUPLICATE", original, None),
        ]
    );
    // A consumer that stores new pages, and replaces the canonical one, has the original.
    let stored = verdicts.iter().filter(|v| v["kind"] == "UNIQUE" || v["same_url"] == true);
    let stored: Vec<_> = stored.filter_map(|verdict| verdict["page_id"].as_str()).collect();
    assert_eq!(stored, [copy, mobile, original, original]);
    let clusters: std::collections::BTreeSet<_> =
        verdicts.iter().map(|verdict| verdict["cluster_id"].to_string()).collect();
    assert_eq!(clusters.len(), 1, "the cluster keeps its id");
    assert_eq!(verdicts[2]["replaces_url"], mobile);
}

/// Which pages are near does not depend on the page that represents a cluster.
#[test]
fn kinds_and_clusters_do_not_change() {
    let folder = tempfile::tempdir().expect("a folder");
    let pages = common::sample_pages();
    let strip = |verdicts: Vec<Value>| -> Vec<Value> {
        let fields = ["page_id", "kind", "cluster_id", "distance", "similarity", "relation", "evidence"];
        verdicts.iter().map(|verdict| fields.iter().map(|field| verdict[*field].clone()).collect()).collect()
    };
    let plain = strip(dedup(&config(folder.path(), ""), &[], &pages));
    let longest = "[canonical]\nprefer = [\"published\", \"longest\"]\n";
    let ranked = dedup(&config(folder.path(), longest), &[], &pages);
    assert!(ranked.iter().any(|verdict| verdict["replaces_page_id"] != Value::Null), "it is tried");
    assert_eq!(strip(ranked), plain);
}

#[test]
fn a_saved_table_knows_the_pages_that_represent_its_clusters() {
    let folder = tempfile::tempdir().expect("a folder");
    let config = config(folder.path(), RULES);
    let table = folder.path().join("table");
    let table = table.to_str().expect("UTF-8");
    let (copy, original) = ("http://reprints.example/1", "https://www.news.example/1");
    let pages = [page(copy, ""), page(original, ""), page("https://m.news.example/1", "")];
    let split: Vec<Value> = pages
        .iter()
        .flat_map(|page| dedup(&config, &["--table", table], std::slice::from_ref(page)))
        .collect();
    let fields_of = |verdicts: &[Value]| {
        verdicts.iter().map(|verdict| format!("{:?}", named(verdict))).collect::<Vec<_>>()
    };
    assert_eq!(fields_of(&split), fields_of(&dedup(&config, &[], &pages)));
    let export = run(["table", "export", table]);
    let centroid: Value = serde_json::from_str(&export.stdout).expect("one centroid");
    assert_eq!((&centroid["page_id"], &centroid["canonical_page_id"]), (&json!(copy), &json!(original)));
    assert_eq!(centroid["canonical_url"], original);
}

#[test]
fn preferences_that_cannot_be_applied_are_refused() {
    let folder = tempfile::tempdir().expect("a folder");
    for (text, wanted) in [
        ("prefer = [\"longst\"]", "must be"),
        ("prefer = [\"https\", \"https\"]", "twice"),
        ("prefer = [\"hosts\"]", "canonical.hosts: is empty"),
        ("hosts = [\"a.example\"]", "has no effect without"),
        ("prefer = [\"hosts\"]\nhosts = [\"http://a.example/\"]", "is not a host"),
        ("prefer = [\"hosts\"]\nhosts = [\"*.\"]", "is not a host"),
        ("prefer = [\"published\"]\n[extract]\nmetadata = false", "extract.metadata = true"),
        ("prefer = [\"https\"]\n[table]\non_disk = true", "cannot be used with table.on_disk"),
    ] {
        let config = config(folder.path(), &format!("[canonical]\n{text}\n"));
        let refused = run(["config", "check", config.to_str().expect("UTF-8")]);
        assert_ne!(refused.status, 0, "{text}");
        assert!(
            refused.stderr.contains("canonical.") && refused.stderr.contains(wanted),
            "{}",
            refused.stderr
        );
    }
}
