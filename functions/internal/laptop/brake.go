package laptop

import (
	"context"
	"maps"
	"slices"
	"strings"

	"github.com/aws/aws-lambda-go/events"

	"sekisho/functions/internal/boot"
	"sekisho/functions/internal/brake"
	"sekisho/functions/internal/contract"
	handler "sekisho/functions/internal/handler/brake"
	"sekisho/functions/internal/laptop/apigateway"
	"sekisho/functions/internal/laptop/lambda"
)

// Names on the laptop of what Terraform calls <name>-money, <name>-spend-rate and
// <name>-monthly.
const (
	BrakeFunction = "brake"
	MoneyTopic    = "money"
	UsageTopic    = "usage"
	SpendAlarm    = "local-spend-rate"
	MonthlyBudget = "local-monthly"
)

// BrakeName is the name of the brake's state in a store, for a stage on the laptop.
func BrakeName(stage string) string { return "local/" + stage }

// Brake adds a brake to a service: the function that AWS runs, subscribed to the topic about
// money.
type Brake struct {
	Memory brake.Memory
	// ReleaseCommand is what people are told to run.
	ReleaseCommand string
}

// addBrake builds the brake and its function, over the functions and the gateway that it acts
// on.
func (s *Service) addBrake(c Config) error {
	log, err := boot.NewLogger(boot.Map(nil), BrakeFunction, c.Log)
	if err != nil {
		return err
	}
	env, err := handler.ReadConfig(boot.Map(map[string]string{
		boot.BrakeFunctions: strings.Join(Braked(s.api, s.dispatch(), slices.Sorted(maps.Keys(c.Functions))), ","), boot.BrakeTopicARN: lambda.TopicARN(MoneyTopic),
		boot.BrakeAlarms: SpendAlarm, boot.BrakeBudget: MonthlyBudget, boot.BrakeParameter: "local", boot.APIID: "local", boot.Stage: c.Gateway.Stage,
	}), s.api)
	if err != nil {
		return err
	}
	acted := controls{functions: s.Functions, gateway: s.gateway, topics: s.topics, states: s.api.StageVariables}
	s.Brake = &brake.Brake{
		Name: c.Gateway.Stage, Functions: env.Functions, Methods: env.Methods(s.api), ReleaseCommand: c.Brake.ReleaseCommand,
		Memory: c.Brake.Memory, Ceilings: acted, Stage: acted, Alarms: acted, Deploys: acted, Announcer: acted, Now: s.now,
	}
	h := &handler.Handler{Topic: env.Topic, Rules: env.Rules, Brake: s.Brake, Log: log}
	return s.Functions.Add(BrakeFunction, lambda.Function{
		Handler: boot.Consume(h.Handle),
		Timeout: s.api.Function(BrakeFunction).Timeout, Reserved: lambda.Unreserved,
	})
}

// Braked leaves those of the functions that the brake stops.
func Braked(api *contract.API, dispatch string, functions []string) []string {
	return slices.DeleteFunc(slices.Clone(functions), func(name string) bool { return !api.Function(name).BrakedIn(dispatch) })
}

// controls are what the brake acts on.
type controls struct {
	functions *lambda.Functions
	gateway   *apigateway.Gateway
	topics    *lambda.Topics
	states    map[string]map[string]string
}

func (c controls) Reserved(_ context.Context, function string) (int, error) {
	n, ok := c.functions.Reserved(function)
	if !ok {
		return 0, brake.ErrNoFunction
	}
	return n, nil
}

func (c controls) SetReserved(_ context.Context, function string, n int) error {
	return c.functions.SetReserved(function, n)
}

func (c controls) Braked(context.Context) (bool, error) {
	return brake.Says(c.gateway.Settings().Variables, c.states), nil
}

func (c controls) Throttles(context.Context) (map[string]brake.Throttle, error) {
	own := map[string]brake.Throttle{}
	for method, t := range c.gateway.Settings().Throttles {
		own[method] = brake.Throttle(t)
	}
	return own, nil
}

// Set changes the contract's variables and leaves others alone. Only the brake changes them
// while the service runs.
func (c controls) Set(_ context.Context, on bool, throttles map[string]*brake.Throttle) error {
	settings := c.gateway.Settings()
	maps.Copy(settings.Variables, brake.Variables(c.states, on))
	for method, t := range throttles {
		if t == nil {
			delete(settings.Throttles, method)
		} else {
			settings.Throttles[method] = apigateway.Throttle(*t)
		}
	}
	c.gateway.Set(settings)
	return nil
}

// Rearm has nothing to do: a laptop has no alarms.
func (c controls) Rearm(context.Context) error { return nil }

// Hold has nothing to do: what restarts a laptop's service reads the brake's own state.
func (c controls) Hold(context.Context, bool) error { return nil }

func (c controls) Announce(_ context.Context, subject, text string) error {
	c.topics.Announce(MoneyTopic, events.SNSEntity{
		Subject: subject, Message: text,
		MessageAttributes: map[string]any{brake.Mark: map[string]string{"Type": "String", "Value": "announcement"}},
	})
	return nil
}
