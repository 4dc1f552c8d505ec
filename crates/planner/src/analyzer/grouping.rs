//! Several sets of keys at once: ROLLUP, CUBE, GROUPING SETS, and `grouping()`. Rows are repeated for each set, with its number; keys that
//! the set has not are masked; then one aggregation by the masked keys and the number gives the groups of all sets.

use hashbrown::HashMap;
use squall_sql::ast;
use squall_types::{DataType, Error, ErrorCode, Result, Value, default_value};

use super::graph::NodeId;
use super::scope::Scope;
use super::select::Item;

/// Sets of keys at most: their numbers have 16 bits.
const SETS_MAX: usize = 1 << 16;

/// What the keys of a GROUP BY come to.
#[derive(Clone, Default)]
pub(crate) struct Keys {
    /// The keys, each once.
    pub keys: Vec<NodeId>,
    /// The sets of them, where there are several.
    pub sets: Option<Sets>,
}

/// Several sets of keys.
#[derive(Clone)]
pub(crate) struct Sets {
    /// The numbers of all sets, an array.
    pub numbers: NodeId,
    /// The number of the set for which a row comes.
    pub number: NodeId,
    /// What takes each key's place in the aggregation.
    pub masked: Vec<NodeId>,
    /// What each key is from then on: itself, or the same as Nullable.
    pub grouped: Vec<NodeId>,
    /// Whether set 0 has no keys, as GROUPING SETS may ask for: its group is there without rows, too.
    pub has_group_without_rows: bool,
    /// Whether the groups of a set are to come together, the sets in their order: as nobody else orders them, this is seen.
    pub stand_together: bool,
    /// By set, the keys that it has, by their positions.
    members: Vec<Vec<usize>>,
}

/// What is known of the keys while the expressions after the grouping are resolved.
#[derive(Default)]
pub(crate) struct AfterGrouping {
    keys: Keys,
    /// Keys and the Nullable columns that stand for them (`group_by_use_nulls`).
    nullable: HashMap<NodeId, NodeId>,
}

impl Scope<'_> {
    /// The keys of a GROUP BY and the sets of them.
    ///
    /// # Errors
    /// Those of the keys' expressions, and `BAD_ARGUMENTS` for too many sets.
    pub fn grouping(&mut self, group_by: &ast::GroupBy, items: &[Item]) -> Result<Keys> {
        let mut keys: Vec<NodeId> = Vec::new();
        let mut members: Vec<Vec<usize>> = Vec::new();
        match group_by {
            ast::GroupBy::Rollup(expressions) | ast::GroupBy::Cube(expressions) => {
                let all = self.members(expressions, items, &mut keys)?;
                if matches!(group_by, ast::GroupBy::Rollup(_)) {
                    members.extend((0..=all.len()).rev().map(|count| all[..count].to_vec()));
                } else {
                    if all.len() > SETS_MAX.ilog2() as usize {
                        return Err(too_many_sets());
                    }
                    let has = |set: usize, at: usize| set >> (all.len() - 1 - at) & 1 == 1;
                    members.extend((0..1usize << all.len()).rev().map(|set| {
                        all.iter().enumerate().filter(|(at, _)| has(set, *at)).map(|(_, key)| *key).collect()
                    }));
                }
            }
            ast::GroupBy::GroupingSets(sets) => {
                // One set is what GROUP BY has without words around it.
                if let [only] = &sets[..]
                    && !only.is_empty()
                    && !self.needs_keys
                {
                    let only = ast::GroupBy::Expressions(only.clone());
                    return Ok(Keys { keys: self.group_keys(&only, items)?, sets: None });
                }
                for set in sets {
                    members.push(self.members(set, items, &mut keys)?);
                }
            }
            _ => return Ok(Keys { keys: self.group_keys(group_by, items)?, sets: None }),
        }
        if members.len() > SETS_MAX {
            return Err(too_many_sets());
        }
        // Of GROUPING SETS an empty one has a group without rows; it comes first.
        let is_written = matches!(group_by, ast::GroupBy::GroupingSets(_));
        let empty = members.iter().position(Vec::is_empty).filter(|_| is_written);
        if let Some(empty) = empty {
            members.swap(0, empty);
        }
        let has_group_without_rows = empty.is_some();
        self.sets(keys, members, has_group_without_rows)
    }

    /// The positions of some keys among all, to which new ones are added.
    fn members(
        &mut self,
        expressions: &[ast::Expression],
        items: &[Item],
        keys: &mut Vec<NodeId>,
    ) -> Result<Vec<usize>> {
        let mut own = Vec::new();
        for expression in expressions {
            self.add_key(expression, items, &mut own)?;
        }
        let mut positions: Vec<usize> = Vec::with_capacity(own.len());
        for key in own {
            let at = keys.iter().position(|known| *known == key).unwrap_or_else(|| {
                keys.push(key);
                keys.len() - 1
            });
            if !positions.contains(&at) {
                positions.push(at);
            }
        }
        Ok(positions)
    }

    fn sets(&mut self, keys: Vec<NodeId>, members: Vec<Vec<usize>>, has_group_without_rows: bool) -> Result<Keys> {
        let uses_nulls = self.analyzer.context.settings.group_by_use_nulls;
        let numbers = self.numbers((0..members.len()).collect());
        let number = self.graph.grouping_set();
        let (mut masked, mut grouped) = (Vec::with_capacity(keys.len()), Vec::with_capacity(keys.len()));
        for (at, key) in keys.iter().enumerate() {
            let data_type = self.graph.data_type(*key).clone();
            if let Some(value) = self.graph.constant_value(*key).cloned() {
                // A constant is the same in every set.
                let data_type = if uses_nulls { data_type.to_nullable() } else { data_type };
                masked.push(*key);
                grouped.push(self.graph.constant(value, data_type));
                continue;
            }
            let nullable = if uses_nulls { data_type.to_nullable() } else { data_type.clone() };
            let (value, absent) = match nullable == data_type && !data_type.is_nullable() || !uses_nulls {
                true => (*key, self.graph.constant(default_value(&data_type), data_type.clone())),
                false => {
                    let name = self.graph.constant(Value::string(nullable.to_string()), DataType::String);
                    let value = if nullable == data_type { *key } else { self.scalar("CAST", vec![*key, name])? };
                    (value, self.graph.constant(Value::Null, nullable.clone()))
                }
            };
            let with_key = (0..members.len()).filter(|set| members[*set].contains(&at)).collect();
            let with_key = self.numbers(with_key);
            let has_key = self.scalar("in", vec![number, with_key])?;
            let mask = self.scalar("if", vec![has_key, value, absent])?;
            let mask = if *self.graph.data_type(mask) == nullable {
                mask
            } else {
                let name = self.graph.constant(Value::string(nullable.to_string()), DataType::String);
                self.scalar("CAST", vec![mask, name])?
            };
            masked.push(mask);
            grouped.push(if nullable == data_type { *key } else { self.graph.group_key(*key, nullable) });
        }
        let stand_together = self.analyzer.is_outermost();
        let sets = Sets { numbers, number, masked, grouped, has_group_without_rows, stand_together, members };
        Ok(Keys { keys, sets: Some(sets) })
    }

    fn numbers(&mut self, sets: Vec<usize>) -> NodeId {
        let items: Vec<Value> = sets.into_iter().map(|set| Value::UInt64(set as u64)).collect();
        self.graph.constant(Value::Array(items.into()), DataType::Array(std::sync::Arc::new(DataType::UInt16)))
    }

    /// From here on expressions are those of grouped rows.
    pub fn begin_grouped(&mut self, keys: &Keys) {
        let sets = keys.sets.iter();
        let pairs = sets.flat_map(|sets| keys.keys.iter().copied().zip(sets.grouped.iter().copied()));
        let nullable = pairs.filter(|(key, grouped)| key != grouped).collect();
        self.after_grouping = Some(AfterGrouping { keys: keys.clone(), nullable });
        self.forget_aliases();
    }

    /// What a node is once rows are grouped: a key may have become Nullable.
    pub fn as_grouped(&mut self, node: NodeId) -> NodeId {
        match &self.after_grouping {
            Some(after) if !after.nullable.is_empty() => after.nullable.get(&node).copied().unwrap_or(node),
            _ => node,
        }
    }

    /// The key that a function of keys is: of `GROUP BY ROLLUP(a, a + 1)` the second.
    pub fn key_of_keys(&self, name: &str, arguments: &[NodeId]) -> Option<NodeId> {
        let after = self.after_grouping.as_ref().filter(|after| !after.nullable.is_empty())?;
        let mut known = HashMap::new();
        let before: Vec<NodeId> =
            arguments.iter().map(|argument| self.graph.before_grouping(*argument, &mut known)).collect();
        let key = if before == arguments { None } else { self.graph.find_function(name, &before) };
        after.nullable.get(&key?).copied()
    }

    /// Resolves what is computed before rows are grouped: the arguments of an aggregate.
    ///
    /// # Errors
    /// Those of `resolve`.
    pub fn before_grouping<T>(&mut self, resolve: impl FnOnce(&mut Self) -> Result<T>) -> Result<T> {
        let has_nullable = self.after_grouping.as_ref().is_some_and(|after| !after.nullable.is_empty());
        if !has_nullable {
            return resolve(self);
        }
        // An alias means another node here than outside.
        let after = self.after_grouping.take();
        self.forget_aliases();
        let result = resolve(self);
        self.forget_aliases();
        self.after_grouping = after;
        result
    }

    /// `grouping(a, b)`: a number with a bit for each argument, which tells whether the row's set has the key.
    ///
    /// # Errors
    /// `BAD_ARGUMENTS` for what is no key, `ILLEGAL_AGGREGATION` without GROUP BY and within an aggregate.
    pub fn grouping_call(&mut self, call: &ast::Function) -> Result<NodeId> {
        if self.in_aggregate {
            let message = "Function grouping is found inside an aggregate function in query";
            return Err(self.in_scope(Error::new(ErrorCode::ILLEGAL_AGGREGATION, message)));
        }
        let Some(after) = &self.after_grouping else {
            // The keys are not known yet: the expression is resolved again when they are.
            self.needs_keys = true;
            return Ok(self.graph.constant(Value::UInt64(0), DataType::UInt64));
        };
        let keys = after.keys.clone();
        let arguments = self.before_grouping(|scope| scope.arguments(&call.arguments))?;
        if arguments.is_empty() || arguments.len() > 64 {
            return Err(self.in_scope(Error::new(
                ErrorCode::TOO_FEW_ARGUMENTS_FOR_FUNCTION,
                format!("Function grouping expects from 1 to 64 arguments, passed {}", arguments.len()),
            )));
        }
        let mut positions = Vec::with_capacity(arguments.len());
        for (argument, written) in arguments.iter().zip(&call.arguments) {
            match keys.keys.iter().position(|key| key == argument) {
                Some(at) => positions.push(at),
                None => {
                    let written = super::text::expression(written);
                    let message = format!(
                        "GROUPING function argument {written} is not in GROUP BY keys. In query {}",
                        self.text()
                    );
                    return Err(Error::new(ErrorCode::BAD_ARGUMENTS, message));
                }
            }
        }
        let marks_absent = self.analyzer.context.settings.force_grouping_standard_compatibility;
        let bits = |has: &dyn Fn(usize) -> bool| {
            positions.iter().fold(0u64, |bits, key| bits << 1 | u64::from(has(*key) != marks_absent))
        };
        let Some(sets) = keys.sets else {
            return Ok(self.graph.constant(Value::UInt64(bits(&|_| true)), DataType::UInt64));
        };
        let values = sets.members.iter().map(|members| Value::UInt64(bits(&|key| members.contains(&key))));
        let values = Value::Array(values.collect::<Vec<_>>().into());
        let values = self.graph.constant(values, DataType::Array(std::sync::Arc::new(DataType::UInt64)));
        let one = self.graph.constant(Value::UInt64(1), DataType::UInt8);
        let place = self.scalar("plus", vec![sets.number, one])?;
        self.scalar("arrayElement", vec![values, place])
    }
}

fn too_many_sets() -> Error {
    Error::new(ErrorCode::BAD_ARGUMENTS, format!("Too many sets of keys in GROUP BY: {SETS_MAX} at most"))
}
