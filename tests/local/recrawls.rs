//! `recrawls.enabled`: pages that are crawled again or withdrawn, as consumers of verdicts see it.

use std::path::Path;

use serde_json::{Value, json};

use crate::common::{self, article, run, run_with_input, write};

const ENABLED: &str = "[recrawls]\nenabled = true\n";

fn dedup(folder: &Path, config: &str, more: &[&str], pages: &[Value]) -> Vec<Value> {
    let config = write(folder, "leitong.toml", config);
    let lines: String = pages.iter().map(|page| format!("{page}\n")).collect();
    let arguments = [&["dedup", "-", "--config", config.to_str().expect("UTF-8")], more].concat();
    let run = run_with_input(arguments, lines);
    assert_eq!(run.status, 0, "{}", run.stderr);
    run.verdicts()
}

fn page(url: &str, text: &str) -> Value {
    json!({ "id": url, "url": format!("https://a.example/{url}"), "text": text })
}

fn withdrawn(url: &str) -> Value {
    json!({ "id": url, "url": format!("https://a.example/{url}"), "withdrawn": true })
}

/// Returns the kind, the canonical page, what has become of the page and of its cluster, and the page that
/// represents the cluster.
fn observed(verdict: &Value) -> [&str; 5] {
    let recrawl = &verdict["recrawl"];
    [
        &verdict["kind"],
        &verdict["canonical_page_id"],
        &recrawl["outcome"],
        &recrawl["left_cluster"],
        &recrawl["successor_page_id"],
    ]
    .map(|value| value.as_str().unwrap_or_default())
}

#[test]
fn a_page_that_is_crawled_again_is_recognised() {
    let folder = tempfile::tempdir().expect("a folder");
    let (old, new) = (article(1, 40), article(2, 40));
    let edited = format!("{old}编辑部后来又添了一句话。");
    let pages = [
        page("a", &old),
        page("a", &old),
        page("copy", &old),
        page("a", &edited),
        page("a", &new),
        page("later", &old),
        page("copy", &new),
        page("b", &old),
        page("a", "short"),
        page("a", &new),
    ];
    let verdicts = dedup(folder.path(), ENABLED, &[], &pages);
    let expected = [
        ["UNIQUE", "a", "", "", ""],
        ["EXACT_DUPLICATE", "a", "UNCHANGED", "", ""],
        ["EXACT_DUPLICATE", "a", "", "", ""],
        ["NEAR_DUPLICATE", "a", "CHANGED", "", ""],
        // The copy still has the old text and represents its cluster now.
        ["UNIQUE", "a", "CHANGED", "SUCCESSOR", "copy"],
        ["EXACT_DUPLICATE", "copy", "", "", ""],
        ["EXACT_DUPLICATE", "a", "COPY", "SUCCESSOR", "later"],
        ["EXACT_DUPLICATE", "later", "", "", ""],
        // A page without a text says nothing about its earlier text.
        ["UNDECIDABLE", "", "", "", ""],
        ["EXACT_DUPLICATE", "a", "UNCHANGED", "", ""],
    ];
    for (at, (verdict, expected)) in verdicts.iter().zip(expected).enumerate() {
        assert_eq!(observed(verdict), expected, "page {at}: {verdict}");
    }
    assert_eq!(verdicts[1]["same_url"], true);
    // A first visit has no `recrawl`, a later one has, whatever `same_url` says.
    let mut visited = std::collections::BTreeSet::new();
    for verdict in verdicts.iter().filter(|verdict| verdict["kind"] != "UNDECIDABLE") {
        let is_later = !visited.insert(verdict["url"].to_string());
        assert_eq!(verdict["recrawl"].is_object(), is_later, "{verdict}");
        assert!(verdict["kind"] != "UNIQUE" || verdict["same_url"] == true, "{verdict}");
    }
    assert_eq!(verdicts[1]["recrawl"]["similarity"], 1);
    let share = |at: usize, field: &str| verdicts[at]["recrawl"][field].as_f64().expect("a number");
    assert_eq!([share(1, "share"), share(1, "former_share")], [1.0, 1.0]);
    assert!(share(3, "former_share") > 0.9 && share(3, "share") < 1.0, "{}", verdicts[3]);
    assert!(share(4, "share") < share(3, "share") - 0.2, "{}", verdicts[4]);
    assert_eq!(verdicts[4]["recrawl"]["left_cluster_id"], verdicts[0]["cluster_id"]);
    assert_eq!(verdicts[5]["cluster_id"], verdicts[0]["cluster_id"]);
    // Without the setting, verdicts do not mention recrawls.
    let without = dedup(folder.path(), "", &[], &pages);
    assert!(without.iter().all(|verdict| verdict["recrawl"].is_null()));
    assert_eq!(observed(&without[5]), ["EXACT_DUPLICATE", "a", "", "", ""]);
}

/// A page must not join the cluster of a text after all pages with this text were withdrawn.
#[test]
fn nothing_is_near_a_withdrawn_page() {
    let folder = tempfile::tempdir().expect("a folder");
    let text = article(1, 40);
    let pages = [
        page("a", &text),
        page("b", &text),
        withdrawn("a"),
        page("c", &text),
        withdrawn("c"),
        withdrawn("b"),
        page("d", &text),
        withdrawn("nobody"),
        withdrawn("a"),
        page("a", &text),
    ];
    let verdicts = dedup(folder.path(), ENABLED, &[], &pages);
    let expected = [
        ["UNIQUE", "a", "", "", ""],
        ["EXACT_DUPLICATE", "a", "", "", ""],
        ["UNDECIDABLE", "", "WITHDRAWN", "SUCCESSOR", "b"],
        ["EXACT_DUPLICATE", "b", "", "", ""],
        ["UNDECIDABLE", "", "WITHDRAWN", "REMAINS", ""],
        ["UNDECIDABLE", "", "WITHDRAWN", "ENDED", ""],
        ["UNIQUE", "d", "", "", ""],
        ["UNDECIDABLE", "", "", "", ""],
        ["UNDECIDABLE", "", "", "", ""],
        ["EXACT_DUPLICATE", "d", "", "", ""],
    ];
    for (at, (verdict, expected)) in verdicts.iter().zip(expected).enumerate() {
        assert_eq!(observed(verdict), expected, "page {at}: {verdict}");
    }
    assert!(verdicts.iter().filter(|v| v["kind"] == "UNDECIDABLE").all(|v| v["reason"] == "WITHDRAWN"));
    // The same pages again, one in each run, which continues with the table of the previous run.
    let folders = [folder.path().join("table"), folder.path().join("daily")];
    let tables = folders.each_ref().map(|table| table.to_str().expect("UTF-8"));
    let whole = dedup(folder.path(), ENABLED, &["--table", tables[0]], &pages);
    let days = pages.chunks(1).flat_map(|day| dedup(folder.path(), ENABLED, &["--table", tables[1]], day));
    let strip = |verdict: &Value| {
        let mut verdict = common::stable_fields(verdict);
        verdict["source"] = Value::Null;
        verdict
    };
    let days: Vec<Value> = days.map(|verdict| strip(&verdict)).collect();
    common::assert_same("one run and one a page", &whole.iter().map(strip).collect::<Vec<_>>(), &days);
    for arguments in [&["table", "info", "--verify", tables[1]][..], &["table", "info", tables[1]]] {
        let read = run(arguments);
        assert_eq!(read.status, 0, "{arguments:?}: {}", read.stderr);
    }
}

/// While recrawls are off, a takedown has no effect, so its verdict must not say WITHDRAWN.
#[test]
fn withdrawing_a_page_without_the_setting_is_a_dead_letter_that_names_the_setting() {
    let pages = [page("a", &article(1, 40)), withdrawn("a")];
    let lines: String = pages.iter().map(|page| format!("{page}\n")).collect();
    let run = run_with_input(["dedup", "-"], lines);
    assert_eq!((run.status, run.verdicts().len()), (3, 1), "{}", run.stderr);
    assert!(run.stderr.contains("set enabled = true under [recrawls] (RECRAWLS_OFF)"), "{}", run.stderr);
}

/// Row 1 of a rewritten file is another document, not a page with a new text.
#[test]
fn documents_without_a_url_are_not_crawled_again() {
    let folder = tempfile::tempdir().expect("a folder");
    let config = write(folder.path(), "leitong.toml", ENABLED);
    let table = folder.path().join("table");
    for text in [1, 2] {
        let input = write(folder.path(), "a.jsonl", format!("{}\n", json!({ "text": article(text, 40) })));
        let options = ["--config", &config.to_string_lossy(), "--table", &table.to_string_lossy()];
        let verdicts = common::dedup_files(&options, &[&input]).verdicts();
        assert_eq!((&verdicts[0]["kind"], &verdicts[0]["recrawl"]), (&json!("UNIQUE"), &Value::Null));
    }
}

/// A run that ignores URLs would lose the URLs of its table, so it is refused.
#[test]
fn a_table_with_urls_needs_the_setting() {
    let folder = tempfile::tempdir().expect("a folder");
    let table = folder.path().join("table");
    let table = table.to_str().expect("UTF-8");
    dedup(folder.path(), ENABLED, &["--table", table], &[page("a", &article(1, 40))]);
    let run = run_with_input(["dedup", "-", "--table", table], "");
    assert_eq!(run.status, 1);
    assert!(run.stderr.contains("cluster_hash"), "{}", run.stderr);
    let config = write(folder.path(), "disk.toml", "[recrawls]\nenabled = true\n[table]\non_disk = true\n");
    let run = run_with_input(["dedup", "-", "--config", config.to_str().expect("UTF-8")], "");
    assert_eq!(run.status, 2);
    assert!(run.stderr.contains("recrawls.enabled: cannot be used with table.on_disk"), "{}", run.stderr);
}
