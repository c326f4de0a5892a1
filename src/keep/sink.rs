//! Takes note of decisions on their way to where verdicts are written.

use std::sync::mpsc::{self, SyncSender};
use std::thread::{self, JoinHandle};

use anyhow::{Context, anyhow};

use super::spool::{Spool, Spooled};
use super::{Copied, Copier, Decision, InputNames};
use crate::sink::Sink;
use crate::verdict::Conclusion;

/// Batches of decisions that wait to be copied.
const QUEUE_BATCHES: usize = 16;

/// A sink before another one.
pub struct KeepSink<S> {
    inner: S,
    names: InputNames,
    copying: Option<Copying>,
    spool: Option<Spool>,
}

/// A thread that copies documents while the run goes on.
struct Copying {
    decisions: SyncSender<Vec<Decision>>,
    thread: JoinHandle<anyhow::Result<Copied>>,
}

/// What is there when the run is over.
pub struct Kept {
    /// If documents were copied meanwhile.
    pub copied: Option<Copied>,
    /// If decisions were spooled.
    pub spooled: Option<Spooled>,
}

impl<S: Sink> KeepSink<S> {
    /// Hands conclusions about the inputs `names` on to `inner`, and decisions to the others.
    ///
    /// # Errors
    /// There is no thread to be had.
    pub fn new(
        inner: S,
        names: InputNames,
        copier: Option<Copier>,
        spool: Option<Spool>,
    ) -> anyhow::Result<Self> {
        let copying = copier.map(Copying::start).transpose()?;
        Ok(Self { inner, names, copying, spool })
    }

    /// Waits until all is copied.
    ///
    /// # Errors
    /// It cannot be written.
    pub fn finish(self) -> anyhow::Result<Kept> {
        let copied = self.copying.map(Copying::finish).transpose()?;
        let spooled = self.spool.map(Spool::finish).transpose().context("cannot write decisions")?;
        Ok(Kept { copied, spooled })
    }
}

impl<S: Sink> Sink for KeepSink<S> {
    fn write(&mut self, conclusions: Vec<Conclusion>) -> anyhow::Result<()> {
        if self.copying.is_some() || self.spool.is_some() {
            let mut decisions = Vec::with_capacity(conclusions.len());
            for conclusion in &conclusions {
                let Conclusion::Verdict(verdict) = conclusion else { continue };
                let (input, number) = self.names.find(&verdict.source).context("a verdict on no input")?;
                decisions.push(Decision::of(verdict, input, number));
            }
            if let Some(spool) = &mut self.spool {
                decisions
                    .iter()
                    .try_for_each(|decision| spool.push(decision))
                    .context("cannot write decisions")?;
            }
            if let Some(copying) = self.copying.take() {
                self.copying = Some(copying.copy(decisions)?);
            }
        }
        self.inner.write(conclusions)
    }

    fn flush(&mut self) -> anyhow::Result<()> {
        self.inner.flush()
    }
}

impl Copying {
    fn start(mut copier: Copier) -> anyhow::Result<Self> {
        let (decisions, to_copy) = mpsc::sync_channel::<Vec<Decision>>(QUEUE_BATCHES);
        let thread = thread::Builder::new().name("copy".to_owned()).spawn(move || {
            for decision in to_copy.iter().flatten() {
                copier.copy(&decision)?;
            }
            copier.finish()
        })?;
        Ok(Self { decisions, thread })
    }

    /// Hands decisions on; if nobody takes them, says why.
    fn copy(self, decisions: Vec<Decision>) -> anyhow::Result<Self> {
        match self.decisions.send(decisions) {
            Ok(()) => Ok(self),
            Err(_) => {
                Err(self.finish().err().unwrap_or_else(|| anyhow!("the copying of documents has ended")))
            }
        }
    }

    fn finish(self) -> anyhow::Result<Copied> {
        drop(self.decisions);
        self.thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
    }
}
