//! `sequenceMatch`, `sequenceCount`, `sequenceMatchEvents`: whether, how often and when events matched a pattern of conditions such as
//! `(?1).*(?t<=60)(?2)`. A pattern without times is a finite automaton; one with times is matched by backtracking.

use std::sync::Arc;

use arrow_array::types::{UInt8Type, UInt64Type};
use squall_types::{Column, DataType, Error, ErrorCode, Result, Value, checkpoint};

use crate::accumulator::AggregateFunction;

use super::event_list::{self, Event, OfEvents};
use crate::aggregate::family::Call;
use crate::aggregate::results::value_column;

/// Conditions of a pattern: bits of an event.
const CONDITIONS_MAX: usize = 32;

/// Steps of one search.
const STEPS_MAX: usize = 1_000_000;

/// What is asked of the pattern.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Kind {
    Match,
    Count,
    Events,
}

/// One part of a pattern.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Part {
    /// `(?N)`: an event for which condition N, from 0, holds.
    Condition(u32),
    /// `.`
    Any,
    /// `.*`
    Anything,
    /// `(?t…N)`: the time since the event before.
    Time(Comparison, u64),
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Comparison {
    LessOrEqual,
    Less,
    GreaterOrEqual,
    Greater,
    Equal,
}

impl Comparison {
    fn holds(self, time: u64, since: u64, distance: u64) -> bool {
        let limit = since.saturating_add(distance);
        match self {
            Self::LessOrEqual => time <= limit,
            Self::Less => time < limit,
            Self::GreaterOrEqual => time >= limit,
            Self::Greater => time > limit,
            Self::Equal => time == limit,
        }
    }
}

pub(in crate::aggregate) fn resolve(call: &Call<'_>) -> Result<Arc<dyn AggregateFunction>> {
    let [pattern] = call.parameters else {
        return Err(call.wrong_parameters("exactly one parameter."));
    };
    let pattern = pattern.as_str().ok_or_else(|| {
        Error::new(ErrorCode::BAD_GET, format!("Bad get: has {}, requested String", pattern.literal_type()))
    })?;
    if call.arguments.len() < 3 {
        return Err(Error::new(
            ErrorCode::TOO_FEW_ARGUMENTS_FOR_FUNCTION,
            format!("Aggregate function {} requires at least 3 arguments.", call.name),
        ));
    }
    if call.arguments.len() > CONDITIONS_MAX + 1 {
        return Err(Error::new(
            ErrorCode::TOO_MANY_ARGUMENTS_FOR_FUNCTION,
            format!("Aggregate function {} supports up to {CONDITIONS_MAX} event arguments.", call.name),
        ));
    }
    let is_time =
        |time: &DataType| time.is_unsigned_integer() || matches!(time, DataType::Date | DataType::DateTime(_));
    event_list::check_arguments(call, is_time, "DateTime")?;
    let time = &call.arguments[0];
    let (kind, return_type) = match call.name {
        "sequenceMatch" => (Kind::Match, DataType::UInt8),
        "sequenceCount" => (Kind::Count, DataType::UInt64),
        _ => (Kind::Events, DataType::array(time.clone())),
    };
    let parts = parse(pattern, call.arguments.len() as u64 - 1)?;
    event_list::function(Sequence { kind, return_type, parts }, time)
}

/// The parts of a pattern, which may begin with any event.
fn parse(pattern: &str, conditions: u64) -> Result<Vec<Part>> {
    let mut parts = vec![Part::Anything];
    let mut rest = pattern;
    let syntax = |what: String| Err(Error::new(ErrorCode::SYNTAX_ERROR, what));
    let bad = |what: String| Err(Error::new(ErrorCode::BAD_ARGUMENTS, what));
    let number = |text: &mut &str| -> Option<u64> {
        let end = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
        let (digits, behind) = text.split_at(end);
        *text = behind;
        digits.parse().ok()
    };
    while let Some(first) = rest.chars().next() {
        let at = pattern.len() - rest.len();
        if let Some(mut inside) = rest.strip_prefix("(?") {
            if let Some(condition) = inside.strip_prefix('t') {
                let operators = [
                    ("<=", Comparison::LessOrEqual),
                    ("<", Comparison::Less),
                    (">=", Comparison::GreaterOrEqual),
                    (">", Comparison::Greater),
                    ("==", Comparison::Equal),
                ];
                let known =
                    operators.iter().find_map(|(text, comparison)| Some((condition.strip_prefix(text)?, *comparison)));
                let Some((behind, comparison)) = known else {
                    return syntax(format!("Unknown time condition in pattern at position {at}"));
                };
                inside = behind;
                let Some(distance) = number(&mut inside) else {
                    return syntax(format!("Could not parse number in pattern at position {at}"));
                };
                if matches!(parts.last(), Some(Part::Time(..))) {
                    return bad("Temporal condition should be preceded by an event condition".to_owned());
                }
                parts.push(Part::Time(comparison, distance));
            } else {
                let Some(event) = number(&mut inside) else {
                    return syntax(format!("Could not parse number in pattern at position {at}"));
                };
                if event == 0 || event > conditions {
                    return bad(format!("Event number {event} is out of range"));
                }
                parts.push(Part::Condition(event as u32 - 1));
            }
            let Some(behind) = inside.strip_prefix(')') else {
                let found = &inside[..inside.chars().next().map_or(0, char::len_utf8)];
                let at = pattern.len() - inside.len();
                return syntax(format!("Expected closing parenthesis, found '{found}' at position {at}"));
            };
            rest = behind;
        } else if let Some(behind) = rest.strip_prefix(".*") {
            parts.push(Part::Anything);
            rest = behind;
        } else if let Some(behind) = rest.strip_prefix('.') {
            parts.push(Part::Any);
            rest = behind;
        } else {
            return syntax(format!("Could not parse pattern, unexpected starting symbol '{first}' at position {at}"));
        }
    }
    Ok(parts)
}

#[derive(Debug)]
struct Sequence {
    kind: Kind,
    return_type: DataType,
    parts: Vec<Part>,
}

/// A place to go on from when a part does not match.
struct Choice {
    part: usize,
    event: usize,
    base: usize,
    matched: usize,
}

impl Sequence {
    /// Whether events from `*at` on match; `*at` is then behind the last one. The times of events that matched conditions are given
    /// too, and where nothing matched, those of the longest beginning.
    fn search(&self, events: &[Event], at: &mut usize, times: &mut Vec<u64>) -> Result<bool> {
        let (mut part, mut event, mut base) = (0, *at, *at);
        let mut choices: Vec<Choice> = Vec::new();
        let mut matched: Vec<u64> = Vec::new();
        let mut steps = 0;
        while let (Some(wanted), Some(current)) = (self.parts.get(part), events.get(event)) {
            steps += 1;
            checkpoint(16)?;
            if steps > STEPS_MAX {
                return Err(Error::new(
                    ErrorCode::TOO_SLOW,
                    format!("Pattern application proves too difficult, exceeding max iterations ({STEPS_MAX})"),
                ));
            }
            let matches = match *wanted {
                Part::Condition(condition) => {
                    let holds = current.what >> condition & 1 != 0;
                    if holds {
                        matched.push(current.time);
                        (base, event) = (event, event + 1);
                    }
                    holds
                }
                Part::Any => {
                    (base, event) = (event, event + 1);
                    true
                }
                Part::Anything => {
                    choices.push(Choice { part, event, base, matched: matched.len() });
                    base = event;
                    true
                }
                Part::Time(comparison, distance) => {
                    let holds = comparison.holds(current.time, events[base].time, distance);
                    if holds {
                        choices.push(Choice { part, event, base, matched: matched.len() });
                        base = event;
                    }
                    holds
                }
            };
            if matches {
                part += 1;
                if matched.len() > times.len() {
                    times.clone_from(&matched);
                }
                continue;
            }
            let Some(choice) = choices.pop() else { break };
            matched.truncate(choice.matched);
            (part, event, base) = (choice.part, choice.event + 1, choice.base);
        }
        while self.parts.get(part) == Some(&Part::Anything) {
            part += 1;
        }
        *at = event;
        Ok(part == self.parts.len())
    }

    /// As [`search`](Self::search), of a pattern without times: all ways through it at once.
    fn run(&self, events: &[Event], at: &mut usize) -> Result<bool> {
        // A state stands before each part that takes an event; `loops` says whether others may come first.
        let mut takes: Vec<(Part, bool)> = Vec::new();
        let mut loops = false;
        for part in &self.parts {
            match part {
                Part::Anything => loops = true,
                other => {
                    takes.push((*other, loops));
                    loops = false;
                }
            }
        }
        let last = takes.len();
        let mut active = vec![false; last + 1];
        active[0] = true;
        while !active[last]
            && let Some(event) = events.get(*at)
        {
            checkpoint(4 * last)?;
            let mut next = vec![false; last + 1];
            for (state, (part, loops)) in takes.iter().enumerate().filter(|(state, _)| active[*state]) {
                next[state] |= loops;
                next[state + 1] |= match part {
                    Part::Condition(condition) => event.what >> condition & 1 != 0,
                    _ => true,
                };
            }
            active = next;
            *at += 1;
        }
        Ok(active[last])
    }

    fn step(&self, events: &[Event], at: &mut usize) -> Result<bool> {
        if self.parts.iter().any(|part| matches!(part, Part::Time(..))) {
            self.search(events, at, &mut Vec::new())
        } else {
            self.run(events, at)
        }
    }

    /// Whether each condition of the pattern holds for some event.
    fn may_match(&self, events: &[Event]) -> bool {
        let met = events.iter().fold(0, |met, event| met | event.what);
        self.parts.iter().all(|part| match part {
            Part::Condition(condition) => met >> condition & 1 != 0,
            _ => true,
        })
    }

    fn count(&self, events: &[Event]) -> Result<u64> {
        let (mut at, mut count) = (0, 0);
        loop {
            let before = at;
            if at >= events.len() || !self.step(events, &mut at)? || at == before {
                return Ok(count);
            }
            count += 1;
        }
    }
}

impl OfEvents for Sequence {
    const WHAT_BYTES: usize = 8;

    fn return_type(&self) -> &DataType {
        &self.return_type
    }

    fn events_of(&self, time: u64, holds: &mut dyn Iterator<Item = bool>, row: u64, events: &mut Vec<Event>) {
        let what = holds.zip(0..).fold(0, |bits, (holds, at)| bits | u64::from(holds) << at);
        if what != 0 {
            events.push(Event { time, what, row });
        }
    }

    fn finish(&self, groups: Vec<Vec<Event>>) -> Result<Column> {
        match self.kind {
            Kind::Match => {
                let matches = |events: &Vec<Event>| Ok(u8::from(self.may_match(events) && self.step(events, &mut 0)?));
                let results = groups.iter().map(matches).collect::<Result<_>>()?;
                Ok(Column::from_primitive::<UInt8Type>(DataType::UInt8, results))
            }
            Kind::Count => {
                let count = |events: &Vec<Event>| if self.may_match(events) { self.count(events) } else { Ok(0) };
                let results = groups.iter().map(count).collect::<Result<_>>()?;
                Ok(Column::from_primitive::<UInt64Type>(DataType::UInt64, results))
            }
            Kind::Events => {
                let times = |events: &Vec<Event>| {
                    let mut times = Vec::new();
                    self.search(events, &mut 0, &mut times)?;
                    Ok(Value::Array(times.into_iter().map(Value::UInt64).collect()))
                };
                let results = groups.iter().map(times).collect::<Result<Vec<_>>>()?;
                value_column(&self.return_type, results)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_are_read() {
        let parts = parse("(?1).*(?t<=5)(?2).", 2).unwrap();
        let wanted = [
            Part::Anything,
            Part::Condition(0),
            Part::Anything,
            Part::Time(Comparison::LessOrEqual, 5),
            Part::Condition(1),
            Part::Any,
        ];
        assert_eq!(parts, wanted);
        for wrong in ["(?3)", "(?0)", "(?1", "(?x)", "a", "(?t5)", "(?t<1)(?t<2)"] {
            assert!(parse(wrong, 2).is_err(), "{wrong}");
        }
    }
}
