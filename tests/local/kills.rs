//! Runs of `dedup` with drawn outputs are killed at drawn moments. The same command, repeated, leaves what an
//! undisturbed run leaves.
//!
//! `LEITONG_KILLS=200` kills so many runs (`make kills-of-runs`), `LEITONG_KILLS_SEED` repeats the draws of an earlier
//! test.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::{Duration, Instant};

use leitong_base::random::Random;
use serde_json::{Value, json};

use crate::common::wait::{HANG_LIMIT, wait_until};
use crate::common::{Run, article, leitong, name, run, seed, write};

/// The options that write files, each with its file. `--accounts` needs `--by`.
const OUTPUTS: [(&str, &str); 8] = [
    ("--output", "verdicts.jsonl"),
    ("--dead-letters", "dead.jsonl"),
    ("--keep", "kept/"),
    ("--drop", "gone.jsonl.gz"),
    ("--clusters", "clusters.jsonl"),
    ("--report", "report.json"),
    ("--accounts", "accounts.csv"),
    ("--passages", "passages.jsonl"),
];

/// Number of input files, which is the number of files in an output folder.
const INPUTS: usize = 12;

/// Returns all pairs of outputs that one run can write.
fn pairs() -> Vec<[usize; 2]> {
    (0..OUTPUTS.len()).flat_map(|a| (a + 1..OUTPUTS.len()).map(move |b| [a, b])).collect()
}

/// Writes inputs, of whose documents every third is a copy, with some lines that are none.
fn inputs(folder: &Path) {
    for file in 0..INPUTS {
        let line = |at: usize| {
            let number = file * 8 + at;
            let topic = if number % 3 == 2 { number / 2 } else { number };
            let url = format!("https://host{}.test/{number}", number % 4);
            let broken = if number % 31 == 5 { "{broken\n" } else { "" };
            let page = json!({
                "id": number.to_string(), "url": url, "text": article(topic, 12), "padding": "y".repeat(20_000),
            });
            format!("{broken}{page}\n")
        };
        write(folder, &format!("{file:02}.jsonl"), (0..8).map(line).collect::<String>());
    }
}

/// A drawn command, which writes into a folder of its own.
struct Drawn {
    options: Vec<String>,
    has_table: bool,
    has_checkpoint: bool,
}

impl Drawn {
    fn new(random: &mut Random, pair: [usize; 2]) -> Self {
        let mut outputs: Vec<usize> =
            (0..OUTPUTS.len()).filter(|at| pair.contains(at) || random.chance(0.25)).collect();
        let (has_table, has_checkpoint) = (random.chance(0.5), random.chance(0.5));
        let has = |outputs: &[usize], option: &str| outputs.iter().any(|at| OUTPUTS[*at].0 == option);
        let copies = has(&outputs, "--keep") || has(&outputs, "--drop");
        // Without an output for verdicts or documents, verdicts would go to standard output.
        if !copies && (has(&outputs, "--accounts") || !has(&outputs, "--output")) {
            outputs.push(2);
        }
        let mut options: Vec<String> = Vec::new();
        for at in &outputs {
            options.extend([OUTPUTS[*at].0.to_owned(), format!("OUT/{}", OUTPUTS[*at].1)]);
        }
        if has(&outputs, "--accounts") {
            options.extend(["--by".to_owned(), "host".to_owned()]);
        }
        if random.chance(0.3) {
            options.extend(["--prefer".to_owned(), "longest".to_owned()]);
        }
        Self { options, has_table, has_checkpoint }
    }

    /// Returns the arguments of the command in `folder`.
    fn arguments(&self, folder: &Path, inputs: &Path) -> Vec<String> {
        let folder = name(folder);
        let mut arguments = vec!["dedup".to_owned()];
        arguments.extend(self.options.iter().map(|option| option.replace("OUT", &format!("{folder}/out"))));
        if self.has_table {
            arguments.extend(["--table".to_owned(), format!("{folder}/table")]);
        }
        if self.has_checkpoint {
            arguments.extend(["--checkpoint".to_owned(), format!("{folder}/checkpoints")]);
            arguments.extend(["--checkpoint-every".to_owned(), "0".to_owned()]);
        }
        arguments.push(name(inputs).to_owned());
        arguments
    }
}

/// Returns all files of a folder, decompressed and without the time of verdicts.
fn files(folder: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let mut all = BTreeMap::new();
    for entry in fs::read_dir(folder).into_iter().flatten() {
        let path = entry.expect("an entry").path();
        let below = PathBuf::from(path.file_name().expect("a name"));
        if path.is_dir() {
            all.extend(files(&path).into_iter().map(|(name, bytes)| (below.join(name), bytes)));
            continue;
        }
        let bytes = fs::read(&path).expect("a file");
        let bytes = match name(&path) {
            path if path.ends_with(".gz") => {
                let mut plain = Vec::new();
                let mut reader = flate2::read::MultiGzDecoder::new(&bytes[..]);
                std::io::Read::read_to_end(&mut reader, &mut plain).expect("whole");
                plain
            }
            path if path.ends_with("verdicts.jsonl") => {
                let text = String::from_utf8(bytes).expect("UTF-8");
                let line = |line: &str| {
                    let mut verdict: Value = serde_json::from_str(line).expect("a whole line");
                    verdict.as_object_mut().expect("an object").remove("decided_at");
                    format!("{verdict}\n")
                };
                text.lines().map(line).collect::<String>().into_bytes()
            }
            _ => bytes,
        };
        all.insert(below, bytes);
    }
    all
}

/// A moment to kill a process at.
#[derive(Debug)]
enum Moment {
    /// After a time.
    After(Duration),
    /// When so many files in the folder of outputs have their names.
    Named(usize),
    /// When all parts are listed as complete.
    Listed,
    /// When there is a checkpoint.
    Checkpoint,
}

impl Moment {
    fn draw(random: &mut Random, whole: Duration) -> Self {
        match random.below(5) {
            0 => Self::Named(1 + random.below(3)),
            1 => Self::Listed,
            2 => Self::Checkpoint,
            _ => Self::After(whole.mul_f64(random.below(1_000) as f64 / 900.0)),
        }
    }

    fn has_come(&self, folder: &Path, started: Instant) -> bool {
        let out = folder.join("out");
        let names = || {
            let folders = [out.clone(), out.join("kept")];
            let entries = folders.into_iter().flat_map(|folder| fs::read_dir(folder).into_iter().flatten());
            entries.filter_map(|entry| Some(entry.ok()?.path())).filter(|path| path.is_file())
        };
        match self {
            Self::After(time) => started.elapsed() >= *time,
            Self::Named(count) => {
                let named = names()
                    .filter(|path| !name(path).ends_with(".part") && !name(path).ends_with(".part.run"));
                named.count() >= *count
            }
            Self::Listed => names().filter(|path| name(path).ends_with(".part.run")).any(|path| {
                fs::read(path).is_ok_and(|record| record.iter().filter(|b| **b == b'\n').count() > 1)
            }),
            Self::Checkpoint => folder.join("checkpoints/checkpoint.json").exists(),
        }
    }
}

/// Starts the command, and kills it at `moment` unless it ends before. Returns true if it was killed.
fn killed(arguments: &[String], folder: &Path, moment: &Moment) -> bool {
    let started = Instant::now();
    let child = leitong().args(arguments).stdout(Stdio::null()).stderr(Stdio::null()).spawn();
    let mut child = child.expect("the program starts");
    while !moment.has_come(folder, started) {
        if child.try_wait().expect("a child").is_some() {
            return false;
        }
        assert!(started.elapsed() < *HANG_LIMIT, "{arguments:?}");
    }
    // It may have ended just now.
    let _ = child.kill();
    child.wait().expect("it ends").code().is_none()
}

#[test]
fn a_killed_run_that_is_repeated_leaves_what_an_undisturbed_one_leaves() {
    let kills: usize = std::env::var("LEITONG_KILLS").map_or(6, |kills| kills.parse().expect("a number"));
    let seed = seed("LEITONG_KILLS_SEED");
    let mut random = Random::from_seed(seed);
    let work = tempfile::tempdir().expect("a folder");
    let pages = work.path().join("pages");
    fs::create_dir(&pages).expect("a folder");
    inputs(&pages);
    let mut pairs = pairs();
    random.shuffle(&mut pairs);
    let (mut done, mut rounds) = (0, 0);
    while done < kills || (kills >= pairs.len() && rounds < pairs.len()) {
        let drawn = Drawn::new(&mut random, pairs[rounds % pairs.len()]);
        rounds += 1;
        let [whole, disturbed] = ["whole", "disturbed"].map(|name| work.path().join(name));
        for folder in [&whole, &disturbed] {
            let _ = fs::remove_dir_all(folder);
            fs::create_dir_all(folder.join("out")).expect("a folder");
        }
        let started = Instant::now();
        let undisturbed = run(drawn.arguments(&whole, &pages));
        assert_eq!(undisturbed.status, 3, "{:?}: {}", drawn.options, undisturbed.stderr);
        let time = started.elapsed();
        let arguments = drawn.arguments(&disturbed, &pages);
        let what = format!("seed {seed}, round {rounds}, {}", arguments.join(" "));
        let mut moments = Vec::new();
        for _ in 0..=random.below(2) {
            let moment = Moment::draw(&mut random, time);
            done += usize::from(killed(&arguments, &disturbed, &moment));
            moments.push(moment);
        }
        let last = run(&arguments);
        let told = format!("{what}, killed at {moments:?}: {}", last.stderr);
        // Without a table, nothing tells a run that has ended from somebody else's files.
        let had_ended = !drawn.has_table && last.status == 2 && last.stderr.contains("the file exists");
        assert!(had_ended || [0, 3].contains(&last.status), "{told}");
        let [expected, left] = [&whole, &disturbed].map(|folder| files(&folder.join("out")));
        assert!(left.keys().eq(expected.keys()), "{told}\n{:?}\n{:?}", left.keys(), expected.keys());
        for (file, bytes) in &expected {
            let shown = |bytes: &[u8]| String::from_utf8_lossy(&bytes[..bytes.len().min(2000)]).into_owned();
            let pair = [&left[file], bytes].map(|bytes| shown(bytes));
            assert!(left[file] == *bytes, "{told}\n{} differs: {pair:?}", file.display());
        }
        if drawn.has_table {
            let table = |folder: &Path| run(["table", "export", name(&folder.join("table"))]).stdout;
            assert!(table(&whole) == table(&disturbed), "{told}: other centroids");
        }
        if drawn.has_checkpoint && !had_ended {
            assert_eq!(fs::read_dir(disturbed.join("checkpoints")).expect("a folder").count(), 1, "{told}");
        }
    }
    eprintln!("{done} kills in {rounds} runs");
}

/// Returns documents that take a while.
fn many(folder: &Path) -> PathBuf {
    let line = |number: usize| {
        format!(
            "{}\n",
            json!({ "url": format!("https://t.test/{number}"), "text": article(number % 900, 12) })
        )
    };
    write(folder, "many.jsonl", (0..1_200).map(line).collect::<String>())
}

/// A rename fails in the middle of the others, as if the process was killed there. The same command gives the other files
/// their names too.
#[test]
fn a_run_that_stopped_between_two_renames_is_completed_by_a_repetition() {
    let work = tempfile::tempdir().expect("a folder");
    let input = many(work.path());
    for extra in [&[][..], &["--table"], &["--checkpoint"], &["--table", "--checkpoint"]] {
        let path = |file: &str| work.path().join(format!("{}-{file}", extra.concat()));
        let mut arguments = vec!["dedup".to_owned(), name(&input).to_owned()];
        for (option, file) in
            [("--keep", "keep.jsonl"), ("--drop", "gone.jsonl"), ("--output", "verdicts.jsonl")]
        {
            arguments.extend([option.to_owned(), name(&path(file)).to_owned()]);
        }
        for option in extra {
            arguments.extend([(*option).to_owned(), name(&path(&option[2..])).to_owned()]);
        }
        // A folder of this name, once the output was found to be free.
        let blocked = path("gone.jsonl");
        let with_permission = [&arguments[..], &["--overwrite".to_owned()]].concat();
        let mut child = leitong().args(&with_permission).stderr(Stdio::piped()).spawn().expect("it starts");
        wait_until("a part", || path("gone.jsonl.part").exists());
        fs::create_dir(&blocked).expect("a folder");
        assert_eq!(child.wait().expect("it ends").code(), Some(1), "{extra:?}");
        assert!(path("keep.jsonl").exists() || path("verdicts.jsonl").exists(), "{extra:?}: one was renamed");
        assert!(path("gone.jsonl.part").exists(), "{extra:?}");
        fs::remove_dir(&blocked).expect("empty");
        // Another command may not take the parts away.
        let other = run(["dedup", name(&input), "--output", name(&path("gone.jsonl")), "--overwrite"]);
        assert_eq!(other.status, 2, "{extra:?}: {}", other.stderr);
        let completed = run(&arguments);
        assert_eq!(completed.status, 0, "{extra:?}: {}", completed.stderr);
        let lines = |file: &str| fs::read_to_string(path(file)).expect("an output").lines().count();
        assert_eq!(lines("keep.jsonl") + lines("gone.jsonl"), 1_200, "{extra:?}");
        assert_eq!((lines("keep.jsonl"), lines("verdicts.jsonl")), (900, 1_200), "{extra:?}");
        let left = fs::read_dir(work.path()).expect("a folder").map(|entry| entry.expect("an entry").path());
        let parts: Vec<_> = left.filter(|path| name(path).contains(".part")).collect();
        assert!(parts.is_empty(), "{extra:?}: {parts:?}");
        let again: Run = run(&arguments);
        assert_eq!(
            again.status,
            if extra.contains(&"--table") { 0 } else { 2 },
            "{extra:?}: {}",
            again.stderr
        );
    }
}
