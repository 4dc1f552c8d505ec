//! An argument that is a date or a time: its type, its zone, and loops over its rows as local days, local seconds or instants.

use std::collections::BTreeMap;
use std::sync::Arc;

use arrow_array::types::{Int32Type, Int64Type, UInt16Type, UInt32Type};
use arrow_array::{Array, ArrowPrimitiveType, UInt32Array};
use squall_types::calendar::{DAY_SECONDS, TimeZone};
use squall_types::{Column, DataType, Error, ErrorCode, Result, Value, checkpoint};

use crate::function::BoundFunction;
use crate::scalar::simple::{Call, Strings, argument};

/// Which type it is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Kind {
    Date,
    Date32,
    DateTime,
    /// Ticks of a second, so many to a second, with that number of digits.
    DateTime64 {
        digits: u8,
        ticks: i64,
    },
}

/// A date or time argument with its zone.
#[derive(Clone, Debug)]
pub(super) struct Time {
    pub kind: Kind,
    pub zone: TimeZone,
    /// The zone's name where the type or an argument names it.
    pub named: Option<Arc<str>>,
    /// Whether rounding gives `Date32` and `DateTime64`: `enable_extended_results_for_datetime_functions`, of arguments of a wide range.
    pub extends: bool,
}

/// A point in time as its parts.
#[derive(Clone, Copy, Debug)]
pub(super) struct Instant {
    /// Seconds since the epoch, rounded down.
    pub utc: i64,
    /// What local clocks show, as seconds since 1970-01-01 00:00:00 local.
    pub local: i64,
    /// Ticks past the second.
    pub fraction: i64,
}

impl Instant {
    /// The midnight with which a day begins.
    #[inline]
    fn midnight(day: i32) -> Self {
        let local = i64::from(day) * DAY_SECONDS;
        Self { utc: local, local, fraction: 0 }
    }

    /// Days since 1970-01-01 of the local date.
    #[inline]
    pub fn day(self) -> i32 {
        self.local.div_euclid(DAY_SECONDS) as i32
    }

    /// Seconds since local midnight.
    #[inline]
    pub fn second_of_day(self) -> i64 {
        self.local.rem_euclid(DAY_SECONDS)
    }
}

impl Time {
    /// Argument `at` as a date or time; argument `zone_at`, where there is one, names the zone.
    ///
    /// # Errors
    /// `ILLEGAL_TYPE_OF_ARGUMENT`, `ILLEGAL_COLUMN` for a zone that is not constant.
    pub fn of(call: &Call<'_>, at: usize, zone_at: Option<usize>) -> Result<Self> {
        let (kind, of_type) = match call.type_of(at) {
            DataType::Date => (Kind::Date, None),
            DataType::Date32 => (Kind::Date32, None),
            DataType::DateTime(zone) => (Kind::DateTime, zone.clone()),
            DataType::DateTime64(digits, zone) => {
                (Kind::DateTime64 { digits: *digits, ticks: 10_i64.pow(u32::from(*digits)) }, zone.clone())
            }
            _ => return Err(call.illegal(at)),
        };
        let of_argument = match zone_at {
            Some(zone_at) => zone_argument(call, zone_at)?,
            None => None,
        };
        if of_argument.is_none() && zone_at.is_some_and(|zone_at| zone_at < call.arguments.len()) {
            return Err(Error::new(
                ErrorCode::ILLEGAL_TYPE_OF_ARGUMENT,
                "Provided time zone must be non-empty and be a valid time zone",
            ));
        }
        let named = of_argument.or(of_type);
        let zone = match &named {
            Some(name) => TimeZone::named(name)?,
            None => call.session_zone()?,
        };
        let is_wide = matches!(kind, Kind::Date32 | Kind::DateTime64 { .. });
        let extends = is_wide && call.context.settings.enable_extended_results_for_datetime_functions;
        Ok(Self { kind, zone, named, extends })
    }

    pub fn has_clock(&self) -> bool {
        matches!(self.kind, Kind::DateTime | Kind::DateTime64 { .. })
    }

    /// `DateTime` with this argument's zone.
    pub fn date_time(&self) -> DataType {
        DataType::DateTime(self.named.clone())
    }

    /// `DateTime64` with this argument's zone.
    pub fn date_time64(&self, digits: u8) -> DataType {
        DataType::DateTime64(digits, self.named.clone())
    }

    /// Decimal digits of a second that a rounded time has beside this argument: its own, or three.
    pub fn digits(&self) -> u8 {
        match self.kind {
            Kind::DateTime64 { digits, .. } => digits,
            Kind::Date | Kind::Date32 | Kind::DateTime => 3,
        }
    }

    /// The type of days that are made of this argument.
    pub fn days_type(&self) -> DataType {
        if self.extends { DataType::Date32 } else { DataType::Date }
    }

    /// Days made of every row's day, of the type [`days_type`](Self::days_type).
    pub fn map_days(&self, arguments: &[Column], map: impl Fn(i32) -> i32) -> Result<Column> {
        match self.extends {
            true => self.map::<Int32Type>(arguments, 0, &DataType::Date32, |instant| map(instant.day())),
            false => self.map::<UInt16Type>(arguments, 0, &DataType::Date, |instant| date(map(instant.day()))),
        }
    }

    /// The type of times that are made of this argument: with so many digits where it is one of a wide range.
    pub fn seconds_type(&self, digits: u8) -> DataType {
        if self.extends { self.date_time64(digits) } else { self.date_time() }
    }

    /// Times made of every row's instant, given as seconds, of a type of [`seconds_type`](Self::seconds_type).
    pub fn map_seconds(
        &self,
        arguments: &[Column],
        data_type: &DataType,
        map: impl Fn(Instant) -> i64,
    ) -> Result<Column> {
        match data_type {
            DataType::DateTime64(digits, _) => {
                let ticks = 10_i64.pow(u32::from(*digits));
                self.map::<Int64Type>(arguments, 0, data_type, |instant| map(instant).saturating_mul(ticks))
            }
            _ => self.map::<UInt32Type>(arguments, 0, data_type, |instant| date_time(map(instant))),
        }
    }

    /// Calls `each` with every row's instant, of a constant with the one that stands for all.
    #[inline(always)]
    pub fn for_each(&self, column: &Column, mut each: impl FnMut(Instant)) -> Result<()> {
        let mut cursor = self.zone.cursor();
        match self.kind {
            // A date is its midnight, wherever that is: only what is asked for of its local time matters.
            Kind::Date => {
                column
                    .as_primitive::<UInt16Type>()?
                    .values()
                    .iter()
                    .for_each(|&day| each(Instant::midnight(day.into())));
            }
            Kind::Date32 => {
                column.as_primitive::<Int32Type>()?.values().iter().for_each(|&day| each(Instant::midnight(day)));
            }
            Kind::DateTime => column.as_primitive::<UInt32Type>()?.values().iter().for_each(|&utc| {
                let utc = i64::from(utc);
                each(Instant { utc, local: cursor.to_local(utc), fraction: 0 });
            }),
            Kind::DateTime64 { ticks, .. } => column.as_primitive::<Int64Type>()?.values().iter().for_each(|&value| {
                let utc = value.div_euclid(ticks);
                each(Instant { utc, local: cursor.to_local(utc), fraction: value.rem_euclid(ticks) });
            }),
        }
        Ok(())
    }

    /// A column of `map(instant)` for every row of argument `at`.
    #[inline(always)]
    pub fn map<T: ArrowPrimitiveType>(
        &self,
        arguments: &[Column],
        at: usize,
        data_type: &DataType,
        map: impl Fn(Instant) -> T::Native,
    ) -> Result<Column> {
        let column = argument(arguments, at)?;
        let values = match self.kind {
            Kind::Date => {
                map_dates(column.as_primitive::<UInt16Type>()?.values(), |day| map(Instant::midnight(day.into())))
            }
            _ => {
                let mut values = Vec::with_capacity(column.array().len());
                self.for_each(column, |instant| values.push(map(instant)))?;
                values
            }
        };
        let mapped = Column::from_primitive::<T>(data_type.clone(), values);
        Ok(if column.is_constant() { Column::repeat(&mapped, column.rows()) } else { mapped })
    }

    /// Every row's instant.
    pub fn instants(&self, arguments: &[Column], at: usize, rows: usize) -> Result<Vec<Instant>> {
        let column = argument(arguments, at)?;
        let mut instants = Vec::with_capacity(rows);
        self.for_each(column, |instant| instants.push(instant))?;
        Ok(match (column.is_constant(), instants.first()) {
            (true, Some(&instant)) => vec![instant; rows],
            _ => instants,
        })
    }
}

/// `map` of every day. Where the days of a block lie close together, as they mostly do, each is computed once.
fn map_dates<R: Copy>(days: &[u16], map: impl Fn(u16) -> R) -> Vec<R> {
    /// So many rows for each of the days make up for looking for the first and the last one.
    const ROWS_PER_DAY: usize = 4;
    let (Some(first), Some(last)) = (days.iter().min(), days.iter().max()) else { return Vec::new() };
    if usize::from(last - first) >= days.len() / ROWS_PER_DAY {
        return days.iter().map(|day| map(*day)).collect();
    }
    let known: Vec<R> = (*first..=*last).map(map).collect();
    days.iter().map(|day| known[usize::from(day - first)]).collect()
}

/// A function whose zone argument at `at` differs by row: it runs for each zone over the rows that have it.
pub(crate) fn by_zone(
    call: &Call<'_>,
    at: usize,
    resolve: fn(&Call<'_>) -> Result<Arc<dyn BoundFunction>>,
) -> Result<Arc<dyn BoundFunction>> {
    let (name, context, properties) = (call.name, call.context.clone(), call.properties);
    let arguments = call.arguments.to_vec();
    let in_zone = move |zone: &[u8]| {
        let mut arguments = arguments.clone();
        if let Some(argument) = arguments.get_mut(at) {
            argument.constant = Some(Value::string(zone));
        }
        resolve(&Call { name, arguments: &arguments, context: &context, properties })
    };
    let return_type = in_zone(b"UTC")?.return_type().clone();
    call.bind(return_type, move |columns, rows| {
        let zones = Strings::of(columns, at)?;
        let mut rows_of: BTreeMap<&[u8], Vec<u32>> = BTreeMap::new();
        for row in 0..rows {
            rows_of.entry(zones.get(row)).or_default().push(row as u32);
        }
        let mut results = Vec::with_capacity(rows_of.len());
        let mut places = vec![0_u32; rows];
        let mut place = 0;
        for (zone, own) in rows_of {
            checkpoint(1_000 + 16 * own.len())?;
            if zone.is_empty() {
                let message = "Provided time zone must be non-empty";
                return Err(Error::new(ErrorCode::ILLEGAL_TYPE_OF_ARGUMENT, message));
            }
            for row in &own {
                places[*row as usize] = place;
                place += 1;
            }
            let count = own.len();
            let own = UInt32Array::from(own);
            let taken = columns.iter().map(|column| column.take(&own)).collect::<Result<Vec<_>>>()?;
            results.push(in_zone(zone)?.execute(&taken, count)?.materialize()?);
        }
        Column::concat(&results)?.take(&UInt32Array::from(places))
    })
}

/// Whether the zone argument at `at` is there and differs by row.
pub(crate) fn has_zones(call: &Call<'_>, at: usize) -> bool {
    call.arguments.len() > at && *call.type_of(at) == DataType::String && call.constant(at).is_none()
}

/// The zone that a constant string argument names, where the argument is there.
pub(super) fn zone_argument(call: &Call<'_>, at: usize) -> Result<Option<Arc<str>>> {
    if at >= call.arguments.len() {
        return Ok(None);
    }
    if *call.type_of(at) != DataType::String {
        return Err(call.illegal(at));
    }
    match call.constant(at).and_then(Value::as_str) {
        // An empty name is none.
        Some("") => Ok(None),
        Some(name) => Ok(Some(name.into())),
        None => Err(Error::new(
            ErrorCode::ILLEGAL_COLUMN,
            format!("Time zone argument of function {} must be a constant string", call.name),
        )),
    }
}

/// Days as a `Date`: what lies outside its range becomes its nearest end.
#[inline]
pub(super) fn date(days: i32) -> u16 {
    days.clamp(0, i32::from(u16::MAX)) as u16
}

/// Seconds as a `DateTime`: what lies outside its range becomes its nearest end.
#[inline]
pub(super) fn date_time(seconds: i64) -> u32 {
    seconds.clamp(0, i64::from(u32::MAX)) as u32
}
