//! `leitong audit`: what other tools have removed is compared with what they kept.

use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use crate::common::{self, name, run, write};

const MILL: &str = "The old mill by the river has ground no corn since the bridge was built, and swallows nest in its wheel. \
                    A painter from the next town bought it in 1987 and shows it to everybody who knocks. He has put the \
                    millstones in the garden, where they serve as tables when his friends come to drink cider in autumn.";
const FERRY: &str = "From Monday on the ferry to the islands sails twice a day, after the company has repaired its engine. The \
                     second sailing is in the evening, for those who work in town. Tickets are sold on the quay and in both \
                     bakeries, and children under six travel free of charge if they bring a drawing of a ship.";
const STORM: &str = "Nobody on the island slept when the storm took the roof of the school and carried it over the harbour wall. \
                     At dawn fishermen found tiles between their nets, a blackboard floating near rocks, and one frightened \
                     goat inside an upturned dinghy; lessons were held under canvas until carpenters arrived from Oban with \
                     timber, nails, slates and new windows.";

/// A later version of the page about the mill. Its new sentences are too short to be passages.
const REWRITTEN: &str = "All about the island school and its new roof! He has put the millstones in the garden. Open on Sundays \
                         from May to June. No dogs.";

fn line(id: &str, text: &str, is_removed: bool) -> Value {
    json!({ "id": id, "url": format!("https://{id}.example/{id}"), "title": id, "text": text, "twin": is_removed })
}

/// Returns documents of all outcomes: two kept ones, and those that were removed.
fn documents() -> Vec<Value> {
    vec![
        line("mill", MILL, false),
        line("mill-again", MILL, true),
        line("mill-short", MILL.rsplit_once(". He").expect("two sentences").0, true),
        line("ferry", FERRY, false),
        line("ferry-storm", &format!("{FERRY} {STORM}"), true),
        line("mill-1993", &MILL.replace("1987", "1993"), true),
        json!({ "id": "mill-rewritten", "url": "https://mill.example/mill", "text": REWRITTEN, "twin": true }),
        line("storm", &STORM.repeat(3).replace("island", "mountain"), true),
    ]
}

fn file(folder: &Path, file_name: &str, documents: &[Value]) -> PathBuf {
    write(folder, file_name, documents.iter().map(|document| format!("{document}\n")).collect::<String>())
}

/// Returns the outcome and the kept document for each removed one.
fn outcomes(arguments: &[&str]) -> Vec<(String, String, Option<String>)> {
    let run = run([&["audit"], arguments].concat());
    assert_eq!(run.status, 0, "{}", run.stderr);
    let text = |value: &Value| value.as_str().map(str::to_owned);
    run.stdout
        .lines()
        .map(|line| serde_json::from_str::<Value>(line).expect("JSON"))
        .map(|line| {
            (
                text(&line["id"]).expect("an id"),
                text(&line["outcome"]).expect("one"),
                text(&line["kept"]["id"]),
            )
        })
        .collect()
}

#[test]
fn each_removed_document_is_compared_with_the_kept_one_most_like_it() {
    let folder = tempfile::tempdir().expect("a folder");
    let (removed, kept): (Vec<_>, Vec<_>) =
        documents().into_iter().partition(|document| document["twin"] == true);
    let [kept, removed] = [("kept.jsonl", kept), ("removed.jsonl", removed)]
        .map(|(name, lines)| file(folder.path(), name, &lines));
    let found = outcomes(&["--kept", name(&kept), "--removed", name(&removed)]);
    let expected = [
        ("mill-again", "same_text", Some("mill")),
        ("mill-short", "contained", Some("mill")),
        ("ferry-storm", "text_lost", Some("ferry")),
        ("mill-1993", "facts_differ", Some("mill")),
        ("mill-rewritten", "text_lost", Some("mill")),
        ("storm", "nothing_like_it", None),
    ];
    let owned = |(id, outcome, kept): (&str, &str, Option<&str>)| {
        (id.to_owned(), outcome.to_owned(), kept.map(str::to_owned))
    };
    assert_eq!(found, expected.map(owned));
    let report = folder.path().join("report.json");
    let run = run(["audit", "--kept", name(&kept), "--removed", name(&removed), "--report", name(&report)]);
    assert!(run.stderr.contains("6 documents were removed, and 2 kept"), "{}", run.stderr);
    let report: Value = serde_json::from_slice(&std::fs::read(&report).expect("a file")).expect("JSON");
    assert_eq!(report["removed"]["text_lost"], 2);
    assert_eq!(report["sources"]["storm.example"], json!({ "nothing_like_it": 1 }));
}

#[test]
fn removed_documents_may_be_listed_by_id_position_or_field() {
    let folder = tempfile::tempdir().expect("a folder");
    let mut all = documents();
    // datatrove does not count documents without a text.
    all.insert(1, line("empty", "", false));
    let (first, second) =
        (file(folder.path(), "a.jsonl", &all[..4]), file(folder.path(), "b.jsonl", &all[4..]));
    let lists = [
        (
            "ids.txt",
            "mill-again\nmill-short\nhttps://ferry-storm.example/ferry-storm\nmill-1993\nmill-rewritten\nstorm\n"
                .to_owned(),
        ),
        (
            "ids.jsonl",
            "\"mill-again\"\n\"mill-short\"\n\"ferry-storm\"\n\"mill-1993\"\n\"mill-rewritten\"\n\"storm\"\n".to_owned(),
        ),
        (
            "ids.csv",
            "name,id\n1,mill-again\n2,mill-short\n3,ferry-storm\n4,mill-1993\n5,mill-rewritten\n6,storm\n".to_owned(),
        ),
        (
            "objects.jsonl",
            ["mill-again", "mill-short", "ferry-storm", "mill-1993", "mill-rewritten", "storm"]
                .map(|id| format!("{{\"id\":\"{id}\"}}\n"))
                .concat(),
        ),
    ];
    let both = |more: &[&str]| outcomes(&[&["--kept", name(&first), name(&second)], more].concat());
    let expected = both(&["--removed-if", "twin"]);
    assert_eq!(expected.len(), 6);
    for (list, contents) in lists {
        let list = write(folder.path(), list, contents);
        assert_eq!(both(&["--removed-ids", name(&list)]), expected, "{}", list.display());
    }
    let positions =
        |positions: &[u32]| positions.iter().flat_map(|position| position.to_le_bytes()).collect::<Vec<u8>>();
    let one_task = folder.path().join("one");
    let two_tasks = folder.path().join("two");
    for (tasks, name, numbers) in [
        (&one_task, "00000.remove", &[1, 2, 4, 5, 6, 7][..]),
        (&two_tasks, "000000.remove", &[1, 2]),
        (&two_tasks, "000001.remove", &[1, 2, 3, 4]),
    ] {
        std::fs::create_dir_all(tasks).expect("a folder");
        std::fs::write(tasks.join(name), positions(numbers)).expect("a file");
    }
    std::fs::write(one_task.join("00000.clusters"), [0xff; 9]).expect("a file");
    for tasks in [&one_task, &two_tasks] {
        assert_eq!(both(&["--removed-ids", name(tasks)]), expected, "{}", tasks.display());
    }
}

#[test]
fn missing_and_unreadable_documents_are_named() {
    let folder = tempfile::tempdir().expect("a folder");
    let all = file(folder.path(), "all.jsonl", &documents());
    let audit = |arguments: &[&str]| run([&["audit", "--kept", name(&all)], arguments].concat());
    let ids = write(folder.path(), "ids.txt", "storm\nno-such-page\n");
    let missing = audit(&["--removed-ids", name(&ids)]);
    assert_eq!((missing.status, missing.stdout.lines().count()), (3, 1), "{}", missing.stderr);
    assert!(
        missing
            .stderr
            .contains("1 of 2 removed documents are in no input of --kept, such as \"no-such-page\";"),
        "{}",
        missing.stderr
    );
    let remove = folder.path().join("000000.remove");
    std::fs::write(&remove, 99_u32.to_le_bytes()).expect("a file");
    assert_eq!(audit(&["--removed-ids", name(&remove)]).status, 2, "nothing is removed");
    std::fs::write(&remove, [1, 0, 0]).expect("a file");
    let cut = audit(&["--removed-ids", name(&remove)]);
    assert!(cut.status == 1 && cut.stderr.contains("ends within a number"), "{}", cut.stderr);
    let broken = write(folder.path(), "broken.jsonl", format!("{}\n{{\n", line("storm", STORM, true)));
    let read = audit(&["--removed", name(&broken)]);
    assert!(read.status == 3 && read.stderr.contains("1 record cannot be read"), "{}", read.stderr);
    for (arguments, says) in [
        (&["--removed-if", "nowhere"][..], "no document has this field"),
        (&[], "name the documents that were removed"),
        (&["--removed-ids", name(&ids), "--id-field", "doc", "--removed", name(&ids)], "cannot be used with"),
    ] {
        let refused = audit(arguments);
        assert!(refused.status == 2 && refused.stderr.contains(says), "{arguments:?}: {}", refused.stderr);
    }
}

#[test]
fn answers_give_the_share_of_wrong_removals() {
    let folder = tempfile::tempdir().expect("a folder");
    let answers: Vec<Value> = (0..51)
        .map(|number| {
            let answer = match number { 0..5 => json!("wrong"), 5..50 => json!("right"), _ => Value::Null };
            json!({ "id": format!("page-{number}"), "source": "a.example", "outcome": "contained", "answer": answer })
        })
        .collect();
    let saved =
        json!({ "leitong_answers": 1, "seed": 7, "removed": 400, "same_text": 200, "answers": answers });
    let path = write(folder.path(), "answers.json", saved.to_string());
    let shown = run(["audit", "--answers", name(&path)]);
    assert_eq!(shown.status, 0, "{}", shown.stderr);
    assert!(
        shown.stdout.starts_with(
            "51 pairs, drawn with the seed 7: 45 right, 5 wrong, 0 unsure, 1 without an answer\n"
        ),
        "{}",
        shown.stdout
    );
    for says in [
        "10.0 % (95 % interval 4.3 to 21.4 %)",
        "5.0 % (95 % interval 2.2 to 10.7 %)",
        "  wrong: page-4 (contained, a.example)",
    ] {
        assert!(shown.stdout.contains(says), "{}", shown.stdout);
    }
    let path = write(folder.path(), "none.json", "{}");
    assert_eq!(run(["audit", "--answers", name(&path)]).status, 1);
}

#[test]
fn the_page_of_a_sample_escapes_what_documents_say() {
    let folder = tempfile::tempdir().expect("a folder");
    let mut all = documents();
    all.push(json!({ "id": "\"><script>", "url": "javascript:alert(1)", "title": "</title><img src=x>", "text": format!("<script>alert(1)</script> {}", STORM.repeat(30)), "twin": true }));
    let all = file(folder.path(), "all.jsonl", &all);
    let page = folder.path().join("review.html");
    let run = common::run([
        "audit",
        "--kept",
        name(&all),
        "--removed-if",
        "twin",
        "--report",
        name(&page),
        "--output",
        "/dev/null",
    ]);
    assert_eq!(run.status, 0, "{}", run.stderr);
    let page = std::fs::read_to_string(page).expect("a file");
    assert_eq!(page.matches("<section class=\"pair\"").count(), 6, "all but the same text");
    assert_eq!(
        (
            page.matches("<script").count(),
            page.matches("<img").count(),
            page.matches("href=\"javascript").count()
        ),
        (1, 0, 0)
    );
    assert!(page.contains("<span class=\"only\">") && page.contains("characters…]"));
}
