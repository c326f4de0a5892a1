//! Stops a run before it writes documents, if too many documents of one source would be dropped.

use std::fmt::Write as _;

use super::accounts::Names;
use super::prefer::Choice;
use super::spool::Spooled;
use crate::error::{Error, Result};

/// Maximum number of sources that the error names.
const NAMED_MAX: usize = 5;

/// Minimum number of documents that a source must have to stop a run. Otherwise a site whose only page is a copy would
/// stop it.
const DOCUMENTS_MIN: u64 = 10;

/// The source of each document.
#[derive(Debug, Default)]
pub(crate) struct Sources {
    names: Names,
    /// The number of each document's source, in the order of the decisions.
    of_documents: Vec<u32>,
}

impl Sources {
    /// Adds the next document.
    pub(crate) fn push(&mut self, value: Option<&str>) {
        let number = self.names.number(value);
        self.of_documents.push(number);
    }

    /// Checks that no more than the share `removed_max` of any source would be dropped.
    ///
    /// # Errors
    /// More would be dropped, or the decisions cannot be read.
    pub(crate) fn check(&self, spooled: &mut Spooled, choice: &Choice, removed_max: f64) -> Result<()> {
        let mut counts: Vec<(u64, u64)> = Vec::new();
        let mut documents = (0..).zip(&self.of_documents);
        spooled.each(|_, decision| {
            let Some((ordinal, source)) = documents.next() else { return Ok(()) };
            let source = *source as usize;
            if counts.len() <= source {
                counts.resize(source + 1, (0, 0));
            }
            counts[source].0 += 1;
            counts[source].1 += u64::from(!choice.keeps(ordinal, decision));
            Ok(())
        })?;
        let beyond = beyond(&counts, removed_max);
        if beyond.is_empty() {
            return Ok(());
        }
        let mut named = String::new();
        for (source, counts) in beyond.iter().take(NAMED_MAX) {
            let (documents, dropped) = counts;
            let name = self.names.name(*source);
            let name = name.map_or("without a value".to_owned(), |name| format!("{name:?}"));
            let _ = write!(
                named,
                "\n  {name}: {dropped} of {documents} documents ({:.1} %)",
                100.0 * share(*counts)
            );
        }
        if beyond.len() > NAMED_MAX {
            let _ = write!(named, "\n  and {} more sources", beyond.len() - NAMED_MAX);
        }
        Err(Error::refused(format_args!(
            "--source-removed-max {removed_max}: more than this share of a source would be \
             dropped:{named}\nNo document is written, and the table is not saved. Check the verdicts \
             (--output), then raise the limit or read other inputs"
        )))
    }
}

/// Returns the sources that lose more than the share `removed_max`, with their documents and how many would be dropped;
/// those that lose most come first.
fn beyond(counts: &[(u64, u64)], removed_max: f64) -> Vec<(u32, (u64, u64))> {
    let mut beyond: Vec<(u32, (u64, u64))> = (0..)
        .zip(counts.iter().copied())
        .filter(|(_, counts)| counts.0 >= DOCUMENTS_MIN && share(*counts) > removed_max)
        .collect();
    beyond.sort_by_key(|(source, (_, dropped))| (std::cmp::Reverse(*dropped), *source));
    beyond
}

fn share((documents, dropped): (u64, u64)) -> f64 {
    dropped as f64 / documents.max(1) as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    /// With `--by host`, nearly every crawl has hosts with a single page, which is a copy. They must not stop the run.
    #[test]
    fn a_source_of_a_few_documents_stops_no_run() {
        let counts = [(1, 1), (9, 9), (10, 9), (20, 11), (20, 10)];
        assert_eq!(beyond(&counts, 0.5), [(3, (20, 11)), (2, (10, 9))]);
        assert_eq!(beyond(&counts, 1.0), []);
    }
}
