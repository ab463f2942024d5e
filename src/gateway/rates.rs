//! How often anybody may ask (contract §4, "Rates"): a peer address and a route before proof, a presenter after it.
//!
//! Buckets are local to this process; replicas do not share them. A bucket holds twice its rate. Routes and presenters
//! are those of the policy, so their buckets are bounded by it; peer addresses are pruned, and beyond [`PEERS_MAX`]
//! live ones they share one bucket. A new policy begins with full buckets, so that no bucket has the rate of an old one.

use std::collections::HashMap;
use std::net::{IpAddr, Ipv6Addr};
use std::num::NonZeroU32;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use arc_swap::ArcSwap;
use governor::clock::Clock as _;
use governor::middleware::NoOpMiddleware;
use governor::state::keyed::DashMapStateStore;
use governor::state::{InMemoryState, NotKeyed};
use governor::{NotUntil, Quota, RateLimiter};

use crate::clock::Clock;
use crate::contract::{Finding, Rule};
use crate::decide::{Refusal, Wait};
use crate::policy::Policy;

/// Peer addresses with a bucket of their own: some 100 bytes each.
const PEERS_MAX: usize = 32 * 1024;

/// Peers are counted and idle ones forgotten once in so many requests.
const PRUNE_EVERY: usize = 1024;

/// The rates of the policy in force and how much of them is used.
#[derive(Debug)]
pub struct Rates {
    clock: Clock,
    buckets: ArcSwap<Buckets>,
}

impl Rates {
    /// Full buckets.
    pub fn new(clock: &Clock, policy: &Policy) -> Self {
        Self {
            clock: clock.clone(),
            buckets: ArcSwap::from_pointee(Buckets::new(clock, policy)),
        }
    }

    /// One more request of this peer on this route (stage 2).
    ///
    /// # Errors
    /// `limits.rate`.
    pub fn ask(&self, policy: &Policy, peer: IpAddr, route: &str) -> Result<(), Refusal> {
        let buckets = self.of(policy);
        buckets
            .peer(network(peer))
            .map_err(|wait| refuse(Rule::LimitsRate, "peer", buckets.peer_limit, wait, "from one address"))?;
        let Some((limit, bucket)) = buckets.routes.get(route) else {
            return Ok(());
        };
        let refused = |until| refuse(Rule::LimitsRate, "route", *limit, self.wait(&until), "on this route");
        bucket.check().map_err(refused)
    }

    /// One more request that this principal presents (stage 2b).
    ///
    /// # Errors
    /// `limits.principal-rate`; also for a principal that the policy does not know.
    pub fn present(&self, policy: &Policy, principal: &str) -> Result<(), Refusal> {
        let buckets = self.of(policy);
        let Some((limit, bucket)) = buckets.presenters.get(principal) else {
            let wait = Duration::from_secs(1);
            return Err(refuse(
                Rule::LimitsPrincipalRate,
                "presenter",
                0,
                wait,
                "of one principal",
            ));
        };
        let refused = |until| {
            let wait = self.wait(&until);
            refuse(Rule::LimitsPrincipalRate, "presenter", *limit, wait, "of one principal")
        };
        bucket.check().map_err(refused)
    }

    fn wait(&self, until: &NotUntil<Duration>) -> Duration {
        until.wait_time_from(self.clock.elapsed())
    }

    /// The buckets of the policy in force.
    fn of(&self, policy: &Policy) -> Arc<Buckets> {
        let buckets = self.buckets.load_full();
        if buckets.revision == policy.revision {
            return buckets;
        }
        let new = Arc::new(Buckets::new(&self.clock, policy));
        self.buckets.store(Arc::clone(&new));
        new
    }
}

#[derive(Debug)]
struct Buckets {
    revision: String,
    peer_limit: u32,
    peers: RateLimiter<IpAddr, DashMapStateStore<IpAddr>, Ticks, NoOpMiddleware<Duration>>,
    /// For every peer beyond those with a bucket of their own.
    crowd: Bucket,
    clock: Ticks,
    asked: AtomicUsize,
    live: AtomicUsize,
    routes: HashMap<String, (u32, Bucket)>,
    presenters: HashMap<String, (u32, Bucket)>,
}

type Bucket = RateLimiter<NotKeyed, InMemoryState, Ticks, NoOpMiddleware<Duration>>;

impl Buckets {
    fn new(clock: &Clock, policy: &Policy) -> Self {
        let ticks = Ticks(clock.clone());
        let bucket = |limit: u32| RateLimiter::direct_with_clock(quota(limit), ticks.clone());
        let peer = policy.rates.peer;
        let routes = policy
            .routes
            .iter()
            .filter_map(|route| Some((&route.name, route.rate?)));
        let principals = policy.trust.principals.iter();
        let presenters = principals.map(|one| (&one.name, one.rate.unwrap_or(policy.rates.presenter)));
        Self {
            revision: policy.revision.clone(),
            peer_limit: peer,
            peers: RateLimiter::new(quota(peer), DashMapStateStore::default(), ticks.clone()),
            crowd: bucket(peer),
            routes: routes
                .map(|(name, limit)| (name.clone(), (limit, bucket(limit))))
                .collect(),
            presenters: presenters
                .map(|(name, limit)| (name.clone(), (limit, bucket(limit))))
                .collect(),
            clock: ticks,
            asked: AtomicUsize::new(0),
            live: AtomicUsize::new(0),
        }
    }

    /// How long to wait, when this peer asks too often.
    fn peer(&self, peer: IpAddr) -> Result<(), Duration> {
        if self.asked.fetch_add(1, Ordering::Relaxed).is_multiple_of(PRUNE_EVERY) {
            self.peers.retain_recent();
            self.live.store(self.peers.len(), Ordering::Relaxed);
        }
        let judged = if self.live.load(Ordering::Relaxed) < PEERS_MAX {
            self.peers.check_key(&peer)
        } else {
            self.crowd.check()
        };
        judged.map_err(|until| until.wait_time_from(self.clock.now()))
    }
}

/// The clock of the buckets.
#[derive(Clone, Debug)]
struct Ticks(Clock);

impl governor::clock::Clock for Ticks {
    type Instant = Duration;

    fn now(&self) -> Duration {
        self.0.elapsed()
    }
}

/// One host may have a whole /64 of IPv6 to itself, so that is what counts as a peer.
pub(super) fn network(peer: IpAddr) -> IpAddr {
    match peer.to_canonical() {
        IpAddr::V4(address) => IpAddr::V4(address),
        IpAddr::V6(address) => IpAddr::V6(Ipv6Addr::from_bits(address.to_bits() & (u128::MAX << 64))),
    }
}

fn quota(limit: u32) -> Quota {
    let rate = NonZeroU32::new(limit).unwrap_or(NonZeroU32::MIN);
    Quota::per_second(rate).allow_burst(rate.saturating_mul(NonZeroU32::MIN.saturating_add(1)))
}

fn refuse(rule: Rule, name: &'static str, limit: u32, wait: Duration, whose: &str) -> Refusal {
    let detail = format!("expected at most {limit} requests a second {whose}");
    Refusal::new(Finding::new(rule, detail)).waiting(Wait::of(wait).within(name, limit))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rules::testing;

    const START: &str = "2026-05-31T18:01:00Z";

    fn policy(rate: Option<u32>) -> Policy {
        let case = testing::Case::new();
        let mut route = testing::route(case.declared);
        route.name = "r".to_owned();
        route.rate = rate;
        let mut policy = case.policy;
        policy.rates.peer = 2;
        policy.routes = vec![Arc::new(route)];
        policy
    }

    fn asks(rates: &Rates, policy: &Policy, peer: &str, times: usize) -> usize {
        let peer: IpAddr = peer.parse().unwrap();
        (0..times).filter(|_| rates.ask(policy, peer, "r").is_ok()).count()
    }

    #[test]
    fn a_peer_has_twice_its_rate_at_once_and_its_rate_in_the_long_run() {
        let clock = Clock::manual(START.parse().unwrap());
        let policy = policy(None);
        let rates = Rates::new(&clock, &policy);
        assert_eq!(asks(&rates, &policy, "192.0.2.1", 10), 4);
        assert_eq!(
            asks(&rates, &policy, "192.0.2.2", 10),
            4,
            "another peer has its own bucket"
        );
        assert_eq!(
            asks(&rates, &policy, "::ffff:192.0.2.2", 10),
            0,
            "the same peer in another spelling"
        );
        clock.set("2026-05-31T18:01:01Z".parse().unwrap());
        assert_eq!(asks(&rates, &policy, "192.0.2.1", 10), 2);
    }

    #[test]
    fn a_network_of_ipv6_is_one_peer() {
        let clock = Clock::manual(START.parse().unwrap());
        let policy = policy(None);
        let rates = Rates::new(&clock, &policy);
        assert_eq!(asks(&rates, &policy, "2001:db8::1", 3), 3);
        assert_eq!(asks(&rates, &policy, "2001:db8::2", 3), 1);
        assert_eq!(asks(&rates, &policy, "2001:db8:0:1::2", 3), 3);
    }

    #[test]
    fn a_refusal_says_which_rate_and_how_long_to_wait() {
        let clock = Clock::manual(START.parse().unwrap());
        let policy = policy(Some(1));
        let rates = Rates::new(&clock, &policy);
        let peers = ["192.0.2.1", "192.0.2.2", "192.0.2.3"];
        let refused: Vec<Refusal> = peers
            .iter()
            .filter_map(|peer| rates.ask(&policy, peer.parse().unwrap(), "r").err())
            .collect();
        assert_eq!(refused.len(), 1);
        let wait = refused[0].wait.as_ref().unwrap();
        assert_eq!((wait.seconds, wait.quota), (1, Some(("route", 1))));
    }

    #[test]
    fn a_flood_of_addresses_is_bounded_and_pruned() {
        let clock = Clock::manual(START.parse().unwrap());
        let policy = policy(None);
        let rates = Rates::new(&clock, &policy);
        for address in 0..u32::try_from(PEERS_MAX + 2 * PRUNE_EVERY).unwrap() {
            let _asked = rates.ask(&policy, IpAddr::from(address.to_be_bytes()), "r");
        }
        let buckets = rates.of(&policy);
        assert!(buckets.peers.len() <= PEERS_MAX + PRUNE_EVERY);
        assert_eq!(
            asks(&rates, &policy, "203.0.113.7", 10),
            0,
            "what is beyond the bound shares one bucket"
        );
        clock.set("2026-05-31T18:02:00Z".parse().unwrap());
        let _asked = asks(&rates, &policy, "203.0.113.8", PRUNE_EVERY);
        assert!(buckets.peers.len() < 4, "{}", buckets.peers.len());
    }

    #[test]
    fn a_principal_that_the_policy_does_not_know_presents_nothing() {
        let clock = Clock::manual(START.parse().unwrap());
        let policy = policy(None);
        let rates = Rates::new(&clock, &policy);
        let refusal = rates.present(&policy, "nobody").unwrap_err();
        assert_eq!(refusal.rule(), Rule::LimitsPrincipalRate);
    }
}
