//! Passes decisions on to the copier and the spool, in front of the sink of verdicts.

use std::io;
use std::sync::mpsc::{self, Receiver, SyncSender};
use std::thread::{self, JoinHandle};

use super::Decision;
use super::copy::{Copier, Finished};
use super::spool::{Spool, Spooled};
use super::verify::shortened;
use super::verify::texts::{TextFile, TextPlace};
use crate::error::{Context, Error, Result};
use crate::sink::{Extents, Sink};
use leitong_cluster::verdict::Conclusion;
use leitong_formats::source::InputNames;

/// Maximum number of batches of decisions that wait to be copied.
const QUEUE_BATCHES: usize = 16;
/// Size of the texts that are sent together to be written, in bytes.
const STEP_BYTES: usize = 2 << 20;

/// A sink in front of the sink of verdicts.
pub struct KeepSink<S> {
    inner: S,
    names: InputNames,
    copying: Option<Copying>,
    spool: Option<Spool>,
    texts: Option<StoredTexts>,
}

/// The texts of a page, compressed, if they are requested and the page has them.
#[derive(Debug, Clone, Default)]
pub struct PageTexts {
    /// The normalised text, for verification or the search for passages.
    pub normalised: Option<Box<[u8]>>,
    /// The [`Text`](super::texts::Text) that is written if the document is kept.
    pub written: Option<Box<[u8]>>,
    /// The title.
    pub title: Option<String>,
    /// The language of the text.
    pub language: Option<&'static str>,
}

/// The texts of documents, which are needed after the decision on them.
pub(super) struct StoredTexts {
    /// Receives the texts of each record, in the order of the decisions.
    pub(super) received: Receiver<PageTexts>,
    /// The file in which the texts wait for the end of the run, if any have to.
    pub(super) file: Option<TextFile>,
}

/// A thread that copies documents during the run.
struct Copying {
    steps: SyncSender<Step>,
    thread: JoinHandle<Result<Finished>>,
}

/// A record of an input, with its decision if it has a document.
enum Processed {
    /// With the compressed text that is to be written, if it did not have to be stored.
    Document(Box<Decision>, Option<Box<[u8]>>),
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
    ) -> Result<Self> {
        let copying = copier.map(Copying::start).transpose()?;
        Ok(Self { inner, names, copying, spool, texts })
    }

    /// Waits until everything is copied.
    ///
    /// # Errors
    /// The documents cannot be written.
    pub(super) fn finish(self) -> Result<Kept> {
        let copied = self.copying.map(Copying::finish).transpose()?;
        let spooled = self.spool.map(Spool::finish).transpose().context(CANNOT_NOTE)?;
        Ok(Kept { copied, spooled, texts: self.texts.and_then(|texts| texts.file) })
    }
}

impl<S> KeepSink<S> {
    /// Takes the texts of a record, and stores what is needed at the end of the run.
    fn processed(&mut self, conclusion: &Conclusion) -> Result<Processed> {
        let waits = self.copying.is_none();
        let texts = self.texts.as_mut().map(|texts| texts.store_next(waits)).transpose()?;
        let Stored { text, written, not_stored, title, language } = texts.unwrap_or_default();
        let (input, number) =
            self.names.find(conclusion.source()).context("a record that belongs to no input")?;
        let Conclusion::Verdict(verdict) = conclusion else {
            return Ok(Processed::NoDocument(input, number));
        };
        let (title, language) = (title.map(|title| shortened(&title)), language.map(str::to_owned));
        let decision = Decision { text, written, title, language, ..Decision::new(verdict, input, number) };
        if let Some(spool) = &mut self.spool {
            spool.push(&decision).context(CANNOT_NOTE)?;
        }
        Ok(Processed::Document(Box::new(decision), not_stored))
    }

    /// Sends records to the thread that copies them, if there is one.
    fn copy(&mut self, processed: Vec<Processed>) -> Result<()> {
        if let Some(copying) = self.copying.take() {
            self.copying = Some(copying.send(Step::Copy(processed))?);
        }
        Ok(())
    }
}

impl<S: Sink> Sink for KeepSink<S> {
    fn write(&mut self, conclusions: Vec<Conclusion>) -> Result<()> {
        if self.copying.is_some() || self.spool.is_some() {
            let mut processed = Vec::with_capacity(conclusions.len());
            let mut bytes = 0;
            for conclusion in &conclusions {
                let record = self.processed(conclusion)?;
                let (Some(_), Processed::Document(_, text)) = (&self.copying, &record) else {
                    processed.push(record);
                    continue;
                };
                bytes += text.as_ref().map_or(0, |text| text.len());
                processed.push(record);
                if bytes >= STEP_BYTES {
                    self.copy(std::mem::take(&mut processed))?;
                    bytes = 0;
                }
            }
            self.copy(processed)?;
        }
        self.inner.write(conclusions)
    }

    fn flush(&mut self) -> Result<()> {
        self.inner.flush()
    }

    fn extents(&mut self) -> Result<Extents> {
        let mut extents = self.inner.extents()?;
        if let Some(spool) = &mut self.spool {
            extents.insert("decisions".to_owned(), spool.extent().context(CANNOT_NOTE)?);
        }
        if let Some(file) = self.texts.as_mut().and_then(|texts| texts.file.as_mut()) {
            extents.insert("texts".to_owned(), file.extent().context(CANNOT_STORE)?);
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
const CANNOT_STORE: &str = "cannot store texts for --verify, for passages or for --as, in a temporary file next to the outputs \
                            or in the checkpoint's folder";

/// Context of errors of the file with decisions.
const CANNOT_NOTE: &str =
    "cannot store decisions, in a temporary file next to the outputs or in the checkpoint's folder";

impl StoredTexts {
    /// Stores the texts of the next record. The text to write is stored only if documents wait for the end of the run.
    fn store_next(&mut self, waits: bool) -> Result<Stored> {
        // Texts are sent before the record is decided on, so they are here already.
        let PageTexts { normalised, written, title, language } = self
            .received
            .recv()
            .map_err(io::Error::other)
            .context("the texts of a record were not passed on")?;
        let Some(file) = &mut self.file else {
            return Ok(Stored { not_stored: written, title, language, ..Stored::default() });
        };
        let mut store =
            |text: Option<Box<[u8]>>| text.map(|text| file.push(&text)).transpose().context(CANNOT_STORE);
        let text = store(normalised)?;
        let (to_store, not_stored) = if waits { (written, None) } else { (None, written) };
        Ok(Stored { text, written: store(to_store)?, not_stored, title, language })
    }
}

/// The places of the texts of a record.
#[derive(Default)]
struct Stored {
    text: Option<TextPlace>,
    written: Option<TextPlace>,
    /// The text to write, if it was not stored.
    not_stored: Option<Box<[u8]>>,
    title: Option<String>,
    language: Option<&'static str>,
}

impl Copying {
    fn start(mut copier: Copier) -> Result<Self> {
        let (steps, to_do) = mpsc::sync_channel::<Step>(QUEUE_BATCHES);
        let thread = thread::Builder::new().name("copy".to_owned()).spawn(move || {
            for step in to_do {
                match step {
                    Step::Copy(processed) => processed.into_iter().try_for_each(|record| match record {
                        Processed::Document(decision, text) => copier.copy(&decision, || Ok(text)),
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
    fn send(self, step: Step) -> Result<Self> {
        match self.steps.send(step) {
            Ok(()) => Ok(self),
            Err(_) => Err(self.failed()),
        }
    }

    /// Returns the error that ended the thread.
    fn failed(self) -> Error {
        self.finish()
            .err()
            .unwrap_or_else(|| Error::refused("the thread that copies documents has ended unexpectedly"))
    }

    fn finish(self) -> Result<Finished> {
        drop(self.steps);
        self.thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
    }
}
