package main

import (
	"encoding/json"
	"fmt"
	"math/big"
	"net"
	"reflect"
	"regexp"
	"time"

	"github.com/grafana/grafana-plugin-sdk-go/data"
	"github.com/grafana/grafana-plugin-sdk-go/data/sqlutil"
	"github.com/shopspring/decimal"
)

// scanned makes a field of the columns whose type matches: what clickhouse-go scans into a *T becomes what convert says.
func scanned[T any](pattern string, field data.FieldType, convert func(T) (any, error)) sqlutil.Converter {
	return sqlutil.Converter{
		Name:           pattern,
		InputScanType:  reflect.TypeFor[*T](),
		InputTypeRegex: regexp.MustCompile(pattern),
		FrameConverter: sqlutil.FrameConverter{
			FieldType:     field,
			ConverterFunc: func(in any) (any, error) { return convert(*in.(*T)) },
		},
	}
}

// nullable makes a field of the type and one of Nullable of it.
func nullable[T, F any](pattern string, field data.FieldType, convert func(T) F) []sqlutil.Converter {
	return []sqlutil.Converter{
		scanned(`^`+pattern, field, func(value T) (any, error) { return convert(value), nil }),
		scanned(`^Nullable\(`+pattern, field.NullableType(), func(value *T) (any, error) {
			if value == nil {
				return (*F)(nil), nil
			}
			converted := convert(*value)
			return &converted, nil
		}),
	}
}

func itself[T any](value T) T { return value }

// converters say for columns that are no plain values for Go what a panel shows: a number, a text or JSON.
var converters = func() []sqlutil.Converter {
	list := []sqlutil.Converter{
		scanned(`^(Array|Map|Tuple|Nested|Variant|Dynamic|JSON|Point)`, data.FieldTypeJSON, func(value any) (any, error) {
			text, err := json.Marshal(value)
			return json.RawMessage(text), err
		}),
		scanned(`^LowCardinality\(Nullable`, data.FieldTypeNullableString, func(value *string) (any, error) { return value, nil }),
	}
	list = append(list, nullable(`Bool`, data.FieldTypeBool, itself[bool])...)
	list = append(list, nullable(`UInt8`, data.FieldTypeUint8, itself[uint8])...)
	list = append(list, nullable(`UInt16`, data.FieldTypeUint16, itself[uint16])...)
	list = append(list, nullable(`UInt32`, data.FieldTypeUint32, itself[uint32])...)
	list = append(list, nullable(`UInt64`, data.FieldTypeUint64, itself[uint64])...)
	list = append(list, nullable(`Int8`, data.FieldTypeInt8, itself[int8])...)
	list = append(list, nullable(`Int16`, data.FieldTypeInt16, itself[int16])...)
	list = append(list, nullable(`Int32`, data.FieldTypeInt32, itself[int32])...)
	list = append(list, nullable(`Int64`, data.FieldTypeInt64, itself[int64])...)
	list = append(list, nullable(`Float32`, data.FieldTypeFloat32, itself[float32])...)
	list = append(list, nullable(`Float64`, data.FieldTypeFloat64, itself[float64])...)
	list = append(list, nullable(`String`, data.FieldTypeString, itself[string])...)
	list = append(list, nullable(`Date`, data.FieldTypeTime, itself[time.Time])...)
	list = append(list, nullable(`Enum`, data.FieldTypeString, itself[string])...)
	list = append(list, nullable(`Decimal`, data.FieldTypeFloat64, decimal.Decimal.InexactFloat64)...)
	list = append(list, nullable(`IPv`, data.FieldTypeString, func(address net.IP) string { return fmt.Sprint(address) })...)
	return append(list, nullable(`U?Int(128|256)`, data.FieldTypeFloat64, func(number *big.Int) float64 {
		rounded, _ := new(big.Float).SetInt(number).Float64()
		return rounded
	})...)
}()
