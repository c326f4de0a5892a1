//! Reads batches from the source as long as there is room for them.

use tokio::select;

use super::ends::SourceEnd;
use super::queue::Sender;
use crate::budget::{Budget, Load, Permit};

/// The size at which a batch is full. It is large enough that the cost of passing on a batch does not matter.
const BATCH: Load = Load { pages: 256, bytes: 256 * 1024 };
/// Number of full batches that fit even into a small budget, so there is work for several threads.
const BATCHES_MIN: usize = 8;

/// Pages that were read together.
pub(super) type Batch<T> = (Vec<T>, Permit);

/// Passes on batches until the source or the next stage ends.
pub(super) async fn read<S: SourceEnd>(
    mut source: S,
    budget: Budget,
    batches: Sender<Batch<S::Page>>,
) -> Result<(), S::Error> {
    let result = pass_on(&mut source, &budget, batches).await;
    // The queue is closed by now, so the other stages finish what is in flight.
    source.end().await;
    result
}

async fn pass_on<S: SourceEnd>(
    source: &mut S,
    budget: &Budget,
    batches: Sender<Batch<S::Page>>,
) -> Result<(), S::Error> {
    let max = budget.max();
    let limit = Load {
        pages: BATCH.pages.min(max.pages.div_ceil(BATCHES_MIN)),
        bytes: BATCH.bytes.min(max.bytes.div_ceil(BATCHES_MIN)),
    };
    loop {
        // Waits for room for a whole batch. Otherwise batches would become ever smaller while the budget is
        // used up.
        loop {
            select! {
                biased;
                () = budget.room_for(limit) => break,
                goes_on = source.while_full() => if !goes_on? {
                    return Ok(());
                },
            }
        }
        let Some(pages) = source.read(limit).await? else { return Ok(()) };
        if pages.is_empty() {
            continue;
        }
        let load = Load { pages: pages.len(), bytes: pages.iter().map(S::bytes).sum() };
        if batches.send((pages, budget.take(load)), load).await.is_err() {
            return Ok(()); // a later stage has ended, and says why
        }
    }
}
