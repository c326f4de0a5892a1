//! `dedup --keep`, `--drop`, `--clusters`: the documents themselves, compared with a naive reading of the
//! verdicts.

use std::collections::{HashMap, HashSet};
use std::io::Read as _;
use std::path::Path;

use serde_json::{Value, json};

use crate::common::{self, article, dedup_files, gzip, run, run_with_input, write};

/// Returns the bytes of a file, decompressed.
fn decompressed(path: &Path) -> Vec<u8> {
    let bytes = std::fs::read(path).expect("a file");
    let mut all = Vec::new();
    match path.extension().and_then(|extension| extension.to_str()) {
        Some("gz") => {
            flate2::read::MultiGzDecoder::new(&*bytes).read_to_end(&mut all).expect("gzip");
        }
        Some("zst") => all = zstd::decode_all(&*bytes).expect("zstd"),
        _ => all = bytes,
    }
    all
}

fn lines(path: &Path) -> Vec<String> {
    let text = String::from_utf8(decompressed(path)).expect("UTF-8");
    assert!(text.is_empty() || text.ends_with('\n'), "no half line");
    text.lines().map(str::to_owned).collect()
}

/// Returns articles, each with copies on several hosts that differ in length, date and score.
fn corpus() -> Vec<Value> {
    let mut pages = Vec::new();
    for copy in 0..4_usize {
        for topic in 0..9_usize {
            if topic % 4 < copy {
                continue;
            }
            let number = pages.len();
            let mut text = article(topic, 30);
            // The copy that is best by one preference is not best by the others.
            text.push_str(&"完".repeat((copy * 5 + topic) % 4));
            let mut page = json!({
                "score": (copy * 7 + topic * 3) % 5,
                "id": format!("p{number}"),
                "url": format!("https://host{}.test/{number}", (copy + topic) % 2),
                "text": text,
                "fetched_at": format!("2026-10-{:02}T00:00:00Z", 10 + (copy * 3 + topic) % 4),
            });
            if number % 7 == 3 {
                page["score"] = json!("2.5");
            }
            pages.push(page);
        }
    }
    pages.push(json!({ "id": "short", "url": "https://host0.test/short", "text": "短" }));
    pages
}

fn file_of(pages: &[Value]) -> String {
    pages.iter().map(|page| format!("{page}\n")).collect()
}

/// Returns the ids of documents that stay, by a naive reading of the verdicts.
fn naive(pages: &[Value], verdicts: &[Value], prefer: &str, one_per_host: bool) -> HashSet<String> {
    let text = |value: &Value| value.as_str().expect("a string").to_owned();
    let rank = |page: &Value, verdict: &Value| match prefer {
        "longest" => verdict["text_chars"].as_f64().expect("a number"),
        "newest" => text(&page["fetched_at"])[8..10].parse().expect("a day"),
        "highest:/score" | "lowest:/score" => {
            let score = page["score"].as_f64().or_else(|| page["score"].as_str()?.parse().ok());
            score.expect("a score") * if prefer.starts_with('l') { -1.0 } else { 1.0 }
        }
        _ => 0.0,
    };
    let mut best: HashMap<(String, String), (f64, String)> = HashMap::new();
    let mut stay = HashSet::new();
    for (page, verdict) in pages.iter().zip(verdicts) {
        let id = text(&page["id"]);
        if verdict["kind"] == "UNDECIDABLE" {
            stay.insert(id);
            continue;
        }
        let host = text(&page["url"]).split('/').nth(2).filter(|_| one_per_host).unwrap_or("").to_owned();
        let rank = rank(page, verdict);
        let best = best.entry((text(&verdict["cluster_id"]), host)).or_insert((f64::MIN, String::new()));
        if rank > best.0 {
            *best = (rank, id);
        }
    }
    stay.extend(best.into_values().map(|(_, id)| id));
    stay
}

#[test]
fn documents_are_kept_or_dropped_unchanged() {
    let folder = tempfile::tempdir().expect("a folder");
    let plain = std::fs::read("examples/pages.jsonl").expect("the samples");
    let verdicts = run(["dedup", "examples/pages.jsonl"]).verdicts();
    let members: Vec<u8> = plain.split_inclusive(|b| *b == b'\n').flat_map(gzip).collect();
    let inputs = [
        write(folder.path(), "pages.jsonl", &plain),
        write(folder.path(), "pages.jsonl.gz", members),
        write(folder.path(), "pages.jsonl.zst", zstd::encode_all(&*plain, 3).expect("memory")),
        write(folder.path(), "no-ending", [b"\xef\xbb\xbf", plain.trim_ascii_end()].concat()),
    ];
    let text = String::from_utf8(plain).expect("UTF-8");
    for input in &inputs {
        for (keep, drop) in [("keep.jsonl", "drop.jsonl.gz"), ("keep.jsonl.zst", "drop.jsonl")] {
            let (keep, drop) = (folder.path().join(keep), folder.path().join(drop));
            let [keep_name, drop_name] = [&keep, &drop].map(|path| path.to_str().expect("a name"));
            let options = ["--overwrite", "--keep", keep_name, "--drop", drop_name];
            let run = dedup_files(&options, &[input]);
            assert_eq!((run.status, run.stdout.as_str()), (0, ""), "{}: {}", input.display(), run.stderr);
            let (mut kept, mut dropped) = (lines(&keep).into_iter(), lines(&drop).into_iter());
            for (line, verdict) in text.lines().zip(&verdicts) {
                if verdict["kind"] == "UNIQUE" || verdict["kind"] == "UNDECIDABLE" {
                    assert_eq!(kept.next().as_deref(), Some(line), "byte by byte, in order");
                    continue;
                }
                let dropped = dropped.next().expect("a document that goes");
                assert!(dropped.starts_with(line.trim_end_matches('}')), "with all its fields");
                let dropped: Value = serde_json::from_str(&dropped).expect("JSON");
                assert_eq!(dropped["leitong_kind"], verdict["kind"]);
                assert_eq!(dropped["leitong_canonical"], verdict["canonical_page_id"]);
                assert_eq!(dropped["leitong_cluster"], verdict["cluster_id"]);
                assert_eq!(dropped["leitong_share"].as_f64(), verdict["share"].as_f64());
            }
            assert_eq!((kept.next(), dropped.next()), (None, None));
        }
    }
}

#[test]
fn every_preference_agrees_with_a_naive_reading() {
    let folder = tempfile::tempdir().expect("a folder");
    let pages = corpus();
    let (first, second) = pages.split_at(pages.len() / 2);
    let inputs = [
        write(folder.path(), "a.jsonl", file_of(first)),
        write(folder.path(), "b.jsonl.gz", gzip(file_of(second).as_bytes())),
    ];
    let inputs: Vec<&Path> = inputs.iter().map(|path| &**path).collect();
    let verdicts = dedup_files(&[], &inputs).verdicts();
    assert!(verdicts.iter().filter(|verdict| verdict["kind"] == "UNIQUE").count() == 9, "{verdicts:?}");
    let keep = folder.path().join("kept");
    std::fs::create_dir(&keep).expect("a folder");
    let clusters = folder.path().join("clusters.jsonl");
    for prefer in ["first", "longest", "newest", "highest:/score", "lowest:/score"] {
        for one_per_host in [false, true] {
            if one_per_host && prefer.starts_with("highest") {
                continue; // as lowest
            }
            let mut options = vec![
                "--prefer",
                prefer,
                "--keep",
                keep.to_str().expect("a name"),
                "--annotate",
                "--overwrite",
            ];
            options.extend(["--clusters", clusters.to_str().expect("a name")]);
            options.extend(one_per_host.then_some(["--one-per", "host"]).into_iter().flatten());
            let run = dedup_files(&options, &inputs);
            assert_eq!(run.status, 0, "{}", run.stderr);
            let kept = [lines(&keep.join("a.jsonl")), lines(&keep.join("b.jsonl.gz"))];
            let expected = naive(&pages, &verdicts, prefer, one_per_host);
            let in_order = |pages: &[Value]| -> Vec<Value> {
                pages
                    .iter()
                    .filter(|page| expected.contains(page["id"].as_str().expect("an id")))
                    .cloned()
                    .collect()
            };
            let bare = |lines: &[String]| -> Vec<Value> {
                lines
                    .iter()
                    .map(|line| {
                        let mut page: Value = serde_json::from_str(line).expect("JSON");
                        for field in ["leitong_cluster", "leitong_kind", "leitong_canonical"] {
                            page.as_object_mut().expect("an object").remove(field).expect("an annotation");
                        }
                        page.as_object_mut()
                            .expect("an object")
                            .retain(|name, _| !name.starts_with("leitong_"));
                        page
                    })
                    .collect()
            };
            assert_eq!(
                [bare(&kept[0]), bare(&kept[1])],
                [in_order(first), in_order(second)],
                "{prefer} {one_per_host}"
            );

            let clusters: Vec<Value> =
                lines(&clusters).iter().map(|line| serde_json::from_str(line).expect("JSON")).collect();
            assert_eq!(clusters.len(), 9);
            let members =
                || clusters.iter().flat_map(|cluster| cluster["members"].as_array().expect("members"));
            assert_eq!(members().count(), pages.len() - 1, "all but the undecidable one");
            for cluster in &clusters {
                let stand_for = members().filter(|member| member["page_id"] == cluster["canonical_page_id"]);
                assert!(stand_for.clone().all(|member| member["kept"] == true) && stand_for.count() == 1);
            }
            for member in members() {
                let id = member["page_id"].as_str().expect("an id");
                assert_eq!(member["kept"] == true, expected.contains(id), "{prefer} {one_per_host} {id}");
            }
        }
    }
}

#[test]
fn the_report_agrees_with_the_verdicts() {
    let folder = tempfile::tempdir().expect("a folder");
    let mut pages = corpus();
    let form = article(40, 60);
    for number in 0..12 {
        let text = format!("{form}{}", article(50 + number, 2));
        let url = format!("https://form.test/<script>{number}");
        pages.push(json!({ "id": format!("form{number}"), "url": url, "text": text }));
    }
    let input = write(folder.path(), "pages.jsonl", file_of(&pages));
    let file = |name: &str| folder.path().join(name).display().to_string();
    let (json, html, text) = (file("report.json"), file("report.html"), file("report.txt"));
    let keep = file("keep.jsonl");
    let verdicts = dedup_files(&["--report", &json], &[&input]).verdicts();
    let count = |kind: &str| verdicts.iter().filter(|verdict| verdict["kind"] == kind).count();
    let report: Value = serde_json::from_slice(&std::fs::read(&json).expect("a report")).expect("JSON");
    assert_eq!(report["documents"], pages.len());
    for kind in report["kinds"].as_array().expect("kinds") {
        assert_eq!(kind[1], count(kind[0].as_str().expect("a kind")), "{kind}");
    }
    assert_eq!(report["clusters"], count("UNIQUE"));
    let sizes = report["sizes"].as_array().expect("sizes");
    let sum = |field: &str| sizes.iter().map(|size| size[field].as_u64().expect("a number")).sum::<u64>();
    assert_eq!(sum("clusters"), count("UNIQUE") as u64);
    assert_eq!(sum("documents"), (pages.len() - count("UNDECIDABLE")) as u64);
    let largest = &report["largest"][0];
    assert_eq!((&largest["size"], &largest["one_host"]), (&json!(12), &json!(true)), "{largest}");
    assert_eq!(report["suspicious"], json!([largest]), "copies on two hosts are not a template");
    let hosts = report["hosts"].as_array().expect("hosts");
    let of_host =
        |verdict: &&Value| verdict["url"].as_str().expect("a url").starts_with("https://host0.test/");
    let host0 = hosts.iter().find(|host| host["host"] == "host0.test").expect("the host");
    assert_eq!(host0["documents"], verdicts.iter().filter(of_host).count());

    assert_eq!(dedup_files(&["--report", &html, "--keep", &keep], &[&input]).status, 0);
    assert_eq!(
        dedup_files(&["--report", &text, "--keep", &keep, "--overwrite", "--prefer", "longest"], &[&input])
            .status,
        0
    );
    let [html, text] = [html, text].map(|path| std::fs::read_to_string(path).expect("a report"));
    assert!(html.contains("https://form.test/&lt;script&gt;0") && !html.contains("<script"), "{html}");
    assert!(text.contains("https://form.test/<script>0") && text.contains("documents kept"), "{text}");
    assert!(text.contains("form0 https://form.test/"), "the user's id: {text}");
}

#[test]
fn clusters_name_titles_hosts_times_and_shares_and_dropped_documents_their_reason() {
    let folder = tempfile::tempdir().expect("a folder");
    let page = |id: &str, host: &str, text: &str| {
        json!({ "id": id, "url": format!("https://{host}/{id}"), "title": format!("Title of {id}"), "text": text,
                "fetched_at": "2026-10-10T00:00:00Z" })
    };
    let pages = [
        page("a", "a.test", &article(1, 30)),
        page("b", "b.test", &article(1, 30)),
        page("c", "c.test", "短"),
    ];
    let input = write(folder.path(), "pages.jsonl", file_of(&pages));
    let [clusters, drop] = ["clusters.jsonl", "drop.jsonl"].map(|file| folder.path().join(file));
    let options =
        ["--clusters", common::name(&clusters), "--drop", common::name(&drop), "--drop-undecidable"];
    let run = dedup_files(&options, &[&input]);
    assert_eq!(run.status, 0, "{}", run.stderr);
    let first: Value = serde_json::from_str(&lines(&clusters)[0]).expect("JSON");
    let copy = json!({
        "page_id": "b", "url": "https://b.test/b", "host": "b.test", "title": "Title of b",
        "fetched_at": "2026-10-10T00:00:00.000Z", "published_at": null, "kind": "EXACT_DUPLICATE", "share": 1.0,
        "kept": false,
    });
    assert_eq!(first["members"][1], copy, "{first}");
    assert_eq!(first["members"][0]["share"], Value::Null, "the first document repeats nothing");
    let dropped = lines(&drop).join("\n");
    assert!(
        dropped.contains(r#""leitong_kind":"EXACT_DUPLICATE""#) && dropped.contains(r#""leitong_share":1.0"#)
    );
    assert!(dropped.contains(r#""leitong_reason":"TOO_SHORT""#), "{dropped}");
}

fn warc_record(kind: &str, url: &str, content: &str) -> Vec<u8> {
    format!(
        "WARC/1.1\r\nWARC-Type: {kind}\r\nWARC-Target-URI: {url}\r\nWARC-Date: 2026-01-01T00:00:00Z\r\n\
         Content-Type: text/plain\r\nContent-Length: {}\r\n\r\n{content}\r\n\r\n",
        content.len()
    )
    .into_bytes()
}

#[test]
fn warc_records_stay_whole_with_one_per_member() {
    let folder = tempfile::tempdir().expect("a folder");
    let texts = [article(1, 30), article(2, 30), article(1, 30), article(3, 30)];
    let mut records = vec![warc_record("warcinfo", "", "software: x\r\n")];
    for (number, text) in texts.iter().enumerate() {
        let url = format!("https://host.test/{number}");
        records.push(warc_record("request", &url, "GET / HTTP/1.1\r\n\r\n"));
        records.push(warc_record("conversion", &url, text));
    }
    let inputs = [
        write(folder.path(), "plain.warc", [records.concat(), b"\r\n\r\n".to_vec()].concat()),
        write(
            folder.path(),
            "pages.warc.gz",
            records.iter().flat_map(|record| gzip(record)).collect::<Vec<_>>(),
        ),
    ];
    let (keep, drop) = (folder.path().join("keep.warc.gz"), folder.path().join("drop.warc"));
    for input in &inputs {
        let [keep_name, drop_name] = [&keep, &drop].map(|path| path.to_str().expect("a name"));
        let options = ["--overwrite", "--keep", keep_name, "--drop", drop_name];
        let run = dedup_files(&options, &[input]);
        assert_eq!(run.status, 0, "{}", run.stderr);
        let expected: Vec<&[u8]> = records
            .iter()
            .enumerate()
            .filter(|(number, _)| *number != 6)
            .map(|(_, record)| &**record)
            .collect();
        assert_eq!(decompressed(&keep), expected.concat());
        let compressed = std::fs::read(&keep).expect("a file");
        let mut rest = &*compressed;
        for record in expected {
            let mut member = flate2::bufread::GzDecoder::new(rest);
            let mut bytes = Vec::new();
            member.read_to_end(&mut bytes).expect("a member");
            assert_eq!(bytes, record, "a member holds one record");
            rest = member.into_inner();
        }
        assert!(rest.is_empty());
        let dropped = String::from_utf8(decompressed(&drop)).expect("UTF-8");
        assert!(dropped.contains("Leitong-Kind: EXACT_DUPLICATE\r\n"), "{dropped}");
        assert!(dropped.ends_with(&format!("\r\n\r\n{}\r\n\r\n", texts[2])), "{dropped}");
    }
}

#[test]
fn only_new_documents_of_a_new_day_are_kept() {
    let folder = tempfile::tempdir().expect("a folder");
    let pages = corpus();
    let (first, second) = pages.split_at(12);
    let days =
        [write(folder.path(), "1.jsonl", file_of(first)), write(folder.path(), "2.jsonl", file_of(second))];
    let both = dedup_files(&[], &[&days[0], &days[1]]).verdicts();
    let table = folder.path().join("table");
    let keep = folder.path().join("keep.jsonl");
    for prefer in ["first", "longest"] {
        let _ = std::fs::remove_dir_all(&table);
        for (day, verdicts) in days.iter().zip([&both[..12], &both[12..]]) {
            let options = [
                "--table",
                table.to_str().expect("a name"),
                "--keep",
                keep.to_str().expect("a name"),
                "--prefer",
                prefer,
            ];
            assert_eq!(dedup_files(&options, &[day]).status, 0);
            let news = verdicts.iter().filter(|verdict| {
                verdict["kind"] != "NEAR_DUPLICATE" && verdict["kind"] != "EXACT_DUPLICATE"
            });
            assert_eq!(lines(&keep).len(), news.count(), "{prefer}: what an earlier day has kept goes");
            std::fs::remove_file(&keep).expect("the documents of an earlier day are never overwritten");
        }
    }
}

/// `zcat` and `lz4cat` call a file without bytes damaged.
#[test]
fn a_compressed_output_without_documents_is_a_whole_file() {
    let folder = tempfile::tempdir().expect("a folder");
    let input = write(folder.path(), "one.jsonl", file_of(&corpus()[..1]));
    for (extension, magic) in
        [("gz", &[0x1f, 0x8b][..]), ("zst", &[0x28, 0xb5, 0x2f, 0xfd]), ("lz4", &[0x04, 0x22, 0x4d, 0x18])]
    {
        let drop = folder.path().join(format!("dropped.jsonl.{extension}"));
        let run = dedup_files(&["--drop", drop.to_str().expect("a name")], &[&input]);
        assert_eq!(run.status, 0, "{}", run.stderr);
        let bytes = std::fs::read(&drop).expect("a file");
        assert!(bytes.starts_with(magic), "{extension}: {bytes:?}");
        let again = dedup_files(&[], &[&drop]);
        assert_eq!((again.status, again.verdicts().len()), (0, 0), "{}", again.stderr);
    }
}

#[test]
fn impossible_options_are_refused_before_anything_is_written() {
    let folder = tempfile::tempdir().expect("a folder");
    let pages = write(folder.path(), "pages.jsonl", file_of(&corpus()));
    let pages_name = pages.to_str().expect("a name");
    let before = std::fs::read(&pages).expect("a file");
    let keep = folder.path().join("keep.jsonl");
    let keep = keep.to_str().expect("a name");
    for (arguments, told) in [
        (vec!["--keep", keep], "which standard input does not allow"),
        (vec!["--keep", keep, "-"], "can be read only once"),
        (vec!["--keep", pages_name, pages_name], "is already an input or output"),
        (
            vec!["--keep", folder.path().to_str().expect("a name"), pages_name],
            "is already an input or output",
        ),
        (vec!["--keep", keep, "--drop", keep, pages_name], "would be written twice"),
        (
            vec!["--keep", keep, "--prefer", "best", pages_name],
            "expected first, longest, newest, oldest, published",
        ),
        (vec!["--annotate", pages_name], "--keep"),
    ] {
        let run = run_with_input(["dedup"].iter().chain(&arguments), "");
        assert_ne!(run.status, 0, "{arguments:?}");
        assert!(run.stderr.contains(told), "{arguments:?}: {}", run.stderr);
        assert!(!Path::new(keep).exists(), "{arguments:?}");
    }
    assert_eq!(std::fs::read(&pages).expect("a file"), before);
}

/// With a misspelt pointer, the first document of each cluster must not simply stay, without a message.
#[test]
fn a_preference_for_a_field_without_values_is_refused_and_missing_values_are_counted() {
    let folder = tempfile::tempdir().expect("a folder");
    let mut pages = corpus();
    let count = pages.len();
    let input = write(folder.path(), "pages.jsonl", file_of(&pages));
    let keep = folder.path().join("keep.jsonl");
    let keep_name = keep.to_str().expect("a name");
    let table = folder.path().join("table");
    let options =
        ["--prefer", "highest:/scroe", "--keep", keep_name, "--table", table.to_str().expect("a name")];
    let run = dedup_files(&options, &[&input]);
    assert_eq!(run.status, 2, "{}", run.stderr);
    let told = format!("none of the {count} documents has a number or date at /scroe");
    assert!(run.stderr.contains(&told), "{}", run.stderr);
    assert!(!keep.exists(), "no document is written");
    // Nothing was decided permanently, so the command can be corrected and run again.
    for page in &mut pages[..4] {
        page["score"] = json!("high");
    }
    let input = write(folder.path(), "pages.jsonl", file_of(&pages));
    let options = [&options[..1], &["lowest:/score"], &options[2..]].concat();
    let run = dedup_files(&options, &[&input]);
    assert_eq!(run.status, 0, "{}", run.stderr);
    // The short page at the end has no score either.
    let told = format!("5 of {count} documents have no number or date at /score");
    assert!(run.stderr.contains(&told) && !lines(&keep).is_empty(), "{}", run.stderr);
}

/// `--prefer newest` without a time of fetch, and `--one-per` with a misspelt pointer, must not simply keep the first
/// document of each cluster, without a message.
#[test]
fn newest_and_one_per_are_refused_if_no_document_has_the_value() {
    let folder = tempfile::tempdir().expect("a folder");
    let mut pages = corpus();
    let count = pages.len();
    for page in &mut pages {
        page.as_object_mut().expect("an object").remove("fetched_at");
    }
    let input = write(folder.path(), "pages.jsonl", file_of(&pages));
    let keep = folder.path().join("keep.jsonl");
    let keep_name = keep.to_str().expect("a name");
    for (options, value) in
        [(["--prefer", "newest"], "time of fetch (fetched_at)"), (["--one-per", "/nope"], "value of /nope")]
    {
        let run = dedup_files(&[&options[..], &["--keep", keep_name]].concat(), &[&input]);
        let told = format!("none of the {count} documents has a {value}");
        assert!(run.status == 2 && run.stderr.contains(&told), "{}", run.stderr);
        assert!(!keep.exists(), "no document is written");
    }
    // A page without a date of its own is not a mistake of the option.
    let run = dedup_files(&["--prefer", "published", "--keep", keep_name], &[&input]);
    assert!(run.status == 0 && run.stderr.contains("have no date of publication"), "{}", run.stderr);
    pages[0]["fetched_at"] = json!("2026-11-21T08:00:00Z");
    pages[0]["source"] = json!("a");
    let input = write(folder.path(), "pages.jsonl", file_of(&pages));
    let options = ["--prefer", "newest", "--one-per", "/source", "--overwrite", "--keep", keep_name];
    let run = dedup_files(&options, &[&input]);
    let lacking = count - 1;
    assert!(run.status == 0, "{}", run.stderr);
    for value in ["time of fetch (fetched_at)", "value of /source"] {
        let told = format!("{lacking} of {count} documents have no {value}");
        assert!(run.stderr.contains(&told), "{}", run.stderr);
    }
}

/// JSON lines are not written into a file called `.parquet`.
#[test]
fn an_output_name_of_another_format_is_refused() {
    let folder = tempfile::tempdir().expect("a folder");
    let lines = write(folder.path(), "pages.jsonl", file_of(&corpus()));
    let table = write(folder.path(), "pages.csv", format!("url,text\nhttp://a/,{}\n", article(1, 20)));
    let record = "WARC/1.0\r\nWARC-Type: response\r\nWARC-Target-URI: http://a/\r\nContent-Length: 19\r\n\r\n\
                  HTTP/1.1 200 OK\r\n\r\n\r\n\r\n";
    let warc = write(folder.path(), "pages.warc", record);
    for (input, keep, told) in [
        (&lines, "keep.parquet", "is the name of a Parquet file"),
        (&lines, "keep.csv.gz", "is the name of a CSV file"),
        (&lines, "keep.warc.gz", "is the name of a WARC file"),
        (&table, "keep.jsonl", "is the name of JSON lines"),
        (&table, "keep.tsv", "is the name of a TSV file"),
        (&warc, "keep.jsonl.zst", "is the name of JSON lines"),
        (&warc, "keep.parquet", "is the name of a Parquet file"),
    ] {
        let keep = folder.path().join(keep);
        let run = dedup_files(&["--keep", keep.to_str().expect("a name")], &[input]);
        assert_eq!(run.status, 2, "{}: {}", keep.display(), run.stderr);
        assert!(run.stderr.contains(told), "{}: {}", keep.display(), run.stderr);
    }
    for (input, keep) in [(&lines, "keep.txt"), (&lines, "keep.json"), (&table, "kept"), (&warc, "keep.warc")]
    {
        let keep = folder.path().join(keep);
        let run = dedup_files(&["--keep", keep.to_str().expect("a name")], &[input]);
        assert_eq!(run.status, 0, "{}: {}", keep.display(), run.stderr);
    }
}

#[test]
fn broken_and_overlong_lines_are_reported() {
    let folder = tempfile::tempdir().expect("a folder");
    let config = write(folder.path(), "leitong.toml", "[page]\nline_bytes_max = 10000\n");
    let long = json!({ "id": "long", "url": "https://host.test/long", "text": article(1, 30), "x": "y".repeat(20_000_000) });
    let good = json!({ "id": "good", "url": "https://host.test/good", "text": article(2, 30) });
    let pages = write(folder.path(), "pages.jsonl", format!("{{\"broken\n{long}\n{good}\n"));
    let keep = folder.path().join("keep.jsonl");
    let options = ["--config", config.to_str().expect("a name"), "--keep", keep.to_str().expect("a name")];
    let run = dedup_files(&options, &[&pages]);
    assert_eq!(run.status, 3, "{}", run.stderr);
    assert_eq!(lines(&keep), [good.to_string()]);
    assert!(run.stderr.contains("1 documents are longer"), "{}", run.stderr);
}

/// Writes a mirror with a page in GBK, a copy of it elsewhere, a compressed one, and files that are not
/// pages.
fn mirror(folder: &Path) -> Vec<(&'static str, Vec<u8>)> {
    let html =
        |head: &str, text: &str| format!("<!doctype html>{head}<title>t</title><p>{text}</p>").into_bytes();
    let text = article(1, 30);
    let (gbk, ..) = encoding_rs::GBK.encode(&text);
    let mut declared = b"<html><head><meta charset=gbk><title>t</title></head><p>".to_vec();
    declared.extend_from_slice(&gbk);
    let pages = vec![
        ("a.example/index.html", declared),
        ("a.example/x/index.html", html("", &article(2, 30))),
        ("b.example/index.html", html("<meta charset=utf-8>", &article(1, 30))),
        ("b.example/view.php?id=3", html("", &article(3, 30))),
        ("b.example/\u{65b0} page.htm.gz", gzip(&html("", &article(4, 30)))),
        ("c.example/empty.html", Vec::new()),
    ];
    let others = [("a.example/x/data.json", b"{}".to_vec()), ("c.example/picture.png", b"\x89PNG".to_vec())];
    for (name, bytes) in pages.iter().chain(&others) {
        let path = folder.join(name);
        std::fs::create_dir_all(path.parent().expect("a folder")).expect("a folder");
        std::fs::write(path, bytes).expect("written");
    }
    pages
}

#[test]
fn kept_pages_of_a_mirror_keep_their_places() {
    let folder = tempfile::tempdir().expect("a folder");
    let at = |name: &str| folder.path().join(name);
    let pages = mirror(&at("mirror"));
    // Left by an earlier run, at the place of a page that is dropped now.
    std::fs::create_dir_all(at("kept/b.example")).expect("a folder");
    write(&at("kept/b.example"), "index.html", "of an earlier run");
    let name = |path: &str| at(path).to_str().expect("UTF-8").to_owned();
    let (kept, gone, verdicts) = (name("kept/"), name("gone/"), name("verdicts.jsonl"));
    let options = ["--url-base", "https://", "--keep", &kept, "--drop", &gone, "--output", &verdicts];
    let refused = dedup_files(&options, &[&at("mirror")]);
    assert!(refused.status == 2 && !at("verdicts.jsonl").exists(), "{}", refused.stderr);
    let run_it = dedup_files(&[&options[..], &["--overwrite"]].concat(), &[&at("mirror")]);
    assert_eq!(run_it.status, 0, "{}", run_it.stderr);
    assert!(run_it.stderr.contains("2 files in folders are skipped, since they are not HTML pages"));

    let verdicts: Vec<Value> =
        lines(&at("verdicts.jsonl")).iter().map(|line| serde_json::from_str(line).expect("JSON")).collect();
    let seen: Vec<_> =
        verdicts.iter().map(|v| (v["url"].as_str().expect("a url"), v["kind"].as_str())).collect();
    assert_eq!(
        seen,
        [
            ("https://a.example/index.html", Some("UNIQUE")),
            ("https://a.example/x/index.html", Some("UNIQUE")),
            ("https://b.example/index.html", Some("EXACT_DUPLICATE")),
            ("https://b.example/view.php?id=3", Some("UNIQUE")),
            ("https://b.example/%E6%96%B0%20page.htm.gz", Some("UNIQUE")),
            ("https://c.example/empty.html", Some("UNDECIDABLE")),
        ]
    );
    for ((name, bytes), verdict) in pages.iter().zip(&verdicts) {
        let stays = verdict["kind"] != "EXACT_DUPLICATE";
        let [stayed, went] = ["kept", "gone"].map(|output| at(output).join(name));
        assert_eq!((stayed.exists(), went.exists()), (stays, !stays), "{name}");
        let original = at("mirror").join(name);
        let written = decompressed(if stays { &stayed } else { &went });
        assert_eq!(written, decompressed(&original), "{name}");
        assert!(!bytes.is_empty() || written.is_empty());
    }
}

#[test]
fn a_single_html_page_can_be_an_input() {
    let folder = tempfile::tempdir().expect("a folder");
    let text = article(1, 30);
    let page = write(folder.path(), "page.html", format!("<p>{text}"));
    let line = write(folder.path(), "a.jsonl", format!("{}\n", json!({ "url": "http://a/", "text": text })));
    let verdicts = dedup_files(&[], &[&line, &page]).verdicts();
    assert_eq!(verdicts[1]["kind"], "EXACT_DUPLICATE");
    assert_eq!(verdicts[1]["url"], page.to_str().expect("UTF-8"), "its name, without --url-base");

    // A page above the limit is undecidable, and is not read into memory.
    let limits = write(folder.path(), "limits.toml", "[page]\nbytes_max = 2000\n");
    let large = write(folder.path(), "large.html", "<p>words".repeat(1_000));
    let limits = ["--config", limits.to_str().expect("UTF-8")];
    let verdicts = dedup_files(&limits, &[&large]).verdicts();
    assert_eq!((&verdicts[0]["kind"], &verdicts[0]["reason"]), (&json!("UNDECIDABLE"), &json!("TOO_LARGE")));

    // A file that cannot be decompressed is a dead letter, and the run continues.
    let cut = gzip(&[b"<html><p>", article(2, 200).as_bytes()].concat());
    std::fs::write(folder.path().join("cut.html.gz"), &cut[..cut.len() / 2]).expect("written");
    let run = dedup_files(&[], &[&folder.path().join("cut.html.gz"), &line]);
    assert_eq!((run.status, run.verdicts().len()), (3, 1), "{}", run.stderr);
    assert!(run.stderr.contains("TRUNCATED_INPUT"), "{}", run.stderr);

    // Pages do not fit into one file, and folders of other files need --url-base.
    let kept = folder.path().join("kept.jsonl");
    let run = dedup_files(&["--keep", kept.to_str().expect("UTF-8")], &[&page]);
    assert!(run.status == 2 && run.stderr.contains("HTML pages are written to a folder"), "{}", run.stderr);
    std::fs::create_dir(folder.path().join("site")).expect("a folder");
    std::fs::copy(&page, folder.path().join("site/a.html")).expect("copied");
    let run = dedup_files(&[], &[&folder.path().join("site")]);
    assert!(run.status == 1 && run.stderr.contains("--url-base"), "{}", run.stderr);
    let run = dedup_files(&["--url-base", "example.com"], &[&folder.path().join("site")]);
    assert!(run.status == 2 && run.stderr.contains("must be the start of a url"), "{}", run.stderr);
}

/// An output that is another name of an input, or inside the table's folder, would destroy the input or the table.
#[test]
fn outputs_that_would_overwrite_an_input_or_a_table_are_refused_under_any_name() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = |name: &str| folder.path().join(name).to_str().expect("a name").to_owned();
    let pages = write(folder.path(), "pages.jsonl", file_of(&corpus()));
    let table = path("table");
    assert_eq!(dedup_files(&["--table", &table, "--output", &path("first")], &[&pages]).status, 0);
    std::fs::hard_link(&pages, path("hard")).expect("a link");
    std::fs::create_dir(path("kept")).expect("a folder");
    std::fs::hard_link(&pages, path("kept/pages.jsonl")).expect("a link");
    std::os::unix::fs::symlink("table", path("link")).expect("a link");
    std::os::unix::fs::symlink("nowhere", path("dangling")).expect("a link");
    std::fs::write(path("old"), "old").expect("written");
    std::fs::hard_link(path("old"), path("same")).expect("a link");
    std::fs::hard_link(path("table/centroids.leitong"), path("centroids")).expect("a link");
    let state = || {
        ["pages.jsonl", "old", "table/centroids.leitong"]
            .map(|name| std::fs::read(path(name)).expect("a file"))
    };
    let before = state();
    let (taken, twice, of_table) =
        ("is already an input or output", "would be written twice", "belong to a table");
    let named = |word: &str| if word.starts_with("--") { word.to_owned() } else { path(word) };
    for (options, why) in [
        ("--output hard", taken),
        ("--dead-letters hard", taken),
        ("--clusters hard", taken),
        ("--report hard", taken),
        ("--keep kept", taken),
        ("--keep old --drop same", taken),
        ("--keep new --drop kept/../new", twice),
        ("--keep dangling --drop nowhere", twice),
        ("--output table/centroids.leitong --table table", of_table),
        ("--output link/verdicts --table table", of_table),
        ("--keep table/new --table link", of_table),
        ("--keep table/ --table table", of_table),
        ("--report unmade/report --table unmade", of_table),
        ("--drop centroids --table table", of_table),
        ("--dead-letters state/dead --checkpoint state --output new", of_table),
    ] {
        let arguments = ["dedup".to_owned(), path("pages.jsonl")];
        let run = run(arguments.into_iter().chain(options.split(' ').map(named)));
        assert_eq!(run.status, 2, "{options}: {}", run.stderr);
        assert!(run.stderr.contains(why), "{options}: {}", run.stderr);
        assert!(state() == before, "{options}");
        let made =
            ["new", "nowhere", "unmade", "state", "table/new"].map(|name| Path::new(&path(name)).exists());
        assert_eq!(made, [false; 5], "{options}");
    }
    for (command, arguments) in [
        (&["table", "export"][..], "--output table/centroids.leitong table"),
        (&["table", "merge"], "--output merged --clusters table/lines table kept"),
        (&["idf", "build"], "--output hard pages.jsonl"),
    ] {
        let command = command.iter().map(|&word| word.to_owned());
        let run = run(command.chain(arguments.split(' ').map(named)));
        assert_eq!(run.status, 2, "{arguments}: {}", run.stderr);
        assert!(!run.stderr.contains("Usage"), "{arguments}: {}", run.stderr);
        assert!(state() == before, "{arguments}");
    }
    // A path that is not a regular file may be given several times.
    assert_eq!(dedup_files(&["--output", "/dev/null", "--keep", "/dev/null"], &[&pages]).status, 0);
}

/// `leitong dedup pages.jsonl >> pages.jsonl` would append verdicts to its own input, `--keep -` would write over it,
/// and `leitong dedup - < pages.jsonl --output pages.jsonl` would empty it.
#[test]
fn streams_that_are_redirected_to_an_input_or_from_an_output_are_refused() {
    let folder = tempfile::tempdir().expect("a folder");
    let pages = write(folder.path(), "pages.jsonl", file_of(&corpus()));
    let before = std::fs::read(&pages).expect("a file");
    let open = || std::fs::File::options().read(true).write(true).open(&pages).expect("a file");
    let file = common::name(&pages);
    for (arguments, reads, why) in [
        (&["dedup", file][..], false, "standard output"),
        (&["dedup", "-"], true, "standard output"),
        (&["dedup", "--keep", "-", file], false, "standard output"),
        (&["extract", "--jsonl", file], false, "standard output"),
        (&["idf", "build", file], false, "standard output"),
        (&["dedup", "--output", file, "-"], true, "is already an input or output"),
    ] {
        let mut command = common::leitong();
        command.args(arguments).stdin(if reads { open().into() } else { std::process::Stdio::null() });
        if why == "standard output" {
            command.stdout(open());
        }
        let ended = command.output().expect("the program starts");
        let told = String::from_utf8_lossy(&ended.stderr);
        assert_eq!(ended.status.code(), Some(2), "{arguments:?}: {told}");
        assert!(told.contains(why), "{arguments:?}: {told}");
        assert!(std::fs::read(&pages).expect("a file") == before, "{arguments:?}");
    }
}

/// In a folder with other files, `--checkpoint` would delete those named `texts`, `decisions` and `table-1`, and
/// `--table` would empty a file named `lock`.
#[test]
fn folders_with_other_files_are_refused_for_tables_and_checkpoints() {
    let folder = tempfile::tempdir().expect("a folder");
    let pages = write(folder.path(), "pages.jsonl", file_of(&corpus()));
    let of_user = folder.path().join("of-user");
    std::fs::create_dir_all(of_user.join("table-1")).expect("a folder");
    let files = ["table-1/data", "texts", "decisions", "lock", "kept-0-0.part"];
    files.iter().for_each(|name| drop(write(&of_user, name, "precious")));
    std::os::unix::fs::symlink(&of_user, folder.path().join("link")).expect("a link");
    std::os::unix::fs::symlink("nowhere", folder.path().join("dangling")).expect("a link");
    let verdicts = folder.path().join("verdicts");
    for (option, lock) in
        [("--table", "precious"), ("--checkpoint", "precious"), ("--table", ""), ("--checkpoint", "")]
    {
        // Other programs lock with empty files, too.
        write(&of_user, "lock", lock);
        for (name, why) in [
            ("of-user", "contains"),
            ("link", "contains"),
            ("dangling", "not a folder"),
            ("pages.jsonl", "not a folder"),
            ("of-user/texts/table", "not a folder"),
        ] {
            let path = folder.path().join(name);
            let options = [option, common::name(&path), "--overwrite", "--output", common::name(&verdicts)];
            let run = dedup_files(&options, &[&pages]);
            assert_eq!(run.status, 2, "{option} {name}: {}", run.stderr);
            assert!(
                run.stderr.contains(why) && !run.stderr.contains("os error"),
                "{option} {name}: {}",
                run.stderr
            );
            for file in files {
                let expected = if file == "lock" { lock } else { "precious" };
                let found = std::fs::read_to_string(of_user.join(file)).expect("a file");
                assert_eq!(found, expected, "{file}");
            }
        }
        // A new file system, or a folder that Git keeps.
        let new = folder.path().join(option);
        std::fs::create_dir_all(new.join("lost+found")).expect("a folder");
        write(&new, ".gitkeep", "");
        let options = [option, common::name(&new), "--overwrite", "--output", common::name(&verdicts)];
        let run = dedup_files(&options, &[&pages]);
        assert_eq!(run.status, 0, "{}", run.stderr);
    }
    // After a run, its folder of checkpoints is as good as any other: files that a user puts there are not removed.
    let used = folder.path().join("--checkpoint");
    write(&used, "texts", "precious");
    let options = ["--checkpoint", common::name(&used), "--overwrite", "--output", common::name(&verdicts)];
    let run = dedup_files(&options, &[&pages]);
    assert!(run.status == 2 && run.stderr.contains("contains"), "{}", run.stderr);
    assert_eq!(std::fs::read_to_string(used.join("texts")).expect("a file"), "precious");
}
