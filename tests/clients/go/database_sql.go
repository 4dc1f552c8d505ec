package main

import (
	"database/sql"
	"fmt"

	_ "github.com/ClickHouse/clickhouse-go/v2"
)

// checkDatabaseSQL is clickhouse-go under Go's own interface to databases, by a URL as in configurations.
func checkDatabaseSQL() {
	for _, url := range []string{
		"clickhouse://default:@127.0.0.1:" + nativePort + "/default?dial_timeout=10s&compress=true",
		"http://default:@127.0.0.1:" + httpPort + "/default?dial_timeout=10s",
	} {
		scheme := url[:4]
		named := func(name string) string { return "database/sql " + scheme + ": " + name }
		database, err := sql.Open("clickhouse", url)
		if err != nil {
			panic(err)
		}
		database.SetMaxOpenConns(10)
		table := "go_sql_" + scheme
		check(named("ping"), database.Ping)
		check(named("a batch is a transaction"), func() error {
			if _, err := database.Exec("CREATE OR REPLACE TABLE " + table + " (a UInt32, b String) ENGINE = Memory"); err != nil {
				return err
			}
			transaction, err := database.Begin()
			if err != nil {
				return err
			}
			statement, err := transaction.Prepare("INSERT INTO " + table)
			if err != nil {
				return err
			}
			for row := range 100 {
				if _, err := statement.Exec(uint32(row), fmt.Sprint(row)); err != nil {
					return err
				}
			}
			if err := transaction.Commit(); err != nil {
				return err
			}
			var count int
			return all(database.QueryRow("SELECT count() FROM "+table).Scan(&count), same(count, 100))
		})
		check(named("rows and bound values"), func() error {
			rows, err := database.Query("SELECT a, b FROM "+table+" WHERE a < ? ORDER BY a", 3)
			if err != nil {
				return err
			}
			defer rows.Close()
			count := 0
			for rows.Next() {
				var a uint32
				var b string
				if err := all(rows.Scan(&a, &b), same(b, a)); err != nil {
					return err
				}
				count++
			}
			return all(rows.Err(), same(count, 3))
		})
		check(named("an error"), func() error {
			_, err := database.Exec("SELECT nope")
			return all(code(err, 47), database.Ping())
		})
		check(named("cancel"), func() error {
			timed, cancel := cancelled()
			defer cancel()
			var sum uint64
			if err := database.QueryRowContext(timed, "SELECT sum(sipHash64(number)) FROM numbers(1000000000000)").Scan(&sum); err == nil {
				return fmt.Errorf("it ended")
			}
			return database.Ping()
		})
		check(named("a pool"), func() error {
			return together(100, func(number int) error {
				var found int
				return all(database.QueryRow("SELECT toInt32(?)", number).Scan(&found), same(found, number))
			})
		})
		database.Close()
	}
}
