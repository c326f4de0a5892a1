//! `dedup` over CSV and TSV, over folders, and over files compressed with lz4: the same verdicts as on JSON
//! lines, and rows copied byte by byte.

use std::io::{Read as _, Write as _};

use serde_json::{Value, json};

use crate::common::{self, article, assert_same, dedup_files, name, write};

/// Returns documents, some of them repeated; texts contain quotes, commas, tabs and line feeds.
fn documents(count: usize) -> Vec<Value> {
    let document = |number: usize| {
        let topic = if number % 3 == 2 { number / 2 } else { number };
        json!({
            "id": format!("d{number}"),
            "url": format!("https://host{}.test/{number}", number % 4),
            "text": format!("\"{}\",\n\t{}", article(topic, 6), article(topic + 1000, 6 + number % 2)),
            "score": ((number * 7) % 11).to_string(),
        })
    };
    (0..count).map(document).collect()
}

fn lines(documents: &[Value]) -> String {
    documents.iter().map(|document| format!("{document}\n")).collect()
}

/// Returns the rows of a table; the first has the column names.
fn rows(documents: &[Value], delimiter: char) -> Vec<String> {
    let names = ["id", "note", "url", "text", "score"];
    let field = |value: &str| format!("\"{}\"", value.replace('"', "\"\""));
    let row = |document: &Value| {
        let fields = names.map(|name| field(document[name].as_str().unwrap_or("nobody reads this")));
        fields.join(&delimiter.to_string())
    };
    [names.join(&delimiter.to_string())].into_iter().chain(documents.iter().map(row)).collect()
}

fn table(rows: &[String]) -> String {
    rows.iter().map(|row| format!("{row}\r\n")).collect()
}

fn lz4(bytes: &[u8]) -> Vec<u8> {
    let mut frame = lz4_flex::frame::FrameEncoder::new(Vec::new());
    frame.write_all(bytes).expect("memory");
    frame.finish().expect("memory")
}

fn compared(verdicts: &[Value]) -> Vec<Value> {
    let mut verdicts: Vec<Value> = verdicts.iter().map(common::stable_fields).collect();
    for verdict in &mut verdicts {
        verdict.as_object_mut().expect("an object").remove("source");
    }
    verdicts
}

#[test]
fn csv_gives_the_verdicts_and_rows_of_json_lines() {
    let folder = tempfile::tempdir().expect("a folder");
    let documents = documents(90);
    let expected = dedup_files(&[], &[&write(folder.path(), "a.jsonl", lines(&documents))]).verdicts();
    assert!(expected.iter().any(|verdict| verdict["kind"] == "NEAR_DUPLICATE"));
    for (file, delimiter, is_packed) in [("a.csv", ',', false), ("a.tsv.lz4", '\t', true)] {
        let rows = rows(&documents, delimiter);
        let contents = format!("\u{feff}{}", table(&rows)).into_bytes();
        let input = write(folder.path(), file, if is_packed { lz4(&contents) } else { contents });
        let run = dedup_files(&[], &[&input]);
        assert_eq!(run.status, 0, "{}", run.stderr);
        let verdicts = run.verdicts();
        assert_same(file, &compared(&verdicts), &compared(&expected));
        // Each row has two lines, since its text has a line feed.
        assert_eq!(verdicts[3]["source"], json!({ "input": name(&input), "line": 8 }));

        for prefer in ["first", "highest:/score"] {
            let stays = if prefer == "first" {
                expected.iter().map(|verdict| verdict["kind"] == "UNIQUE").collect::<Vec<_>>()
            } else {
                let kept = folder.path().join("kept.jsonl");
                let json = folder.path().join("a.jsonl");
                let options = ["--prefer", prefer, "--overwrite", "--keep", name(&kept)];
                assert_eq!(dedup_files(&options, &[&json]).status, 0);
                let kept = std::fs::read_to_string(kept).expect("lines");
                documents.iter().map(|document| kept.contains(&format!("{document}\n"))).collect()
            };
            let keep = folder.path().join(format!("keep-{file}"));
            let drop = folder.path().join(if delimiter == ',' { "drop.csv" } else { "drop.tsv" });
            let options = ["--prefer", prefer, "--overwrite", "--keep", name(&keep), "--drop", name(&drop)];
            let run = dedup_files(&options, &[&input]);
            assert_eq!(run.status, 0, "{}", run.stderr);
            let mut kept = Vec::new();
            let file = std::fs::File::open(&keep).expect("a file");
            match is_packed {
                true => lz4_flex::frame::FrameDecoder::new(file).read_to_end(&mut kept).expect("lz4"),
                false => { file }.read_to_end(&mut kept).expect("a file"),
            };
            let stay: Vec<&str> = rows[1..]
                .iter()
                .zip(&stays)
                .filter(|(_, stays)| **stays)
                .map(|(row, _)| row.as_str())
                .collect();
            let expected_rows = [&[rows[0].as_str()], &stay[..]].concat().join("\n") + "\n";
            assert_eq!(String::from_utf8(kept).expect("UTF-8"), expected_rows, "{prefer}");
            let dropped = std::fs::read_to_string(&drop).expect("rows");
            let header =
                ["leitong_cluster", "leitong_kind", "leitong_canonical", "leitong_reason", "leitong_share"]
                    .join(&delimiter.to_string());
            assert!(dropped.starts_with(&format!("{}{delimiter}{header}\n", rows[0])), "{dropped}");
            for (row, stays) in rows[1..].iter().zip(&stays) {
                assert_eq!(dropped.contains(&format!("{row}{delimiter}")), !stays, "{row}");
            }
        }
    }
}

#[test]
fn errors_in_a_table_name_file_and_line() {
    let folder = tempfile::tempdir().expect("a folder");
    let text = article(1, 12);
    let contents = format!("url,text\nhttp://a/,{text}\nhttp://b/\n,{text}\nhttp://c/,\"{text}\n");
    let input = write(folder.path(), "a.csv", contents);
    let run = dedup_files(&[], &[&input]);
    assert_eq!((run.status, run.verdicts().len()), (3, 1), "{}", run.stderr);
    for told in [
        "a.csv: line 3: 1 fields, but the first row has 2; the row is skipped (BROKEN_CSV)",
        "a.csv: line 4: no `url`",
        "a.csv: line 5: a quote in the row that begins in line 5 is never closed",
    ] {
        assert!(run.stderr.contains(told), "{}", run.stderr);
    }
    for (contents, options, told) in [
        (
            "id,words\n1,x\n",
            &[][..],
            "there is no column of texts or HTML; the columns are \"id\", \"words\"",
        ),
        // The names of all columns seem to be one name, so the message must name the probable cause.
        (
            "sep=;\nid;text\n1;x\n",
            &[],
            "there is no column of texts or HTML; the columns are \"sep=;\" (separated by ';'? Write the table with commas",
        ),
        ("id,text\n1,x\n", &["--text-column", "body"], "there is no column \"body\" for the text"),
    ] {
        let input = write(folder.path(), "b.csv", contents);
        let keep = folder.path().join("keep.csv");
        let run = dedup_files(&[options, &["--overwrite", "--keep", name(&keep)]].concat(), &[&input]);
        assert_eq!(run.status, 3, "{}", run.stderr);
        assert!(run.stderr.contains(&format!("b.csv: line 1: {told}")), "{}", run.stderr);
    }
    // Only texts, in a column of another name.
    let input = write(folder.path(), "c.csv", format!("n,body\n1,{text}\n2,{text}\n"));
    let verdicts = dedup_files(&["--text-column", "body"], &[&input]).verdicts();
    assert_eq!(verdicts[1]["kind"], "EXACT_DUPLICATE");
    assert_eq!(verdicts[1]["canonical_url"], format!("document:{}#2", name(&input)));
}

#[test]
fn every_truncation_within_an_lz4_frame_is_reported() {
    let folder = tempfile::tempdir().expect("a folder");
    let documents = documents(4);
    let frames = [lz4(lines(&documents[..2]).as_bytes()), lz4(lines(&documents[2..]).as_bytes())];
    let (file, between) = (frames.concat(), frames[0].len());
    for cut in [7, between - 5, between - 1, between, between + 4, between + 5, between + 30, file.len()] {
        let input = write(folder.path(), "a.jsonl", &file[..cut]);
        let run = dedup_files(&[], &[&input]);
        let is_whole = cut == between || cut == file.len();
        assert_eq!(run.status, if is_whole { 0 } else { 3 }, "cut after {cut} bytes: {}", run.stderr);
        assert_eq!(
            run.stderr.contains("TRUNCATED_INPUT"),
            !is_whole,
            "cut after {cut} bytes: {}",
            run.stderr
        );
    }
}

#[test]
fn a_folder_as_input_means_its_files() {
    let folder = tempfile::tempdir().expect("a folder");
    let documents = documents(60);
    let input = folder.path().join("in");
    std::fs::create_dir_all(input.join("b")).expect("a folder");
    write(
        &input,
        "a.jsonl.lz4",
        [lz4(lines(&documents[..10]).as_bytes()), lz4(lines(&documents[10..20]).as_bytes())].concat(),
    );
    write(&input, "b/x.jsonl", lines(&documents[20..40]));
    write(&input, "c.csv", table(&rows(&documents[40..], ',')));
    write(&input, "notes.txt", "no page");
    let expected = dedup_files(&[], &[&write(folder.path(), "all.jsonl", lines(&documents))]).verdicts();
    let run = dedup_files(&[], &[&input]);
    assert_eq!(run.status, 0, "{}", run.stderr);
    assert!(run.stderr.contains("1 files in folders are skipped"), "{}", run.stderr);
    assert!(run.stderr.contains("in/notes.txt); to read one"), "{}", run.stderr);
    assert_same("a folder", &compared(&run.verdicts()), &compared(&expected));

    let run = dedup_files(&["--keep", name(&folder.path().join("keep"))], &[&input]);
    assert_eq!(run.status, 2);
    assert!(run.stderr.contains("c.csv has others; name a folder"), "{}", run.stderr);
    let out = folder.path().join("out");
    let run = dedup_files(&["--keep", &format!("{}/", name(&out))], &[&input]);
    assert_eq!(run.status, 0, "{}", run.stderr);
    let names = ["a.jsonl.lz4", "x.jsonl", "c.csv"];
    assert!(names.iter().all(|name| out.join(name).exists()));

    let run = dedup_files(&[], &[&folder.path().join("out/none")]);
    assert_eq!(run.status, 1, "{}", run.stderr);
    std::fs::create_dir(folder.path().join("empty")).expect("a folder");
    let run = dedup_files(&[], &[&folder.path().join("empty")]);
    assert!(run.status == 1 && run.stderr.contains("empty: there is no file to read"), "{}", run.stderr);
}

/// `/meta/url` in `--url-column /meta/url` is a pointer, not the name of a column.
#[test]
fn columns_can_be_named_by_json_pointers() {
    let folder = tempfile::tempdir().expect("a folder");
    let text = article(1, 20);
    let table =
        format!("/odd,body,meta\n{text},{},\"{{\"\"url\"\": \"\"http://a/1\"\"}}\"\n", article(2, 20));
    let input = write(folder.path(), "a.csv", table);
    let line = json!({ "/odd": text, "body": article(2, 20), "meta": { "url": "http://a/1" } });
    let lines = write(folder.path(), "a.jsonl", format!("{line}\n"));
    for input in [&input, &lines] {
        let run = dedup_files(&["--text-column", "/body", "--url-column", "/meta/url"], &[input]);
        assert_eq!(run.status, 0, "{}", run.stderr);
        assert_eq!(run.verdicts()[0]["url"], "http://a/1");
        let odd = dedup_files(&["--text-column", "/~1odd", "--url-column", "/meta/url"], &[input]).verdicts();
        assert_ne!(odd[0]["text_digest"], run.verdicts()[0]["text_digest"]);
    }
    let run = dedup_files(&["--text-column", "/body", "--url-column", "/mete/url"], &[&input]);
    assert_eq!(run.status, 3);
    assert!(run.stderr.contains("there is no column \"mete\""), "{}", run.stderr);
}

/// `--by` found no field in CSV rows, and neither did `--prefer` together with `--one-per`: all documents were of one
/// source, and of one group.
#[test]
fn several_fields_of_rows_are_found_again() {
    let folder = tempfile::tempdir().expect("a folder");
    let documents = documents(30);
    let inputs = [
        write(folder.path(), "a.csv", table(&rows(&documents, ','))),
        write(folder.path(), "a.jsonl", lines(&documents)),
    ];
    let found = inputs.map(|input| {
        let [kept, accounts] = ["kept", "accounts.json"].map(|name| folder.path().join(name));
        let kept = kept.with_extension(input.extension().expect("a format"));
        let options = ["--prefer", "highest:/score", "--one-per", "/id", "--by", "/id", "--overwrite"];
        let outputs = ["--keep", name(&kept), "--accounts", name(&accounts)];
        let run = dedup_files(&[&options[..], &outputs].concat(), &[&input]);
        assert_eq!(run.status, 0, "{}", run.stderr);
        let accounts = std::fs::read_to_string(&accounts).expect("accounts");
        let accounts: Value = serde_json::from_str(&accounts).expect("JSON");
        let sources = accounts["sources"].as_array().expect("sources").iter();
        sources.map(|source| json!([source["source"], source["kept"]])).collect::<Vec<_>>()
    });
    assert_eq!(found[0].len(), 30, "each document is a source");
    assert_eq!(found[0], found[1], "as of JSON lines");
}
