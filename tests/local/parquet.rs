//! `dedup` over Parquet files: the same verdicts as on JSON lines, rows written unchanged, and files that are
//! damaged in every way.

use std::collections::HashSet;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use arrow_array::{Array, ArrayRef, BinaryArray, RecordBatch, StringArray, StructArray};
use arrow_schema::{Field, Schema};
use leitong_base::random::Random;
use parquet::basic::Compression;
use serde_json::{Value, json};

use crate::common::tables::{
    Layout, index, joined, numbers, read_table, rows, schema, strings, table, write_table,
};
use crate::common::{self, article, dedup_files, name, run_with_input, seed, tables, write};

/// Returns documents, many of them repeated, some short, some without a text.
fn documents(count: usize) -> Vec<Value> {
    let document = |number: usize| {
        let topic = if number % 3 == 2 { number / 2 } else { number };
        let mut document = json!({
            "id": format!("d{number}"),
            "url": format!("https://host{}.test/{number}", number % 4),
            "text": article(topic, 12) + &"完".repeat(number % 5),
            "score": (number * 7) % 11,
            "fetched_at": format!("2026-10-{:02}T00:00:00Z", 10 + number % 9),
        });
        match number % 29 {
            7 => document["text"] = Value::Null,
            11 => document["text"] = json!("短"),
            _ => {}
        }
        document
    };
    (0..count).map(document).collect()
}

fn lines(documents: &[Value]) -> String {
    documents.iter().map(|document| format!("{document}\n")).collect()
}

/// Returns verdicts without the time of decision and the place.
fn compared(verdicts: &[Value]) -> Vec<Value> {
    let mut verdicts = verdicts.to_vec();
    for verdict in &mut verdicts {
        let verdict = verdict.as_object_mut().expect("an object");
        verdict.remove("source");
        verdict.remove("decided_at");
    }
    verdicts
}

#[test]
fn parquet_gives_the_verdicts_and_rows_of_json_lines() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = |name: &str| folder.path().join(name);
    let documents = documents(300);
    let table = table(&documents);
    let json = write(folder.path(), "a.jsonl", lines(&documents));
    let expected = dedup_files(&[], &[&json]).verdicts();
    assert!(expected.iter().any(|verdict| verdict["kind"] == "NEAR_DUPLICATE"));
    for packing in [
        Compression::UNCOMPRESSED,
        Compression::SNAPPY,
        Compression::GZIP(Default::default()),
        Compression::ZSTD(Default::default()),
        Compression::LZ4_RAW,
        Compression::LZ4,
    ] {
        let input = file("a.parquet");
        write_table(&input, &table, &Layout { packing, row_group_rows: 70, page_bytes: 4000 });
        let run = dedup_files(&[], &[&input]);
        assert_eq!(run.status, 0, "{packing}: {}", run.stderr);
        let verdicts = run.verdicts();
        assert!(compared(&verdicts) == compared(&expected), "{packing}");
        assert_eq!(verdicts[17]["source"], json!({ "input": name(&input), "record": 18 }));

        let (keep, drop) = (file("keep.parquet"), file("drop.parquet"));
        let run = dedup_files(&["--overwrite", "--keep", name(&keep), "--drop", name(&drop)], &[&input]);
        assert_eq!((run.status, run.stdout.as_str()), (0, ""), "{}", run.stderr);
        let stays = |verdict: &Value| verdict["kind"] == "UNIQUE" || verdict["kind"] == "UNDECIDABLE";
        let (stay, go): (Vec<usize>, Vec<usize>) = (0..300).partition(|number| stays(&expected[*number]));
        assert!(
            joined(&read_table(&keep), &table) == rows(&table, &stay),
            "{packing}: as they came, in order"
        );
        assert_eq!(schema(&keep), schema(&input));
        let compressed = index(&keep).row_group(0).column(0).compression();
        assert_eq!(compressed, if packing == Compression::LZ4 { Compression::LZ4_RAW } else { packing });
        let metadata = |path: &Path| index(path).file_metadata().key_value_metadata().cloned();
        assert_eq!(metadata(&keep), metadata(&input));
        assert_eq!(
            index(&keep).file_metadata().schema_descr().root_schema(),
            index(&input).file_metadata().schema_descr().root_schema()
        );

        let dropped = read_table(&drop);
        assert_eq!(numbers(&dropped), go);
        for (column, field) in [
            ("leitong_cluster", "cluster_id"),
            ("leitong_kind", "kind"),
            ("leitong_canonical", "canonical_page_id"),
        ] {
            let told = go.iter().map(|number| expected[*number][field].as_str().map(str::to_owned));
            assert_eq!(strings(&dropped, column), told.collect::<Vec<_>>(), "{packing}: {column}");
        }
    }
}

/// Returns the ids in a file of JSON lines.
fn ids(path: &Path) -> Vec<Option<String>> {
    let text = std::fs::read_to_string(path).expect("lines");
    let id =
        |line: &str| serde_json::from_str::<Value>(line).expect("JSON")["id"].as_str().map(str::to_owned);
    text.lines().map(id).collect()
}

/// `tests/local/keep.rs` compares the documents kept from JSON lines with a naive reading of the verdicts.
#[test]
fn all_policies_keep_the_same_rows_as_with_json_lines() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = |name: &str| folder.path().join(name);
    let documents = documents(240);
    let halves = [&documents[..100], &documents[100..]];
    let (mut json, mut parquet) = (Vec::new(), Vec::new());
    for (number, half) in halves.into_iter().enumerate() {
        json.push(write(folder.path(), &format!("{number}.jsonl"), lines(half)));
        let path = file(&format!("{number}.parquet"));
        write_table(&path, &table(half), &Layout { row_group_rows: 33, ..Layout::default() });
        parquet.push(path);
    }
    let (json, parquet): (Vec<&Path>, Vec<&Path>) =
        (json.iter().map(PathBuf::as_path).collect(), parquet.iter().map(PathBuf::as_path).collect());
    let outputs = ["keep.jsonl", "drop.jsonl", "keep.parquet", "drop.parquet"].map(file);
    for prefer in ["first", "longest", "newest", "published", "highest:/score", "lowest:/score"] {
        for extra in [&["--annotate"][..], &["--one-per", "host"], &["--drop-undecidable"]] {
            let options = |keep: usize| {
                [
                    &[
                        "--overwrite",
                        "--prefer",
                        prefer,
                        "--keep",
                        name(&outputs[keep]),
                        "--drop",
                        name(&outputs[keep + 1]),
                    ],
                    extra,
                ]
                .concat()
            };
            assert_eq!(dedup_files(&options(0), &json).status, 0);
            let run = dedup_files(&options(2), &parquet);
            assert_eq!(run.status, 0, "{}", run.stderr);
            for (lines, table) in [(0, 2), (1, 3)] {
                let kept = read_table(&outputs[table]);
                assert_eq!(strings(&kept, "id"), ids(&outputs[lines]), "{prefer} {extra:?}");
                let is_annotated = table == 3 || extra == ["--annotate"];
                assert_eq!(schema(&outputs[table]).column_with_name("leitong_kind").is_some(), is_annotated);
            }
        }
    }
    // Rows added by an earlier run are replaced.
    let again = file("again.parquet");
    let run = dedup_files(&["--annotate", "--keep", name(&again)], &[&outputs[3]]);
    assert_eq!(run.status, 0, "{}", run.stderr);
    assert_eq!(schema(&again), schema(&outputs[3]));
    assert!(
        strings(&read_table(&again), "leitong_kind").iter().any(|kind| kind.as_deref() == Some("UNIQUE"))
    );
}

#[test]
fn an_output_folder_has_a_file_per_input_and_one_file_has_one_format() {
    let folder = tempfile::tempdir().expect("a folder");
    let documents = documents(90);
    let json = write(folder.path(), "a.jsonl", lines(&documents[..30]));
    let (first, second, other) =
        (folder.path().join("b.parquet"), folder.path().join("c.parquet"), folder.path().join("d.parquet"));
    write_table(&first, &table(&documents[30..60]), &Layout::default());
    write_table(&second, &table(&documents[60..]), &Layout::default());
    let narrow = table(&documents[..30]).project(&[0, 1, 3, 4]).expect("columns");
    write_table(&other, &narrow, &Layout::default());

    let out = folder.path().join("out/");
    let run = dedup_files(&["--keep", &format!("{}/", name(&out))], &[&json, &first, &other, &second]);
    assert_eq!(run.status, 0, "{}", run.stderr);
    let plain = dedup_files(&[], &[&write(folder.path(), "first.jsonl", lines(&documents[..60]))]).verdicts();
    let stays = |verdict: &&Value| verdict["kind"] == "UNIQUE" || verdict["kind"] == "UNDECIDABLE";
    let stay: Vec<_> =
        plain.iter().filter(stays).map(|verdict| verdict["page_id"].as_str().map(str::to_owned)).collect();
    let kept = [ids(&out.join("a.jsonl")), strings(&read_table(&out.join("b.parquet")), "id")];
    assert!(!kept[0].is_empty() && !kept[1].is_empty() && stay.len() < 60);
    assert_eq!(kept.concat(), stay);
    // An exact copy of the first input, except for the undecidable rows.
    let undecidable = strings(&read_table(&out.join("d.parquet")), "id");
    assert_eq!(undecidable, [Some("d7".to_owned()), Some("d11".to_owned())]);
    assert_eq!(schema(&out.join("d.parquet")), schema(&other));

    let keep = folder.path().join("keep");
    for (inputs, told) in [
        (
            [&json, &first],
            "a file cannot contain a mixture of JSON lines, WARC records, CSV rows and Parquet rows; name a folder",
        ),
        ([&first, &other], "d.parquet has \"url\" of type Utf8 (nullable); name a folder"),
    ] {
        let run = dedup_files(&["--keep", name(&keep)], &inputs.map(PathBuf::as_path));
        assert_eq!((run.status, keep.exists()), (2, false), "{}", run.stderr);
        assert!(run.stderr.contains(told), "{}", run.stderr);
    }
}

#[test]
fn columns_can_be_named_and_their_types_are_checked() {
    let folder = tempfile::tempdir().expect("a folder");
    let mut documents = documents(60);
    documents.retain(|document| document["text"].is_string());
    for document in &mut documents {
        document.as_object_mut().expect("an object").remove("fetched_at");
    }
    let expected = dedup_files(&[], &[&write(folder.path(), "a.jsonl", lines(&documents))]).verdicts();
    let column = |name: &str| -> ArrayRef {
        Arc::new(documents.iter().map(|document| document[name].as_str()).collect::<StringArray>())
    };
    let html: Vec<Vec<u8>> = documents
        .iter()
        .map(|document| {
            let (html, ..) = encoding_rs::GBK.encode(document["text"].as_str().expect("a text"));
            [b"<html><head><meta charset=gbk></head><body><p>", &*html, b"</p></body></html>"].concat()
        })
        .collect();
    let html: ArrayRef = Arc::new(html.iter().map(|html| Some(&html[..])).collect::<BinaryArray>());
    let input = folder.path().join("a.parquet");
    let written = |columns: Vec<(&str, ArrayRef)>| {
        let table = RecordBatch::try_from_iter(columns).expect("columns of one length");
        write_table(&input, &table, &Layout::default());
    };
    let kinds =
        |verdicts: &[Value]| verdicts.iter().map(|verdict| verdict["kind"].clone()).collect::<Vec<_>>();

    // A corpus that consists only of texts.
    written(vec![("body of it", column("text"))]);
    let run = dedup_files(&["--text-column", "body of it"], &[&input]);
    assert_eq!(run.status, 0, "{}", run.stderr);
    let verdicts = run.verdicts();
    let bare: Vec<_> = documents.iter().map(|document| json!({ "text": document["text"] })).collect();
    let bare = dedup_files(&[], &[&write(folder.path(), "bare.jsonl", lines(&bare))]).verdicts();
    assert_eq!(kinds(&verdicts), kinds(&bare), "no urls");
    assert_eq!(verdicts[4]["url"], format!("document:{}#5", name(&input)));
    written(vec![("t", column("text")), ("link to", column("url")), ("key", column("id"))]);
    let options = ["--text-column", "t", "--url-column", "link to", "--id-column", "key"];
    assert!(compared(&dedup_files(&options, &[&input]).verdicts()) == compared(&expected));
    // HTML in any encoding.
    written(vec![("url", column("url")), ("page", Arc::clone(&html))]);
    let run = dedup_files(&["--html-column", "page"], &[&input]);
    assert_eq!(run.status, 0, "{}", run.stderr);
    let verdicts = run.verdicts();
    assert_eq!(verdicts.iter().filter(|verdict| verdict["kind"] == "UNIQUE").count(), {
        expected.iter().filter(|verdict| verdict["kind"] == "UNIQUE").count()
    });

    let numbers = || tables::integers(documents.len());
    for (columns, options, told) in [
        (
            vec![("url", column("url")), ("text", numbers())],
            &[][..],
            "column \"text\" is of type Int64; expected strings for the text (WRONG_TYPE)",
        ),
        (
            vec![("url", numbers()), ("text", column("text"))],
            &[],
            "column \"url\" is of type Int64; expected strings for the url",
        ),
        (
            vec![("url", column("url")), ("words", column("text"))],
            &[],
            "there is no column of texts or HTML; the columns are \"url\" (Utf8), \"words\" (Utf8); name one with \
             --text-column or --html-column",
        ),
        (
            vec![("url", column("url")), ("text", column("text"))],
            &["--text-column", "body"],
            "there is no column \"body\" for the text; the columns are",
        ),
        (
            vec![("url", column("url")), ("text", column("text"))],
            &["--url-column", "link"],
            "there is no column \"link\" for the url",
        ),
        (
            vec![("url", column("url")), ("text", Arc::clone(&html))],
            &[],
            "record 1: column \"text\" contains bytes here that are not UTF-8",
        ),
    ] {
        written(columns);
        let run = dedup_files(options, &[&input]);
        assert_eq!((run.status, run.verdicts().len()), (3, 0), "{}", run.stderr);
        assert!(run.stderr.contains(told) && run.stderr.contains(name(&input)), "{}", run.stderr);
    }
    // A conventional name may have another meaning here.
    written(vec![
        ("url", column("url")),
        ("text", column("text")),
        ("content", numbers()),
        ("timestamp", html),
    ]);
    let run = dedup_files(&[], &[&input]);
    assert_eq!((run.status, kinds(&run.verdicts())), (0, kinds(&expected)), "{}", run.stderr);
}

/// If two columns have one name, only one of them could be read.
#[test]
fn a_name_of_two_columns_is_refused_only_where_it_is_read() {
    let folder = tempfile::tempdir().expect("a folder");
    let documents = documents(6);
    let input = folder.path().join("twice.parquet");
    let table = table(&documents);
    let [url, text] = ["url", "text"].map(|name| table.column_by_name(name).expect("a column"));
    let written = |names: [&str; 4]| {
        let columns = [url, text, text, text].map(Arc::clone).to_vec();
        let fields = names.map(|name| Field::new(name, text.data_type().clone(), true)).to_vec();
        let batch = RecordBatch::try_new(Arc::new(Schema::new(fields)), columns).expect("a table");
        write_table(&input, &batch, &Layout::default());
    };
    written(["url", "text", "text", "other"]);
    let run = dedup_files(&[], &[&input]);
    assert_eq!((run.status, run.verdicts().len()), (3, 0), "{}", run.stderr);
    assert!(run.stderr.contains("two columns are called \"text\""), "{}", run.stderr);
    written(["url", "text", "other", "other"]);
    let kept = folder.path().join("kept.parquet");
    let run = dedup_files(&["--keep", name(&kept)], &[&input]);
    assert!(run.status == 0 && run.stderr.contains("5 kept, 1 dropped"), "{}", run.stderr);
    let names: Vec<String> =
        read_table(&kept)[0].schema().fields().iter().map(|field| field.name().clone()).collect();
    assert_eq!(names, ["url", "text", "other", "other"], "columns that are not read stay as they are");
}

/// The columns of the inputs are compared at the start, and not only when the second file is copied, after
/// hours.
#[test]
fn inputs_with_other_columns_are_refused_before_anything_is_decided() {
    let folder = tempfile::tempdir().expect("a folder");
    let documents = documents(6);
    let [a, b] = ["a.parquet", "b.parquet"].map(|name| folder.path().join(name));
    let table = table(&documents);
    write_table(&a, &table, &Layout::default());
    let lengths = StringArray::from(vec!["1"; documents.len()]);
    write_table(&b, &tables::with_column(&table, "length", lengths), &Layout::default());
    let (verdicts, kept) = (folder.path().join("v.jsonl"), folder.path().join("kept.parquet"));
    let run = dedup_files(&["--output", name(&verdicts), "--keep", name(&kept)], &[&a, &b]);
    assert_eq!(run.status, 2, "{}", run.stderr);
    assert!(run.stderr.contains("b.parquet") && run.stderr.contains("length"), "{}", run.stderr);
    assert!(std::fs::read(&verdicts).unwrap_or_default().is_empty() && !kept.exists(), "nothing is written");
}

#[test]
fn rows_without_a_url_and_rows_above_the_limit_cost_only_themselves() {
    let folder = tempfile::tempdir().expect("a folder");
    let mut documents = documents(20);
    documents[3]["url"] = Value::Null;
    documents[5]["text"] = json!(article(900, 3000));
    let input = folder.path().join("a.parquet");
    write_table(&input, &table(&documents), &Layout::default());
    let config = write(folder.path(), "leitong.toml", "[page]\nline_bytes_max = 65536\nbytes_max = 60000\n");
    let keep = folder.path().join("keep.parquet");
    let run = dedup_files(
        &["--config", name(&config), "--output", "/dev/stdout", "--keep", name(&keep)],
        &[&input],
    );
    assert_eq!(run.status, 3, "{}", run.stderr);
    assert!(run.stderr.contains("a.parquet: record 4: no `url`"), "{}", run.stderr);
    let verdicts = run.verdicts();
    assert_eq!(verdicts.len(), 19);
    assert_eq!((&verdicts[4]["reason"], &verdicts[4]["url"]), (&json!("TOO_LARGE"), &documents[5]["url"]));
    assert_eq!((&verdicts[6]["reason"], &verdicts[6]["source"]["record"]), (&json!("EMPTY"), &json!(8)));
    let kept = numbers(&read_table(&keep));
    assert!(!kept.contains(&3) && kept.contains(&5) && kept.contains(&7), "{kept:?}");
}

#[test]
fn a_broken_page_costs_only_its_rows() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = |name: &str| folder.path().join(name);
    let documents = documents(300);
    let whole = table(&documents);
    let input = file("a.parquet");
    write_table(
        &input,
        &whole,
        &Layout { packing: Compression::ZSTD(Default::default()), row_group_rows: 100, page_bytes: 6000 },
    );
    let sound = std::fs::read(&input).expect("a file");
    let text = whole.schema().index_of("text").expect("a column");
    // The leaf column of `text` follows that of the list in `nested`.
    for (group, column, of_page) in [(1, text, true), (2, text, false), (1, 0, true)] {
        let chunk = index(&input).row_group(group).column(column).clone();
        let from = usize::try_from(chunk.data_page_offset()).expect("an offset");
        let length = usize::try_from(chunk.compressed_size()).expect("a length");
        let mut broken = sound.clone();
        // In the middle of the column chunk are the contents of a page; at its beginning, the head of a page.
        let at = if of_page { from + length / 2 } else { from };
        broken[at..at + 40].fill(0xff);
        let path = file("broken.parquet");
        std::fs::write(&path, &broken).expect("a file");

        let (keep, verdicts) = (file("keep.parquet"), file("verdicts.jsonl"));
        let run = dedup_files(&["--overwrite", "--keep", name(&keep), "--output", name(&verdicts)], &[&path]);
        let verdicts = std::fs::read_to_string(&verdicts).expect("lines");
        let verdicts: Vec<Value> =
            verdicts.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect();
        let kept = numbers(&read_table(&keep));
        assert!(kept.is_sorted(), "{kept:?}");
        if column != text {
            // Damage in unused columns does not matter until they are copied.
            assert_eq!((run.status, verdicts.len()), (3, 300), "{}", run.stderr);
            assert!(run.stderr.contains("rows have a column that cannot be read"), "{}", run.stderr);
            assert!(kept.iter().any(|number| *number > 200) && kept.len() < 200, "{kept:?}");
            continue;
        }
        assert_eq!(run.status, 3, "{}", run.stderr);
        let told = run.stderr.lines().find(|line| line.contains("BROKEN_TABLE")).expect("a dead letter");
        let (of_rows, _) = told.split_once(" cannot be read").expect("a reason");
        let words: Vec<usize> =
            of_rows.split(|c: char| !c.is_ascii_digit()).filter_map(|word| word.parse().ok()).collect();
        let [.., first, last, told_group] = words[..] else { panic!("{told}") };
        assert!(
            told.contains(&format!("record {first}: rows {first} to {last} (row group {group})")),
            "{told}"
        );
        assert_eq!(told_group, group);
        let lost: HashSet<usize> = (first - 1..last).collect();
        assert!(lost.iter().all(|number| number / 100 == group), "{told}");
        // A broken page head costs everything after it in the row group, broken contents cost one page.
        assert_eq!(lost.len() == 100, !of_page, "{told}");
        assert_eq!(verdicts.len(), 300 - lost.len(), "each row has a verdict or is lost");
        let sound: Vec<Value> = (0..300)
            .filter(|number| !lost.contains(number))
            .map(|number| documents[number].clone())
            .collect();
        let sound = write(folder.path(), "sound.jsonl", lines(&sound));
        // The place in the log counts lost rows.
        let stable = |verdicts: &[Value]| -> Vec<Value> {
            compared(&verdicts.iter().map(common::stable_fields).collect::<Vec<_>>())
        };
        let expected = dedup_files(&[], &[&sound]).verdicts();
        common::assert_same(told, &stable(&verdicts), &stable(&expected));
        let stays = |verdict: &&Value| verdict["kind"] == "UNIQUE" || verdict["kind"] == "UNDECIDABLE";
        let stay: Vec<_> = verdicts.iter().filter(stays).map(|verdict| verdict["page_id"].as_str()).collect();
        let kept = strings(&read_table(&keep), "id");
        assert_eq!(kept.iter().map(Option::as_deref).collect::<Vec<_>>(), stay);
    }
}

#[test]
fn an_incomplete_parquet_file_is_reported_and_the_next_is_read() {
    let folder = tempfile::tempdir().expect("a folder");
    let documents = documents(40);
    let input = folder.path().join("a.parquet");
    write_table(&input, &table(&documents), &Layout::default());
    let whole = std::fs::read(&input).expect("a file");
    let cut = write(folder.path(), "cut.parquet", &whole[..whole.len() / 2]);
    let out = folder.path().join("out");
    let run = dedup_files(&["--keep", &format!("{}/", name(&out))], &[&cut, &input]);
    assert_eq!(run.status, 3, "{}", run.stderr);
    let told = "cut.parquet: record 1: the Parquet file cannot be read";
    assert!(run.stderr.contains(told) && run.stderr.contains("(BROKEN_TABLE)"), "{}", run.stderr);
    assert!(!out.join("cut.parquet").exists(), "there is nothing to write");
    assert!(!numbers(&read_table(&out.join("a.parquet"))).is_empty());

    let run = run_with_input(["dedup", "-"], &whole);
    assert_eq!(run.status, 3);
    assert!(run.stderr.contains("this is Parquet from a pipe"), "{}", run.stderr);
    let run = run_with_input(["dedup", "--keep", "-", "-"], &whole);
    assert_eq!(run.status, 2);
    assert!(run.stderr.contains("read their inputs twice"), "{}", run.stderr);
}

/// Whatever is wrong with a file: each row has at most one verdict, and the next file is read.
#[test]
fn damaged_files_cost_no_other_file() {
    let seed = seed("LEITONG_PARQUET_SEED");
    let mut random = Random::from_seed(seed);
    let folder = tempfile::tempdir().expect("a folder");
    let documents = documents(120);
    let input = folder.path().join("a.parquet");
    write_table(
        &input,
        &table(&documents),
        &Layout { row_group_rows: 50, page_bytes: 4000, ..Layout::default() },
    );
    let sound = std::fs::read(&input).expect("a file");
    let behind =
        write(folder.path(), "b.jsonl", "{\"id\":\"behind\",\"url\":\"http://b/\",\"text\":\"短\"}\n");
    for round in 0..25 {
        let mut broken = sound.clone();
        for _ in 0..1 + random.below(4) {
            // Half of the changes are in the index.
            let index = 4000.min(broken.len());
            let at = match random.below(2) {
                0 => broken.len() - 1 - random.below(index),
                _ => 4 + random.below(broken.len() - 4),
            };
            broken[at] = random.below(256) as u8;
        }
        let path = write(folder.path(), "broken.parquet", &broken);
        let (out, verdicts) = (folder.path().join("out/"), folder.path().join("verdicts.jsonl"));
        let run = dedup_files(
            &["--overwrite", "--keep", &format!("{}/", name(&out)), "--output", name(&verdicts)],
            &[&path, &behind],
        );
        let context = format!("seed {seed}, round {round}: {}", run.stderr);
        assert!([0, 3].contains(&run.status), "{context}");
        let verdicts = std::fs::read_to_string(&verdicts).expect("lines");
        let verdicts: Vec<Value> =
            verdicts.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect();
        assert_eq!(verdicts.last().expect("a verdict")["page_id"], "behind", "{context}");
        let mut places = HashSet::new();
        assert!(verdicts.iter().all(|verdict| places.insert(verdict["source"].to_string())), "{context}");
        if out.join("broken.parquet").exists() {
            assert!(File::open(out.join("broken.parquet")).is_ok());
            drop(read_table(&out.join("broken.parquet")));
            std::fs::remove_file(out.join("broken.parquet")).expect("a file");
        }
    }
}

/// Each row was a dead letter without a url, because the struct might have contained one. JSON lines need no url.
#[test]
fn texts_in_structs_need_no_urls() {
    let folder = tempfile::tempdir().expect("a folder");
    let texts = [article(1, 20), article(2, 20), article(1, 20)];
    let texts: ArrayRef = Arc::new(StringArray::from(texts.to_vec()));
    let field = Arc::new(Field::new("text", texts.data_type().clone(), true));
    let inner: ArrayRef = Arc::new(StructArray::from(vec![(Arc::clone(&field), texts)]));
    let outer = Arc::new(Field::new("page", inner.data_type().clone(), true));
    let deep: ArrayRef = Arc::new(StructArray::from(vec![(outer, Arc::clone(&inner))]));
    for (column, pointer) in [(inner, "/doc/text"), (deep, "/doc/page/text")] {
        let input = folder.path().join("a.PARQUET");
        write_table(
            &input,
            &RecordBatch::try_from_iter([("doc", column)]).expect("a table"),
            &Layout::default(),
        );
        let run = dedup_files(&["--text-column", pointer], &[&input]);
        assert_eq!(run.status, 0, "{}", run.stderr);
        let kinds: Vec<_> = run.verdicts().iter().map(|verdict| verdict["kind"].clone()).collect();
        assert_eq!(kinds, ["UNIQUE", "UNIQUE", "EXACT_DUPLICATE"]);
        assert!(run.verdicts()[1]["url"].as_str().is_some_and(|url| url.ends_with("a.PARQUET#2")));
        let run = dedup_files(&["--text-column", "/doc/nope"], &[&input]);
        assert!(run.stderr.contains("there is no column of texts"), "{}", run.stderr);
    }
}

/// Corpora keep their metadata in a struct, or in a column of JSON texts.
#[test]
fn json_pointers_reach_into_structs_and_json_texts() {
    let folder = tempfile::tempdir().expect("a folder");
    let column = |values: [&str; 2]| -> ArrayRef { Arc::new(StringArray::from(values.to_vec())) };
    let texts = [article(1, 20), article(2, 20)];
    let metas = [r#"{"url": "http://a/1"}"#, r#" {"url": "http://a/2"}"#];
    let urls = column(["http://a/1", "http://a/2"]);
    let field = Arc::new(Field::new("url", urls.data_type().clone(), true));
    let in_struct: ArrayRef = Arc::new(StructArray::from(vec![(field, urls)]));
    for meta in [column(metas), in_struct] {
        let text = column([&texts[0], &texts[1]]);
        let input = folder.path().join("a.parquet");
        let batch = RecordBatch::try_from_iter([("body", text), ("meta", meta)]).expect("a table");
        write_table(&input, &batch, &Layout::default());
        let run = dedup_files(&["--text-column", "/body", "--url-column", "/meta/url"], &[&input]);
        assert_eq!(run.status, 0, "{}", run.stderr);
        let urls: Vec<_> = run.verdicts().iter().map(|verdict| verdict["url"].clone()).collect();
        assert_eq!(urls, ["http://a/1", "http://a/2"]);
        let run = dedup_files(&["--text-column", "/body", "--url-column", "/mete/url"], &[&input]);
        assert!(run.stderr.contains("there is no column \"mete\""), "{}", run.stderr);
    }
}
