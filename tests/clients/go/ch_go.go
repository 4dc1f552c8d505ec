package main

import (
	"context"
	"fmt"
	"io"
	"time"

	"github.com/ClickHouse/ch-go"
	"github.com/ClickHouse/ch-go/chpool"
	"github.com/ClickHouse/ch-go/proto"
)

func dial(compression ch.Compression) (*ch.Client, error) {
	return ch.Dial(context.Background(), ch.Options{Address: "127.0.0.1:" + nativePort, Compression: compression})
}

func checkChGo() {
	background := context.Background()
	client, err := dial(ch.CompressionDisabled)
	if err != nil {
		check("ch-go: connect", func() error { return err })
		return
	}
	defer client.Close()
	named := func(name string) string { return "ch-go: " + name }
	check(named("ping"), func() error { return client.Ping(background) })
	check(named("the server's name"), func() error { return same(client.ServerInfo().Major, 26) })
	check(named("a stream of blocks"), func() error {
		var numbers proto.ColUInt64
		var sum uint64
		err := client.Do(background, ch.Query{
			Body:   "SELECT number FROM system.numbers LIMIT 1000000",
			Result: proto.Results{{Name: "number", Data: &numbers}},
			OnResult: func(context.Context, proto.Block) error {
				for _, number := range numbers {
					sum += number
				}
				return nil
			},
		})
		return all(err, same(sum, 499999500000))
	})
	check(named("a stream of inserted blocks"), func() error {
		create := "CREATE OR REPLACE TABLE ch_go (a UInt64, b LowCardinality(String), c Nullable(String), d Array(UInt8), e DateTime64(3), f Map(String, UInt8)) ENGINE = Memory"
		if err := client.Do(background, ch.Query{Body: create}); err != nil {
			return err
		}
		var a proto.ColUInt64
		b, c, d := new(proto.ColStr).LowCardinality(), new(proto.ColStr).Nullable(), new(proto.ColUInt8).Array()
		e := new(proto.ColDateTime64).WithPrecision(proto.PrecisionMilli)
		f := proto.NewMap[string, uint8](new(proto.ColStr), new(proto.ColUInt8))
		for range 2 {
			blocks := 0
			input := proto.Input{{Name: "a", Data: &a}, {Name: "b", Data: b}, {Name: "c", Data: c}, {Name: "d", Data: d}, {Name: "e", Data: e}, {Name: "f", Data: f}}
			err := client.Do(background, ch.Query{Body: input.Into("ch_go"), Input: input, OnInput: func(context.Context) error {
				input.Reset()
				if blocks == 10 {
					return io.EOF
				}
				blocks++
				for row := range 1000 {
					a.Append(uint64(row))
					b.Append(fmt.Sprint(row % 3))
					c.Append(proto.NewNullable("x"))
					d.Append([]uint8{1, 2})
					e.Append(time.UnixMilli(1704164645123))
					f.Append(map[string]uint8{"k": 1})
				}
				return nil
			}})
			if err != nil {
				return err
			}
		}
		var count proto.ColUInt64
		err := client.Do(background, ch.Query{
			Body:   "SELECT count() AS n FROM ch_go WHERE c = 'x' AND d = [1, 2] AND f['k'] = 1 AND toUnixTimestamp64Milli(e) = 1704164645123",
			Result: proto.Results{{Name: "n", Data: &count}},
		})
		return all(err, same(count, "[20000]"))
	})
	check(named("parameters"), func() error {
		var n proto.ColUInt8
		err := client.Do(background, ch.Query{
			Body: "SELECT {n:UInt8} AS n", Parameters: ch.Parameters(map[string]any{"n": 42}), Result: proto.Results{{Name: "n", Data: &n}},
		})
		return all(err, same(n, "[42]"))
	})
	check(named("progress, logs, profile"), func() error {
		var rows, logs, profiles int
		var sum proto.ColUInt64
		err := client.Do(background, ch.Query{
			Body: "SELECT sum(number) AS s FROM numbers(100000)", Result: proto.Results{{Name: "s", Data: &sum}}, QueryID: "ch-go-query",
			Settings:   []ch.Setting{{Key: "send_logs_level", Value: "trace"}},
			OnProgress: func(_ context.Context, progress proto.Progress) error { rows += int(progress.Rows); return nil },
			OnLogs:     func(context.Context, []ch.Log) error { logs++; return nil },
			OnProfile:  func(context.Context, proto.Profile) error { profiles++; return nil },
		})
		return all(err, same(rows, 100000), same(logs > 0, true), same(profiles, 1))
	})
	check(named("an error, also in mid-stream"), func() error {
		if err := client.Do(background, ch.Query{Body: "SELECT nope"}); !ch.IsErr(err, proto.ErrUnknownIdentifier) {
			return fmt.Errorf("not an unknown identifier: %v", err)
		}
		var thrown proto.ColUInt8
		err := client.Do(background, ch.Query{Body: "SELECT throwIf(number = 3000000) AS t FROM numbers(4000000)",
			Result: proto.Results{{Name: "t", Data: &thrown}}, OnResult: func(context.Context, proto.Block) error { return nil }})
		if exception, ok := ch.AsException(err); !ok || exception.Code != 395 {
			return fmt.Errorf("not the exception 395: %v", err)
		}
		return client.Ping(background)
	})
	for name, compression := range map[string]ch.Compression{"LZ4": ch.CompressionLZ4, "LZ4HC": ch.CompressionLZ4HC, "ZSTD": ch.CompressionZSTD, "frames without": ch.CompressionNone} {
		check(named("compression "+name), func() error {
			compressed, err := dial(compression)
			if err != nil {
				return err
			}
			defer compressed.Close()
			var texts proto.ColStr
			if err := compressed.Do(background, ch.Query{Body: "CREATE OR REPLACE TABLE ch_go_compressed (s String) ENGINE = Memory"}); err != nil {
				return err
			}
			for row := range 10000 {
				texts.Append(fmt.Sprint(row))
			}
			input := proto.Input{{Name: "s", Data: texts}}
			if err := compressed.Do(background, ch.Query{Body: input.Into("ch_go_compressed"), Input: input}); err != nil {
				return err
			}
			var sum proto.ColUInt64
			err = compressed.Do(background, ch.Query{Body: "SELECT sum(toUInt64(s)) AS n FROM ch_go_compressed", Result: proto.Results{{Name: "n", Data: &sum}}})
			return all(err, same(sum, "[49995000]"))
		})
	}
	check(named("cancel"), func() error {
		own, err := dial(ch.CompressionDisabled)
		if err != nil {
			return err
		}
		defer own.Close()
		timed, cancel := cancelled()
		defer cancel()
		if err := own.Do(timed, ch.Query{Body: "SELECT sum(sipHash64(number)) AS s FROM numbers(1000000000000)", Result: new(proto.Results).Auto()}); err == nil {
			return fmt.Errorf("it ended")
		}
		return nil
	})
	check(named("a pool"), func() error {
		pool, err := chpool.New(background, chpool.Options{ClientOptions: ch.Options{Address: "127.0.0.1:" + nativePort}, MaxConns: 20})
		if err != nil {
			return err
		}
		defer pool.Close()
		return together(100, func(number int) error {
			var found proto.ColUInt32
			err := pool.Do(background, ch.Query{Body: fmt.Sprintf("SELECT toUInt32(%d) AS n", number), Result: proto.Results{{Name: "n", Data: &found}}})
			return all(err, same(found, fmt.Sprintf("[%d]", number)))
		})
	})
}
