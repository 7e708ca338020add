// Package tools_test holds the tools against the contract: what the contract allows, a tool
// takes, and no more.
package tools_test

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"sekisho/functions/internal/contract"
	"sekisho/functions/internal/tools/calendar"
	"sekisho/functions/internal/tools/convert"
	"sekisho/functions/internal/tools/postal"
	"sekisho/functions/internal/tools/toolerr"
)

// limits are those of one argument in its JSON Schema.
type limits struct {
	Minimum, Maximum, MaxLength *int
}

func limitsOf(t *testing.T, operation, argument string) limits {
	t.Helper()
	api, err := contract.Default()
	if err != nil {
		t.Fatal(err)
	}
	schemas, err := api.Operation(operation).Schemas()
	if err != nil {
		t.Fatal(err)
	}
	var input struct{ Properties map[string]limits }
	if err := json.Unmarshal(schemas.Input, &input); err != nil {
		t.Fatal(err)
	}
	return input.Properties[argument]
}

func TestToolsTakeWhatTheContractAllows(t *testing.T) {
	letters := func(n int) string { return strings.Repeat("あ", n) }
	for _, c := range []struct {
		operation, argument string
		call                func(n int) error
	}{
		{"calendar.holidays", "year", func(n int) error {
			_, err := calendar.Holidays(calendar.HolidaysRequest{Year: n})
			return err
		}},
		{"calendar.business_days", "days", func(n int) error {
			date := "1970-01-01" // far from the end that is tried
			if n < 0 {
				date = "2050-12-31"
			}
			_, err := calendar.AddBusinessDays(calendar.BusinessDaysRequest{Date: date, Days: n})
			return err
		}},
		{"postal.search", "limit", func(n int) error {
			_, err := postal.Search(postal.SearchRequest{Prefix: "1", Limit: &n})
			return err
		}},
		{"postal.search", "address", func(n int) error {
			_, err := postal.Search(postal.SearchRequest{Address: letters(n)})
			return err
		}},
		{"convert.width", "text", func(n int) error {
			_, err := convert.ConvertWidth(convert.WidthRequest{Text: letters(n), To: "half"})
			return err
		}},
	} {
		l, tried := limitsOf(t, c.operation, c.argument), 0
		for _, limit := range []struct {
			at   *int
			past int
		}{{l.Minimum, -1}, {l.Maximum, 1}, {l.MaxLength, 1}} {
			if limit.at == nil {
				continue
			}
			tried++
			if err := c.call(*limit.at); err != nil {
				t.Errorf("%s: %s at the limit of the contract, %d: %v", c.operation, c.argument, *limit.at, err)
			}
			var refused *toolerr.Error
			if err := c.call(*limit.at + limit.past); !errors.As(err, &refused) || refused.Param != c.argument {
				t.Errorf("%s: %s beyond the limit of the contract, %d: %v", c.operation, c.argument, *limit.at, err)
			}
		}
		if tried == 0 {
			t.Errorf("%s: the contract has no limit for %s", c.operation, c.argument)
		}
	}
}
