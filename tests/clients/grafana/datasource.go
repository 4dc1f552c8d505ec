package main

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"time"

	"github.com/ClickHouse/clickhouse-go/v2"
	"github.com/grafana/grafana-plugin-sdk-go/backend"
	"github.com/grafana/grafana-plugin-sdk-go/backend/instancemgmt"
	"github.com/grafana/grafana-plugin-sdk-go/data"
	"github.com/grafana/grafana-plugin-sdk-go/data/sqlutil"
	"github.com/grafana/sqlds/v5"
)

// newDatasource is what the plugin gives to Grafana.
func newDatasource(ctx context.Context, settings backend.DataSourceInstanceSettings) (instancemgmt.Instance, error) {
	return sqlds.NewDatasource(driver{}).NewDatasource(ctx, settings)
}

// driver connects as the plugin's does: LZ4 over the native protocol, gzip over HTTP, settings of the server by name.
type driver struct{}

func (driver) Connect(ctx context.Context, instance backend.DataSourceInstanceSettings, _ json.RawMessage) (*sql.DB, error) {
	var settings struct {
		Host, Protocol, Username, DefaultDatabase string
		Port                                      int
		CustomSettings                            []struct{ Setting, Value string }
	}
	if err := json.Unmarshal(instance.JSONData, &settings); err != nil {
		return nil, err
	}
	options := &clickhouse.Options{
		Addr:        []string{fmt.Sprintf("%s:%d", settings.Host, settings.Port)},
		Auth:        clickhouse.Auth{Database: settings.DefaultDatabase, Username: settings.Username, Password: instance.DecryptedSecureJSONData["password"]},
		ClientInfo:  clickhouse.ClientInfo{Products: []struct{ Name, Version string }{{"grafana", "13.2.3"}, {"clickhouse-datasource", "4.20.0"}}},
		Compression: &clickhouse.Compression{Method: clickhouse.CompressionLZ4},
		DialTimeout: 10 * time.Second,
		ReadTimeout: time.Minute,
		Settings:    clickhouse.Settings{},
	}
	if settings.Protocol == "http" {
		options.Protocol = clickhouse.HTTP
		options.Compression.Method = clickhouse.CompressionGZIP
	}
	for _, setting := range settings.CustomSettings {
		options.Settings[setting.Setting] = setting.Value
	}
	database := clickhouse.OpenDB(options)
	if err := database.PingContext(ctx); err != nil {
		return nil, err
	}
	return database, nil
}

func (driver) Settings(context.Context, backend.DataSourceInstanceSettings) sqlds.DriverSettings {
	return sqlds.DriverSettings{Timeout: time.Minute, FillMode: &data.FillMissing{Mode: data.FillModeNull}}
}

func (driver) Macros() sqlds.Macros { return macros }

func (driver) Converters() []sqlutil.Converter { return converters }
