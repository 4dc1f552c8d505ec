package main

import (
	"context"
	"errors"
	"fmt"
	"math/big"
	"net"
	"reflect"
	"strings"
	"time"

	"github.com/ClickHouse/clickhouse-go/v2"
	"github.com/ClickHouse/clickhouse-go/v2/ext"
	"github.com/ClickHouse/clickhouse-go/v2/lib/driver"
	"github.com/google/uuid"
	"github.com/shopspring/decimal"
)

var instant = time.Date(2024, 1, 2, 3, 4, 5, 123456000, time.UTC)

// A value of each type, as Go has it.
var values = []struct {
	name  string
	value any
}{
	{"UInt8", uint8(200)}, {"UInt16", uint16(60000)}, {"UInt32", uint32(4e9)}, {"UInt64", uint64(1) << 63},
	{"Int8", int8(-5)}, {"Int16", int16(-5)}, {"Int32", int32(-5)}, {"Int64", int64(-5)},
	{"Float32", float32(1.5)}, {"Float64", -2.25}, {"Bool", true}, {"String", "it's\t\\\n é"}, {"FixedString(3)", "abc"},
	{"Date", instant.Truncate(24 * time.Hour)}, {"Date32", time.Date(1950, 1, 2, 0, 0, 0, 0, time.UTC)},
	{"DateTime('UTC')", instant.Truncate(time.Second)}, {"DateTime64(6, 'UTC')", instant},
	{"UUID", uuid.MustParse("61f0c404-5cb3-11e7-907b-a6006ad3dba0")}, {"IPv4", net.ParseIP("1.2.3.4")}, {"IPv6", net.ParseIP("2001:db8::1")},
	{"Enum8('a' = 1, 'b' = 2)", "b"}, {"Enum16('a' = 1, 'b' = 1000)", "b"},
	{"Decimal(9, 2)", decimal.RequireFromString("-1234.56")}, {"Decimal(18, 4)", decimal.RequireFromString("1234.5678")},
	{"Decimal(38, 10)", decimal.RequireFromString("-1.0000000001")}, {"Decimal(76, 20)", decimal.RequireFromString("5.5")},
	{"Int128", new(big.Int).Lsh(big.NewInt(-3), 100)}, {"UInt128", new(big.Int).Lsh(big.NewInt(3), 100)},
	{"Int256", new(big.Int).Lsh(big.NewInt(-3), 200)}, {"UInt256", new(big.Int).Lsh(big.NewInt(3), 200)},
	{"Array(UInt8)", []uint8{1, 2, 3}}, {"Array(Array(String))", [][]string{{"a"}, {}, {"b", "c"}}},
	{"Tuple(UInt8, String)", []any{uint8(1), "x"}}, {"Tuple(a UInt8, b Array(String))", map[string]any{"a": uint8(1), "b": []string{"x"}}},
	{"Map(String, UInt8)", map[string]uint8{"a": 1, "b": 2}}, {"Map(String, Array(UInt64))", map[string][]uint64{"a": {1, 2}}},
	{"LowCardinality(String)", "lc"}, {"Array(LowCardinality(String))", []string{"x", "y", "x"}},
}

func options(protocol clickhouse.Protocol, change func(*clickhouse.Options)) *clickhouse.Options {
	port := nativePort
	if protocol == clickhouse.HTTP {
		port = httpPort
	}
	options := &clickhouse.Options{
		Protocol: protocol,
		Addr:     []string{"127.0.0.1:" + port},
		Auth:     clickhouse.Auth{Database: "default", Username: "default"},
	}
	if change != nil {
		change(options)
	}
	return options
}

func open(protocol clickhouse.Protocol, change func(*clickhouse.Options)) driver.Conn {
	connection, err := clickhouse.Open(options(protocol, change))
	if err != nil {
		panic(err)
	}
	return connection
}

// code is an error where a failure is not the server's exception of this number.
func code(err error, wanted int32) error {
	var exception *clickhouse.Exception
	if errors.As(err, &exception) {
		return same(exception.Code, wanted)
	}
	// Over HTTP it is a text.
	if err != nil && strings.Contains(err.Error(), fmt.Sprintf("code: %d", wanted)) || err != nil && strings.Contains(err.Error(), fmt.Sprintf("Code: %d", wanted)) {
		return nil
	}
	return fmt.Errorf("not the exception %d: %v", wanted, err)
}

func checkClickHouseGo() {
	for _, protocol := range []clickhouse.Protocol{clickhouse.Native, clickhouse.HTTP} {
		checkProtocol("clickhouse-go "+protocol.String(), protocol)
	}
}

func checkProtocol(prefix string, protocol clickhouse.Protocol) {
	background := context.Background()
	connection := open(protocol, nil)
	defer connection.Close()
	named := func(name string) string { return prefix + ": " + name }
	table := "go_" + protocol.String()

	check(named("ping"), func() error { return connection.Ping(background) })
	check(named("version"), func() error {
		version, err := connection.ServerVersion()
		if err != nil {
			return err
		}
		return all(same(version.Name != "", true), same(version.Version.Major, 26), same(version.Timezone != nil, true))
	})
	check(named("rows"), func() error {
		rows, err := connection.Query(background, "SELECT number, toString(number) FROM numbers(1000000)")
		if err != nil {
			return err
		}
		defer rows.Close()
		var count, number uint64
		var text string
		for rows.Next() {
			if err := rows.Scan(&number, &text); err != nil {
				return err
			}
			if text != fmt.Sprint(number) {
				return fmt.Errorf("%d is %s", number, text)
			}
			count++
		}
		return all(rows.Err(), same(count, 1000000))
	})
	check(named("structures"), func() error {
		var found []struct {
			Number uint64 `ch:"number"`
			Text   string `ch:"text"`
		}
		err := connection.Select(background, &found, "SELECT number, toString(number) AS text FROM numbers(3)")
		return all(err, same(found, "[{0 0} {1 1} {2 2}]"))
	})
	check(named("batches"), func() error {
		create := "CREATE OR REPLACE TABLE " + table + " (a UInt64, b String, c Nullable(Int32)) ENGINE = MergeTree ORDER BY a"
		if err := connection.Exec(background, create); err != nil {
			return err
		}
		for range 3 {
			batch, err := connection.PrepareBatch(background, "INSERT INTO "+table+" (a, b)")
			if err != nil {
				return err
			}
			for row := range 10000 {
				if err := batch.Append(uint64(row), fmt.Sprint(row)); err != nil {
					return err
				}
				if protocol == clickhouse.Native && row%4000 == 0 {
					if err := batch.Flush(); err != nil {
						return err
					}
				}
			}
			if err := batch.Send(); err != nil {
				return err
			}
		}
		batch, err := connection.PrepareBatch(background, "INSERT INTO "+table)
		if err != nil {
			return err
		}
		one := int32(1)
		err = all(batch.Column(0).Append([]uint64{1, 2}), batch.Column(1).Append([]string{"x", "y"}), batch.Column(2).Append([]*int32{&one, nil}), batch.Send())
		if err != nil {
			return err
		}
		var count, sum uint64
		err = connection.QueryRow(background, "SELECT count(), sum(a) FROM "+table).Scan(&count, &sum)
		return all(err, same(count, 30002), same(sum, 3*49995000+3))
	})
	check(named("a batch that is given up"), func() error {
		batch, err := connection.PrepareBatch(background, "INSERT INTO "+table+" (a)")
		if err != nil {
			return err
		}
		return all(batch.Append(uint64(1)), batch.Abort(), connection.Ping(background))
	})
	check(named("asynchronous insert"), func() error {
		return connection.AsyncInsert(background, "INSERT INTO "+table+" (a, b) VALUES (1000000, 'async')", true)
	})
	for _, known := range values {
		check(named("type "+known.name), func() error { return roundTrip(connection, table+"_type", known.name, known.value) })
	}
	check(named("NULL"), func() error {
		create := "CREATE OR REPLACE TABLE " + table + "_type (a Nullable(String), b LowCardinality(Nullable(String)), c Array(Nullable(UInt8))) ENGINE = Memory"
		if err := connection.Exec(background, create); err != nil {
			return err
		}
		batch, err := connection.PrepareBatch(background, "INSERT INTO "+table+"_type")
		if err != nil {
			return err
		}
		three := uint8(3)
		if err := all(batch.Append(nil, nil, []*uint8{nil, &three}), batch.Send()); err != nil {
			return err
		}
		var a, b *string
		var c []*uint8
		err = connection.QueryRow(background, "SELECT * FROM "+table+"_type").Scan(&a, &b, &c)
		return all(err, same(a == nil && b == nil && c[0] == nil && *c[1] == 3, true))
	})
	check(named("bound values"), func() error {
		var text string
		var day time.Time
		var list []uint8
		err := connection.QueryRow(background, "SELECT ?, toDate(?), ?", "it's", "2024-01-02", []int{1, 2}).Scan(&text, &day, &list)
		if err := all(err, same(text, "it's"), same(day.Day(), 2), same(list, "[1 2]")); err != nil {
			return err
		}
		err = connection.QueryRow(background, "SELECT @text", clickhouse.Named("text", "x")).Scan(&text)
		return all(err, same(text, "x"))
	})
	check(named("parameters"), func() error {
		with := clickhouse.Context(background, clickhouse.WithParameters(clickhouse.Parameters{
			"n": "41", "s": "it's", "a": "['x','y']", "m": "{'a':1}", "t": "(1,'b')", "d": "2024-01-02"}))
		var number uint64
		var text string
		var list []string
		var m map[string]uint8
		var pair []any
		var day time.Time
		query := "SELECT {n:UInt32} + 1, {s:String}, {a:Array(String)}, {m:Map(String, UInt8)}, {t:Tuple(UInt8, String)}, {d:Date}"
		err := connection.QueryRow(with, query).Scan(&number, &text, &list, &m, &pair, &day)
		return all(err, same(number, 42), same(text, "it's"), same(list, "[x y]"), same(m, "map[a:1]"), same(pair, "[1 b]"), same(day.Day(), 2))
	})
	check(named("an error"), func() error {
		if err := code(connection.Exec(background, "SELECT * FROM no_such_table"), 60); err != nil {
			return err
		}
		_, err := connection.PrepareBatch(background, "INSERT INTO no_such_table")
		return all(code(err, 60), connection.Ping(background))
	})
	check(named("an error in mid-stream"), func() error {
		rows, err := connection.Query(background, "SELECT throwIf(number = 3000000) FROM numbers(4000000)")
		if err == nil {
			for rows.Next() {
			}
			err = rows.Err()
			rows.Close()
		}
		return all(code(err, 395), connection.Ping(background))
	})
	check(named("an INSERT whose rows are refused"), func() error {
		create := "CREATE OR REPLACE TABLE " + table + "_checked (a UInt64, b UInt64 MATERIALIZED throwIf(a = 5000)) ENGINE = Memory"
		if err := connection.Exec(background, create); err != nil {
			return err
		}
		batch, err := connection.PrepareBatch(background, "INSERT INTO "+table+"_checked (a)")
		if err != nil {
			return err
		}
		for row := range 10000 {
			if err := batch.Append(uint64(row)); err != nil {
				return err
			}
		}
		return all(code(batch.Send(), 395), connection.Ping(background))
	})
	check(named("cancel"), func() error {
		timed, cancel := cancelled()
		defer cancel()
		began := time.Now()
		rows, err := connection.Query(timed, "SELECT sum(sipHash64(number)) FROM numbers(1000000000000)")
		if err == nil {
			for rows.Next() {
			}
			err = rows.Err()
			rows.Close()
		}
		if err == nil || time.Since(began) > 20*time.Second {
			return fmt.Errorf("%v after %v", err, time.Since(began))
		}
		return connection.Ping(background)
	})
	check(named("a pool"), func() error {
		pool := open(protocol, func(options *clickhouse.Options) {
			options.MaxOpenConns, options.MaxIdleConns, options.DialTimeout = 20, 10, time.Minute
		})
		defer pool.Close()
		return together(200, func(number int) error {
			var found uint64
			err := pool.QueryRow(background, fmt.Sprintf("SELECT toUInt64(%d)", number)).Scan(&found)
			return all(err, same(found, number))
		})
	})
	methods := map[string]clickhouse.CompressionMethod{"LZ4": clickhouse.CompressionLZ4, "LZ4HC": clickhouse.CompressionLZ4HC, "ZSTD": clickhouse.CompressionZSTD}
	if protocol == clickhouse.HTTP {
		methods = map[string]clickhouse.CompressionMethod{"LZ4": clickhouse.CompressionLZ4, "ZSTD": clickhouse.CompressionZSTD,
			"gzip": clickhouse.CompressionGZIP, "deflate": clickhouse.CompressionDeflate, "br": clickhouse.CompressionBrotli}
	}
	for name, method := range methods {
		check(named("compression "+name), func() error {
			compressed := open(protocol, func(options *clickhouse.Options) {
				options.Compression = &clickhouse.Compression{Method: method, Level: 3}
			})
			defer compressed.Close()
			return roundTrip(compressed, table+"_compressed", "Array(String)", strings.Split(strings.Repeat("abcdefgh ", 100000), " "))
		})
	}
	check(named("progress, profile, query id"), func() error {
		var rows uint64
		var infos int
		id := uuid.NewString()
		with := clickhouse.Context(background, clickhouse.WithQueryID(id),
			clickhouse.WithProgress(func(progress *clickhouse.Progress) { rows += progress.Rows }),
			clickhouse.WithProfileInfo(func(*clickhouse.ProfileInfo) { infos++ }),
			clickhouse.WithLogs(func(*clickhouse.Log) {}), clickhouse.WithProfileEvents(func([]clickhouse.ProfileEvent) {}),
			clickhouse.WithSettings(clickhouse.Settings{"send_logs_level": "trace", "max_block_size": 1000}))
		var sum, count uint64
		err := connection.QueryRow(with, "SELECT sum(number) FROM numbers(100000)").Scan(&sum)
		if err := all(err, same(sum, 4999950000)); err != nil {
			return err
		}
		if protocol == clickhouse.Native {
			if err := all(same(rows, 100000), same(infos, 1)); err != nil {
				return err
			}
		}
		err = connection.QueryRow(clickhouse.Context(background, clickhouse.WithQueryID(id)), "SELECT count() FROM system.processes WHERE query_id = ?", id).Scan(&count)
		return all(err, same(count, 1))
	})
	check(named("settings"), func() error {
		with := clickhouse.Context(background, clickhouse.WithSettings(clickhouse.Settings{"max_block_size": 777, "async_insert": 0, "insert_deduplicate": 1}))
		var value string
		err := connection.QueryRow(with, "SELECT value FROM system.settings WHERE name = 'max_block_size'").Scan(&value)
		return all(err, same(value, "777"))
	})
	check(named("totals"), func() error {
		rows, err := connection.Query(background, "SELECT number % 2 AS k, count() FROM numbers(10) GROUP BY k WITH TOTALS")
		if err != nil {
			return err
		}
		defer rows.Close()
		for rows.Next() {
		}
		if protocol == clickhouse.HTTP {
			return rows.Err()
		}
		var k uint8
		var count uint64
		return all(rows.Err(), rows.Totals(&k, &count), same(count, 10))
	})
	check(named("external tables"), func() error {
		if protocol == clickhouse.HTTP {
			return nil
		}
		external, err := ext.NewTable("ext", ext.Column("a", "UInt8"), ext.Column("b", "String"))
		if err != nil {
			return err
		}
		if err := all(external.Append(uint8(1), "x"), external.Append(uint8(2), "y")); err != nil {
			return err
		}
		var sum uint64
		err = connection.QueryRow(clickhouse.Context(background, clickhouse.WithExternalTable(external)), "SELECT sum(a) FROM ext").Scan(&sum)
		return all(err, same(sum, 3))
	})
	check(named("types of columns"), func() error {
		rows, err := connection.Query(background, "SELECT 1::UInt8 AS a, [(1, 'x')] AS b, NULL AS c LIMIT 0")
		if err != nil {
			return err
		}
		defer rows.Close()
		var names []string
		for _, column := range rows.ColumnTypes() {
			names = append(names, column.DatabaseTypeName())
		}
		if protocol == clickhouse.HTTP {
			// Without rows nothing comes that could have names.
			return nil
		}
		return all(same(rows.Columns(), "[a b c]"), same(names, "[UInt8 Array(Tuple(UInt8, String)) Nullable(Nothing)]"))
	})
	check(named("temporary tables"), func() error {
		single := open(protocol, func(options *clickhouse.Options) {
			options.MaxOpenConns = 1
			if protocol == clickhouse.HTTP {
				options.Settings = clickhouse.Settings{"session_id": uuid.NewString()}
			}
		})
		defer single.Close()
		if err := single.Exec(background, "CREATE TEMPORARY TABLE temporary_numbers AS SELECT number FROM numbers(10)"); err != nil {
			return err
		}
		var sum uint64
		return all(single.QueryRow(background, "SELECT sum(number) FROM temporary_numbers").Scan(&sum), same(sum, 45))
	})
}

// roundTrip writes a value into a table and reads it back.
func roundTrip(connection driver.Conn, table, typeName string, value any) error {
	background := context.Background()
	if err := connection.Exec(background, "CREATE OR REPLACE TABLE "+table+" (a "+typeName+") ENGINE = Memory"); err != nil {
		return err
	}
	batch, err := connection.PrepareBatch(background, "INSERT INTO "+table)
	if err != nil {
		return err
	}
	for range 3 {
		if err := batch.Append(value); err != nil {
			return err
		}
	}
	if err := batch.Send(); err != nil {
		return err
	}
	rows, err := connection.Query(background, "SELECT a FROM "+table)
	if err != nil {
		return err
	}
	defer rows.Close()
	count := 0
	for rows.Next() {
		found := reflect.New(rows.ColumnTypes()[0].ScanType())
		if err := all(rows.Scan(found.Interface()), same(found.Elem().Interface(), value)); err != nil {
			return err
		}
		count++
	}
	return all(rows.Err(), same(count, 3))
}
