//! `eval`, `tune`, `idf build` and `boilerplate build` as users run them, over a small generated stream.

use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use crate::common::{self, article, run, run_with_input, write};

/// Writes twelve different articles, each followed by a copy with a sentence removed; labelled.
fn stream(folder: &Path, labelled: bool) -> PathBuf {
    let mut lines = String::new();
    for topic in 0..12 {
        let text = article(topic, 40);
        let cut = text
            .char_indices()
            .filter(|(_, c)| *c == '。')
            .nth(topic % 5)
            .map_or(0, |(at, _)| at + '。'.len_utf8());
        for (kind, text) in [("new", text.as_str()), ("dup", &text[cut..])] {
            // Three of the short sentences make a longer one, and nine a paragraph.
            let mut sentences = 0;
            let text: String = text
                .chars()
                .flat_map(|c| {
                    sentences += usize::from(c == '。');
                    match c {
                        '。' if sentences % 9 == 0 => vec!['。', '\n'],
                        '。' if sentences % 3 != 0 => vec!['，'],
                        c => vec![c],
                    }
                })
                .collect();
            let mut page = json!({ "id": format!("{topic}-{kind}"), "url": format!("https://eval.test/{topic}/{kind}"), "text": text });
            if labelled {
                page["cluster"] = json!(topic.to_string());
                page["label"] = json!(kind);
            }
            lines.push_str(&format!("{page}\n"));
        }
    }
    write(folder, if labelled { "labelled.jsonl" } else { "plain.jsonl" }, lines)
}

fn text(path: &Path) -> &str {
    path.to_str().expect("UTF-8")
}

#[test]
fn eval_writes_tables_json_and_a_page_without_network() {
    let folder = tempfile::tempdir().expect("a folder");
    let pages = stream(folder.path(), true);
    let [json, html, markdown] = ["r.json", "r.html", "r.md"].map(|name| folder.path().join(name));
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
            "--html".into(),
            text(&html).into(),
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
    // The recommendation, its reason and its confidence are in all three formats.
    let recommended = report["recommendation"]["detector"].as_str().expect("one of them");
    let why = report["recommendation"]["why"].to_string();
    assert!(
        names.contains(&recommended) && why.contains("are too few for a reliable recommendation"),
        "{why}"
    );
    let alike = report["recommendation"]["not_told_apart"].as_array().expect("a list");
    assert!(alike.contains(&json!("shingle")) && why.contains("intervals overlap"), "{why}");
    for (format, text) in
        [("text", &first.stdout), ("HTML", &std::fs::read_to_string(&html).expect("a page"))]
    {
        assert!(text.contains(&format!("For these pages: {recommended}")), "{format}:\n{text}");
        assert!(text.contains("too few for a reliable recommendation"), "{format}");
    }
    let html = std::fs::read_to_string(&html).expect("a page");
    assert!(html.starts_with("<!doctype html>") && html.contains("<polyline") && html.contains("<rect"));
    for foreign in ["http://", "https://", "<script", "src="] {
        assert!(!html.contains(foreign), "the page is self-contained: {foreign}");
    }
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
/// worse detector would be recommended.
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
fn eval_labelled(arguments: &[&str]) -> common::Run {
    run([&["eval", "--texts", "0", "--pairs", "10"], arguments].concat())
}

/// Users compare other tools with this one, so `eval` scores verdicts from any program.
#[test]
fn eval_scores_the_verdicts_of_any_program() {
    let folder = tempfile::tempdir().expect("a folder");
    let pages = stream(folder.path(), true);
    let own = common::dedup_files(&[], &[&pages]);
    assert_eq!(own.status, 0, "{}", own.stderr);
    let own = write(folder.path(), "own.jsonl.gz", common::gzip(own.stdout.as_bytes()));
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
    assert!(found.stdout.contains("| `own.jsonl` | 1.0000 (1.000–1.000) | 1.0000"), "{}", found.stdout);
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
    // `compare` gives the same counts for two pages.
    let compared =
        run(["compare", "--config", text(&lexicon), &format!("{words}#0-new"), &format!("{words}#0-dup")]);
    assert!(
        compared.stdout.contains("features ") && compared.stdout.contains(" concepts, "),
        "{}",
        compared.stdout
    );
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
    let config = write(folder.path(), "tuned.toml", setting);
    let check = run(["config", "check", text(&config)]);
    assert_eq!(check.status, 0, "{}", check.stderr);
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
fn tables_and_lists_that_are_built_can_be_used() {
    let folder = tempfile::tempdir().expect("a folder");
    let pages = stream(folder.path(), true);
    let footer = "本站所有文章均为原创，未经许可不得转载，违者必究，特此声明，请各位读者互相转告。";
    let with_footer: String = std::fs::read_to_string(&pages)
        .expect("pages")
        .lines()
        .map(|line| {
            let mut page: Value = serde_json::from_str(line).expect("JSON");
            page["text"] = json!(format!("{}\n{footer}", page["text"].as_str().expect("a text")));
            format!("{page}\n")
        })
        .collect();
    let pages = write(folder.path(), "footers.jsonl", with_footer);
    let [idf, list] = ["idf.tsv", "boilerplate.txt"].map(|name| folder.path().join(name));
    assert_eq!(run(["idf", "build", "--output", text(&idf), text(&pages)]).status, 0);
    assert_eq!(run(["boilerplate", "build", "--output", text(&list), text(&pages)]).status, 0);
    let common = std::fs::read_to_string(&list).expect("a list");
    assert!(common.contains("本站所有文章均为原创"), "{common}");
    assert_eq!(common.lines().count(), 3, "{common}");
    let config = write(
        folder.path(),
        "own.toml",
        "detector = \"paragraph\"\n[idf]\nfile = \"idf.tsv\"\n[paragraph]\nidf = true\nboilerplate_file = \"boilerplate.txt\"\n",
    );
    let compared = run([
        "compare",
        "--config",
        text(&config),
        &format!("{}#0-new", text(&pages)),
        &format!("{}#1-new", text(&pages)),
    ]);
    assert_eq!(compared.status, 0, "{}", compared.stderr);
    assert!(
        compared.stdout.contains("shared_paragraphs      0"),
        "the footer counts for nothing: {}",
        compared.stdout
    );
    // Both files are part of the fingerprint hash.
    let hash = |config: &Path| {
        let check = run(["config", "check", text(config)]);
        assert_eq!(check.status, 0, "{}", check.stderr);
        check.stdout.rsplit(' ').next().expect("a hash").to_owned()
    };
    let before = hash(&config);
    std::fs::write(
        &idf,
        std::fs::read_to_string(&idf).expect("a table").replace("documents\t24", "documents\t25"),
    )
    .expect("written");
    let between = hash(&config);
    std::fs::write(&list, format!("{common}另一个页脚\n")).expect("written");
    assert!(before != between && between != hash(&config));
}
