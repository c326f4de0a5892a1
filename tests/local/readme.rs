//! The README's figures and its chart against the measured files they come from, and its example against the program.

use std::collections::{BTreeMap, BTreeSet};

use crate::common::{name, run};

/// Reads a file of the repository.
fn read(path: &str) -> String {
    let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join(path);
    std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// Returns the numbers in a text, such as `6,119` and `.5`. Digits within a word, as in `F1`, do not count.
fn figures(text: &str) -> BTreeSet<String> {
    let pieces = text.split(|c: char| !c.is_alphanumeric() && c != '.' && c != ',');
    let trimmed = pieces.map(|piece| piece.trim_end_matches(['.', ',']).trim_start_matches(','));
    let is_figure =
        |piece: &&str| piece.contains(|c: char| c.is_ascii_digit()) && !piece.contains(char::is_alphabetic);
    trimmed.filter(is_figure).map(str::to_owned).collect()
}

/// Returns the text of a paragraph without code and targets of links, and the files that it links to.
fn prose_and_links(block: &str) -> (String, Vec<String>) {
    let without_code: String = block.split('`').step_by(2).collect();
    let mut pieces = without_code.split("](");
    let mut prose = pieces.next().unwrap_or_default().to_owned();
    let mut links = Vec::new();
    for piece in pieces {
        let (target, rest) = piece.split_once(')').expect("the end of a link");
        links.push(target.split('#').next().unwrap_or_default().to_owned());
        prose.push_str(rest);
    }
    (prose, links)
}

/// Returns paragraphs and rows of tables outside of fenced code.
fn blocks(document: &str) -> Vec<String> {
    let prose: String = document.split("```").step_by(2).collect();
    let paragraphs = prose.split("\n\n");
    let rows = |block: &str| -> Vec<String> {
        let is_table = block.trim_start().starts_with('|');
        if is_table { block.lines().map(str::to_owned).collect() } else { vec![block.to_owned()] }
    };
    paragraphs.flat_map(rows).collect()
}

#[test]
fn every_figure_in_the_readme_is_in_a_page_that_its_paragraph_links_to() {
    let mut checked = 0;
    for block in blocks(&read("README.md")) {
        let (prose, links) = prose_and_links(&block);
        let stated = figures(&prose);
        if stated.is_empty() || prose.contains("Apache License 2.0") {
            continue;
        }
        let pages: Vec<&String> = links.iter().filter(|link| link.ends_with(".md")).collect();
        let known: BTreeSet<String> = pages.iter().flat_map(|page| figures(&read(page))).collect();
        let missing: Vec<_> = stated.difference(&known).collect();
        assert!(missing.is_empty(), "{missing:?} are not in {pages:?}, to which this links:\n{block}");
        checked += stated.len();
    }
    assert!(checked >= 20, "{checked} figures: are they recognised?");
}

#[test]
fn figures_are_recognised() {
    let (prose, links) = prose_and_links("F1 of 0.995, `0.1`, 6,119 [x 2](a.md#3), J ≥ .5.");
    assert_eq!(links, ["a.md"]);
    assert_eq!(figures(&prose), ["0.995", "6,119", "2", ".5"].map(str::to_owned).into());
}

#[test]
fn the_readme_is_short() {
    let lines = read("README.md").lines().count();
    assert!(lines <= 150, "{lines} lines");
}

/// Returns F1 by set, from the table of docs/quality.md after a heading: of the default without addresses, and of
/// MinHash at two similarities. Sets without a copy have none.
fn measured_f1(heading: &str) -> BTreeMap<String, [f64; 3]> {
    let page = read("docs/quality.md");
    let section = page.split(heading).nth(1).expect("the heading");
    let rows = section.lines().skip_while(|line| !line.starts_with("|---")).skip(1);
    let rows = rows.take_while(|line| line.starts_with('|'));
    let number =
        |cell: &str| -> f64 { cell.split_whitespace().next().expect("a figure").parse().expect("a number") };
    let scores = rows.map(|row| {
        let cells: Vec<&str> = row.trim_matches('|').split('|').map(str::trim).collect();
        (cells[0].trim_matches('`').to_owned(), [number(cells[3]), number(cells[7]), number(cells[8])])
    });
    scores.filter(|(_, [default, ..])| *default > 0.0).collect()
}

/// Returns the mean and the lowest of some scores, as the chart shows them.
fn label(scores: &[f64]) -> String {
    // The order of the sum must not decide how a mean such as .8385 is rounded.
    let mean = (scores.iter().sum::<f64>() / scores.len() as f64 * 1e9).round() / 1e9;
    let weakest = scores.iter().copied().fold(f64::INFINITY, f64::min);
    format!(">{mean:.3}, {weakest:.3}<")
}

#[test]
fn the_chart_shows_the_measured_figures() {
    let chart = read("docs/images/quality-and-speed.svg");
    let simhash: Vec<Vec<String>> = read("tools/measure/results/simhash.tsv")
        .lines()
        .map(|line| line.split('\t').map(str::to_owned).collect())
        .collect();
    let mut sets = 0;
    for heading in ["### Sets that no rule was chosen with", "### Sets that the default was chosen with"] {
        let measured = measured_f1(heading);
        sets += measured.len();
        for column in 0..3 {
            let label = label(&measured.values().map(|scores| scores[column]).collect::<Vec<_>>());
            assert!(
                chart.contains(&label),
                "{heading}: column {column} is {label}: run `make readme-figures`"
            );
        }
        for method in ["simhash-three", "simhash-nine"] {
            let of_method = simhash.iter().filter(|row| row[0] == method && measured.contains_key(&row[1]));
            let scores: Vec<f64> = of_method.map(|row| row[2].parse().expect("a number")).collect();
            assert_eq!(scores.len(), measured.len(), "{heading}: {method} was measured on other sets");
            let label = label(&scores);
            assert!(chart.contains(&label), "{heading}: {method} is {label}: run `make readme-figures`");
        }
    }
    assert!(chart.contains(&format!("over {sets} labelled sets")), "{sets} sets");

    let corpora = read("docs/corpora.md");
    let table = corpora.split("<!-- bench-corpora: begin -->").nth(1).expect("a table");
    let table = table.split("<!-- bench-corpora: end -->").next().expect("its end");
    let rates = table.lines().filter(|line| line.starts_with("| ") && !line.contains("Parquet")).skip(1);
    let rates: Vec<&str> = rates.map(|line| line.split('|').nth(2).expect("a rate").trim()).collect();
    assert!(rates.len() >= 6, "{rates:?}");
    for rate in rates {
        assert!(
            chart.contains(&format!(">{rate}<")),
            "{rate} documents per second: run `make readme-figures`"
        );
    }
}

#[test]
fn the_readme_shows_what_the_program_prints() {
    let folder = tempfile::tempdir().expect("a folder");
    let [kept, dropped, verdicts] =
        ["kept.jsonl", "dropped.jsonl", "verdicts.jsonl"].map(|file| folder.path().join(file));
    let outputs = ["--keep", name(&kept), "--drop", name(&dropped), "--output", name(&verdicts)];
    let printed = run(["dedup", "examples/pages.jsonl"].iter().chain(&outputs)).stderr;
    let line = printed.lines().find(|line| line.contains(" kept, ")).expect("a line about documents");
    let readme = read("README.md");
    assert!(readme.contains(line), "{line}");
    let pages = ["en-rowing", "en-rowing-reprint"].map(|id| format!("examples/pages.jsonl#{id}"));
    let compared = run(["compare", &pages[0], &pages[1]]).stdout;
    let line = compared.lines().find(|line| line.contains("B to A: ")).expect("a line about the relation");
    assert!(readme.contains(&format!("\n{line}\n")), "{line}");
    let example =
        readme.split("```json\n").nth(1).and_then(|rest| rest.split("```").next()).expect("a verdict");
    let example: serde_json::Value = serde_json::from_str(example).expect("JSON");
    let verdicts = std::fs::read_to_string(verdicts).expect("verdicts");
    let mut verdicts =
        verdicts.lines().map(|line| serde_json::from_str::<serde_json::Value>(line).expect("a verdict"));
    let verdict = verdicts.find(|verdict| verdict["page_id"] == example["page_id"]).expect("its verdict");
    for (field, value) in example.as_object().expect("an object").iter().filter(|(field, _)| *field != "…")
    {
        assert_eq!(verdict[field], *value, "{field}");
    }
}
