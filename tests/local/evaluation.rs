//! `idf build` and `boilerplate build` as users run them, over a small generated stream.

use std::path::Path;

use serde_json::{Value, json};

use crate::common::article::articles_and_copies;
use crate::common::{run, write};

fn text(path: &Path) -> &str {
    path.to_str().expect("UTF-8")
}

#[test]
fn tables_and_lists_that_are_built_can_be_used() {
    let folder = tempfile::tempdir().expect("a folder");
    let pages = write(folder.path(), "labelled.jsonl", articles_and_copies(true));
    let footer = "本站所有文章均为原创，未经许可不得转载，违者必究，特此声明，请各位读者互相转告。";
    let with_footer: String = std::fs::read_to_string(&pages)
        .expect("pages")
        .lines()
        .map(|line| {
            let mut page: Value = serde_json::from_str(line).expect("JSON");
            page["text"] = json!(format!("{}\n{footer}", page["text"].as_str().expect("a text")));
            format!("{page}\n")
        })
        .collect();
    let pages = write(folder.path(), "footers.jsonl", with_footer);
    let [idf, list] = ["idf.tsv", "boilerplate.txt"].map(|name| folder.path().join(name));
    assert_eq!(run(["idf", "build", "--output", text(&idf), text(&pages)]).status, 0);
    assert_eq!(run(["boilerplate", "build", "--output", text(&list), text(&pages)]).status, 0);
    let common = std::fs::read_to_string(&list).expect("a list");
    assert!(common.contains("本站所有文章均为原创"), "{common}");
    assert_eq!(common.lines().count(), 3, "{common}");
    let config = write(
        folder.path(),
        "own.toml",
        "detector = \"paragraph\"\n[idf]\nfile = \"idf.tsv\"\n[paragraph]\nidf = true\nboilerplate_file = \"boilerplate.txt\"\n",
    );
    let compared = run([
        "compare",
        "--config",
        text(&config),
        &format!("{}#0-new", text(&pages)),
        &format!("{}#1-new", text(&pages)),
    ]);
    assert_eq!(compared.status, 0, "{}", compared.stderr);
    assert!(
        compared.stdout.contains("shared_paragraphs      0"),
        "the footer counts for nothing: {}",
        compared.stdout
    );
    // Both files are part of the fingerprint hash.
    let hash = |config: &Path| {
        let check = run(["config", "check", text(config)]);
        assert_eq!(check.status, 0, "{}", check.stderr);
        check.stdout.rsplit(' ').next().expect("a hash").to_owned()
    };
    let before = hash(&config);
    std::fs::write(
        &idf,
        std::fs::read_to_string(&idf).expect("a table").replace("documents\t24", "documents\t25"),
    )
    .expect("written");
    let between = hash(&config);
    std::fs::write(&list, format!("{common}另一个页脚\n")).expect("written");
    assert!(before != between && between != hash(&config));
}
