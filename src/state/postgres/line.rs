//! The line of commits: what waits while one call is under way goes with the next.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::{mpsc, oneshot};
use tokio::time::timeout;

use super::Desk;
use crate::state::store::{Committed, StoreError, Txn};

/// Commits that wait at most; further ones wait to wait.
const WAITING: usize = 1024;
/// Commits of one call at most.
const TOGETHER: usize = 64;

type Answer = Result<Committed, StoreError>;

/// The end of the line where commits come in. The task behind it ends with it.
pub(super) struct Line {
    sender: mpsc::Sender<(Txn, oneshot::Sender<Answer>)>,
    timeout: Duration,
}

impl Line {
    /// Opens the line.
    pub(super) fn new(desk: Arc<Desk>, timeout: Duration) -> Self {
        let (sender, receiver) = mpsc::channel(WAITING);
        tokio::spawn(serve(desk, receiver));
        Self { sender, timeout }
    }

    /// Hands in one commit and waits for its answer, so long.
    pub(super) async fn commit(&self, txn: Txn) -> Answer {
        const GONE: StoreError = StoreError::Unreachable("its line is closed");
        timeout(self.timeout, async {
            let (sender, receiver) = oneshot::channel();
            self.sender.send((txn, sender)).await.map_err(|_| GONE)?;
            receiver.await.map_err(|_| GONE)?
        })
        .await
        .unwrap_or(Err(StoreError::Unreachable("no answer in time")))
    }
}

async fn serve(desk: Arc<Desk>, mut receiver: mpsc::Receiver<(Txn, oneshot::Sender<Answer>)>) {
    let mut waiting = Vec::new();
    while receiver.recv_many(&mut waiting, TOGETHER).await > 0 {
        // Who has given up was told that it may or may not have happened; now it has not.
        let (txns, senders): (Vec<_>, Vec<_>) = waiting.drain(..).filter(|(_, sender)| !sender.is_closed()).unzip();
        if txns.is_empty() {
            continue;
        }
        let answers: Vec<Answer> = match desk.commit(&txns).await {
            Ok(said) => said.into_iter().map(Ok).collect(),
            Err(error) => vec![Err(error); senders.len()],
        };
        for (sender, answer) in senders.into_iter().zip(answers) {
            // Nobody waits any more: the answer is nobody's.
            drop(sender.send(answer));
        }
    }
}
