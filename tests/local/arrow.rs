//! `dedup` over Arrow streams and files: the same verdicts as on JSON lines, and rows written unchanged.

use std::fs::File;
use std::path::Path;

use arrow_array::RecordBatch;
use arrow_ipc::reader::{FileReader, StreamReader};
use arrow_ipc::writer::{FileWriter, StreamWriter};
use serde_json::{Value, json};

use crate::common::tables::{joined, numbers, rows, strings, table};
use crate::common::{article, dedup_files, name, run_with_input, write};

fn documents() -> Vec<Value> {
    let document = |number: usize| {
        let topic = if number % 3 == 2 { number / 2 } else { number };
        json!({
            "id": format!("d{number}"),
            "url": format!("https://host{}.test/{number}", number % 4),
            "text": article(topic, 12),
            "score": (number * 7) % 11,
            "fetched_at": format!("2026-10-{:02}T00:00:00Z", 10 + number % 9),
        })
    };
    (0..150).map(document).collect()
}

/// Writes `table` in batches of 40 rows, as a file or as a stream.
fn write_arrow(path: &Path, table: &RecordBatch, is_file: bool) {
    let file = File::create(path).expect("a file");
    let batches = (0..table.num_rows()).step_by(40);
    let batches = batches.map(|at| table.slice(at, 40.min(table.num_rows() - at)));
    if is_file {
        let mut writer = FileWriter::try_new(file, &table.schema()).expect("a file");
        batches.for_each(|batch| writer.write(&batch).expect("written"));
        writer.finish().expect("written");
    } else {
        let mut writer = StreamWriter::try_new(file, &table.schema()).expect("a stream");
        batches.for_each(|batch| writer.write(&batch).expect("written"));
        writer.finish().expect("written");
    }
}

fn read_arrow(path: &Path, is_file: bool) -> Vec<RecordBatch> {
    let file = File::open(path).expect("a file");
    match is_file {
        true => FileReader::try_new(file, None).expect("a file").map(|batch| batch.expect("rows")).collect(),
        false => {
            StreamReader::try_new(file, None).expect("a stream").map(|batch| batch.expect("rows")).collect()
        }
    }
}

/// Returns the kinds and clusters of verdicts, which do not depend on the format.
fn compared(verdicts: &[Value]) -> Vec<[Value; 3]> {
    let fields = |verdict: &Value| ["page_id", "kind", "cluster_id"].map(|field| verdict[field].clone());
    verdicts.iter().map(fields).collect()
}

#[test]
fn arrow_gives_the_verdicts_and_rows_of_json_lines() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = |name: &str| folder.path().join(name);
    let documents = documents();
    let table = table(&documents);
    let lines: String = documents.iter().map(|document| format!("{document}\n")).collect();
    let expected = dedup_files(&[], &[&write(folder.path(), "a.jsonl", lines)]).verdicts();
    let is_kept = |number: &usize| expected[*number]["kind"] == "UNIQUE";
    let (stay, go): (Vec<usize>, Vec<usize>) = (0..documents.len()).partition(is_kept);
    assert!(!go.is_empty());
    for is_file in [true, false] {
        let input = file("a.arrow");
        write_arrow(&input, &table, is_file);
        let run = dedup_files(&[], &[&input]);
        assert_eq!(run.status, 0, "{}", run.stderr);
        assert!(compared(&run.verdicts()) == compared(&expected));
        // The same bytes through a pipe.
        let piped = run_with_input(["dedup", "-"], std::fs::read(&input).expect("a file"));
        assert!(compared(&piped.verdicts()) == compared(&expected), "{}", piped.stderr);

        let (keep, drop) = (file("keep.arrow"), file("drop.feather"));
        for checkpoint in [&[][..], &["--checkpoint"]] {
            let folder = file(&format!("checkpoint-{is_file}"));
            let mut options = vec!["--overwrite", "--keep", name(&keep), "--drop", name(&drop)];
            let verdicts = file("verdicts.jsonl");
            if !checkpoint.is_empty() {
                options.extend(["--checkpoint", name(&folder), "--output", name(&verdicts)]);
            }
            let run = dedup_files(&options, &[&input]);
            assert_eq!(run.status, 0, "{}", run.stderr);
            let kept = read_arrow(&keep, is_file);
            assert_eq!(kept[0].schema(), table.schema());
            assert!(joined(&kept, &table) == rows(&table, &stay), "as they came, in order");
            let dropped = read_arrow(&drop, is_file);
            assert_eq!(numbers(&dropped), go);
            let clusters =
                go.iter().map(|number| expected[*number]["cluster_id"].as_str().map(str::to_owned));
            assert_eq!(strings(&dropped, "leitong_cluster"), clusters.collect::<Vec<_>>());
        }
    }
    let run = dedup_files(&["--overwrite", "--keep", name(&file("keep.jsonl"))], &[&file("a.arrow")]);
    assert!(run.status == 2 && run.stderr.contains("which are an Arrow file"), "{}", run.stderr);
    let texts = file("texts.arrow");
    let run = dedup_files(&["--keep", name(&texts), "--as", "text"], &[&file("a.arrow")]);
    assert_eq!(run.status, 0, "{}", run.stderr);
    assert_eq!(read_arrow(&texts, true).iter().map(RecordBatch::num_rows).sum::<usize>(), stay.len());
}

#[test]
fn an_arrow_file_that_ends_early_gives_its_whole_batches() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("a.arrow");
    write_arrow(&path, &table(&documents()), false);
    let whole = std::fs::read(&path).expect("a file");
    let cut = write(folder.path(), "cut.arrow", &whole[..whole.len() * 7 / 8]);
    let run = dedup_files(&[], &[&cut]);
    assert!(run.stderr.contains("the Arrow file cannot be read (it ends early)"), "{}", run.stderr);
    assert_eq!(run.verdicts().len(), 120, "three batches");
    let cut = write(folder.path(), "cut.arrow", &whole[..40]);
    let run = dedup_files(&["--keep", name(&folder.path().join("k.arrow"))], &[&cut]);
    assert_eq!(run.status, 3, "{}", run.stderr);
    assert_eq!(run.stderr.matches("cannot be read").count(), 1, "{}", run.stderr);
}
