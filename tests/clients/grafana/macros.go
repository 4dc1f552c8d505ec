package main

import (
	"fmt"
	"time"

	"github.com/grafana/grafana-plugin-sdk-go/data/sqlutil"
	"github.com/grafana/sqlds/v5"
)

func seconds(t time.Time) string { return fmt.Sprintf("toDateTime(%d)", t.Unix()) }

func milliseconds(t time.Time) string {
	return fmt.Sprintf("fromUnixTimestamp64Milli(%d)", t.UnixMilli())
}

func day(t time.Time) string { return fmt.Sprintf("toDate('%s')", t.Format(time.DateOnly)) }

// macro makes one of so many arguments.
func macro(count int, expand func(*sqlutil.Query, []string) string) sqlutil.MacroFunc {
	return func(query *sqlutil.Query, args []string) (string, error) {
		// Without parentheses there is one argument, which is empty.
		if count > 0 && (len(args) != count || args[0] == "") {
			return "", fmt.Errorf("%w: %d, not %d", sqlutil.ErrorBadArgumentCount, len(args), count)
		}
		return expand(query, args), nil
	}
}

// point is one end of the dashboard's time.
func point(name func(time.Time) string, end func(*sqlutil.Query) time.Time) sqlutil.MacroFunc {
	return macro(0, func(query *sqlutil.Query, _ []string) string { return name(end(query)) })
}

func first(query *sqlutil.Query) time.Time { return query.TimeRange.From }

func last(query *sqlutil.Query) time.Time { return query.TimeRange.To }

// within compares a column with both ends.
func within(column string, query *sqlutil.Query, name func(time.Time) string) string {
	return fmt.Sprintf("%s >= %s AND %s <= %s", column, name(first(query)), column, name(last(query)))
}

func filter(name func(time.Time) string) sqlutil.MacroFunc {
	return macro(1, func(query *sqlutil.Query, args []string) string { return within(args[0], query, name) })
}

var dayAndTime = macro(2, func(query *sqlutil.Query, args []string) string {
	return fmt.Sprintf("(%s) AND (%s)", within(args[0], query, day), within(args[1], query, seconds))
})

// macros are those of the plugin's documentation, in the words of SQL that it makes of them.
var macros = sqlds.Macros{
	"fromTime":       point(seconds, first),
	"toTime":         point(seconds, last),
	"fromTime_ms":    point(milliseconds, first),
	"toTime_ms":      point(milliseconds, last),
	"timeFilter":     filter(seconds),
	"timeFilter_ms":  filter(milliseconds),
	"dateFilter":     filter(day),
	"dateTimeFilter": dayAndTime,
	"dt":             dayAndTime,
	"timeFrom": macro(1, func(query *sqlutil.Query, args []string) string {
		return fmt.Sprintf("%s >= %s", args[0], seconds(first(query)))
	}),
	"timeTo": macro(1, func(query *sqlutil.Query, args []string) string {
		return fmt.Sprintf("%s <= %s", args[0], seconds(last(query)))
	}),
	"timeInterval": macro(1, func(query *sqlutil.Query, args []string) string {
		return fmt.Sprintf("toStartOfInterval(toDateTime(%s), INTERVAL %d second)", args[0], int(query.Interval.Seconds()))
	}),
	"timeInterval_ms": macro(1, func(query *sqlutil.Query, args []string) string {
		return fmt.Sprintf("toStartOfInterval(toDateTime64(%s, 3), INTERVAL %d millisecond)", args[0], query.Interval.Milliseconds())
	}),
	"interval_s": macro(0, func(query *sqlutil.Query, _ []string) string { return fmt.Sprint(int(query.Interval.Seconds())) }),
	"timeGroup": macro(2, func(_ *sqlutil.Query, args []string) string {
		period, _ := time.ParseDuration(args[1])
		return fmt.Sprintf("toStartOfInterval(toDateTime(%s), INTERVAL %d second)", args[0], int(period.Seconds()))
	}),
}
