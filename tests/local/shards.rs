//! `dedup --shard-bytes`: kept documents in several files, which together are the one file of other runs.

use std::io::Read as _;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use crate::common::{article, dedup_files, name, tables, write};

fn page(number: usize) -> Value {
    let url = format!("https://a.test/{number}");
    json!({ "id": number.to_string(), "url": url, "text": article(number / 2, 20) })
}

/// Returns the names of files in a folder that begin with `kept-`, in order.
fn shards(folder: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder).expect("a folder").map(|entry| entry.expect("an entry").path());
    let is_shard =
        |path: &PathBuf| path.file_name().is_some_and(|name| name.to_string_lossy().starts_with("kept-"));
    let mut shards: Vec<_> = entries.filter(is_shard).collect();
    shards.sort_unstable();
    shards
}

fn contents(path: &Path) -> String {
    let bytes = std::fs::read(path).expect("a file");
    let mut text = String::new();
    match path.extension().is_some_and(|extension| extension == "gz") {
        true => flate2::read::MultiGzDecoder::new(&*bytes).read_to_string(&mut text).expect("gzip"),
        false => (&*bytes).read_to_string(&mut text).expect("UTF-8"),
    };
    text
}

#[test]
fn shards_together_are_the_one_file_in_every_format() {
    let folder = tempfile::tempdir().expect("a folder");
    let pages: Vec<Value> = (0..40).map(page).collect();
    let lines: String = pages.iter().map(|page| format!("{page}\n")).collect();
    let row = |page: &Value| {
        ["id", "url", "text"].map(|field| page[field].as_str().expect("text")).join(",") + "\n"
    };
    let csv = "id,url,text\n".to_owned() + &pages.iter().map(row).collect::<String>();
    let parquet = folder.path().join("pages.parquet");
    tables::write_table(&parquet, &tables::table(&pages), &tables::Layout::default());
    let lines = write(folder.path(), "pages.jsonl", lines);
    let csv = write(folder.path(), "pages.csv", csv);
    for (input, ending, options) in [
        (&lines, "jsonl", &[][..]),
        (&lines, "jsonl.gz", &["--prefer", "longest"]),
        (&lines, "jsonl", &["--as", "text"]),
        (&lines, "parquet", &["--as", "text"]),
        (&csv, "csv", &[]),
        (&parquet, "parquet", &[]),
    ] {
        let what = format!("{} {options:?} {ending}", input.display());
        let out = tempfile::tempdir().expect("a folder");
        let [keep, whole] = ["kept", "whole"].map(|file| out.path().join(format!("{file}.{ending}")));
        assert_eq!(dedup_files(&[options, &["--keep", name(&whole)]].concat(), &[input]).status, 0, "{what}");
        let options = [options, &["--keep", name(&keep), "--shard-bytes", "2000"]].concat();
        let run = dedup_files(&options, &[input]);
        assert_eq!(run.status, 0, "{what}: {}", run.stderr);
        let shards = shards(out.path());
        assert!(shards.len() > 3, "{what}: {shards:?}");
        assert_eq!(shards[1], out.path().join(format!("kept-00001.{ending}")), "{what}");
        if ending == "parquet" {
            let ids = |path: &Path| tables::strings(&tables::read_table(path), "id");
            assert_eq!(shards.iter().flat_map(|shard| ids(shard)).collect::<Vec<_>>(), ids(&whole), "{what}");
        } else {
            let header = if ending == "csv" { "id,url,text\n" } else { "" };
            let bodies = shards.iter().map(|shard| contents(shard).replacen(header, "", 1));
            let all: Vec<String> = bodies.collect();
            assert!(ending == "jsonl.gz" || all.iter().all(|shard| shard.len() <= 2_000 + 64), "{what}");
            assert_eq!(header.to_owned() + &all.concat(), contents(&whole), "{what}");
        }
        let again = dedup_files(&options, &[input]);
        assert_eq!(again.status, 2, "{what}");
        assert!(again.stderr.contains("the file exists, and is not replaced"), "{what}: {}", again.stderr);
    }
}

#[test]
fn shards_of_an_earlier_run_are_replaced_together_and_repeated_runs_find_them() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = |name: &str, pages: usize| {
        write(folder.path(), name, (0..pages).map(|number| format!("{}\n", page(number))).collect::<String>())
    };
    let (long, short) = (file("long.jsonl", 40), file("short.jsonl", 4));
    let keep = folder.path().join("kept.jsonl");
    let table = folder.path().join("table");
    let options = ["--keep", name(&keep), "--shard-bytes", "2000"];
    assert_eq!(dedup_files(&options, &[&long]).status, 0);
    let before = shards(folder.path());
    write(folder.path(), "kept-1.jsonl", "somebody else's");
    let run = dedup_files(&[&options[..], &["--overwrite", "--table", name(&table)]].concat(), &[&short]);
    assert_eq!(run.status, 0, "{}", run.stderr);
    let after = shards(folder.path());
    assert!(after.len() < before.len() && after.contains(&folder.path().join("kept-1.jsonl")), "{after:?}");
    let again = dedup_files(&[&options[..], &["--table", name(&table)]].concat(), &[&short]);
    assert!(again.status == 0 && again.stderr.contains("already done"), "{}", again.stderr);
    std::fs::remove_file(folder.path().join("kept-00000.jsonl")).expect("removed");
    let again = dedup_files(&[&options[..], &["--table", name(&table)]].concat(), &[&short]);
    assert!(again.status != 0 && again.stderr.contains("is not what that run wrote"), "{}", again.stderr);

    let checkpoint = folder.path().join("checkpoint");
    for (options, told) in [
        (
            vec!["--keep", name(&keep), "--checkpoint", name(&checkpoint)],
            "--checkpoint: cannot continue shards",
        ),
        (vec!["--keep", name(folder.path())], "--shard-bytes: divides one file"),
        (vec!["--keep", "-"], "--shard-bytes: divides one file"),
    ] {
        let run = dedup_files(&[&options[..], &["--shard-bytes", "2000"]].concat(), &[&short]);
        assert!(run.status == 2 && run.stderr.contains(told), "{options:?}: {}", run.stderr);
    }
}
