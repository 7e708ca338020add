package dynamo

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"sekisho/functions/internal/grant"
)

type grants struct{ *Store }

const (
	grantPrefix  = "grant#"
	grantsPrefix = "grants#" // with the ID of the key
)

// Create writes the grant and the list of its key's grants in one transaction. The list's v
// ensures that it is still the one that was read.
func (s grants) Create(ctx context.Context, g grant.Grant) error {
	i, err := itemOfGrant(g, 1)
	if err != nil {
		return err
	}
	put := types.TransactWriteItem{Put: &types.Put{
		TableName:                &s.tables.Accounts,
		Item:                     i,
		ConditionExpression:      aws.String("attribute_not_exists(#pk)"),
		ExpressionAttributeNames: map[string]string{"#pk": pk},
	}}
	return race(ctx, func() (bool, error) {
		list, err := s.listWith(ctx, g)
		if err != nil {
			return true, err
		}
		cancelled, err := s.transact(ctx, put, list)
		switch {
		case err != nil:
			return true, err
		case cancelled == nil:
			return true, nil
		case failed(cancelled[0]):
			return true, s.created(ctx, g.ID, i)
		}
		return false, nil // another grant was added: start over
	})
}

// created says whether the grant that is in the way is the one to create, written by an attempt
// whose answer was lost.
func (s grants) created(ctx context.Context, id string, wanted item) error {
	stored, err := s.get(ctx, s.tables.Accounts, grantPrefix+id)
	if err != nil {
		return fmt.Errorf("read grant %s: %w", id, err)
	}
	if stored.text("state") == wanted.text("state") {
		return nil
	}
	return fmt.Errorf("grant %s: %w", id, grant.ErrExists)
}

// listWith makes the write that replaces the list of a key's grants with those that are live and
// the new one.
func (s grants) listWith(ctx context.Context, g grant.Grant) (types.TransactWriteItem, error) {
	was, err := s.get(ctx, s.tables.Accounts, grantsPrefix+g.KeyID)
	if err != nil {
		return types.TransactWriteItem{}, err
	}
	ids, last := []string{g.ID}, g.ExpiresAt
	err = s.visit(ctx, was.texts("grants"), func(other grant.Grant) {
		if other.Live(g.CreatedAt) && other.ID != g.ID {
			ids = append(ids, other.ID)
			last = later(last, other.ExpiresAt)
		}
	})
	if err != nil {
		return types.TransactWriteItem{}, err
	}
	if len(ids) > grant.MaxPerKey {
		return types.TransactWriteItem{}, fmt.Errorf("key %s: %w", g.KeyID, grant.ErrTooMany)
	}
	v, _ := was.number("v")
	put := &types.Put{
		TableName:                &s.tables.Accounts,
		Item:                     item{pk: text(grantsPrefix + g.KeyID), "grants": texts(ids), "v": number(v + 1), expiresAt: second(last.Add(grant.Retain))},
		ConditionExpression:      aws.String("attribute_not_exists(#v)"),
		ExpressionAttributeNames: map[string]string{"#v": "v"},
	}
	if was != nil {
		put.ConditionExpression = aws.String("#v = :v")
		put.ExpressionAttributeValues = item{":v": number(v)}
	}
	return types.TransactWriteItem{Put: put}, nil
}

func later(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

func (s grants) Grant(ctx context.Context, id string) (grant.Grant, error) {
	i, err := s.get(ctx, s.tables.Accounts, grantPrefix+id)
	if err != nil {
		return grant.Grant{}, fmt.Errorf("read grant %s: %w", id, err)
	}
	if i == nil {
		return grant.Grant{}, fmt.Errorf("grant %s: %w", id, grant.ErrNotFound)
	}
	return grantOf(i)
}

// Put may be sent twice, by the SDK or by a caller after an unclear failure. Then the condition
// fails at its own first writing, which the item shows: tokens are random, so equal states are
// the same change.
func (s grants) Put(ctx context.Context, g grant.Grant) error {
	i, err := itemOfGrant(g, g.Version+1)
	if err != nil {
		return err
	}
	// An update of all but the key, where a put would do: it needs no right to add items.
	_, err = s.client.UpdateItem(ctx, &dynamodb.UpdateItemInput{
		TableName:                           &s.tables.Accounts,
		Key:                                 key(grantPrefix + g.ID),
		UpdateExpression:                    aws.String("SET #state = :state, #v = :next, #end = :end"),
		ConditionExpression:                 aws.String("#v = :v"),
		ExpressionAttributeNames:            map[string]string{"#state": "state", "#v": "v", "#end": expiresAt},
		ExpressionAttributeValues:           item{":state": i["state"], ":next": i["v"], ":end": i[expiresAt], ":v": number(g.Version)},
		ReturnValuesOnConditionCheckFailure: types.ReturnValuesOnConditionCheckFailureAllOld,
	})
	stored, lost := conditionFailed(err)
	if !lost {
		return err
	}
	if stored == nil {
		if stored, err = s.get(ctx, s.tables.Accounts, grantPrefix+g.ID); err != nil {
			return fmt.Errorf("read grant %s: %w", g.ID, err)
		}
	}
	if v, _ := stored.number("v"); v == g.Version+1 && stored.text("state") == i.text("state") {
		return nil
	}
	return fmt.Errorf("grant %s: %w", g.ID, grant.ErrChanged)
}

func (s grants) Grants(ctx context.Context, keyIDs ...string) ([]grant.Grant, error) {
	var lists, ids []string
	order := map[string]int{}
	for n, id := range keyIDs {
		lists, order[id] = append(lists, grantsPrefix+id), n
	}
	err := s.getAll(ctx, s.tables.Accounts, lists, func(i item) error {
		ids = append(ids, i.texts("grants")...)
		return nil
	})
	var all []grant.Grant
	if err == nil {
		err = s.visit(ctx, ids, func(g grant.Grant) { all = append(all, g) })
	}
	if err != nil {
		return nil, fmt.Errorf("list grants: %w", err)
	}
	slices.SortFunc(all, func(a, b grant.Grant) int {
		return cmp.Or(cmp.Compare(order[a.KeyID], order[b.KeyID]), a.CreatedAt.Compare(b.CreatedAt), cmp.Compare(a.ID, b.ID))
	})
	return all, nil
}

// visit reads grants by their IDs, in no particular order; those that TTL has removed are left out.
func (s grants) visit(ctx context.Context, ids []string, visit func(grant.Grant)) error {
	var wanted []string
	for _, id := range ids {
		wanted = append(wanted, grantPrefix+id)
	}
	return s.getAll(ctx, s.tables.Accounts, wanted, func(i item) error {
		g, err := grantOf(i)
		if err == nil {
			visit(g)
		}
		return err
	})
}

func itemOfGrant(g grant.Grant, v int64) (item, error) {
	state, err := g.Encode()
	return item{
		pk: text(grantPrefix + g.ID), "state": text(state), "v": number(v), expiresAt: second(g.Until().Add(grant.Retain)),
	}, err
}

func grantOf(i item) (grant.Grant, error) {
	v, _ := i.number("v")
	return grant.Decode(strings.TrimPrefix(i.text(pk), grantPrefix), i.text("state"), v)
}
