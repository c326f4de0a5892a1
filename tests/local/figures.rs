//! Figures in the documents must agree with the program.

use crate::common::run;

fn document(path: &str) -> String {
    let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join(path);
    std::fs::read_to_string(path).expect("a document")
}

/// The picture in docs/concepts.md must show the numbers that `compare` prints.
#[test]
fn the_picture_in_concepts_shows_what_compare_prints() {
    let compared =
        run(["compare", "examples/pages.jsonl#en-rowing", "examples/pages.jsonl#en-rowing-reprint"]).stdout;
    let after = |name: &str| {
        let line = compared.lines().find_map(|line| line.trim_start().strip_prefix(name));
        line.unwrap_or_else(|| panic!("{name} in {compared}")).split_whitespace().next().unwrap_or_default()
    };
    let concepts = document("docs/concepts.md");
    let picture = concepts.split("```").nth(1).expect("a picture");
    let distance = after("simhash: distance").trim_end_matches(',');
    for figure in [
        format!("{distance} of 64 bits differ"),
        format!("agree in {} of 64 ({} needed)", after("sketch_matches  "), after("sketch_matches_needed")),
    ] {
        assert!(picture.contains(&figure), "{figure}:\n{picture}");
    }
    let fingerprints = compared.lines().find_map(|line| line.strip_prefix("fingerprint")).expect("a line");
    for fingerprint in fingerprints.split_whitespace() {
        assert!(picture.contains(&format!("SimHash {fingerprint}")), "{fingerprint}:\n{picture}");
    }
    let config = run(["config", "example"]).stdout;
    let allowed =
        config.lines().find_map(|line| line.trim_start_matches("# ").strip_prefix("max_distance = "));
    assert_eq!(
        allowed.map(|allowed| picture.contains(&format!("({allowed} allowed)"))),
        Some(true),
        "{config}"
    );
}

/// Both pages must round the same measured size to the same figure.
#[test]
fn the_readme_and_the_performance_page_state_the_same_size() {
    let table = document("docs/performance.md");
    let millions = table.split("a gigabyte holds ").nth(1).and_then(|rest| rest.split(' ').next());
    let millions = millions.expect("a number");
    let readme = document("README.md");
    assert!(readme.contains(&format!("a gigabyte holds {millions} million centroids")), "{millions}");
    let hundreds: f64 = millions.parse::<f64>().expect("a number") * 100.0;
    let operations = document("docs/zh/operations.md");
    assert!(operations.contains(&format!("每 GB 约容纳 {hundreds:.0} 万个质心")), "{hundreds}");
}
