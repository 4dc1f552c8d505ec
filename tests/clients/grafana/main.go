// What Grafana's data source plugin for ClickHouse does against one server, over the native protocol and HTTP. It runs on Grafana's own
// sqlds, the layer of its SQL data sources: connections, health, macros, data frames. The plugin itself is not on the module proxy, so
// datasource.go, macros.go and converters.go stand for its driver, and the statements have the form of its query builder's (4.20).
// Each check prints a line: "ok NAME", or "FAILED NAME: why". Arguments: the native port, the HTTP port.
package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"reflect"
	"strings"
	"time"

	"github.com/grafana/grafana-plugin-sdk-go/backend"
	"github.com/grafana/grafana-plugin-sdk-go/data"
	"github.com/grafana/grafana-plugin-sdk-go/data/sqlutil"
)

// Formats of results, as a panel chooses them.
const (
	series = sqlutil.FormatOptionTimeSeries
	table  = sqlutil.FormatOptionTable
	logs   = sqlutil.FormatOptionLogs
	traces = sqlutil.FormatOptionTrace
)

// What the dashboard shows, and how far apart its points are.
var (
	from     = time.Date(2024, 3, 15, 10, 0, 0, 0, time.UTC)
	to       = from.Add(time.Hour)
	interval = 20 * time.Minute
)

// source is a configured data source.
type source struct {
	settings backend.DataSourceInstanceSettings
	instance any
}

// connect configures a data source as Grafana's page does, by its JSON.
func connect(protocol, port, more string) (*source, error) {
	text := fmt.Sprintf(`{"host": "127.0.0.1", "port": %s, "protocol": %q, "username": "default"%s}`, port, protocol, more)
	settings := backend.DataSourceInstanceSettings{UID: protocol, Name: protocol, JSONData: []byte(text)}
	instance, err := newDatasource(context.Background(), settings)
	return &source{settings, instance}, err
}

// health is what the button "Save & test" says.
func (s *source) health() (*backend.CheckHealthResult, error) {
	request := &backend.CheckHealthRequest{PluginContext: backend.PluginContext{DataSourceInstanceSettings: &s.settings}}
	return s.instance.(backend.CheckHealthHandler).CheckHealth(context.Background(), request)
}

// panel asks several queries in one request, as a panel does, and gives each one's frames or error.
func (s *source) panel(format sqlutil.FormatQueryOption, statements ...string) ([]backend.DataResponse, error) {
	request := &backend.QueryDataRequest{PluginContext: backend.PluginContext{DataSourceInstanceSettings: &s.settings}}
	for number, statement := range statements {
		text, err := json.Marshal(map[string]any{"rawSql": statement, "format": uint32(format)})
		if err != nil {
			return nil, err
		}
		request.Queries = append(request.Queries, backend.DataQuery{
			RefID: fmt.Sprint(number), JSON: text, Interval: interval, TimeRange: backend.TimeRange{From: from, To: to},
		})
	}
	answer, err := s.instance.(backend.QueryDataHandler).QueryData(context.Background(), request)
	if err != nil {
		return nil, err
	}
	responses := make([]backend.DataResponse, len(statements))
	for number := range statements {
		responses[number] = answer.Responses[fmt.Sprint(number)]
	}
	return responses, nil
}

// ask gives the frames of one query.
func (s *source) ask(format sqlutil.FormatQueryOption, statement string) (data.Frames, error) {
	responses, err := s.panel(format, statement)
	if err != nil {
		return nil, err
	}
	return responses[0].Frames, responses[0].Error
}

// rows are the values of frames as text: "a b c" for each row, joined by " | ".
func rows(frames data.Frames) string {
	var lines []string
	for _, frame := range frames {
		for row := range frame.Rows() {
			var values []string
			for _, field := range frame.Fields {
				values = append(values, text(field.At(row)))
			}
			lines = append(lines, strings.Join(values, " "))
		}
	}
	return strings.Join(lines, " | ")
}

func text(value any) string {
	if pointer := reflect.ValueOf(value); pointer.Kind() == reflect.Pointer {
		if pointer.IsNil() {
			return "null"
		}
		value = pointer.Elem().Interface()
	}
	switch value := value.(type) {
	case time.Time:
		return value.UTC().Format("15:04:05.999999999")
	case json.RawMessage:
		return string(value)
	}
	return fmt.Sprint(value)
}

// fields are the names of the fields with their types and labels: "n:uint64{host=a}".
func fields(frames data.Frames) string {
	var names []string
	for _, frame := range frames {
		for _, field := range frame.Fields {
			name := field.Name + ":" + field.Type().ItemTypeString()
			if len(field.Labels) > 0 {
				name += "{" + field.Labels.String() + "}"
			}
			names = append(names, name)
		}
	}
	return strings.Join(names, " ")
}

var failed bool

// check runs one thing that a user does, and says how it went.
func check(name string, run func() error) {
	if err := run(); err != nil {
		failed = true
		fmt.Printf("FAILED %s: %s\n", name, strings.ReplaceAll(err.Error(), "\n", " "))
		return
	}
	fmt.Println("ok", name)
}

// same is an error where two values differ as text.
func same(got, want any) error {
	if fmt.Sprint(got) != fmt.Sprint(want) {
		return fmt.Errorf("got %v, not %v", got, want)
	}
	return nil
}

// all is the first of the errors.
func all(errors ...error) error {
	for _, err := range errors {
		if err != nil {
			return err
		}
	}
	return nil
}

// question is a query and what must come: the rows, and the fields where they matter.
type question struct {
	name   string
	format sqlutil.FormatQueryOption
	sql    string
	rows   string
	fields string
}

func (s *source) check(prefix string, questions []question) {
	for _, asked := range questions {
		check(prefix+asked.name, func() error {
			frames, err := s.ask(asked.format, asked.sql)
			if err != nil {
				return err
			}
			if asked.fields != "" {
				err = same(fields(frames), asked.fields)
			}
			return all(err, same(rows(frames), asked.rows))
		})
	}
}

func main() {
	for _, protocol := range []struct{ name, port string }{{"native", os.Args[1]}, {"http", os.Args[2]}} {
		prefix := "grafana " + protocol.name + ": "
		grafana, err := connect(protocol.name, protocol.port, "")
		if err != nil {
			panic(err)
		}
		check(prefix+"tables", func() error { return execute(protocol.name, protocol.port, tables...) })
		checkSettings(prefix, protocol.name, protocol.port)
		grafana.check(prefix, dashboards)
		grafana.check(prefix, types)
		grafana.check(prefix, explore)
		grafana.check(prefix, schema)
		grafana.check(prefix, administration)
		grafana.checkErrors(prefix)
		check(prefix+"no tables are left", func() error { return execute(protocol.name, protocol.port, "DROP DATABASE grafana") })
	}
	if failed {
		os.Exit(1)
	}
}
