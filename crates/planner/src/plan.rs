//! The logical plan: a tree of relational steps, names resolved and types settled. The engine turns it into pipelines; optimizer
//! rules rewrite it. Every step's output columns are its [`Plan::schema`]; expressions refer to the input's columns by position.

use std::fmt;
use std::sync::Arc;

use squall_functions::{AggregateFunction, WindowFunction};
use squall_types::{Block, DataType, Result, Schema};

use crate::catalog::TableMetadata;
use crate::expression::Expression;
use crate::fill::Fill;

/// A step and the steps below it.
#[derive(Clone, Debug)]
pub enum Plan {
    /// Rows of a table.
    Scan(Scan),
    /// Rows that are part of the query: `SELECT 1` is one row without columns.
    Values {
        /// The columns.
        schema: Arc<Schema>,
        /// The rows.
        blocks: Vec<Block>,
    },
    /// The rows for which `predicate` (`UInt8`, `Bool`, or Nullable of them) is neither 0 nor NULL.
    Filter {
        /// Where rows come from.
        input: Box<Plan>,
        /// The condition.
        predicate: Expression,
    },
    /// One output column per expression.
    Project {
        /// Where rows come from.
        input: Box<Plan>,
        /// The output columns.
        expressions: Vec<Expression>,
        /// Their names and types.
        schema: Arc<Schema>,
    },
    /// One row per distinct combination of keys: the keys, then the aggregates' results.
    Aggregate(Aggregate),
    /// All rows in order.
    Sort {
        /// Where rows come from.
        input: Box<Plan>,
        /// The order.
        keys: Vec<SortKey>,
        /// Only so many first rows are wanted by the steps above.
        limit: Option<u64>,
        /// Of the rows that are alike in the first keys, only some are wanted by the steps above.
        group_limit: Option<GroupLimit>,
    },
    /// Rows `offset..offset + limit`.
    Limit {
        /// Where rows come from.
        input: Box<Plan>,
        /// Rows to pass over.
        offset: u64,
        /// Rows to let through; `None` is all.
        limit: Option<u64>,
        /// `WITH TIES`: also the rows that follow and equal the last by these keys (of the sort below).
        ties: Option<Vec<SortKey>>,
    },
    /// Of the rows with equal `keys`, rows `offset..offset + limit`.
    LimitBy {
        /// Where rows come from.
        input: Box<Plan>,
        /// Rows of each group to pass over.
        offset: u64,
        /// Rows of each group to let through.
        limit: u64,
        /// What makes a group.
        keys: Vec<Expression>,
    },
    /// Each distinct row once; the first that comes.
    Distinct {
        /// Where rows come from.
        input: Box<Plan>,
    },
    /// The rows of all inputs, whose schemas have equal types.
    Union {
        /// Where rows come from.
        inputs: Vec<Plan>,
        /// The columns.
        schema: Arc<Schema>,
    },
    /// The rows in their order, with those that are missing between them (`WITH FILL`).
    Fill(Fill),
    /// The input's columns and one more for each window function. Rows come in the window's order.
    Window(Window),
    /// One row per item of the arrays, which advance together (`ARRAY JOIN`).
    ArrayJoin {
        /// Where rows come from.
        input: Box<Plan>,
        /// The arrays; each becomes one output column after the input's.
        arrays: Vec<Expression>,
        /// Whether rows of empty arrays stay, once, with default items.
        is_left: bool,
        /// The input's columns, then one per array.
        schema: Arc<Schema>,
    },
    /// Rows of two inputs side by side.
    Join(Join),
    /// A plan of which several steps read rows that are computed once.
    CommonSubplan {
        /// The number by which [`CommonRows`] in `input` know the rows.
        number: usize,
        /// The rows that are computed once.
        rows: Box<Plan>,
        /// What reads them; its rows come out.
        input: Box<Plan>,
    },
    /// Rows that are computed once.
    CommonRows(CommonRows),
    /// Few rows of a table, and the columns of theirs that no step below reads.
    LateColumns(LateColumns),
}

/// Columns of a table that are read for few of its rows, once these are known.
#[derive(Clone, Debug)]
pub struct LateColumns {
    /// Where the rows come from. The last column tells where each is in the table ([`Scan::has_places`]).
    pub input: Box<Plan>,
    /// The table.
    pub table: Arc<dyn TableMetadata>,
    /// Positions of the table's columns that are read.
    pub columns: Vec<usize>,
    /// The input's columns but for the last one, then those that are read.
    pub schema: Arc<Schema>,
}

/// A reading of the rows of a [`Plan::CommonSubplan`] around it.
#[derive(Clone, Debug)]
pub struct CommonRows {
    /// The number of the subplan.
    pub number: usize,
    /// The columns of it that are read.
    pub columns: Vec<usize>,
    /// These columns.
    pub schema: Arc<Schema>,
}

/// Rows of two inputs side by side. The right one is held in memory, by its keys; the left one streams past it.
#[derive(Clone, Debug)]
pub struct Join {
    /// The rows that are looked up.
    pub left: Box<Plan>,
    /// The rows that are found.
    pub right: Box<Plan>,
    /// Which rows stay without a partner.
    pub kind: JoinKind,
    /// How many partners a row gets.
    pub strictness: JoinStrictness,
    /// What must be equal; NULL equals nothing. None: every row is every row's partner.
    pub keys: Vec<JoinKey>,
    /// What else must hold of a pair: over the left input's columns, then the right one's. With ASOF it reads the left one's alone.
    pub condition: Option<Expression>,
    /// With ASOF, and only then: which of the rows of equal keys is a row's partner.
    pub nearest: Option<Nearest>,
    /// The left input's columns that are put out.
    pub left_columns: Vec<usize>,
    /// The right input's columns that are put out.
    pub right_columns: Vec<usize>,
    /// These columns. Where a side may be missing, a column that is Nullable here and not in the input is NULL, any other the
    /// type's default.
    pub schema: Arc<Schema>,
    /// The number by which filters and scans on the probe side know its build side's keys, where there are any.
    pub runtime_filter: Option<u64>,
}

impl Join {
    /// All pairs of rows with equal keys, with the columns of both inputs.
    pub fn inner(left: Plan, right: Plan, keys: Vec<JoinKey>) -> Self {
        let fields = left.schema().fields.iter().chain(&right.schema().fields).cloned().collect();
        Self {
            left_columns: (0..left.schema().len()).collect(),
            right_columns: (0..right.schema().len()).collect(),
            left: Box::new(left),
            right: Box::new(right),
            kind: JoinKind::Inner,
            strictness: JoinStrictness::All,
            keys,
            condition: None,
            nearest: None,
            runtime_filter: None,
            schema: Arc::new(Schema { fields }),
        }
    }
}

/// An equality of a join. Both sides have one type but for Nullable.
#[derive(Clone, Debug)]
pub struct JoinKey {
    /// Over the left input.
    pub left: Expression,
    /// Over the right input.
    pub right: Expression,
}

/// The inequality of an ASOF JOIN: of the right rows for which it holds, the nearest one is taken.
#[derive(Clone, Debug)]
pub struct Nearest {
    /// Over the left input.
    pub left: Expression,
    /// Over the right input, of the same type but for Nullable.
    pub right: Expression,
    /// How the left value compares with the right one.
    pub inequality: Inequality,
}

/// How two values compare.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[allow(missing_docs)]
pub enum Inequality {
    Less,
    LessOrEquals,
    Greater,
    GreaterOrEquals,
}

impl Inequality {
    /// The inequality that a function tests.
    pub fn of_function(name: &str) -> Option<Self> {
        Some(match name {
            "less" => Self::Less,
            "lessOrEquals" => Self::LessOrEquals,
            "greater" => Self::Greater,
            "greaterOrEquals" => Self::GreaterOrEquals,
            _ => return None,
        })
    }

    /// The same with the sides exchanged.
    #[must_use]
    pub fn mirrored(self) -> Self {
        match self {
            Self::Less => Self::Greater,
            Self::LessOrEquals => Self::GreaterOrEquals,
            Self::Greater => Self::Less,
            Self::GreaterOrEquals => Self::LessOrEquals,
        }
    }
}

impl fmt::Display for Inequality {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Less => "LESS",
            Self::LessOrEquals => "LESS_OR_EQUALS",
            Self::Greater => "GREATER",
            Self::GreaterOrEquals => "GREATER_OR_EQUALS",
        })
    }
}

/// Which rows of a join stay without a partner.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum JoinKind {
    /// None.
    Inner,
    /// The left input's.
    Left,
    /// The right input's.
    Right,
    /// Both inputs'.
    Full,
}

impl JoinKind {
    /// Whether a row of the left input may come without a partner.
    #[inline]
    pub fn keeps_left(self) -> bool {
        matches!(self, Self::Left | Self::Full)
    }

    /// Whether a row of the right input may come without a partner.
    #[inline]
    pub fn keeps_right(self) -> bool {
        matches!(self, Self::Right | Self::Full)
    }
}

impl fmt::Display for JoinKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Inner => "INNER",
            Self::Left => "LEFT",
            Self::Right => "RIGHT",
            Self::Full => "FULL",
        })
    }
}

/// How many partners a row of a join gets.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum JoinStrictness {
    /// Every one.
    All,
    /// One: of several rows that could be the other side's, the first; INNER takes a row of either side once.
    Any,
    /// One of the right input's, which may be that of several rows (`any_join_distinct_right_table_keys`).
    RightAny,
    /// One, and rows without one do not come.
    Semi,
    /// Only rows without one come.
    Anti,
    /// The nearest one of those of equal keys.
    Asof,
    /// The one of the same number; rows beyond the shorter side do not come.
    Paste,
}

impl fmt::Display for JoinStrictness {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::All => "ALL",
            Self::Any => "ANY",
            Self::RightAny => "RIGHT_ANY",
            Self::Semi => "SEMI",
            Self::Anti => "ANTI",
            Self::Asof => "ASOF",
            Self::Paste => "PASTE",
        })
    }
}

/// The rows of a table.
#[derive(Clone, Debug)]
pub struct Scan {
    /// The table.
    pub table: Arc<dyn TableMetadata>,
    /// Positions of the table's columns that are read, in output order. May be empty: only the number of rows matters.
    pub columns: Vec<usize>,
    /// The columns read.
    pub schema: Arc<Schema>,
    /// A condition over the columns read that the scan applies: parts and granules that cannot hold a match are passed over, and
    /// the remaining rows are filtered.
    pub predicate: Option<Expression>,
    /// The keys of joins above outside of whose values no row matters.
    pub bounds: Vec<KeyBound>,
    /// How many first rows suffice, where no step above needs more.
    pub limit: Option<u64>,
    /// Whether `predicate` hides rows from the query (a row policy): nothing of the query that could tell of hidden rows, by failing, may be
    /// tested with it.
    pub hides_rows: bool,
    /// Whether one more column comes last, which tells where each row is in the table.
    pub has_places: bool,
}

/// A column of a table that equals a key of a join above it, in every row that matters.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct KeyBound {
    /// The number of the join ([`Join::runtime_filter`]).
    pub join: u64,
    /// The position of the key among the join's.
    pub key: usize,
    /// The position of the column among the table's.
    pub column: usize,
}

/// Grouping and aggregation.
#[derive(Clone, Debug)]
pub struct Aggregate {
    /// Where rows come from.
    pub input: Box<Plan>,
    /// What makes a group; empty: one group, that exists even without rows.
    pub keys: Vec<Expression>,
    /// The aggregates.
    pub aggregates: Vec<AggregateCall>,
    /// The keys' columns, then the aggregates'.
    pub schema: Arc<Schema>,
    /// `WITH TOTALS`: the aggregates over all rows besides, as an extra row with default keys.
    pub with_totals: bool,
    /// ROLLUP, CUBE, GROUPING SETS: what is to be known of the sets.
    pub sets: Option<KeySets>,
    /// So many groups are wanted, whichever.
    pub limit: Option<u64>,
}

/// Several sets of keys at once: each row comes once for each set, with defaults for the keys that the set has not.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct KeySets {
    /// The key, by position, that is the set's number, from 0.
    pub number: usize,
    /// Whether set 0 has no keys and one group also where no rows come.
    pub has_group_without_rows: bool,
}

/// One aggregate of an aggregation.
#[derive(Clone, Debug)]
pub struct AggregateCall {
    /// The name as written in results, for EXPLAIN.
    pub name: Arc<str>,
    /// The function with its types settled.
    pub function: Arc<dyn AggregateFunction>,
    /// Its arguments over the input; none where the function needs none.
    pub arguments: Vec<Expression>,
}

impl AggregateCall {
    /// The function's name as the query has it: what stands before the first parenthesis.
    pub fn function_name(&self) -> &str {
        self.name.split('(').next().unwrap_or_default()
    }

    /// The function as it is written in results, with its parameters: `quantile(0.9)`.
    pub fn function_text(&self) -> &str {
        let mut depth = 0_usize;
        for (at, byte) in self.name.bytes().enumerate() {
            match byte {
                b'(' => depth += 1,
                b')' => depth = depth.saturating_sub(1),
                _ => {}
            }
            if depth == 0 && byte == b')' {
                let is_called = self.name.as_bytes().get(at + 1) == Some(&b'(');
                return if is_called { self.name.get(..=at).unwrap_or_default() } else { self.function_name() };
            }
        }
        self.function_name()
    }

    /// Whether this counts rows, whatever is in them: `count()`, and `count(x)` of an `x` that is never NULL.
    pub fn counts_rows(&self) -> bool {
        self.arguments.is_empty()
            && !self.function.needs_arguments()
            && *self.function.return_type() == DataType::UInt64
    }
}

/// The functions of one window. The rows come in the order of the partition's keys and then of the window.
#[derive(Clone, Debug)]
pub struct Window {
    /// Where rows come from, in order.
    pub input: Box<Plan>,
    /// What makes a partition; empty: all rows are one.
    pub partition_by: Vec<Expression>,
    /// The order within a partition; empty: all rows are peers.
    pub order_by: Vec<SortKey>,
    /// The rows that a function sees from each row.
    pub frame: WindowFrame,
    /// The functions; each becomes one output column after the input's.
    pub calls: Vec<WindowCall>,
    /// The input's columns, then one per function.
    pub schema: Arc<Schema>,
}

/// One function of a window.
#[derive(Clone, Debug)]
pub struct WindowCall {
    /// The call as written in results, for EXPLAIN.
    pub name: Arc<str>,
    /// The function with its types settled.
    pub function: WindowCallFunction,
    /// Its arguments over the input.
    pub arguments: Vec<Expression>,
}

/// What computes the values of a window function.
#[derive(Clone, Debug)]
pub enum WindowCallFunction {
    /// An aggregate over each row's frame.
    Aggregate(Arc<dyn AggregateFunction>),
    /// A function that only windows have.
    Own(Arc<dyn WindowFunction>),
}

impl WindowCallFunction {
    /// The type of the result.
    pub fn return_type(&self) -> &DataType {
        match self {
            Self::Aggregate(function) => function.return_type(),
            Self::Own(function) => function.return_type(),
        }
    }
}

/// The rows of its partition that a function sees from a row.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct WindowFrame {
    /// What the bounds count.
    pub unit: FrameUnit,
    /// Where it begins.
    pub begin: FrameBound,
    /// Where it ends, inclusive.
    pub end: FrameBound,
}

impl Default for WindowFrame {
    /// `RANGE BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW`.
    fn default() -> Self {
        Self { unit: FrameUnit::Range, begin: FrameBound::UnboundedPreceding, end: FrameBound::CurrentRow }
    }
}

impl fmt::Display for WindowFrame {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} BETWEEN {} AND {}", self.unit, self.begin, self.end)
    }
}

/// What the bounds of a frame count.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum FrameUnit {
    /// Rows.
    Rows,
    /// Differences of the only key of the order.
    Range,
    /// Groups of rows that are equal in the order.
    Groups,
}

impl fmt::Display for FrameUnit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Rows => "ROWS",
            Self::Range => "RANGE",
            Self::Groups => "GROUPS",
        })
    }
}

/// One bound of a frame.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum FrameBound {
    /// The partition's first row.
    UnboundedPreceding,
    /// So many before the row.
    Preceding(u64),
    /// The row itself; its first or last peer where not rows are counted.
    CurrentRow,
    /// So many after the row.
    Following(u64),
    /// The partition's last row.
    UnboundedFollowing,
}

impl fmt::Display for FrameBound {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::UnboundedPreceding => f.write_str("UNBOUNDED PRECEDING"),
            Self::Preceding(count) => write!(f, "{count} PRECEDING"),
            Self::CurrentRow => f.write_str("CURRENT ROW"),
            Self::Following(count) => write!(f, "{count} FOLLOWING"),
            Self::UnboundedFollowing => f.write_str("UNBOUNDED FOLLOWING"),
        }
    }
}

/// Which rows of those that are alike in the first keys of an order are wanted: those before which fewer than `rows` come that differ in
/// the other keys. More may come.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct GroupLimit {
    /// How many keys make a group.
    pub keys: usize,
    /// The rows.
    pub rows: u64,
}

/// One key of an order.
#[derive(Clone, Debug)]
pub struct SortKey {
    /// What is compared.
    pub expression: Expression,
    /// Largest first.
    pub descending: bool,
    /// NULL and NaN before every value, whichever the direction.
    pub nulls_first: bool,
}

impl SortKey {
    fn same(&self, other: &Self) -> bool {
        self.descending == other.descending
            && self.nulls_first == other.nulls_first
            && self.expression.same(&other.expression)
    }
}

impl Plan {
    /// Whether both are the same steps over the same tables, so that one may stand for the other. Of steps that seldom come twice in a query
    /// it is not known.
    pub fn same(&self, other: &Self) -> bool {
        if !self.schema().types().eq(other.schema().types()) {
            return false;
        }
        let all_same = |left: &[Expression], right: &[Expression]| {
            left.len() == right.len() && left.iter().zip(right).all(|(left, right)| left.same(right))
        };
        let both_same = |left: &Option<Expression>, right: &Option<Expression>| match (left, right) {
            (Some(left), Some(right)) => left.same(right),
            (None, None) => true,
            _ => false,
        };
        let in_same_order = |left: &[SortKey], right: &[SortKey]| {
            left.len() == right.len() && left.iter().zip(right).all(|(left, right)| left.same(right))
        };
        let is_same_step = match (self, other) {
            (Self::Scan(left), Self::Scan(right)) => {
                left.table.rows_identity() == right.table.rows_identity()
                    && left.columns == right.columns
                    && both_same(&left.predicate, &right.predicate)
                    && left.limit == right.limit
                    && left.bounds == right.bounds
                    && left.hides_rows == right.hides_rows
                    && left.has_places == right.has_places
            }
            (Self::Filter { predicate: left, .. }, Self::Filter { predicate: right, .. }) => left.same(right),
            (Self::Project { expressions: left, .. }, Self::Project { expressions: right, .. }) => {
                all_same(left, right)
            }
            (Self::Aggregate(left), Self::Aggregate(right)) => {
                let is_same_call = |(left, right): (&AggregateCall, &AggregateCall)| {
                    left.name == right.name
                        && left.function.return_type() == right.function.return_type()
                        && all_same(&left.arguments, &right.arguments)
                };
                all_same(&left.keys, &right.keys)
                    && left.aggregates.len() == right.aggregates.len()
                    && left.aggregates.iter().zip(&right.aggregates).all(is_same_call)
                    && left.with_totals == right.with_totals
                    && left.sets == right.sets
            }
            (
                Self::Sort { keys: left, limit: most, group_limit: group, .. },
                Self::Sort { keys: right, limit: other_most, group_limit: other_group, .. },
            ) => most == other_most && group == other_group && in_same_order(left, right),
            (
                Self::Limit { offset: left_offset, limit: left, ties: None, .. },
                Self::Limit { offset: right_offset, limit: right, ties: None, .. },
            ) => left_offset == right_offset && left == right,
            (Self::Distinct { .. }, Self::Distinct { .. }) | (Self::Union { .. }, Self::Union { .. }) => true,
            (Self::Join(left), Self::Join(right)) => {
                left.kind == right.kind
                    && left.strictness == right.strictness
                    && left.keys.len() == right.keys.len()
                    && left
                        .keys
                        .iter()
                        .zip(&right.keys)
                        .all(|(left, right)| left.left.same(&right.left) && left.right.same(&right.right))
                    && both_same(&left.condition, &right.condition)
                    && left.nearest.is_none()
                    && right.nearest.is_none()
                    && left.left_columns == right.left_columns
                    && left.right_columns == right.right_columns
                    && left.runtime_filter == right.runtime_filter
            }
            (Self::CommonRows(left), Self::CommonRows(right)) => {
                left.number == right.number && left.columns == right.columns
            }
            _ => false,
        };
        is_same_step
            && self.inputs().count() == other.inputs().count()
            && self.inputs().zip(other.inputs()).all(|(left, right)| left.same(right))
    }

    /// Calls `visit` with every step right below this one.
    ///
    /// # Errors
    /// The first of `visit`.
    pub fn try_for_each_input(&mut self, mut visit: impl FnMut(&mut Self) -> Result<()>) -> Result<()> {
        match self {
            Self::Scan(_) | Self::Values { .. } | Self::CommonRows(_) => Ok(()),
            Self::CommonSubplan { rows, input, .. } => {
                visit(rows)?;
                visit(input)
            }
            Self::Union { inputs, .. } => inputs.iter_mut().try_for_each(visit),
            Self::Join(join) => {
                visit(&mut join.left)?;
                visit(&mut join.right)
            }
            Self::Aggregate(aggregate) => visit(&mut aggregate.input),
            Self::Window(window) => visit(&mut window.input),
            Self::Fill(fill) => visit(&mut fill.input),
            Self::LateColumns(late) => visit(&mut late.input),
            Self::Filter { input, .. }
            | Self::Project { input, .. }
            | Self::Sort { input, .. }
            | Self::Limit { input, .. }
            | Self::LimitBy { input, .. }
            | Self::Distinct { input }
            | Self::ArrayJoin { input, .. } => visit(input),
        }
    }

    /// Calls `visit` with every expression of this step, not of those below.
    pub fn visit_expressions(&self, visit: &mut dyn FnMut(&Expression)) {
        match self {
            Self::Values { .. }
            | Self::Distinct { .. }
            | Self::Union { .. }
            | Self::CommonSubplan { .. }
            | Self::LateColumns(_)
            | Self::CommonRows(_) => {}
            Self::Fill(fill) => fill.interpolated.iter().for_each(|(_, expression)| visit(expression)),
            Self::Scan(scan) => scan.predicate.iter().for_each(visit),
            Self::Filter { predicate, .. } => visit(predicate),
            Self::Project { expressions, .. }
            | Self::LimitBy { keys: expressions, .. }
            | Self::ArrayJoin { arrays: expressions, .. } => expressions.iter().for_each(visit),
            Self::Sort { keys, .. } => keys.iter().for_each(|key| visit(&key.expression)),
            Self::Limit { ties, .. } => ties.iter().flatten().for_each(|key| visit(&key.expression)),
            Self::Aggregate(aggregate) => {
                let arguments = aggregate.aggregates.iter().flat_map(|call| &call.arguments);
                aggregate.keys.iter().chain(arguments).for_each(visit);
            }
            Self::Window(window) => {
                let arguments = window.calls.iter().flat_map(|call| &call.arguments);
                let order = window.order_by.iter().map(|key| &key.expression);
                window.partition_by.iter().chain(order).chain(arguments).for_each(visit);
            }
            Self::Join(join) => {
                join.keys.iter().flat_map(|key| [&key.left, &key.right]).for_each(&mut *visit);
                join.nearest.iter().flat_map(|nearest| [&nearest.left, &nearest.right]).for_each(&mut *visit);
                join.condition.iter().for_each(visit);
            }
        }
    }

    /// The steps right below this one.
    pub fn inputs(&self) -> impl Iterator<Item = &Self> {
        let (some, many): ([Option<&Self>; 2], &[Self]) = match self {
            Self::Scan(_) | Self::Values { .. } | Self::CommonRows(_) => ([None, None], &[]),
            Self::CommonSubplan { rows, input, .. } => ([Some(&**rows), Some(&**input)], &[]),
            Self::Union { inputs, .. } => ([None, None], inputs),
            Self::Join(join) => ([Some(&*join.left), Some(&*join.right)], &[]),
            Self::Aggregate(aggregate) => ([Some(&*aggregate.input), None], &[]),
            Self::Window(window) => ([Some(&*window.input), None], &[]),
            Self::Fill(fill) => ([Some(&*fill.input), None], &[]),
            Self::LateColumns(late) => ([Some(&*late.input), None], &[]),
            Self::Filter { input, .. }
            | Self::Project { input, .. }
            | Self::Sort { input, .. }
            | Self::Limit { input, .. }
            | Self::LimitBy { input, .. }
            | Self::Distinct { input }
            | Self::ArrayJoin { input, .. } => ([Some(&**input), None], &[]),
        };
        some.into_iter().flatten().chain(many)
    }

    /// Puts what `make` makes of this plan in its place.
    pub fn replace(&mut self, make: impl FnOnce(Self) -> Self) {
        let empty = Self::Union { inputs: Vec::new(), schema: Arc::default() };
        *self = make(std::mem::replace(self, empty));
    }

    /// Puts what `make` makes of this plan in its place.
    ///
    /// # Errors
    /// That of `make`.
    pub fn replace_with(&mut self, make: impl FnOnce(Self) -> Result<Self>) -> Result<()> {
        let empty = Self::Union { inputs: Vec::new(), schema: Arc::default() };
        *self = make(std::mem::replace(self, empty))?;
        Ok(())
    }

    /// No rows of a schema.
    pub fn no_rows(schema: Arc<Schema>) -> Self {
        Self::Values { schema, blocks: Vec::new() }
    }

    /// One row without columns.
    pub fn one_row() -> Self {
        let schema: Arc<Schema> = Arc::default();
        Self::Values { schema: schema.clone(), blocks: vec![Block::new(schema, Vec::new(), 1)] }
    }

    /// The columns that the step puts out.
    pub fn schema(&self) -> &Arc<Schema> {
        match self {
            Self::Scan(scan) => &scan.schema,
            Self::Aggregate(aggregate) => &aggregate.schema,
            Self::Window(window) => &window.schema,
            Self::Fill(fill) => fill.input.schema(),
            Self::Join(join) => &join.schema,
            Self::CommonRows(reading) => &reading.schema,
            Self::LateColumns(late) => &late.schema,
            Self::Values { schema, .. }
            | Self::Project { schema, .. }
            | Self::Union { schema, .. }
            | Self::ArrayJoin { schema, .. } => schema,
            Self::Filter { input, .. }
            | Self::Sort { input, .. }
            | Self::Limit { input, .. }
            | Self::LimitBy { input, .. }
            | Self::CommonSubplan { input, .. }
            | Self::Distinct { input } => input.schema(),
        }
    }
}
