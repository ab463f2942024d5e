//! The order of the table inside a stage never decides, and the published final report passes offline.

use super::*;
use crate::facts::Fact;
use crate::rules::testing::{Case, Change, judged};

/// Messages with faults in several checks of one stage, one for each stage that has several checks.
const MANY_FAULTS: &[(&str, Change)] = &[
    ("capability", |case| {
        case.set("/delivery/mode", "\"telepathy\"");
        case.set("/profile", "\"uai.agent.ack.v9\"");
        case.set("/extensions", r#"[{"namespace":"urn:y"},{"namespace":"urn:x"}]"#);
        case.facts.capability_revision = Fact::Known("0f");
    }),
    ("capability, known", |case| {
        case.set("/delivery/mode", "\"stream\"");
        case.declared.profiles = Vec::new();
        case.declared.extensions = Vec::new();
    }),
    ("schema", |case| {
        case.set("/zzz", "1");
        case.set("/body/summary", "null");
        case.set("/provenance/issued_at", "\"2026-05-31T18:00:00+00:00\"");
        case.set("/source/uri", "\"/x\"");
        case.remove("/body/tests_run");
        case.remove("/body/blockers");
        case.facts.idempotency_key = Fact::Known("\"other\"");
    }),
    ("semantics", |case| {
        case.set("/body/summary", "\"UAIX certifies this.\"");
        case.set("/extensions/0/purpose", "\"Certified by UAIX\"");
        case.set("/body/tests_run", "[]");
        case.set("/provenance/lineage", "[]");
        case.set("/integrity/checksum", "null");
        case.set("/body/memory_updates_proposed", "[]");
    }),
    ("nothing but a hold", |case| case.set("/integrity/checksum", "null")),
];

#[test]
fn the_order_of_the_table_inside_a_stage_decides_nothing() {
    for (name, change) in MANY_FAULTS {
        judged(change, |input| {
            let expected = first_refusal(input, RULES);
            assert!(expected.is_some(), "{name} has no fault");
            for turn in 0..16 {
                assert_eq!(first_refusal(input, &shuffled(turn)), expected, "{name}, turn {turn}");
            }
        });
    }
}

/// The table with the entries of each stage turned by `turn`, and on odd turns reversed.
fn shuffled(turn: usize) -> Vec<Entry> {
    let stages = RULES.chunk_by(|left, right| left.stage() == right.stage());
    stages
        .flat_map(|stage| {
            let mut stage = stage.to_vec();
            let length = stage.len();
            stage.rotate_left(turn / 2 % length);
            if turn % 2 == 1 {
                stage.reverse();
            }
            stage
        })
        .collect()
}

#[test]
fn every_finding_of_the_deciding_stage_is_told_in_document_order() {
    judged(MANY_FAULTS[2].1, |input| {
        let refusal = first_refusal(input, RULES).unwrap();
        let places: Vec<Option<usize>> = refusal.findings().map(|finding| finding.at).collect();
        let with_place: Vec<usize> = places.iter().map_while(|place| *place).collect();
        assert!(with_place.is_sorted() && with_place.len() >= 4);
        assert!(places[with_place.len()..].iter().all(Option::is_none));
    });
}

/// Offline without a policy nothing asks for a checksum (contract §4, "Offline"), so its placeholder decides nothing.
#[test]
fn the_published_final_report_passes_every_rule_but_the_hold() {
    let change = |case: &mut Case| case.facts.now = Fact::Known("2026-05-31T18:00:30Z".parse().unwrap());
    judged(change, |input| {
        for entry in RULES {
            let mut findings = Vec::new();
            (entry.check)(input, &mut findings);
            let rules: Vec<Rule> = findings.iter().map(|finding| finding.rule).collect();
            match entry.stage() {
                Stage::Firewall => assert_eq!(rules, [Rule::HoldRequired]),
                Stage::Integrity => assert_eq!(rules, [Rule::IntegrityPlaceholder]),
                _ => assert_eq!(rules, [], "{entry:?}"),
            }
        }
    });
}
