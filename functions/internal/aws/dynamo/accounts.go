package dynamo

import (
	"context"
	"fmt"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"sekisho/functions/internal/account"
)

type accounts struct{ *Store }

const (
	userPrefix = "user#"
	keyPrefix  = "key#"
)

// CreateUser uses a transaction for its token: a plain put, repeated after an unclear
// failure, would find its own user and report ErrExists.
func (s accounts) CreateUser(ctx context.Context, u account.User) error {
	cancelled, err := s.transact(ctx, types.TransactWriteItem{Put: &types.Put{
		TableName:                &s.tables.Accounts,
		Item:                     item{pk: text(userPrefix + u.ID), "plan": text(u.Plan), "created_at": milli(u.CreatedAt), "v": number(0)},
		ConditionExpression:      aws.String("attribute_not_exists(#pk)"),
		ExpressionAttributeNames: map[string]string{"#pk": pk},
	}})
	if err == nil && cancelled != nil {
		return fmt.Errorf("user %s: %w", u.ID, account.ErrExists)
	}
	return err
}

func (s accounts) User(ctx context.Context, id string) (account.User, error) {
	i, err := s.user(ctx, id)
	return userOf(i), err
}

func (s accounts) user(ctx context.Context, id string) (item, error) {
	i, err := s.get(ctx, s.tables.Accounts, userPrefix+id)
	if err == nil && i == nil {
		return nil, fmt.Errorf("user %s: %w", id, account.ErrNotFound)
	}
	return i, err
}

func userOf(i item) account.User {
	if i == nil {
		return account.User{}
	}
	return account.User{ID: i.text(pk)[len(userPrefix):], Plan: i.text("plan"), CreatedAt: i.instant("created_at")}
}

// maxRaces bounds how often a change of an account starts over because another one came
// in between.
const maxRaces = 20

// race repeats change until it succeeds or fails without a concurrent change.
func race(ctx context.Context, change func() (done bool, err error)) error {
	for n := 1; ; n++ {
		done, err := change()
		if done || err != nil {
			return err
		}
		if n == maxRaces || !pause(ctx, n) {
			if err := ctx.Err(); err != nil {
				return err
			}
			return fmt.Errorf("gave up after %d attempts because others kept changing the account; try again", n)
		}
	}
}

// SetPlan writes the user and all keys in one transaction. The condition on the user's v
// ensures that no key was added after the list of keys was read.
func (s accounts) SetPlan(ctx context.Context, userID, plan string) error {
	return race(ctx, func() (bool, error) {
		u, err := s.user(ctx, userID)
		if err != nil {
			return true, err
		}
		v, _ := u.number("v")
		writes := []types.TransactWriteItem{{Update: &types.Update{
			TableName:                 &s.tables.Accounts,
			Key:                       key(userPrefix + userID),
			UpdateExpression:          aws.String("SET #plan = :plan ADD #v :one"),
			ConditionExpression:       aws.String("#v = :v"),
			ExpressionAttributeNames:  map[string]string{"#plan": "plan", "#v": "v"},
			ExpressionAttributeValues: item{":plan": text(plan), ":v": number(v), ":one": number(1)},
		}}}
		for _, id := range u.texts("keys") {
			writes = append(writes, types.TransactWriteItem{Update: &types.Update{
				TableName:                 &s.tables.Accounts,
				Key:                       key(keyPrefix + id),
				UpdateExpression:          aws.String("SET #plan = :plan"),
				ConditionExpression:       aws.String("attribute_exists(#pk)"),
				ExpressionAttributeNames:  map[string]string{"#plan": "plan", "#pk": pk},
				ExpressionAttributeValues: item{":plan": text(plan)},
			}})
		}
		cancelled, err := s.transact(ctx, writes...)
		return cancelled == nil, err
	})
}
