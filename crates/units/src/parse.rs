//! The one parser of "decimal number, then unit", exact in integers.

/// Why a text is not a quantity.
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
#[error("{text:?}: {}", self.message())]
pub struct UnitError {
    /// What was given.
    pub text: String,
    /// What is wrong with it.
    pub fault: Fault,
    /// What would be valid.
    pub expected: &'static str,
}

/// What is wrong with a text that is not a quantity.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Fault {
    /// There is no number at the start.
    NotANumber,
    /// The number has no unit, or one that is unknown.
    UnknownUnit,
    /// The number is finer than the unit can hold, or too large, or negative.
    OutOfRange,
}

impl Fault {
    /// What a message says of it before what would be valid.
    const fn prefix(self) -> &'static str {
        match self {
            Self::NotANumber => "",
            Self::UnknownUnit => "unknown or missing unit; ",
            Self::OutOfRange => "out of range; ",
        }
    }
}

impl UnitError {
    pub(crate) fn new(text: &str, fault: Fault, expected: &'static str) -> Self {
        Self { text: text.to_owned(), fault, expected }
    }

    /// What is wrong and what would be valid, without the text.
    #[must_use]
    pub fn message(&self) -> String {
        format!("{}expected {}", self.fault.prefix(), self.expected)
    }
}

/// Parses `text` as a non-negative decimal number and one of `units` (suffix, factor), and returns number × factor.
///
/// The product must be an integer: half a nanosecond is an error, not a rounding.
pub(crate) fn quantity(text: &str, units: &[(&str, u64)], expected: &'static str) -> Result<u64, UnitError> {
    let error = |fault| UnitError::new(text, fault, expected);
    let split = text.find(|c: char| !(c.is_ascii_digit() || c == '.')).unwrap_or(text.len());
    let (number, unit) = text.split_at(split);
    if number.is_empty() || number.starts_with('.') || number.ends_with('.') {
        return Err(error(Fault::NotANumber));
    }
    let factor = units.iter().find(|(name, _)| *name == unit).map(|(_, factor)| *factor);
    let factor = factor.ok_or_else(|| error(Fault::UnknownUnit))?;
    scaled(number, factor).ok_or_else(|| error(Fault::OutOfRange))
}

/// `number` × `factor`, when that is an integer below 2^64.
fn scaled(number: &str, factor: u64) -> Option<u64> {
    let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
    let fraction = fraction.trim_end_matches('0');
    if fraction.len() > 18 {
        return None;
    }
    let denominator = 10_u128.pow(u32::try_from(fraction.len()).ok()?);
    let whole: u128 = whole.parse().ok()?;
    let part: u128 = if fraction.is_empty() { 0 } else { fraction.parse().ok()? };
    let numerator = whole.checked_mul(denominator)?.checked_add(part)?.checked_mul(u128::from(factor))?;
    if !numerator.is_multiple_of(denominator) {
        return None;
    }
    u64::try_from(numerator / denominator).ok()
}

/// Prints `value` in the largest of `units` (given largest first) that leaves at most three decimals.
pub(crate) fn print(value: u64, units: &[(&str, u64)], f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
    for (index, (name, factor)) in units.iter().enumerate() {
        let last = index + 1 == units.len();
        let thousandths = factor.is_multiple_of(1000) && value.is_multiple_of(*factor / 1000);
        let exact = value.is_multiple_of(*factor) || thousandths;
        if last || (value >= *factor && exact) {
            let (whole, rest) = (value / factor, value % factor);
            if rest == 0 {
                return write!(f, "{whole}{name}");
            }
            let decimals = format!("{:03}", u128::from(rest) * 1000 / u128::from(*factor));
            return write!(f, "{whole}.{}{name}", decimals.trim_end_matches('0'));
        }
    }
    Ok(())
}

/// Serialisation as text, for a type that has `Display` and `FromStr`.
macro_rules! serde_as_text {
    ($type:ty) => {
        impl serde::Serialize for $type {
            fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.collect_str(self)
            }
        }

        impl<'de> serde::Deserialize<'de> for $type {
            fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                let text = <std::borrow::Cow<'de, str>>::deserialize(deserializer)?;
                text.parse().map_err(serde::de::Error::custom)
            }
        }
    };
}
pub(crate) use serde_as_text;
