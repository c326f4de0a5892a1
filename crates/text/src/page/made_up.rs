//! Generated addresses for documents that have no url: `document:FILE#ROW`.
//!
//! Such an address names the place of a document in a file. The same address may later belong to another
//! text, so two documents with the same address are not necessarily crawls of the same page.

use std::sync::OnceLock;

use leitong_base::hashed::Seed;

const SCHEME: &str = "document:";

/// Returns the address of a row, counted from 1, of the input named `input`. The address of a row of standard
/// input, `-`, differs from run to run.
#[must_use]
pub fn url(input: &str, row: u64) -> String {
    if input == "-" {
        return format!("{SCHEME}stdin-{:016x}#{row}", run());
    }
    format!("{SCHEME}{input}#{row}")
}

/// Returns true for an address that [`url()`] has generated.
#[must_use]
pub fn is_made_up(url: &str) -> bool {
    url.starts_with(SCHEME)
}

/// Returns a random number that identifies this run of the program.
fn run() -> u64 {
    static RUN: OnceLock<u64> = OnceLock::new();
    *RUN.get_or_init(|| Seed::default().place(0))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_of_files_keep_their_addresses_but_rows_of_standard_input_do_not() {
        assert_eq!(url("a/b.jsonl.gz", 7), "document:a/b.jsonl.gz#7");
        let piped = url("-", 1);
        assert!(piped.starts_with("document:stdin-") && piped.ends_with("#1"), "{piped}");
        assert_eq!(piped.len(), "document:stdin-0123456789abcdef#1".len());
        assert!(is_made_up(&piped) && !is_made_up("https://a.example/document:b#1"));
    }
}
