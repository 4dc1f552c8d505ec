//! Loops that the compiler turns into vector instructions, for the processor at hand: the program itself is compiled for any.

/// Runs a loop with the widest vector instructions that this processor has: AVX-512, AVX2, or what all of its kind have (SSE2, NEON).
///
/// The loop is compiled once for each, so it should be short. What it calls must be inlined, or else is compiled without these instructions.
/// `docs/notes/columns.md` has figures of some loops with SSE2 and with AVX-512.
#[inline]
pub fn vectorized<R>(work: impl FnOnce() -> R) -> R {
    #[cfg(target_arch = "x86_64")]
    {
        #[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,bmi1,bmi2,popcnt")]
        fn with_avx512<R>(work: impl FnOnce() -> R) -> R {
            work()
        }
        #[target_feature(enable = "avx2,bmi1,bmi2,popcnt")]
        fn with_avx2<R>(work: impl FnOnce() -> R) -> R {
            work()
        }
        let has_avx2 = is_x86_feature_detected!("avx2")
            && is_x86_feature_detected!("bmi1")
            && is_x86_feature_detected!("bmi2")
            && is_x86_feature_detected!("popcnt");
        let has_avx512 = has_avx2
            && is_x86_feature_detected!("avx512f")
            && is_x86_feature_detected!("avx512bw")
            && is_x86_feature_detected!("avx512dq")
            && is_x86_feature_detected!("avx512vl");
        if has_avx512 {
            // SAFETY: the processor has these features.
            return unsafe { with_avx512(work) };
        }
        if has_avx2 {
            // SAFETY: as before.
            return unsafe { with_avx2(work) };
        }
    }
    work()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn loops_give_the_same_with_and_without() {
        let numbers: Vec<i64> =
            (0..1_000).map(|number: i64| number.wrapping_mul(0x9E37_79B9_7F4A_7C15_u64 as i64)).collect();
        for rows in [0, 1, 7, 63, 1_000] {
            let of = || numbers[..rows].iter().map(|number| u8::from(*number < 5)).collect::<Vec<_>>();
            assert_eq!(vectorized(of), of());
        }
    }
}
