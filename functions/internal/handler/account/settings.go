package account

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"sekisho/functions/internal/account"
	"sekisho/functions/internal/contract"
	"sekisho/functions/internal/gateway"
	"sekisho/functions/internal/handler/rest"
	"sekisho/functions/internal/problem"
	"sekisho/functions/internal/reply"
	"sekisho/functions/internal/spelling"
)

// Settings are the tool settings of a key.
type Settings struct {
	DisabledCategories []string `json:"disabled_categories"`
	DisabledTools      []string `json:"disabled_tools"`
	Tools              []Tool   `json:"tools"`
}

// Tool is one tool, what it costs, and whether the key may use it.
type Tool struct {
	Name            string `json:"name"`
	Category        string `json:"category"`
	Enabled         bool   `json:"enabled"`
	Description     string `json:"description"`
	Units           int64  `json:"units"`
	ListBytes       int    `json:"list_bytes"`
	EstimatedTokens int    `json:"estimated_tokens"`
}

// SettingsUpdate replaces the settings of a key.
type SettingsUpdate struct {
	DisabledCategories []string `json:"disabled_categories,omitempty"`
	DisabledTools      []string `json:"disabled_tools,omitempty"`
}

func (h *Handler) getSettings(ctx context.Context, call rest.Call, _ None) (Settings, error) {
	key, err := h.Store.Key(ctx, call.Caller.KeyID)
	if err != nil {
		return Settings{}, fmt.Errorf("read key %s: %w", call.Caller.KeyID, err)
	}
	return h.describe(call, key.Settings)
}

func (h *Handler) putSettings(ctx context.Context, call rest.Call, in SettingsUpdate) (Settings, error) {
	settings := account.Settings{
		DisabledCategories: in.DisabledCategories, DisabledTools: in.DisabledTools,
	}.Normalize()
	if err := h.check(settings); err != nil {
		return Settings{}, err
	}
	was, err := h.condition(ctx, call)
	if err != nil {
		return Settings{}, err
	}
	switch err := h.Store.PutSettings(ctx, call.Caller.KeyID, settings, was); {
	case errors.Is(err, account.ErrNotFound):
		return Settings{}, problem.New(problem.KeyNotFound, "")
	case errors.Is(err, account.ErrChanged):
		return Settings{}, problem.New(problem.SettingsChanged, "")
	case err != nil:
		return Settings{}, fmt.Errorf("write settings of %s: %w", call.Caller.KeyID, err)
	}
	return h.describe(call, settings)
}

// condition is what If-Match says the settings still are; nil without that header, or with "*".
func (h *Handler) condition(ctx context.Context, call rest.Call) (*account.Settings, error) {
	tags := gateway.Values(call.Event.MultiValueHeaders, call.Event.Headers, "If-Match")
	if len(tags) == 0 || strings.TrimSpace(tags[0]) == "*" {
		return nil, nil
	}
	key, err := h.Store.Key(ctx, call.Caller.KeyID)
	if errors.Is(err, account.ErrNotFound) {
		return nil, problem.New(problem.KeyNotFound, "")
	}
	if err != nil {
		return nil, fmt.Errorf("read key %s: %w", call.Caller.KeyID, err)
	}
	for tag := range strings.SplitSeq(strings.Join(tags, ","), ",") {
		if strings.TrimSpace(tag) == entityTag(key.Settings) {
			return &key.Settings, nil
		}
	}
	return nil, problem.New(problem.SettingsChanged, "")
}

// entityTag is the same for equal settings, so that no version has to be stored.
func entityTag(s account.Settings) string {
	text, _ := json.Marshal(s.Normalize()) // strings always encode
	hash := sha256.Sum256(text)
	return `"` + hex.EncodeToString(hash[:8]) + `"`
}

// check refuses unknown names: a typo would leave a tool on.
func (h *Handler) check(s account.Settings) error {
	categories := h.API.ToolCategories()
	for _, name := range s.DisabledTools {
		if _, ok := categories[name]; !ok {
			return problem.Newf(problem.InvalidArgument, "disabled_tools: there is no tool %s; %s",
				reply.Quote(name), spelling.Known(name, slices.Sorted(maps.Keys(categories))))
		}
	}
	known := slices.Sorted(maps.Values(categories))
	known = slices.Compact(known)
	for _, name := range s.DisabledCategories {
		if !slices.Contains(known, name) {
			return problem.Newf(problem.InvalidArgument, "disabled_categories: there is no category %s; %s",
				reply.Quote(name), spelling.Known(name, known))
		}
	}
	return nil
}

// describe lists every tool as the settings have it, and names the settings in the header ETag.
func (h *Handler) describe(call rest.Call, s account.Settings) (Settings, error) {
	sizes, err := h.API.ListSizes()
	if err != nil {
		return Settings{}, err
	}
	call.SetHeader("ETag", entityTag(s))
	out := Settings{
		DisabledCategories: append([]string{}, s.DisabledCategories...),
		DisabledTools:      append([]string{}, s.DisabledTools...),
		Tools:              []Tool{},
	}
	add := func(name, category, description string, units int64) {
		out.Tools = append(out.Tools, Tool{
			Name: name, Category: category, Enabled: s.Allows(name, category), Description: description, Units: units,
			ListBytes: sizes[name].Bytes, EstimatedTokens: sizes[name].Tokens,
		})
	}
	for _, op := range h.API.Tools() {
		add(op.ID, op.Category, op.Description, op.Units)
	}
	for _, c := range h.API.Composites { // made of exempt operations only
		if c.Listed == contract.ListedForSearch {
			continue // a way to the tools, where there are too many to list
		}
		add(c.Name, c.Category, c.Description, 0)
	}
	slices.SortFunc(out.Tools, func(a, b Tool) int { return strings.Compare(a.Name, b.Name) })
	return out, nil
}
