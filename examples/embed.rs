//! Leitong embedded in another program: reads pages from standard input, a url and
//! a text on each line separated by a tab, and prints the new ones.
//!
//! ```text
//! printf 'https://a.example/\tSome text of sixty letters or more, since shorter ones cannot be told apart.\n' |
//!   cargo run --release --example embed
//! ```

use std::io::{self, BufRead};

use leitong::{Config, Deduplicator, Kind, Page};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut deduplicator = Deduplicator::new(&Config::default())?;
    for line in io::stdin().lock().lines() {
        let line = line?;
        let (url, text) =
            line.split_once('\t').ok_or("a line without a tab: write the url, a tab and the text")?;
        let verdict = deduplicator.decide(Page::text(url, text))?;
        match verdict.kind {
            Kind::Unique | Kind::Undecidable => println!("{url}"),
            Kind::ExactDuplicate | Kind::NearDuplicate => {
                eprintln!("{url} repeats {}", verdict.canonical_url.unwrap_or_default());
            }
        }
    }
    eprintln!("{} different texts", deduplicator.centroid_count());
    Ok(())
}
