//! `dedup --checkpoint`: a run that is killed again and again ends with the outputs of one that was never
//! killed.

use std::io::Read as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Stdio};
use std::time::{Duration, Instant};

use arrow_array::{RecordBatch, StringArray};
use leitong_base::random::Random;
use serde_json::{Value, json};

use crate::common::wait::{HANG_LIMIT, pause};
use crate::common::{self, article, gzip, leitong, run, seed, tables, timeless, write};

/// Kills in each run.
const KILLS: usize = 3;

/// Documents of which every third repeats an earlier one, with invalid lines between them. Each has a long
/// unused field, so a few documents fill a batch, after which there may be a checkpoint.
fn documents(from: usize, count: usize) -> String {
    let padding = "y".repeat(40_000);
    (from..from + count)
        .map(|number| {
            let topic = if number % 3 == 2 { number / 2 } else { number };
            let page = json!({
                "id": number.to_string(),
                "url": format!("https://host{}.test/{number}", number % 4),
                "text": article(topic, 12) + &"完".repeat(number % 5),
                "padding": padding,
            });
            if number % 17 == 5 { format!("{page}\n\n{{broken\n") } else { format!("{page}\n") }
        })
        .collect()
}

/// The outputs of one run, in a separate folder.
struct Run {
    folder: PathBuf,
    arguments: Vec<String>,
    /// Files of documents.
    documents: &'static [&'static str],
}

impl Run {
    fn new(folder: &Path, name: &str, options: &[&str], inputs: &[PathBuf]) -> Self {
        let documents = &["kept/a.jsonl", "kept/b.jsonl.gz", "gone.jsonl.zst"];
        Self::into(folder, name, ["kept/", "gone.jsonl.zst"], documents, options, inputs)
    }

    /// Creates a run with these document outputs instead of those of [`Self::new`].
    fn into(
        folder: &Path,
        name: &str,
        [keep, drop]: [&str; 2],
        documents: &'static [&'static str],
        options: &[&str],
        inputs: &[PathBuf],
    ) -> Self {
        let folder = folder.join(name);
        std::fs::create_dir_all(folder.join("kept")).expect("a folder");
        let file = |name: &str| folder.join(name).display().to_string();
        let mut arguments = vec!["dedup".to_owned()];
        for (option, name) in [
            ("--output", "verdicts.jsonl"),
            ("--dead-letters", "dead.jsonl"),
            ("--keep", keep),
            ("--drop", drop),
            ("--clusters", "clusters.jsonl"),
            ("--table", "table"),
        ] {
            arguments.extend([option.to_owned(), file(name)]);
        }
        arguments.extend(options.iter().map(|&option| option.to_owned()));
        arguments.extend(inputs.iter().map(|path| path.display().to_string()));
        Self { folder, arguments, documents }
    }

    fn checkpoints(&self) -> PathBuf {
        self.folder.join("checkpoint")
    }

    /// Returns the number of the last checkpoint.
    fn sequence(&self) -> Option<u64> {
        let json = std::fs::read(self.checkpoints().join("checkpoint.json")).ok()?;
        serde_json::from_slice::<Value>(&json).expect("replaced in one step")["sequence"].as_u64()
    }

    /// Returns the line of the last record before the last checkpoint.
    fn last_line(&self) -> Option<u64> {
        let json = std::fs::read(self.checkpoints().join("checkpoint.json")).ok()?;
        serde_json::from_slice::<Value>(&json).expect("replaced in one step")["last"][1].as_u64()
    }

    fn start(&self) -> Child {
        let checkpoints = self.checkpoints();
        leitong()
            .args(&self.arguments)
            .arg("--checkpoint")
            .arg(checkpoints)
            .args(["--checkpoint-every", "0"])
            .stderr(Stdio::piped())
            .spawn()
            .expect("the program starts")
    }

    /// Returns all outputs, decompressed, without the time of each decision.
    fn outputs(&self) -> Vec<(String, Vec<u8>)> {
        let names = ["dead.jsonl", "clusters.jsonl"].iter().chain(self.documents);
        let mut outputs: Vec<_> =
            names.map(|name| ((*name).to_owned(), decompressed(&self.folder.join(name)))).collect();
        let verdicts = std::fs::read_to_string(self.folder.join("verdicts.jsonl")).expect("verdicts");
        let verdicts: Vec<Value> =
            verdicts.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect();
        outputs.push(("verdicts.jsonl".to_owned(), serde_json::to_vec(&timeless(&verdicts)).expect("JSON")));
        outputs
    }
}

fn decompressed(path: &Path) -> Vec<u8> {
    let bytes = std::fs::read(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    match path.extension().and_then(|extension| extension.to_str()) {
        Some("gz") => {
            let mut all = Vec::new();
            flate2::read::MultiGzDecoder::new(&*bytes).read_to_end(&mut all).expect("gzip");
            all
        }
        Some("zst") => zstd::decode_all(&*bytes).expect("zstd"),
        Some("parquet") => rows(path),
        _ => bytes,
    }
}

/// Returns the columns and rows of a Parquet file, independent of its row groups.
fn rows(path: &Path) -> Vec<u8> {
    let rows =
        tables::joined(&tables::read_table(path), &RecordBatch::new_empty(tables::schema(path).into()));
    format!("{:?} {:?}", tables::schema(path), rows).into_bytes()
}

fn stderr(child: &mut Child) -> String {
    let mut text = String::new();
    child.stderr.take().expect("a pipe").read_to_string(&mut text).expect("UTF-8");
    text
}

#[test]
fn killed_runs_lose_and_duplicate_nothing() {
    let seed = seed("LEITONG_CHECKPOINT_SEED");
    let mut random = Random::from_seed(seed);
    let folder = tempfile::tempdir().expect("a folder");
    let inputs = [
        write(folder.path(), "a.jsonl", documents(0, 250)),
        write(folder.path(), "b.jsonl.gz", gzip(documents(250, 350).as_bytes())),
    ];
    for (number, options) in
        [&[][..], &["--prefer", "longest", "--one-per", "host", "--verify", "--cluster-sizes"]]
            .into_iter()
            .enumerate()
    {
        let [whole, killed] = ["whole", "killed"]
            .map(|name| Run::new(folder.path(), &format!("{name}{number}"), options, &inputs));
        assert_killed_run_ends_as_whole(&whole, &killed, 3, seed, &mut random);
    }
}

/// Old centroids stay in the table's folder, and checkpoints refer to them.
#[test]
fn killed_runs_with_a_table_on_disk_lose_nothing() {
    let seed = seed("LEITONG_CHECKPOINT_SEED");
    let mut random = Random::from_seed(seed);
    let folder = tempfile::tempdir().expect("a folder");
    let before = write(folder.path(), "before.jsonl", documents(1_000, 120));
    let inputs = [
        write(folder.path(), "a.jsonl", documents(0, 250)),
        write(folder.path(), "b.jsonl.gz", gzip(documents(250, 350).as_bytes())),
    ];
    // Some of the centroids in blocks expire during the run.
    let settings = "[table]\non_disk = true\nblock_centroids = 32\n[expiry]\ncentroids_max = 300\n";
    let config = write(folder.path(), "on-disk.toml", settings).display().to_string();
    let [whole, killed] =
        ["whole", "killed"].map(|name| Run::new(folder.path(), name, &["--config", &config], &inputs));
    for either in [&whole, &killed] {
        let table = either.folder.join("table").display().to_string();
        let output = either.folder.join("before.jsonl").display().to_string();
        let before = before.display().to_string();
        let run = run(["dedup", &before, "--table", &table, "--config", &config, "--output", &output]);
        assert_eq!(run.status, 3, "{}", run.stderr);
    }
    assert_killed_run_ends_as_whole(&whole, &killed, 3, seed, &mut random);
    let table = killed.folder.join("table");
    assert!(!table.join("checkpoint.mark").exists());
    let verified = run(["table", "info", "--verify", &table.display().to_string()]);
    assert_eq!(verified.status, 0, "{}", verified.stderr);
}

/// A killed run must not continue with the table of its checkpoint if another run has added pages to the saved table
/// since then. These pages would be lost silently, although the other run counts as done.
#[test]
fn a_checkpoint_is_refused_when_another_run_had_its_table() {
    let folder = tempfile::tempdir().expect("a folder");
    let inputs = [write(folder.path(), "a.jsonl", documents(0, 200))];
    let others = write(folder.path(), "others.jsonl", documents(900, 60)).display().to_string();
    let settings = "[table]\non_disk = true\nblock_centroids = 32\n";
    let config = write(folder.path(), "on-disk.toml", settings).display().to_string();
    for (kind, options) in [("memory", &[][..]), ("disk", &["--config", &config])] {
        let first = Run::new(folder.path(), kind, options, &inputs);
        let mut child = first.start();
        while first.sequence().is_none() {
            assert!(child.try_wait().expect("a child").is_none(), "{kind}: {}", stderr(&mut child));
        }
        child.kill().expect("it runs");
        child.wait().expect("it ends");
        let table = first.folder.join("table");
        let [name, output] =
            [&table, &first.folder.join("others.jsonl")].map(|path| path.display().to_string());
        let other = [&["dedup", "--table", &name, "--output", &output, &others], options].concat();
        let run = common::run(&other);
        assert_eq!(run.status, 3, "{kind}: {}", run.stderr);
        let before = exported(&table);
        let mut child = first.start();
        let told = stderr(&mut child);
        assert_eq!(child.wait().expect("it ends").code(), Some(1), "{kind}: {told}");
        assert!(
            told.contains("was replaced since this checkpoint, or opened by another run"),
            "{kind}: {told}"
        );
        assert!(exported(&table) == before, "{kind}: the table is left as it is");
        std::fs::remove_dir_all(first.checkpoints()).expect("removed");
        let mut child = first.start();
        let told = stderr(&mut child);
        assert_eq!(child.wait().expect("it ends").code(), Some(3), "{kind}: {told}");
        let run = common::run(&other);
        assert!(run.status == 0 && run.stderr.contains("already done"), "{kind}: {}", run.stderr);
        let run = common::run([&["dedup", "--table", &name, &others], options].concat());
        let verdicts = run.verdicts();
        assert!(
            verdicts.len() == 60 && verdicts.iter().all(|verdict| verdict["kind"] != "UNIQUE"),
            "{kind}: the table has the other pages: {}",
            run.stderr
        );
    }
}

/// Copies all files of a folder into another one, which is replaced.
fn copy_folder(from: &Path, to: &Path) {
    let _ = std::fs::remove_dir_all(to);
    std::fs::create_dir_all(to).expect("a folder");
    for entry in std::fs::read_dir(from).expect("a folder").flatten() {
        let to = to.join(entry.file_name());
        match entry.path().is_dir() {
            true => copy_folder(&entry.path(), &to),
            false => drop(std::fs::copy(entry.path(), to).expect("copied")),
        }
    }
}

/// Returns the files below a folder, sorted.
fn files_below(folder: &Path) -> Vec<PathBuf> {
    let mut files = Vec::new();
    for entry in std::fs::read_dir(folder).expect("a folder").flatten() {
        match entry.path().is_dir() {
            true => files.extend(files_below(&entry.path())),
            false => files.push(entry.path()),
        }
    }
    files.sort();
    files
}

/// Returns the place of the last digit of a dropped record's number in the decisions. Another digit drops the record
/// next to it.
fn digit_of_dropped_record(decisions: &[u8]) -> usize {
    let text = std::str::from_utf8(decisions).expect("UTF-8");
    let line = text.find("DUPLICATE").map(|at| text[..at].rfind('\n').map_or(0, |end| end + 1));
    let line = line.expect("a dropped record");
    let number = line + text[line..].find("\"number\":").expect("a number") + "\"number\":".len();
    number + text[number..].find(',').expect("another field") - 1
}

/// If a bit flips in the decisions of a killed run, or in its texts, the continued run ends instead of keeping other
/// documents. After the file is restored, it continues as if nothing had happened.
#[test]
fn a_damaged_file_of_a_checkpoint_ends_the_run_and_a_copy_restores_it() {
    let seed = seed("LEITONG_CHECKPOINT_SEED");
    let mut random = Random::from_seed(seed);
    let folder = tempfile::tempdir().expect("a folder");
    let inputs = [write(folder.path(), "a.jsonl", documents(0, 120))];
    let settings = "[table]\non_disk = true\nblock_centroids = 32\n";
    let config = write(folder.path(), "on-disk.toml", settings).display().to_string();
    let options = ["--prefer", "longest", "--verify", "--config", &config];
    let [whole, killed] = ["whole", "killed"].map(|name| {
        let (outputs, documents) = (["kept.jsonl", "gone.jsonl"], &["kept.jsonl", "gone.jsonl"][..]);
        Run::into(folder.path(), name, outputs, documents, &options, &inputs)
    });
    let files = assert_damage_is_noticed((&whole, &killed), 3, seed, &mut random);
    assert!(files.iter().any(|file| file.ends_with("decisions")), "{files:?}");
}

/// A bit that flips in rows that a killed run has written must not get into the output of the continued run.
#[test]
fn damaged_parts_of_a_parquet_file_end_the_run_and_a_copy_restores_them() {
    let seed = seed("LEITONG_CHECKPOINT_SEED");
    let mut random = Random::from_seed(seed);
    let folder = tempfile::tempdir().expect("a folder");
    let inputs = [parquet(folder.path(), "a.parquet", 0, 220)];
    let [whole, killed] = ["whole", "killed"].map(|name| {
        let (outputs, documents) = (["kept.parquet", "gone.parquet"], &["kept.parquet", "gone.parquet"][..]);
        Run::into(folder.path(), name, outputs, documents, &[], &inputs)
    });
    let files = assert_damage_is_noticed((&whole, &killed), 0, seed, &mut random);
    let parts = files.iter().filter(|file| file.extension().is_some_and(|name| name == "part"));
    assert!(parts.count() > 1, "{files:?}");
}

/// Kills a run, and damages one of its files after the other, those of its checkpoint, its table and its outputs. The
/// continued run must end with an error, or with the outputs of `whole`. Returns the files.
fn assert_damage_is_noticed(
    (whole, killed): (&Run, &Run),
    status: i32,
    seed: u64,
    random: &mut Random,
) -> Vec<PathBuf> {
    assert_eq!(whole.start().wait().expect("it ends").code(), Some(status));
    let expected = whole.outputs();
    let mut child = killed.start();
    while killed.sequence().is_none_or(|sequence| sequence < 2) {
        assert!(child.try_wait().expect("a child").is_none(), "{}", stderr(&mut child));
    }
    child.kill().expect("it runs");
    child.wait().expect("it ends");
    let saved = killed.folder.with_extension("saved");
    copy_folder(&killed.folder, &saved);
    let named = |file: &PathBuf| file.file_name().is_some_and(|name| name != "lock");
    let files: Vec<PathBuf> = files_below(&killed.folder).into_iter().filter(named).collect();
    for file in &files {
        copy_folder(&saved, &killed.folder);
        let good = std::fs::read(file).unwrap_or_default();
        if good.is_empty() {
            continue;
        }
        let mut bad = good.clone();
        let is_decisions = file.ends_with("decisions");
        let bit = match is_decisions {
            true => 8 * digit_of_dropped_record(&good),
            false => random.below(bad.len() * 8),
        };
        bad[bit / 8] ^= 1 << (bit % 8);
        if !is_decisions && random.chance(0.2) {
            bad.truncate(bit / 8);
        }
        let what =
            format!("seed {seed}, {}: bit {bit}, {} of {} bytes", file.display(), bad.len(), good.len());
        std::fs::write(file, &bad).expect("written");
        let mut child = killed.start();
        let told = stderr(&mut child);
        // Bytes after the checkpoint do not matter, nor does a block that it does not name.
        if child.wait().expect("it ends").code() != Some(status) {
            assert!(!told.contains("panicked"), "{what}: {told}");
            std::fs::write(file, &good).expect("written");
            let mut child = killed.start();
            let told = stderr(&mut child);
            assert_eq!(child.wait().expect("it ends").code(), Some(status), "{what}: {told}");
        }
        assert!(killed.outputs() == expected, "{what}: {told}");
    }
    files
}

/// Writes a Parquet file of [`documents`].
fn parquet(folder: &Path, name: &str, from: usize, count: usize) -> PathBuf {
    let lines = documents(from, count);
    let documents: Vec<Value> = lines.lines().filter_map(|line| serde_json::from_str(line).ok()).collect();
    let path = folder.join(name);
    let layout = tables::Layout { row_group_rows: 50, ..tables::Layout::default() };
    // A second body, which is read but not used, so a few rows fill a batch.
    let padding = StringArray::from(vec!["y".repeat(40_000); documents.len()]);
    tables::write_table(&path, &tables::with_column(&tables::table(&documents), "html", padding), &layout);
    path
}

/// A Parquet file cannot be truncated to the position of a checkpoint.
#[test]
fn killed_runs_over_parquet_files_have_each_row_once() {
    let seed = seed("LEITONG_CHECKPOINT_SEED");
    let mut random = Random::from_seed(seed);
    let folder = tempfile::tempdir().expect("a folder");
    let inputs = [("a.parquet", 0, 220), ("b.parquet", 220, 300)]
        .map(|(name, from, count)| parquet(folder.path(), name, from, count));
    for (number, (outputs, documents, options)) in [
        (
            ["kept/", "gone.parquet"],
            &["kept/a.parquet", "kept/b.parquet", "gone.parquet"][..],
            &["--annotate"][..],
        ),
        (["kept.parquet", "gone.parquet"], &["kept.parquet", "gone.parquet"], &["--prefer", "longest"]),
    ]
    .into_iter()
    .enumerate()
    {
        let [whole, killed] = ["whole", "killed"].map(|name| {
            Run::into(folder.path(), &format!("{name}{number}"), outputs, documents, options, &inputs)
        });
        assert_killed_run_ends_as_whole(&whole, &killed, 0, seed, &mut random);
    }
}

/// Texts go into one file, which is truncated to its length at the checkpoint.
#[test]
fn killed_runs_that_write_texts_have_each_text_once() {
    let seed = seed("LEITONG_CHECKPOINT_SEED");
    let mut random = Random::from_seed(seed);
    let folder = tempfile::tempdir().expect("a folder");
    let inputs = [
        write(folder.path(), "a.jsonl", documents(0, 200)),
        write(folder.path(), "b.jsonl.gz", gzip(documents(200, 300).as_bytes())),
    ];
    for (number, (outputs, documents, options)) in [
        (
            ["kept.jsonl.gz", "gone.jsonl"],
            &["kept.jsonl.gz", "gone.jsonl"][..],
            &["--as", "text", "--fields", "url_of=url", "--annotate"][..],
        ),
        (["kept.parquet", "gone.jsonl"], &["kept.parquet", "gone.jsonl"], &["--as", "markdown"]),
        (
            ["kept.parquet", "gone.jsonl"],
            &["kept.parquet", "gone.jsonl"],
            &["--as", "text", "--prefer", "longest"],
        ),
    ]
    .into_iter()
    .enumerate()
    {
        let [whole, killed] = ["whole", "killed"].map(|name| {
            Run::into(folder.path(), &format!("{name}{number}"), outputs, documents, options, &inputs)
        });
        assert_killed_run_ends_as_whole(&whole, &killed, 3, seed, &mut random);
    }
}

/// Statements of revisit records about the documents that stay must survive a kill.
#[test]
fn killed_runs_over_warc_files_leave_the_same_revisit_records() {
    let seed = seed("LEITONG_CHECKPOINT_SEED");
    let mut random = Random::from_seed(seed);
    let folder = tempfile::tempdir().expect("a folder");
    let record = |document: &Value| {
        let [id, url, text] = ["id", "url", "text"].map(|name| document[name].as_str().expect("a text"));
        // Unused bytes make records long, so a few fill a batch.
        let block = format!(
            "HTTP/1.1 200 OK\r\nContent-Type: text/html; charset=utf-8\r\n\r\n<p>{text}<!--{}-->",
            "y".repeat(40_000)
        );
        format!(
            "WARC/1.1\r\nWARC-Type: response\r\nWARC-Record-ID: <urn:uuid:{id}>\r\nWARC-Target-URI: {url}\r\n\
             WARC-Date: 2026-01-01T00:00:00Z\r\nContent-Type: application/http\r\nContent-Length: {}\r\n\r\n\
             {block}\r\n\r\n",
            block.len()
        )
    };
    let inputs = [("a.warc.gz", 0, 200), ("b.warc.gz", 200, 200)].map(|(name, from, count)| {
        let lines = documents(from, count);
        let documents = lines.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
        let records: Vec<u8> = documents.flat_map(|document| gzip(record(&document).as_bytes())).collect();
        write(folder.path(), name, records)
    });
    for (number, options) in
        [&["--revisit"][..], &["--revisit", "--prefer", "longest"]].into_iter().enumerate()
    {
        let [whole, killed] = ["whole", "killed"].map(|name| {
            let outputs = ["kept.warc.gz", "gone.warc.gz"];
            let documents = &["kept.warc.gz", "gone.warc.gz"];
            Run::into(folder.path(), &format!("{name}{number}"), outputs, documents, options, &inputs)
        });
        assert_killed_run_ends_as_whole(&whole, &killed, 0, seed, &mut random);
        let kept = decompressed(&whole.folder.join("kept.warc.gz"));
        let revisits = memchr::memmem::find_iter(&kept, b"WARC-Type: revisit").count();
        let referring = memchr::memmem::find_iter(&kept, b"WARC-Refers-To: <urn:uuid:").count();
        assert!(revisits > 50 && revisits == referring, "{revisits} revisits, {referring} refer to a record");
    }
}

/// Runs `whole` without interruption and `killed` until it has been killed [`KILLS`] times, and compares the
/// outputs.
#[track_caller]
fn assert_killed_run_ends_as_whole(whole: &Run, killed: &Run, status: i32, seed: u64, random: &mut Random) {
    let run = run(&whole.arguments);
    assert_eq!(run.status, status, "{}", run.stderr);
    let mut kills = 0;
    let through = loop {
        let until = killed.sequence().map_or(0, |sequence| sequence + 1) + random.below(4) as u64;
        let mut child = killed.start();
        let begun = Instant::now();
        while kills < KILLS
            && child.try_wait().expect("a child").is_none()
            && killed.sequence().is_none_or(|sequence| sequence < until)
        {
            assert!(begun.elapsed() < *HANG_LIMIT, "seed {seed}: no checkpoint {until}");
        }
        if kills < KILLS {
            pause(Duration::from_micros(random.below(20_000) as u64));
            child.kill().expect("it runs or has ended");
        }
        let told = stderr(&mut child);
        assert_eq!(kills > 0, told.contains("resuming after record"), "seed {seed}: {told}");
        match child.wait().expect("it ends").code() {
            Some(status) => break status,
            None => kills += 1,
        }
    };
    assert_eq!(through, status, "seed {seed}");
    assert!(kills >= 1, "seed {seed}: it was through after {kills} kills");
    for (found, expected) in killed.outputs().into_iter().zip(whole.outputs()) {
        assert!(found == expected, "seed {seed}: {} differs, {:?}", found.0, killed.arguments);
    }
    let left: Vec<_> = std::fs::read_dir(killed.checkpoints()).expect("a folder").collect();
    assert_eq!(left.len(), 1, "all but the lock goes: {left:?}");
    let tables = [whole, killed].map(|run| run.folder.join("table"));
    assert!(exported(&tables[0]) == exported(&tables[1]), "seed {seed}: other centroids");
}

/// Returns everything that a table holds, without the fields about the run that wrote it.
fn exported(table: &Path) -> (Value, String) {
    let lines = common::run(["table", "export", "--all", &table.display().to_string()]).stdout;
    let (head, centroids) = lines.split_once('\n').expect("a line about the table");
    let mut head: Value = serde_json::from_str(head).expect("JSON");
    head.as_object_mut().expect("an object").remove("runs");
    (head, centroids.to_owned())
}

#[test]
fn a_checkpoint_of_another_run_is_refused() {
    let folder = tempfile::tempdir().expect("a folder");
    let inputs =
        [write(folder.path(), "a.jsonl", documents(0, 60)), write(folder.path(), "b.jsonl.gz", gzip(b"{}"))];
    // The run is killed after its first checkpoint. On a busy machine it may have ended by then; it is then repeated.
    let first = loop {
        let first = Run::new(folder.path(), "run", &[], &inputs);
        let mut child = first.start();
        while first.sequence().is_none() && child.try_wait().expect("a child").is_none() {}
        child.kill().expect("it runs or has ended");
        child.wait().expect("it ends");
        if first.sequence().is_some() && common::centroids(&first.folder.join("table")) == 0 {
            break first;
        }
        std::fs::remove_dir_all(&first.folder).expect("removed");
    };

    let verdicts = std::fs::read(first.folder.join("verdicts.jsonl.part")).expect("verdicts");
    let other = Run::new(folder.path(), "run", &["--prefer", "newest"], &inputs);
    let mut child = other.start();
    let told = stderr(&mut child);
    assert_eq!(child.wait().expect("it ends").code(), Some(1), "{told}");
    assert!(
        told.contains("belongs to another run, whose options were") && told.contains("--prefer newest"),
        "{told}"
    );
    let grown = write(folder.path(), "a.jsonl", documents(0, 61));
    let mut child = Run::new(folder.path(), "run", &[], &[grown, inputs[1].clone()]).start();
    let told = stderr(&mut child);
    assert!(told.contains("whose input 1 was") && told.contains("a.jsonl"), "{told}");
    child.wait().expect("it ends");
    assert_eq!(
        std::fs::read(first.folder.join("verdicts.jsonl.part")).expect("verdicts"),
        verdicts,
        "nothing is cut"
    );
}

#[test]
fn options_that_checkpoints_cannot_support_are_refused() {
    let folder = tempfile::tempdir().expect("a folder");
    let pages = write(folder.path(), "a.jsonl", documents(0, 1));
    let (pages, checkpoint) = (pages.display().to_string(), folder.path().join("c").display().to_string());
    for (arguments, told) in [
        (vec!["--checkpoint", &checkpoint, &pages], "every output must be a file"),
        (vec!["--checkpoint", &checkpoint, "--keep", "-", &pages], "every output must be a file"),
        (vec!["--checkpoint", &checkpoint, "--output", "v.jsonl", "-"], "every INPUT must be a file"),
        (vec!["--checkpoint", &checkpoint, "--output", "v.jsonl"], "every INPUT must be a file"),
        (vec!["--checkpoint-every", "1", &pages], "--checkpoint"),
    ] {
        let run = run(["dedup"].iter().chain(&arguments));
        assert_eq!(run.status, 2, "{}", run.stderr);
        assert!(run.stderr.contains(told), "{arguments:?}: {}", run.stderr);
    }
}

/// The exit status of a resumed run counts what could not be read before the checkpoint, too.
#[test]
fn a_resumed_run_ends_with_the_status_of_the_whole() {
    let folder = tempfile::tempdir().expect("a folder");
    let settings = "[page]\nbytes_max = 50000\nline_bytes_max = 60000\n";
    let config = write(folder.path(), "small.toml", settings).display().to_string();
    let long =
        json!({ "id": "long", "url": "https://long.test/", "text": "x", "padding": "y".repeat(20_000_000) });
    let rest = documents(0, 200).replace("\n\n{broken\n", "\n");
    let input = write(folder.path(), "a.jsonl", format!("{{broken\n{long}\n{rest}"));
    let run = Run::new(folder.path(), "run", &["--config", &config], &[input]);
    let mut child = run.start();
    while run.last_line().is_none_or(|line| line <= 2) {
        assert!(child.try_wait().expect("a child").is_none(), "{}", stderr(&mut child));
    }
    child.kill().expect("it runs");
    child.wait().expect("it ends");
    let mut child = run.start();
    let told = stderr(&mut child);
    assert_eq!(child.wait().expect("it ends").code(), Some(3), "{told}");
    assert!(told.contains("it had 1 dead letters, and 1 documents in no output"), "{told}");
    let mut child = run.start();
    let told = stderr(&mut child);
    assert_eq!(child.wait().expect("it ends").code(), Some(0), "{told}");
    assert!(told.contains("already done") && told.contains("It had 1 dead letters"), "{told}");
}
