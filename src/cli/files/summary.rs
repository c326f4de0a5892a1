//! The summary that a run prints at its end.

use std::fmt::Write;
use std::time::Duration;

use leitong_cluster::verdict::Kind;
use leitong_formats::source::Skipped;
use leitong_keep::sink::{Counts, Language};

/// Formats the counts of a run.
pub(crate) fn format_summary(
    counts: &Counts,
    skipped: Skipped,
    centroids: usize,
    elapsed: Duration,
) -> String {
    let mut out = String::new();
    let records = counts.records();
    let seconds = elapsed.as_secs_f64();
    #[expect(clippy::cast_precision_loss, reason = "for display")]
    let per_second = records as f64 / seconds.max(0.001);
    let _ = writeln!(out, "{records} records in {seconds:.1} s ({per_second:.0}/s)");
    for kind in Kind::ALL {
        let _ = writeln!(out, "{:>12}  {}", counts.verdicts_of_kind(kind), kind.as_str());
        if kind == Kind::Undecidable {
            for (reason, count) in counts.reasons() {
                let _ = writeln!(out, "{count:>16}  {}", reason.as_str());
            }
        }
    }
    let _ = writeln!(out, "{:>12}  dead letters", counts.dead_letters());
    for (cause, count) in counts.causes() {
        let _ = writeln!(out, "{count:>16}  {cause}");
    }
    let _ = writeln!(out, "{centroids:>12}  centroids in the table");
    let warc_records = skipped.warc_records.total();
    if warc_records > 0 {
        let types = skipped.warc_records;
        let _ = writeln!(out, "{warc_records:>12}  WARC records of other types, skipped: {types}");
    }
    let skipped = [
        ("blank lines, skipped", skipped.blank_lines),
        ("lines of indexes, skipped by [input.filter]", skipped.index_lines),
    ];
    let of_mapping = counts.skipped_in_words();
    for (what, count) in skipped.into_iter().filter(|(_, count)| *count > 0).chain(of_mapping) {
        let _ = writeln!(out, "{count:>12}  {what}");
    }
    for (language, Language { used, skipped }) in counts.languages() {
        let _ = writeln!(out, "{:>16}  {language}", used + skipped);
    }
    out + &format_repairs(counts)
}

/// Formats the counts of what was repaired, a line each.
pub(crate) fn format_repairs(counts: &Counts) -> String {
    let mut out = String::new();
    for (what, count) in counts.repaired_in_words() {
        let _ = writeln!(out, "{count:>12}  {what}");
    }
    for (charset, count) in counts.unknown_charsets() {
        let _ =
            writeln!(out, "{count:>12}  pages in the unknown charset {charset:?}, read in a detected one");
    }
    out
}
