//! The documentation as a site: every page is in a table of contents, every link leads somewhere, and every
//! test named by a guarantee exists. `make site` builds it; nothing here needs mdbook.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Component, Path, PathBuf};

/// The folder of each book.
const BOOKS: [&str; 2] = ["docs", "docs/zh"];

fn read(path: impl AsRef<Path>) -> String {
    let path = path.as_ref();
    fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// Returns all Markdown files in `folder` and its subfolders.
fn pages(folder: &Path) -> BTreeSet<PathBuf> {
    let mut found = BTreeSet::new();
    for entry in fs::read_dir(folder).expect("a folder") {
        let path = entry.expect("an entry").path();
        if path.is_dir() {
            found.extend(pages(&path));
        } else if path.extension().is_some_and(|extension| extension == "md") {
            found.insert(path);
        }
    }
    found
}

/// Returns true if a line opens or closes a block of code.
fn is_fence(line: &str) -> bool {
    line.trim_start().starts_with("```")
}

/// Returns the text without code blocks and inline code, which contain no links or headings.
fn prose(text: &str) -> String {
    let mut in_code = false;
    let mut out = String::new();
    for line in text.lines() {
        in_code ^= is_fence(line);
        if !in_code && !is_fence(line) {
            out.push_str(line);
            out.push('\n');
        }
    }
    // Every second piece is code; `like this`.
    out.split('`').step_by(2).collect::<Vec<_>>().join("·")
}

/// Returns the targets of `[text](target)`, which may span several lines, and of pictures.
fn links(text: &str) -> Vec<String> {
    let prose = prose(text);
    let targets = prose.split("](").skip(1).filter_map(|rest| rest.split_once(')'));
    targets.map(|(target, _)| target.to_owned()).collect()
}

/// Returns the anchors of a page: those of its headings, as GitHub and mdBook build them, and explicit ones.
fn anchors(text: &str) -> BTreeSet<String> {
    let mut in_code = false;
    let mut found = BTreeSet::new();
    for line in text.lines() {
        in_code ^= is_fence(line);
        if let Some(heading) = line.strip_prefix('#').filter(|_| !in_code) {
            let kept = heading.trim_start_matches('#').trim().to_lowercase();
            let kept = kept.chars().filter(|c| c.is_alphanumeric() || matches!(c, ' ' | '-' | '_'));
            found.insert(kept.map(|c| if c == ' ' { '-' } else { c }).collect());
        }
        for by_hand in line.split("<a id=\"").skip(1) {
            found.extend(by_hand.split('"').next().map(str::to_owned));
        }
    }
    found
}

/// Removes `.` and `..`.
fn plain(path: &Path) -> PathBuf {
    let mut plain = PathBuf::new();
    for part in path.components() {
        match part {
            Component::ParentDir => _ = plain.pop(),
            Component::CurDir => {}
            other => plain.push(other),
        }
    }
    plain
}

#[test]
fn the_tables_of_contents_name_every_page_once() {
    for book in BOOKS {
        let folder = Path::new(book);
        let named: Vec<PathBuf> =
            links(&read(folder.join("SUMMARY.md"))).iter().map(|link| folder.join(link)).collect();
        let once: BTreeSet<PathBuf> = named.iter().cloned().collect();
        assert_eq!(once.len(), named.len(), "{book}: a page is named twice");
        let mut there = pages(folder);
        there.remove(&folder.join("SUMMARY.md"));
        there.retain(|page| book == "docs/zh" || !page.starts_with("docs/zh"));
        assert_eq!(once, there, "{book}/SUMMARY.md, and the pages that there are");
        assert!(read(folder.join("book.toml")).contains("src = \".\""));
    }
}

#[test]
fn every_link_between_pages_leads_somewhere() {
    let mut all = pages(Path::new("docs"));
    all.extend(["README.md", "ARCHITECTURE.md", "CONTRIBUTING.md", "CHANGELOG.md"].map(PathBuf::from));
    let (mut checked, mut broken) = (0, Vec::new());
    for page in &all {
        let text = read(page);
        for link in links(&text) {
            if link.contains("://") || link.starts_with("mailto:") {
                continue;
            }
            checked += 1;
            let (target, anchor) = match link.split_once('#') {
                Some((target, anchor)) => (target, Some(anchor)),
                None => (link.as_str(), None),
            };
            let path = match target {
                "" => page.clone(),
                target => plain(&page.parent().expect("a folder").join(target)),
            };
            if !path.exists() {
                broken.push(format!("{}: {link}: there is no {}", page.display(), path.display()));
            } else if let Some(anchor) = anchor
                && path.extension().is_some_and(|extension| extension == "md")
                && !anchors(&read(&path)).contains(anchor)
            {
                broken.push(format!("{}: {link}: there is no such heading", page.display()));
            }
        }
    }
    assert!(broken.is_empty(), "{}", broken.join("\n"));
    assert!(checked > 200, "{checked} links: are they recognised?");
}

#[test]
fn links_and_headings_are_recognised() {
    let text = "# A `b` c, d\n[x\ny](a.md#z) ![p](i.svg) `[no](link)`\n```\n[no](link)\n# no heading\n```\n<a id=\"w\"></a>";
    assert_eq!(links(text), ["a.md#z", "i.svg"]);
    assert_eq!(anchors(text), ["a-b-c-d", "w"].map(str::to_owned).into());
    assert_eq!(anchors("## 查看 与 tap"), ["查看-与-tap".to_owned()].into());
}

/// A guarantee is as good as its test.
#[test]
fn every_test_named_by_a_guarantee_exists() {
    for (page, least) in [("docs/guarantees.md", 17)] {
        let text = read(page);
        // The last section lists what is only measured.
        let sections: Vec<&str> = text.split("\n## ").skip(1).collect();
        let Some((_, guarantees)) = sections.split_last() else { panic!("{page}: no guarantee") };
        assert!(guarantees.len() >= least, "{page}: {} guarantees", guarantees.len());
        for row in guarantees {
            let named: Vec<(&str, &str)> =
                row.split('`').filter_map(|code| code.split_once(".rs::")).collect();
            assert!(!named.is_empty(), "{page}: no test: {row}");
            for (file, test) in named {
                let source = read(format!("{file}.rs"));
                let declared = source.split(&format!("fn {test}(")).next().filter(|before| *before != source);
                let before = declared.unwrap_or_else(|| panic!("{page}: {file}.rs has no test {test}"));
                // The attribute is directly above, perhaps among others; tests of proptest are within a
                // macro.
                let above: Vec<&str> = before.lines().rev().take(6).collect();
                assert!(
                    above.iter().any(|line| line.contains("#[test]")),
                    "{page}: {file}.rs: {test} is not a test"
                );
            }
        }
    }
}

/// Pictures must work in light and dark mode and for people who cannot see them, and must not load anything
/// else.
#[test]
fn pictures_are_self_contained_and_readable() {
    let drawings =
        ["way-of-a-page", "two-stages", "cluster"].map(|name| [name.to_owned(), format!("{name}.zh")]);
    for name in drawings.concat().into_iter().chain(["quality-and-speed".to_owned()]) {
        let picture = read(format!("docs/images/{name}.svg"));
        for expected in ["<title", "<desc", "prefers-color-scheme: dark", "role=\"img\"", "viewBox="] {
            assert!(picture.contains(expected), "{name}: {expected}");
        }
        for forbidden in ["<script", "href", "url(", "@import", "<foreignObject"] {
            assert!(!picture.contains(forbidden), "{name}: {forbidden}");
        }
        assert_eq!(picture.matches("://").count(), 1, "{name}: the name space alone");
    }
}

/// Every page links to its version in the other language.
#[test]
fn chinese_and_english_pages_link_to_each_other() {
    let mut checked = 0;
    for page in pages(Path::new("docs/zh")) {
        let name = page.file_name().and_then(|name| name.to_str()).expect("a name").to_owned();
        if name == "SUMMARY.md" {
            continue;
        }
        let text = read(&page);
        let english = text.split("[English](../").nth(1).and_then(|rest| rest.split(')').next());
        let english = english.unwrap_or_else(|| panic!("{name}: no link to the English page"));
        let other = read(format!("docs/{english}"));
        if english.ends_with(".md") {
            assert!(other.contains(&format!("[中文](zh/{name})")), "docs/{english}: no link to zh/{name}");
        }
        checked += 1;
    }
    assert!(checked >= 3, "{checked} pages");
}

/// The Chinese reference of verdicts covers the schema.
#[test]
fn the_chinese_reference_covers_every_field_and_value() {
    let schema: serde_json::Value = serde_json::from_str(&read("docs/verdict.schema.json")).expect("JSON");
    let page = read("docs/zh/concepts.md");
    let fields = schema["properties"].as_object().expect("fields");
    let words = |schema: &serde_json::Value| -> Vec<String> {
        let words = schema["enum"].as_array().into_iter().flatten();
        words.filter_map(|word| word.as_str().map(str::to_owned)).collect()
    };
    let recrawl = &fields["recrawl"]["properties"];
    let mut expected: Vec<String> = fields.keys().cloned().collect();
    for listed in ["kind", "reason", "relation"] {
        expected.extend(words(&fields[listed]));
    }
    expected.extend(["outcome", "left_cluster"].iter().flat_map(|listed| words(&recrawl[*listed])));
    assert!(expected.len() > 50, "{expected:?}");
    let missing: Vec<_> = expected.iter().filter(|word| !page.contains(&format!("`{word}`"))).collect();
    assert!(missing.is_empty(), "docs/zh/concepts.md does not name {missing:?}");
}

/// Options, fields and problems of a page: what a reader types or looks for.
fn names_to_type(page: &str) -> BTreeSet<String> {
    let words = page.split(|c: char| !c.is_ascii_alphanumeric() && !"-_".contains(c));
    let is_name = |word: &&str| {
        (word.starts_with("--") && word.len() > 4) || (word.starts_with("leitong_") && word.len() > 9)
    };
    let mut names: BTreeSet<String> = words.filter(is_name).map(str::to_owned).collect();
    let code = page.split('`').skip(1).step_by(2);
    let is_problem =
        |code: &&str| code.contains('-') && code.chars().all(|c| c.is_ascii_lowercase() || c == '-');
    names.extend(code.filter(is_problem).map(str::to_owned));
    // Cargo's, in a sentence about measurements.
    names.remove("--bench");
    names
}

/// A reader who knows only Chinese finds everything that the English pages about corpora and the API name.
#[test]
fn the_chinese_pages_name_all_options_fields_and_problems() {
    for (page, least) in [("corpora.md", 50), ("api.md", 15)] {
        let [english, chinese] =
            ["docs", "docs/zh"].map(|book| names_to_type(&read(Path::new(book).join(page))));
        assert!(english.len() >= least, "{page}: {english:?}");
        let missing: Vec<_> = english.difference(&chinese).collect();
        assert!(missing.is_empty(), "docs/zh/{page} does not name {missing:?}");
    }
}

/// The first commands of the Chinese page about corpora do the whole job.
#[test]
fn the_commands_of_the_chinese_page_about_corpora_run_as_they_stand() {
    let folder = tempfile::tempdir().expect("a folder");
    let examples = folder.path().join("examples");
    fs::create_dir(&examples).expect("a folder");
    fs::copy("examples/pages.jsonl", examples.join("pages.jsonl")).expect("pages");
    let page = read("docs/zh/corpora.md");
    let block =
        page.split("```console\n").nth(1).and_then(|rest| rest.split("```").next()).expect("commands");
    let commands: Vec<&str> = block.lines().filter_map(|line| line.strip_prefix("$ ")).collect();
    assert!(commands.len() >= 4 && commands.iter().all(|line| line.starts_with("leitong ")), "{commands:?}");
    let program = Path::new(env!("CARGO_BIN_EXE_leitong")).parent().expect("a folder");
    let path = std::env::join_paths([program, Path::new("/usr/bin"), Path::new("/bin")]).expect("a path");
    let mut shell = std::process::Command::new("sh");
    shell.args(["-euc", &commands.join("\n")]).current_dir(&folder).env("PATH", path);
    let run = shell.output().expect("a shell");
    assert!(run.status.success(), "{}", String::from_utf8_lossy(&run.stderr));
    for written in ["kept.jsonl", "dropped.jsonl", "report.html", "audit.jsonl", "review.html", "texts.jsonl"]
    {
        assert!(fs::metadata(folder.path().join(written)).is_ok_and(|file| file.len() > 0), "{written}");
    }
}
