//! A page with the text of an earlier page is a duplicate, wherever words begin and whichever page of a
//! cluster had the text.

use serde_json::{Value, json};

use crate::common::{article, dedup_files, name, page, run, write};

/// Returns a text of sentences that have no five words in common.
fn sentences_of(sentences: usize) -> String {
    let verbs = ["carried", "painted", "measured", "followed", "repaired", "counted", "watched", "sheltered"];
    let things =
        ["lantern", "harbour", "orchard", "violin", "glacier", "bakery", "railway", "meadow", "archive"];
    let sentence = |at: usize| {
        let pick = |words: &[&str], step: usize| words[(at * step + at / 3) % words.len()].to_owned();
        format!(
            "On evening {at} the {} keeper {} a {} beside the {} while {} neighbours {} quietly. ",
            pick(&things, 5),
            pick(&verbs, 3),
            pick(&things, 7),
            pick(&things, 2),
            at + 2,
            pick(&verbs, 5),
        )
    };
    (0..sentences).map(sentence).collect()
}

/// Returns the same characters without every second space, which changes most words.
fn glued(text: &str) -> String {
    let mut spaces = 0;
    let keeps = |c: &char| {
        spaces += usize::from(*c == ' ');
        *c != ' ' || spaces % 2 == 0
    };
    text.chars().filter(keeps).collect()
}

fn judged(arguments: &[&str], texts: &[String]) -> Vec<Value> {
    let folder = tempfile::tempdir().expect("a folder");
    let pages: Vec<String> =
        texts.iter().enumerate().map(|(number, text)| page(&format!("p{number}"), text)).collect();
    let input = write(folder.path(), "pages.jsonl", pages.concat());
    let run = dedup_files(arguments, &[&input]);
    assert_eq!(run.status, 0, "{}", run.stderr);
    run.verdicts()
}

/// White space decides where words end. So two pages with one `text_digest` may have fingerprints that are
/// not near, but the second one must not be UNIQUE.
#[test]
fn a_text_without_its_spaces_is_an_exact_duplicate() {
    let text = sentences_of(12);
    let verdicts = judged(&[], &[text.clone(), glued(&text)]);
    assert_eq!(verdicts[0]["text_digest"], verdicts[1]["text_digest"]);
    assert_eq!(
        (&verdicts[1]["kind"], &verdicts[1]["canonical_page_id"]),
        (&json!("EXACT_DUPLICATE"), &json!("p0"))
    );
    assert_eq!((&verdicts[1]["relation"], &verdicts[1]["share"]), (&json!("SAME"), &json!(1)));
    assert_eq!(verdicts[1]["evidence"]["equal_text"], Value::Null);
}

/// A page that joined a cluster is not a centroid. A copy of it that is not near the first page must not
/// found a new cluster.
#[test]
fn the_text_of_a_page_that_joined_a_cluster_is_found_again() {
    let first = sentences_of(40);
    let member = format!("{first}A later edition adds one more sentence about the ferry.");
    let verdicts = judged(&[], &[first, member.clone(), glued(&member), article(3, 12)]);
    let kinds: Vec<&str> = verdicts.iter().filter_map(|verdict| verdict["kind"].as_str()).collect();
    assert_eq!(kinds, ["UNIQUE", "NEAR_DUPLICATE", "NEAR_DUPLICATE", "UNIQUE"]);
    assert_eq!(verdicts[2]["cluster_id"], verdicts[0]["cluster_id"]);
    assert_eq!(verdicts[1]["evidence"]["equal_text"], Value::Null);
    assert_eq!(verdicts[2]["evidence"]["equal_text"], true);
    // Distance, relation and shares compare the two actual texts.
    assert!(verdicts[2]["distance"].is_number() && verdicts[2]["share"].is_number(), "{}", verdicts[2]);
}

/// Known texts must survive in every form of a table: in its file, in blocks, exported and imported, merged,
/// compacted.
#[test]
fn texts_are_known_in_every_form_of_a_table() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = |file: &str| name(&folder.path().join(file)).to_owned();
    let first = sentences_of(40);
    let member = format!("{first}A later edition adds one more sentence about the ferry.");
    let on_disk = write(folder.path(), "disk.toml", b"[table]\non_disk = true\nblock_centroids = 1024\n");
    let on_disk = name(&on_disk);
    judged(&["--table", &path("memory")], &[first.clone(), member.clone()]);
    judged(&["--config", on_disk, "--table", &path("disk")], &[first, member.clone()]);
    judged(&["--table", &path("other")], &[article(3, 12)]);
    let done = |arguments: &[&str]| {
        let run = run(arguments);
        assert_eq!(run.status, 0, "{arguments:?}: {}", run.stderr);
    };
    for (config, from) in [(None, "memory"), (Some(on_disk), "disk")] {
        let config = config.map_or(Vec::new(), |config| vec!["--config", config]);
        let (lines, imported, merged) =
            (format!("{from}.jsonl"), format!("{from}-imported"), format!("{from}-merged"));
        done(&["table", "export", "--all", "--output", &path(&lines), &path(from)]);
        done(&["table", "import", "--output", &path(&imported), &path(&lines)]);
        done(&[
            "table",
            "import",
            "--config",
            on_disk,
            "--output",
            &path(&format!("{imported}-disk")),
            &path(&lines),
        ]);
        done(&["table", "merge", "--output", &path(&merged), &path("other"), &path(from)]);
        done(&[&["table", "compact"], &config[..], &[&path(from)]].concat());
        for (config, table) in [
            (config.clone(), from.to_owned()),
            (Vec::new(), imported.clone()),
            (vec!["--config", on_disk], format!("{imported}-disk")),
            (Vec::new(), merged),
        ] {
            let table = path(&table);
            let verdicts = judged(&[&config[..], &["--table", &table]].concat(), &[glued(&member)]);
            assert_eq!(verdicts[0]["evidence"]["equal_text"], true, "{table}: {}", verdicts[0]);
        }
    }
}
