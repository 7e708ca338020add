package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"sekisho/functions/internal/grant"
	"sekisho/functions/internal/store/storetest"
)

func TestMain(m *testing.M) { testscript.Main(m, map[string]func(){"sekisho": main}) }

// TestScripts runs the command lines of testdata/script. The directory data is what one run of
// `sekisho up` left behind, and an app that signed in with a key; $GRANT is the ID of its grant.
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
			id, err := signIn(context.Background(), st, "demo", grant.Client{ID: "https://app.example/client.json", Name: "App", Host: "app.example"})
			if err != nil {
				return err
			}
			e.Setenv("GRANT", id)
			return st.close()
		},
		UpdateScripts: os.Getenv("UPDATE_SCRIPTS") != "",
	})
}

// signIn signs an app in with a user's only key, and returns the ID of the grant.
func signIn(ctx context.Context, st *stores, user string, client grant.Client) (string, error) {
	keys, err := st.Accounts().Keys(ctx, user)
	if err != nil || len(keys) != 1 {
		return "", fmt.Errorf("%d keys, want one: %w", len(keys), err)
	}
	g, _, err := storetest.SignIn(ctx, st.Grants(), grant.Request{KeyID: keys[0].ID, Client: client, Lasts: 90 * 24 * time.Hour}, time.Now())
	return g.ID, err
}
