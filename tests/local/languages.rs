//! `dedup --language`: documents in other languages are counted, named, and in no output.

use serde_json::{Value, json};

use crate::common::{article, dedup_files, name, write};

const ENGLISH: &str = "The library in the old town has opened again this morning, and the first readers were waiting at \
                       its door before eight. Its new rooms hold two hundred thousand books and a collection of maps.";
const GERMAN: &str = "Die Bibliothek in der Altstadt ist seit heute Morgen wieder geöffnet, und die ersten Leser warteten \
                      schon vor acht an der Tür. In den neuen Räumen stehen zweihunderttausend Bücher und viele Karten.";

#[test]
fn documents_in_other_languages_are_counted_and_in_no_output() {
    let folder = tempfile::tempdir().expect("a folder");
    let (first, second) = (article(1, 30), article(2, 30));
    let texts = [first.as_str(), ENGLISH, GERMAN, &second, ENGLISH, "", "4711 0815"];
    let page = |(number, text): (usize, &&str)| {
        let url = format!("https://a.test/{number}");
        json!({ "id": number.to_string(), "url": url, "text": text }).to_string() + "\n"
    };
    let input = write(folder.path(), "pages.jsonl", texts.iter().enumerate().map(page).collect::<String>());
    let file = |name: &str| folder.path().join(name);
    let [keep, drop, output, report] =
        ["kept.jsonl", "gone.jsonl", "verdicts.jsonl", "report.json"].map(file);
    let ids = |path| -> Vec<String> {
        let text = std::fs::read_to_string(path).expect("a file");
        let values = text.lines().map(|line| serde_json::from_str::<Value>(line).expect("JSON"));
        values
            .map(|value| value["id"].as_str().or(value["page_id"].as_str()).expect("an id").to_owned())
            .collect()
    };
    let options = |language| {
        let outputs = ["--keep", name(&keep), "--drop", name(&drop), "--output", name(&output), "--report"];
        [&outputs[..], &[name(&report), "--annotate", "--overwrite", "--language", language]].concat()
    };
    let run = dedup_files(&options("zh,en"), &[&input]);
    assert_eq!(run.status, 0, "{}", run.stderr);
    assert_eq!(
        (ids(&keep), ids(&drop)),
        (["0", "1", "3", "5"].map(str::to_owned).to_vec(), vec!["4".to_owned()])
    );
    assert_eq!(ids(&output), ["0", "1", "3", "4", "5"]);
    let kept = std::fs::read_to_string(&keep).expect("a file");
    assert!(
        kept.contains(r#""leitong_language":"zh""#) && kept.contains(r#""leitong_language":"en""#),
        "{kept}"
    );
    assert!(run.stderr.contains("2  documents in other languages, skipped by --language"), "{}", run.stderr);
    for counted in ["2  zh", "2  en", "1  de", "1  und"] {
        assert!(run.stderr.contains(counted), "{}", run.stderr);
    }
    let report: Value = serde_json::from_slice(&std::fs::read(&report).expect("a report")).expect("JSON");
    assert_eq!(report["languages"]["de"], json!({ "skipped": 1, "used": 0 }));
    assert_eq!(report["languages"]["en"], json!({ "skipped": 0, "used": 2 }));

    let run = dedup_files(&options("all"), &[&input]);
    assert_eq!((run.status, ids(&output).len()), (0, texts.len()), "{}", run.stderr);
    let run = dedup_files(&options("zh,xx"), &[&input]);
    assert_eq!(run.status, 2);
    assert!(run.stderr.contains("--language xx: no such language is recognised"), "{}", run.stderr);
}

/// The hashes of settings, and so verdicts and tables, are those of runs without the option.
#[test]
fn verdicts_do_not_depend_on_the_option() {
    let folder = tempfile::tempdir().expect("a folder");
    let run = |options: &[&str]| {
        let mut verdicts = dedup_files(options, &["examples/pages.jsonl".as_ref()]).verdicts();
        verdicts.iter_mut().for_each(|verdict| verdict["decided_at"] = Value::Null);
        verdicts
    };
    let table = folder.path().join("table");
    assert_eq!(run(&["--language", "all", "--table", name(&table)]), run(&[]));
    let again = dedup_files(&["--table", name(&table)], &["examples/pages.jsonl".as_ref()]);
    assert_eq!(again.status, 0, "the table is one of the same settings: {}", again.stderr);
}
