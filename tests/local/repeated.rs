//! A repeated `dedup`: the same run again, a failed one, and one with a replaced input.

use std::collections::BTreeMap;
use std::fs;
use std::io::{Read as _, Write as _};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Stdio};

use rustix::fs::{CWD, FileType, Mode, mknodat};
use serde_json::{Value, json};

use crate::common::{Run, article, dedup_files, leitong, name, run, run_with_input, write};

/// Returns documents of which every third is a copy of an earlier one.
fn documents(numbers: std::ops::Range<usize>) -> String {
    let line = |number: usize| {
        let topic = if number % 3 == 2 { number / 2 } else { number };
        let url = format!("https://host{}.test/{number}", number % 4);
        format!("{}\n", json!({ "id": number.to_string(), "url": url, "text": article(topic, 12) }))
    };
    numbers.map(line).collect()
}

/// Returns all files of a folder except locks, with their contents and modification times.
fn contents(folder: &Path) -> BTreeMap<PathBuf, (Vec<u8>, (i64, i64))> {
    let mut all = BTreeMap::new();
    for entry in fs::read_dir(folder).expect("a folder") {
        let path = entry.expect("an entry").path();
        if path.is_dir() {
            all.extend(contents(&path));
        } else if !path.ends_with("lock") {
            let file = fs::metadata(&path).expect("a file");
            let bytes = fs::read(&path).expect("a file");
            all.insert(path, (bytes, (file.mtime(), file.mtime_nsec())));
        }
    }
    all
}

/// Replaces a folder with a copy of another one.
fn copy(from: &Path, to: &Path) {
    let _ = fs::remove_dir_all(to);
    fs::create_dir_all(to).expect("a folder");
    for entry in fs::read_dir(from).expect("a folder") {
        let path = entry.expect("an entry").path();
        let target = to.join(path.file_name().expect("a name"));
        if path.is_dir() { copy(&path, &target) } else { fs::copy(&path, &target).map(drop).expect("copied") }
    }
}

/// A command with outputs in a separate folder.
struct Command {
    folder: PathBuf,
    arguments: Vec<String>,
}

impl Command {
    fn new(folder: &Path, table: &Path, options: &[&str], inputs: &[&Path]) -> Self {
        fs::create_dir_all(folder.join("kept")).expect("a folder");
        let mut arguments = vec!["dedup".to_owned(), "--table".to_owned(), name(table).to_owned()];
        for (option, file) in [
            ("--output", "verdicts.jsonl"),
            ("--dead-letters", "dead.jsonl"),
            ("--keep", "kept/"),
            ("--drop", "gone.jsonl"),
            ("--clusters", "clusters.jsonl"),
            ("--report", "report.json"),
        ] {
            arguments.extend([option.to_owned(), format!("{}/{file}", name(folder))]);
        }
        arguments.extend(options.iter().map(|&option| option.to_owned()));
        arguments.extend(inputs.iter().map(|path| name(path).to_owned()));
        Self { folder: folder.to_owned(), arguments }
    }

    fn run(&self) -> Run {
        run(&self.arguments)
    }

    /// Returns the documents that stay and go.
    fn documents(&self) -> Vec<Vec<u8>> {
        let mut files: Vec<_> =
            contents(&self.folder.join("kept")).into_values().map(|file| file.0).collect();
        files.extend(
            ["gone.jsonl", "clusters.jsonl"].map(|file| fs::read(self.folder.join(file)).expect("a file")),
        );
        files
    }
}

/// Schedulers repeat finished runs. Such a run must not compare each page with itself and replace the kept documents
/// by an empty file.
#[test]
fn repeating_a_finished_run_changes_nothing() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = |name: &str| folder.path().join(name);
    let days = [
        write(folder.path(), "1.jsonl", documents(0..60) + "{broken\n"),
        write(folder.path(), "2.jsonl", documents(40..100)),
    ];
    let (table, out) = (path("table"), path("out"));
    let runs = [1, 2].map(|day| Command::new(&out.join(day.to_string()), &table, &[], &[&days[day - 1]]));
    assert_eq!(runs[0].run().status, 3, "one line is broken");
    assert_eq!(runs[1].run().status, 0);
    assert!(fs::read(out.join("1/kept/1.jsonl")).expect("kept").len() > 1_000);
    let before = contents(folder.path());
    // Yesterday's run is known as well, and a copy of an input counts as the same input.
    fs::copy(&days[0], path("copy")).and_then(|_| fs::rename(path("copy"), &days[0])).expect("copied");
    for (command, letters) in [(&runs[1], false), (&runs[0], true)] {
        let again = command.run();
        assert_eq!((again.status, again.stdout.as_str()), (0, ""), "{}", again.stderr);
        assert!(again.stderr.contains("already done"), "{}", again.stderr);
        assert!(again.stderr.contains("name a table that does not have these pages"), "{}", again.stderr);
        assert_eq!(again.stderr.contains("It had 1 dead letters"), letters, "{}", again.stderr);
    }
    let mut after = contents(folder.path());
    after.insert(days[0].clone(), before[&days[0]].clone());
    let changed: Vec<_> = before.iter().filter(|(path, file)| after.get(*path) != Some(file)).collect();
    assert!(
        changed.is_empty() && after.len() == before.len(),
        "{:?}",
        changed.iter().map(|x| x.0).collect::<Vec<_>>()
    );

    // With a table without these pages, the run is done again.
    let refused = Command::new(&out.join("1"), &path("other"), &[], &[&days[0]]).run();
    assert!(refused.status == 2 && refused.stderr.contains("the file exists"), "{}", refused.stderr);
    assert!(!path("other").exists(), "before anything is read or written");
    let other = Command::new(&out.join("1"), &path("other"), &["--overwrite"], &[&days[0]]);
    let documents = other.documents();
    assert_eq!(other.run().status, 3);
    assert!(other.documents() == documents);
    // Another input or another setting makes another run.
    write(folder.path(), "2.jsonl", documents_of_equal_size(&days[1]));
    assert_eq!(runs[1].run().status, 2, "the outputs of the first text exist");
    let replaced = Command::new(&out.join("2"), &table, &["--overwrite"], &[&days[1]]).run();
    assert!(replaced.status == 0 && !replaced.stderr.contains("already done"), "{}", replaced.stderr);
    let configured = write(folder.path(), "leitong.toml", "[page]\nline_bytes_max = 9000000\n");
    let options = ["--config", name(&configured), "--overwrite"];
    let refused = Command::new(&out.join("1"), &path("other"), &options, &[&days[0]]).run();
    assert!(refused.status == 1 && refused.stderr.contains("would be overwritten"), "{}", refused.stderr);
}

/// Returns the same lines in another order.
fn documents_of_equal_size(path: &Path) -> String {
    let text = fs::read_to_string(path).expect("a file");
    text.lines().rev().fold(String::new(), |all, line| all + line + "\n")
}

/// A repeated run produces its outputs or an error: never status 0 without them.
#[test]
fn a_repeated_run_whose_outputs_are_gone_or_printed_is_an_error() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = |name: &str| folder.path().join(name);
    let input = write(folder.path(), "1.jsonl", documents(0..30));
    let command = Command::new(&path("out"), &path("table"), &[], &[&input]);
    assert_eq!(command.run().status, 0);
    fs::write(path("out/gone.jsonl"), "").expect("written");
    let again = command.run();
    assert_eq!(again.status, 2);
    let told =
        format!("--drop {} is not what that run wrote: it has 0 bytes", path("out/gone.jsonl").display());
    assert!(again.stderr.contains(&told), "{}", again.stderr);
    fs::remove_file(path("out/kept/1.jsonl")).expect("removed");
    let again = command.run();
    let told =
        format!("--keep {} is not what that run wrote: it has no file", path("out/kept/1.jsonl").display());
    assert!(again.status == 1 && again.stderr.contains(&told), "{}", again.stderr);
    // With a copy of the table and new outputs, the message blamed a change to files that never existed.
    copy(&path("table"), &path("copied"));
    let elsewhere = Command::new(&path("out2"), &path("copied"), &[], &[&input]).run();
    let told = "If that run wrote to another file, name that one";
    assert!(elsewhere.status == 1 && elsewhere.stderr.contains(told), "{}", elsewhere.stderr);

    let (table, clusters) = (path("printed"), path("clusters.jsonl"));
    let options = ["--table", name(&table), "--clusters", name(&clusters)];
    assert_eq!(dedup_files(&options, &[&input]).status, 0);
    let again = dedup_files(&options, &[&input]);
    assert_eq!((again.status, again.stdout.as_str()), (1, ""), "{}", again.stderr);
    assert!(again.stderr.contains("standard output"), "{}", again.stderr);
    // A run that writes only verdicts, to standard output, overwrites nothing. Repeated, it reports the table's
    // contents.
    let table = path("verdicts");
    let kinds = |run: Run| run.verdicts().iter().map(|verdict| verdict["kind"].clone()).collect::<Vec<_>>();
    let first = kinds(dedup_files(&["--table", name(&table)], &[&input]));
    let second = kinds(dedup_files(&["--table", name(&table)], &[&input]));
    let is_duplicate = |kind: &Value| kind.as_str().is_some_and(|kind| kind.ends_with("_DUPLICATE"));
    assert!(first.contains(&json!("UNIQUE")) && second.iter().all(is_duplicate));
}

/// A finished run may be repeated with another spelling of an input or output, or with an additional option. It must
/// not compare each page with itself and replace the kept documents by an empty file.
#[test]
fn repeating_a_finished_run_in_another_spelling_empties_no_output() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = |name: &str| folder.path().join(name);
    for (file, numbers) in [("a.jsonl", 0..9), ("b.jsonl", 9..18), ("c.jsonl", 18..21)] {
        write(folder.path(), file, documents(numbers));
    }
    fs::copy(path("a.jsonl"), path("copy.jsonl")).expect("copied");
    std::os::unix::fs::symlink(folder.path(), path("here")).expect("a link");
    let in_folder = |line: &str| {
        let words = line.replace("HERE", name(folder.path()));
        leitong().current_dir(folder.path()).args(words.split(' ')).output().expect("the program runs")
    };
    let told = |output: &std::process::Output| String::from_utf8_lossy(&output.stderr).into_owned();
    for first in
        ["dedup a.jsonl b.jsonl --table T --keep k.jsonl", "dedup a.jsonl b.jsonl --table F --keep kd/"]
    {
        let run = in_folder(first);
        assert!(run.status.success(), "{first}: {}", told(&run));
    }
    let kept = || {
        let files =
            ["k.jsonl", "kd/a.jsonl", "kd/b.jsonl"].map(|name| fs::read(path(name)).unwrap_or_default());
        (files, contents(&path("T")), contents(&path("F")))
    };
    let before = kept();
    assert!(before.0.iter().all(|file| file.len() > 1_000));
    for (again, is_done) in [
        ("dedup HERE/a.jsonl here/b.jsonl --table ./T --keep here/k.jsonl", true),
        ("dedup copy.jsonl b.jsonl --table T --keep ./k.jsonl", true),
        ("dedup ./a.jsonl b.jsonl --table F --keep kd", true),
        ("dedup a.jsonl b.jsonl --table F --keep kd/ --annotate", false),
        ("dedup b.jsonl a.jsonl --table T --keep k.jsonl", false),
        ("dedup b.jsonl --table T --keep k.jsonl", false),
        ("dedup a.jsonl b.jsonl c.jsonl --table T --keep k.jsonl", false),
        ("dedup a.jsonl b.jsonl --table T --keep k.jsonl --output o.jsonl", false),
        ("dedup a.jsonl b.jsonl --table T --keep k.jsonl --dead-letters l.jsonl", false),
        ("dedup a.jsonl b.jsonl --table T --keep k.jsonl --prefer longest", false),
        ("dedup a.jsonl b.jsonl --table T --output k.jsonl", false),
    ] {
        let run = in_folder(again);
        assert!(kept() == before, "{again}: {}", told(&run));
        assert_eq!(run.status.code(), Some(if is_done { 0 } else { 2 }), "{again}: {}", told(&run));
        assert_eq!(told(&run).contains("already done"), is_done, "{again}: {}", told(&run));
        assert_eq!(told(&run).contains("the file exists"), !is_done, "{again}: {}", told(&run));
        // With permission to replace files, the documents of these pages would still be lost.
        let run = in_folder(&format!("{again} --overwrite"));
        assert!(kept() == before, "{again}: {}", told(&run));
        assert_eq!(run.status.code(), Some(if is_done { 0 } else { 1 }), "{again}: {}", told(&run));
        assert_eq!(told(&run).contains("already done"), is_done, "{again}: {}", told(&run));
        let advice = "name a table that does not have these pages";
        assert!(told(&run).contains(advice), "{again}: {}", told(&run));
    }
    // Documents on standard output cannot be written again.
    let run = in_folder("dedup a.jsonl --table P --keep -");
    assert!(run.status.success() && run.stdout.len() > 1_000);
    for again in ["--keep -", "--keep - --prefer longest", "--keep /dev/stdout"] {
        let run = in_folder(&format!("dedup a.jsonl --table P {again}"));
        assert_eq!((run.status.code(), run.stdout.len()), (Some(1), 0), "{again}: {}", told(&run));
    }
    // Other inputs may replace the outputs of an earlier run.
    assert!(in_folder("dedup b.jsonl --table P --keep k.jsonl --overwrite").status.success());
}

/// If the same command runs again after lines were appended to its input, all other pages are duplicates of
/// themselves. The output must not be overwritten with only the new ones.
#[test]
fn repeating_a_run_over_an_input_that_has_grown_empties_no_output() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = |name: &str| folder.path().join(name);
    let input = write(folder.path(), "a.jsonl", documents(0..9));
    let dedup_with = |keep: &str, options: &[&str]| {
        let [table, keep] = [path("T"), path(keep)];
        run([&["dedup", "--table", name(&table), "--keep", name(&keep), name(&input)], options].concat())
    };
    let dedup = |keep: &str| dedup_with(keep, &[]);
    assert_eq!(dedup("k.jsonl").status, 0);
    let before = (fs::read(path("k.jsonl")).expect("documents"), contents(&path("T")));
    write(folder.path(), "a.jsonl", documents(0..12));
    assert_eq!(dedup("k.jsonl").status, 2);
    let again = dedup_with("k.jsonl", &["--overwrite"]);
    assert!(again.status == 1 && again.stderr.contains("would be overwritten"), "{}", again.stderr);
    assert!((fs::read(path("k.jsonl")).expect("documents"), contents(&path("T"))) == before);
    // Another file takes the new documents. The output is free for another input once its documents were moved.
    assert_eq!(dedup("new.jsonl").status, 0);
    assert!(fs::metadata(path("new.jsonl")).expect("documents").len() > 0);
    write(folder.path(), "a.jsonl", documents(20..40));
    assert_eq!(dedup("k.jsonl").status, 2);
    fs::rename(path("k.jsonl"), path("moved.jsonl")).expect("moved");
    assert_eq!(dedup("k.jsonl").status, 0);
}

/// A table keeps its marks of finished runs, whatever else writes it.
#[test]
fn marks_of_runs_stay_in_a_table_that_is_compacted_merged_or_moved() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = |name: &str| folder.path().join(name);
    let inputs = ["a", "b"].map(|name| write(folder.path(), name, documents(0..9) + name));
    for input in &inputs {
        let name = input.file_name().and_then(|name| name.to_str()).expect("a name");
        Command::new(&path(&format!("out-{name}")), &path(name).with_extension("table"), &[], &[input]).run();
    }
    let leitong = |arguments: &[&str]| {
        let run = run(arguments);
        assert_eq!(run.status, 0, "{arguments:?}: {}", run.stderr);
        run.stdout
    };
    let tables = ["a.table", "b.table", "merged", "imported"].map(path);
    let [a, b, merged, imported] = tables.each_ref().map(|path| name(path));
    leitong(&["table", "compact", a]);
    leitong(&["table", "merge", "--output", merged, a, b]);
    let lines = write(folder.path(), "lines", leitong(&["table", "export", "--all", merged]));
    leitong(&["table", "import", "--output", imported, name(&lines)]);
    for (table, input) in [(a, 0), (merged, 0), (merged, 1), (imported, 0), (imported, 1)] {
        let out = path(&format!("out-{}", ["a", "b"][input]));
        let again = Command::new(&out, Path::new(table), &[], &[&inputs[input]]).run();
        assert!(again.status == 0 && again.stderr.contains("already done"), "{table}: {}", again.stderr);
    }
}

/// Starts a run that saves a checkpoint as often as possible.
fn start(command: &Command, checkpoints: &Path) -> Child {
    leitong()
        .args(&command.arguments)
        .args(["--checkpoint", name(checkpoints), "--checkpoint-every", "0"])
        .stderr(Stdio::piped())
        .spawn()
        .expect("the program starts")
}

fn ended(mut child: Child) -> (Option<i32>, String) {
    let mut told = String::new();
    child.stderr.take().expect("a pipe").read_to_string(&mut told).expect("UTF-8");
    (child.wait().expect("it ends").code(), told)
}

/// Between saving the table and its end, a run can be killed at every step. A repetition must not empty the outputs.
#[test]
fn a_run_killed_at_its_end_can_be_repeated_to_the_same_outputs() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = |name: &str| folder.path().join(name);
    // An unused field makes documents long, so a few fill a batch, after which there may be a
    // checkpoint.
    let padded =
        |lines: String| lines.replace("}\n", &format!(",\"padding\":\"{}\"}}\n", "y".repeat(40_000)));
    let before = write(folder.path(), "before.jsonl", documents(1_000..1_060));
    let input = write(folder.path(), "pages.jsonl", padded(documents(0..120)));
    let settings = "[table]\non_disk = true\nblock_centroids = 32\n[expiry]\ncentroids_max = 100\n";
    let on_disk = write(folder.path(), "on-disk.toml", settings);
    let on_disk = ["--config", name(&on_disk)];
    for (kind, options) in [("memory", &[][..]), ("disk", &on_disk), ("longest", &["--prefer", "longest"])] {
        let (table, whole_table) = (path(&format!("{kind}.table")), path(&format!("{kind}-whole.table")));
        for table in [&table, &whole_table] {
            let settings = if kind == "disk" { &on_disk[..] } else { &[] };
            let verdicts = path("verdicts.jsonl");
            let made = ["--table", name(table), "--overwrite", "--output", name(&verdicts)];
            let made = [&made[..], settings].concat();
            assert_eq!(dedup_files(&made, &[&before]).status, 0);
        }
        let whole = Command::new(&path(&format!("{kind}-whole")), &whole_table, options, &[&input]);
        assert_eq!(whole.run().status, 0);
        let command = Command::new(&path(kind), &table, options, &[&input]);
        let checkpoints = path(&format!("{kind}.checkpoints"));
        let mut child = start(&command, &checkpoints);
        while !checkpoints.join("checkpoint.json").exists() {
            assert!(child.try_wait().expect("a child").is_none(), "{kind}: {}", ended(child).1);
        }
        child.kill().expect("it runs");
        child.wait().expect("it ends");
        let kept = [
            (&table, path("kept.table")),
            (&checkpoints, path("kept.checkpoints")),
            (&command.folder, path("kept.outputs")),
        ];
        kept.iter().for_each(|(from, to)| copy(from, to));

        let assert_whole = |step: &str, (status, told): (Option<i32>, String), is_done: bool| {
            assert_eq!(status, Some(0), "{kind}, {step}: {told}");
            assert_eq!(told.contains("already done"), is_done, "{kind}, {step}: {told}");
            assert!(command.documents() == whole.documents(), "{kind}, {step}: other documents");
            let left = fs::read_dir(&checkpoints).expect("a folder").count();
            assert_eq!(left, 1, "{kind}, {step}: all but the lock goes");
            let exported = [&table, &whole_table].map(|table| run(["table", "export", name(table)]).stdout);
            assert!(exported[0] == exported[1], "{kind}, {step}: other centroids");
            let verified = run(["table", "info", "--verify", name(&table)]);
            assert_eq!(verified.status, 0, "{kind}, {step}: {}", verified.stdout);
        };
        assert_whole("killed at a checkpoint", ended(start(&command, &checkpoints)), false);
        assert_whole("killed after the checkpoint went", ended(start(&command, &checkpoints)), true);
        copy(&path("kept.checkpoints"), &checkpoints);
        assert_whole("killed before the checkpoint went", ended(start(&command, &checkpoints)), true);
        copy(&path("kept.checkpoints"), &checkpoints);
        fs::remove_file(checkpoints.join("checkpoint.json")).expect("removed");
        assert_whole("killed while the checkpoint went", ended(start(&command, &checkpoints)), true);
        for (original, kept) in &kept {
            copy(kept, original);
        }
        assert_whole("killed before the table was saved", ended(start(&command, &checkpoints)), false);
        // The same without a checkpoint: the outputs are complete, and the table is the earlier one.
        copy(&path("kept.table"), &table);
        let _ = fs::remove_file(table.join("checkpoint.mark"));
        fs::remove_dir_all(&command.folder).expect("removed");
        fs::create_dir_all(command.folder.join("kept")).expect("a folder");
        let again = command.run();
        assert_whole(
            "killed before the table was saved, without a checkpoint",
            (Some(again.status), again.stderr),
            false,
        );
    }
}

/// A script with a folder of checkpoints per day is restarted. The first day, which is done, must not delete files
/// that the checkpoint of the second day needs.
#[test]
fn repeating_a_finished_run_leaves_other_checkpoints_usable() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = |name: &str| folder.path().join(name);
    let padded =
        |lines: String| lines.replace("}\n", &format!(",\"padding\":\"{}\"}}\n", "y".repeat(40_000)));
    let days = [
        write(folder.path(), "1.jsonl", documents(1_000..1_060)),
        write(folder.path(), "2.jsonl", padded(documents(0..120))),
    ];
    let settings = "[table]\non_disk = true\nblock_centroids = 32\n";
    let on_disk = write(folder.path(), "on-disk.toml", settings);
    for (kind, options) in [("memory", &[][..]), ("disk", &["--config", name(&on_disk)])] {
        let table = path(&format!("{kind}.table"));
        let [first, second] = [1, 2].map(|day| {
            let command = Command::new(&path(&format!("{kind}-{day}")), &table, options, &[&days[day - 1]]);
            (command, path(&format!("{kind}-{day}.checkpoints")))
        });
        let (status, told) = ended(start(&first.0, &first.1));
        assert_eq!(status, Some(0), "{kind}: {told}");
        let mut child = start(&second.0, &second.1);
        while !second.1.join("checkpoint.json").exists() {
            assert!(child.try_wait().expect("a child").is_none(), "{kind}: {}", ended(child).1);
        }
        child.kill().expect("it runs");
        child.wait().expect("it ends");
        for (day, goes_on) in [(&first, false), (&second, true), (&first, false)] {
            let (status, told) = ended(start(&day.0, &day.1));
            assert_eq!(status, Some(0), "{kind}: {told}");
            assert_eq!(told.contains("resuming after record"), goes_on, "{kind}: {told}");
            assert_eq!(told.contains("already done"), !goes_on, "{kind}: {told}");
        }
        assert!(!table.join("checkpoint.mark").exists(), "{kind}: the second day ended");
    }
}

/// A run over pages in another format fails and saves no table, even if it has read some pages by chance. Otherwise
/// the next run, with the right settings, would take these pages for duplicates of themselves.
#[test]
fn a_run_with_hardly_any_page_saves_no_table() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = |name: &str| folder.path().join(name);
    let line = |number: usize| {
        let url = format!("https://host.test/{number}");
        let page = match number % 3 {
            0 => json!({ "url": url, "text": article(number, 12) }),
            _ => json!({ "url": url, "page": { "source": article(number, 12) } }),
        };
        format!("{page}\n")
    };
    let input = write(folder.path(), "pages.jsonl", (0..60).map(line).collect::<String>());
    let (table, checkpoints) = (path("table"), path("checkpoints"));
    let keep = path("keep.jsonl");
    let options = ["--table", name(&table), "--keep", name(&keep), "--checkpoint", name(&checkpoints)];
    for _ in 0..2 {
        let failed = dedup_files(&options, &[&input]);
        assert!(failed.status == 1 && failed.stderr.contains("the table is not saved"), "{}", failed.stderr);
    }
    let fields = "[input.fields]\ntext = [\"/page/source\", \"/text\"]\n";
    let config = write(folder.path(), "fields.toml", fields);
    let run = dedup_files(&[&options[..], &["--config", name(&config)]].concat(), &[&input]);
    assert_eq!(run.status, 0, "{}", run.stderr);
    assert_eq!(fs::read_to_string(&keep).expect("kept").lines().count(), 60, "{}", run.stderr);
}

/// Replaces `path` with other lines of the same size and the same modification time.
fn replace(path: &Path, in_place: bool) {
    let modified = fs::metadata(path).expect("a file").modified().expect("a time");
    let lines = documents_of_equal_size(path);
    let target = if in_place { path.to_owned() } else { path.with_extension("other") };
    let mut file =
        fs::File::options().write(true).create(true).truncate(false).open(&target).expect("a file");
    file.write_all(lines.as_bytes()).and_then(|()| file.set_modified(modified)).expect("written");
    fs::rename(&target, path).expect("renamed");
}

/// A new day with the same file names does not overwrite the documents of the day before: no output would have them
/// any more, although the table knows their texts.
#[test]
fn the_documents_of_an_earlier_day_are_not_overwritten() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = |name: &str| folder.path().join(name);
    let (table, out) = (path("table"), path("out"));
    for day in ["1", "2"] {
        fs::create_dir(path(day)).expect("a folder");
    }
    let days = [0..30, 30..60].map(documents);
    let inputs = [write(&path("1"), "pages.jsonl", &days[0]), write(&path("2"), "pages.jsonl", &days[1])];
    let runs = [0, 1].map(|day| Command::new(&out, &table, &[], &[&inputs[day]]));
    assert_eq!(runs[0].run().status, 0);
    let files =
        ["verdicts.jsonl", "dead.jsonl", "kept/pages.jsonl", "gone.jsonl", "clusters.jsonl", "report.json"];
    for (number, file) in files.map(|file| out.join(file)).iter().enumerate() {
        let before = contents(folder.path());
        let refused = runs[1].run();
        let told = format!("{}: the file exists, and is not replaced", name(file));
        assert!(refused.status == 2 && refused.stderr.contains(&told), "{}", refused.stderr);
        assert!(contents(folder.path()) == before, "nothing was changed");
        fs::rename(file, path(&format!("moved-{number}"))).expect("moved");
    }
    // A part that this command has not written is somebody else's file.
    let part = write(&out, "gone.jsonl.part", "mine");
    let refused = runs[1].run();
    assert!(refused.status == 2 && refused.stderr.contains("is not of this command"), "{}", refused.stderr);
    assert_eq!(fs::read_to_string(&part).expect("a file"), "mine");
    fs::remove_file(&part).expect("removed");
    assert_eq!(runs[1].run().status, 0);
    assert_eq!(runs[1].run().status, 0, "already done");
}

/// A list of at most 4,096 inputs once switched the checks off: the same run with a report added emptied the kept
/// files, a new day under the same names overwrote those of the day before, and `--keep` emptied any file.
#[test]
fn more_inputs_than_a_list_can_hold_change_no_output_that_exists() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = |name: &str| folder.path().join(name);
    let (pages, kept, table) = (path("in"), path("K/"), path("T"));
    fs::create_dir_all(&pages).and_then(|()| fs::create_dir(&kept)).expect("folders");
    let day = |day: usize| {
        for number in 0..4_100 {
            let text = format!(
                "day{day} number{number} of a text that is as short as a text may be {}",
                number * day
            );
            let page = json!({ "id": number.to_string(), "url": format!("http://t.test/{day}/{number}"), "text": text });
            write(&pages, &format!("x{number:04}.jsonl"), format!("{page}\n"));
        }
    };
    let dedup = |options: &[&str]| run([&["dedup", "--table", name(&table), name(&pages)], options].concat());
    let keep = ["--keep", name(&kept)];
    day(1);
    assert_eq!(dedup(&keep).status, 0);
    let before = contents(&kept);
    assert_eq!(before.len(), 4_100);
    let report = path("r.txt");
    let with_report = [&keep[..], &["--report", name(&report)]].concat();
    let mine = write(folder.path(), "mine.jsonl", "mine\n");
    for (options, status, told) in [
        (&keep[..], 0, "already done"),
        (&with_report[..], 2, "the file exists"),
        (&[&with_report[..], &["--overwrite"]].concat()[..], 1, "would be overwritten"),
        (&["--keep", name(&mine)], 2, "is not what that run wrote"),
        (&["--keep", name(&mine), "--overwrite"], 2, "is not what that run wrote"),
        (&["--keep", "-"], 1, "would be incomplete"),
    ] {
        let again = dedup(options);
        assert!(again.status == status && again.stderr.contains(told), "{options:?}: {}", again.stderr);
        assert!(contents(&kept) == before && !report.exists(), "{options:?}");
        assert_eq!(fs::read_to_string(&mine).expect("a file"), "mine\n", "{options:?}");
    }
    day(2);
    let new_day = dedup(&keep);
    assert!(new_day.status == 2 && new_day.stderr.contains("the file exists"), "{}", new_day.stderr);
    assert!(contents(&kept) == before);
    let other = path("K2/");
    assert_eq!(dedup(&["--keep", name(&other)]).status, 0);
    assert_eq!(contents(&other).len(), 4_100);
}

/// If an input is replaced between its two readings, documents without a verdict would be kept.
#[test]
fn an_input_that_is_replaced_between_its_two_readings_is_an_error() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = |name: &str| folder.path().join(name);
    let fifo = path("verdicts");
    mknodat(CWD, &fifo, FileType::Fifo, Mode::RUSR | Mode::WUSR, 0).expect("a pipe");
    for (change, is_refused) in [("file", true), ("contents", true), ("copy", false), ("none", false)] {
        let input = write(folder.path(), "pages.jsonl", documents(0..1_500));
        let keep = path("keep.jsonl");
        let child = leitong()
            .args([
                "dedup",
                "--prefer",
                "longest",
                "--output",
                name(&fifo),
                "--keep",
                name(&keep),
                "--overwrite",
                name(&input),
            ])
            .stderr(Stdio::piped())
            .spawn()
            .expect("the program starts");
        // The verdicts exceed the capacity of a pipe, so the first reading is in progress until all of them
        // are read here.
        let mut verdicts = fs::File::open(&fifo).expect("the pipe is opened");
        verdicts.read_exact(&mut [0]).expect("a first verdict");
        match change {
            "file" => replace(&input, false),
            "contents" => replace(&input, true),
            "copy" => {
                fs::copy(&input, path("copy"))
                    .and_then(|_| fs::rename(path("copy"), &input))
                    .expect("copied");
            }
            _ => {}
        }
        verdicts.read_to_end(&mut Vec::new()).expect("the other verdicts");
        let (status, told) = ended(child);
        if is_refused {
            assert_eq!(status, Some(1), "{change}: {told}");
            assert!(
                told.contains("pages.jsonl: the file was replaced or changed while this run read it"),
                "{change}: {told}"
            );
        } else {
            assert_eq!(status, Some(0), "{change}: {told}");
        }
    }
}

/// A checkpoint must not continue with another file of the same size, which was not read from the beginning.
#[test]
fn a_checkpoint_is_refused_when_an_input_was_replaced_or_the_checkpoint_is_damaged() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = |name: &str| folder.path().join(name);
    let padded =
        |lines: String| lines.replace("}\n", &format!(",\"padding\":\"{}\"}}\n", "y".repeat(40_000)));
    let input = write(folder.path(), "pages.jsonl", padded(documents(0..120)));
    let command = Command::new(&path("out"), &path("table"), &[], &[&input]);
    let checkpoints = path("checkpoints");
    let mut child = start(&command, &checkpoints);
    let checkpoint = checkpoints.join("checkpoint.json");
    while !checkpoint.exists() {
        assert!(child.try_wait().expect("a child").is_none(), "{}", ended(child).1);
    }
    child.kill().expect("it runs");
    child.wait().expect("it ends");
    let before = contents(&path("out"));
    let refused = |why: &str| {
        let (status, told) = ended(start(&command, &checkpoints));
        assert!(status == Some(1) && told.contains(why), "{told}");
        assert!(contents(&path("out")) == before, "{why}: outputs are left as they are");
    };
    let json = fs::read_to_string(&checkpoint).expect("a checkpoint");
    let parsed: Value = serde_json::from_str(&json).expect("JSON");
    let bytes = parsed["extents"]["verdicts"]["bytes"].as_u64().expect("bytes");
    fs::write(&checkpoint, json.replace(&bytes.to_string(), &(bytes / 2).to_string())).expect("written");
    refused("its checksum does not match");
    fs::write(&checkpoint, json.replace("\"format_version\": 5", "\"format_version\": 1")).expect("written");
    refused("has format 1");
    fs::write(&checkpoint, &json).expect("written");
    fs::copy(&input, path("former")).expect("copied");
    let modified = fs::metadata(&input).expect("a file").modified().expect("a time");
    replace(&input, false);
    refused("pages.jsonl: the file was replaced or changed since this run read it");
    fs::File::options()
        .write(true)
        .open(&input)
        .and_then(|file| file.set_modified(modified + std::time::Duration::from_secs(1)))
        .expect("set");
    refused("whose input 1 was");
    // With the original file it continues.
    fs::rename(path("former"), &input).expect("renamed");
    fs::File::options().write(true).open(&input).and_then(|file| file.set_modified(modified)).expect("set");
    let (status, told) = ended(start(&command, &checkpoints));
    assert!(status == Some(0) && told.contains("resuming after record"), "{told}");
}

/// A table under other settings of `corpus.*` would make all pages new.
#[test]
fn every_user_of_a_table_refuses_another_setting_of_corpora() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = |name: &str| folder.path().join(name);
    let by_host = write(folder.path(), "host.toml", "[corpus]\nby = \"host\"\n");
    let by_host = ["--config", name(&by_host)];
    let tables = ["table", "other"].map(path);
    let [table, other] = tables.each_ref().map(|path| name(path));
    for (table, numbers) in [(table, 0..9), (other, 9..12)] {
        assert_eq!(run_with_input(["dedup", "-", "--table", table], documents(numbers)).status, 0);
    }
    let lines = write(folder.path(), "lines", run(["table", "export", "--all", table]).stdout);
    let output = path("output");
    let before = contents(folder.path());
    for arguments in [
        &["dedup", "--table", table, name(&lines)][..],
        &["serve", "--address", "127.0.0.1:0", "--table", table],
        &["table", "merge", "--output", name(&output), table, other],
        &["table", "import", "--output", name(&output), name(&lines)],
        &["table", "compact", table],
    ] {
        let refused = run([arguments, &by_host[..]].concat());
        assert_eq!(refused.status, 1, "{arguments:?}: {}", refused.stderr);
        assert!(refused.stderr.contains("other settings of corpus.*"), "{arguments:?}: {}", refused.stderr);
        assert!(contents(folder.path()).keys().eq(before.keys()), "{arguments:?}");
    }
    let config = leitong::Config::from_toml("corpus.by = \"host\"").expect("settings");
    let library = leitong::Table::open(&tables[0]).expect("a table");
    let refused = library.deduplicator(&config).err().map(|error| error.to_string());
    assert!(refused.is_some_and(|why| why.contains("other settings of corpus.*")));
    drop(library);
    assert_eq!(run_with_input(["dedup", "-", "--table", table], documents(0..9)).status, 0);
}
