//! `isPrime` and `isProbablePrime`: Miller's and Rabin's test with the bases that leave no doubt below 2^64.

use std::sync::Arc;

use arrow_array::types::{UInt8Type, UInt64Type};
use squall_types::integer::U256;
use squall_types::{Column, DataType, Error, ErrorCode, Result, checkpoint};

use crate::function::BoundFunction;
use crate::scalar::kernel::as_type;
use crate::scalar::sides::{Side, wrapped};
use crate::scalar::simple::{Call, Numbers, integers, primitive_column};

pub(super) fn resolve(call: &Call<'_>) -> Result<Arc<dyn BoundFunction>> {
    call.arguments(1..=if call.name == "isPrime" { 1 } else { 2 })?;
    let data_type = call.type_of(0);
    if matches!(data_type, DataType::UInt128 | DataType::UInt256) && call.name == "isProbablePrime" {
        return resolve_wide(call);
    }
    if !data_type.is_unsigned_integer() || data_type.fixed_width_bytes().is_none_or(|width| width > 8) {
        return Err(Error::new(
            ErrorCode::ILLEGAL_TYPE_OF_ARGUMENT,
            format!(
                "A value of illegal type was provided as 1st argument 'n' to function '{}'. Expected: \
                 UInt8/UInt16/UInt32/UInt64, got: {data_type}",
                call.name
            ),
        ));
    }
    call.integers([1])?;
    call.bind(DataType::UInt8, |arguments, rows| {
        let arguments = as_type(arguments.get(..1).unwrap_or_default(), &DataType::UInt64)?;
        let numbers = Numbers::<UInt64Type>::of(&arguments, 0)?;
        Ok(primitive_column::<UInt8Type>(DataType::UInt8, rows, |row| u8::from(is_prime(numbers.get(row)))))
    })
}

/// `isProbablePrime` of integers past 64 bits: by as many bases as are asked for.
fn resolve_wide(call: &Call<'_>) -> Result<Arc<dyn BoundFunction>> {
    /// Bases without an argument that says how many, and the most of them.
    const ROUNDS: i64 = 25;
    const ROUNDS_MAX: i64 = 1_000;
    call.integers([1])?;
    call.bind(DataType::UInt8, |arguments, rows| {
        let numbers = match wrapped::<U256>(arguments, 0)? {
            Side::Varying(values) => values,
            Side::Constant(value) => vec![value; rows],
        };
        let rounds = if arguments.len() > 1 { integers(arguments, 1, rows)? } else { vec![ROUNDS; rows] };
        let mut values = Vec::with_capacity(rows);
        for (number, rounds) in numbers.into_iter().zip(rounds) {
            values.push(u8::from(is_wide_prime(number, rounds.clamp(1, ROUNDS_MAX))?));
        }
        Ok(Column::from_primitive::<UInt8Type>(DataType::UInt8, values))
    })
}

fn is_wide_prime(number: U256, rounds: i64) -> Result<bool> {
    if let Ok(small) = u64::try_from(number) {
        return Ok(is_prime(small));
    }
    if BASES.iter().any(|base| number % U256::from(*base) == U256::ZERO) {
        return Ok(false);
    }
    let before = number - U256::ONE;
    let twos = before.trailing_zeros();
    let odd = before >> twos;
    // The bases after those primes are odd numbers: which ones does not matter.
    let bases = BASES.iter().copied().chain((41..).step_by(2)).take(rounds as usize);
    'bases: for base in bases {
        checkpoint(2_000_000)?;
        let mut power = wide_power(U256::from(base), odd, number);
        if power == U256::ONE || power == before {
            continue;
        }
        for _ in 1..twos {
            power = wide_times(power, power, number);
            if power == before {
                continue 'bases;
            }
        }
        return Ok(false);
    }
    Ok(true)
}

/// The sum of two numbers below the modulus.
fn wide_plus(left: U256, right: U256, modulus: U256) -> U256 {
    if left >= modulus - right { left - (modulus - right) } else { left + right }
}

fn wide_times(mut left: U256, mut right: U256, modulus: U256) -> U256 {
    let mut product = U256::ZERO;
    while right > U256::ZERO {
        if right & U256::ONE == U256::ONE {
            product = wide_plus(product, left, modulus);
        }
        left = wide_plus(left, left, modulus);
        right >>= 1;
    }
    product
}

fn wide_power(mut base: U256, mut exponent: U256, modulus: U256) -> U256 {
    let mut result = U256::ONE;
    while exponent > U256::ZERO {
        if exponent & U256::ONE == U256::ONE {
            result = wide_times(result, base, modulus);
        }
        base = wide_times(base, base, modulus);
        exponent >>= 1;
    }
    result
}

/// The first primes, which as bases find every composite below 2^64.
const BASES: [u64; 12] = [2, 3, 5, 7, 11, 13, 17, 19, 23, 29, 31, 37];

fn is_prime(number: u64) -> bool {
    if number < 2 {
        return false;
    }
    if let Some(base) = BASES.iter().find(|base| number.is_multiple_of(**base)) {
        return number == *base;
    }
    let twos = (number - 1).trailing_zeros();
    let odd = (number - 1) >> twos;
    BASES.iter().all(|base| {
        let mut power = power(*base, odd, number);
        if power == 1 || power == number - 1 {
            return true;
        }
        for _ in 1..twos {
            power = times(power, power, number);
            if power == number - 1 {
                return true;
            }
        }
        false
    })
}

fn times(left: u64, right: u64, modulus: u64) -> u64 {
    (u128::from(left) * u128::from(right) % u128::from(modulus)) as u64
}

fn power(mut base: u64, mut exponent: u64, modulus: u64) -> u64 {
    let mut result = 1;
    while exponent > 0 {
        if exponent & 1 == 1 {
            result = times(result, base, modulus);
        }
        base = times(base, base, modulus);
        exponent >>= 1;
    }
    result
}

#[cfg(test)]
mod tests {
    use super::is_prime;

    #[test]
    fn primes_are_those_of_the_sieve() {
        let mut sieve = vec![true; 10_000];
        sieve[..2].fill(false);
        for number in 2..100 {
            if sieve[number] {
                (number * number..sieve.len()).step_by(number).for_each(|multiple| sieve[multiple] = false);
            }
        }
        assert!(sieve.iter().enumerate().all(|(number, prime)| is_prime(number as u64) == *prime));
        assert!(is_prime(18_446_744_073_709_551_557));
        assert!(!is_prime(u64::MAX));
    }
}
