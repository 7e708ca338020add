package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"time"

	"sekisho/functions/internal/account"
	"sekisho/functions/internal/issuer"
)

type keysCmd struct {
	Create keysCreateCmd `cmd:"" help:"Create a key and show it once."`
	List   keysListCmd   `cmd:"" help:"List the keys, without their secrets, or the apps that signed in with them."`
	Revoke keysRevokeCmd `cmd:"" help:"Revoke a key now, or sign out an app."`
	Rotate keysRotateCmd `cmd:"" help:"Replace a key with a new one that keeps its user, meter and settings. Apps sign in anew."`
}

type keysCreateCmd struct {
	storeFlags
	User string `required:"" help:"The key's user, who is created if new." placeholder:"ID"`
	Plan string `help:"Plan for a new user." placeholder:"NAME"`
	Name string `help:"Label for the key." placeholder:"TEXT"`
	// Issuer and Sub are for the external issuer of an OAuth door.
	Issuer string `help:"Make a key without a text, for somebody who signs in at this authorization server; with --sub." placeholder:"URL"`
	Sub    string `help:"Whom that server means: the sub of its tokens." placeholder:"TEXT"`
	JSON   bool   `name:"json" help:"Print JSON."`
}

func (c keysCreateCmd) Run(ctx context.Context, s streams) error {
	if c.Issuer+c.Sub != "" {
		return c.letIn(ctx, s)
	}
	if err := account.CheckName(c.Name); err != nil { // before a user is created for nothing
		return badUsage(err)
	}
	return withKeyring(ctx, c.storeFlags, func(r account.Keyring) error {
		if err := c.ensureUser(ctx, r); err != nil {
			return err
		}
		secret, key, err := r.CreateKey(ctx, c.User, c.Name)
		if err != nil {
			return err
		}
		return showSecret(s.out, c.JSON, secret.Reveal(), key)
	})
}

// letIn makes the key of a subject of an external issuer.
func (c keysCreateCmd) letIn(ctx context.Context, s streams) error {
	if err := issuer.CheckURL(c.Issuer); err != nil {
		return badUsage(fmt.Errorf("--issuer: %w", err))
	}
	if !issuer.CheckSubject(c.Sub) {
		return badUsage(errors.New("--sub: want the sub of the issuer's tokens, up to 255 printable characters"))
	}
	name := cmp.Or(c.Name, issuer.KeyName(c.Issuer, c.Sub))
	if err := account.CheckName(name); err != nil {
		return badUsage(err)
	}
	return withKeyring(ctx, c.storeFlags, func(r account.Keyring) error {
		hash := issuer.KeyHash(c.Issuer, c.Sub)
		if old, err := r.Store.Key(ctx, hash.ID()); err == nil {
			return badUsage(fmt.Errorf("%s of %s has a key already: %s of user %s, %s", printable(c.Sub), printable(c.Issuer), old.ID, old.UserID, rowOf(old, r.Now()).Status))
		}
		if err := c.ensureUser(ctx, r); err != nil {
			return err
		}
		key, err := r.AddKey(ctx, hash, c.User, name)
		if err != nil {
			return err
		}
		if c.JSON {
			return printJSON(s.out, map[string]string{"key_id": key.ID, "user": key.UserID, "plan": key.Plan})
		}
		_, err = fmt.Fprintf(s.out, "Key %s of user %s, plan %s. It has no text: %s calls with it after signing in at %s. That works everywhere within %s.\n",
			key.ID, printable(key.UserID), printable(key.Plan), printable(c.Sub), printable(c.Issuer), account.DefaultKeyCache)
		return err
	})
}

func (c keysCreateCmd) ensureUser(ctx context.Context, r account.Keyring) error {
	user, err := r.Store.User(ctx, c.User)
	switch {
	case err == nil && c.Plan != "" && c.Plan != user.Plan:
		return badUsage(fmt.Errorf("user %s is on plan %s; change it with: sekisho plan set %s %s", c.User, user.Plan, c.User, c.Plan))
	case err == nil:
		return nil
	case !errors.Is(err, account.ErrNotFound):
		return err
	case c.Plan == "":
		return badUsage(fmt.Errorf("user %s is new; choose a plan with --plan, one of: %v", c.User, r.Plans.Names()))
	}
	if _, err := r.CreateUser(ctx, c.User, c.Plan); err != nil {
		return badUsage(err)
	}
	return nil
}

type keysListCmd struct {
	storeFlags
	User   string `help:"List only this user's keys." placeholder:"ID"`
	Grants bool   `help:"List the apps that signed in with the keys, instead of the keys."`
	JSON   bool   `name:"json" help:"Print JSON."`
}

func (c keysListCmd) Run(ctx context.Context, s streams) error {
	if c.Grants {
		return c.listGrants(ctx, s)
	}
	return withKeyring(ctx, c.storeFlags, func(r account.Keyring) error {
		keys, err := r.Store.Keys(ctx, c.User)
		if err != nil {
			return err
		}
		rows := make([]keyRow, 0, len(keys))
		for _, k := range keys {
			rows = append(rows, rowOf(k, r.Now()))
		}
		if c.JSON {
			return printJSON(s.out, rows)
		}
		lines := make([][]string, 0, len(rows))
		for _, k := range rows {
			lines = append(lines, []string{k.ID, k.User, k.Plan, k.Status, k.Created, k.Ends, k.Name})
		}
		return writeTable(s.out, []string{"KEY ID", "USER", "PLAN", "STATUS", "CREATED", "ENDS", "NAME"}, lines)
	})
}

type keysRevokeCmd struct {
	storeFlags
	ID    string `arg:"" optional:"" name:"key-id" help:"ID of the key, as keys list shows it."`
	Grant string `help:"Sign out one app only: the ID of its grant, as keys list --grants shows it." placeholder:"ID"`
}

func (c keysRevokeCmd) Run(ctx context.Context, s streams) error {
	switch {
	case (c.ID == "") == (c.Grant == ""):
		return badUsage(errors.New("give the ID of a key, or --grant with that of a grant"))
	case c.Grant != "":
		return c.endGrant(ctx, s)
	}
	return withKeyring(ctx, c.storeFlags, func(r account.Keyring) error {
		if err := r.RevokeKey(ctx, c.ID); err != nil {
			return err
		}
		fmt.Fprintf(s.out, "%s is revoked. Instances that have it cached stop accepting it within %s.\n", c.ID, account.DefaultKeyCache)
		return nil
	})
}

type keysRotateCmd struct {
	storeFlags
	ID    string        `arg:"" name:"key-id" help:"ID of the key, as keys list shows it."`
	Grace time.Duration `help:"How long the old key keeps working, such as 24h." default:"0s"`
	JSON  bool          `name:"json" help:"Print JSON."`
}

func (c keysRotateCmd) Run(ctx context.Context, s streams) error {
	return withKeyring(ctx, c.storeFlags, func(r account.Keyring) error {
		secret, key, err := r.RotateKey(ctx, c.ID, c.Grace)
		if err != nil {
			return err
		}
		return showSecret(s.out, c.JSON, secret.Reveal(), key)
	})
}

type planCmd struct {
	Set planSetCmd `cmd:"" help:"Move a user to another plan, starting with the current month."`
}

type planSetCmd struct {
	storeFlags
	User string `arg:"" help:"ID of the user."`
	Plan string `arg:"" help:"Name of a configured plan."`
}

func (c planSetCmd) Run(ctx context.Context, s streams) error {
	return withKeyring(ctx, c.storeFlags, func(r account.Keyring) error {
		if _, err := r.Plans.Limits(c.Plan); err != nil {
			return badUsage(err)
		}
		if err := r.SetPlan(ctx, c.User, c.Plan); err != nil {
			return err
		}
		fmt.Fprintf(s.out, "%s is now on plan %s. It applies everywhere within %s.\n", c.User, c.Plan, account.DefaultKeyCache)
		return nil
	})
}

func withKeyring(ctx context.Context, f storeFlags, do func(account.Keyring) error) error {
	return withStores(ctx, f, func(st *stores) error {
		return do(account.Keyring{Store: st.Accounts(), Plans: st.plans, Now: time.Now})
	})
}

func withStores(ctx context.Context, f storeFlags, do func(*stores) error) error {
	st, err := f.open(ctx)
	if err != nil {
		return err
	}
	return errors.Join(do(st), st.close())
}

// keyRow is a key in a listing.
type keyRow struct {
	ID      string `json:"key_id"`
	User    string `json:"user"`
	Plan    string `json:"plan"`
	Status  string `json:"status"`
	Created string `json:"created_at"`
	Ends    string `json:"ends_at"`
	Name    string `json:"name"`
	Meter   string `json:"meter"`
}

func rowOf(k account.Key, now time.Time) keyRow {
	row := keyRow{
		ID: k.ID, User: k.UserID, Plan: k.Plan, Name: k.Name, Meter: k.Meter, Status: "active",
		Created: k.CreatedAt.UTC().Format(time.RFC3339),
	}
	if !k.RevokedAt.IsZero() {
		row.Ends = k.RevokedAt.UTC().Format(time.RFC3339)
		row.Status = "ending"
	}
	if !k.Active(now) {
		row.Status = "revoked"
	}
	return row
}

func showSecret(w io.Writer, asJSON bool, secret string, k account.Key) error {
	if asJSON {
		return printJSON(w, map[string]string{"key": secret, "key_id": k.ID, "user": k.UserID, "plan": k.Plan})
	}
	_, err := fmt.Fprintf(w, "%s\n\nKey %s of user %s, plan %s. Save it now: it can't be shown again, because only its hash is stored.\n", secret, k.ID, printable(k.UserID), printable(k.Plan))
	return err
}

func printJSON(w io.Writer, v any) error {
	encoder := json.NewEncoder(w)
	encoder.SetEscapeHTML(false)
	return encoder.Encode(v)
}
