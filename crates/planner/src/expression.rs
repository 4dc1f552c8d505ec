//! A typed expression over the columns of one input: names are positions, functions are bound, constants are folded.

use std::sync::Arc;

use arrow_array::UInt32Array;
use squall_functions::{BoundFunction, BoundHigherOrder};
use squall_types::{Block, Column, DataType, Result, Schema, Value};

use crate::evaluate::evaluate;

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
    /// A function of a lambda: `arrayMap(x -> x + a, b)`.
    HigherOrder {
        /// ClickHouse's name of the function.
        name: Arc<str>,
        /// The function with its types settled.
        function: Arc<dyn BoundHigherOrder>,
        /// The lambda.
        lambda: Arc<Lambda>,
        /// The function's other arguments, then what the lambda captures.
        operands: Vec<Expression>,
    },
}

/// `x -> x + a`: an expression over the lambda's own arguments and over what it captures of the row around it. What does not
/// depend on the arguments is computed outside, once a row, and captured.
#[derive(Clone, Debug)]
pub struct Lambda {
    /// The columns that the body is computed over: the arguments, then what is captured.
    pub schema: Arc<Schema>,
    /// How many of these columns are arguments.
    pub parameters: usize,
    /// What it computes.
    pub body: Expression,
}

impl Lambda {
    /// How many columns are captured: the last so many operands of the call.
    pub fn captured(&self) -> usize {
        self.schema.len() - self.parameters
    }

    /// The results of `function` of this lambda over the values of a call's operands.
    ///
    /// # Errors
    /// Those of the function and of the body.
    pub fn apply(&self, function: &dyn BoundHigherOrder, operands: &[Column], rows: usize) -> Result<Column> {
        let is_constant = self.body.is_deterministic() && !operands.is_empty();
        if is_constant && operands.iter().all(Column::is_constant) {
            let one = operands.iter().map(|operand| operand.slice(0, 1).materialize()).collect::<Result<Vec<_>>>()?;
            let result = self.apply(function, &one, 1)?.materialize()?;
            return Ok(Column::repeat(&result, rows));
        }
        let (arguments, captured) = operands.split_at(operands.len() - self.captured());
        function.execute(&Closure { lambda: self, captured }, arguments, rows)
    }

    fn same(&self, other: &Self) -> bool {
        self.parameters == other.parameters
            && self.schema.types().eq(other.schema.types())
            && self.body.same(&other.body)
    }
}

/// A lambda with the values that it captured of a block.
struct Closure<'a> {
    lambda: &'a Lambda,
    captured: &'a [Column],
}

impl squall_functions::Lambda for Closure<'_> {
    fn arguments(&self) -> usize {
        self.lambda.parameters
    }

    fn is_deterministic(&self) -> bool {
        self.lambda.body.is_deterministic()
    }

    fn call(&self, arguments: &[Column], calls: usize, rows: &dyn Fn() -> UInt32Array) -> Result<Column> {
        let mut columns = arguments.to_vec();
        let varies = self.captured.iter().any(|column| !column.is_constant());
        let rows = varies.then(rows);
        for column in self.captured {
            columns.push(match &rows {
                Some(rows) if !column.is_constant() => column.take(rows)?,
                _ => column.slice(0, calls),
            });
        }
        evaluate(&self.lambda.body, &Block::new(self.lambda.schema.clone(), columns, calls))
    }
}

impl Expression {
    /// The type of the expression's values.
    pub fn data_type(&self) -> &DataType {
        match self {
            Self::Column { data_type, .. } | Self::Constant { data_type, .. } => data_type,
            Self::Function { function, .. } => function.return_type(),
            Self::HigherOrder { function, .. } => function.return_type(),
        }
    }

    /// The expressions right below this one, over the same input. What is inside a lambda is not among them.
    pub fn children(&self) -> &[Self] {
        match self {
            Self::Column { .. } | Self::Constant { .. } => &[],
            Self::Function { arguments: children, .. } | Self::HigherOrder { operands: children, .. } => children,
        }
    }

    /// The same, to be changed.
    pub fn children_mut(&mut self) -> &mut [Self] {
        match self {
            Self::Column { .. } | Self::Constant { .. } => &mut [],
            Self::Function { arguments: children, .. } | Self::HigherOrder { operands: children, .. } => children,
        }
    }

    /// The same expression over other children.
    #[must_use]
    pub fn map_children(&self, map: impl FnMut(&Self) -> Self) -> Self {
        match self {
            Self::Column { .. } | Self::Constant { .. } => self.clone(),
            Self::Function { name, function, arguments } => Self::Function {
                name: name.clone(),
                function: function.clone(),
                arguments: arguments.iter().map(map).collect(),
            },
            Self::HigherOrder { name, function, lambda, operands } => Self::HigherOrder {
                name: name.clone(),
                function: function.clone(),
                lambda: lambda.clone(),
                operands: operands.iter().map(map).collect(),
            },
        }
    }

    /// Whether something is computed: it is neither a column nor a constant.
    pub fn is_call(&self) -> bool {
        matches!(self, Self::Function { .. } | Self::HigherOrder { .. })
    }

    /// Calls `visit` with the position of every column that the expression reads.
    pub fn visit_columns(&self, visit: &mut impl FnMut(usize)) {
        match self {
            Self::Column { position, .. } => visit(*position),
            other => other.children().iter().for_each(|child| child.visit_columns(visit)),
        }
    }

    /// The same expression with every column's position replaced.
    #[must_use]
    pub fn map_columns(&self, map: &impl Fn(usize) -> usize) -> Self {
        let mut mapped = self.clone();
        mapped.renumber(map);
        mapped
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
            other => other.map_children(|child| child.substitute(columns)),
        }
    }

    /// Replaces every column's position.
    pub fn renumber(&mut self, map: &impl Fn(usize) -> usize) {
        match self {
            Self::Column { position, .. } => *position = map(*position),
            other => other.children_mut().iter_mut().for_each(|child| child.renumber(map)),
        }
    }

    /// The number of functions, columns and constants in it.
    pub fn size(&self) -> usize {
        let own = match self {
            Self::HigherOrder { lambda, .. } => 1 + lambda.body.size(),
            _ => 1,
        };
        own + self.children().iter().map(Self::size).sum::<usize>()
    }

    /// Whether equal input makes equal results: no `rand()` inside.
    pub fn is_deterministic(&self) -> bool {
        let own = match self {
            Self::Column { .. } | Self::Constant { .. } => true,
            Self::Function { function, .. } => function.properties().is_deterministic,
            Self::HigherOrder { lambda, .. } => lambda.body.is_deterministic(),
        };
        own && self.children().iter().all(Self::is_deterministic)
    }

    /// Whether it may be an error for some values of its input.
    pub fn may_throw(&self) -> bool {
        let own = match self {
            Self::Column { .. } | Self::Constant { .. } => return false,
            Self::Function { function, .. } => function.properties().may_throw,
            // Arrays of different lengths are refused.
            Self::HigherOrder { function, lambda, .. } => {
                function.may_throw() || lambda.parameters > 1 || lambda.body.may_throw()
            }
        };
        own || self.children().iter().any(Self::may_throw)
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
                    && left_function.properties().is_deterministic
                    && left.len() == right.len()
                    && left.iter().zip(right).all(|(left, right)| left.same(right))
            }
            (
                Self::HigherOrder { name: left_name, lambda: left_lambda, operands: left, .. },
                Self::HigherOrder { name: right_name, lambda: right_lambda, operands: right, .. },
            ) => {
                left_name == right_name
                    && left_lambda.body.is_deterministic()
                    && left_lambda.same(right_lambda)
                    && left.len() == right.len()
                    && left.iter().zip(right).all(|(left, right)| left.same(right))
            }
            _ => false,
        }
    }
}
