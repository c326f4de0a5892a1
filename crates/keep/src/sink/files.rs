//! Writes verdicts to one place and dead letters to another, and counts both.

use std::sync::Arc;

use super::whole_lines::WholeLines;
use super::{Extents, Sink};
use crate::error::{Context, Result};
use crate::sink::counts::Counts;
use leitong_base::record::Unreadable;
use leitong_cluster::verdict::Conclusion;

/// Error if verdicts cannot be written, with the option that names their file.
const VERDICTS_FAIL: &str = "cannot write the verdicts (--output)";
/// Error if dead letters cannot be written.
const DEAD_LETTERS_FAIL: &str = "cannot write dead letters (--dead-letters)";

/// The destination of dead letters.
pub enum DeadLetters {
    /// A file, with one JSON object per line.
    File(WholeLines),
    /// A log that people read.
    Log(Box<dyn FnMut(&Unreadable) + Send>),
}

/// The sink of `dedup`.
pub struct FileSink {
    verdicts: Option<WholeLines>,
    dead_letters: DeadLetters,
    counts: Arc<Counts>,
}

impl FileSink {
    /// Creates a sink that counts in `counts`. Without `verdicts`, only dead letters are written.
    #[must_use]
    pub fn new(verdicts: Option<WholeLines>, dead_letters: DeadLetters, counts: Arc<Counts>) -> Self {
        Self { verdicts, dead_letters, counts }
    }
}

impl Sink for FileSink {
    fn write(&mut self, conclusions: Vec<Conclusion>) -> Result<()> {
        for conclusion in &conclusions {
            match conclusion {
                Conclusion::Verdict(verdict) => {
                    if let Some(verdicts) = &mut self.verdicts {
                        verdicts.push(verdict).context(VERDICTS_FAIL)?;
                    }
                }
                Conclusion::DeadLetter(letter) => match &mut self.dead_letters {
                    DeadLetters::File(lines) => {
                        lines.push(letter).context(DEAD_LETTERS_FAIL)?;
                    }
                    DeadLetters::Log(log) => log(letter),
                },
            }
            self.counts.conclusion(conclusion);
        }
        Ok(())
    }

    fn flush(&mut self) -> Result<()> {
        if let Some(verdicts) = &mut self.verdicts {
            verdicts.flush().context(VERDICTS_FAIL)?;
        }
        if let DeadLetters::File(lines) = &mut self.dead_letters {
            lines.flush().context(DEAD_LETTERS_FAIL)?;
        }
        Ok(())
    }

    fn extents(&mut self) -> Result<Extents> {
        let mut extents = Extents::new();
        if let Some(verdicts) = &mut self.verdicts {
            extents.insert("verdicts".to_owned(), verdicts.extent().context(VERDICTS_FAIL)?);
        }
        if let DeadLetters::File(lines) = &mut self.dead_letters {
            extents.insert("dead_letters".to_owned(), lines.extent().context(DEAD_LETTERS_FAIL)?);
        }
        Ok(extents)
    }
}
