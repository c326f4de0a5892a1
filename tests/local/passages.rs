//! `dedup --against`, `--passages` and `--cut`: documents that share passages with a benchmark or with many others.

use std::collections::HashSet;
use std::path::{Path, PathBuf};

use leitong_base::random::Random;
use serde_json::{Value, json};

use crate::common::{Run, dedup_files, gzip, name, seed, tables, write};

/// Returns a text of rare words, of about `chars` characters.
fn prose(random: &mut Random, chars: usize) -> String {
    let mut text = String::new();
    while text.len() < chars {
        let letter = |random: &mut Random| char::from(b'a' + random.below(26) as u8);
        let word: String = (0..3 + random.below(7)).map(|_| letter(random)).collect();
        text.push_str(&word);
        text.push_str(if random.chance(0.1) { ". " } else { " " });
    }
    text
}

fn page(id: &str, text: &str) -> Value {
    json!({ "id": id, "url": format!("https://{id}.example/{id}"), "text": text })
}

fn file(folder: &Path, file_name: &str, pages: &[Value]) -> PathBuf {
    write(folder, file_name, pages.iter().map(|page| format!("{page}\n")).collect::<String>())
}

fn lines(path: &Path) -> Vec<Value> {
    let text = std::fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    text.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect()
}

fn ids(lines: &[Value]) -> Vec<&str> {
    lines.iter().map(|page| page["id"].as_str().expect("an id")).collect()
}

/// Runs `dedup` with these options, and returns the kept and the dropped documents.
fn dedup(folder: &Path, options: &[&str], pages: &[Value]) -> (Vec<Value>, Vec<Value>, Run) {
    let input = file(folder, "pages.jsonl", pages);
    let [keep, drop] = ["kept.jsonl", "dropped.jsonl"].map(|name| folder.join(name));
    let all = [options, &["--overwrite", "--keep", name(&keep), "--drop", name(&drop)]].concat();
    let run = dedup_files(&all, &[&input]);
    assert_eq!(run.status, 0, "{}", run.stderr);
    (lines(&keep), lines(&drop), run)
}

const QUESTION: &str =
    "Which of the two rivers that rise in the northern hills reaches the old harbour first?";

/// A copy of a document with a benchmark's question must not be dropped for a document that is not kept itself.
#[test]
fn documents_with_a_passage_of_a_benchmark_are_dropped_before_one_of_each_cluster_is_chosen() {
    let folder = tempfile::tempdir().expect("a folder");
    let mut random = Random::from_seed(1);
    let [article, other] = [0, 1].map(|_| prose(&mut random, 3_000));
    let inside = format!("{}\n{} {}", &article[..1_500], QUESTION.to_uppercase(), &article[1_500..]);
    let pages =
        [page("asks", &inside), page("copy", &article), page("short", QUESTION), page("other", &other)];
    let items = [json!({ "id": 7, "answer": "B" }), json!({ "input": { "question": QUESTION } })];
    let eval = write(
        folder.path(),
        "eval.jsonl.gz",
        gzip(items.map(|item| format!("{item}\n")).concat().as_bytes()),
    );
    let report = folder.path().join("report.json");
    let (kept, dropped, run) =
        dedup(folder.path(), &["--against", name(&eval), "--report", name(&report)], &pages);
    assert_eq!((ids(&kept), ids(&dropped)), (vec!["copy", "other"], vec!["asks", "short"]), "{}", run.stderr);
    let benchmark = format!("{}#2/input/question", eval.display());
    for document in &dropped {
        assert_eq!(document["leitong_benchmark"], benchmark);
        let passage = document["leitong_benchmark_passage"].as_str().expect("a passage");
        assert_eq!(passage, QUESTION.to_lowercase().trim_end_matches('?'));
    }
    assert_eq!(dropped[0]["leitong_canonical"], "copy");
    assert!(run.stderr.contains("2 documents contain a passage of 60 letters or more"), "{}", run.stderr);
    assert!(
        run.stderr.contains("1 of 2 texts in the benchmarks have fewer than 60 letters"),
        "{}",
        run.stderr
    );
    let report = &lines(&report)[0];
    assert_eq!(
        (&report["copied"]["benchmark"], &report["benchmarks"][0]["benchmark"]),
        (&json!(2), &benchmark.into())
    );
    let (_, dropped, _) = dedup(folder.path(), &[], &pages);
    assert_eq!(ids(&dropped), ["copy"], "without a benchmark, the first document stays");
}

#[test]
fn verified_documents_with_a_passage_of_a_benchmark_are_dropped() {
    let folder = tempfile::tempdir().expect("a folder");
    let mut random = Random::from_seed(2);
    let article = prose(&mut random, 2_000);
    let longer = format!("{article} {QUESTION} {}", prose(&mut random, 2_000));
    let eval = file(folder.path(), "eval.jsonl", &[json!(QUESTION)]);
    let options = ["--verify", "--against", name(&eval), "--as", "text", "--annotate"];
    let (kept, dropped, run) = dedup(folder.path(), &options, &[page("a", &article), page("b", &longer)]);
    assert_eq!((ids(&kept), ids(&dropped)), (vec!["a"], vec!["b"]), "{}", run.stderr);
}

/// Returns pages with a footer, an introduction that all pages of one site have, and planted passages.
fn repeated(seed: u64, count: usize) -> (Vec<Value>, Vec<String>) {
    let mut random = Random::from_seed(seed);
    let planted: Vec<String> = (0..20).map(|_| prose(&mut random, 200)).collect();
    let footer = "Share this page with your friends.\nAll rights reserved; no part of it may be copied.";
    let pages = (0..count).map(|number| {
        let passage = &planted[number % planted.len()];
        let [before, after] = [0, 1].map(|_| prose(&mut random, 900));
        json!({
            "id": number.to_string(),
            "url": format!("https://www.site{}.example/{number}", number % 3),
            "text": format!("{before}{passage}{}.\n{footer}\n", after.trim_end()),
        })
    });
    (pages.collect(), planted)
}

fn spelled(text: &str) -> String {
    text.chars().filter(|c| c.is_alphanumeric()).collect()
}

#[test]
fn passages_of_many_documents_are_listed_and_cut() {
    let folder = tempfile::tempdir().expect("a folder");
    let seed = seed("LEITONG_PASSAGES_SEED");
    let (pages, planted) = repeated(seed, 240);
    let list = folder.path().join("passages.jsonl");
    let options = ["--passages", name(&list), "--cut", "--as", "text", "--annotate", "--passage-memory", "1"];
    let (kept, _, run) = dedup(folder.path(), &options, &pages);
    let listed = lines(&list);
    assert_eq!((&listed[0]["documents"], &listed[0]["sites"]), (&json!(240), &json!(3)), "{}", run.stderr);
    assert!(listed[0]["text"].as_str().expect("a text").starts_with("share this page"), "{}", listed[0]);
    let found = planted.iter().filter(|passage| {
        let letters = spelled(passage);
        listed.iter().any(|line| letters.contains(&spelled(line["text"].as_str().expect("a text"))))
    });
    assert_eq!(found.count(), 20, "seed {seed}");
    assert_eq!(listed.len(), 21, "nothing else is listed: {listed:?}");
    for (before, after) in pages.iter().zip(&kept) {
        let [before, after] = [before, after].map(|page| page["text"].as_str().expect("a text").to_owned());
        assert!(!after.contains("rights reserved") && !after.contains("Share"), "{after}");
        let lost = spelled(&before).len() - spelled(&after).len();
        assert!((60..300).contains(&lost), "{lost} letters");
        let sentences: HashSet<&str> = before.split_terminator(['.', ';', '\n']).map(str::trim).collect();
        let mut left = after.split_terminator(['.', ';', '\n']).map(str::trim);
        assert!(left.all(|sentence| sentences.contains(sentence)), "no sentence is cut in two: {after}");
    }
    let passages: u64 =
        kept.iter().map(|page| page["leitong_cut_passages"].as_u64().expect("a number")).sum();
    assert!((240..=480).contains(&passages), "each footer, and sentences of planted passages: {passages}");
    let bytes: u64 = kept.iter().map(|page| page["leitong_cut_bytes"].as_u64().expect("a number")).sum();
    let expected =
        format!("--cut: {passages} passages ({:.1} MB) were cut out of 240 documents", bytes as f64 / 1e6);
    assert!(run.stderr.contains(&expected), "{}", run.stderr);
}

/// Filings of many companies have most words in common, and each has its own name and numbers. From "rose from 2.727
/// billion dlrs to 25.137 billion", `--cut` took the words between the numbers.
#[test]
fn cutting_takes_no_part_of_a_sentence() {
    let folder = tempfile::tempdir().expect("a folder");
    let filing = |number: usize| {
        let name = ["Alder", "Birch", "Cedar", "Elm", "Fir", "Hazel"][number % 6];
        let things = prose(&mut Random::from_seed(number as u64), 400).replace(". ", " ");
        let text = format!(
            "{name} Partners of {name}ville\nsaid it filed a registration statement with the Securities and\n\
             Exchange Commission covering a proposed offering of {number}90,000\nunits. {name} makes {things} in \
             {number} plants and wants to build another one near the {name} river for {number} mln dlrs.\n\
             All rights reserved by the agency that wrote this report; it may not be sold to others.\n"
        );
        page(&number.to_string(), &text)
    };
    let pages: Vec<Value> = (11..40).map(filing).collect();
    let options = ["--as", "text", "--cut", "--prefer", "longest"];
    let (kept, _, run) = dedup(folder.path(), &options, &pages);
    assert!(kept.len() >= 10, "{}", run.stderr);
    for page in &kept {
        let number: usize = page["id"].as_str().expect("an id").parse().expect("a number");
        let whole = filing(number);
        let (expected, _) =
            whole["text"].as_str().expect("a text").split_once("All rights").expect("a footer");
        assert_eq!(page["text"], expected);
    }
    let stay = "passages stay, because they are parts of sentences";
    assert!(run.stderr.contains(stay), "{}", run.stderr);
}

#[test]
fn outputs_do_not_depend_on_threads_memory_or_checkpoints() {
    let folder = tempfile::tempdir().expect("a folder");
    let (pages, _) = repeated(5, 300);
    let eval = file(folder.path(), "eval.jsonl", &[json!({ "q": pages[17]["text"] })]);
    let list = folder.path().join("passages.jsonl");
    let checkpoints = folder.path().join("state");
    let mut outputs = Vec::new();
    for more in [
        &["--threads", "1"][..],
        &["--threads", "4", "--passage-memory", "1"],
        &["--checkpoint", name(&checkpoints), "--checkpoint-every", "0"],
    ] {
        let options = ["--passages", name(&list), "--cut", "--as", "text", "--against", name(&eval)];
        let (kept, dropped, run) = dedup(folder.path(), &[&options, more].concat(), &pages);
        assert!(ids(&dropped).contains(&"17"), "{}", run.stderr);
        outputs.push((kept, dropped, lines(&list)));
    }
    assert!(outputs.windows(2).all(|pair| pair[0] == pair[1]));
}

/// A benchmark of Parquet drops what the same benchmark of JSON lines drops, whatever its columns are called.
#[test]
fn a_benchmark_may_be_a_parquet_file() {
    let folder = tempfile::tempdir().expect("a folder");
    let (pages, _) = repeated(5, 300);
    let items: Vec<Value> = [3, 17, 40].map(|at: usize| pages[at].clone()).to_vec();
    let lines = file(folder.path(), "eval.jsonl", &items);
    let parquet = folder.path().join("eval.parquet");
    let layout = tables::Layout { row_group_rows: 2, ..tables::Layout::default() };
    tables::write_table(&parquet, &tables::table(&items), &layout);
    let kept = [&lines, &parquet].map(|eval| {
        let (kept, dropped, run) = dedup(folder.path(), &["--against", name(eval)], &pages);
        assert!(["3", "17", "40"].iter().all(|id| ids(&dropped).contains(id)), "{}", run.stderr);
        ids(&kept).iter().map(|id| (*id).to_owned()).collect::<Vec<_>>()
    });
    assert_eq!(kept[0], kept[1]);
}

#[test]
fn wrong_options_are_refused_before_anything_is_written() {
    let folder = tempfile::tempdir().expect("a folder");
    let input = file(folder.path(), "pages.jsonl", &[page("a", QUESTION)]);
    let keep = folder.path().join("kept.jsonl");
    let short = file(folder.path(), "short.jsonl", &[json!({ "q": "How many?" })]);
    let broken = write(folder.path(), "broken.jsonl", "{\"q\":\n");
    let table = write(folder.path(), "eval.csv", "q,a\nx,y\n");
    let keep = name(&keep);
    // Many benchmarks are one array. The only message was "line 1 is too long, or the file is damaged".
    let array = write(folder.path(), "array.json", "[{\"q\": \"a\"},\n {\"q\": \"b\"}]\n");
    for (options, status, message) in [
        (&["--against", name(&array), "--keep", keep][..], 1, "one JSON array (`jq -c '.[]' FILE`"),
        (&["--against", name(&short)], 2, "add --keep, --drop, --clusters or --report"),
        (&["--against", name(&short), "--keep", keep], 2, "no text of at least 60 letters"),
        (&["--against", "/no/such/file", "--keep", keep], 2, "there is no such file"),
        (&["--against", "/dev/null", "--keep", keep], 2, "is not a regular file"),
        (&["--against", name(&broken), "--keep", keep], 1, "line 1 is not JSON"),
        (&["--against", name(&table), "--keep", keep], 1, "must be a file of JSON lines"),
        (&["--cut", "--keep", keep], 2, "add --as text"),
        (&["--cut", "--keep", keep, "--as", "markdown"], 2, "add --as text"),
        (&["--passages", name(&input)], 2, "--passages"),
        (&["--against", name(&short), "--keep", keep, "--passages", name(&short)], 2, "--passages"),
        (&["--passages", "-", "--passage-letters", "5"], 2, "--passage-letters"),
    ] {
        let run = dedup_files(options, &[&input]);
        assert_eq!((run.status, run.stderr.contains(message)), (status, true), "{options:?}: {}", run.stderr);
        assert!(!Path::new(keep).exists(), "{options:?}");
    }
    assert_eq!(lines(&input).len(), 1);
}

/// A limit on the size of files simulates a full disk.
#[test]
fn on_a_full_disk_the_error_says_what_and_no_half_output_stays() {
    let folder = tempfile::tempdir().expect("a folder");
    let (pages, _) = repeated(9, 300);
    let input = file(folder.path(), "pages.jsonl", &pages);
    let [keep, list] = ["kept.jsonl", "passages.jsonl"].map(|name| folder.path().join(name));
    let output = std::process::Command::new("sh")
        .args(["-c", "ulimit -f 64; exec \"$0\" \"$@\"", env!("CARGO_BIN_EXE_leitong"), "dedup"])
        .args(["--passages", name(&list), "--keep", name(&keep), "--as", "text", "--cut", name(&input)])
        .output()
        .expect("the program starts");
    let run = Run::from_output(output);
    assert_eq!((run.status, run.stderr.contains("passages")), (1, true), "{}", run.stderr);
    let left: Vec<_> = std::fs::read_dir(folder.path()).expect("the folder").flatten().collect();
    assert_eq!(left.len(), 1, "only the input: {left:?}");
}
