package dynamo

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"sekisho/functions/internal/brake"
)

// Brake is the memory of the brake of the service called name, in the accounts table, which
// several services may share.
func (s *Store) Brake(name string) brake.Memory { return brakeMemory{s, "brake#" + name} }

type brakeMemory struct {
	*Store
	id string
}

func (m brakeMemory) Load(ctx context.Context) (brake.State, error) {
	i, err := m.get(ctx, m.tables.Accounts, m.id)
	if err != nil || i == nil {
		return brake.State{}, err
	}
	var s brake.State
	if err := json.Unmarshal([]byte(i.text("state")), &s); err != nil {
		return brake.State{}, fmt.Errorf("item %s: %w", m.id, err)
	}
	s.Version, _ = i.number("v")
	return s, nil
}

// Save may return ErrChanged for its own write, if the answer to it was lost. The caller
// then starts over and finds the state that it wanted.
func (m brakeMemory) Save(ctx context.Context, s brake.State) (brake.State, error) {
	state, err := json.Marshal(s)
	if err != nil {
		return s, err
	}
	in := &dynamodb.PutItemInput{
		TableName:                &m.tables.Accounts,
		Item:                     item{pk: text(m.id), "state": text(string(state)), "v": number(s.Version + 1)},
		ConditionExpression:      aws.String("attribute_not_exists(#v)"),
		ExpressionAttributeNames: map[string]string{"#v": "v"},
	}
	if s.Version > 0 {
		in.ConditionExpression = aws.String("#v = :v")
		in.ExpressionAttributeValues = item{":v": number(s.Version)}
	}
	_, err = m.client.PutItem(ctx, in)
	if _, failed := conditionFailed(err); failed {
		return s, brake.ErrChanged
	}
	if err == nil {
		s.Version++
	}
	return s, err
}
