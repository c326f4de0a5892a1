//! A corpus fingerprinted by Spark or by a pool of processes, and clustered by a process or by the worker.

use std::path::Path;
use std::process::Command;

use serde_json::{Value, json};

use super::{Example, examples, with};
use crate::broker::worker::Installation;
use crate::common::{article, assert_same, leitong};

const DOCUMENTS: usize = 240;

/// Writes documents in three Parquet files: every third one is a near copy of the previous one, some have no
/// text.
fn documents(example: &Example) {
    let text = |at: usize| match at % 24 {
        7 => Value::Null,
        11 => json!("短"),
        _ if at % 3 == 2 => json!(article(at - 1, 30) + &article(1000 + at, 1)),
        _ => json!(article(at, 30)),
    };
    let rows = (0..DOCUMENTS)
        .map(|at| json!({ "id": format!("文档-{at}"), "text": text(at), "n": at }).to_string() + "\n");
    std::fs::write(example.folder.join("documents.jsonl"), rows.collect::<String>()).expect("written");
    let convert = "import pyarrow.json, pyarrow.parquet as parquet, os; os.makedirs('documents', exist_ok=True); \
                   rows = pyarrow.json.read_json('documents.jsonl'); \
                   [parquet.write_table(rows.slice(at * 80, 80), f'documents/{at}.parquet') for at in range(3)]";
    example.run(&format!(".venv/bin/python -c {convert:?}"));
}

/// Copies the example and some documents into a separate folder, and installs our package as the repository
/// builds it. Returns the folder and the example's commands.
fn installed(name: &str) -> (Example, Vec<String>) {
    let readme = std::fs::read_to_string(examples().join("spark/README.md")).expect("the README");
    let example = Example::copied("spark", name, &readme);
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let built = Command::new(root.join("python/wheel.sh")).output().expect("bash starts");
    assert!(built.status.success(), "{}", String::from_utf8_lossy(&built.stderr));
    let wheel = String::from_utf8(built.stdout).expect("a path");
    let install = "install --quiet --no-index --no-deps --force-reinstall";
    example.run(&format!(".venv/bin/pip {install} {}", wheel.trim()));
    for made in ["fingerprints", "kept", "documents", "verdicts", "verdicts.work"] {
        let _ = std::fs::remove_dir_all(example.folder.join(made));
    }
    documents(&example);
    let commands = example.commands.clone();
    (example, commands)
}

/// Returns the README's command that runs this program.
fn command<'a>(commands: &'a [String], program: &str) -> &'a str {
    let mut found = commands.iter().filter(|command| command.contains(program));
    found.next().unwrap_or_else(|| panic!("{program} in {commands:?}"))
}

/// Returns the rows of Parquet files as JSON, in the order of the files.
fn rows(example: &Example, path: &str) -> Vec<Value> {
    let print = "import json, pathlib, sys, pyarrow.parquet as parquet; path = pathlib.Path(sys.argv[1]); \
                 files = sorted(path.glob('*.parquet')) if path.is_dir() else [path]; \
                 [print(json.dumps({k: v for k, v in row.items() if k != 'record'})) for file in files \
                 for row in parquet.ParquetFile(file).read().to_pylist()]";
    let out = example.run(&format!(".venv/bin/python -c {print:?} {path}"));
    out.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect()
}

/// Returns the verdicts of `leitong dedup` on the documents, in the order and form of the files of verdicts.
fn expected(example: &Example) -> Vec<Value> {
    let lines = std::fs::read_to_string(example.folder.join("documents.jsonl")).expect("it was written");
    let lines: Vec<&str> = lines.lines().collect();
    let ordered = rows(example, "fingerprints").into_iter().map(|row| {
        let number =
            row["page_id"].as_str().and_then(|id| id.rsplit('-').next()).and_then(|n| n.parse().ok());
        let number: usize = number.expect("an id of ours");
        let mut page: Value = serde_json::from_str(lines[number]).expect("JSON");
        page["url"] = page["id"].clone();
        page.to_string() + "\n"
    });
    let pages = example.folder.join("pages.jsonl");
    std::fs::write(&pages, ordered.collect::<String>()).expect("written");
    let run = leitong().arg("dedup").arg(&pages).output().expect("it starts");
    assert!(run.status.success(), "{}", String::from_utf8_lossy(&run.stderr));
    let verdicts = String::from_utf8(run.stdout).expect("JSON");
    let verdicts = verdicts.lines().map(|line| serde_json::from_str::<Value>(line).expect("JSON"));
    verdicts.map(|verdict| row(&verdict)).collect()
}

/// Returns a verdict's row without the id of its cluster, which differs from log to log.
fn row(verdict: &Value) -> Value {
    let is_duplicate = match verdict.get("is_duplicate") {
        Some(is_duplicate) => is_duplicate.clone(),
        None => json!(
            verdict["kind"].as_str().expect("a kind").ends_with("_DUPLICATE") && verdict["same_url"] != true
        ),
    };
    json!({ "page_id": verdict["page_id"], "kind": verdict["kind"], "is_duplicate": is_duplicate,
            "canonical_page_id": verdict["canonical_page_id"] })
}

/// Returns the verdicts in a file, after a check that they are not trivial.
fn found(example: &Example, file: &str) -> Vec<Value> {
    let mut rows = rows(example, file);
    // Spark's rows are in no order, and have their places; the sort is stable.
    rows.sort_by_key(|row| row["place"].as_u64());
    let found: Vec<Value> = rows.iter().map(row).collect();
    let count = |kind: &str| found.iter().filter(|verdict| verdict["kind"] == kind).count();
    assert!(count("NEAR_DUPLICATE") > 50 && count("UNIQUE") > 100 && count("UNDECIDABLE") > 10, "{found:?}");
    found
}

#[test]
fn a_pool_of_processes_and_the_worker_decide_as_dedup_does() {
    let (example, commands) = installed("pool");
    example.run(command(&commands, "fingerprint_pool.py"));
    let expected = expected(&example);
    assert_eq!(expected.len(), DOCUMENTS);
    example.run(command(&commands, "decide.py"));
    assert_same("decide.py and dedup", &found(&example, "verdicts.parquet"), &expected);

    let installation = Installation::new(&crate::broker::bootstrap(), "corpus", "");
    let mut worker = installation.worker(&["--role", "cluster"]);
    let topics = [installation.topic("log"), installation.topic("verdicts")];
    let publish = with(command(&commands, "publish.py"), &[("localhost:9092", &*installation.bootstrap)]);
    let publish = format!("{publish} --log {} --verdicts {}", topics[0], topics[1]);
    // Two runs at once, one of which is killed at some point; then a complete run.
    let other = with(&publish, &[(" verdicts.parquet", " other.parquet")]);
    example.run(&format!("bash -c \"(timeout -s KILL 0.7 {other} || true) & {publish} && wait\""));
    let in_order = |file: &str| {
        let mut found = found(&example, file);
        let place =
            |verdict: &Value| expected.iter().position(|known| known["page_id"] == verdict["page_id"]);
        found.sort_by_key(place);
        found
    };
    assert_same("the worker and dedup", &in_order("verdicts.parquet"), &expected);
    example.run(&publish);
    assert_same("once more", &in_order("verdicts.parquet"), &expected);
    assert_eq!(worker.terminate(), 0, "{}", worker.log());
    assert_eq!((installation.verdicts().len(), installation.dead_letters().len()), (DOCUMENTS, 0));
}

#[test]
#[ignore = "needs Spark, 450 MB: make spark"]
fn spark_decides_as_dedup_does() {
    let (example, commands) = installed("spark");
    example.run(command(&commands, " fingerprint.py"));
    let expected = expected(&example);
    assert_eq!(expected.len(), DOCUMENTS);
    example.run(command(&commands, " cluster.py"));
    assert_same("Spark and dedup", &found(&example, "verdicts"), &expected);
    example.run(command(&commands, "keep.py"));
    let ids = |rows: Vec<Value>, id: &str| {
        let mut ids: Vec<String> =
            rows.iter().map(|row| row[id].as_str().expect("an id").to_owned()).collect();
        ids.sort();
        ids
    };
    let stay = expected.into_iter().filter(|verdict| verdict["is_duplicate"] == false).collect();
    assert_eq!(ids(rows(&example, "kept"), "id"), ids(stay, "page_id"));
    // These tests compare every verdict, for several numbers of partitions and with a killed executor.
    let tests = Path::new(env!("CARGO_MANIFEST_DIR")).join("python/tests/spark");
    example.run(&format!(".venv/bin/python -m unittest discover --start-directory {}", tests.display()));
}
