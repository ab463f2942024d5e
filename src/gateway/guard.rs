//! A panic costs one request, never the process (contract §15).

use std::future::{Future, poll_fn};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::pin;
use std::task::Poll;

/// The story panicked; what it said is on standard error, never in an answer.
#[derive(Debug, PartialEq, Eq)]
pub struct Panicked;

/// Runs a story to its end or to its panic. After a panic the caller only closes the record, so nothing half-changed
/// is looked at again.
///
/// # Errors
/// [`Panicked`].
pub async fn guarded<F: Future>(story: F) -> Result<F::Output, Panicked> {
    let mut story = pin!(story);
    poll_fn(
        |context| match catch_unwind(AssertUnwindSafe(|| story.as_mut().poll(context))) {
            Ok(Poll::Pending) => Poll::Pending,
            Ok(Poll::Ready(ending)) => Poll::Ready(Ok(ending)),
            Err(_) => Poll::Ready(Err(Panicked)),
        },
    )
    .await
}
