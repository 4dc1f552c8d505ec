//! Windows over rows that are cut anywhere, against what the words of SQL say of each row.

use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};
use squall_functions::{Argument, resolve_aggregate, resolve_window};
use squall_planner::{Expression, FrameBound, FrameUnit, Plan, Window, WindowCall, WindowCallFunction, WindowFrame};
use squall_types::{Column, ColumnBuilder, DataType, Schema, Value};

use super::*;

/// A partition's key, the key of the order, and the row's number.
type Row = (u64, Option<i64>, u64);

const TYPES: [&str; 3] = ["UInt64", "Nullable(Int64)", "UInt64"];

/// Rows in the order of a window.
fn rows(is_partitioned: bool, is_ordered: bool, random: &mut StdRng) -> Vec<Row> {
    let (count, values) = (random.random_range(1..40), random.random_range(1..12));
    let keys = if is_partitioned { random.random_range(1..6) } else { 1 };
    let value = |random: &mut StdRng| {
        (is_ordered && random.random_range(0..7) > 0).then(|| random.random_range(-values..values))
    };
    let mut rows: Vec<(u64, Option<i64>)> = (0..count).map(|_| (random.random_range(0..keys), value(random))).collect();
    rows.sort_by_key(|(key, value)| (*key, value.is_none(), *value));
    rows.into_iter().enumerate().map(|(number, (key, value))| (key, value, number as u64)).collect()
}

fn block(schema: &Arc<Schema>, rows: &[Row]) -> Block {
    let mut columns = TYPES.map(|name| ColumnBuilder::new(DataType::parse(name).unwrap()));
    for (key, value, number) in rows {
        columns[0].append(&Value::UInt64(*key)).unwrap();
        columns[1].append(&value.map_or(Value::Null, Value::Int64)).unwrap();
        columns[2].append(&Value::UInt64(*number)).unwrap();
    }
    let columns: Vec<Column> = columns.into_iter().map(|column| column.finish().unwrap()).collect();
    Block::new(schema.clone(), columns, rows.len())
}

fn column(position: usize) -> Expression {
    Expression::Column { position, data_type: DataType::parse(TYPES[position]).unwrap() }
}

/// Functions of the row's number, whose results tell which rows they have seen.
fn window(frame: WindowFrame, is_partitioned: bool, is_ordered: bool, names: &[&str]) -> Window {
    let input =
        Arc::new(Schema::new(["k", "o", "x"].into_iter().zip(TYPES.map(|name| DataType::parse(name).unwrap()))));
    let of_name = |name: &&str| {
        let numbers = [DataType::UInt64];
        let offset = Argument { data_type: DataType::UInt8, constant: Some(Value::UInt64(2)) };
        let (function, arguments) = match *name {
            "groupArray" | "sumDistinct" => {
                (WindowCallFunction::Aggregate(resolve_aggregate(name, &[], &numbers).unwrap()), vec![column(2)])
            }
            "lag" | "lead" | "nth_value" => {
                let arguments = [Argument::of(DataType::UInt64), offset];
                let offset = Expression::Constant { value: Value::UInt64(2), data_type: DataType::UInt8 };
                (WindowCallFunction::Own(resolve_window(name, &arguments, false).unwrap()), vec![column(2), offset])
            }
            _ => (WindowCallFunction::Own(resolve_window(name, &[], false).unwrap()), vec![]),
        };
        WindowCall { name: (*name).into(), function, arguments }
    };
    let calls: Vec<WindowCall> = names.iter().map(of_name).collect();
    let own = calls.iter().enumerate().map(|(at, call)| (format!("c{at}"), call.function.return_type().clone()));
    let fields = input.names().zip(input.types()).map(|(name, data_type)| (name.to_owned(), data_type.clone()));
    let schema = Arc::new(Schema::new(fields.chain(own)));
    let order_by = if is_ordered {
        vec![SortKey { expression: column(1), descending: false, nulls_first: false }]
    } else {
        Vec::new()
    };
    let partition_by = if is_partitioned { vec![column(0)] } else { Vec::new() };
    let input = Box::new(Plan::Values { schema: input, blocks: Vec::new() });
    Window { input, partition_by, order_by, frame, calls, schema }
}

/// The rows in blocks, units and pieces of any size.
fn compute(window: &Window, rows: &[Row], random: &mut StdRng) -> Vec<Vec<Value>> {
    let schema = window.input.schema();
    let (mut collected, mut from) = (Vec::new(), 0);
    while from < rows.len() {
        let to = rows.len().min(from + random.random_range(1..9));
        let sequence = Sequence { input: 0, morsel: collected.len() as u64 };
        let mut block = sink::collect(&partition_keys(window), sequence, 0, block(schema, &rows[from..to])).unwrap();
        if random.random_bool(0.5)
            && let Some(starts) = &mut block.starts
        {
            // As with a block that was on disk.
            starts.all = None;
        }
        collected.push(block);
        from = to;
    }
    let input = Input::new(collected, None, random.random_range(1..20), begins_anywhere(window));
    let mut results = Vec::new();
    for unit in input.units() {
        let (bytes, at_once) = (random.random_range(0..200), random.random_range(1..7));
        let mut computing = Computing::new(window, &input, unit.clone(), bytes, at_once);
        while let Some(block) = block_on(computing.next(&mut Pieces::begin())).unwrap() {
            results
                .extend((0..block.rows()).map(|row| block.columns().iter().map(|column| column.value(row)).collect()));
        }
    }
    results
}

/// The rows of each row's frame, by what the words say.
fn frame_of(frame: &WindowFrame, own: &Row, partition: &[Row]) -> Vec<u64> {
    let mut groups: Vec<Option<i64>> = partition.iter().map(|row| row.1).collect();
    groups.dedup();
    // Where a row is, counted in what the frame counts; a NULL is nowhere among values.
    let place = |row: &Row| match frame.unit {
        FrameUnit::Rows => Some(row.2 as i64),
        FrameUnit::Groups => groups.iter().position(|group| *group == row.1).map(|group| group as i64),
        FrameUnit::Range => row.1,
    };
    let order = |row: &Row| (row.1.is_none(), row.1);
    let is_within = |row: &&Row, bound: FrameBound, is_begin: bool| {
        let offset = match bound {
            FrameBound::UnboundedPreceding | FrameBound::UnboundedFollowing => return true,
            FrameBound::CurrentRow => 0,
            FrameBound::Preceding(count) => -(count as i64),
            FrameBound::Following(count) => count as i64,
        };
        let ordering = match (place(row), place(own)) {
            (Some(row), Some(own)) => row.cmp(&(own + offset)),
            // Among rows of which one has no value offsets say nothing: peers are with each other, and others before or behind.
            _ => order(row).cmp(&order(own)),
        };
        if is_begin { ordering.is_ge() } else { ordering.is_le() }
    };
    let rows = partition.iter().filter(|row| is_within(row, frame.begin, true) && is_within(row, frame.end, false));
    rows.map(|row| row.2).collect()
}

fn check(frame: WindowFrame, is_partitioned: bool, is_ordered: bool, random: &mut StdRng) {
    let all = rows(is_partitioned, is_ordered, random);
    let of_frames = ["groupArray", "sumDistinct", "nth_value", "row_number"];
    let window = window(frame, is_partitioned, is_ordered, &of_frames);
    let results = compute(&window, &all, random);
    assert_eq!(results.len(), all.len());
    for (own, found) in all.iter().zip(results) {
        let partition: Vec<Row> = all.iter().filter(|row| !is_partitioned || row.0 == own.0).copied().collect();
        let seen = frame_of(&frame, own, &partition);
        let numbers: Vec<Value> = seen.iter().map(|row| Value::UInt64(*row)).collect();
        let case = format!("{frame} {is_partitioned} {is_ordered} {own:?} of {all:?}");
        assert_eq!(found[3], Value::Array(numbers.into()), "{case}");
        assert_eq!(found[4], Value::UInt64(seen.iter().sum()), "{case}");
        assert_eq!(found[5], Value::UInt64(seen.get(1).copied().unwrap_or(0)), "{case}");
        assert_eq!(found[6], Value::UInt64(own.2 - partition[0].2 + 1), "{case}");
    }
}

fn bounds(random: &mut StdRng) -> (FrameBound, FrameBound) {
    let (near, far) = (random.random_range(0..3), random.random_range(3..5));
    let pairs = [
        (FrameBound::UnboundedPreceding, FrameBound::CurrentRow),
        (FrameBound::UnboundedPreceding, FrameBound::UnboundedFollowing),
        (FrameBound::UnboundedPreceding, FrameBound::Preceding(near)),
        (FrameBound::Preceding(far), FrameBound::Preceding(near)),
        (FrameBound::Preceding(near), FrameBound::Following(far)),
        (FrameBound::Following(near), FrameBound::Following(far)),
        (FrameBound::Following(near), FrameBound::UnboundedFollowing),
        (FrameBound::CurrentRow, FrameBound::UnboundedFollowing),
        (FrameBound::CurrentRow, FrameBound::Following(far)),
    ];
    pairs[random.random_range(0..pairs.len())]
}

#[test]
#[ignore = "long"]
fn frames_are_what_the_words_say_wherever_rows_are_cut() {
    let mut random = StdRng::seed_from_u64(11);
    for _ in 0..1_500 {
        let unit = [FrameUnit::Rows, FrameUnit::Range, FrameUnit::Groups][random.random_range(0..3)];
        let (begin, end) = bounds(&mut random);
        let has_offset = |bound| matches!(bound, FrameBound::Preceding(_) | FrameBound::Following(_));
        // Values are so far away only where there is an order.
        let is_ordered = unit == FrameUnit::Range && (has_offset(begin) || has_offset(end)) || random.random_bool(0.7);
        check(WindowFrame { unit, begin, end }, random.random_bool(0.7), is_ordered, &mut random);
    }
}

#[test]
fn places_and_neighbours_are_found_wherever_rows_are_cut() {
    let mut random = StdRng::seed_from_u64(12);
    let frame = WindowFrame {
        unit: FrameUnit::Rows,
        begin: FrameBound::UnboundedPreceding,
        end: FrameBound::UnboundedFollowing,
    };
    let ranks = ["rank", "denseRank", "percentRank", "cume_dist"];
    for number in 0..1_000 {
        let names: &[&str] = if number % 2 == 0 { &["lag", "lead"] } else { &ranks };
        let is_partitioned = random.random_bool(0.7);
        let window = window(frame, is_partitioned, true, names);
        let all = rows(is_partitioned, true, &mut random);
        for (own, found) in all.iter().zip(compute(&window, &all, &mut random)) {
            let partition: Vec<Row> = all.iter().filter(|row| !is_partitioned || row.0 == own.0).copied().collect();
            let at = partition.iter().position(|row| row.2 == own.2).unwrap();
            let before = partition.iter().position(|row| row.1 == own.1).unwrap();
            let through = partition.iter().rposition(|row| row.1 == own.1).unwrap() + 1;
            let mut groups: Vec<Option<i64>> = partition[..before].iter().map(|row| row.1).collect();
            groups.dedup();
            let number = |at: Option<usize>| Value::UInt64(at.and_then(|at| partition.get(at)).map_or(0, |row| row.2));
            let last = partition.len() - 1;
            let expected = if names.len() == 2 {
                vec![number(at.checked_sub(2)), number(Some(at + 2))]
            } else {
                vec![
                    Value::UInt64(before as u64 + 1),
                    Value::UInt64(groups.len() as u64 + 1),
                    Value::Float64(if last == 0 { 0.0 } else { before as f64 / last as f64 }),
                    Value::Float64(through as f64 / partition.len() as f64),
                ]
            };
            assert_eq!(found[3..], expected, "{own:?} of {all:?}");
        }
    }
}

#[test]
fn units_are_cut_between_partitions_alone_unless_functions_look_not_far() {
    let of_frame = |begin, end| WindowFrame { unit: FrameUnit::Rows, begin, end };
    let running = of_frame(FrameBound::UnboundedPreceding, FrameBound::CurrentRow);
    let short = of_frame(FrameBound::Preceding(2), FrameBound::CurrentRow);
    let rows: Vec<Row> = (0..40).map(|row| (u64::from(row >= 30), None, row)).collect();
    let units = |frame| {
        let window = window(frame, true, false, &["groupArray"]);
        let blocks = rows.chunks(4).enumerate().map(|(morsel, rows)| {
            let sequence = Sequence { input: 0, morsel: morsel as u64 };
            sink::collect(&partition_keys(&window), sequence, 0, block(window.input.schema(), rows)).unwrap()
        });
        Input::new(blocks.collect(), None, 10, begins_anywhere(&window)).units().to_vec()
    };
    assert_eq!(units(running), [0..30, 30..40]);
    assert_eq!(units(short), [0..12, 12..24, 24..36, 36..40]);
}
