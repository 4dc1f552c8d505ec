package main

import (
	"fmt"
	"strings"

	"github.com/grafana/grafana-plugin-sdk-go/backend"
)

// says is an error where a failure does not say this.
func says(err error, what string) error {
	if err == nil || !strings.Contains(err.Error(), what) {
		return fmt.Errorf("not %q: %v", what, err)
	}
	return nil
}

// checkSettings is "Save & test", right and wrong, and settings that the data source sends with each query.
func checkSettings(prefix, protocol, port string) {
	check(prefix+"health", func() error {
		grafana, err := connect(protocol, port, "")
		if err != nil {
			return err
		}
		health, err := grafana.health()
		return all(err, same(health.Status, backend.HealthStatusOk), same(health.Message, "Data source is working"))
	})
	for _, wrong := range []struct{ name, more, says string }{
		{"an unknown user", `, "username": "nobody"`, "Authentication failed"},
		{"a user without the password", `, "username": "reader"`, "Authentication failed"},
		{"an unknown database", `, "defaultDatabase": "nowhere"`, "nowhere"},
		{"a port where nobody listens", `, "port": 1`, "connection refused"},
	} {
		check(prefix+wrong.name, func() error {
			_, err := connect(protocol, port, wrong.more)
			return says(err, wrong.says)
		})
	}
	check(prefix+"settings of the server", func() error {
		grafana, err := connect(protocol, port, `, "defaultDatabase": "grafana", "customSettings": [{"setting": "limit", "value": "3"},
			{"setting": "max_threads", "value": "2"}]`)
		if err != nil {
			return err
		}
		frames, err := grafana.ask(table, "SELECT number, getSetting('max_threads'), currentDatabase() FROM numbers(10)")
		return all(err, same(rows(frames), "0 2 grafana | 1 2 grafana | 2 2 grafana"))
	})
	check(prefix+"who asks is told in the log", func() error {
		grafana, err := connect(protocol, port, "")
		if err != nil {
			return err
		}
		_, err = grafana.ask(table, "SELECT 'who asks "+protocol+"'")
		if err := all(err, execute(protocol, port, "SYSTEM FLUSH LOGS")); err != nil {
			return err
		}
		frames, err := grafana.ask(table, `SELECT position(concat(client_name, http_user_agent), 'clickhouse-datasource/4.20.0') > 0 FROM system.query_log
			WHERE query LIKE 'SELECT \'who asks `+protocol+`%' AND type = 'QueryFinish' LIMIT 1`)
		return all(err, same(rows(frames), "1"))
	})
}

// checkErrors is what goes wrong in a query, and that the next one goes well; and many panels at once.
func (s *source) checkErrors(prefix string) {
	for _, wrong := range []struct{ name, sql, says string }{
		{"an error of syntax", "SELECT FROM WHERE", "62"},
		{"an unknown table", "SELECT * FROM grafana.nothing", "60"},
		{"an unknown column", "SELECT nothing FROM grafana.points", "47"},
		{"an error in the middle of the rows", "SELECT number, throwIf(number = 3000000) FROM numbers(5000000) SETTINGS max_block_size = 65536", "395"},
		{"a query that takes too long", "SELECT sum(sipHash64(number)) FROM numbers(1000000000000) SETTINGS max_execution_time = 1", "159"},
		{"a macro without its column", "SELECT count() FROM grafana.points WHERE $__timeFilter()", "unexpected number of arguments"},
	} {
		check(prefix+wrong.name, func() error {
			_, err := s.ask(table, wrong.sql)
			if err := says(err, wrong.says); err != nil {
				return err
			}
			frames, err := s.ask(table, "SELECT 1")
			return all(err, same(rows(frames), "1"))
		})
	}
	check(prefix+"a series without points", func() error {
		frames, err := s.ask(series, "SELECT t AS time, value FROM grafana.points WHERE value < 0")
		return all(err, same(rows(frames), ""))
	})
	check(prefix+"many panels at once", func() error {
		var statements []string
		for number := range 40 {
			statements = append(statements, fmt.Sprintf("SELECT %d AS panel, count() FROM grafana.points WHERE $__timeFilter(t)", number))
		}
		responses, err := s.panel(table, statements...)
		if err != nil {
			return err
		}
		for number, response := range responses {
			if err := all(response.Error, same(rows(response.Frames), fmt.Sprintf("%d 3601", number))); err != nil {
				return err
			}
		}
		return nil
	})
	check(prefix+"many rows", func() error {
		frames, err := s.ask(table, "SELECT number, toString(number) AS text, number / 2 FROM numbers(1000000)")
		if err != nil {
			return err
		}
		last := frames[0].Rows() - 1
		return all(same(frames[0].Rows(), 1000000), same(frames[0].Fields[1].At(last), "999999"))
	})
}
