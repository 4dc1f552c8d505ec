//! What holds of a function whatever rows it gets, said where the function is defined and asked by the planner, by key conditions and by
//! evaluation: whether it may refuse values, which of its arguments may stay uncomputed, whether a call of constants is one constant, and
//! over which values it is monotonic.

/// The properties of a function with its types settled. What nothing is said of gets the careful answer.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Properties {
    /// Whether there are values of its arguments for which it is an error. Then it must not be computed for rows that nobody asks for:
    /// `if(x = 0, 0, intDiv(1, x))` is no error.
    pub may_throw: bool,
    /// Whether equal arguments make equal results within one query: `rand()` does not.
    pub is_deterministic: bool,
    /// Whether the result is of the run, its user or the server rather than of the arguments: `now()`, `hostName()`.
    pub is_of_moment: bool,
    /// Whether a call whose arguments are constants is computed while the query is planned.
    pub is_foldable: bool,
    /// Whether the result depends on the arguments' types alone.
    pub needs_only_types: bool,
    /// Whether it tells how two values are ordered: `=`, `<` and their like.
    pub compares: bool,
    /// The argument from which on constants were read when the function was bound: their values need not come with every block.
    pub bound_from: usize,
    /// Whether a NULL among its arguments makes its result NULL.
    pub passes_nulls: bool,
    /// Which arguments count only for some rows.
    pub lazy: Option<Lazy>,
    /// Over which values of one argument the result keeps their order, or turns it round, while the other arguments stay.
    pub monotonic: Option<Monotonic>,
}

/// Where a function is monotonic in one of its arguments.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Monotonic {
    /// The argument, from 0.
    pub argument: usize,
    /// The first value of which it is true, as an integer, as dates and times are stored; [`i64::MIN`] where there is no first one.
    pub first: i64,
    /// The last value; [`i64::MAX`] where there is no last one.
    pub last: i64,
    /// Whether the result never grows when the argument does, rather than never decreases.
    pub decreases: bool,
}

impl Monotonic {
    /// The result never decreases when the first argument grows.
    pub const GROWS: Self = Self { argument: 0, first: i64::MIN, last: i64::MAX, decreases: false };

    /// The same between two values.
    pub const fn within((first, last): (i64, i64)) -> Self {
        Self { first, last, ..Self::GROWS }
    }

    /// Whether it is true of all values there are.
    pub fn is_everywhere(&self) -> bool {
        self.first == i64::MIN && self.last == i64::MAX
    }
}

/// How a function with lazy arguments chooses the rows for which it needs each. The first argument is always computed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Lazy {
    /// `if(condition, then, else)`.
    If,
    /// `multiIf(condition, then, condition, then, …, else)`.
    MultiIf,
    /// `and`: where nothing before was 0.
    And,
    /// `or`: where everything before was 0 or NULL.
    Or,
}

impl Properties {
    /// Of a function of which nothing is known but that it computes.
    pub const UNKNOWN: Self = Self {
        may_throw: true,
        is_deterministic: true,
        is_of_moment: false,
        is_foldable: true,
        needs_only_types: false,
        compares: false,
        bound_from: usize::MAX,
        passes_nulls: false,
        lazy: None,
        monotonic: None,
    };
}

impl Default for Properties {
    fn default() -> Self {
        Self::UNKNOWN
    }
}
