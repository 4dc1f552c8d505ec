//! What formats of tables share: the header rows that a format's name asks for.

/// Which header rows stand before the data.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Header {
    /// None.
    Absent,
    /// The columns' names.
    Names,
    /// The columns' names, then their types.
    NamesAndTypes,
}

impl Header {
    pub fn has_names(self) -> bool {
        self != Self::Absent
    }

    pub fn has_types(self) -> bool {
        self == Self::NamesAndTypes
    }
}
