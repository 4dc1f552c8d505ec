//! `soundex(text)`: a letter and three digits that names which sound alike share.

use std::sync::Arc;

use squall_types::{DataType, Result};

use crate::function::BoundFunction;
use crate::scalar::simple::{Call, Strings, string_column};

/// The digits of the letters from A to Z; 0 is of vowels and the like, which part equal sounds.
const DIGITS: &[u8; 26] = b"01230120022455012623010202";

pub(super) fn resolve(call: &Call<'_>) -> Result<Arc<dyn BoundFunction>> {
    call.arguments(1..=1)?;
    call.strings([0])?;
    call.bind(DataType::String, |arguments, rows| {
        let strings = Strings::of(arguments, 0)?;
        string_column(rows, rows * 4, |out, row| {
            let mut letters = strings.get(row).iter().filter(|byte| byte.is_ascii_alphabetic());
            let digit =
                |letter: u8| DIGITS.get(usize::from(letter.to_ascii_uppercase() - b'A')).copied().unwrap_or(b'0');
            let start = out.len();
            let Some(first) = letters.next() else {
                out.resize(start + 4, b'0');
                return Ok(());
            };
            out.push(first.to_ascii_uppercase());
            let mut last = digit(*first);
            for letter in letters {
                let own = digit(*letter);
                if own != b'0' && own != last {
                    out.push(own);
                    if out.len() == start + 4 {
                        break;
                    }
                }
                last = own;
            }
            out.resize(start + 4, b'0');
            Ok(())
        })
    })
}
