//! What a predicate asks of the values or words of indexed texts: that one of some is there, or that all are. What it says otherwise is left
//! open.

use squall_functions::Tokenizer;
use squall_planner::{Expression, SkipIndexKind};
use squall_types::{CastOptions, Column, DataType, TupleElement, Value, exact_value};

use super::bloom::hash_of_word;
use crate::merge_tree::value_hashes::hashes_of;

/// Lists of more values are not looked for.
const VALUES_MAX: usize = 10_000;

/// A value or a word.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Term {
    /// Of which of the indexed expressions.
    pub(super) column: usize,
    pub(super) hash: u64,
    /// The word; nothing of values, which only filters know.
    pub(super) word: Box<[u8]>,
}

/// A condition on terms.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum Terms {
    /// It asks nothing of what is indexed.
    Any,
    /// It asks something that no terms tell of.
    Open,
    Never,
    And(Vec<Terms>),
    Or(Vec<Terms>),
    /// All of these are there.
    All(Vec<Term>),
}

impl Terms {
    /// Whether it can hold where `has` tells which terms may be there.
    pub(super) fn can_hold(&self, has: &dyn Fn(&Term) -> bool) -> bool {
        match self {
            Self::Any | Self::Open => true,
            Self::Never => false,
            Self::And(all) => all.iter().all(|one| one.can_hold(has)),
            Self::Or(any) => any.iter().any(|one| one.can_hold(has)),
            Self::All(terms) => terms.iter().all(has),
        }
    }

    /// Whether it can leave anything out.
    pub(super) fn is_useful(&self) -> bool {
        match self {
            Self::Any | Self::Open => false,
            Self::Never => true,
            Self::And(all) => all.iter().any(Self::is_useful),
            Self::Or(any) => any.iter().all(Self::is_useful),
            Self::All(terms) => !terms.is_empty(),
        }
    }

    /// Whether it asks anything of what is indexed.
    pub(super) fn is_asked(&self) -> bool {
        match self {
            Self::Any => false,
            Self::Never | Self::Open | Self::All(_) => true,
            Self::And(all) => all.iter().any(Self::is_asked),
            Self::Or(any) => any.iter().all(Self::is_asked),
        }
    }

    /// What it says where it is negated: terms that are there do not tell that nothing else is.
    fn negated(&self) -> Self {
        if self.is_asked() { Self::Open } else { Self::Any }
    }

    /// Calls `visit` with each term.
    pub(super) fn visit(&self, visit: &mut dyn FnMut(&Term)) {
        match self {
            Self::Any | Self::Open | Self::Never => {}
            Self::And(nodes) | Self::Or(nodes) => nodes.iter().for_each(|node| node.visit(visit)),
            Self::All(terms) => terms.iter().for_each(visit),
        }
    }
}

/// Reads predicates for one index.
pub(super) struct Reader<'a> {
    pub(super) expressions: &'a [Expression],
    pub(super) kind: &'a SkipIndexKind,
}

/// What a text that holds a piece has on both sides of it.
#[derive(Clone, Copy)]
struct Open {
    left: bool,
    right: bool,
}

const WHOLE: Open = Open { left: false, right: false };
const WITHIN: Open = Open { left: true, right: true };

impl Reader<'_> {
    pub(super) fn read(&self, predicate: &Expression) -> Terms {
        let Expression::Function { name, arguments, .. } = predicate else { return Terms::Any };
        match (&**name, arguments.as_slice()) {
            ("and" | "indexHint", _) => Terms::And(arguments.iter().map(|argument| self.read(argument)).collect()),
            ("or", _) => Terms::Or(arguments.iter().map(|argument| self.read(argument)).collect()),
            ("equals", [left, right]) => {
                let (operand, constant) = if right.constant().is_some() { (left, right) } else { (right, left) };
                self.equals(operand, constant)
            }
            ("in", [operand, set]) => self.one_of(operand, set),
            ("not", [inner]) => self.read(inner).negated(),
            ("notEquals", [left, right]) => {
                let (operand, constant) = if right.constant().is_some() { (left, right) } else { (right, left) };
                self.equals(operand, constant).negated()
            }
            ("notIn", [operand, set]) => self.one_of(operand, set).negated(),
            ("notLike", arguments) => self.of_text("like", arguments).negated(),
            ("has", [list, item]) if list.constant().is_some() => self.one_of(item, list),
            ("has" | "mapContains" | "mapContainsKey", [list, item]) => match list_item(item) {
                Some((value, data_type)) => self.of_list(list, &[(value, data_type)], true),
                None => Terms::Any,
            },
            ("mapContainsValue", [map, item]) => match list_item(item) {
                Some((value, data_type)) => self.of_map(map, "mapValues", value, data_type),
                None => Terms::Any,
            },
            (name @ ("hasAll" | "hasAny"), [list, items]) => match items_of(items) {
                Some(items) => self.of_list(list, &items, name == "hasAll"),
                None => Terms::Any,
            },
            _ => self.of_text(name, arguments),
        }
    }

    /// The place of an expression among the indexed ones.
    fn place(&self, expression: &Expression) -> Option<usize> {
        self.expressions.iter().position(|own| own.same(expression))
    }

    /// The place of `function(argument)` among the indexed expressions.
    fn place_of_call(&self, function: &str, argument: &Expression) -> Option<usize> {
        let is_call = |own: &Expression| match own {
            Expression::Function { name, arguments, .. } => {
                &**name == function && matches!(&arguments[..], [one] if one.same(argument))
            }
            _ => false,
        };
        self.expressions.iter().position(is_call)
    }

    fn tokenizer(&self) -> Option<&Tokenizer> {
        match self.kind {
            SkipIndexKind::Words { tokenizer, .. } | SkipIndexKind::Text { tokenizer } => Some(tokenizer),
            SkipIndexKind::MinMax | SkipIndexKind::Set { .. } | SkipIndexKind::BloomFilter { .. } => None,
        }
    }

    fn word(&self, column: usize, word: &[u8]) -> Term {
        let seed = match self.kind {
            SkipIndexKind::Words { seed, .. } => *seed,
            _ => 0,
        };
        Term { column, hash: hash_of_word(word, seed), word: word.into() }
    }

    /// That a text has these bytes. Texts without words that tell of them are left open.
    fn piece(&self, column: usize, piece: &[u8], open: Open) -> Terms {
        let Some(tokenizer) = self.tokenizer() else { return Terms::Any };
        let words = tokenizer.words_around(piece, open.left, open.right).unwrap_or_default();
        if words.is_empty() {
            Terms::Open
        } else {
            Terms::All(words.iter().map(|word| self.word(column, word)).collect())
        }
    }

    /// That a value of an indexed expression, or an item of its arrays, equals a constant.
    fn value(&self, column: usize, value: &Value, from: &DataType) -> Terms {
        let Some(expression) = self.expressions.get(column) else { return Terms::Any };
        let item = match expression.data_type().inner() {
            DataType::Array(item) => item.inner(),
            plain => plain,
        };
        if value.is_null() || item.is_nested() || item.is_of_alternatives() {
            return Terms::Any;
        }
        let from = from.inner();
        // Strings of different types are equal where they differ in zeros at their end.
        if item.is_string_or_fixed_string()
            && from != item
            && (*from != DataType::String || matches!(value.as_bytes(), Some([.., 0])))
        {
            return Terms::Any;
        }
        // Times and floats are compared by other rules than whether they are the same.
        if from != item && !(item.is_integer() && from.is_integer()) && !item.is_string_or_fixed_string() {
            return Terms::Any;
        }
        let value = match exact_value(value, from, item, &CastOptions::default()) {
            Ok(Some(value)) => value,
            Ok(None) => return Terms::Never,
            Err(_) => return Terms::Any,
        };
        if self.tokenizer().is_some() {
            return value.as_bytes().map_or(Terms::Any, |bytes| self.piece(column, bytes, WHOLE));
        }
        let Ok(one) = Column::constant(item.clone(), &value, 1).and_then(|one| one.materialize()) else {
            return Terms::Any;
        };
        let mut hashes = Vec::new();
        match hashes_of(&one, &mut |hash| hashes.push(hash)) {
            Ok(()) => Terms::All(hashes.into_iter().map(|hash| Term { column, hash, word: Box::default() }).collect()),
            Err(_) => Terms::Any,
        }
    }

    fn equals(&self, operand: &Expression, constant: &Expression) -> Terms {
        let Expression::Constant { value, data_type } = constant else { return Terms::Any };
        if let Expression::Function { name, arguments, .. } = operand {
            match (&**name, arguments.as_slice()) {
                ("arrayElement", [map, key]) if matches!(map.data_type().inner(), DataType::Map(..)) => {
                    return self.map_element(map, key, value, data_type);
                }
                ("tuple", elements) => return self.tuple(elements, value, data_type),
                _ => {}
            }
        }
        match self.place(operand) {
            Some(column) if matches!(operand.data_type().inner(), DataType::Array(_)) => match items_of(constant) {
                Some(items) if items.len() <= VALUES_MAX => self.all(column, &items),
                _ => Terms::Any,
            },
            Some(column) => self.value(column, value, data_type),
            None => Terms::Any,
        }
    }

    fn all(&self, column: usize, items: &[(&Value, &DataType)]) -> Terms {
        Terms::And(items.iter().map(|(value, data_type)| self.value(column, value, data_type)).collect())
    }

    /// `map['key'] = value`. A key that a map does not have gives the default, of which nothing is known.
    fn map_element(&self, map: &Expression, key: &Expression, value: &Value, data_type: &DataType) -> Terms {
        let DataType::Map(_, values) = map.data_type().inner() else { return Terms::Any };
        let default = squall_types::default_value(values.inner());
        if value.compare(&default).is_eq() || value.is_null() {
            return Terms::Any;
        }
        let of_key = match list_item(key) {
            Some((key, key_type)) => self.of_map(map, "mapKeys", key, key_type),
            None => Terms::Any,
        };
        Terms::And(vec![of_key, self.of_map(map, "mapValues", value, data_type)])
    }

    fn of_map(&self, map: &Expression, part: &str, value: &Value, data_type: &DataType) -> Terms {
        self.place_of_call(part, map).map_or(Terms::Any, |column| self.value(column, value, data_type))
    }

    fn tuple(&self, elements: &[Expression], value: &Value, data_type: &DataType) -> Terms {
        let (Value::Tuple(values), DataType::Tuple(types)) = (value, data_type.inner()) else { return Terms::Any };
        let types = types.iter().map(|element: &TupleElement| &element.data_type);
        let of = |((element, value), data_type): ((&Expression, &Value), &DataType)| match self.place(element) {
            Some(column) => self.value(column, value, data_type),
            None => Terms::Any,
        };
        Terms::And(elements.iter().zip(values.iter()).zip(types).map(of).collect())
    }

    fn one_of(&self, operand: &Expression, set: &Expression) -> Terms {
        let Some(items) = items_of(set).filter(|items| items.len() <= VALUES_MAX) else { return Terms::Any };
        let items = items.into_iter().filter(|(value, _)| !value.is_null());
        let one = |(value, data_type): (&Value, &DataType)| {
            let constant = Expression::Constant { value: value.clone(), data_type: data_type.clone() };
            self.equals(operand, &constant)
        };
        Terms::Or(items.map(one).collect())
    }

    /// That an array has all or any of some items.
    fn of_list(&self, list: &Expression, items: &[(&Value, &DataType)], is_all: bool) -> Terms {
        let is_map = matches!(list.data_type().inner(), DataType::Map(..));
        let column = if is_map { self.place_of_call("mapKeys", list) } else { self.place(list) };
        let Some(column) = column.filter(|_| items.len() <= VALUES_MAX) else { return Terms::Any };
        let nodes = items.iter().map(|(value, data_type)| self.value(column, value, data_type)).collect();
        if is_all { Terms::And(nodes) } else { Terms::Or(nodes) }
    }

    /// What functions of texts ask.
    fn of_text(&self, name: &str, arguments: &[Expression]) -> Terms {
        let Some(tokenizer) = self.tokenizer() else { return Terms::Any };
        let [operand, needle, rest @ ..] = arguments else { return Terms::Any };
        let lower = |operand| self.place_of_call("lower", operand);
        if name == "hasTokenCaseInsensitive" {
            let bytes = needle.constant().and_then(Value::as_bytes).map(<[u8]>::to_ascii_lowercase);
            return match (lower(operand), bytes) {
                (Some(column), Some(word)) => self.token(column, &word),
                _ => Terms::Any,
            };
        }
        let Some(column) = self.place(operand) else { return Terms::Any };
        if matches!(operand.data_type().inner(), DataType::FixedString(_)) {
            return Terms::Any;
        }
        let is_list = matches!(operand.data_type().inner(), DataType::Array(_));
        match (name, needle.constant()) {
            ("hasAllTokens" | "hasAnyTokens", Some(needles)) => {
                let own = match rest {
                    [] => Some(Tokenizer::SplitByNonAlpha),
                    [own] => {
                        own.constant().and_then(Value::as_str).and_then(|text| Tokenizer::of_text(text).ok().flatten())
                    }
                    _ => None,
                };
                let Some(own) = own else { return Terms::Any };
                let words: Vec<Vec<u8>> = match needles {
                    Value::Array(words) => words.iter().filter_map(Value::as_bytes).map(<[u8]>::to_vec).collect(),
                    other => match other.as_bytes().map(|text| own.words(text)) {
                        Some(Ok(words)) => words.into_iter().map(<[u8]>::to_vec).collect(),
                        Some(Err(_)) | None => return Terms::Any,
                    },
                };
                let one = |word: &Vec<u8>| match &own == tokenizer {
                    true => Terms::All(vec![self.word(column, word)]),
                    false => self.piece(column, word, WITHIN),
                };
                let nodes: Vec<Terms> = words.iter().map(one).collect();
                if name == "hasAllTokens" { Terms::And(nodes) } else { Terms::Or(nodes) }
            }
            _ if is_list => Terms::Any,
            ("multiSearchAny", Some(Value::Array(needles))) => {
                let one =
                    |needle: &Value| needle.as_bytes().map_or(Terms::Any, |bytes| self.piece(column, bytes, WITHIN));
                Terms::Or(needles.iter().map(one).collect())
            }
            (name, Some(needle)) => match (name, needle.as_bytes()) {
                ("hasToken", Some(word)) => self.token(column, word),
                ("like", Some(pattern)) => Terms::And(
                    pieces_of(pattern).iter().map(|(piece, open)| self.piece(column, piece, *open)).collect(),
                ),
                ("startsWith", Some(piece)) => self.piece(column, piece, Open { left: false, right: true }),
                ("endsWith", Some(piece)) => self.piece(column, piece, Open { left: true, right: false }),
                _ => Terms::Any,
            },
            (_, None) => Terms::Any,
        }
    }

    /// That a text has a word between what is neither a letter nor a digit.
    fn token(&self, column: usize, word: &[u8]) -> Terms {
        match self.tokenizer() {
            Some(Tokenizer::SplitByNonAlpha) => Terms::All(vec![self.word(column, word)]),
            _ => self.piece(column, word, WITHIN),
        }
    }
}

fn list_item(expression: &Expression) -> Option<(&Value, &DataType)> {
    match expression {
        Expression::Constant { value, data_type } => Some((value, data_type)),
        _ => None,
    }
}

/// The items of a constant list, each with its type.
fn items_of(expression: &Expression) -> Option<Vec<(&Value, &DataType)>> {
    let (value, data_type) = list_item(expression)?;
    match (value, data_type.inner()) {
        (Value::Array(items), DataType::Array(item)) => Some(items.iter().map(|value| (value, &**item)).collect()),
        (Value::Tuple(items), DataType::Tuple(elements)) => {
            Some(items.iter().zip(elements.iter().map(|element| &element.data_type)).collect())
        }
        _ => None,
    }
}

/// The pieces of a LIKE pattern that stand for themselves.
fn pieces_of(pattern: &[u8]) -> Vec<(Vec<u8>, Open)> {
    let mut pieces = Vec::new();
    let mut piece = Vec::new();
    let mut open_left = false;
    let mut at = 0;
    while let Some(byte) = pattern.get(at) {
        match (byte, pattern.get(at + 1)) {
            (b'%' | b'_', _) => {
                pieces.push((std::mem::take(&mut piece), Open { left: open_left, right: true }));
                open_left = true;
            }
            (b'\\', Some(escaped @ (b'%' | b'_' | b'\\'))) => {
                piece.push(*escaped);
                at += 1;
            }
            (byte, _) => piece.push(*byte),
        }
        at += 1;
    }
    pieces.push((piece, Open { left: open_left, right: false }));
    pieces.retain(|(piece, _)| !piece.is_empty());
    pieces
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_are_cut_at_what_stands_for_others() {
        let shown = |pattern: &str| {
            let pieces = pieces_of(pattern.as_bytes()).into_iter();
            let text = |(piece, open): (Vec<u8>, Open)| {
                let side = |open: bool| if open { "~" } else { "|" };
                format!("{}{}{}", side(open.left), String::from_utf8_lossy(&piece), side(open.right))
            };
            pieces.map(text).collect::<Vec<_>>().join(" ")
        };
        assert_eq!(shown("ab%c_d"), "|ab~ ~c~ ~d|");
        assert_eq!(shown("%a\\%b%"), "~a%b~");
        assert_eq!(shown("abc"), "|abc|");
    }
}
