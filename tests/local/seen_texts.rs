//! A page with the text of an earlier page is a duplicate, wherever words begin and whichever page of a
//! cluster had the text.

use serde_json::{Value, json};

use crate::common::{article, dedup_files, name, page, run, write};

/// A text of sentences that have no five words in common.
fn story(sentences: usize) -> String {
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

/// The same characters with every second space left out, so that most words are others.
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

/// White space decides where words end. Two pages with one `text_digest` had fingerprints that were not near,
/// and the second one was UNIQUE.
#[test]
fn a_text_whose_spaces_are_lost_is_an_exact_duplicate() {
    let text = story(12);
    let verdicts = judged(&[], &[text.clone(), glued(&text)]);
    assert_eq!(verdicts[0]["text_digest"], verdicts[1]["text_digest"]);
    assert_eq!(
        (&verdicts[1]["kind"], &verdicts[1]["canonical_page_id"]),
        (&json!("EXACT_DUPLICATE"), &json!("p0"))
    );
    assert_eq!((&verdicts[1]["relation"], &verdicts[1]["share"]), (&json!("SAME"), &json!(1)));
    assert_eq!(verdicts[1]["evidence"]["equal_text"], Value::Null);
}

/// A page that had joined a cluster was no centroid, so a copy of it that was not near the first page founded
/// a cluster of its own.
#[test]
fn a_text_of_a_page_that_joined_is_a_near_duplicate_with_equal_text() {
    let first = story(40);
    let member = format!("{first}A later edition adds one more sentence about the ferry.");
    let verdicts = judged(&[], &[first, member.clone(), glued(&member), article(3, 12)]);
    let kinds: Vec<&str> = verdicts.iter().filter_map(|verdict| verdict["kind"].as_str()).collect();
    assert_eq!(kinds, ["UNIQUE", "NEAR_DUPLICATE", "NEAR_DUPLICATE", "UNIQUE"]);
    assert_eq!(verdicts[2]["cluster_id"], verdicts[0]["cluster_id"]);
    assert_eq!(verdicts[1]["evidence"]["equal_text"], Value::Null);
    assert_eq!(verdicts[2]["evidence"]["equal_text"], true);
    // Distance, relation and shares are those of the two texts as they are.
    assert!(verdicts[2]["distance"].is_number() && verdicts[2]["share"].is_number(), "{}", verdicts[2]);
}

/// What is known of texts has to survive wherever a table is kept: in its file, in blocks, exported and
/// imported, merged, compacted.
#[test]
fn texts_are_known_wherever_a_table_is_kept() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = |file: &str| name(&folder.path().join(file)).to_owned();
    let first = story(40);
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
