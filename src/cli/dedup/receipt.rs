//! Writes the receipt of a run.

use std::path::Path;
use std::sync::Arc;

use anyhow::{Context, ensure};
use serde_json::{Value, json};

use super::Run;
use crate::cli::files::parts::RECEIPT;
use crate::cli::files::receipt::{Entry, Receipt};
use leitong_base::record::Timestamp;
use leitong_cluster::verdict::Kind;
use leitong_formats::source::{Reading, is_object};
use leitong_keep::sink::{Counts, WholeLines};
use leitong_pipeline::config::hash::reading_hash;

impl Run<'_> {
    /// Writes the receipt, if one is requested. All other outputs are complete. `documents` are the counts of documents.
    ///
    /// # Errors
    /// An input was changed after it was read, or a file cannot be read or written.
    pub(super) fn write_receipt(
        &self,
        counts: &Counts,
        readings: &[Arc<Reading>],
        documents: &Value,
    ) -> anyhow::Result<()> {
        let Some(path) = self.arguments.kept.receipt() else { return Ok(()) };
        let others = self.parts.written().filter(|(option, ..)| *option != RECEIPT);
        let outputs: Vec<(&Path, &Path)> = others.map(|(_, path, part)| (path, part)).collect();
        let benchmarks = self.arguments.kept.benchmarks().iter().filter(|path| !is_object(path));
        let mut named = self.arguments.decision.files(&self.config);
        named.extend(benchmarks.cloned());
        let named: Vec<(&Path, &Path)> = named.iter().map(|path| (&**path, &**path)).collect();
        let inputs = Entry::of_inputs(&self.paths, &self.objects)?;
        for (path, reading) in self.paths.iter().zip(readings) {
            ensure!(
                reading.part().is_unchanged(path)?,
                "{}: was changed after this run had read it, so no receipt can be given; run again",
                path.display()
            );
        }
        let hashes = [reading_hash(&self.config), self.table.fingerprint_hash, self.table.cluster_hash];
        let kinds = Kind::ALL.map(|kind| (kind.as_str(), counts.verdicts_of_kind(kind).into()));
        let receipt = Receipt {
            leitong_receipt: Receipt::FORMAT,
            version: env!("CARGO_PKG_VERSION").to_owned(),
            arguments: std::env::args_os()
                .skip(1)
                .map(|argument| argument.to_string_lossy().into_owned())
                .collect(),
            settings: hashes.map(|hash| format!("{hash:016x}")),
            started_at: self.started_at.to_string(),
            ended_at: Timestamp::now().to_string(),
            inputs,
            settings_files: Entry::of_files(&named)?,
            outputs: Entry::of_files(&outputs)?,
            counts: json!({
                // Verdicts before the run was resumed are counted in the documents only.
                "resumed": self.checkpoint.is_some(),
                "verdicts": serde_json::Map::from_iter(kinds.map(|(kind, count): (_, Value)| (kind.to_owned(), count))),
                "dead_letters": self.earlier_faults().and(counts).dead_letters,
                "skipped": counts.skipped_in_words(),
                "languages": counts.languages(),
                "kept_and_dropped": documents,
            }),
        };
        let write = || {
            let mut lines = WholeLines::create(path)?;
            lines.push_text(&(serde_json::to_string_pretty(&receipt)? + "\n"))?;
            anyhow::Ok(lines.flush()?)
        };
        write().with_context(|| format!("cannot write {}", path.display()))
    }
}
