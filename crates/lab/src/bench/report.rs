//! Measures the table after the stages, and formats all figures as tables and as JSON.

use std::fmt::{self, Display};

use serde::Serialize;

use super::machine::{Machine, memory_is_short};
use super::stages::StageFigures;
use super::table::{self, Plan, TableFigures, configured_detector, plain_detector};
use leitong_fingerprint::detectors::simhash::SimHashConfig;
use leitong_fingerprint::detectors::simhash::generated::Fingerprints;

/// Share of the memory that centroids may take. The rest is for pages in progress, segmentation, and the
/// system.
const MEMORY_SHARE: f64 = 0.75;

/// Minimum number of pages to estimate from their fingerprints how often each bit is set.
const EXAMPLES_MIN: usize = 100;

/// All figures.
#[derive(Debug, Clone, Serialize)]
pub(crate) struct Report {
    /// Machine that was measured.
    machine: Machine,
    /// Names of the inputs.
    inputs: Vec<String>,
    /// Times of the stages.
    stages: StageFigures,
    /// Figures of the centroid table.
    table: Vec<TableFigures>,
    /// Number of centroids that fit into this machine's memory with the configured look-up.
    centroids_held: Option<u64>,
}

impl Report {
    /// Measures the table with the configured look-up, and with the plain one of the SimHash paper
    /// at each of `distances`. For each look-up, one table is filled with evenly distributed fingerprints,
    /// one with skewed ones, and, if there are enough pages, one with fingerprints that are distributed like
    /// those of the pages.
    pub(crate) fn measure(
        inputs: Vec<String>,
        stages: StageFigures,
        config: &SimHashConfig,
        distances: &[u32],
        plan: &Plan,
        mut progress: impl FnMut(&str),
    ) -> Self {
        let mut sources =
            vec![("even", Fingerprints::even(plan.seed)), ("skewed", Fingerprints::skewed(plan.seed))];
        if stages.hashes.len() >= EXAMPLES_MIN {
            sources.push(("like the pages'", Fingerprints::like(plan.seed, &stages.hashes)));
        }
        let configured = (configured_detector(config), config.near.max_distance);
        let plain = distances.iter().map(|distance| (plain_detector(*distance), *distance));
        let mut table = Vec::new();
        for (detector, max_distance) in std::iter::once(configured).chain(plain) {
            for source in &sources {
                let measured =
                    table::measure(&detector, max_distance, source, plan, memory_is_short, &mut progress);
                table.extend(measured);
            }
        }
        let machine = Machine::this();
        let configured =
            table.iter().filter(|row| Some(&row.look_up) == table.first().map(|first| &first.look_up));
        let bytes = configured.max_by_key(|row| row.centroids).map(|row| row.hot_bytes + row.cold_bytes);
        let centroids_held = machine
            .memory_bytes
            .zip(bytes)
            .map(|(memory, bytes)| (memory as f64 * MEMORY_SHARE / bytes) as u64);
        Self { machine, inputs, stages, table, centroids_held }
    }
}

impl Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let StageFigures { pages, page_bytes, text_bytes, micros, micros_a_page, .. } = &self.stages;
        writeln!(
            f,
            "{pages} pages of {:.1} KB, {:.1} KB of main text, one core\n",
            page_bytes / 1e3,
            text_bytes / 1e3
        )?;
        writeln!(f, "| stage | µs per page | pages/s | share |\n|---|---|---|---|")?;
        let whole = [("all", *micros_a_page)];
        for (stage, micros) in micros.iter().chain(&whole) {
            let (rate, share) = (1e6 / micros.max(1e-3), 100.0 * micros / micros_a_page.max(1e-3));
            writeln!(f, "| {stage} | {micros:.1} | {rate:.0} | {share:.0} % |")?;
        }
        writeln!(
            f,
            "\nThe centroid table, one core, half of the queries near a centroid\n\n\
             | look-up | fingerprints | centroids | look-ups/s | found | duplicates/s | insertions/s | bytes hot | bytes cold |\n\
             |---|---|---|---|---|---|---|---|---|"
        )?;
        for row in &self.table {
            writeln!(
                f,
                "| {} | {} | {} | {} | {:.1} % | {} | {} | {:.0} | {:.0} |",
                row.look_up,
                row.fingerprints,
                thousands(row.centroids as f64),
                thousands(row.look_ups_per_second),
                row.found_percent,
                thousands(row.duplicates_per_second),
                thousands(row.insertions_per_second),
                row.hot_bytes,
                row.cold_bytes,
            )?;
        }
        let Machine { cores, memory_bytes } = &self.machine;
        let capacity = *cores as f64 * 1e6 / micros_a_page.max(1e-3);
        writeln!(f, "\n{cores} cores: about {} such pages per second.", thousands(capacity))?;
        if let (Some(memory), Some(held)) = (memory_bytes, self.centroids_held) {
            let gib = *memory as f64 / f64::from(1 << 30);
            writeln!(
                f,
                "{gib:.1} GiB of memory: three quarters of it hold about {:.0} million unique pages.",
                held as f64 / 1e6
            )?;
        }
        Ok(())
    }
}

/// Formats a number with the prefix k or M, to about three significant digits.
fn thousands(number: f64) -> String {
    match number {
        n if n >= 1e6 => format!("{:.3} M", n / 1e6),
        n if n >= 1e3 => format!("{:.1} k", n / 1e3),
        n => format!("{n:.0}"),
    }
}
