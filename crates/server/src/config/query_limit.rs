//! The value of `max_concurrent_queries`: a number, or `auto`.

use std::fmt;

use squall_types::Result;

use super::element::Element;
use super::server_settings::ServerSettingValue;

/// How many queries may run at once.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum QueryLimit {
    /// So many; 0 is unlimited.
    Fixed(u64),
    /// As many as the server finds best.
    Auto,
}

impl fmt::Display for QueryLimit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Fixed(number) => write!(f, "{number}"),
            Self::Auto => f.write_str("auto"),
        }
    }
}

impl ServerSettingValue for QueryLimit {
    fn read(element: &Element) -> Result<Self> {
        if element.text.trim() == "auto" {
            return Ok(Self::Auto);
        }
        element.bytes().map(Self::Fixed).map_err(|_| element.bad_value("a whole number that is not negative, or auto"))
    }
    fn from_default(text: &str) -> Self {
        Self::Fixed(text.parse().unwrap_or_default())
    }
    fn text(&self) -> String {
        self.to_string()
    }
}
