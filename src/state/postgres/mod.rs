//! The shared engine over PostgreSQL: three tables, one function call for all commits that wait, durable when it answers.
//!
//! Commits of all processes stand in one line, held by the lock on one row, so each judges what every one before it
//! left: no two of them can both find a key absent. Commits of one process that wait at the same time are handed in
//! together, so that a write to disk is shared. Every call first asks whether the store is still the one that this
//! process knows (`epoch`).

mod batch;
mod line;
mod pool;

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use jiff::Timestamp;
use tokio_postgres::Row;
use tokio_postgres::types::ToSql;

use line::Line;
use pool::Pool;

use super::engine::{OpenError, Remote};
use super::epoch::{FORMAT, Found, Known, Origin, fence_at, fits, id_of};
use super::remote;
use super::store::{Committed, Entry, Key, Millis, Pending, Space, Stats, Store, StoreError, Txn};
use crate::clock::Clock;
use crate::policy::Freshness;

/// Entries that have ended are removed so many at a time.
const SWEEP: i32 = 1_000;
const STRANGE: StoreError = StoreError::Damaged("an answer that makes no sense");

/// PostgreSQL.
pub struct Postgres {
    desk: Arc<Desk>,
    line: Line,
}

/// What the store and its line of commits share.
struct Desk {
    pool: Pool,
    known: Known,
    statements: Statements,
}

/// Every statement, with the names of this namespace.
struct Statements {
    commit: String,
    sweep: String,
    get: String,
    scan: String,
    stats: String,
}

/// Columns of the mark, in the order in which [`found`] reads them.
const MARK: &str = "(mark).id, (mark).fence, (mark).origin, (mark).commits, (mark).lost, same";

impl Statements {
    fn new(namespace: &str) -> Self {
        let named = |text: &str| text.replace("{ns}", namespace).replace("{mark}", MARK);
        // A row of the mark is there whether an entry is or not.
        let read = "SELECT m.id, m.fence, m.origin, m.commits, m.lost, \
             (m.id = $1 AND m.commits >= $2 AND NOT m.lost) AS same, e.id, e.value, e.until FROM {ns}_mark m";
        Self {
            commit: named("SELECT {mark}, said::text FROM {ns}_commit_1($1, $2, $3::text::jsonb)"),
            sweep: named("SELECT {mark}, removed FROM {ns}_sweep_1($1, $2, $3, $4)"),
            get: named(&format!(
                "{read} LEFT JOIN {{ns}}_entry e ON e.space = $3 AND e.id = $4 AND e.until > $5"
            )),
            scan: named(&format!(
                "{read} LEFT JOIN LATERAL (SELECT * FROM {{ns}}_entry WHERE space = $3 AND id > $4 AND until > $5 \
                 ORDER BY id LIMIT $6) e ON true ORDER BY e.id"
            )),
            stats: named(
                "SELECT pg_total_relation_size('{ns}_entry') + pg_total_relation_size('{ns}_count') \
                 + pg_total_relation_size('{ns}_mark')",
            ),
        }
    }
}

impl Postgres {
    /// Connects, examines the server, makes what is missing, and reads the epoch; a store without one gets one, with a
    /// fence.
    ///
    /// # Errors
    /// When the server cannot be reached or is not fit, and when what it holds is not of this version.
    pub async fn open(
        remote: &Remote,
        timeout: Duration,
        clock: &Clock,
        freshness: &Freshness,
    ) -> Result<Self, OpenError> {
        remote::check(remote)?;
        let pool = Pool::new(remote, timeout)?;
        let found = begin(&pool, &remote.namespace, Origin::First, clock, freshness)
            .await
            .map_err(|error| OpenError::Server(error.to_string()))?;
        let desk = Arc::new(Desk {
            pool,
            known: Known::new(found),
            statements: Statements::new(&remote.namespace),
        });
        Ok(Self {
            line: Line::new(Arc::clone(&desk), timeout),
            desk,
        })
    }

    /// Begins a new epoch, which makes a loss good: processes that refuse since it take it up. The fence is the answer.
    ///
    /// # Errors
    /// As of [`Self::open`].
    pub async fn reset_fence(
        remote: &Remote,
        timeout: Duration,
        clock: &Clock,
        freshness: &Freshness,
    ) -> Result<Timestamp, OpenError> {
        remote::check(remote)?;
        let pool = Pool::new(remote, timeout)?;
        let fence = async {
            let found = begin(&pool, &remote.namespace, Origin::Reset, clock, freshness).await?;
            Known::new(found).fence()?.ok_or(STRANGE)
        };
        fence.await.map_err(|error| OpenError::Server(error.to_string()))
    }
}

impl Desk {
    /// Asks about the store that this process knows; once more when an operator has begun a new epoch.
    async fn ask(&self, statement: &str, rest: &[&(dyn ToSql + Sync)]) -> Result<Vec<Row>, StoreError> {
        let mut again = true;
        loop {
            let mark = self.known.mark();
            let commits = i64::try_from(mark.commits()).map_err(|_| STRANGE)?;
            let mut all: Vec<&(dyn ToSql + Sync)> = vec![&mark.epoch.id, &commits];
            all.extend_from_slice(rest);
            let rows = self.pool.query(statement, &all).await?;
            let first = rows.first();
            let same = first.map_or(Ok(None), |row| row.try_get::<_, Option<bool>>(5));
            let found = first.map_or(Ok(None), found)?;
            if let (Ok(Some(true)), Some(found)) = (same, &found) {
                mark.confirm(found.commits)?;
                return Ok(rows);
            }
            self.known.compare(&mark, found)?;
            if !std::mem::take(&mut again) {
                return Err(StoreError::Forgot("its epoch does not stay"));
            }
        }
    }

    /// Hands in commits; the answer has one for each.
    async fn commit(&self, txns: &[Txn]) -> Result<Vec<Committed>, StoreError> {
        let rows = self.ask(&self.statements.commit, &[&batch::written(txns)]).await?;
        let said: String = rows.first().ok_or(STRANGE)?.try_get(6).map_err(|_| STRANGE)?;
        let said = batch::read(&said).ok_or(STRANGE)?;
        if said.len() == txns.len() {
            Ok(said)
        } else {
            Err(STRANGE)
        }
    }

    async fn entries(
        &self,
        statement: &str,
        space: Space,
        rest: &[&(dyn ToSql + Sync)],
    ) -> Result<Vec<Entry>, StoreError> {
        let number = i16::from(space.number());
        let mut all: Vec<&(dyn ToSql + Sync)> = vec![&number];
        all.extend_from_slice(rest);
        let rows = self.ask(statement, &all).await?;
        let mut entries = Vec::new();
        for row in &rows {
            let strange = |_| STRANGE;
            let Some(id) = row.try_get::<_, Option<&[u8]>>(6).map_err(strange)? else {
                continue;
            };
            let until: i64 = row.try_get(8).map_err(strange)?;
            entries.push(Entry {
                key: Key {
                    space,
                    id: id.try_into().map_err(|_| STRANGE)?,
                },
                value: Bytes::copy_from_slice(row.try_get(7).map_err(strange)?),
                until: batch::until(until),
            });
        }
        Ok(entries)
    }
}

impl Store for Postgres {
    fn get(&self, key: Key, now: Millis) -> Pending<'_, Option<Entry>> {
        Box::pin(async move {
            let rest: [&(dyn ToSql + Sync); 2] = [&key.id.as_slice(), &batch::moment(now)];
            Ok(self
                .desk
                .entries(&self.desk.statements.get, key.space, &rest)
                .await?
                .pop())
        })
    }

    fn scan(&self, space: Space, after: Option<[u8; 16]>, limit: usize, now: Millis) -> Pending<'_, Vec<Entry>> {
        Box::pin(async move {
            // No id is empty, so every id comes after the empty one.
            let after = after.map_or(Vec::new(), |after| after.to_vec());
            let limit = i64::try_from(limit).unwrap_or(i64::MAX);
            let rest: [&(dyn ToSql + Sync); 3] = [&after, &batch::moment(now), &limit];
            self.desk.entries(&self.desk.statements.scan, space, &rest).await
        })
    }

    fn commit(&self, txn: Txn) -> Pending<'_, Committed> {
        Box::pin(self.line.commit(txn))
    }

    fn sweep(&self, now: Millis) -> Pending<'_, u64> {
        Box::pin(async move {
            let mut removed = 0_u64;
            loop {
                let rows = self
                    .desk
                    .ask(&self.desk.statements.sweep, &[&batch::moment(now), &SWEEP])
                    .await?;
                let part: i64 = rows.first().ok_or(STRANGE)?.try_get(6).map_err(|_| STRANGE)?;
                removed = removed.saturating_add(u64::try_from(part).unwrap_or(0));
                if part < i64::from(SWEEP) {
                    return Ok(removed);
                }
            }
        })
    }

    fn fence(&self) -> Result<Option<Timestamp>, StoreError> {
        self.desk.known.fence()
    }

    fn stats(&self, _now: Millis) -> Pending<'_, Stats> {
        Box::pin(async move {
            let rows = self.desk.pool.query(&self.desk.statements.stats, &[]).await?;
            let bytes: i64 = rows.first().ok_or(STRANGE)?.try_get(0).map_err(|_| STRANGE)?;
            Ok(Stats {
                engine: "postgres",
                entries: Vec::new(),
                bytes: u64::try_from(bytes).ok(),
            })
        })
    }
}

impl fmt::Debug for Postgres {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("Postgres")
            .field("pool", &self.desk.pool)
            .finish_non_exhaustive()
    }
}

/// Makes what is missing and reads the mark.
async fn begin(
    pool: &Pool,
    namespace: &str,
    origin: Origin,
    clock: &Clock,
    freshness: &Freshness,
) -> Result<Found, StoreError> {
    pool.script(&include_str!("schema.sql").replace("{ns}", namespace), namespace)
        .await?;
    let conflict = match origin {
        Origin::First => "DO NOTHING",
        Origin::Reset => {
            "(one) DO UPDATE SET id = excluded.id, fence = excluded.fence, origin = excluded.origin, lost = false"
        }
    };
    let insert = format!(
        "INSERT INTO {namespace}_mark (format, id, fence, origin, commits) VALUES ($1, $2, $3, $4, 0) ON CONFLICT {conflict}"
    );
    let fence = fence_at(clock.now(), freshness.skew).to_string();
    let own = id_of(&clock.id().to_string(), freshness);
    pool.query(&insert, &[&FORMAT, &own, &fence, &origin.word()]).await?;
    let read = format!("SELECT id, fence, origin, commits, lost, true, format FROM {namespace}_mark");
    let rows = pool.query(&read, &[]).await?;
    let row = rows.first().ok_or(STRANGE)?;
    let format: &str = row.try_get(6).map_err(|_| STRANGE)?;
    if format != FORMAT {
        return Err(StoreError::Damaged("its format is not the one of this version"));
    }
    fits(found(row)?.ok_or(STRANGE)?, &own)
}

/// What the store says of itself, from the first columns of a row; `None` when it is empty.
fn found(row: &Row) -> Result<Option<Found>, StoreError> {
    let text = |column: usize| row.try_get::<_, Option<&str>>(column).map_err(|_| STRANGE);
    let (Some(id), Some(fence), Some(origin)) = (text(0)?, text(1)?, text(2)?) else {
        return Ok(None);
    };
    let commits: i64 = row.try_get(3).map_err(|_| STRANGE)?;
    let lost: bool = row.try_get(4).map_err(|_| STRANGE)?;
    Found::of(id, fence, origin, &commits.to_string(), lost)
        .map(Some)
        .ok_or(STRANGE)
}
