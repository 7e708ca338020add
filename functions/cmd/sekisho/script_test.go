package main

import (
	"context"
	"os"
	"path/filepath"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
)

func TestMain(m *testing.M) { testscript.Main(m, map[string]func(){"sekisho": main}) }

// TestScripts runs the command lines of testdata/script. The directory data is what one run of
// `sekisho up` left behind.
func TestScripts(t *testing.T) {
	testscript.Run(t, testscript.Params{
		Dir: filepath.Join("testdata", "script"),
		Setup: func(e *testscript.Env) error {
			flags := storeFlags{Data: filepath.Join(e.WorkDir, "data"), Plans: `{"demo":3}`}
			st, err := flags.openOrCreate(context.Background())
			if err != nil {
				return err
			}
			if _, err := firstKeys(context.Background(), st); err != nil {
				return err
			}
			return st.close()
		},
		UpdateScripts: os.Getenv("UPDATE_SCRIPTS") != "",
	})
}
