//! A typed expression over the columns of one input: names are positions, functions are bound, constants are folded.

use std::sync::Arc;

use squall_functions::BoundFunction;
use squall_types::{DataType, Value};

/// A typed expression. Evaluating it over a block is the engine's work.
#[derive(Clone, Debug)]
pub enum Expression {
    /// A column of the input by position.
    Column {
        /// The position in the input's schema.
        position: usize,
        /// Its type.
        data_type: DataType,
    },
    /// One value for every row.
    Constant {
        /// The value.
        value: Value,
        /// Its type.
        data_type: DataType,
    },
    /// A function of expressions.
    Function {
        /// ClickHouse's name of the function, for EXPLAIN and for rules that match on names.
        name: Arc<str>,
        /// The function with its types settled.
        function: Arc<dyn BoundFunction>,
        /// Its arguments.
        arguments: Vec<Expression>,
    },
}

impl Expression {
    /// The type of the expression's values.
    pub fn data_type(&self) -> &DataType {
        match self {
            Self::Column { data_type, .. } | Self::Constant { data_type, .. } => data_type,
            Self::Function { function, .. } => function.return_type(),
        }
    }

    /// Calls `visit` with the position of every column that the expression reads.
    pub fn visit_columns(&self, visit: &mut impl FnMut(usize)) {
        match self {
            Self::Column { position, .. } => visit(*position),
            Self::Constant { .. } => {}
            Self::Function { arguments, .. } => arguments.iter().for_each(|argument| argument.visit_columns(visit)),
        }
    }

    /// The same expression with every column's position replaced.
    #[must_use]
    pub fn map_columns(&self, map: &impl Fn(usize) -> usize) -> Self {
        match self {
            Self::Column { position, data_type } => {
                Self::Column { position: map(*position), data_type: data_type.clone() }
            }
            Self::Constant { .. } => self.clone(),
            Self::Function { name, function, arguments } => Self::Function {
                name: name.clone(),
                function: function.clone(),
                arguments: arguments.iter().map(|argument| argument.map_columns(map)).collect(),
            },
        }
    }

    /// A column of the input.
    pub fn column(position: usize, data_type: &DataType) -> Self {
        Self::Column { position, data_type: data_type.clone() }
    }

    /// The value, where it is one for every row.
    pub fn constant(&self) -> Option<&Value> {
        match self {
            Self::Constant { value, .. } => Some(value),
            _ => None,
        }
    }

    /// The same expression with `columns[i]` in place of column `i`.
    #[must_use]
    pub fn substitute(&self, columns: &[Self]) -> Self {
        match self {
            Self::Column { position, .. } => columns.get(*position).unwrap_or(self).clone(),
            Self::Constant { .. } => self.clone(),
            Self::Function { name, function, arguments } => Self::Function {
                name: name.clone(),
                function: function.clone(),
                arguments: arguments.iter().map(|argument| argument.substitute(columns)).collect(),
            },
        }
    }

    /// Replaces every column's position.
    pub fn renumber(&mut self, map: &impl Fn(usize) -> usize) {
        match self {
            Self::Column { position, .. } => *position = map(*position),
            Self::Constant { .. } => {}
            Self::Function { arguments, .. } => arguments.iter_mut().for_each(|argument| argument.renumber(map)),
        }
    }

    /// The number of functions, columns and constants in it.
    pub fn size(&self) -> usize {
        match self {
            Self::Column { .. } | Self::Constant { .. } => 1,
            Self::Function { arguments, .. } => 1 + arguments.iter().map(Self::size).sum::<usize>(),
        }
    }

    /// Whether equal input makes equal results: no `rand()` inside.
    pub fn is_deterministic(&self) -> bool {
        match self {
            Self::Column { .. } | Self::Constant { .. } => true,
            Self::Function { function, arguments, .. } => {
                function.is_deterministic() && arguments.iter().all(Self::is_deterministic)
            }
        }
    }

    /// Whether both are the same expression: the same columns, values and function names over the same arguments.
    pub fn same(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Column { position: left, .. }, Self::Column { position: right, .. }) => left == right,
            (
                Self::Constant { value: left, data_type: left_type },
                Self::Constant { value: right, data_type: right_type },
            ) => left == right && left_type == right_type,
            (
                Self::Function { name: left_name, function: left_function, arguments: left },
                Self::Function { name: right_name, function: right_function, arguments: right },
            ) => {
                left_name == right_name
                    && left_function.return_type() == right_function.return_type()
                    && left_function.is_deterministic()
                    && left.len() == right.len()
                    && left.iter().zip(right).all(|(left, right)| left.same(right))
            }
            _ => false,
        }
    }
}
