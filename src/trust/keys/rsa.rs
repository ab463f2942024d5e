//! What an RSA public key has to be like before it is believed.

/// The shortest and the longest modulus, in bits.
const BITS: std::ops::RangeInclusive<usize> = 2048..=8192;

/// The longest public exponent, in bytes; every one in use is three.
const EXPONENT_MAX: usize = 4;

/// A modulus as RFC 7518 §6.3.1.1 writes it: without leading zeros, of 2048 to 8192 bits, and odd.
///
/// # Errors
/// What was expected.
pub(super) fn check_modulus(n: &[u8]) -> Result<(), &'static str> {
    let first = leading(n)?;
    let unused = usize::try_from(first.leading_zeros()).unwrap_or_default();
    let bits = n.len().saturating_mul(8).saturating_sub(unused);
    if !BITS.contains(&bits) {
        return Err("expected a modulus of 2048 to 8192 bits");
    }
    if is_even(n) {
        return Err("expected a product of odd primes");
    }
    if is_of_the_weak_generator(n) {
        return Err("expected a key that was not made by the generator of CVE-2017-15361");
    }
    Ok(())
}

/// An exponent that is odd and from 3 to 2^32.
///
/// # Errors
/// What was expected.
pub(super) fn check_exponent(e: &[u8]) -> Result<(), &'static str> {
    leading(e)?;
    if e.len() > EXPONENT_MAX || is_even(e) || e == [1] {
        return Err("expected an odd exponent from 3 to 2^32");
    }
    Ok(())
}

fn leading(number: &[u8]) -> Result<u8, &'static str> {
    match number.first() {
        Some(0) | None => Err("expected a positive number without leading zeros"),
        Some(first) => Ok(*first),
    }
}

fn is_even(number: &[u8]) -> bool {
    number.last().is_none_or(|last| last & 1 == 0)
}

/// The odd primes below 168, by which keys of that generator are known.
const PRIMES: [u32; 38] = [
    3, 5, 7, 11, 13, 17, 19, 23, 29, 31, 37, 41, 43, 47, 53, 59, 61, 67, 71, 73, 79, 83, 89, 97, 101, 103, 107, 109,
    113, 127, 131, 137, 139, 149, 151, 157, 163, 167,
];

/// Whether the modulus has the mark of CVE-2017-15361, whose primes are powers of 65537 modulo many small primes: modulo
/// each of them the modulus is such a power too. One good key in 2^30 has it by chance.
fn is_of_the_weak_generator(n: &[u8]) -> bool {
    PRIMES.iter().all(|prime| {
        let times = |left: u32, right: u32| left.wrapping_mul(right).checked_rem(*prime).unwrap_or_default();
        let rest = n.iter().fold(0, |rest, byte| {
            times(rest, 256)
                .wrapping_add(u32::from(*byte))
                .checked_rem(*prime)
                .unwrap_or_default()
        });
        let mut power = 1;
        (0..*prime).any(|_| {
            power = times(power, 65537);
            power == rest
        })
    })
}
