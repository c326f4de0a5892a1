//! Takes note of decisions on their way to where verdicts are written.

use std::sync::mpsc::{self, SyncSender};
use std::thread::{self, JoinHandle};

use anyhow::{Context, anyhow};

use super::spool::{Spool, Spooled};
use super::{Copied, Copier, Decision};
use crate::sink::{Extents, Sink};
use crate::source::inputs::InputNames;
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
    steps: SyncSender<Step>,
    thread: JoinHandle<anyhow::Result<Copied>>,
}

/// A record that is dealt with.
enum Taken {
    Document(Decision),
    /// At this number of this input.
    NoDocument(usize, u64),
}

/// What the thread is told.
enum Step {
    Copy(Vec<Taken>),
    /// Bring all to disk, and say how far it has come.
    Extents(SyncSender<Extents>),
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
            let mut taken = Vec::with_capacity(conclusions.len());
            for conclusion in &conclusions {
                let (input, number) = self.names.find(conclusion.source()).context("of no input")?;
                taken.push(match conclusion {
                    Conclusion::Verdict(verdict) => Taken::Document(Decision::of(verdict, input, number)),
                    Conclusion::DeadLetter(_) => Taken::NoDocument(input, number),
                });
            }
            if let Some(spool) = &mut self.spool {
                let spooled = taken.iter().try_for_each(|taken| match taken {
                    Taken::Document(decision) => spool.push(decision),
                    Taken::NoDocument(..) => Ok(()),
                });
                spooled.context("cannot write decisions")?;
            }
            if let Some(copying) = self.copying.take() {
                self.copying = Some(copying.tell(Step::Copy(taken))?);
            }
        }
        self.inner.write(conclusions)
    }

    fn flush(&mut self) -> anyhow::Result<()> {
        self.inner.flush()
    }

    fn extents(&mut self) -> anyhow::Result<Extents> {
        let mut extents = self.inner.extents()?;
        if let Some(spool) = &mut self.spool {
            extents.insert("decisions".to_owned(), spool.extent().context("cannot write decisions")?);
        }
        if let Some(copying) = self.copying.take() {
            let (say, said) = mpsc::sync_channel(1);
            let copying = copying.tell(Step::Extents(say))?;
            match said.recv() {
                Ok(of_documents) => extents.extend(of_documents),
                Err(_) => return Err(copying.failed()),
            }
            self.copying = Some(copying);
        }
        Ok(extents)
    }
}

impl Copying {
    fn start(mut copier: Copier) -> anyhow::Result<Self> {
        let (steps, to_do) = mpsc::sync_channel::<Step>(QUEUE_BATCHES);
        let thread = thread::Builder::new().name("copy".to_owned()).spawn(move || {
            for step in to_do {
                match step {
                    Step::Copy(taken) => taken.into_iter().try_for_each(|taken| match taken {
                        Taken::Document(decision) => copier.copy(&decision),
                        Taken::NoDocument(input, number) => copier.leave_out(input, number),
                    })?,
                    // Whoever asked is gone if nobody takes the answer.
                    Step::Extents(say) => drop(say.send(copier.extents()?)),
                }
            }
            copier.finish()
        })?;
        Ok(Self { steps, thread })
    }

    /// Hands a step on; if nobody takes it, says why.
    fn tell(self, step: Step) -> anyhow::Result<Self> {
        match self.steps.send(step) {
            Ok(()) => Ok(self),
            Err(_) => Err(self.failed()),
        }
    }

    /// Why the thread has ended.
    fn failed(self) -> anyhow::Error {
        self.finish().err().unwrap_or_else(|| anyhow!("the copying of documents has ended"))
    }

    fn finish(self) -> anyhow::Result<Copied> {
        drop(self.steps);
        self.thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
    }
}
