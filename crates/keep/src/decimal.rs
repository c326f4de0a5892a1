//! Decimal numbers of any size that are compared exactly. As doubles, two ids of 18 digits would often be equal.

use std::cmp::Ordering;

/// Maximum number of digits of a number that is read. A double has at most 767.
const DIGITS_MAX: usize = 1000;

/// A number: zero, or ±0.`digits` × 10^`point`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Decimal {
    is_negative: bool,
    point: i64,
    /// ASCII digits without zeros at either end. Empty for zero.
    digits: Box<[u8]>,
}

impl Decimal {
    /// Parses a number as in JSON. A plus sign and a missing digit before or after the point are accepted as well.
    /// Returns `None` for text that is not a number, or a number of too many digits.
    pub(crate) fn parse(text: &str) -> Option<Self> {
        let (is_negative, text) = match text.strip_prefix('-') {
            Some(rest) => (true, rest),
            None => (false, text.strip_prefix('+').unwrap_or(text)),
        };
        let (mantissa, exponent) = match text.split_once(['e', 'E']) {
            Some((mantissa, exponent)) => (mantissa, exponent.parse::<i32>().ok()?),
            None => (text, 0),
        };
        let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
        let all = [whole.as_bytes(), fraction.as_bytes()].concat();
        if all.is_empty() || all.len() > DIGITS_MAX || !all.iter().all(u8::is_ascii_digit) {
            return None;
        }
        let Some(first) = all.iter().position(|digit| *digit != b'0') else {
            return Some(Self { is_negative: false, point: 0, digits: Box::default() });
        };
        let end = all.iter().rposition(|digit| *digit != b'0').map_or(first, |last| last + 1);
        let point = i64::from(exponent) + whole.len() as i64 - first as i64;
        Some(Self { is_negative, point, digits: all[first..end].into() })
    }

    /// Returns the number with the other sign.
    pub(crate) fn negated(self) -> Self {
        Self { is_negative: !self.is_negative && !self.digits.is_empty(), ..self }
    }

    fn magnitude(&self) -> (bool, i64, &[u8]) {
        (!self.digits.is_empty(), self.point, &self.digits)
    }
}

impl From<i128> for Decimal {
    fn from(number: i128) -> Self {
        Self::parse(&number.to_string()).unwrap_or_else(|| unreachable!("a number of 39 digits"))
    }
}

impl Ord for Decimal {
    fn cmp(&self, other: &Self) -> Ordering {
        match (self.is_negative, other.is_negative) {
            (false, false) => self.magnitude().cmp(&other.magnitude()),
            (true, true) => other.magnitude().cmp(&self.magnitude()),
            (negative, other) => other.cmp(&negative),
        }
    }
}

impl PartialOrd for Decimal {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn number(text: &str) -> Decimal {
        Decimal::parse(text).expect(text)
    }

    #[test]
    fn numbers_are_compared_exactly() {
        for ascending in [
            &["-1e400", "-18446744073709551616", "-1.5", "-1", "-0.1", "0", "1e-400", ".5", "1.", "+2"][..],
            &["1795248000000000001", "1795248000000000002"],
            &["9223372036854775807", "9223372036854775808", "18446744073709551615", "1e20"],
            &[
                "0.1",
                "0.10000000000000000001",
                "0.11",
                "99",
                "100",
                "12345678901234567890123456789012345678901",
            ],
        ] {
            for pair in ascending.windows(2) {
                assert!(number(pair[0]) < number(pair[1]), "{pair:?}");
                assert!(number(pair[1]).negated() < number(pair[0]).negated(), "{pair:?}");
            }
        }
        for (a, b) in [("1.50", "15e-1"), ("0", "-0.0"), ("1000", "1E+3"), ("007", "7")] {
            assert_eq!(number(a), number(b));
        }
        for text in
            ["", "-", ".", "1e", "1e5.5", "0x10", "1_000", "nan", "inf", "1 2", "--1", "1e99999999999", "２"]
        {
            assert_eq!(Decimal::parse(text), None, "{text}");
        }
        assert_eq!(Decimal::parse(&"1".repeat(DIGITS_MAX + 1)), None);
    }

    proptest! {
        #[test]
        fn whole_numbers_are_ordered_as_integers(a: i128, b: i128, shift in 1_u32..120) {
            let (a, b) = (a >> shift, b >> shift);
            prop_assert_eq!(Decimal::from(a).cmp(&Decimal::from(b)), a.cmp(&b));
            prop_assert_eq!(Decimal::from(a).negated().cmp(&Decimal::from(b)), (-a).cmp(&b));
        }

        #[test]
        fn doubles_are_ordered_as_doubles(a in -1e9_f64..1e9, b in -1e9_f64..1e9) {
            prop_assert_eq!(Some(number(&a.to_string()).cmp(&number(&b.to_string()))), a.partial_cmp(&b));
        }
    }
}
