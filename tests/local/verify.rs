//! `dedup --verify`: nothing is dropped that no kept document has; and what else depends on all documents of a
//! run: accounts by source, the guard for a source, sizes of clusters, one document per value of a field.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::path::Path;

use serde_json::{Value, json};

use crate::common::{self, Run, dedup_files, name, run, tables, write};

/// Returns sentences of words that no other numbers have.
fn sentences(numbers: std::ops::Range<u32>) -> String {
    let word = |number: u32| {
        let letter = |at: u32| char::from(b'a' + ((number.wrapping_mul(0x9e37_79b1) >> (at * 4)) % 26) as u8);
        (0..6).map(letter).collect::<String>()
    };
    numbers
        .map(|number| (0..9).map(|at| word(number * 9 + at)).collect::<Vec<_>>().join(" ") + ". ")
        .collect()
}

fn page(id: &str, site: &str, source: &str, text: &str) -> Value {
    json!({ "id": id, "url": format!("https://{site}/{id}"), "text": text, "meta": { "source": source } })
}

fn file(folder: &Path, file_name: &str, pages: &[Value]) -> std::path::PathBuf {
    write(folder, file_name, pages.iter().map(|page| format!("{page}\n")).collect::<String>())
}

fn lines(path: &Path) -> Vec<Value> {
    let text = std::fs::read_to_string(path).expect("a file");
    text.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect()
}

fn ids(path: &Path) -> Vec<String> {
    lines(path).iter().map(|page| page["id"].as_str().expect("an id").to_owned()).collect()
}

/// The outputs of a run.
struct Outputs {
    kept: Vec<String>,
    dropped: Vec<Value>,
    run: Run,
}

fn dedup(folder: &Path, options: &[&str], pages: &[Value]) -> Outputs {
    let input = file(folder, "pages.jsonl", pages);
    let [keep, drop] = ["kept.jsonl", "dropped.jsonl"].map(|name| folder.join(name));
    // Outputs of an earlier run are never overwritten, so they are removed here.
    for output in [&keep, &drop].into_iter().filter(|output| output.exists()) {
        std::fs::remove_file(output).expect("removed");
    }
    let all = [options, &["--keep", name(&keep), "--drop", name(&drop)]].concat();
    let run = dedup_files(&all, &[&input]);
    assert_eq!(run.status, 0, "{}", run.stderr);
    Outputs { kept: ids(&keep), dropped: lines(&drop), run }
}

/// Returns pairs of pages: the second page of a pair has the text of the first and another text.
fn merged(count: u32) -> Vec<Value> {
    let pages = (0..count).flat_map(|number| {
        let (first, other) =
            (sentences(number * 100..number * 100 + 40), sentences(number * 100 + 50..number * 100 + 80));
        let merged = if number % 2 == 0 { format!("{first}{other}") } else { format!("{other}{first}") };
        [
            page(&format!("first{number}"), "a.example", "a", &first),
            page(&format!("merged{number}"), "b.example", "b", &merged),
        ]
    });
    pages.collect()
}

/// A page with all of another page's text and as much text of its own counts as a duplicate. Its own text must not be
/// lost with it.
#[test]
fn a_page_with_another_text_added_is_kept() {
    let folder = tempfile::tempdir().expect("a folder");
    let pages = merged(60);
    let plain = dedup(folder.path(), &[], &pages);
    assert!(plain.dropped.len() > 50, "{} are duplicates by their verdict", plain.dropped.len());
    let verified = dedup(folder.path(), &["--verify"], &pages);
    assert_eq!((verified.kept.len(), verified.dropped.len()), (120, 0), "{}", verified.run.stderr);
    // The other way round, the larger page comes first and has everything.
    let reversed: Vec<Value> = pages.into_iter().rev().collect();
    let verified = dedup(folder.path(), &["--verify"], &reversed);
    assert!(verified.dropped.len() > 50, "{}", verified.run.stderr);
    assert!(verified.dropped.iter().all(|page| page["leitong_lost_share"] == 0.0));
}

#[test]
fn pages_of_a_template_with_other_facts_are_kept_and_their_copies_are_not() {
    let folder = tempfile::tempdir().expect("a folder");
    // Many equal numbers make the detector tolerate one that differs.
    let sentence = |at: u32| match at {
        0..12 => sentences(at..at + 1).replace(". ", &format!(" {}. ", 1_000 + at * 37)),
        _ => sentences(at..at + 1),
    };
    let text = |version: u32| {
        let [before, after] = [0..14, 14..27].map(|numbers| numbers.map(sentence).collect::<String>());
        format!("{before}The library holds {} volumes in the old building. {after}", 1_200 + version * 7)
    };
    let notes = |site: &str, version: u32| page(&format!("notes-{version}"), site, "s", &text(version));
    // Sites differ, so the detector compares less strictly than within one site.
    let pages: Vec<Value> =
        (0..12).map(|number| notes(&format!("site{number}.example"), number % 6)).collect();
    let plain = dedup(folder.path(), &[], &pages);
    let verified = dedup(folder.path(), &["--verify"], &pages);
    assert!(plain.dropped.len() > verified.dropped.len(), "{}", verified.run.stderr);
    assert_eq!(verified.kept.iter().collect::<BTreeSet<_>>().len(), 6, "one of each version");
    assert_eq!(
        (verified.kept.len(), verified.dropped.len()),
        (6, 6),
        "no copy of one that was kept by verification"
    );
}

/// A document is compared with few of the many pages of a template that are kept, so it must be compared with those
/// most like it.
#[test]
fn an_edited_copy_of_any_page_of_a_template_is_dropped() {
    let folder = tempfile::tempdir().expect("a folder");
    let towns: Vec<String> =
        (0..40).map(|number| sentences(500 + number..501 + number)[..20].to_owned()).collect();
    let text = |town: &str| {
        format!("{}Our shop in {town} is open each day of the week. {}", sentences(0..12), sentences(12..40))
    };
    let pages = towns
        .iter()
        .enumerate()
        .map(|(number, town)| page(&format!("shop-{number}"), "shops.example", "s", &text(town)));
    let copies = towns.iter().enumerate().map(|(number, town)| {
        let site = format!("site{number}.example");
        page(&format!("copy-{number}"), &site, "c", &format!("By a writer. {}", text(town)))
    });
    let pages: Vec<Value> = pages.chain(copies).collect();
    let verified = dedup(folder.path(), &["--verify"], &pages);
    assert!(verified.kept.iter().all(|id| id.starts_with("shop")), "{:?}", verified.kept);
    assert_eq!((verified.kept.len(), verified.dropped.len()), (40, 40), "{}", verified.run.stderr);
}

/// A reprint that only says the same in another way is dropped; a report with another figure is kept, and says which.
#[test]
fn wording_is_no_fact_and_a_figure_is() {
    let folder = tempfile::tempdir().expect("a folder");
    // Many equal numbers make the detector tolerate one that differs.
    let sentence = |at: u32| sentences(at..at + 1).replace(". ", &format!(" {}. ", 1_000 + at * 37));
    let [before, after] = [0..12, 12..14].map(|numbers| numbers.map(sentence).collect::<String>());
    let report = |id: &str, wording: &str, closed: &str| {
        let text = format!(
            "{before}A quake {wording} struck the coast closed {closed} of the harbours. {after}{}",
            sentences(14..27)
        );
        page(id, &format!("{id}.example"), "s", &text)
    };
    let pages = [
        report("first", "which", "9"),
        report("reworded", "that", "9"),
        report("spelled", "which", "nine"),
        report("figure", "which", "8"),
    ];
    let plain = dedup(folder.path(), &[], &pages);
    assert_eq!(plain.kept, ["first"], "all are duplicates by their verdicts");
    let verified = dedup(folder.path(), &["--verify", "--annotate"], &pages);
    assert_eq!(verified.kept, ["first", "figure"], "{}", verified.run.stderr);
    let kept = &lines(&folder.path().join("kept.jsonl"))[1];
    assert_eq!(kept["leitong_verify_reason"], "facts_differ");
    assert!(kept["leitong_verify_url"].as_str().is_some_and(|url| url.starts_with("https://")), "{kept}");
    assert_eq!(kept["leitong_verify_differs"], "closed 8 of | closed 9 of");
}

/// A page with a paragraph that no kept page has is kept, even if it has less than 500 letters, or if the page was edited
/// in other places as well. A sentence is no paragraph.
#[test]
fn a_paragraph_of_its_own_keeps_a_page_and_an_edited_one_does_not() {
    let folder = tempfile::tempdir().expect("a folder");
    let text = sentences(0..30);
    let sentence =
        "Nobody else tells that a heron stood in the reeds and waited for boats from the open sea.";
    let own = format!(
        "{sentence} Its left wing was hurt by fishing tackle, yet children brought herrings each morning before school, \
         until one day in autumn, when strong winds had blown all leaves off, it rose above rooftops, turned twice and \
         vanished towards warmer shores with many younger birds close behind."
    );
    let at = text.find(&sentences(12..13)).expect("a sentence of the text");
    let edited =
        text.replacen(&sentences(3..4), &sentences(3..4).to_uppercase(), 1).replacen(' ', " also ", 1);
    let pages = [
        page("first", "a.example", "a", &text),
        page("own", "b.example", "b", &format!("{}{own} {}", &text[..at], &text[at..])),
        page("tail", "c.example", "c", &format!("{edited} {}", own.replace("heron", "crane"))),
        page("edited", "d.example", "d", &edited),
        page("sentence", "f.example", "f", &format!("{}{sentence} {}", &text[..at], &text[at..])),
        page("copy", "e.example", "e", &format!("By a writer. {}{own} {}", &text[..at], &text[at..])),
    ];
    let verified = dedup(folder.path(), &["--verify"], &pages);
    assert_eq!(verified.kept, ["first", "own"], "{}", verified.run.stderr);
    let apart = [pages[0].clone(), pages[2].clone()];
    assert_eq!(dedup(folder.path(), &["--verify"], &apart).kept, ["first", "tail"]);
}

/// Two copies on different sites that differ in a word are usually an original and an edited copy. Pages of a template
/// with one page on each site are kept nevertheless, even if they differ in everyday words only.
#[test]
fn pages_of_a_template_on_many_sites_are_kept() {
    let folder = tempfile::tempdir().expect("a folder");
    let days = ["monday", "tuesday", "wednesday", "thursday", "friday", "saturday"];
    let text = |day: &str| {
        format!(
            "{}The shop in the old town is closed every {day} after the market. {}",
            sentences(0..14),
            sentences(14..40)
        )
    };
    let shop = |number: usize, day: &str| {
        page(&format!("shop-{number}"), &format!("site{number}.example"), "s", &text(day))
    };
    let pages: Vec<Value> = (0..12).map(|number| shop(number, days[number % 6])).collect();
    let plain = dedup(folder.path(), &[], &pages);
    assert_eq!(plain.kept.len(), 1, "{}", plain.run.stderr);
    let verified = dedup(folder.path(), &["--verify"], &pages);
    assert_eq!(verified.kept, (0..6).map(|number| format!("shop-{number}")).collect::<Vec<_>>());
    assert!(verified.run.stderr.contains("6 documents are dropped and 5 kept"), "{}", verified.run.stderr);
    // If there are only two versions, on many sites, one is an edited copy.
    let editions: Vec<Value> = (0..12).map(|number| shop(number, days[number % 2])).collect();
    assert_eq!(dedup(folder.path(), &["--verify"], &editions).kept.len(), 1);
    let table = folder.path().join("table");
    let with_table =
        |pages: &[Value]| dedup(folder.path(), &["--verify", "--table", name(&table)], pages).kept.len();
    assert_eq!((with_table(&pages), with_table(&pages[3..5])), (6, 0));
}

#[test]
fn verdicts_are_the_same_and_clusters_and_reports_say_what_was_kept() {
    let folder = tempfile::tempdir().expect("a folder");
    let mut pages = merged(3);
    let edited = sentences(0..40).replacen("a", "e", 3).replacen(". ", ". Also ", 2);
    pages.push(page("edited", "c.example", "c", &edited));
    let path = |name: &str| folder.path().join(name);
    let [verdicts, others, clusters, report] = ["v.jsonl", "w.jsonl", "c.jsonl", "r.json"].map(path);
    dedup(folder.path(), &["--output", name(&verdicts)], &pages);
    let options =
        ["--verify", "--annotate", "--output", name(&others), "--clusters", name(&clusters), "--report"];
    let outputs = dedup(folder.path(), &[&options[..], &[name(&report)]].concat(), &pages);
    let decided = |path: &Path| -> Vec<Value> {
        let fields = ["page_id", "kind", "canonical_page_id", "distance"];
        lines(path).iter().map(|verdict| fields.map(|field| verdict[field].clone()).into()).collect()
    };
    assert_eq!(decided(&verdicts), decided(&others));
    let [dropped] = &outputs.dropped[..] else { panic!("{:?}", outputs.dropped) };
    assert_eq!(
        (&dropped["leitong_kept_by_verify"], &dropped["leitong_lost_share"]),
        (&json!(false), &json!(0.0))
    );
    let passage = dropped["leitong_lost_passage"].as_str().expect("the longest one");
    assert!(!passage.is_empty() && edited.contains(passage), "{passage}");
    let marked: Vec<Value> = lines(&path("kept.jsonl"))
        .into_iter()
        .filter(|page| page["leitong_kept_by_verify"] == true)
        .collect();
    assert_eq!(marked.len(), 3);
    assert!(marked.iter().all(|page| page["leitong_lost_share"].as_f64().expect("a share") > 0.4));
    assert!(marked.iter().all(|page| page["leitong_verify_reason"] == "text_lost"));
    assert_eq!(dropped["leitong_verify_reason"], "contained");
    let members = lines(&clusters).into_iter().flat_map(|cluster| cluster["members"].as_array().cloned());
    let members: Vec<Value> = members.flatten().collect();
    let kept_by_verify = members.iter().filter(|member| member["kept_by_verify"] == true);
    assert!(kept_by_verify.clone().all(|member| member["kept"] == true) && kept_by_verify.count() == 3);
    let report = &lines(&report)[0];
    let expected = json!({ "dropped": 1, "text_lost": 3, "facts_differ": 0, "not_verified": 0 });
    assert_eq!((&report["verified"]["counts"], &report["copied"]["kept_by_verify"]), (&expected, &json!(3)));
    assert_eq!(report["verified"]["losses"][0]["lost_passage"], *passage);
    assert_eq!(report["verified"]["kept"].as_array().map(Vec::len), Some(3));
}

/// With a preference the kept document may come after those that are compared with it.
#[test]
fn documents_are_compared_with_the_preferred_one() {
    let folder = tempfile::tempdir().expect("a folder");
    let pages = merged(30);
    let verified = dedup(folder.path(), &["--verify", "--prefer", "longest"], &pages);
    assert!(verified.kept.iter().all(|id| id.starts_with("merged")) || verified.kept.len() < 35);
    assert!(verified.dropped.iter().all(|page| page["leitong_lost_share"] == 0.0));
    assert!(verified.dropped.len() > 25, "{}", verified.run.stderr);
}

#[test]
fn documents_are_compared_with_those_of_earlier_runs() {
    let folder = tempfile::tempdir().expect("a folder");
    let table = folder.path().join("table");
    let [first, second]: [Vec<Value>; 2] = [0, 1].map(|rest| {
        merged(20).into_iter().enumerate().filter(|(at, _)| at % 2 == rest).map(|(_, p)| p).collect()
    });
    let with_table = |options: &[&str], pages: &[Value]| {
        dedup(folder.path(), &[options, &["--table", name(&table)]].concat(), pages)
    };
    with_table(&["--verify"], &first);
    assert!(table.join("texts.leitong").is_file());
    let merged = with_table(&["--verify"], &second);
    assert_eq!(merged.dropped.len(), 0, "{}", merged.run.stderr);
    let moved: Vec<Value> = second
        .iter()
        .map(|page| json!({ "id": format!("again-{}", page["id"]), "url": "https://c.example/", "text": page["text"] }))
        .collect();
    let again = with_table(&["--verify"], &moved);
    assert_eq!(again.kept.len(), 0, "they were kept by verification in the second run: {}", again.run.stderr);
    // A table of a run without texts, or one whose texts are gone.
    std::fs::remove_file(table.join("texts.leitong")).expect("removed");
    let copies: Vec<Value> = first
        .iter()
        .map(|page| json!({ "id": page["id"], "url": "https://d.example/", "text": page["text"] }))
        .collect();
    let unverified = with_table(&["--verify"], &copies);
    assert_eq!((unverified.dropped.len(), unverified.kept.len()), (0, 20));
    assert!(
        unverified.run.stderr.contains("20 because they could not be compared"),
        "{}",
        unverified.run.stderr
    );
}

/// A head from a backup next to newer files of another table: its texts would prove that documents can go, and its
/// sizes would count what the table never saw.
#[test]
fn texts_and_sizes_of_another_table_are_refused() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = |name: &str| folder.path().join(name);
    let [table, other, keep] = ["table", "other", "kept.jsonl"].map(path);
    let input = file(folder.path(), "pages.jsonl", &merged(4));
    for table in [&table, &other] {
        let options =
            ["--table", name(table), "--verify", "--cluster-sizes", "--annotate", "--keep", name(&keep)];
        let run = dedup_files(&options, &[&input]);
        assert_eq!(run.status, 0, "{}", run.stderr);
        std::fs::remove_file(&keep).expect("removed");
    }
    let next = file(folder.path(), "next.jsonl", &merged(6));
    for (stranger, option) in [("texts.leitong", "--verify"), ("sizes.leitong", "--cluster-sizes")] {
        let own = std::fs::read(table.join(stranger)).expect("a file");
        std::fs::copy(other.join(stranger), table.join(stranger)).expect("copied");
        let head = std::fs::read(table.join("centroids.leitong")).expect("a head");
        let options = ["--table", name(&table), option, "--annotate", "--keep", name(&keep)];
        let run = dedup_files(&options, &[&next]);
        assert_eq!(run.status, 1, "{}", run.stderr);
        assert!(
            run.stderr.contains("another table") && run.stderr.contains("restore the whole folder"),
            "{}",
            run.stderr
        );
        let same = |file: &str, bytes: &[u8]| std::fs::read(table.join(file)).expect("a file") == bytes;
        assert!(same("centroids.leitong", &head), "the table is not saved");
        assert!(same(stranger, &std::fs::read(other.join(stranger)).expect("a file")), "left as it is");
        std::fs::write(table.join(stranger), own).expect("written");
        let _ = std::fs::remove_file(&keep);
    }
    std::fs::copy(other.join("sizes.leitong"), table.join("sizes.leitong")).expect("copied");
    let sizes = run(["table", "export", "--sizes", name(&table)]);
    assert!(sizes.status == 1 && sizes.stderr.contains("of another table"), "{}", sizes.stderr);
}

/// Returns a corpus of three sources with known copies.
fn sources() -> Vec<Value> {
    let mut pages = Vec::new();
    for number in 0..30_u32 {
        let text = sentences(number * 100..number * 100 + 30);
        let mut add = |source: &str| {
            let site = format!("{source}{}.example", number % 2);
            pages.push(page(&format!("{source}{number}"), &site, source, &text));
        };
        add("first");
        if number % 3 == 0 {
            add("copy");
        }
        if number % 5 == 0 {
            add("mix, of two");
        }
    }
    pages.extend((0..4).map(|number| {
        page(
            &format!("own{number}"),
            "m.example",
            "mix, of two",
            &sentences(9_000 + number * 50..9_030 + number * 50),
        )
    }));
    pages.push(json!({ "id": "none", "url": "https://n.example/", "text": sentences(8_000..8_030) }));
    pages
}

#[test]
fn accounts_add_up_and_say_which_sources_overlap() {
    let folder = tempfile::tempdir().expect("a folder");
    let pages = sources();
    let [by_json, by_csv, report] = ["a.json", "a.csv", "r.json"].map(|name| folder.path().join(name));
    let options = ["--by", "/meta/source", "--accounts", name(&by_json), "--report", name(&report)];
    let outputs = dedup(folder.path(), &options, &pages);
    let accounts = &lines(&by_json)[0];
    let dropped: BTreeSet<&str> = outputs.dropped.iter().filter_map(|page| page["id"].as_str()).collect();
    let mut expected: BTreeMap<Option<&str>, [u64; 6]> = BTreeMap::new();
    for page in &pages {
        let counts = expected.entry(page["meta"]["source"].as_str()).or_default();
        let bytes = page.to_string().len() as u64;
        let at = if dropped.contains(page["id"].as_str().expect("an id")) { 4 } else { 2 };
        for (at, more) in [(0, 1), (1, bytes), (at, 1), (at + 1, bytes)] {
            counts[at] += more;
        }
    }
    let fields = ["documents", "bytes", "kept", "kept_bytes", "dropped", "dropped_bytes"];
    let found: BTreeMap<Option<&str>, [u64; 6]> = accounts["sources"]
        .as_array()
        .expect("sources")
        .iter()
        .map(|line| (line["source"].as_str(), fields.map(|field| line[field].as_u64().expect("a number"))))
        .collect();
    assert_eq!(found, expected);
    let overlap = |source: &str, with: &str| {
        let pairs = accounts["overlaps"].as_array().expect("pairs").iter();
        let mut pairs = pairs.filter(|pair| pair["source"] == source && pair["with"] == with);
        pairs.next().map_or(0, |pair| pair["documents"].as_u64().expect("a number"))
    };
    assert_eq!(accounts["overlaps_left_out"], 0);
    let pairs = [("first", "copy"), ("copy", "first"), ("mix, of two", "first"), ("mix, of two", "copy")];
    assert_eq!(pairs.map(|(source, with)| overlap(source, with)), [10, 10, 6, 2]);
    assert_eq!(lines(&report)[0]["accounts"], *accounts, "few sources are all listed");

    dedup(folder.path(), &["--by", "/meta/source", "--accounts", name(&by_csv)], &pages);
    let csv = std::fs::read_to_string(&by_csv).expect("a file");
    let [documents, bytes, kept, kept_bytes, dropped, dropped_bytes] = expected[&Some("mix, of two")];
    let row = format!("\"mix, of two\",,{documents},{bytes},{kept},{kept_bytes},{dropped},{dropped_bytes},0");
    assert!(csv.lines().any(|line| line == row), "{csv}");
    assert!(
        csv.lines().any(|line| line == "first,copy,10,,,,,,")
            && csv.lines().any(|line| line.starts_with(",,1,"))
    );
}

#[test]
fn a_run_stops_before_it_drops_too_much_of_a_source() {
    let folder = tempfile::tempdir().expect("a folder");
    let input = file(folder.path(), "pages.jsonl", &sources());
    let [keep, table, verdicts] = ["kept.jsonl", "table", "v.jsonl"].map(|name| folder.path().join(name));
    let options =
        ["--keep", name(&keep), "--table", name(&table), "--output", name(&verdicts), "--by", "/meta/source"];
    let run = |max: &str| dedup_files(&[&options[..], &["--source-removed-max", max]].concat(), &[&input]);
    let stopped = run("0.7");
    assert_eq!(stopped.status, 1, "{}", stopped.stderr);
    assert!(stopped.stderr.contains("\"copy\": 10 of 10 documents (100.0 %)"), "{}", stopped.stderr);
    assert!(!stopped.stderr.contains("mix, of two"), "{}", stopped.stderr);
    assert!(!keep.exists(), "nothing is written");
    assert_eq!(common::centroids(&table), 0, "the table is not saved");
    let passed = run("1");
    assert_eq!((passed.status, ids(&keep).len()), (0, 35), "{}", passed.stderr);
}

#[test]
fn one_document_of_each_value_of_a_field_is_kept() {
    let folder = tempfile::tempdir().expect("a folder");
    let pages = sources();
    let verdicts: HashMap<String, String> = run(["dedup", name(&file(folder.path(), "pages.jsonl", &pages))])
        .verdicts()
        .iter()
        .map(|verdict| (verdict["page_id"].to_string(), verdict["canonical_page_id"].to_string()))
        .collect();
    let mut seen = BTreeSet::new();
    let naive: Vec<&str> = pages
        .iter()
        .filter(|page| seen.insert((&verdicts[&page["id"].to_string()], page["meta"]["source"].to_string())))
        .filter_map(|page| page["id"].as_str())
        .collect();
    assert_eq!(dedup(folder.path(), &["--one-per", "/meta/source"], &pages).kept, naive);
    assert_eq!(naive.len(), pages.len(), "no source has two copies of a text");
}

#[test]
fn tables_and_csv_files_get_columns_of_their_types() {
    let folder = tempfile::tempdir().expect("a folder");
    let pages = merged(3);
    let rows: Vec<Value> = pages
        .iter()
        .map(|page| json!({ "id": page["id"], "url": page["url"], "text": page["text"] }))
        .collect();
    let parquet = folder.path().join("pages.parquet");
    tables::write_table(&parquet, &tables::table(&rows), &tables::Layout::default());
    let csv = rows
        .iter()
        .map(|row| ["id", "url", "text"].map(|field| row[field].as_str().expect("text")).join(","));
    let csv = write(
        folder.path(),
        "pages.csv",
        ["id,url,text".to_owned()].into_iter().chain(csv).collect::<Vec<_>>().join("\n"),
    );
    for (input, ending) in [(&parquet, "parquet"), (&csv, "csv")] {
        let keep = folder.path().join(format!("kept.{ending}"));
        let options = ["--verify", "--cluster-sizes", "--annotate", "--keep", name(&keep)];
        let run = dedup_files(&options, &[input]);
        assert_eq!(run.status, 0, "{}", run.stderr);
        if ending == "csv" {
            let text = std::fs::read_to_string(&keep).expect("a file");
            let header = text.lines().next().expect("a header");
            assert!(header.ends_with(
                ",leitong_canonical,leitong_reason,leitong_share,leitong_cluster_size,leitong_kept_by_verify,\
                 leitong_lost_share,leitong_lost_passage,leitong_verify_reason,leitong_verify_differs,\
                 leitong_verify_url"
            ));
            assert_eq!(text.lines().filter(|line| line.contains(",2,true,0.4")).count(), 3, "{text}");
        } else {
            let schema = tables::schema(&keep);
            let types = ["leitong_cluster_size", "leitong_kept_by_verify", "leitong_lost_share"];
            let types =
                types.map(|name| schema.field_with_name(name).expect("a column").data_type().to_string());
            assert_eq!(types, ["Int64", "Boolean", "Float64"]);
            assert_eq!(
                tables::read_table(&keep).iter().map(arrow_array::RecordBatch::num_rows).sum::<usize>(),
                6
            );
        }
    }
}

/// Outputs of an earlier run cannot say how large a cluster has become since.
#[test]
fn sizes_of_clusters_grow_with_a_table_and_can_be_joined_to_older_outputs() {
    let folder = tempfile::tempdir().expect("a folder");
    let [table, sizes] = ["table", "sizes.jsonl"].map(|name| folder.path().join(name));
    let options = ["--cluster-sizes", "--annotate", "--table", name(&table)];
    let pages = sources();
    let (first, second) = pages.split_at(20);
    dedup(folder.path(), &options, first);
    let kept: HashMap<String, Value> = lines(&folder.path().join("kept.jsonl"))
        .into_iter()
        .map(|page| (page["leitong_cluster"].to_string(), page))
        .collect();
    let later = dedup(folder.path(), &options, second);
    let run = run(["table", "export", "--sizes", "--output", name(&sizes), name(&table)]);
    assert_eq!(run.status, 0, "{}", run.stderr);
    let sizes: HashMap<String, Value> =
        lines(&sizes).into_iter().map(|line| (line["cluster_id"].to_string(), line)).collect();
    assert_eq!(sizes.len(), 35);
    let total: u64 = sizes.values().filter_map(|line| line["leitong_cluster_size"].as_u64()).sum();
    assert_eq!(total as usize, pages.len());
    for (cluster, page) in &kept {
        assert_eq!(sizes[cluster]["canonical_page_id"], page["id"]);
        assert!(sizes[cluster]["leitong_cluster_size"].as_u64() >= page["leitong_cluster_size"].as_u64());
    }
    for page in &later.dropped {
        let size = &sizes[&page["leitong_cluster"].to_string()]["leitong_cluster_size"];
        assert_eq!(*size, page["leitong_cluster_size"], "the last run counts all");
    }
}

#[test]
fn options_that_change_nothing_are_refused() {
    for (options, problem) in [
        (&["--verify"][..], "add --keep, --drop, --clusters or --report"),
        (&["--verify-lost-max", "0.1", "--keep", "k.jsonl"], "--verify"),
        (&["--verify", "--verify-lost-max", "2.5", "--keep", "k.jsonl"], "a share of the text from 0 to 1"),
        (&["--by", "/meta/source"], "add --keep or --drop"),
        (&["--by", "source", "--keep", "k.jsonl"], "a JSON pointer such as /meta/source"),
        (&["--accounts", "a.csv", "--keep", "k.jsonl"], "--by"),
        (&["--source-removed-max", "0.5", "--keep", "k.jsonl"], "--by"),
        (&["--by", "host", "--source-removed-max", "7", "--keep", "k.jsonl"], "must be a number from 0 to 1"),
        (&["--cluster-sizes", "--keep", "k.jsonl"], "--annotate"),
    ] {
        let run = run([&["dedup"], options, &["examples/pages.jsonl"]].concat());
        assert_eq!(run.status, 2, "{options:?}: {}", run.stderr);
        assert!(run.stderr.contains(problem), "{options:?}: {}", run.stderr);
    }
    assert!(!Path::new("k.jsonl").exists());
}
