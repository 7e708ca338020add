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

	"sekisho/functions/internal/account"
	"sekisho/functions/internal/apikey"
)

func (s accounts) CreateKey(ctx context.Context, k account.Key) error {
	return race(ctx, func() (bool, error) {
		cancelled, err := s.addKey(ctx, k)
		switch {
		case err != nil:
			return true, err
		case cancelled == nil:
			return true, nil
		case failed(cancelled[0]):
			return true, fmt.Errorf("key %s: %w", k.ID, account.ErrExists)
		}
		return false, nil // the plan changed or the last free place was taken: start over
	})
}

// ReplaceKey ends the old key in the transaction that adds the new one.
func (s accounts) ReplaceKey(ctx context.Context, oldID string, endsAt time.Time, k account.Key) error {
	end := types.TransactWriteItem{Update: &types.Update{
		TableName:                 &s.tables.Accounts,
		Key:                       key(keyPrefix + oldID),
		UpdateExpression:          aws.String("SET #end = :end"),
		ConditionExpression:       aws.String("attribute_exists(#pk) AND attribute_not_exists(#end)"),
		ExpressionAttributeNames:  map[string]string{"#pk": pk, "#end": "revoked_at"},
		ExpressionAttributeValues: item{":end": milli(endsAt)},
	}}
	return race(ctx, func() (bool, error) {
		cancelled, err := s.addKey(ctx, k, end)
		switch {
		case err != nil:
			return true, err
		case cancelled == nil:
			return true, nil
		case failed(cancelled[2]):
			if _, err := s.Key(ctx, oldID); err != nil {
				return true, err
			}
			return true, fmt.Errorf("key %s: %w", oldID, account.ErrInactive)
		case failed(cancelled[0]):
			return true, fmt.Errorf("key %s: %w", k.ID, account.ErrExists)
		}
		return false, nil
	})
}

// addKey writes a key and adds it to its user's list, in one transaction with other writes.
// The user must still be on the plan that the key gets, and have room for the key.
func (s accounts) addKey(ctx context.Context, k account.Key, with ...types.TransactWriteItem) ([]types.CancellationReason, error) {
	u, err := s.user(ctx, k.UserID)
	if err != nil {
		return nil, err
	}
	if len(u.texts("keys")) >= account.MaxKeysPerUser {
		return nil, fmt.Errorf("user %s: %w", k.UserID, account.ErrTooManyKeys)
	}
	k.Plan = u.text("plan")
	writes := []types.TransactWriteItem{
		{Put: &types.Put{
			TableName:                &s.tables.Accounts,
			Item:                     itemOf(k),
			ConditionExpression:      aws.String("attribute_not_exists(#pk)"),
			ExpressionAttributeNames: map[string]string{"#pk": pk},
		}},
		{Update: &types.Update{
			TableName:                &s.tables.Accounts,
			Key:                      key(userPrefix + k.UserID),
			UpdateExpression:         aws.String("ADD #keys :id, #v :one"),
			ConditionExpression:      aws.String("#plan = :plan AND (attribute_not_exists(#keys) OR size(#keys) < :max)"),
			ExpressionAttributeNames: map[string]string{"#keys": "keys", "#v": "v", "#plan": "plan"},
			ExpressionAttributeValues: item{
				":id": texts([]string{k.ID}), ":one": number(1), ":plan": text(k.Plan), ":max": number(account.MaxKeysPerUser),
			},
		}},
	}
	return s.transact(ctx, append(writes, with...)...)
}

// RevokeKey may be repeated: an earlier end stays in place.
func (s accounts) RevokeKey(ctx context.Context, id string, at time.Time) error {
	_, err := s.client.UpdateItem(ctx, &dynamodb.UpdateItemInput{
		TableName:                 &s.tables.Accounts,
		Key:                       key(keyPrefix + id),
		UpdateExpression:          aws.String("SET #end = :at"),
		ConditionExpression:       aws.String("attribute_exists(#pk) AND (attribute_not_exists(#end) OR #end > :at)"),
		ExpressionAttributeNames:  map[string]string{"#pk": pk, "#end": "revoked_at"},
		ExpressionAttributeValues: item{":at": milli(at)},
	})
	if _, failed := conditionFailed(err); failed {
		_, err = s.Key(ctx, id) // either it ended earlier or there is no such key
	}
	return err
}

func (s accounts) PutSettings(ctx context.Context, keyID string, off account.Settings, was *account.Settings) error {
	values := item{}
	var set, remove []string
	for name, list := range setsOf(off) {
		if len(list) == 0 { // DynamoDB has no empty sets
			remove = append(remove, name)
			continue
		}
		set = append(set, name+" = :"+name)
		values[":"+name] = texts(list)
	}
	var clauses []string
	if len(set) > 0 {
		clauses = append(clauses, "SET "+strings.Join(set, ", "))
	}
	if len(remove) > 0 {
		clauses = append(clauses, "REMOVE "+strings.Join(remove, ", "))
	}
	condition := "attribute_exists(#pk)"
	if was != nil {
		condition += " AND " + areStill(*was, values)
	}
	_, err := s.client.UpdateItem(ctx, &dynamodb.UpdateItemInput{
		TableName:                 &s.tables.Accounts,
		Key:                       key(keyPrefix + keyID),
		UpdateExpression:          aws.String(strings.Join(clauses, " ")),
		ConditionExpression:       &condition,
		ExpressionAttributeNames:  map[string]string{"#pk": pk},
		ExpressionAttributeValues: orNil(values),
	})
	switch _, failed := conditionFailed(err); {
	case !failed:
		return err
	case was == nil:
		return fmt.Errorf("key %s: %w", keyID, account.ErrNotFound)
	}
	k, err := s.Key(ctx, keyID) // it is missing, or it changed, perhaps by this very write, sent twice
	if err != nil || k.Settings.Equal(off) {
		return err
	}
	return fmt.Errorf("settings of key %s: %w", keyID, account.ErrChanged)
}

// areStill is the condition that a key's settings are the ones given; their values go into values.
func areStill(was account.Settings, values item) string {
	var conditions []string
	for name, list := range setsOf(was) {
		if len(list) == 0 {
			conditions = append(conditions, "attribute_not_exists("+name+")")
			continue
		}
		conditions = append(conditions, name+" = :was_"+name)
		values[":was_"+name] = texts(list)
	}
	return strings.Join(conditions, " AND ")
}

func setsOf(off account.Settings) map[string][]string {
	off = off.Normalize()
	return map[string][]string{offCategories: off.DisabledCategories, offTools: off.DisabledTools}
}

// orNil: DynamoDB refuses a map of values that has none.
func orNil(values item) item {
	if len(values) == 0 {
		return nil
	}
	return values
}

// Key is a strongly consistent read. It costs twice as much as an eventual one, but the
// authenticator caches it. In return, a key works as soon as it is created (an eventual read
// could miss it, and the authenticator would cache the miss), and a revoked key never
// outlives the cache.
func (s accounts) Key(ctx context.Context, id string) (account.Key, error) {
	i, err := s.get(ctx, s.tables.Accounts, keyPrefix+id)
	if err != nil {
		return account.Key{}, fmt.Errorf("read key %s: %w", id, err)
	}
	if i == nil {
		return account.Key{}, fmt.Errorf("key %s: %w", id, account.ErrNotFound)
	}
	return keyOf(i)
}

// Keys reads the keys that the user's item lists. For all users it reads the whole table,
// which is acceptable for an operator's command.
func (s accounts) Keys(ctx context.Context, userID string) ([]account.Key, error) {
	var keys []account.Key
	add := func(i item) error {
		k, err := keyOf(i)
		keys = append(keys, k)
		return err
	}
	var err error
	if userID == "" {
		err = s.scan(ctx, add)
	} else {
		err = s.keysOf(ctx, userID, add)
	}
	if err != nil {
		return nil, fmt.Errorf("list keys: %w", err)
	}
	slices.SortFunc(keys, func(a, b account.Key) int {
		return cmp.Or(cmp.Compare(a.UserID, b.UserID), a.CreatedAt.Compare(b.CreatedAt), cmp.Compare(a.ID, b.ID))
	})
	return keys, nil
}

// scan visits the keys of all users, page by page.
func (s accounts) scan(ctx context.Context, visit func(item) error) error {
	pages := dynamodb.NewScanPaginator(s.client, &dynamodb.ScanInput{
		TableName:                 &s.tables.Accounts,
		ConsistentRead:            aws.Bool(true),
		FilterExpression:          aws.String("begins_with(#pk, :prefix)"),
		ExpressionAttributeNames:  map[string]string{"#pk": pk},
		ExpressionAttributeValues: item{":prefix": text(keyPrefix)},
	})
	for pages.HasMorePages() {
		page, err := pages.NextPage(ctx)
		if err != nil {
			return err
		}
		for _, i := range page.Items {
			if err := visit(i); err != nil {
				return err
			}
		}
	}
	return nil
}

func (s accounts) keysOf(ctx context.Context, userID string, visit func(item) error) error {
	u, err := s.get(ctx, s.tables.Accounts, userPrefix+userID)
	if err != nil {
		return err
	}
	var wanted []string
	for _, id := range u.texts("keys") {
		wanted = append(wanted, keyPrefix+id)
	}
	return s.getAll(ctx, s.tables.Accounts, wanted, visit)
}

const (
	offCategories = "off_categories"
	offTools      = "off_tools"
)

func itemOf(k account.Key) item {
	i := item{
		pk: text(keyPrefix + k.ID), "hash": &types.AttributeValueMemberB{Value: k.Hash[:]}, "meter": text(k.Meter),
		"user": text(k.UserID), "plan": text(k.Plan), "name": text(k.Name), "created_at": milli(k.CreatedAt),
	}
	if !k.RevokedAt.IsZero() {
		i["revoked_at"] = milli(k.RevokedAt)
	}
	for name, list := range setsOf(k.Settings) {
		if len(list) > 0 {
			i[name] = texts(list)
		}
	}
	return i
}

func keyOf(i item) (account.Key, error) {
	k := account.Key{
		ID: strings.TrimPrefix(i.text(pk), keyPrefix), Meter: i.text("meter"), UserID: i.text("user"), Plan: i.text("plan"),
		Name: i.text("name"), CreatedAt: i.instant("created_at"), RevokedAt: i.instant("revoked_at"),
		Settings: account.Settings{DisabledCategories: i.texts(offCategories), DisabledTools: i.texts(offTools)}.Normalize(),
	}
	hash, ok := i["hash"].(*types.AttributeValueMemberB)
	if !ok || len(hash.Value) != len(k.Hash) {
		return account.Key{}, fmt.Errorf("key %s: the item holds no hash of %d bytes", k.ID, len(k.Hash))
	}
	k.Hash = apikey.Hash(hash.Value)
	return k, nil
}
