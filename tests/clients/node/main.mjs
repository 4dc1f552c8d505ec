// What a user of npm's @clickhouse/client does in a day, against one server. Each check prints a line: "ok NAME", or "FAILED NAME: why".
// Argument: the HTTP port.
import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { Readable } from 'node:stream';
import { ClickHouseLogLevel, TupleParam, createClient } from '@clickhouse/client';

const url = `http://127.0.0.1:${process.argv[2]}`;
const quiet = { level: ClickHouseLogLevel.OFF };
const client = createClient({ url, log: quiet });
let failed = false;

async function check(name, run) {
  try {
    await run();
    console.log(`ok ${name}`);
  } catch (error) {
    failed = true;
    console.log(`FAILED ${name}: ${String(error.message ?? error).replaceAll('\n', ' ').slice(0, 300)}`);
  }
}

async function rows(query, options = {}) {
  const result = await (options.client ?? client).query({ query, format: 'JSONEachRow', ...options, client: undefined });
  return result.json();
}

async function value(query, options = {}) {
  const [row] = await rows(query, options);
  return Object.values(row)[0];
}

async function code(promise, wanted) {
  await assert.rejects(promise, (error) => {
    assert.equal(error.code, String(wanted), error.message);
    return true;
  });
}

const create = (table, columns) => client.command({ query: `CREATE OR REPLACE TABLE ${table} (${columns}) ENGINE = MergeTree ORDER BY tuple()` });

await check('ping', async () => {
  assert.equal((await client.ping()).success, true);
  assert.equal((await client.ping({ select: true })).success, true);
});

for (const format of ['JSON', 'JSONStrings', 'JSONCompact', 'JSONColumnsWithMetadata', 'JSONCompactStrings', 'JSONObjectEachRow']) {
  await check(`format ${format}`, async () => {
    const result = await client.query({ query: "SELECT number AS n, 'x' AS s FROM numbers(3)", format });
    const found = await result.json();
    const read = format === 'JSONObjectEachRow' ? Object.keys(found).length : found.rows;
    assert.equal(read, 3);
    if (format !== 'JSONObjectEachRow') assert.deepEqual(found.meta, [{ name: 'n', type: 'UInt64' }, { name: 's', type: 'String' }]);
  });
}

for (const format of ['JSONEachRow', 'JSONStringsEachRow', 'JSONCompactEachRow', 'JSONCompactStringsEachRow', 'JSONCompactEachRowWithNames',
  'JSONCompactEachRowWithNamesAndTypes', 'JSONCompactStringsEachRowWithNames', 'JSONCompactStringsEachRowWithNamesAndTypes']) {
  await check(`stream of ${format}`, async () => {
    const result = await client.query({ query: 'SELECT number, toString(number) FROM numbers(100000)', format });
    let count = 0;
    for await (const part of result.stream()) count += part.length;
    assert.equal(count, 100000 + (format.includes('AndTypes') ? 2 : format.includes('Names') ? 1 : 0));
  });
}

for (const format of ['CSV', 'CSVWithNames', 'CSVWithNamesAndTypes', 'TabSeparated', 'TabSeparatedRaw', 'TabSeparatedWithNames',
  'TabSeparatedWithNamesAndTypes', 'CustomSeparated', 'CustomSeparatedWithNames', 'CustomSeparatedWithNamesAndTypes']) {
  await check(`stream of ${format}`, async () => {
    const result = await client.query({ query: "SELECT number, concat('row ', toString(number)) AS text FROM numbers(50000)", format });
    let count = 0;
    for await (const part of result.stream()) for (const row of part) count += row.text.includes('row ') ? 1 : 0;
    assert.equal(count, 50000);
  });
}

await check('Parquet', async () => {
  const { stream } = await client.exec({ query: 'SELECT number FROM numbers(1000) FORMAT Parquet' });
  const parts = [];
  for await (const part of stream) parts.push(part);
  const bytes = Buffer.concat(parts);
  assert.equal(bytes.subarray(0, 4).toString(), 'PAR1');
  await create('node_parquet', 'number UInt64');
  await client.insert({ table: 'node_parquet', values: Readable.from([bytes], { objectMode: false }), format: 'Parquet' });
  assert.equal(await value('SELECT sum(number) FROM node_parquet'), 499500);
});

const types = {
  'UInt8': 200, 'Int32': -5, 'UInt64': '18446744073709551615', 'Int64': '-5', 'Float64': -2.25, 'Bool': true, 'String': "it's\t\\\n é",
  'FixedString(3)': 'abc', 'Date': '2024-01-02', 'Date32': '1950-01-02', "DateTime('UTC')": '2024-01-02 03:04:05',
  "DateTime64(6, 'UTC')": '2024-01-02 03:04:05.123456', 'UUID': '61f0c404-5cb3-11e7-907b-a6006ad3dba0', 'IPv4': '1.2.3.4', 'IPv6': '2001:db8::1',
  "Enum8('a' = 1, 'b' = 2)": 'b', 'Decimal(18, 4)': 1234.5678, 'Decimal(76, 20)': 5.5, 'Int128': '-170141183460469231731687303715884105728',
  'UInt256': '115792089237316195423570985008687907853269984665640564039457584007913129639935',
  'Array(UInt8)': [1, 2], 'Array(Array(String))': [['a'], []], 'Tuple(UInt8, String)': [1, 'x'], 'Tuple(a UInt8, b String)': { a: 1, b: 'x' },
  'Map(String, UInt8)': { a: 1, b: 2 }, 'Nullable(String)': null, 'LowCardinality(String)': 'lc', 'LowCardinality(Nullable(String))': null,
  'Array(Nullable(UInt8))': [null, 3],
};
for (const [type, written] of Object.entries(types)) {
  await check(`type ${type}`, async () => {
    await create('node_type', `a ${type}`);
    const settings = { output_format_json_quote_64bit_integers: 1 };
    for (const format of ['JSONEachRow', 'JSONCompactEachRow']) {
      await client.insert({ table: 'node_type', values: [format === 'JSONEachRow' ? { a: written } : [written]], format });
    }
    const found = await rows('SELECT a FROM node_type', { clickhouse_settings: settings });
    assert.deepEqual(found, [{ a: written }, { a: written }]);
  });
}

await check('insert of objects, arrays, streams, columns', async () => {
  await create('node_insert', "a UInt32, b String, c DEFAULT 'x'");
  await client.insert({ table: 'node_insert', values: [{ a: 1, b: 'x' }, { a: 2, b: 'y' }], format: 'JSONEachRow' });
  await client.insert({ table: 'node_insert', values: [[3, 'z']], format: 'JSONCompactEachRow', columns: ['a', 'b'] });
  await client.insert({ table: 'node_insert', values: [{ a: 4, b: 'q', c: 'r' }], format: 'JSONEachRow', columns: { except: ['c'] },
    clickhouse_settings: { input_format_skip_unknown_fields: 1 } });
  const stream = Readable.from((function* () { for (let a = 0; a < 50000; a++) yield { a, b: `row ${a}` }; })(), { objectMode: true });
  await client.insert({ table: 'node_insert', values: stream, format: 'JSONEachRow' });
  await client.insert({ table: 'node_insert', values: Readable.from(['7,"csv"\n8,"csv"\n'], { objectMode: false }), format: 'CSV', columns: ['a', 'b'] });
  await client.insert({ table: 'node_insert', values: { meta: [], data: [{ a: 9, b: 'json', c: 'x' }] }, format: 'JSON' });
  assert.equal(await value('SELECT count() FROM node_insert'), 50007);
  const empty = await client.insert({ table: 'node_insert', values: [], format: 'JSONEachRow' });
  assert.equal(empty.executed, false);
  const inserted = await client.insert({ table: 'node_insert', values: [{ a: 1, b: 'x' }], format: 'JSONEachRow' });
  assert.equal(inserted.summary.written_rows, '1');
});

await check('asynchronous insert', async () => {
  await client.insert({ table: 'node_insert', values: [{ a: 1, b: 'async' }], format: 'JSONEachRow',
    clickhouse_settings: { async_insert: 1, wait_for_async_insert: 1 } });
  assert.equal(await value("SELECT count() FROM node_insert WHERE b = 'async'"), 1);
});

await check('parameters', async () => {
  const day = new Date('2024-01-02T03:04:05.000Z');
  const [found] = await rows(`SELECT {n: UInt32} AS n, {s: String} AS s, {a: Array(String)} AS a, {m: Map(String, UInt8)} AS m, {o: Nullable(String)} AS o,
    {d: Date} AS d, {t: DateTime('UTC')} AS t, {b: Bool} AS b, {u: Tuple(UInt8, String)} AS u, {x: Array(Nullable(UInt8))} AS x, {i: Identifier} AS i
    FROM (SELECT 1 AS col)`, {
    query_params: { n: 42, s: "it's\t\\", a: ['x', "y'"], m: { a: 1 }, o: null, d: '2024-01-02', t: day, b: true, u: new TupleParam([1, 'q']), x: [1, null], i: 'col' },
  });
  assert.deepEqual(found, { n: 42, s: "it's\t\\", a: ['x', "y'"], m: { a: 1 }, o: null, d: '2024-01-02', t: '2024-01-02 03:04:05', b: true, u: [1, 'q'], x: [1, null], i: 1 });
});

await check('errors', async () => {
  await code(client.query({ query: 'SELECT * FROM no_such_table' }), 60);
  await code(client.command({ query: 'SELECT nope' }), 47);
  await code(client.insert({ table: 'no_such_table', values: [{ a: 1 }], format: 'JSONEachRow' }), 60);
  await assert.rejects(client.insert({ table: 'node_insert', values: [{ a: 'rubbish' }], format: 'JSONEachRow' }), /Cannot parse/);
  await code(client.query({ query: 'SELECT 1', clickhouse_settings: { no_such_setting: 1 } }), 115);
  assert.equal((await client.ping()).success, true);
});

await check('a refused insert of many rows leaves the pool usable', async () => {
  const pooled = createClient({ url, log: quiet, max_open_connections: 2 });
  for (let round = 0; round < 10; round++) {
    const stream = Readable.from((function* () { for (let a = 0; a < 20000; a++) yield { a, b: 'x'.repeat(50) }; })(), { objectMode: true });
    await code(pooled.insert({ table: 'no_such_table', values: stream, format: 'JSONEachRow' }), 60);
    assert.equal(await value('SELECT 1', { client: pooled }), 1);
  }
  await pooled.close();
});

await check('an error in mid-stream', async () => {
  const result = await client.query({ query: 'SELECT number, throwIf(number = 3000000) FROM numbers(4000000)', format: 'JSONCompactEachRow' });
  await assert.rejects(async () => {
    for await (const part of result.stream()) part.at(0)?.text;
  }, /FUNCTION_THROW_IF|throwIf|395|aborted/);
});

await check('cancel', async () => {
  const controller = new AbortController();
  const id = randomUUID();
  const running = client.query({ query: 'SELECT sum(sipHash64(number)) FROM numbers(1000000000000)', abort_signal: controller.signal, query_id: id });
  setTimeout(() => controller.abort(), 200);
  await assert.rejects(running, /abort/);
  await client.command({ query: `KILL QUERY WHERE query_id = '${id}' SYNC` });
  const result = await client.query({ query: 'SELECT number FROM system.numbers', format: 'JSONEachRow' });
  for await (const part of result.stream()) {
    if (part.length > 0) break;
  }
  result.close();
  assert.equal((await client.ping()).success, true);
});

await check('a pool', async () => {
  const pooled = createClient({ url, log: quiet, max_open_connections: 10, keep_alive: { enabled: true } });
  const found = await Promise.all(Array.from({ length: 200 }, (_, number) => value(`SELECT ${number} AS n`, { client: pooled })));
  assert.deepEqual(found.map(Number), Array.from({ length: 200 }, (_, number) => number));
  await pooled.close();
});

await check('compression', async () => {
  const compressed = createClient({ url, log: quiet, compression: { request: true, response: true } });
  const [written] = [Array.from({ length: 10000 }, (_, a) => ({ a, b: 'text '.repeat(10) }))];
  await create('node_compressed', 'a UInt32, b String');
  await compressed.insert({ table: 'node_compressed', values: written, format: 'JSONEachRow' });
  assert.deepEqual(await rows('SELECT * FROM node_compressed ORDER BY a', { client: compressed }), written);
  await compressed.close();
});

await check('query id, summary, headers', async () => {
  const id = randomUUID();
  const result = await client.query({ query: 'SELECT query_id FROM system.processes WHERE query_id = queryID()', format: 'JSONEachRow', query_id: id });
  assert.equal(result.query_id, id);
  assert.deepEqual(await result.json(), [{ query_id: id }]);
  const sum = await client.query({ query: 'SELECT sum(number) AS s FROM numbers(1000)', format: 'JSON' });
  const found = await sum.json();
  assert.equal(found.statistics.rows_read, 1000);
  const executed = await client.exec({ query: 'SELECT 42 FORMAT TabSeparated' });
  let text = '';
  for await (const part of executed.stream) text += part;
  assert.equal(text, '42\n');
});

await check('progress in the stream', async () => {
  const result = await client.query({ query: 'SELECT number FROM numbers(100)', format: 'JSONEachRowWithProgress' });
  let count = 0;
  for await (const part of result.stream()) for (const row of part) count += 'row' in row.json() ? 1 : 0;
  assert.equal(count, 100);
});

await check('settings, roles, users', async () => {
  const own = createClient({ url, log: quiet, clickhouse_settings: { max_block_size: '777' }, username: 'default', password: '', application: 'squall-tests' });
  assert.equal(await value("SELECT value FROM system.settings WHERE name = 'max_block_size'", { client: own }), '777');
  await own.close();
  const wrong = createClient({ url, log: quiet, username: 'nobody', password: 'x' });
  await code(wrong.query({ query: 'SELECT 1' }), 516);
  await wrong.close();
});

await check('sessions and temporary tables', async () => {
  const own = createClient({ url, log: quiet, session_id: randomUUID(), max_open_connections: 1 });
  await own.command({ query: 'SET max_threads = 3' });
  assert.equal(await value("SELECT value FROM system.settings WHERE name = 'max_threads'", { client: own }), '3');
  await own.command({ query: 'CREATE TEMPORARY TABLE node_temporary (a UInt8)' });
  await own.insert({ table: 'node_temporary', values: [{ a: 1 }, { a: 2 }], format: 'JSONEachRow' });
  assert.equal(await value('SELECT sum(a) FROM node_temporary', { client: own }), 3);
  await own.close();
});

await check('metadata', async () => {
  const described = await rows('DESCRIBE TABLE node_insert');
  assert.deepEqual(described.map((column) => column.name), ['a', 'b', 'c']);
  const tables = await rows("SELECT name, engine FROM system.tables WHERE database = currentDatabase() AND name = 'node_insert'");
  assert.deepEqual(tables, [{ name: 'node_insert', engine: 'MergeTree' }]);
});

await client.close();
process.exitCode = failed ? 1 : 0;
