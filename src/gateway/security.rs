//! The security record of a signature that failed (contract §15): never of the message, and so many of one peer at most.

use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use jiff::Timestamp;
use serde_json::{Map, Value};

use super::case::Case;
use super::rates::network;
use crate::contract::{Rule, Stage};
use crate::decide::Refusal;
use crate::facts::{Fact, Proof};

/// Peers counted one by one; all further ones share one count.
const PEERS: usize = 1024;

/// Records of one peer in one window.
const RECORDS: u32 = 10;

/// How long a peer's records are counted together.
const WINDOW: Duration = Duration::from_secs(60);

/// Bounds the security records of every peer.
#[derive(Debug, Default)]
pub struct Security {
    counts: Mutex<Counts>,
    /// Records left out since the last one that was written.
    suppressed: AtomicU64,
}

#[derive(Debug, Default)]
struct Counts {
    peers: HashMap<IpAddr, Window>,
    others: Window,
}

#[derive(Clone, Copy, Debug)]
struct Window {
    began: Timestamp,
    records: u32,
}

impl Default for Window {
    fn default() -> Self {
        Self {
            began: Timestamp::UNIX_EPOCH,
            records: 0,
        }
    }
}

impl Window {
    fn is_over(&self, now: Timestamp) -> bool {
        let passed = now.as_second().saturating_sub(self.began.as_second());
        let window = i64::try_from(WINDOW.as_secs()).unwrap_or(i64::MAX);
        // A clock that was set back begins a new window.
        !(0..window).contains(&passed)
    }

    fn admits(&mut self, now: Timestamp) -> bool {
        if self.is_over(now) {
            *self = Self { began: now, records: 0 };
        }
        self.records = self.records.saturating_add(1);
        self.records <= RECORDS
    }
}

impl Security {
    /// Whether this peer gets another record now: how many were left out before it, of any peer.
    fn admits(&self, peer: IpAddr, now: Timestamp) -> Option<u64> {
        let mut counts = self.counts.lock().unwrap_or_else(PoisonError::into_inner);
        let peer = network(peer);
        if counts.peers.len() >= PEERS && !counts.peers.contains_key(&peer) {
            counts.peers.retain(|_, window| !window.is_over(now));
        }
        let is_counted = counts.peers.len() < PEERS || counts.peers.contains_key(&peer);
        let window = if is_counted {
            counts.peers.entry(peer).or_default()
        } else {
            &mut counts.others
        };
        if window.admits(now) {
            Some(self.suppressed.swap(0, Ordering::AcqRel))
        } else {
            self.suppressed.fetch_add(1, Ordering::AcqRel);
            None
        }
    }
}

/// Leaves the security record of a refusal, given or only noted, when a signature failed.
pub fn note(case: &mut Case, refusal: &Refusal, proof: &Fact<Proof>) {
    let rule = refusal.rule();
    if rule.stage() != Stage::Signature || matches!(rule, Rule::SignatureAbsent | Rule::KeysUnavailable) {
        return;
    }
    let now = case.gate.clock.now();
    let Some(suppressed) = case.gate.security.admits(case.peer, now) else {
        case.gate.metrics.security_record_suppressed();
        return;
    };
    let fault = match proof {
        Fact::Known(Proof::Failed(fault)) => Some(fault),
        Fact::Known(Proof::Signed(_)) | Fact::Absent | Fact::Unavailable => None,
    };
    let text = |text: Option<&str>| text.map_or(Value::Null, |text| Value::String(text.to_owned()));
    let digest = case.subject().message_digest.clone();
    let fields = Map::from_iter([
        ("id".to_owned(), Value::String(case.id.to_string())),
        ("rule".to_owned(), Value::String(rule.id().to_owned())),
        ("kid".to_owned(), text(fault.and_then(|fault| fault.kid.as_deref()))),
        ("alg".to_owned(), text(fault.and_then(|fault| fault.alg))),
        ("message_digest".to_owned(), text(digest.as_deref())),
        ("suppressed".to_owned(), suppressed.into()),
    ]);
    case.gate.sink.event("signature_failed", now, fields);
}

#[cfg(test)]
mod tests {
    use std::net::Ipv6Addr;

    use super::*;

    fn at(second: i64) -> Timestamp {
        Timestamp::from_second(1_780_000_000 + second).unwrap()
    }

    #[test]
    fn a_peer_gets_ten_records_a_minute_and_the_next_one_says_how_many_were_left_out() {
        let security = Security::default();
        let (one, two) = (IpAddr::from([10, 0, 0, 1]), IpAddr::from([10, 0, 0, 2]));
        for _ in 0..10 {
            assert_eq!(security.admits(one, at(0)), Some(0));
        }
        for _ in 0..3 {
            assert_eq!(security.admits(one, at(59)), None);
        }
        assert_eq!(security.admits(two, at(59)), Some(3), "another peer has its own");
        assert_eq!(security.admits(one, at(60)), Some(0));
        assert_eq!(security.admits(one, at(30)), Some(0), "a clock set back");
    }

    #[test]
    fn a_network_of_ipv6_is_one_peer() {
        let security = Security::default();
        for host in 0..10_u16 {
            let peer = Ipv6Addr::new(0x2001, 0xdb8, 1, 2, 0, 0, 0, host);
            assert_eq!(security.admits(peer.into(), at(0)), Some(0));
        }
        let same = Ipv6Addr::new(0x2001, 0xdb8, 1, 2, 9, 9, 9, 9);
        assert_eq!(security.admits(same.into(), at(0)), None);
        let other = Ipv6Addr::new(0x2001, 0xdb8, 1, 3, 9, 9, 9, 9);
        assert_eq!(security.admits(other.into(), at(0)), Some(1));
    }

    #[test]
    fn peers_beyond_the_table_share_one_count() {
        let security = Security::default();
        let peer = |number: usize| IpAddr::from(u32::try_from(number).unwrap().to_be_bytes());
        for number in 0..PEERS {
            assert!(security.admits(peer(number), at(0)).is_some());
        }
        let admitted = (PEERS..PEERS + 100).filter(|number| security.admits(peer(*number), at(0)).is_some());
        assert_eq!(admitted.count(), 10);
        assert_eq!(security.counts.lock().unwrap().peers.len(), PEERS);
        // A minute later the table is empty again.
        assert_eq!(security.admits(peer(PEERS), at(60)), Some(90));
        assert_eq!(security.counts.lock().unwrap().peers.len(), 1);
    }
}
