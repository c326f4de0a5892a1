//! Passes decisions on to the copier and the spool, in front of the sink of verdicts.

use std::sync::mpsc::{self, Receiver, SyncSender};
use std::thread::{self, JoinHandle};

use anyhow::{Context, anyhow};

use super::Decision;
use super::copy::{Copier, Finished};
use super::spool::{Spool, Spooled};
use super::verify::texts::{TextFile, TextPlace};
use crate::sink::{Extents, Sink};
use crate::source::inputs::InputNames;
use leitong_cluster::verdict::Conclusion;

/// Maximum number of batches of decisions that wait to be copied.
const QUEUE_BATCHES: usize = 16;

/// A sink in front of the sink of verdicts.
pub struct KeepSink<S> {
    inner: S,
    names: InputNames,
    copying: Option<Copying>,
    spool: Option<Spool>,
    texts: Option<StoredTexts>,
}

/// The texts of documents, which are stored for verification or the search for passages.
pub(super) struct StoredTexts {
    /// Receives the compressed text of each document, or `None` if it has no text, in the order of the decisions.
    pub(super) compressed: Receiver<Option<Box<[u8]>>>,
    /// The file in which the texts are stored.
    pub(super) file: TextFile,
}

/// A thread that copies documents during the run.
struct Copying {
    steps: SyncSender<Step>,
    thread: JoinHandle<anyhow::Result<Finished>>,
}

/// A record of an input, with its decision if it has a document.
enum Processed {
    Document(Box<Decision>),
    /// A record without a document: the index of its input, and its number.
    NoDocument(usize, u64),
}

/// A task for the thread.
enum Step {
    Copy(Vec<Processed>),
    /// Sync all documents to disk, and send back the length of each output.
    Extents(SyncSender<Extents>),
}

/// The results that are available at the end of the run.
pub(super) struct Kept {
    /// The results of copying, if documents were copied during the run.
    pub(super) copied: Option<Finished>,
    /// The decisions, if they were spooled.
    pub(super) spooled: Option<Spooled>,
    /// The texts of the documents, if they were stored.
    pub(super) texts: Option<TextFile>,
}

impl<S: Sink> KeepSink<S> {
    /// Creates a sink that passes conclusions about the inputs `names` on to `inner`, and decisions to
    /// `copier` and `spool`. With `texts`, each decision gets the place of the document's text.
    ///
    /// # Errors
    /// The thread cannot be started.
    pub(super) fn new(
        inner: S,
        names: InputNames,
        copier: Option<Copier>,
        spool: Option<Spool>,
        texts: Option<StoredTexts>,
    ) -> anyhow::Result<Self> {
        let copying = copier.map(Copying::start).transpose()?;
        Ok(Self { inner, names, copying, spool, texts })
    }

    /// Waits until everything is copied.
    ///
    /// # Errors
    /// The documents cannot be written.
    pub(super) fn finish(self) -> anyhow::Result<Kept> {
        let copied = self.copying.map(Copying::finish).transpose()?;
        let spooled = self.spool.map(Spool::finish).transpose().context(CANNOT_NOTE)?;
        Ok(Kept { copied, spooled, texts: self.texts.map(|texts| texts.file) })
    }
}

impl<S: Sink> Sink for KeepSink<S> {
    fn write(&mut self, conclusions: Vec<Conclusion>) -> anyhow::Result<()> {
        if self.copying.is_some() || self.spool.is_some() {
            let mut processed = Vec::with_capacity(conclusions.len());
            for conclusion in &conclusions {
                let text = self.texts.as_mut().map_or(Ok(None), StoredTexts::store_next)?;
                let (input, number) =
                    self.names.find(conclusion.source()).context("a record that belongs to no input")?;
                processed.push(match conclusion {
                    Conclusion::Verdict(verdict) => {
                        let decision = Decision { text, ..Decision::new(verdict, input, number) };
                        Processed::Document(Box::new(decision))
                    }
                    Conclusion::DeadLetter(_) => Processed::NoDocument(input, number),
                });
            }
            if let Some(spool) = &mut self.spool {
                let spooled = processed.iter().try_for_each(|record| match record {
                    Processed::Document(decision) => spool.push(decision),
                    Processed::NoDocument(..) => Ok(()),
                });
                spooled.context(CANNOT_NOTE)?;
            }
            if let Some(copying) = self.copying.take() {
                self.copying = Some(copying.send(Step::Copy(processed))?);
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
            extents.insert("decisions".to_owned(), spool.extent().context(CANNOT_NOTE)?);
        }
        if let Some(texts) = &mut self.texts {
            extents.insert("texts".to_owned(), texts.file.extent().context(CANNOT_STORE)?);
        }
        if let Some(copying) = self.copying.take() {
            let (sender, receiver) = mpsc::sync_channel(1);
            let copying = copying.send(Step::Extents(sender))?;
            match receiver.recv() {
                Ok(of_documents) => extents.extend(of_documents),
                Err(_) => return Err(copying.failed()),
            }
            self.copying = Some(copying);
        }
        Ok(extents)
    }
}

/// Context of errors in storing texts.
const CANNOT_STORE: &str = "cannot store texts for --verify or for passages, in a temporary file next to the outputs or in the \
                            checkpoint's folder";

/// Context of errors of the file with decisions.
const CANNOT_NOTE: &str =
    "cannot store decisions, in a temporary file next to the outputs or in the checkpoint's folder";

impl StoredTexts {
    /// Stores the text of the next record, and returns its place.
    fn store_next(&mut self) -> anyhow::Result<Option<TextPlace>> {
        // The text is sent before the record is decided on, so it is here already.
        let compressed = self.compressed.recv().context("the text of a record was not passed on")?;
        compressed.map(|compressed| self.file.push(&compressed)).transpose().context(CANNOT_STORE)
    }
}

impl Copying {
    fn start(mut copier: Copier) -> anyhow::Result<Self> {
        let (steps, to_do) = mpsc::sync_channel::<Step>(QUEUE_BATCHES);
        let thread = thread::Builder::new().name("copy".to_owned()).spawn(move || {
            for step in to_do {
                match step {
                    Step::Copy(processed) => processed.into_iter().try_for_each(|record| match record {
                        Processed::Document(decision) => copier.copy(&decision),
                        Processed::NoDocument(input, number) => copier.leave_out(input, number),
                    })?,
                    // If sending fails, the requester is gone.
                    Step::Extents(sender) => drop(sender.send(copier.extents()?)),
                }
            }
            copier.finish()
        })?;
        Ok(Self { steps, thread })
    }

    /// Sends a task to the thread. If the thread has ended, returns its error.
    fn send(self, step: Step) -> anyhow::Result<Self> {
        match self.steps.send(step) {
            Ok(()) => Ok(self),
            Err(_) => Err(self.failed()),
        }
    }

    /// Returns the error that ended the thread.
    fn failed(self) -> anyhow::Error {
        self.finish()
            .err()
            .unwrap_or_else(|| anyhow!("the thread that copies documents has ended unexpectedly"))
    }

    fn finish(self) -> anyhow::Result<Finished> {
        drop(self.steps);
        self.thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
    }
}
