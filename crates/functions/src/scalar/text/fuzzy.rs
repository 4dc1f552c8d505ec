//! `multiFuzzyMatch…`: whether a text has a part within so many edits of a pattern. Without edits patterns are regular expressions; with
//! edits they are plain text, by Sellers' algorithm.

use std::sync::Arc;

use arrow_array::types::{UInt8Type, UInt64Type};
use squall_types::{Column, DataType, Error, ErrorCode, Result, Value, checkpoint};

use super::patterns::{by_end, compile_many};
use crate::function::BoundFunction;
use crate::scalar::array::list_column;
use crate::scalar::simple::{Call, Strings, primitive_column};

/// The patterns that a text has, counted from 1, in the order in which their first matches end.
type Matcher = Box<dyn Fn(&[u8]) -> Result<Vec<u64>> + Send + Sync>;

/// `multiFuzzyMatchAny`, `multiFuzzyMatchAnyIndex`, `multiFuzzyMatchAllIndices` of a text, a number of edits and patterns.
pub(super) fn resolve(call: &Call<'_>) -> Result<Arc<dyn BoundFunction>> {
    call.arguments(3..=3)?;
    call.strings([0])?;
    if !call.type_of(1).is_unsigned_integer() {
        return Err(call.illegal(1));
    }
    if *call.type_of(2) != DataType::array(DataType::String) {
        return Err(call.illegal(2));
    }
    let constant = |at: usize| {
        call.constant(at).ok_or_else(|| {
            Error::new(
                ErrorCode::ILLEGAL_COLUMN,
                format!("Argument {} of function {} must be constant", at + 1, call.name),
            )
        })
    };
    let edits = constant(1)?.as_u64().and_then(|edits| usize::try_from(edits).ok()).unwrap_or(usize::MAX);
    let patterns = constant(2)?;
    let matches: Matcher = if edits == 0 {
        let (set, each) = compile_many(patterns)?;
        Box::new(move |text| {
            checkpoint(8 * text.len())?;
            Ok(by_end(&set, &each, text))
        })
    } else {
        let patterns = plain_patterns(call.name, edits, patterns)?;
        Box::new(move |text| {
            let mut found = Vec::new();
            for (at, pattern) in patterns.iter().enumerate() {
                checkpoint(2 * text.len() * pattern.len())?;
                if let Some(end) = first_end(text, pattern, edits) {
                    found.push((end, at as u64 + 1));
                }
            }
            found.sort_unstable();
            Ok(found.into_iter().map(|(_, at)| at).collect())
        })
    };
    let name = call.name;
    let result = match name {
        "multiFuzzyMatchAny" => DataType::UInt8,
        "multiFuzzyMatchAnyIndex" => DataType::UInt64,
        _ => DataType::array(DataType::UInt64),
    };
    call.bind(result, move |arguments, rows| {
        let texts = Strings::of(arguments, 0)?;
        let found = (0..rows).map(|row| matches(texts.get(row))).collect::<Result<Vec<_>>>()?;
        Ok(match name {
            "multiFuzzyMatchAny" => {
                primitive_column::<UInt8Type>(DataType::UInt8, rows, |row| u8::from(!found[row].is_empty()))
            }
            "multiFuzzyMatchAnyIndex" => {
                primitive_column::<UInt64Type>(DataType::UInt64, rows, |row| found[row].first().copied().unwrap_or(0))
            }
            _ => {
                let mut ends = vec![0_i32];
                let mut indices = Vec::new();
                for own in found {
                    indices.extend(own);
                    ends.push(indices.len() as i32);
                }
                let indices = Column::from_primitive::<UInt64Type>(DataType::UInt64, indices);
                list_column(&DataType::UInt64, ends, indices.array().clone())?
            }
        })
    })
}

/// Patterns that are compared with edits.
fn plain_patterns(name: &str, edits: usize, patterns: &Value) -> Result<Vec<Vec<u8>>> {
    let Value::Array(patterns) = patterns else { return Err(Error::logical("patterns are an array")) };
    let plain = |pattern: &Value| {
        let pattern = pattern.as_bytes().unwrap_or_default();
        let text = String::from_utf8_lossy(pattern);
        if pattern.iter().any(|byte| b"\\.+*?()|[]{}^$".contains(byte)) {
            return Err(Error::new(
                ErrorCode::NOT_IMPLEMENTED,
                format!("Function {name} takes regular expressions only with distance 0; '{text}' is one"),
            ));
        }
        if edits >= pattern.len() {
            let message = format!(
                "Pattern '{text}' failed with error 'Approximate matching patterns that reduce to vacuous patterns are disallowed.'"
            );
            return Err(Error::new(ErrorCode::BAD_ARGUMENTS, message));
        }
        Ok(pattern.to_vec())
    };
    patterns.iter().map(plain).collect()
}

/// Where the first part of a text ends that is within so many edits of a pattern.
fn first_end(text: &[u8], pattern: &[u8], edits: usize) -> Option<usize> {
    // The fewest edits between each beginning of the pattern and a part of the text that ends here.
    let mut distances: Vec<usize> = (0..=pattern.len()).collect();
    for (at, byte) in text.iter().enumerate() {
        let mut diagonal = 0;
        for (place, wanted) in pattern.iter().enumerate() {
            let above = distances[place + 1];
            let changed = diagonal + usize::from(wanted != byte);
            distances[place + 1] = changed.min(above + 1).min(distances[place] + 1);
            diagonal = above;
        }
        if distances.last().is_some_and(|distance| *distance <= edits) {
            return Some(at + 1);
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::first_end;

    #[test]
    fn parts_within_so_many_edits_are_found() {
        assert_eq!(first_end(b"a ClickHose b", b"ClickHouse", 1), Some(11));
        assert_eq!(first_end(b"a ClickHose b", b"ClickHouse", 0), None);
        assert_eq!(first_end(b"kitten", b"sitting", 3), Some(6));
    }
}
