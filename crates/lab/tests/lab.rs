//! The program as users run it, over a small generated stream.

#[path = "../../../tests/common/article.rs"]
mod article;

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use article::articles_and_copies;
use serde_json::{Value, json};

struct Run {
    status: i32,
    stdout: String,
    stderr: String,
}

/// Runs the program with these arguments and this standard input, in the root folder of the repository.
fn run_with_input(arguments: impl IntoIterator<Item = impl AsRef<std::ffi::OsStr>>, input: &str) -> Run {
    let mut command = Command::new(env!("CARGO_BIN_EXE_leitong-lab"));
    command.args(arguments).current_dir(concat!(env!("CARGO_MANIFEST_DIR"), "/../..")).env_remove("RUST_LOG");
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().expect("the program starts");
    // The program may stop before it has read everything.
    let _ = child.stdin.take().expect("an input").write_all(input.as_bytes());
    let output = child.wait_with_output().expect("the program ends");
    let text = |bytes| String::from_utf8(bytes).expect("the program writes UTF-8");
    Run {
        status: output.status.code().expect("the program was not killed"),
        stdout: text(output.stdout),
        stderr: text(output.stderr),
    }
}

fn run(arguments: impl IntoIterator<Item = impl AsRef<std::ffi::OsStr>>) -> Run {
    run_with_input(arguments, "")
}

fn write(folder: &Path, name: &str, contents: impl AsRef<[u8]>) -> PathBuf {
    let path = folder.join(name);
    std::fs::write(&path, contents).expect("a file can be written");
    path
}

/// Writes articles and copies of them.
fn stream(folder: &Path, labelled: bool) -> PathBuf {
    write(folder, if labelled { "labelled.jsonl" } else { "plain.jsonl" }, articles_and_copies(labelled))
}

fn text(path: &Path) -> &str {
    path.to_str().expect("UTF-8")
}

#[test]
fn eval_writes_tables_and_json() {
    let folder = tempfile::tempdir().expect("a folder");
    let pages = stream(folder.path(), true);
    let [json, markdown] = ["r.json", "r.md"].map(|name| folder.path().join(name));
    let arguments = |json: &Path| {
        vec![
            "eval".to_owned(),
            "--overwrite".into(),
            "--texts".into(),
            "8".into(),
            "--pairs".into(),
            "200".into(),
            "--variant".into(),
            "examples/simhash-paper.toml".into(),
            "--detector".into(),
            "simhash".into(),
            "--detector".into(),
            "paragraph".into(),
            "--detector".into(),
            "shingle".into(),
            "--json".into(),
            text(json).into(),
            "--markdown".into(),
            text(&markdown).into(),
            text(&pages).into(),
        ]
    };
    let first = run(arguments(&json));
    assert_eq!(first.status, 0, "{}", first.stderr);
    assert_eq!(std::fs::read_to_string(&markdown).expect("tables"), first.stdout);
    let report: Value = serde_json::from_slice(&std::fs::read(&json).expect("JSON")).expect("JSON");
    let names: Vec<&str> =
        report["detectors"].as_array().expect("a list").iter().filter_map(|d| d["name"].as_str()).collect();
    assert_eq!(names, ["simhash", "paragraph", "shingle", "simhash-paper"]);
    let simhash = &report["detectors"][0];
    assert_eq!(simhash["stream"]["right"], 12, "{}", first.stdout);
    assert_eq!(simhash["stream"]["wrong"], 0);
    assert_eq!(report["labelled"], true);
    // The same seed gives the same figures, except times.
    let again = folder.path().join("again.json");
    assert_eq!(run(arguments(&again)).status, 0);
    let mut again: Value = serde_json::from_slice(&std::fs::read(&again).expect("JSON")).expect("JSON");
    let mut report = report;
    for report in [&mut report, &mut again] {
        for detector in report["detectors"].as_array_mut().expect("a list") {
            detector["micros_per_6_kb"] = Value::Null;
        }
    }
    assert_eq!(report, again);
}

#[test]
fn eval_takes_pages_without_labels() {
    let folder = tempfile::tempdir().expect("a folder");
    let pages = stream(folder.path(), false);
    let found =
        run(["eval", "--detector", "agglomerate-term", "--texts", "6", "--pairs", "100", text(&pages)]);
    assert_eq!(found.status, 0, "{}", found.stderr);
    assert!(
        !found.stdout.contains("labelled stream") && found.stdout.contains("5 % text added"),
        "{}",
        found.stdout
    );
    let unknown = run(["eval", "--detector", "md5", text(&pages)]);
    assert!(unknown.status == 2 && unknown.stderr.contains("choose one of simhash"), "{}", unknown.stderr);
}

/// Without labels, copies in the files must not count as unrelated pairs that were judged near. Otherwise a
/// worse detector would look better.
#[test]
fn copies_do_not_count_as_unrelated_pairs_without_labels() {
    let folder = tempfile::tempdir().expect("a folder");
    let pages = stream(folder.path(), false);
    let json = folder.path().join("report.json");
    let arguments =
        ["eval", "--detector", "simhash", "--texts", "6", "--pairs", "400", "--json", text(&json)];
    let found = run(arguments.into_iter().chain([text(&pages)]));
    assert_eq!(found.status, 0, "{}", found.stderr);
    assert!(found.stderr.contains("of 400 random pairs share most of"), "{}", found.stderr);
    let report: Value = serde_json::from_slice(&std::fs::read(&json).expect("a report")).expect("JSON");
    let distances = &report["detectors"][0]["distances"];
    assert_eq!(distances["near_unrelated"].as_f64(), Some(0.0), "{distances}");
    assert!(distances["unrelated"].as_u64().is_some_and(|pairs| (300..400).contains(&pairs)), "{distances}");
}

/// Runs `eval` on a labelled stream only: no text is perturbed.
fn eval_labelled(arguments: &[&str]) -> Run {
    run([&["eval", "--texts", "0", "--pairs", "10"], arguments].concat())
}

/// Users compare other tools with this one, so `eval` scores verdicts from any program.
#[test]
fn eval_scores_the_verdicts_of_any_program() {
    let folder = tempfile::tempdir().expect("a folder");
    let pages = stream(folder.path(), true);
    // One tool that finds all copies.
    let own: String = (0..12)
        .map(|topic| {
            let unique = json!({ "page_id": format!("{topic}-new"), "kind": "UNIQUE" });
            let near = json!({ "page_id": format!("{topic}-dup"), "kind": "NEAR_DUPLICATE",
                "canonical_page_id": format!("{topic}-new") });
            format!("{unique}\n{near}\n")
        })
        .collect();
    let own = write(folder.path(), "own.jsonl", own);
    // Another tool that finds all copies but one, and puts one page into a wrong cluster.
    let mut lines = String::new();
    for topic in 0..12 {
        let (kind, canonical) = if topic == 3 { ("NEAR_DUPLICATE", "0-new") } else { ("UNIQUE", "") };
        let new = json!({ "page_id": format!("{topic}-new"), "kind": kind, "canonical_page_id": canonical });
        let kind = if topic == 7 { "UNIQUE" } else { "NEAR_DUPLICATE" };
        let canonical = format!("{topic}-new");
        let dup = json!({ "page_id": format!("{topic}-dup"), "kind": kind, "canonical_page_id": canonical, "score": 1 });
        lines.push_str(&format!("{new}\n{dup}\n"));
    }
    let other = write(folder.path(), "other.jsonl", &lines);
    let json = folder.path().join("scores.json");
    let named = format!("another tool={}", text(&other));
    let found =
        run(["eval", "--verdicts", text(&own), "--verdicts", &named, "--json", text(&json), text(&pages)]);
    assert_eq!(found.status, 0, "{}", found.stderr);
    assert!(found.stdout.contains("| verdicts | precision | recall | F1 |"), "{}", found.stdout);
    assert!(found.stdout.contains("| `own` | 1.0000 (1.000–1.000) | 1.0000"), "{}", found.stdout);
    let scores: Value = serde_json::from_slice(&std::fs::read(&json).expect("scores")).expect("JSON");
    let other_score = &scores[1];
    assert_eq!(other_score["name"], "another tool");
    assert_eq!(
        [&other_score["right"], &other_score["wrong"], &other_score["missed"], &other_score["centroids"]],
        [&json!(11), &json!(1), &json!(1), &json!(12)],
        "{other_score}"
    );

    let (without_last, _) = lines.trim_end().rsplit_once('\n').expect("lines");
    let refused = |contents: &str, says: &[&str]| {
        let path = write(folder.path(), "refused.jsonl", contents);
        let found = run(["eval", "--verdicts", text(&path), text(&pages)]);
        assert_eq!(found.status, 2, "{}", found.stderr);
        for part in says {
            assert!(found.stderr.contains(part), "{part}: {}", found.stderr);
        }
    };
    refused(without_last, &["refused.jsonl", "1 of 24 pages have no verdict", "11-dup"]);
    refused("{\"page_id\": \"0-new\"}\n", &["refused.jsonl", "missing field `kind`"]);
    refused(&format!("{lines}{lines}"), &["two verdicts on page"]);
    let unlabelled = stream(folder.path(), false);
    let found = run(["eval", "--verdicts", text(&other), text(&unlabelled)]);
    assert_eq!(found.status, 2, "{}", found.stderr);
    assert!(found.stderr.contains("`cluster` and `label`"), "{}", found.stderr);
}

#[test]
fn concept_networks_show_their_parts() {
    let folder = tempfile::tempdir().expect("a folder");
    let pages = stream(folder.path(), true);
    let words = text(&pages);
    // Verbs used in the articles.
    write(folder.path(), "list.tsv", "整理\t寻找\t记录\n");
    let lexicon = "detector = \"concept-network\"\n[concept-network]\nlexicon_files = [\"list.tsv\"]\n";
    let lexicon = write(folder.path(), "merged.toml", lexicon);
    let json = folder.path().join("r.json");
    let found = eval_labelled(&[
        "--detector",
        "word-network",
        "--detector",
        "simhash",
        "--variant",
        text(&lexicon),
        "--json",
        text(&json),
        words,
    ]);
    assert_eq!(found.status, 0, "{}", found.stderr);
    assert!(
        found.stdout.contains("| detector | words | concepts | nodes | connected | hubs |"),
        "{}",
        found.stdout
    );
    let report: Value = serde_json::from_slice(&std::fs::read(&json).expect("JSON")).expect("JSON");
    let count = |detector: usize, name: &str| {
        let counts = report["detectors"][detector]["counts"].as_array().expect("a list");
        counts.iter().find(|count| count["name"] == name).and_then(|count| count["mean"].as_f64())
    };
    assert_eq!(count(1, "nodes"), None, "simhash makes no network");
    assert_eq!(count(0, "words"), count(0, "concepts"), "each word is a concept of its own");
    assert_eq!(count(2, "words"), count(0, "words"));
    assert!(count(2, "concepts") < count(0, "concepts"), "{report}");
    assert!(count(0, "hubs") <= count(0, "connected") && count(0, "connected") <= count(0, "nodes"));
}

#[test]
fn perturb_makes_near_duplicates_that_eval_can_score() {
    let folder = tempfile::tempdir().expect("a folder");
    let pages = stream(folder.path(), true);
    let perturb = |changes: &[&str]| {
        let mut arguments = vec!["perturb", "--texts", "6", "--seed", "3"];
        changes.iter().for_each(|change| arguments.extend(["--change", change]));
        arguments.push(text(&pages));
        run(arguments)
    };
    let made = perturb(&["deleted=0.2", "boilerplate=4"]);
    assert_eq!(made.status, 0, "{}", made.stderr);
    assert_eq!(
        made.stdout,
        perturb(&["deleted=0.2", "boilerplate=4"]).stdout,
        "the same seed, the same copies"
    );
    let copies: Vec<Value> =
        made.stdout.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect();
    assert_eq!(copies.len(), 6);
    let originals: Vec<Value> = std::fs::read_to_string(&pages)
        .expect("pages")
        .lines()
        .map(|line| serde_json::from_str(line).expect("JSON"))
        .collect();
    let chars = |page: &Value| page["text"].as_str().expect("a text").chars().count();
    for (number, copy) in copies.iter().enumerate() {
        let original = originals.iter().find(|page| page["id"] == copy["of"]).expect("an original");
        assert_eq!((&copy["cluster"], copy["label"].as_str()), (&original["cluster"], Some("dup")));
        match number % 2 {
            0 => assert!(copy["change"] == "20 % text deleted" && chars(copy) < chars(original), "{copy}"),
            _ => {
                assert!(
                    copy["change"] == "4 lines of boilerplate" && chars(copy) > chars(original),
                    "{copy}"
                );
            }
        }
    }
    let copies = write(folder.path(), "copies.jsonl", &made.stdout);
    let found = eval_labelled(&["--detector", "paragraph", text(&pages), text(&copies)]);
    assert!(found.status == 0 && found.stdout.contains("The labelled stream"), "{}", found.stderr);
    let wrong = perturb(&["deletedd=0.2"]);
    assert!(wrong.status == 2 && wrong.stderr.contains("sentences-moved"), "{}", wrong.stderr);
    let wrong = perturb(&["synonyms=0.2"]);
    assert!(wrong.status == 2 && wrong.stderr.contains("--synonyms FILE"), "{}", wrong.stderr);
}

#[test]
fn tune_suggests_a_setting_that_can_be_used() {
    let folder = tempfile::tempdir().expect("a folder");
    let pages = stream(folder.path(), true);
    let found = run(["tune", "--detector", "paragraph", text(&pages)]);
    assert_eq!(found.status, 0, "{}", found.stderr);
    let setting = &found.stdout[found.stdout.find("[paragraph.near]").expect("a setting")..];
    leitong::Config::from_toml(setting).expect("settings that can be used");
}

#[test]
fn tune_asks_and_keeps_the_answers() {
    let folder = tempfile::tempdir().expect("a folder");
    let pages = stream(folder.path(), false);
    let labels = folder.path().join("labels.jsonl");
    let arguments = ["tune", "--detector", "simhash", "--labels", text(&labels), "--ask", "4", text(&pages)];
    let asked = run_with_input(arguments, "y\nmaybe\nyes\nn\nq\n");
    assert_eq!(asked.status, 0, "{}", asked.stderr);
    assert!(asked.stderr.contains("1 of 4: the same text?"), "{}", asked.stderr);
    // Equal beginnings do not help: the user judges by the text that only one of the two has.
    for shown in ["only in ", "of the words are in both"] {
        assert!(asked.stderr.contains(shown), "{shown} is not in\n{}", asked.stderr);
    }
    let answers = std::fs::read_to_string(&labels).expect("answers");
    let near: Vec<Value> = answers
        .lines()
        .map(|line| serde_json::from_str::<Value>(line).expect("JSON")["near"].clone())
        .collect();
    assert_eq!(near, [json!(true), json!(true), json!(false)]);
    assert!(asked.stdout.contains("2 related pairs, 1 unrelated pairs"), "{}", asked.stdout);
    let unlabelled = run(["tune", text(&pages)]);
    assert!(unlabelled.status == 2 && unlabelled.stderr.contains("--ask"), "{}", unlabelled.stderr);
}

#[test]
fn bench_measures_stages_and_table() {
    let measured = run(["bench", "--sizes", "0.002,0.004", "--distances", "3", "--json", "-"]);
    assert_eq!(measured.status, 0, "{}", measured.stderr);
    let report: Value = serde_json::from_str(&measured.stdout).expect("JSON");
    let stages: Vec<&str> = report["stages"]["micros"]
        .as_array()
        .expect("stages")
        .iter()
        .filter_map(|stage| (stage[1].as_f64() > Some(0.0)).then(|| stage[0].as_str()).flatten())
        .collect();
    assert_eq!(stages, ["read", "extract", "digest", "segment", "fingerprint", "cluster", "write"]);
    let table = report["table"].as_array().expect("rows");
    // Two look-ups, two distributions, two sizes.
    assert_eq!(table.len(), 8);
    for row in table {
        let found = row["found_percent"].as_f64();
        assert!(found > Some(99.9), "queries near a centroid find it: {row:#}");
        assert!(row["look_ups_per_second"].as_f64() > Some(0.0), "{row:#}");
        assert!(row["hot_bytes"].as_f64() > Some(0.0) && row["cold_bytes"].as_f64() > Some(0.0), "{row:#}");
    }
    assert!(report["machine"]["cores"].as_u64() > Some(0));

    for (arguments, expected) in [
        (["bench", "--sizes", "0"], "--sizes 0: must be from 0.001 to 4000 (millions of centroids)"),
        (["bench", "--distances", "17"], "--distances 17: must be at most 16"),
    ] {
        let refused = run(arguments);
        assert_eq!(refused.status, 2);
        assert!(refused.stderr.contains(expected), "{}", refused.stderr);
    }
}

#[test]
fn mistakes_are_named_and_no_output_replaces_an_input() {
    let folder = tempfile::tempdir().expect("a folder");
    let pages = stream(folder.path(), true);
    let lines = std::fs::read_to_string(&pages).expect("pages");
    let [other, former] = ["other", "former"].map(|name| folder.path().join(name));
    std::fs::hard_link(&pages, &other).expect("a link");
    std::fs::write(&former, "former").expect("written");
    let (pages, other, former) = (text(&pages), text(&other), text(&former));
    for (command, why) in [
        (&["eval", "--json", other, pages][..], "name another file"),
        (&["eval", "--markdown", pages, pages], "name another file"),
        (&["eval", "--markdown", "target/same", "--json", "target/same", pages], "name another file"),
        (&["eval", "--verdicts", other, "--json", other, pages], "name another file"),
        (&["eval", "--json", former, pages], "add --overwrite"),
        (&["tune", "--labels", other, "--ask", "1", pages], "name another file"),
        (&["bench", "--json", pages, pages], "name another file"),
        (&["perturb", "--change", "rewritten=0.1", "--output", pages, pages], "name another file"),
        (&["eval", "--threads", "100000", pages], "1024"),
        (&["tune", "--precision", "2", pages], "must be a number from 0 to 1"),
        (&["eval", "--config", "no-such-file.toml", pages], "no-such-file.toml"),
    ] {
        let run = run(command);
        assert_eq!(run.status, 2, "{command:?}: {}", run.stderr);
        assert!(run.stderr.contains(why), "{command:?}: {}", run.stderr);
        assert_eq!(std::fs::read_to_string(pages).expect("pages"), lines, "{command:?}");
        assert_eq!(std::fs::read_to_string(former).expect("a file"), "former", "{command:?}");
    }
}

/// A broken line must not be skipped as "not a page", with status 0.
#[test]
fn records_that_cannot_be_read_are_named() {
    let folder = tempfile::tempdir().expect("a folder");
    let pages = std::fs::read_to_string(stream(folder.path(), false)).expect("pages");
    let broken = write(folder.path(), "broken.jsonl", pages + "{broken\n");
    for command in [
        &["eval", "--texts", "2", "--pairs", "5", "--detector", "simhash"][..],
        &["perturb", "--change", "rewritten=0.1"],
    ] {
        let run = run(command.iter().copied().chain([text(&broken)]));
        assert_eq!(run.status, 3, "{command:?}: {}", run.stderr);
        assert!(
            run.stderr.contains("(BROKEN_JSON)") && run.stderr.contains("1 record cannot be read"),
            "{}",
            run.stderr
        );
    }
}

/// A day without pages is no error, as in `leitong dedup`.
#[test]
fn an_empty_input_gives_an_empty_output() {
    let folder = tempfile::tempdir().expect("a folder");
    let empty = write(folder.path(), "empty.jsonl", "");
    let made = run(["perturb", "--change", "rewritten=0.1", text(&empty)]);
    assert_eq!((made.status, made.stdout.as_str()), (0, ""), "{}", made.stderr);
    let compared = run(["eval", text(&empty)]);
    assert!(compared.status == 2 && compared.stderr.contains("nothing to compare"), "{}", compared.stderr);
}
