//! The two ends of a graph. Their futures may block, because each runs on a thread of its own.

use std::future::{pending, ready};

use crate::budget::{Load, Permit};

/// The end that reads pages.
pub trait SourceEnd: Send {
    /// A page as it was read.
    type Page: Send;

    /// The reason why the source ends early.
    type Error: Send;

    /// Returns the bytes of memory that a page holds.
    fn bytes(page: &Self::Page) -> usize;

    /// Returns the pages that can be read without waiting; waits only for the first one. Stops at
    /// `limit.pages`, or after the page that reaches `limit.bytes`. May return an empty list; it is then
    /// called again. Returns `None` at the end.
    ///
    /// # Errors
    /// The source cannot be read any further.
    fn read(
        &mut self,
        limit: Load,
    ) -> impl Future<Output = Result<Option<Vec<Self::Page>>, Self::Error>> + Send;

    /// Does what a source must do while there is no room. It is called again until there is room, and its
    /// future is dropped as soon as there is. Returns false if the source ends.
    ///
    /// # Errors
    /// The source cannot be read any further.
    fn while_full(&mut self) -> impl Future<Output = Result<bool, Self::Error>> + Send {
        pending()
    }

    /// Ends the source. It is called after the last batch was passed on, or after an error.
    fn end(&mut self) -> impl Future<Output = ()> + Send {
        ready(())
    }
}

/// The end that takes results, in the order in which pages were read.
pub trait SinkEnd<R>: Send {
    /// The reason why the sink ends early.
    type Error: Send;

    /// Takes the results of one batch. Its pages are in flight until `permit` is dropped. Returns false if the
    /// sink takes no more.
    ///
    /// # Errors
    /// The sink cannot continue.
    fn take(
        &mut self,
        results: Vec<R>,
        permit: Permit,
    ) -> impl Future<Output = Result<bool, Self::Error>> + Send;
}
