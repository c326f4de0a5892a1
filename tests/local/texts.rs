//! `dedup --keep --as text` and `markdown`: for every input format and both output formats, the documents are those of
//! `--as original`, and their texts are those of `extract`, after the headline.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use arrow_array::{ArrayRef, BinaryArray, Float64Array, Int64Array, RecordBatch};
use serde_json::{Value, json};

use crate::common::{article, dedup_files, gzip, leitong, name, run, tables, write};

const FORMS: [&str; 2] = ["text", "markdown"];

/// Returns pages of HTML, some of which are copies, one with an error's status, one without a text.
fn pages() -> Vec<Value> {
    let mut pages: Vec<Value> = (0..12_usize)
        .map(|number| {
            let html = format!(
                "<html lang=zh><head><title>Page {number}</title></head><body><h1>标题 {}</h1><p>{} <a href='/a?b=1'>链接</a> \
                 <b>粗体</b></p><ul><li>one</li><li>two|three</li></ul></body></html>",
                number % 9,
                article(number % 9, 20)
            );
            json!({
                "id": format!("p{number}"),
                "url": format!("https://host{}.test/x/{number}", number % 2),
                "html": html,
                "fetched_at": "2026-10-10T00:00:00Z",
                "meta": { "source": format!("s{}", number % 3), "n": number },
            })
        })
        .collect();
    pages[4]["status"] = json!(404);
    pages.push(json!({ "id": "empty", "url": "https://host0.test/empty", "html": "<p></p>", "meta": {} }));
    pages
}

fn lines_of(pages: &[Value]) -> String {
    pages.iter().map(|page| format!("{page}\n")).collect()
}

fn csv_of(pages: &[Value]) -> String {
    let field = |value: String| format!("\"{}\"", value.replace('"', "\"\""));
    let row = |page: &Value| {
        let text = |name: &str| page[name].as_str().unwrap_or_default().to_owned();
        let fields = [text("id"), text("url"), text("html"), page["meta"].to_string()];
        fields.map(field).join(",") + "\n"
    };
    "id,url,html,meta\n".to_owned() + &pages.iter().map(row).collect::<String>()
}

fn warc_of(pages: &[Value]) -> Vec<Vec<u8>> {
    let record = |page: &Value| {
        let [url, html] = ["url", "html"].map(|name| page[name].as_str().expect("a text"));
        let status = page["status"].as_u64().unwrap_or(200);
        let block = format!("HTTP/1.1 {status} X\r\nContent-Type: text/html; charset=utf-8\r\n\r\n{html}");
        let head = format!(
            "WARC/1.1\r\nWARC-Type: response\r\nWARC-Target-URI: {url}\r\nWARC-Date: 2026-10-10T00:00:00Z\r\n\
             Content-Type: application/http\r\nContent-Length: {}\r\n\r\n",
            block.len()
        );
        format!("{head}{block}\r\n\r\n").into_bytes()
    };
    pages.iter().map(record).collect()
}

/// Returns inputs of each format with the same pages, and the options that they need.
fn inputs(folder: &Path, pages: &[Value]) -> Vec<(Vec<String>, PathBuf)> {
    let plain = |path: PathBuf| (Vec::new(), path);
    let parquet = folder.join("in.parquet");
    let html = arrow_array::StringArray::from_iter(pages.iter().map(|page| page["html"].as_str()));
    let meta = arrow_array::StringArray::from_iter(pages.iter().map(|page| Some(page["meta"].to_string())));
    let table = tables::with_column(&tables::table(pages), "html", html);
    tables::write_table(
        &parquet,
        &tables::with_column(&table, "meta", meta),
        &tables::Layout { row_group_rows: 5, ..tables::Layout::default() },
    );
    let mut mirror = folder.join("mirror");
    std::fs::create_dir(&mirror).expect("a folder");
    for page in pages {
        let id = page["id"].as_str().expect("an id");
        write(&mirror, &format!("{id}.html"), page["html"].as_str().expect("HTML"));
    }
    mirror.push("");
    let records = warc_of(pages);
    let members: Vec<Vec<u8>> = records.iter().map(|record| gzip(record)).collect();
    let mut offset = 0;
    let index: String = members
        .iter()
        .zip(pages)
        .map(|(member, page)| {
            let line = format!(
                "test,host)/x 20261010000000 {}\n",
                json!({
                    "url": page["url"], "mime": "text/html", "status": "200", "filename": "in.warc.gz",
                    "offset": offset.to_string(), "length": member.len().to_string(),
                })
            );
            offset += member.len();
            line
        })
        .collect();
    vec![
        plain(write(folder, "in.jsonl.gz", gzip(lines_of(pages).as_bytes()))),
        plain(write(folder, "in.csv", csv_of(pages))),
        plain(parquet),
        plain(write(folder, "in.warc.gz", members.concat())),
        (vec!["--warc-base".to_owned(), name(folder).to_owned()], write(folder, "in.cdxj", index)),
        (vec!["--url-base".to_owned(), "https://host0.test/x/".to_owned()], mirror),
    ]
}

/// Returns the lines of a JSON file, or the rows of a Parquet file as JSON, without the column `authors`.
fn read(path: &Path) -> Vec<Value> {
    if path.extension().is_some_and(|extension| extension == "parquet") {
        let batches = tables::read_table(path);
        let schema = tables::schema(path);
        let mut rows = vec![json!({}); batches.iter().map(arrow_array::RecordBatch::num_rows).sum()];
        for field in schema.fields().iter().filter(|field| field.name() != "authors") {
            if field.name() == "leitong_share" {
                for (row, value) in rows.iter_mut().zip(tables::floats(&batches, field.name())) {
                    row[field.name()] = json!(value);
                }
                continue;
            }
            for (row, value) in rows.iter_mut().zip(tables::strings(&batches, field.name())) {
                row[field.name()] = json!(value);
            }
        }
        return rows;
    }
    let bytes = std::fs::read(path).expect("a file");
    let text = match path.extension().and_then(|extension| extension.to_str()) {
        Some("zst") => zstd::decode_all(&*bytes).expect("zstd"),
        _ => bytes,
    };
    let text = String::from_utf8(text).expect("UTF-8");
    text.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect()
}

#[test]
fn every_input_format_gives_the_texts_of_the_documents_that_are_kept() {
    let folder = tempfile::tempdir().expect("a folder");
    let pages = pages();
    for (options, input) in inputs(folder.path(), &pages) {
        let options: Vec<&str> = options.iter().map(String::as_str).collect();
        let verdicts = dedup_files(&options, &[&input]).verdicts();
        assert_eq!(verdicts.len(), pages.len(), "{}", input.display());
        for (prefer, form, keep) in [
            ("first", "text", "out.jsonl"),
            ("longest", "text", "out.parquet"),
            ("longest", "markdown", "out.jsonl.zst"),
            ("first", "markdown", "out.parquet"),
        ] {
            {
                let what = format!("{} {form} {keep} {prefer}", input.display());
                let keep = folder.path().join(keep);
                let clusters = folder.path().join("clusters.jsonl");
                let mut arguments = options.clone();
                arguments.extend(["--keep", name(&keep), "--as", form, "--annotate", "--prefer", prefer]);
                arguments.extend(["--overwrite", "--clusters", name(&clusters)]);
                let run = dedup_files(&arguments, &[&input]);
                assert_eq!(run.status, 0, "{what}: {}", run.stderr);
                let members = read(&clusters);
                let members =
                    members.iter().flat_map(|cluster| cluster["members"].as_array().expect("members"));
                let kept: Vec<&Value> = members
                    .filter(|member| member["kept"] == true)
                    .map(|member| &member["page_id"])
                    .collect();
                let expected: Vec<&Value> = verdicts
                    .iter()
                    .filter(|verdict| verdict["kind"] == "UNDECIDABLE" || kept.contains(&&verdict["page_id"]))
                    .collect();
                let written = read(&keep);
                let ids = |values: &[&Value], field: &str| -> Vec<Value> {
                    values.iter().map(|value| value[field].clone()).collect()
                };
                let written: Vec<&Value> = written.iter().collect();
                assert_eq!(ids(&written, "id"), ids(&expected, "page_id"), "{what}");
                assert_eq!(ids(&written, "url"), ids(&expected, "url"), "{what}");
                assert_eq!(ids(&written, "leitong_kind"), ids(&expected, "kind"), "{what}");
                let empty = written.iter().find(|text| text["text"].is_null()).expect("a page without text");
                assert!(!empty["reason"].is_null(), "{what}: {empty}");
                assert!(run.stderr.contains("have no text ("), "{what}: {}", run.stderr);
                for text in written.iter().filter(|text| !text["text"].is_null()) {
                    let body = text["text"].as_str().expect("a text");
                    let url = text["url"].as_str().expect("a url");
                    let host = url.split("/x").next().expect("a host");
                    if form == "markdown" {
                        assert!(body.starts_with("# 标题"), "{what}: {body}");
                        assert!(body.contains(&format!("[链接]({host}/a?b=1) **粗体**")), "{what}: {body}");
                        assert!(body.ends_with("- one\n- two|three"), "{what}: {body}");
                    } else {
                        assert!(
                            body.starts_with("标题") && body.ends_with("one\ntwo|three"),
                            "{what}: {body}"
                        );
                    }
                    assert!(
                        text["title"]
                            .as_str()
                            .is_some_and(|title| title.contains("标题") || title.contains("Page"))
                    );
                    assert!(text["language"].as_str().is_some_and(|language| language.starts_with("zh")));
                }
            }
        }
    }
}

#[test]
fn the_texts_are_those_that_extract_prints() {
    let folder = tempfile::tempdir().expect("a folder");
    let input = write(folder.path(), "in.jsonl", lines_of(&pages()));
    for form in FORMS {
        let keep = folder.path().join("out.jsonl");
        assert_eq!(dedup_files(&["--overwrite", "--keep", name(&keep), "--as", form], &[&input]).status, 0);
        let extracted = run(["extract", "--format", form, "--jsonl", name(&input)]).verdicts();
        for text in read(&keep).iter().filter(|text| !text["text"].is_null()) {
            let same = extracted.iter().find(|line| line["id"] == text["id"]).expect("the page");
            // Lines of `extract --jsonl` have the headline in a field of its own.
            let headline = same["headline"].as_str().filter(|_| form == "text");
            let whole = headline.map_or(String::new(), |headline| format!("{headline}\n"))
                + same["text"].as_str().unwrap_or_default();
            assert_eq!(Some(whole.trim_end()), text["text"].as_str());
            assert_eq!(same["title"], text["title"]);
        }
    }
}

#[test]
fn a_text_that_needs_no_extraction_stays_as_it_is_and_is_escaped_in_markdown() {
    let folder = tempfile::tempdir().expect("a folder");
    let text = format!("  # {}\n\n    *indented*\n", article(1, 20));
    let input = write(folder.path(), "in.jsonl", lines_of(&[json!({ "id": "1", "text": text })]));
    let keep = folder.path().join("out.jsonl");
    dedup_files(&["--keep", name(&keep), "--as", "text"], &[&input]);
    assert_eq!(read(&keep)[0]["text"], text);
    let run = dedup_files(&["--overwrite", "--keep", name(&keep), "--as", "markdown"], &[&input]);
    let expected = format!("\\# {}\n\n\\*indented\\*", article(1, 20));
    assert_eq!(read(&keep)[0]["text"], expected);
    assert!(run.stderr.contains("1 of the kept documents are plain text"), "{}", run.stderr);
}

#[test]
fn fields_of_the_input_are_written_and_missing_ones_counted() {
    let folder = tempfile::tempdir().expect("a folder");
    let pages = pages();
    for (_, input) in inputs(folder.path(), &pages).into_iter().take(3) {
        for keep in ["out.jsonl", "out.parquet"] {
            let keep = folder.path().join(keep);
            let fields = "/meta/source,number=/meta/n,meta";
            let options = ["--overwrite", "--keep", name(&keep), "--as", "text", "--fields", fields];
            let run = dedup_files(&options, &[&input]);
            assert_eq!(run.status, 0, "{}", run.stderr);
            assert!(run.stderr.contains("have no field /meta/source (--fields)"), "{}", run.stderr);
            let is_parquet = keep.extension().is_some_and(|extension| extension == "parquet");
            for text in read(&keep) {
                let page = pages.iter().find(|page| page["id"] == text["id"]).expect("the page");
                assert_eq!(text["source"], page["meta"]["source"], "{}", input.display());
                match is_parquet || page["meta"]["n"].is_null() {
                    true if page["meta"]["n"].is_null() => assert!(text["number"].is_null()),
                    true => assert_eq!(text["number"], page["meta"]["n"].to_string()),
                    false => assert_eq!(text["number"], page["meta"]["n"]),
                }
                assert!(!text["meta"].is_null());
            }
        }
    }
}

/// A column of bytes that `--fields` names must not make the text null in rows whose bytes are not UTF-8. Values that
/// JSON cannot hold become null, and are reported. The number of fields is not limited to a few.
#[test]
fn a_field_that_cannot_be_written_does_not_cost_the_text() {
    let folder = tempfile::tempdir().expect("a folder");
    let rows: Vec<Value> = (0..6)
        .map(|number| json!({ "id": number.to_string(), "url": format!("https://a.example/{number}"), "text": article(number, 20) }))
        .collect();
    let table = tables::table(&rows);
    let picture: ArrayRef = Arc::new((0..6).map(|number| Some([0xff, number])).collect::<BinaryArray>());
    let share: ArrayRef = Arc::new(Float64Array::from(vec![0.5, f64::NAN, 1.0, 2.0, f64::INFINITY, 3.0]));
    let numbers =
        (0..70).map(|number| (format!("n{number}"), Arc::new(Int64Array::from(vec![number; 6])) as ArrayRef));
    let columns: Vec<(String, ArrayRef)> =
        [("picture".to_owned(), picture), ("share".to_owned(), share)].into_iter().chain(numbers).collect();
    let fields = columns.iter().map(|(name, _)| name.clone()).collect::<Vec<_>>().join(",");
    let own = table
        .schema()
        .fields()
        .iter()
        .map(|field| field.name().clone())
        .zip(table.columns().to_vec())
        .collect();
    let table = RecordBatch::try_from_iter([own, columns].concat()).expect("columns of one length");
    let [input, keep] = ["in.parquet", "out.jsonl"].map(|name| folder.path().join(name));
    tables::write_table(&input, &table, &tables::Layout::default());
    let run = dedup_files(&["--keep", name(&keep), "--as", "text", "--fields", &fields], &[&input]);
    assert_eq!(run.status, 0, "{}", run.stderr);
    for note in
        ["column \"picture\" has 6 values that cannot be written as JSON", "column \"share\" has 2 values"]
    {
        assert!(run.stderr.contains(note), "{note}: {}", run.stderr);
    }
    let texts = read(&keep);
    assert_eq!(texts.len(), rows.len());
    for (text, row) in texts.iter().zip(&rows) {
        assert_eq!(text["text"], row["text"]);
        assert_eq!((&text["picture"], &text["n69"]), (&Value::Null, &json!(69)));
    }
    assert_eq!((&texts[0]["share"], &texts[1]["share"]), (&json!(0.5), &Value::Null));
}

#[test]
fn options_that_do_not_fit_together_are_refused_before_anything_is_written() {
    let folder = tempfile::tempdir().expect("a folder");
    let pages = pages();
    let inputs = inputs(folder.path(), &pages);
    let input = |number: usize| name(&inputs[number].1);
    let page = folder.path().join("mirror/p1.html").display().to_string();
    let out = folder.path().join("refused");
    std::fs::create_dir(&out).expect("a folder");
    let file = |name: &str| out.join(name).display().to_string();
    for (options, message) in [
        (vec!["--as", "text", input(0)], "add --keep"),
        (vec!["--as", "text", "--keep", &file("a.csv"), input(0)], "JSON lines or Parquet"),
        (vec!["--as", "text", "--keep", &file("a.warc.gz"), input(0)], "JSON lines or Parquet"),
        (vec!["--as", "markdown", "--keep", &file("a.md"), input(0)], "JSON lines or Parquet"),
        (vec!["--as", "text", "--keep", &file("a.parquet.gz"), input(0)], "compressed internally"),
        (vec!["--as", "text", "--keep", &file("kept/"), input(0)], "is a folder"),
        (vec!["--as", "text", "--revisit", "--keep", &file("a.jsonl"), input(3)], "--revisit"),
        (vec!["--fields", "meta", "--keep", &file("a.jsonl"), input(0)], "add --as text"),
        (
            vec!["--as", "text", "--fields", "/meta/url", "--keep", &file("a.jsonl"), input(0)],
            "input_url=/meta/url",
        ),
        (vec!["--as", "text", "--fields", "/a/x,/b/x", "--keep", &file("a.jsonl"), input(0)], "another name"),
        (
            vec!["--as", "text", "--fields", "nothing", "--keep", &file("a.jsonl"), input(1)],
            "no column \"nothing\"",
        ),
        (
            vec!["--as", "text", "--fields", "nothing", "--keep", &file("a.jsonl"), input(2)],
            "no column \"nothing\"",
        ),
        (
            vec!["--as", "text", "--fields", "x", "--keep", &file("a.jsonl"), input(3)],
            "WARC records have no fields",
        ),
        (
            vec!["--as", "text", "--fields", "x", "--keep", &file("a.jsonl"), &page],
            "HTML pages have no fields",
        ),
        (vec!["--as", "html", "--keep", &file("a.jsonl"), input(0)], "invalid value"),
    ] {
        let run = run([&["dedup"][..], &options].concat());
        assert_eq!(run.status, 2, "{options:?}: {}", run.stderr);
        assert!(run.stderr.contains(message), "{options:?}: {}", run.stderr);
    }
    assert_eq!(std::fs::read_dir(&out).expect("a folder").count(), 0, "nothing was written");
}

/// Dropped documents keep their format, whatever form kept ones have.
#[test]
fn dropped_documents_stay_as_they_came() {
    let folder = tempfile::tempdir().expect("a folder");
    let input = write(folder.path(), "in.jsonl", lines_of(&pages()));
    let [keep, drop, other] =
        ["keep.parquet", "drop.jsonl", "other.jsonl"].map(|name| folder.path().join(name));
    let texts = ["--keep", name(&keep), "--as", "text", "--drop", name(&drop)];
    assert_eq!(dedup_files(&texts, &[&input]).status, 0);
    assert_eq!(dedup_files(&["--drop", name(&other)], &[&input]).status, 0);
    assert_eq!(std::fs::read(&drop).expect("a file"), std::fs::read(&other).expect("a file"));
}

/// Documents that were written in part must not stay at the end of a file, nor Parquet files without their index. The
/// limit on the size of files stands for a disk that is full.
#[test]
fn a_full_disk_leaves_no_half_output() {
    let folder = tempfile::tempdir().expect("a folder");
    let pages: Vec<Value> =
        (0..300).map(|number| json!({ "id": number.to_string(), "text": article(number, 30) })).collect();
    let input = write(folder.path(), "in.jsonl", lines_of(&pages));
    for (keep, form) in [
        ("out.jsonl", "text"),
        ("out.jsonl.gz", "markdown"),
        ("out.parquet", "text"),
        ("copy.jsonl", "original"),
    ] {
        let keep = folder.path().join(keep);
        let shell = format!(
            "ulimit -f 20; exec {} dedup --keep {} --as {form} {}",
            env!("CARGO_BIN_EXE_leitong"),
            name(&keep),
            name(&input)
        );
        let run = std::process::Command::new("sh").args(["-c", &shell]).output().expect("a shell");
        let told = String::from_utf8_lossy(&run.stderr).into_owned();
        assert_eq!(run.status.code(), Some(1), "{told}");
        assert!(told.contains("File too large"), "{told}");
        let files = std::fs::read_dir(folder.path()).expect("the folder");
        let files: Vec<_> = files.map(|file| file.expect("a file").file_name()).collect();
        assert_eq!(files, [input.file_name().expect("a name")], "neither half an output nor its part");
    }
}

#[test]
fn extract_prints_markdown_of_one_page() {
    let folder = tempfile::tempdir().expect("a folder");
    let html =
        pages()[0]["html"].as_str().expect("HTML").replace("<head>", "<head><base href='https://b.test/'>");
    let page = write(folder.path(), "page.html", html);
    let run = run(["extract", "--format", "markdown", name(&page)]);
    assert_eq!(run.status, 0, "{}", run.stderr);
    assert!(run.stdout.starts_with("# 标题 0\n\n"), "{}", run.stdout);
    assert!(
        run.stdout.contains("[链接](https://b.test/a?b=1) **粗体**\n\n- one\n- two|three\n"),
        "{}",
        run.stdout
    );
    let both =
        leitong().args(["extract", "--format", "json", "--jsonl", name(&page)]).output().expect("runs");
    assert_eq!(both.status.code(), Some(2));
}
