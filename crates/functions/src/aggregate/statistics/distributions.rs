//! Tails and quantiles of the distributions that statistical tests compare with: normal, Student's t, and F. Over the regularised
//! incomplete beta function as a continued fraction (DLMF 8.17.22, by Lentz's method).

use libm::{erfc, lgamma, log1p, tgamma};

/// The share of a normal distribution beyond `z`.
pub(in crate::aggregate) fn normal_tail(z: f64) -> f64 {
    erfc(z / std::f64::consts::SQRT_2) / 2.0
}

/// The point of a normal distribution with a share of `tail`, up to a half, beyond it.
pub(in crate::aggregate) fn normal_quantile(tail: f64) -> f64 {
    root(|z| normal_tail(z) - tail)
}

/// The share of Student's distribution beyond `t`, which is not negative, on both sides.
pub(in crate::aggregate) fn student_tails(t: f64, degrees: f64) -> f64 {
    let squared = t * t;
    if squared.is_infinite() {
        return 0.0;
    }
    // Whichever argument is not near 1 keeps its digits.
    if squared < degrees {
        1.0 - incomplete_beta(0.5, degrees / 2.0, squared / (degrees + squared), degrees / (degrees + squared))
    } else {
        incomplete_beta(degrees / 2.0, 0.5, degrees / (degrees + squared), squared / (degrees + squared))
    }
}

/// The point of Student's distribution with a share of `tails` beyond it on both sides.
pub(in crate::aggregate) fn student_quantile(tails: f64, degrees: f64) -> f64 {
    root(|t| student_tails(t, degrees) - tails)
}

/// The share of an F distribution beyond `f`.
pub(in crate::aggregate) fn f_tail(f: f64, between: f64, within: f64) -> f64 {
    if f <= 0.0 {
        return 1.0;
    }
    let all = within + between * f;
    incomplete_beta(within / 2.0, between / 2.0, within / all, between * f / all)
}

/// Where a function that falls, and is not negative at 0, crosses 0.
fn root(function: impl Fn(f64) -> f64) -> f64 {
    let mut high = 1.0;
    while function(high) > 0.0 && high < 1e300 {
        high *= 2.0;
    }
    let mut low = 0.0;
    // Halving finds each of the 53 bits; what is left are those of the exponent.
    for _ in 0..200 {
        let middle = low + (high - low) / 2.0;
        if middle <= low || middle >= high {
            break;
        }
        if function(middle) > 0.0 { low = middle } else { high = middle }
    }
    high
}

/// The regularised incomplete beta function; `y` is 1 - x.
fn incomplete_beta(a: f64, b: f64, x: f64, y: f64) -> f64 {
    if x <= 0.0 || x.is_nan() {
        return if x.is_nan() { x } else { 0.0 };
    }
    if x >= 1.0 {
        return 1.0;
    }
    /// The gamma function itself is exact to the last bit up to here, its logarithm is not.
    const GAMMA_MAX: f64 = 100.0;
    let front = if a + b < GAMMA_MAX {
        x.powf(a) * y.powf(b) / (tgamma(a) * tgamma(b) / tgamma(a + b))
    } else {
        (a * x.ln() + b * log1p(-x) - (lgamma(a) + lgamma(b) - lgamma(a + b))).exp()
    };
    if x < (a + 1.0) / (a + b + 2.0) {
        front * beta_fraction(a, b, x) / a
    } else {
        1.0 - front * beta_fraction(b, a, y) / b
    }
}

fn beta_fraction(a: f64, b: f64, x: f64) -> f64 {
    /// What a denominator of 0 is taken for.
    const TINY: f64 = 1e-300;
    let away = |value: f64| if value.abs() < TINY { TINY } else { value };
    let mut c = 1.0;
    let mut d = 1.0 / away(1.0 - (a + b) * x / (a + 1.0));
    let mut fraction = d;
    for step in 1..10_000 {
        let m = f64::from(step);
        let even = m * (b - m) * x / ((a + 2.0 * m - 1.0) * (a + 2.0 * m));
        d = 1.0 / away(1.0 + even * d);
        c = away(1.0 + even / c);
        fraction *= d * c;
        let odd = -(a + m) * (a + b + m) * x / ((a + 2.0 * m) * (a + 2.0 * m + 1.0));
        d = 1.0 / away(1.0 + odd * d);
        c = away(1.0 + odd / c);
        let change = d * c;
        fraction *= change;
        if (change - 1.0).abs() < 1e-16 {
            break;
        }
    }
    fraction
}

#[cfg(test)]
mod tests {
    use super::*;

    fn near(left: f64, right: f64) {
        assert!((left - right).abs() <= 1e-13 * right.abs(), "{left} {right}");
    }

    #[test]
    fn tails_of_tables() {
        near(normal_tail(1.959_963_984_540_054), 0.025);
        near(normal_quantile(0.025), 1.959_963_984_540_054);
        // One degree of freedom is Cauchy's distribution, two have a closed form.
        near(student_tails(1.0, 1.0), 0.5);
        near(student_tails(3.0, 2.0), 1.0 - 3.0 / 11_f64.sqrt());
        near(student_quantile(0.5, 1.0), 1.0);
        near(f_tail(2.0, 2.0, 4.0), 0.25);
        near(f_tail(9.0, 1.0, 2.0), student_tails(3.0, 2.0));
    }
}
