//! Inputs and outputs in stores that are simulated here: the Hugging Face Hub, Google Cloud Storage and Azure. They answer as the
//! real ones do, as far as `dedup` asks: lists in parts, conditions, redirects, tokens, and refusals.

mod clouds;
mod hub;
mod outputs;
pub(crate) mod server;

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use serde_json::{Value, json};

use crate::common::{Run, article, gzip, leitong, tables};

/// Objects by name.
type Objects = Vec<(String, Vec<u8>)>;

/// Returns documents of which every third repeats an earlier one, with unused `padding`.
fn documents(from: usize, count: usize, padding: usize) -> Vec<Value> {
    let padding = "y".repeat(padding);
    let document = |number: usize| {
        let topic = if number % 3 == 2 { number / 2 } else { number };
        json!({ "id": number.to_string(), "url": format!("https://a.test/{number}"), "text": article(topic, 12),
            "padding": padding })
    };
    (from..from + count).map(document).collect()
}

fn lines(documents: &[Value]) -> Vec<u8> {
    documents.iter().map(|document| format!("{document}\n")).collect::<String>().into_bytes()
}

/// Returns a corpus of several formats in several folders.
fn corpus(folder: &Path) -> Objects {
    let parquet = folder.join("written.parquet");
    tables::write_table(&parquet, &tables::table(&documents(100, 60, 0)), &tables::Layout::default());
    let parquet = std::fs::read(parquet).expect("written");
    [
        ("crawl 2026/a.jsonl", lines(&documents(0, 60, 3_000))),
        ("crawl 2026/b/rows.parquet", parquet),
        ("crawl 2026/b/c/d.jsonl.gz", gzip(&lines(&documents(0, 30, 0)))),
        ("crawl 2026/empty.jsonl", Vec::new()),
        ("crawl 2026/notes.txt", b"no documents".to_vec()),
        ("crawl 2027/other.jsonl", b"{".to_vec()),
    ]
    .map(|(name, bytes)| (name.to_owned(), bytes))
    .into()
}

/// Files by name, with their contents.
type Files = Vec<(PathBuf, Vec<u8>)>;

/// Runs `dedup --keep` over `inputs`. Returns verdicts without their places, and documents by the names of their files.
fn outcome(mut command: Command, folder: &Path, inputs: &[String]) -> (Run, Vec<Value>, Files) {
    let folder = tempfile::tempdir_in(folder).expect("a folder");
    let [verdicts, kept] = ["verdicts.jsonl", "kept/"].map(|name| folder.path().join(name));
    std::fs::create_dir(&kept).expect("a folder");
    command.arg("dedup").arg("--output").arg(&verdicts).arg("--keep").arg(&kept).args(inputs);
    command.stdout(Stdio::piped()).stderr(Stdio::piped()).env("NO_PROXY", "127.0.0.1");
    let run = Run::from_output(command.output().expect("the program starts"));
    let lines = std::fs::read_to_string(verdicts).unwrap_or_default();
    let verdicts = lines.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect();
    let mut kept: Vec<_> = std::fs::read_dir(&kept)
        .expect("a folder")
        .map(|entry| {
            let path = entry.expect("a file").path();
            (path.file_name().expect("a name").into(), std::fs::read(&path).expect("a file"))
        })
        .collect();
    kept.sort();
    (run, verdicts, kept)
}

/// Returns the outcome of a run over files with the contents of `objects`.
fn outcome_of_files(folder: &Path, objects: &Objects) -> (Vec<Value>, Files) {
    // Empty objects are passed over, empty files are not.
    for (name, bytes) in objects.iter().filter(|(_, bytes)| !bytes.is_empty()) {
        let path = folder.join("files").join(name);
        std::fs::create_dir_all(path.parent().expect("a folder")).expect("a folder");
        std::fs::write(path, bytes).expect("written");
    }
    let input = folder.join("files/crawl 2026").display().to_string();
    let (run, verdicts, kept) = outcome(leitong(), folder, &[input]);
    assert_eq!(run.status, 0, "{}", run.stderr);
    assert!(kept.len() == 3 && verdicts.len() == 150, "{} {}", kept.len(), verdicts.len());
    (verdicts, kept)
}

/// Runs `dedup` over `input`, which must fail without output. Returns what it reports.
fn refusal(mut command: Command, input: &str) -> String {
    let run = Run::from_output(
        command.args(["dedup", input]).env("NO_PROXY", "127.0.0.1").output().expect("it starts"),
    );
    assert!(run.status != 0 && run.stdout.is_empty(), "{input}: {}", run.stderr);
    run.stderr
}
