//! Addresses of documents that have no url: `document:FILE#ROW`.
//!
//! They name where a document stands in a file. So the same address may stand for other text tomorrow,
//! and nobody may conclude from it that two documents are crawls of one page.

use std::sync::OnceLock;

use crate::hashed::Seed;

const SCHEME: &str = "document:";

/// Returns the address of a row, counted from 1, of the input that is called so. That of standard
/// input, `-`, differs from run to run.
#[must_use]
pub fn url(input: &str, row: u64) -> String {
    if input == "-" {
        return format!("{SCHEME}stdin-{:016x}#{row}", run());
    }
    format!("{SCHEME}{input}#{row}")
}

/// Returns true for an address that [`url()`] makes.
#[must_use]
pub fn is_made_up(url: &str) -> bool {
    url.starts_with(SCHEME)
}

/// A number of this run of the program.
fn run() -> u64 {
    static RUN: OnceLock<u64> = OnceLock::new();
    *RUN.get_or_init(|| Seed::default().place(0))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_of_files_keep_their_addresses_and_those_of_standard_input_do_not() {
        assert_eq!(url("a/b.jsonl.gz", 7), "document:a/b.jsonl.gz#7");
        let piped = url("-", 1);
        assert!(piped.starts_with("document:stdin-") && piped.ends_with("#1"), "{piped}");
        assert_eq!(piped.len(), "document:stdin-0123456789abcdef#1".len());
        assert!(is_made_up(&piped) && !is_made_up("https://a.example/document:b#1"));
    }
}
