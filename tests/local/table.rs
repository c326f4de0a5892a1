//! `--table DIR` turns several runs into one stream.

use std::path::Path;

use leitong_store::snapshot::TableDir;
use serde_json::Value;

use crate::common::{self, Run, article, page, placeless, run, run_with_input};

fn with_table(folder: &Path, input: &str, more: &[&str]) -> Run {
    let table = folder.join("table");
    let arguments = [&["dedup", "-", "--table", table.to_str().expect("UTF-8")], more].concat();
    run_with_input(arguments, input)
}

#[test]
fn a_split_run_gives_the_verdicts_of_a_whole_one() {
    let lines: Vec<String> = (0..60).map(|i| page(&format!("p{i}"), &article(i % 23, 25))).collect();
    let whole = run_with_input(["dedup", "-"], lines.concat()).verdicts();
    let folder = tempfile::tempdir().expect("a folder");
    let mut split = Vec::new();
    for part in lines.chunks(17) {
        let run = with_table(folder.path(), &part.concat(), &[]);
        assert_eq!(run.status, 0, "{}", run.stderr);
        split.extend(run.verdicts());
    }
    assert_eq!(placeless(&split), placeless(&whole));
    assert_eq!(whole.iter().filter(|v| v["kind"] == "UNIQUE").count(), 23);
}

#[test]
fn other_settings_are_refused() {
    let folder = tempfile::tempdir().expect("a folder");
    let config = common::write(folder.path(), "other.toml", "[simhash.near]\nmax_distance = 3\n");
    let left = common::write(folder.path(), "left.toml", "[segment]\nhmm = false\n");
    let input = page("a", &article(1, 20));
    assert_eq!(with_table(folder.path(), &input, &[]).status, 0);
    for (config, hash) in [(config, "cluster_hash"), (left, "fingerprint_hash")] {
        let run = with_table(folder.path(), &input, &["--config", config.to_str().expect("UTF-8")]);
        assert_eq!(run.status, 1);
        assert!(
            run.stderr.contains("made with other settings") && run.stderr.contains(hash),
            "{}",
            run.stderr
        );
        assert_eq!(run.stdout, "");
    }
    // Threads and limits may differ.
    let limits =
        common::write(folder.path(), "limits.toml", "[pipeline]\nthreads = 1\n[page]\nbytes_max = 2000\n");
    let run = with_table(folder.path(), &input, &["--config", limits.to_str().expect("UTF-8")]);
    assert_eq!(run.verdicts()[0]["kind"], "EXACT_DUPLICATE", "{}", run.stderr);
}

#[test]
fn a_damaged_table_is_refused_whatever_byte_it_is() {
    let folder = tempfile::tempdir().expect("a folder");
    let input: String = (0..5).map(|i| page(&format!("p{i}"), &article(i, 20))).collect();
    assert_eq!(with_table(folder.path(), &input, &[]).status, 0);
    let path = folder.path().join("table/centroids.leitong");
    let good = std::fs::read(&path).expect("a table");
    let positions = (0..good.len()).step_by(37).chain([good.len() - 1]);
    for at in positions {
        let mut bad = good.clone();
        bad[at] ^= 0x20;
        std::fs::write(&path, &bad).expect("written");
        let run = with_table(folder.path(), "", &[]);
        assert_eq!(run.status, 1, "byte {at} flipped: {}", run.stderr);
        assert_eq!(std::fs::read(&path).expect("a table"), bad, "left as it is");
    }
    for length in [0, 10, 40, good.len() - 1] {
        std::fs::write(&path, &good[..length]).expect("written");
        let run = with_table(folder.path(), "", &[]);
        assert_eq!(run.status, 1, "cut to {length}");
        assert!(run.stderr.contains("ends early"), "{}", run.stderr);
    }
    // Commands that only read accepted bytes after the checksum.
    std::fs::write(&path, [&good[..], b"x"].concat()).expect("written");
    let table = folder.path().join("table");
    for command in [&["info", "--verify"][..], &["info"], &["export"]] {
        let run = run([&["table"], command, &[common::name(&table)]].concat());
        assert_eq!(run.status, 1, "{command:?}: {}", run.stdout);
    }
}

#[test]
fn two_runs_do_not_share_a_table() {
    let folder = tempfile::tempdir().expect("a folder");
    let table = folder.path().join("table");
    let mut first = common::leitong()
        .args(["dedup", "-", "--table", table.to_str().expect("UTF-8")])
        .stdin(std::process::Stdio::piped())
        .stdout(std::process::Stdio::piped())
        .stderr(std::process::Stdio::null())
        .spawn()
        .expect("it starts");
    {
        use std::io::{BufRead, BufReader, Write};
        let input = first.stdin.as_mut().expect("an input");
        input.write_all(page("a", &article(1, 20)).as_bytes()).expect("written");
        // Once there is a verdict, the lock is held.
        let mut line = String::new();
        BufReader::new(first.stdout.as_mut().expect("an output")).read_line(&mut line).expect("read");
    }
    let second = with_table(folder.path(), "", &[]);
    assert_eq!(second.status, 1);
    assert!(second.stderr.contains("another run is using this table"), "{}", second.stderr);
    drop(first.stdin.take());
    assert!(first.wait().expect("it ends").success());
    assert_eq!(with_table(folder.path(), "", &[]).status, 0);
}

#[test]
fn expiry_uses_the_times_of_pages() {
    let folder = tempfile::tempdir().expect("a folder");
    let config = common::write(folder.path(), "expiry.toml", "[expiry]\nmax_age_days = 7\n");
    let dated = |id: &str, date: &str| {
        let text = article(1, 20);
        format!(
            "{}\n",
            serde_json::json!({ "id": id, "url": format!("http://a/{id}"), "text": text, "fetched_at": date })
        )
    };
    let pages = [
        dated("first", "2026-01-01T00:00:00Z"),
        dated("same week", "2026-01-08T00:00:00Z"),
        dated("an old page, late", "2025-12-01T00:00:00Z"),
        dated("next week", "2026-01-08T00:00:00.001Z"),
        dated("from the future", "9999-01-01T00:00:00Z"),
    ];
    let run = run_with_input(["dedup", "-", "--config", config.to_str().expect("UTF-8")], pages.concat());
    let verdicts = run.verdicts();
    let canonical: Vec<_> =
        verdicts.iter().map(|v| v["canonical_page_id"].as_str().expect("an id")).collect();
    assert_eq!(canonical[..4], ["first", "first", "first", "next week"]);
    assert_eq!(verdicts[4]["fetched_at"], "9999-01-01T00:00:00.000Z");
}

#[test]
fn hosts_may_be_corpora() {
    let folder = tempfile::tempdir().expect("a folder");
    let config = common::write(folder.path(), "hosts.toml", "[corpus]\nby = \"host\"\n");
    let text = article(1, 20);
    let pages: String = ["http://a.test/1", "http://b.test/1", "http://A.test:80/2"]
        .map(|url| format!("{}\n", serde_json::json!({ "url": url, "text": text })))
        .concat();
    let run = run_with_input(["dedup", "-", "--config", config.to_str().expect("UTF-8")], pages);
    let verdicts = run.verdicts();
    let seen: Vec<_> = verdicts.iter().map(|v| (v["corpus"].as_str(), v["kind"].as_str())).collect();
    assert_eq!(
        seen,
        [
            (Some("a.test"), Some("UNIQUE")),
            (Some("b.test"), Some("UNIQUE")),
            (Some("a.test"), Some("EXACT_DUPLICATE"))
        ]
    );
}

#[test]
fn a_table_reports_its_contents() {
    let folder = tempfile::tempdir().expect("a folder");
    let table = folder.path().join("table");
    let table_name = table.to_str().expect("a name");
    let nothing = run(["table", "info", table_name]);
    assert_eq!(nothing.status, 1);
    assert!(nothing.stderr.contains("has no table"), "{}", nothing.stderr);

    let verdicts = run(["dedup", "--table", table_name, "examples/pages.jsonl"]).verdicts();
    let founders: Vec<&Value> = verdicts.iter().filter(|verdict| verdict["kind"] == "UNIQUE").collect();
    let exported = run(["table", "export", table_name]);
    assert_eq!(exported.status, 0, "{}", exported.stderr);
    let exported = exported.verdicts();
    assert_eq!(exported.len(), founders.len());
    for (centroid, founder) in exported.iter().zip(&founders) {
        for field in ["cluster_id", "page_id", "url", "corpus", "log_offset", "text_digest", "detector"] {
            assert_eq!(centroid[field], founder[field], "{field}");
        }
        let whole = centroid["fingerprint"].as_str().expect("hex");
        assert!(whole.starts_with(founder["fingerprint"].as_str().expect("hex")), "{whole}");
    }
    let info = run(["table", "info", "--json", table_name]).verdicts().pop().expect("one line");
    assert_eq!(info["centroids"], founders.len());
    assert_eq!(info["corpora"], serde_json::json!({ "default": founders.len() }));
    assert_eq!(info["next_log_offset"], verdicts.len());
    assert_eq!((&info["oldest"]["url"], &info["detector"]), (&founders[0]["url"], &"simhash".into()));
    for hash in ["fingerprint_hash", "cluster_hash"] {
        assert_eq!(info[hash], founders[0][hash]);
    }
    let text = run(["table", "info", table_name]).stdout;
    assert!(text.contains(&format!("default: {}", founders.len())) && text.contains("whole"), "{text}");

    let file = table.join("centroids.leitong");
    let mut bytes = std::fs::read(&file).expect("a table");
    let middle = bytes.len() / 2;
    bytes[middle] ^= 1;
    std::fs::write(&file, bytes).expect("written");
    let damaged = run(["table", "info", table_name]);
    assert_eq!(damaged.status, 1);
    assert!(damaged.stderr.contains("restore the file from a backup"), "{}", damaged.stderr);
}

/// Returns the pages of the articles with these numbers, each twice.
fn twice(numbers: std::ops::Range<usize>, name: &str) -> String {
    let both =
        |number: usize| ["a", "b"].map(|copy| page(&format!("{name}{copy}{number}"), &article(number, 25)));
    numbers.flat_map(both).collect()
}

#[test]
fn a_merged_table_knows_the_pages_of_all_its_parts() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = |name: &str| folder.path().join(name).to_str().expect("UTF-8").to_owned();
    let on_disk =
        common::write(folder.path(), "disk.toml", "[table]\non_disk = true\nblock_centroids = 32\n");
    let on_disk = on_disk.to_str().expect("UTF-8");
    // Tuesday's articles 15 to 19 are also Monday's. Wednesday has no articles.
    let parts =
        [("monday", twice(0..20, "m")), ("tuesday", twice(15..90, "t")), ("wednesday", String::new())];
    let made: Vec<_> = parts
        .iter()
        .map(|(name, pages)| run_with_input(["dedup", "-", "--table", &path(name)], pages))
        .collect();
    let whole = run_with_input(
        ["dedup", "-", "--table", &path("whole")],
        parts.clone().map(|(_, pages)| pages).concat(),
    );
    assert_eq!(whole.status, 0, "{}", whole.stderr);

    for (output, more) in [("all", &[][..]), ("all-on-disk", &["--config", on_disk])] {
        let (all, renamed) = (path(output), path("renamed.jsonl"));
        let tables = parts.clone().map(|(name, _)| path(name));
        let [monday, tuesday, wednesday] = &tables;
        let arguments =
            ["table", "merge", "--output", &all, "--clusters", &renamed, monday, tuesday, wednesday];
        let merged = run([&arguments[..], &["--overwrite"], more].concat());
        assert_eq!(merged.status, 0, "{}", merged.stderr);
        assert!(merged.stdout.starts_with("90 centroids from 3 tables; 5 clusters"), "{}", merged.stdout);
        assert_eq!(run(["table", "info", "--verify", &all]).status, 0);

        // The merged table has the centroids of a single run, with the places that they have there.
        let exported = |table: &str| run(["table", "export", table]).verdicts();
        let (is, expected) = (exported(&all), exported(&path("whole")));
        assert_eq!(is.len(), 90);
        for (is, expected) in is.iter().zip(&expected) {
            for field in ["page_id", "url", "log_offset", "fingerprint", "text_digest", "log_time"] {
                assert_eq!(is[field], expected[field], "{field}");
            }
        }
        // Each cluster of a part is found under its new name.
        let renamed = std::fs::read_to_string(&renamed).expect("lines");
        let renamed: Vec<Value> =
            renamed.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect();
        assert_eq!(renamed.len(), 20 + 75);
        for (name, verdicts) in parts.iter().map(|(name, _)| path(name)).zip(&made) {
            for verdict in verdicts.verdicts().iter().filter(|verdict| verdict["kind"] == "UNIQUE") {
                let is_it =
                    |line: &&Value| line["table"] == *name && line["cluster_id"] == verdict["cluster_id"];
                let line = renamed.iter().find(is_it).expect("a line");
                let now = is.iter().find(|centroid| centroid["cluster_id"] == line["merged_cluster_id"]);
                let now = now.expect("a centroid");
                assert_eq!(now["text_digest"], verdict["text_digest"]);
                assert_eq!(line["joined"] == true, now["page_id"] != verdict["page_id"]);
            }
        }
        // A run with the merged table knows all pages.
        let again = [&["dedup", "-", "--table", &all][..], more].concat();
        let again = run_with_input(again, twice(0..90, "x"));
        assert!(
            again.verdicts().iter().all(|verdict| verdict["kind"] == "EXACT_DUPLICATE"),
            "{}",
            again.stderr
        );
    }
}

#[test]
fn a_failed_merge_leaves_no_table() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = |name: &str| folder.path().join(name).to_str().expect("UTF-8").to_owned();
    let (one, two, out) = (path("one"), path("two"), path("out"));
    assert_eq!(run_with_input(["dedup", "-", "--table", &one], twice(0..3, "a")).status, 0);
    assert_eq!(run_with_input(["dedup", "-", "--table", &two], twice(3..6, "b")).status, 0);
    let refused = |tables: &[&str], status: i32, why: &str| {
        let merged = run([&["table", "merge", "--output", &out][..], tables].concat());
        assert_eq!(merged.status, status, "{}", merged.stderr);
        assert!(merged.stderr.contains(why), "{}", merged.stderr);
        assert!(!Path::new(&out).exists() && !Path::new(&format!("{out}.part")).exists(), "{why}");
    };
    refused(&[&one, &path("./one")], 2, "is named twice");
    refused(&[&one, &path("nowhere")], 1, "nowhere");
    std::fs::create_dir(path("empty")).expect("a folder");
    refused(&[&one, &path("empty")], 1, "there is no table to merge");
    refused(&[&one], 2, "DIR");

    let near = common::write(folder.path(), "near.toml", "[simhash.near]\nmax_distance = 3\n");
    let crawls = common::write(folder.path(), "crawls.toml", "[recrawls]\nenabled = true\n");
    for (config, name, why) in
        [(near, "other", "made with other settings"), (crawls, "crawls", "cluster_hash")]
    {
        let made = ["dedup", "-", "--table", &path(name), "--config", config.to_str().expect("UTF-8")];
        assert_eq!(run_with_input(made, twice(0..3, "a")).status, 0, "{name}");
        refused(&[&one, &path(name)], 1, why);
    }

    std::fs::write(path("two/journal.leitong"), "pages").expect("written");
    refused(&[&one, &two], 1, "was killed before it saved all pages");
    std::fs::remove_file(path("two/journal.leitong")).expect("removed");
    let file = path("two/centroids.leitong");
    let good = std::fs::read(&file).expect("a table");
    let mut bad = good.clone();
    bad[good.len() - 20] ^= 1;
    std::fs::write(&file, bad).expect("written");
    refused(&[&one, &two], 1, "restore the file from a backup");
    std::fs::write(&file, good).expect("written");

    // What another process is making, and a folder with other files, are refused.
    let part = format!("{out}.part");
    let merge = || run(["table", "merge", "--output", &out, &one, &two]);
    std::fs::create_dir(&part).expect("a folder");
    let other = std::fs::File::open(&part).expect("a folder");
    other.lock().expect("locked");
    let busy = merge();
    assert!(busy.status == 1 && busy.stderr.contains("another process is making"), "{}", busy.stderr);
    drop(other);
    std::fs::write(format!("{part}/thesis.txt"), "years of work").expect("written");
    let foreign = merge();
    assert!(
        foreign.stderr.contains("thesis.txt") && foreign.stderr.contains("remove it"),
        "{}",
        foreign.stderr
    );
    std::fs::remove_file(format!("{part}/thesis.txt")).expect("removed");
    // What a killed process has left is removed.
    std::fs::write(format!("{part}/centroids.leitong"), "half a table").expect("written");
    let again = merge();
    assert_eq!(again.status, 0, "{}", again.stderr);
    assert!(!Path::new(&part).exists());
    let there = run(["table", "merge", "--output", &out, &one, &two]);
    assert!(there.status == 2 && there.stderr.contains("already exists"), "{}", there.stderr);
}

/// Returns pages that cause everything a table remembers: copies, series, articles on several pages, URLs
/// that are crawled again, withdrawn pages (with `recrawls`; refused without), several corpora, times that go
/// backwards.
fn eventful(seed: u64, numbers: std::ops::Range<u64>, recrawls: bool) -> String {
    let line = |number: u64| {
        let dice = |sides: u64, salt: u64| {
            let mixed = (number ^ (seed << 32) ^ (salt << 48)).wrapping_mul(0x9e37_79b9_7f4a_7c15);
            (mixed ^ (mixed >> 29)).wrapping_mul(0xbf58_476d_1ce4_e5b9) >> 33
        } % sides;
        let topic = dice(40, 1);
        let host = ["a.test", "b.test", "c.test"][dice(3, 2) as usize];
        let path = match dice(3, 3) {
            0 => format!("news/{topic}.html"),
            1 => format!("news/{}_{}.html", topic / 4, 1 + topic % 4),
            _ => format!("other/{number}"),
        };
        let day = 1 + (number / 8 + dice(3, 4)) % 28;
        let mut page = serde_json::json!({
            "id": format!("p{number}"),
            "url": format!("https://{host}/{path}"),
            "text": article(topic as usize, 12 + dice(3, 5) as usize),
        });
        if dice(7, 6) > 0 {
            page["fetched_at"] = format!("2026-03-{day:02}T08:00:00Z").into();
        }
        if recrawls && dice(12, 7) == 0 {
            page = serde_json::json!({ "id": page["id"], "url": page["url"], "withdrawn": true });
        }
        format!("{page}\n")
    };
    numbers.map(line).collect()
}

/// An exported and imported table decides as the original does, byte by byte, whatever it holds.
#[test]
fn an_imported_table_equals_the_exported_one() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = |name: &str| folder.path().join(name).to_str().expect("UTF-8").to_owned();
    let settings = [
        ("plain", ""),
        ("expiry", "[expiry]\nmax_age_days = 5\ncentroids_max = 25\n[corpus]\nby = \"host\"\n"),
        ("canonical", "[canonical]\nprefer = [\"longest\"]\n"),
        ("recrawls", "[recrawls]\nenabled = true\n[canonical]\nprefer = [\"longest\"]\n"),
        ("disk", "[table]\non_disk = true\nblock_centroids = 32\n[expiry]\ncentroids_max = 60\n"),
    ];
    for (seed, (name, settings)) in (0..).zip(settings) {
        let config = common::write(folder.path(), &format!("{name}.toml"), settings);
        let config = config.to_str().expect("UTF-8");
        let made = |table: &str, pages: std::ops::Range<u64>| {
            let run = run_with_input(
                ["dedup", "-", "--table", &path(table), "--config", config],
                eventful(seed, pages, settings.contains("[recrawls]")),
            );
            assert_eq!(run.status, 0, "{name}: {}", run.stderr);
            run.stdout
        };
        let leitong = |arguments: &[&str]| {
            let run = run(arguments);
            assert_eq!(run.status, 0, "{name}: {arguments:?}: {}", run.stderr);
            run.stdout
        };
        let (table, lines, copy) = (path(name), path(&format!("{name}.jsonl")), format!("{name}-copy"));
        made(name, 0..150);
        leitong(&["table", "export", "--all", "--output", &lines, &table]);
        let said = leitong(&["table", "import", "--output", &path(&copy), "--config", config, &lines]);
        let count = run(["table", "export", &table]).stdout.lines().count();
        assert_eq!(said, format!("{count} centroids\n"));
        assert!(count > 5, "{name}: {count}");
        let again = path(&format!("{name}-again.jsonl"));
        leitong(&["table", "export", "--all", "--output", &again, &path(&copy)]);
        let read = |path: &str| std::fs::read_to_string(path).expect("lines");
        assert_eq!(read(&lines), read(&again), "{name}");
        if name != "disk" {
            // Each table has its own id, and so another checksum.
            let file = |table: &str| {
                let mut file = std::fs::read(Path::new(table).join("centroids.leitong")).expect("a table");
                let saved = TableDir::inspect(Path::new(table), |_, _| {}).expect("sound").expect("a table");
                let id = saved.table_id.expect("an id").to_le_bytes();
                let at = file.windows(8).position(|bytes| bytes == id).expect("the id");
                file[at..at + 8].fill(0);
                file.truncate(file.len() - 8);
                file
            };
            assert!(file(&table) == file(&path(&copy)), "{name}: the file is another one");
        }
        let timeless = |verdicts: String| -> Vec<String> {
            let time = |line: &str| {
                let (before, rest) = line.split_once("\"decided_at\":\"").expect("a time");
                format!("{before}{}", rest.split_once('"').expect("its end").1)
            };
            verdicts.lines().map(time).collect()
        };
        let [verdicts, of_copy] = [name, &copy].map(|table| timeless(made(table, 150..300)));
        assert_eq!(verdicts, of_copy, "{name}");
        assert!(
            verdicts.iter().any(|verdict| verdict.contains("_DUPLICATE")),
            "{name}: nothing is known again"
        );
    }
    // The same table in memory and on disk.
    let memory = common::write(folder.path(), "memory.toml", "[expiry]\ncentroids_max = 60\n");
    let memory = memory.to_str().expect("UTF-8");
    let (lines, in_memory) = (path("disk.jsonl"), path("in-memory"));
    let imported = run(["table", "import", "--output", &in_memory, "--config", memory, &lines]);
    assert_eq!(imported.status, 0, "{}", imported.stderr);
    let exported = run(["table", "export", &in_memory]).stdout;
    let lines = std::fs::read_to_string(lines).expect("lines");
    let texts = lines.lines().filter(|line| line.contains("\"text_key\"")).count();
    assert!(texts > 5, "{texts} texts of pages that joined");
    assert_eq!(exported.lines().count(), lines.lines().count() - 1 - texts);
}

#[test]
fn incomplete_exports_are_refused() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = |name: &str| folder.path().join(name).to_str().expect("UTF-8").to_owned();
    let (table, out) = (path("table"), path("out"));
    assert_eq!(run_with_input(["dedup", "-", "--table", &table], twice(0..3, "a")).status, 0);
    let lines = run(["table", "export", "--all", &table]).stdout;
    let refused = |lines: &str, status: i32, why: &str| {
        let run = run_with_input(["table", "import", "--output", &out, "-"], lines);
        assert_eq!(run.status, status, "{}", run.stderr);
        assert!(run.stderr.contains(why), "{why}: {}", run.stderr);
        assert!(!Path::new(&out).exists() && !Path::new(&format!("{out}.part")).exists(), "{why}");
    };
    refused("", 1, "line 1: the lines end before the description of the table");
    let centroids = run(["table", "export", &table]).stdout;
    refused(&centroids, 1, "export the table again, with `leitong table export --all`");
    let first_three = lines.lines().take(3).collect::<Vec<_>>().join("\n");
    refused(&first_three, 1, "line 4: the lines end before a centroid");
    refused(&format!("{lines}{{}}\n"), 1, "line 5: there are more lines");
    refused(
        &lines.replace("\"detector\":\"simhash\"", "\"detector\":\"shingle\""),
        1,
        "line 2: centroid 0 has no",
    );
    refused(&lines.replacen("\"fingerprint\":\"", "\"fingerprint\":\"0", 1), 1, "is not hex digits");
    refused(&lines.replace("\"table_format_version\":2", "\"table_format_version\":3"), 1, "is newer than 2");
    let hash = serde_json::from_str::<Value>(lines.lines().next().expect("a head")).expect("JSON");
    let hash = hash["cluster_hash"].as_str().expect("a hash").to_owned();
    refused(&lines.replace(&hash, "00000000000000ff"), 1, "made with other settings: its cluster_hash");
    assert_eq!(run_with_input(["table", "import", "--output", &out, "-"], &lines).status, 0);
    let there = run_with_input(["table", "import", "--output", &out, "-"], &lines);
    assert!(there.status == 2 && there.stderr.contains("already exists"), "{}", there.stderr);
}

#[test]
fn an_empty_table_is_exported_and_imported() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = |name: &str| folder.path().join(name).to_str().expect("UTF-8").to_owned();
    assert_eq!(run_with_input(["dedup", "-", "--table", &path("empty")], "").status, 0);
    let lines = run(["table", "export", "--all", &path("empty")]).stdout;
    assert_eq!(lines.lines().count(), 1, "{lines}");
    let imported = run_with_input(["table", "import", "--output", &path("copy"), "-"], &lines);
    assert_eq!((imported.status, imported.stdout.as_str()), (0, "0 centroids\n"), "{}", imported.stderr);
}

/// A failed save must not leave its file behind, which would take the remaining disk space.
#[test]
fn a_save_that_fails_or_is_killed_leaves_no_file_behind() {
    let folder = tempfile::tempdir().expect("a folder");
    let new = |name: &str| folder.path().join(format!("{name}.leitong.new"));
    let table = leitong::Table::open(folder.path()).expect("a folder");
    let deduplicator = leitong::Deduplicator::new(&leitong::Config::default()).expect("settings");
    // The file cannot be renamed to its final name.
    std::fs::create_dir_all(folder.path().join("centroids.leitong/taken")).expect("a folder");
    table.save(&deduplicator).expect_err("the name is taken");
    assert!(!new("centroids").exists());
    std::fs::remove_dir_all(folder.path().join("centroids.leitong")).expect("removed");
    drop(table);
    for name in ["centroids", "verdicts", "journal"] {
        std::fs::write(new(name), "of a process that was killed").expect("written");
    }
    let run = run_with_input(["dedup", "-", "--table", folder.path().to_str().expect("UTF-8")], "");
    assert_eq!(run.status, 0, "{}", run.stderr);
    assert_eq!(["centroids", "verdicts", "journal"].map(|name| new(name).exists()), [false; 3]);
}

/// Dates after the start of a run count as its start, and a repetition has the start of the first attempt. Otherwise, a
/// page with a wrong clock would expire other pages on one day and not on another.
#[test]
fn a_repeated_run_takes_dates_in_the_future_as_its_first_attempt_did() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = |name: &str| folder.path().join(name).display().to_string();
    let page = |id: &str, topic: usize, date: &str| {
        let url = format!("http://{id}.example/");
        let page = serde_json::json!({ "id": id, "url": url, "text": article(topic, 9), "fetched_at": date });
        page.to_string() + "\n"
    };
    let pages = page("a", 1, "2026-01-01T00:00:00Z")
        + &page("b", 2, "2026-01-09T00:00:00Z")
        + &page("c", 1, "2026-01-09T00:00:00Z");
    std::fs::write(path("pages.jsonl"), pages).expect("written");
    std::fs::write(path("age.toml"), "expiry.max_age_days = 3\n").expect("written");
    let kinds = |output: &str, table: &str| -> Vec<String> {
        let (config, output, table) = (path("age.toml"), path(output), path(table));
        let arguments =
            ["dedup", "--config", &config, "--output", &output, "--table", &table, &path("pages.jsonl")];
        let run = run(arguments);
        assert_eq!(run.status, 0, "{}", run.stderr);
        let lines = std::fs::read_to_string(&output).expect("verdicts");
        std::fs::remove_file(&output).expect("removed");
        let kind = |line: &str| serde_json::from_str::<Value>(line).expect("JSON")["kind"].clone();
        lines.lines().map(|line| kind(line).as_str().expect("a kind").to_owned()).collect()
    };
    assert_eq!(kinds("v.jsonl", "table"), ["UNIQUE", "UNIQUE", "UNIQUE"], "a has expired");
    // The state of a run that was begun on the second of January and killed.
    let start = std::fs::read_to_string(path("table/run.start")).expect("the start");
    let (run_id, _) = start.split_once(' ').expect("a run and a time");
    std::fs::remove_file(path("table/centroids.leitong")).expect("removed");
    std::fs::write(path("table/run.start"), format!("{run_id} 1767312000000\n")).expect("written");
    assert_eq!(
        kinds("v.jsonl", "table"),
        ["UNIQUE", "UNIQUE", "EXACT_DUPLICATE"],
        "the future expires nothing"
    );
    // Another run begins now.
    std::fs::remove_file(path("table/centroids.leitong")).expect("removed");
    assert_eq!(kinds("w.jsonl", "table"), ["UNIQUE", "UNIQUE", "UNIQUE"]);
}
