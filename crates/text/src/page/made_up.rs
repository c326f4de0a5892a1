//! Generated addresses for documents that have no url: `document:FILE#ROW`.
//!
//! Such an address names the place of a document in a file. The same address may later belong to another
//! text, so two documents with the same address are not necessarily crawls of the same page.

use std::sync::OnceLock;

use super::Page;
use leitong_base::hashed::Seed;

const SCHEME: &str = "document:";

impl Page {
    /// Returns the address of a row, counted from 1, of the input named `input`. The address of a row of standard
    /// input, `-`, differs from run to run.
    #[must_use]
    pub fn made_up_url(input: &str, row: u64) -> String {
        if input == "-" {
            return format!("{SCHEME}stdin-{:016x}#{row}", run());
        }
        format!("{SCHEME}{input}#{row}")
    }

    /// Returns true for an address that [`Self::made_up_url`] has generated.
    #[must_use]
    pub fn is_made_up_url(url: &str) -> bool {
        url.starts_with(SCHEME)
    }
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
        assert_eq!(Page::made_up_url("a/b.jsonl.gz", 7), "document:a/b.jsonl.gz#7");
        let piped = Page::made_up_url("-", 1);
        assert!(piped.starts_with("document:stdin-") && piped.ends_with("#1"), "{piped}");
        assert_eq!(piped.len(), "document:stdin-0123456789abcdef#1".len());
        assert!(Page::is_made_up_url(&piped) && !Page::is_made_up_url("https://a.example/document:b#1"));
    }
}
