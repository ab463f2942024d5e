//! The shared engine over Redis or Valkey: one primary, one script a commit, one hash tag a namespace.
//!
//! An entry's end is judged by the `now` of the commit. The server's own expiry only removes later, by `MARGIN`, so
//! that clocks that differ forget nothing early. Every script first asks whether the store is still the one that this
//! process knows (`epoch`).

mod answer;
mod fit;
mod link;

use std::collections::BTreeSet;
use std::fmt;
use std::time::Duration;

use jiff::Timestamp;
use redis::{Cmd, Script, Value, cmd};

use answer::Said;
use link::Link;

use super::engine::{OpenError, Remote};
use super::epoch::{FORMAT, Found, Known, Origin, fence_at, fits, id_of};
use super::remote;
use super::store::{
    COUNT_STEP, Committed, Entry, Expect, FOREVER, Key, Millis, Pending, Space, Stats, Store, StoreError, Txn,
};
use crate::clock::Clock;
use crate::policy::Freshness;

/// An entry stays on the server this much longer than it lives, milliseconds.
const MARGIN: Millis = 300_000;
/// Numbers of scripts are exact up to here.
const EXACT: u64 = 1 << 53;
/// Keys that one step of a walk over the database looks at, about.
const WALK: usize = 1_000;

/// Redis or Valkey.
pub struct Redis {
    link: Link,
    namespace: String,
    known: Known,
    /// Replicas that have to have a commit.
    wait: u32,
    /// How long they may take, milliseconds.
    wait_for: u64,
    commit: Called,
    read: Called,
}

/// A script with the digest that it is called by.
struct Called {
    code: &'static str,
    script: Script,
}

impl Called {
    fn new(code: &'static str) -> Self {
        Self {
            code,
            script: Script::new(code),
        }
    }
}

const COMMIT: &str = include_str!("commit.lua");
const READ: &str = include_str!("read.lua");
const BEGIN: &str = include_str!("begin.lua");

impl Redis {
    /// Connects, examines the server, and reads its epoch; a store without one gets one, with a fence.
    ///
    /// # Errors
    /// When the server cannot be reached or is not fit, and when what it holds is not of this program.
    pub async fn open(
        remote: &Remote,
        wait: u32,
        timeout: Duration,
        clock: &Clock,
        freshness: &Freshness,
    ) -> Result<Self, OpenError> {
        remote::check(remote)?;
        let link = Link::new(remote, timeout, clock)?;
        let found = begin(&link, &remote.namespace, Origin::First, clock, freshness)
            .await
            .map_err(refused)?;
        let store = Self {
            link,
            namespace: remote.namespace.clone(),
            known: Known::new(found),
            wait,
            // The server answers before the wait for its answer ends.
            wait_for: u64::try_from(timeout.as_millis())
                .unwrap_or(u64::MAX)
                .saturating_div(2)
                .max(1),
            commit: Called::new(COMMIT),
            read: Called::new(READ),
        };
        if !fit::persists(&store.info().await.map_err(refused)?) {
            tracing::warn!("redis keeps no append-only file: what it remembers may be lost with it");
        }
        Ok(store)
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
        let link = Link::new(remote, timeout, clock)?;
        let fence = async {
            let found = begin(&link, &remote.namespace, Origin::Reset, clock, freshness).await?;
            Known::new(found)
                .fence()?
                .ok_or(StoreError::Damaged("its fence is no time"))
        };
        fence.await.map_err(refused)
    }

    /// The entry of a key: hash tag, space, id.
    fn name(&self, key: Key) -> Vec<u8> {
        let mut name = self.prefix(key.space).into_bytes();
        name.extend_from_slice(&key.id);
        name
    }

    fn prefix(&self, space: Space) -> String {
        format!("{{{}}}:{}:", self.namespace, space.number())
    }

    /// The two keys of a count.
    fn count(&self, key: Key) -> [Vec<u8>; 2] {
        ["sums", "ends"].map(|part| {
            let mut name = format!("{{{}}}:{part}:", self.namespace).into_bytes();
            name.extend_from_slice(&key.id);
            name
        })
    }

    async fn info(&self) -> Result<String, StoreError> {
        answer::text(self.one(cmd("INFO")).await?)
    }

    async fn one(&self, command: Cmd) -> Result<Value, StoreError> {
        self.link
            .ask([command])
            .await?
            .pop()
            .ok_or(StoreError::Damaged("no answer"))
    }

    /// Calls a script, by its digest first; one round trip unless the server has just been started.
    async fn call(&self, called: &Called, arguments: &[Vec<u8>], keys: usize, wait: bool) -> Result<Said, StoreError> {
        let command = |name: &str, script: &str| {
            let mut command = cmd(name);
            command.arg(script).arg(keys);
            for argument in arguments {
                command.arg(argument.as_slice());
            }
            command
        };
        let ask = async |command: Cmd| {
            let mut commands = vec![command];
            if wait {
                let mut wait = cmd("WAIT");
                wait.arg(self.wait).arg(self.wait_for);
                commands.push(wait);
            }
            self.link.ask(commands).await
        };
        let mut answers = ask(command("EVALSHA", called.script.get_hash())).await?;
        if answers.first().is_some_and(answer::no_script) {
            answers = ask(command("EVAL", called.code)).await?;
        }
        let mut answers = answers.into_iter();
        let said = answer::script(answers.next().unwrap_or_default())?;
        if let (true, Said::Done(..)) = (wait, &said) {
            let copies = answer::number(answers.next().unwrap_or_default())?;
            if copies < u64::from(self.wait) {
                return Err(StoreError::Unreachable("fewer replicas than `wait` have the commit"));
            }
        }
        Ok(said)
    }

    /// Calls a script about the store that this process knows; once more when an operator has begun a new epoch.
    async fn known(
        &self,
        called: &Called,
        keys: &[Vec<u8>],
        arguments: &[Vec<u8>],
        wait: bool,
    ) -> Result<Said, StoreError> {
        let mut again = true;
        loop {
            let mark = self.known.mark();
            let mut all = vec![mark_key(&self.namespace)];
            all.extend_from_slice(keys);
            let count = all.len();
            all.push(mark.epoch.id.clone().into_bytes());
            all.push(decimal(mark.commits()));
            all.extend_from_slice(arguments);
            match self.call(called, &all, count, wait).await? {
                Said::Done(commits, rest) => {
                    mark.confirm(commits)?;
                    return Ok(Said::Done(commits, rest));
                }
                Said::Other(found) => {
                    self.known.compare(&mark, found)?;
                    if !std::mem::take(&mut again) {
                        return Err(StoreError::Forgot("its epoch does not stay"));
                    }
                }
                refused @ (Said::Conflict(..) | Said::Full(_)) => {
                    mark.confirm(0)?;
                    return Ok(refused);
                }
            }
        }
    }

    /// Live entries of these keys, in their order.
    async fn entries(&self, keys: &[Key], now: Millis) -> Result<Vec<Entry>, StoreError> {
        let names: Vec<_> = keys.iter().map(|key| self.name(*key)).collect();
        let Said::Done(_, stored) = self.known(&self.read, &names, &[], false).await? else {
            return Err(StoreError::Damaged("an answer that makes no sense"));
        };
        let mut entries = Vec::new();
        // A table of a script ends at its last entry.
        for (key, stored) in keys.iter().zip(stored) {
            let Some(stored) = stored else { continue };
            let (until, value) = answer::entry(stored)?;
            if until > now {
                entries.push(Entry {
                    key: *key,
                    value,
                    until,
                });
            }
        }
        Ok(entries)
    }

    /// The least ids of a space after this one, and whether there are more.
    async fn ids(
        &self,
        space: Space,
        after: Option<[u8; 16]>,
        limit: usize,
    ) -> Result<(BTreeSet<[u8; 16]>, bool), StoreError> {
        let prefix = self.prefix(space);
        let mut ids = BTreeSet::new();
        let mut more = false;
        let mut cursor = "0".to_owned();
        loop {
            let mut scan = cmd("SCAN");
            scan.arg(&cursor)
                .arg("MATCH")
                .arg(format!("{prefix}*"))
                .arg("COUNT")
                .arg(WALK);
            let (next, names) = answer::page(self.one(scan).await?)?;
            for name in names {
                let Some(id) = name
                    .strip_prefix(prefix.as_bytes())
                    .and_then(|id| <[u8; 16]>::try_from(id).ok())
                else {
                    return Err(StoreError::Damaged("a key that is not of this program"));
                };
                if after.is_none_or(|after| id > after) {
                    ids.insert(id);
                }
                if ids.len() > limit {
                    ids.pop_last();
                    more = true;
                }
            }
            if next == "0" {
                return Ok((ids, more));
            }
            cursor = next;
        }
    }

    async fn page(
        &self,
        space: Space,
        mut after: Option<[u8; 16]>,
        limit: usize,
        now: Millis,
    ) -> Result<Vec<Entry>, StoreError> {
        let mut entries = Vec::new();
        loop {
            let (ids, more) = self.ids(space, after, limit.saturating_sub(entries.len())).await?;
            after = ids.last().copied().or(after);
            let keys: Vec<_> = ids.into_iter().map(|id| Key { space, id }).collect();
            for keys in keys.chunks(WALK) {
                entries.extend(self.entries(keys, now).await?);
            }
            if !more || entries.len() >= limit {
                return Ok(entries);
            }
        }
    }

    /// The script's keys and arguments, in the order in which it takes them.
    fn arguments(&self, txn: &Txn) -> (Vec<Vec<u8>>, Vec<Vec<u8>>) {
        let mut keys = Vec::new();
        let mut arguments = vec![decimal(txn.now), length(txn.expect.len())];
        for expect in &txn.expect {
            let (key, wanted) = match expect {
                Expect::Absent(key) => (key, b"-".to_vec()),
                Expect::Equals(key, value) => (key, [b"=", value.as_ref()].concat()),
            };
            keys.push(self.name(*key));
            arguments.push(wanted);
        }
        arguments.push(length(txn.count.len()));
        for count in &txn.count {
            keys.extend(self.count(count.key));
            let end = step(count.until);
            arguments.extend([
                count.add.to_string().into_bytes(),
                decimal(end),
                decimal(count.max.min(EXACT)),
                decimal(keep(end, txn.now)),
            ]);
        }
        let (live, dead): (Vec<_>, Vec<_>) = txn.put.iter().partition(|entry| entry.until > txn.now);
        arguments.push(length(txn.delete.len().saturating_add(dead.len())));
        keys.extend(dead.iter().map(|entry| self.name(entry.key)));
        keys.extend(txn.delete.iter().map(|key| self.name(*key)));
        arguments.push(length(live.len()));
        for entry in live {
            keys.push(self.name(entry.key));
            arguments.push(decimal(keep(entry.until, txn.now)));
            arguments.push([&entry.until.to_be_bytes(), entry.value.as_ref()].concat());
        }
        (keys, arguments)
    }
}

impl Store for Redis {
    fn get(&self, key: Key, now: Millis) -> Pending<'_, Option<Entry>> {
        Box::pin(async move { Ok(self.entries(&[key], now).await?.pop()) })
    }

    /// Walks over the whole database for each page: for operators, not for messages.
    fn scan(&self, space: Space, after: Option<[u8; 16]>, limit: usize, now: Millis) -> Pending<'_, Vec<Entry>> {
        Box::pin(self.page(space, after, limit, now))
    }

    fn commit(&self, txn: Txn) -> Pending<'_, Committed> {
        Box::pin(async move {
            let (keys, arguments) = self.arguments(&txn);
            Ok(
                match self.known(&self.commit, &keys, &arguments, self.wait > 0).await? {
                    Said::Done(..) => Committed::Done,
                    Said::Conflict(index, current) => Committed::Conflict { index, current },
                    Said::Full(index) => Committed::Full { index },
                    Said::Other(_) => return Err(StoreError::Damaged("an answer that makes no sense")),
                },
            )
        })
    }

    /// The server removes by itself. What is looked at instead is whether it still may be trusted: a policy that drops
    /// entries can be set while it runs.
    fn sweep(&self, _now: Millis) -> Pending<'_, u64> {
        Box::pin(async move {
            let fit = self.info().await.and_then(|info| fit::fit(&info));
            if fit.is_err() {
                self.link.examine_again().await;
            }
            fit.map(|()| 0)
        })
    }

    fn fence(&self) -> Result<Option<Timestamp>, StoreError> {
        self.known.fence()
    }

    fn stats(&self, _now: Millis) -> Pending<'_, Stats> {
        Box::pin(async move {
            Ok(Stats {
                engine: "redis",
                entries: Vec::new(),
                bytes: fit::used_memory(&self.info().await?),
            })
        })
    }
}

impl fmt::Debug for Redis {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("Redis")
            .field("link", &self.link)
            .field("namespace", &self.namespace)
            .field("wait", &self.wait)
            .finish_non_exhaustive()
    }
}

async fn begin(
    link: &Link,
    namespace: &str,
    origin: Origin,
    clock: &Clock,
    freshness: &Freshness,
) -> Result<Found, StoreError> {
    let own = id_of(&clock.id().to_string(), freshness);
    let mut eval = cmd("EVAL");
    eval.arg(BEGIN).arg(1).arg(mark_key(namespace));
    eval.arg(FORMAT)
        .arg(&own)
        .arg(fence_at(clock.now(), freshness.skew))
        .arg(origin.word());
    let answer = link.ask([eval]).await?.pop();
    fits(answer::begun(answer.unwrap_or_default())?, &own)
}

fn mark_key(namespace: &str) -> Vec<u8> {
    format!("{{{namespace}}}:mark").into_bytes()
}

fn refused(error: StoreError) -> OpenError {
    OpenError::Server(error.to_string())
}

fn decimal(number: u64) -> Vec<u8> {
    number.to_string().into_bytes()
}

fn length(number: usize) -> Vec<u8> {
    number.to_string().into_bytes()
}

/// The end of the step of a count.
fn step(until: Millis) -> Millis {
    until
        .checked_next_multiple_of(COUNT_STEP)
        .filter(|end| *end < EXACT)
        .unwrap_or(FOREVER)
}

/// How long the server keeps something, 0 for ever.
fn keep(until: Millis, now: Millis) -> Millis {
    if until >= EXACT {
        return 0;
    }
    until.saturating_sub(now).saturating_add(MARGIN)
}
