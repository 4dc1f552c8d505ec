//! What formats for people emphasize in a terminal: names in bold, what is not part of a value in grey, groups of digits and spaces at
//! the end of a text.

use squall_types::{DataType, Settings};

use crate::text::quantity::append_tip;

const BOLD: &str = "\x1b[1m";
const GREY: &str = "\x1b[90m";
const RED_BOLD: &str = "\x1b[31;1m";
const UNDERLINED: &str = "\x1b[4m";
const RED_UNDERLINED: &str = "\x1b[31m\x1b[4m";
const PLAIN: &str = "\x1b[0m";

/// A number of fewer digits is easily read without groups.
const GROUPED_DIGITS_MIN: usize = 5;

/// What is emphasized in the values of a column.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Emphasis {
    None,
    /// The first digit of each group of three.
    DigitGroups,
    /// White space at the end.
    TrailingSpaces,
}

/// Whether and how output is emphasized.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Colors {
    is_on: bool,
    has_digit_groups: bool,
    has_trailing_spaces: bool,
}

impl Colors {
    /// The colours that settings ask for, where a format has any.
    pub fn new(settings: &Settings, has_escapes: bool) -> Self {
        Self {
            is_on: has_escapes && settings.output_format_pretty_color == "1",
            has_digit_groups: settings.output_format_pretty_highlight_digit_groups,
            has_trailing_spaces: settings.output_format_pretty_highlight_trailing_spaces,
        }
    }

    /// What is emphasized in values of a type.
    pub fn emphasis(self, data_type: &DataType) -> Emphasis {
        let is_text = data_type.inner().is_string_or_fixed_string();
        let is_grouped = !matches!(data_type, DataType::LowCardinality(_)) && is_quantity(data_type);
        match self.is_on {
            true if is_text && self.has_trailing_spaces => Emphasis::TrailingSpaces,
            true if is_grouped && self.has_digit_groups => Emphasis::DigitGroups,
            _ => Emphasis::None,
        }
    }

    fn marked(self, mark: &str, text: &[u8], out: &mut Vec<u8>) {
        if !self.is_on {
            out.extend_from_slice(text);
            return;
        }
        out.extend_from_slice(mark.as_bytes());
        out.extend_from_slice(text);
        out.extend_from_slice(PLAIN.as_bytes());
    }

    /// Appends a name.
    pub fn name(self, name: &str, out: &mut Vec<u8>) {
        self.marked(BOLD, name.as_bytes(), out);
    }

    /// Appends what stands beside values.
    pub fn aside(self, text: &str, out: &mut Vec<u8>) {
        self.marked(GREY, text.as_bytes(), out);
    }

    /// Appends the sign of a value that was cut.
    pub fn cut(self, sign: &str, out: &mut Vec<u8>) {
        self.marked(RED_BOLD, sign.as_bytes(), out);
    }

    /// Appends a large number in words behind its digits.
    pub fn tip(self, digits: &[u8], threshold: u64, out: &mut Vec<u8>) {
        let mut tip = Vec::new();
        append_tip(digits, threshold, &mut tip);
        if !tip.is_empty() {
            self.marked(GREY, &tip, out);
        }
    }

    /// Appends a value.
    pub fn value(self, text: &[u8], emphasis: Emphasis, out: &mut Vec<u8>) {
        match emphasis {
            Emphasis::None => out.extend_from_slice(text),
            Emphasis::TrailingSpaces => {
                let is_space = |byte: &&u8| byte.is_ascii_whitespace() || **byte == 0x0B;
                let spaces = text.iter().rev().take_while(is_space).count();
                let (start, end) = text.split_at(text.len() - spaces);
                out.extend_from_slice(start);
                if !end.is_empty() {
                    self.marked(RED_UNDERLINED, end, out);
                }
            }
            Emphasis::DigitGroups => {
                let sign = usize::from(text.starts_with(b"-"));
                let (sign, number) = text.split_at(sign);
                out.extend_from_slice(sign);
                let count = number.iter().take_while(|byte| byte.is_ascii_digit()).count();
                if count < GROUPED_DIGITS_MIN {
                    out.extend_from_slice(number);
                    return;
                }
                for (at, digit) in number.iter().enumerate() {
                    if at + 1 < count && (count - 1 - at) % 3 == 0 {
                        self.marked(UNDERLINED, &[*digit], out);
                    } else {
                        out.push(*digit);
                    }
                }
            }
        }
    }
}

/// Whether large values of a type are said in words.
pub(crate) fn is_quantity(data_type: &DataType) -> bool {
    let inner = data_type.inner();
    inner.is_number() || inner.is_wide_integer() || matches!(inner, DataType::Decimal(..))
}
