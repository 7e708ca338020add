package laptop

import (
	"context"
	"maps"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/aws/aws-lambda-go/events"
	"go.uber.org/zap"

	"sekisho/functions/internal/boot"
	"sekisho/functions/internal/brake"
	"sekisho/functions/internal/contract"
	handler "sekisho/functions/internal/handler/brake"
	"sekisho/functions/internal/laptop/apigateway"
)

// Names on this machine of what Terraform calls <name>-money, <name>-spend-rate and
// <name>-monthly.
const (
	BrakeFunction = "brake"
	MoneyTopic    = "money"
	SpendAlarm    = "local-spend-rate"
	MonthlyBudget = "local-monthly"
)

// BrakeName is the name of the brake's state in a store, for a stage on this machine.
func BrakeName(stage string) string { return "local/" + stage }

// Brake is the brake of a service on this machine: the function that AWS runs, on a topic
// of the gateway's.
type Brake struct {
	Memory brake.Memory
	// ReleaseCommand is told to people.
	ReleaseCommand string
}

// followEvery is how often the service looks whether a command wants something of it.
const followEvery = 200 * time.Millisecond

// addBrake builds the brake and its function. It acts on the gateway, which is built after
// the functions.
func (c Config) addBrake(functions map[string]apigateway.Function) (*brake.Brake, *service, error) {
	api, err := contract.Load()
	if err != nil {
		return nil, nil, err
	}
	log, err := boot.NewLogger(boot.Map(nil), BrakeFunction, c.Log)
	if err != nil {
		return nil, nil, err
	}
	env, err := handler.FromEnv(boot.Map(map[string]string{
		boot.BrakeFunctions: strings.Join(Braked(api, slices.Sorted(maps.Keys(c.Functions))), ","), boot.BrakeTopicARN: apigateway.TopicARN(MoneyTopic),
		boot.BrakeAlarms: SpendAlarm, boot.BrakeBudget: MonthlyBudget, boot.APIID: "local", boot.Stage: c.Stage,
	}))
	if err != nil {
		return nil, nil, err
	}
	s := &service{states: api.StageVariables}
	b := &brake.Brake{
		Stack: c.Stage, Functions: env.Functions, ReleaseCommand: c.Brake.ReleaseCommand,
		Memory: c.Brake.Memory, Ceilings: s, Switch: s, Announcer: s, Now: c.Now,
	}
	h := &handler.Handler{Topic: env.Topic, Rules: env.Rules, Brake: b, Log: log}
	functions[BrakeFunction] = apigateway.Function{
		Handler: apigateway.Handle(func(ctx context.Context, e events.SNSEvent) (struct{}, error) { return struct{}{}, h.Handle(ctx, e) }),
		Timeout: api.Function(BrakeFunction).Timeout, Reserved: apigateway.Unreserved,
	}
	return b, s, nil
}

// Braked leaves those of the functions that the brake stops.
func Braked(api *contract.API, functions []string) []string {
	return slices.DeleteFunc(slices.Clone(functions), func(name string) bool { return !api.Function(name).Braked })
}

// FollowBrake carries out what commands of other processes want of the brake, until ctx ends.
func (s *Stack) FollowBrake(ctx context.Context) {
	tick := time.NewTicker(followEvery)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		state, err := s.Brake.Memory.Load(ctx)
		if err == nil && (state.Phase == brake.Braking || state.Phase == brake.Releasing) {
			err = s.Brake.Resume(ctx)
		}
		if err != nil && ctx.Err() == nil {
			s.log.Error("the brake could not be followed", zap.Error(err))
		}
	}
}

// service is the gateway as the brake acts on it.
type service struct {
	gateway atomic.Pointer[apigateway.Gateway]
	states  map[string]map[string]string
}

func (s *service) Reserved(_ context.Context, function string) (int, error) {
	n, ok := s.gateway.Load().Reserved(function)
	if !ok {
		return 0, brake.ErrNoFunction
	}
	return n, nil
}

func (s *service) SetReserved(_ context.Context, function string, n int) error {
	return s.gateway.Load().SetReserved(function, n)
}

func (s *service) Braked(context.Context) (bool, error) {
	return brake.Says(s.gateway.Load().StageVariables(), s.states), nil
}

// SetBraked changes the contract's variables and leaves others alone. Only the brake
// changes them while the service runs.
func (s *service) SetBraked(_ context.Context, on bool) error {
	variables := s.gateway.Load().StageVariables()
	if variables == nil {
		variables = map[string]string{}
	}
	maps.Copy(variables, brake.Variables(s.states, on))
	s.gateway.Load().SetStageVariables(variables)
	return nil
}

func (s *service) Announce(_ context.Context, subject, text string) error {
	s.gateway.Load().Publish(MoneyTopic, events.SNSEntity{
		Subject: subject, Message: text,
		MessageAttributes: map[string]any{brake.Mark: map[string]string{"Type": "String", "Value": "announcement"}},
	})
	return nil
}
