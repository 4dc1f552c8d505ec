//! `isPrime` and `isProbablePrime`: Miller's and Rabin's test with the bases that leave no doubt below 2^64.

use std::sync::Arc;

use arrow_array::types::{UInt8Type, UInt64Type};
use squall_types::{DataType, Error, ErrorCode, Result};

use crate::function::BoundFunction;
use crate::scalar::kernel::as_type;
use crate::scalar::simple::{Call, Numbers, primitive_column};

pub(super) fn resolve(call: &Call<'_>) -> Result<Arc<dyn BoundFunction>> {
    call.arguments(1..=if call.name == "isPrime" { 1 } else { 2 })?;
    let data_type = call.type_of(0);
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
