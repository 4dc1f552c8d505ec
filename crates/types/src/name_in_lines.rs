//! The name of a type as people read it: each element of a tuple with names has a line of its own.

use crate::data_type::{DataType, TupleElement};

/// What one step inwards is indented by.
const INDENT: &str = "    ";

impl DataType {
    /// Its name, in which each element of a tuple with names has a line of its own. `Nullable` keeps what it is of on one line.
    pub fn name_in_lines(&self) -> String {
        self.lines(0)
    }

    fn lines(&self, depth: usize) -> String {
        let all = |types: &mut dyn Iterator<Item = &Self>| {
            types.map(|data_type| data_type.lines(depth)).collect::<Vec<_>>().join(", ")
        };
        match self {
            Self::Array(item) => format!("Array({})", item.lines(depth)),
            Self::Map(key, value) => format!("Map({})", all(&mut [&**key, &**value].into_iter())),
            Self::Variant(alternatives) => format!("Variant({})", all(&mut alternatives.iter())),
            Self::Tuple(elements) if elements.iter().any(|element| element.name.is_some()) => {
                let lines: Vec<String> = elements.iter().map(|element| element_line(element, depth + 1)).collect();
                format!("Tuple({})", lines.join(","))
            }
            Self::Tuple(elements) => {
                format!("Tuple({})", all(&mut elements.iter().map(|element| &element.data_type)))
            }
            other => other.to_string(),
        }
    }
}

fn element_line(element: &TupleElement, depth: usize) -> String {
    // The name as it is quoted in a tuple of this element alone.
    let alone = DataType::Tuple([TupleElement { name: element.name.clone(), data_type: DataType::UInt8 }].into());
    let alone = alone.to_string();
    let name = alone.trim_start_matches("Tuple(").trim_end_matches("UInt8)");
    format!("\n{}{name}{}", INDENT.repeat(depth), element.data_type.lines(depth))
}
