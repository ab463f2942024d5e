//! The table of the cases: one file of `tests/conformance/` each, in the order of contract §16.

use super::case::Case;

/// Pairs each id with the text of the file that bears its name, so that the two cannot differ.
macro_rules! cases {
    ($($id:literal)+) => {
        const CASES: &[(&str, &str)] =
            &[$(($id, include_str!(concat!("../../../tests/conformance/", $id, ".json")))),+];
    };
}

cases! {
    "V01"
    "V02"
    "V03"
    "V04"
    "V05"
    "V06"
    "V07"
    "V08"
    "V09a"
    "V09b"
    "V10"
    "V11"
    "V12a"
    "V12b"
    "I01"
    "I02"
    "I03"
    "I04"
    "I05a"
    "I05b"
    "I06"
    "I07a"
    "I07b"
    "I07c"
    "I08"
    "I09a"
    "I09b"
    "I10"
    "I11"
    "I12"
    "I13a"
    "I13b"
    "I14a"
    "I14b"
    "I14c"
    "I14d"
    "I15"
    "I16a"
    "I16b"
    "I16c"
    "I17"
    "I18"
    "I19a"
    "I19b"
    "I19c"
    "I20"
}

/// Every case.
///
/// # Errors
/// A case that cannot be read, which a test rules out.
pub fn all() -> Result<Vec<Case>, String> {
    let read = |(id, text): &(&str, &str)| {
        let case: Case = serde_json::from_str(text).map_err(|error| format!("case {id}: {error}"))?;
        if case.id == *id {
            Ok(case)
        } else {
            Err(format!("case {id} names itself {}", case.id))
        }
    };
    CASES.iter().map(read).collect()
}
