//! The sample pages get the verdicts that they were written for.

use std::collections::HashMap;

use crate::common::{run, sample_pages};

#[test]
fn every_sample_page_gets_its_verdict() {
    let run = run(["dedup", "examples/pages.jsonl"]);
    assert_eq!(run.status, 0, "{}", run.stderr);
    let verdicts = run.verdicts();
    let pages = sample_pages();
    assert_eq!(verdicts.len(), pages.len(), "one verdict a page");
    let mut wrong = Vec::new();
    for (page, verdict) in pages.iter().zip(&verdicts) {
        assert_eq!(page["id"], verdict["page_id"], "in the order of the input");
        let expected = &page["expect"];
        let of = if expected["of"].is_null() { &verdict["canonical_page_id"] } else { &expected["of"] };
        if (&verdict["kind"], &verdict["canonical_page_id"]) != (&expected["kind"], of)
            || (!expected["reason"].is_null() && expected["reason"] != verdict["reason"])
        {
            wrong.push(format!("{}: expected {expected}, got {verdict}", page["id"]));
        }
    }
    assert!(wrong.is_empty(), "{} of {} are wrong:\n{}", wrong.len(), pages.len(), wrong.join("\n"));
}

#[test]
fn a_verdict_says_what_the_contract_promises() {
    let verdicts = run(["dedup", "examples/pages.jsonl"]).verdicts();
    let pages: HashMap<_, _> = sample_pages().into_iter().map(|p| (p["id"].clone(), p)).collect();
    const FIELDS: [&str; 33] = [
        "page_id",
        "url",
        "corpus",
        "kind",
        "reason",
        "cluster_id",
        "canonical_page_id",
        "canonical_url",
        "same_url",
        "detector",
        "distance",
        "similarity",
        "relation",
        "share",
        "canonical_share",
        "related_page_id",
        "related_url",
        "replaces_page_id",
        "replaces_url",
        "recrawl",
        "fingerprint",
        "text_digest",
        "text_chars",
        "source",
        "log_partition",
        "log_offset",
        "fetched_at",
        "metadata",
        "decided_at",
        "fingerprint_hash",
        "cluster_hash",
        "evidence",
        "passthrough",
    ];
    for (line, verdict) in (1..).zip(&verdicts) {
        let fields: Vec<_> = verdict.as_object().expect("an object").keys().map(String::as_str).collect();
        assert_eq!(fields, FIELDS, "all fields, always");
        assert_eq!(verdict["source"]["line"], line);
        assert_eq!(verdict["log_offset"], line - 1);
        let duplicate = verdict["kind"] == "EXACT_DUPLICATE" || verdict["kind"] == "NEAR_DUPLICATE";
        assert_eq!(duplicate, !verdict["distance"].is_null(), "{verdict}");
        let related = !verdict["related_page_id"].is_null();
        assert_eq!(duplicate || related, !verdict["relation"].is_null(), "{verdict}");
        assert!(!related || verdict["kind"] == "UNIQUE", "{verdict}");
        assert_eq!(related, !verdict["related_url"].is_null(), "{verdict}");
        assert_eq!(verdict["kind"] == "UNDECIDABLE", !verdict["reason"].is_null(), "{verdict}");
        assert_eq!(verdict["kind"] == "UNDECIDABLE", verdict["cluster_id"].is_null(), "{verdict}");
        if duplicate {
            let canonical = &pages[&verdict["canonical_page_id"]];
            assert_eq!(verdict["same_url"], verdict["url"] == canonical["url"], "{verdict}");
            assert_eq!(verdict["canonical_url"], canonical["url"]);
        }
        for id in ["cluster_id", "text_digest"] {
            assert!(verdict[id].as_str().is_none_or(|id| id.len() == 32), "{verdict}");
        }
        for hash in ["fingerprint", "fingerprint_hash", "cluster_hash"] {
            assert!(verdict[hash].as_str().is_none_or(|hash| hash.len() == 16), "{verdict}");
        }
    }
    let excerpt = verdicts.iter().find(|v| v["page_id"] == "zh-race-excerpt").expect("it is there");
    let found = [&excerpt["kind"], &excerpt["relation"], &excerpt["related_page_id"]];
    assert_eq!(found, ["UNIQUE", "EXCERPT", "zh-race-news"]);
    let recrawl = verdicts.iter().find(|v| v["page_id"] == "zh-library-recrawl").expect("it is there");
    assert_eq!(recrawl["same_url"], true);
}

#[test]
fn the_papers_setting_ships_as_an_example() {
    let pages = ["examples/pages.jsonl#en-lighthouse", "examples/pages.jsonl#en-lighthouse-mirror"];
    let run = run(["compare", "--variant", "examples/simhash-paper.toml", pages[0], pages[1]]);
    assert_eq!(run.status, 0, "{}", run.stderr);
    assert!(!run.stdout.contains("sketch_matches_needed"), "nothing confirms: {}", run.stdout);
}
