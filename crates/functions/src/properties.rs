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
    /// Which arguments count only for some rows.
    pub lazy: Option<Lazy>,
    /// The first and the last value of the first argument between which the result never decreases when that argument grows and the others
    /// stay; as integers, as dates and times are stored.
    pub monotonic: Option<(i64, i64)>,
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
        lazy: None,
        monotonic: None,
    };
}

impl Default for Properties {
    fn default() -> Self {
        Self::UNKNOWN
    }
}
