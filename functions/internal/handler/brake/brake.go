// Package brake serves the function that is subscribed to the topic about money.
package brake

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/aws/aws-lambda-go/events"
	"go.uber.org/zap"

	"sekisho/functions/internal/boot"
	"sekisho/functions/internal/brake"
	"sekisho/functions/internal/contract"
	"sekisho/functions/internal/store"
)

// Tripper is the brake, as far as messages can move it: it has no way back.
type Tripper interface {
	Trip(ctx context.Context, cause brake.Cause, at time.Time) (brake.Effect, error)
}

// Handler is the Lambda.
type Handler struct {
	// Topic is the ARN of the only topic that is obeyed.
	Topic string
	Rules brake.Rules
	Brake Tripper
	Log   *zap.Logger
}

// Handle obeys one delivery. An error has it delivered again (Lambda does so twice).
// Messages without effect are no errors: repeating them would change nothing.
func (h *Handler) Handle(ctx context.Context, event events.SNSEvent) error {
	if len(event.Records) == 0 {
		h.Log.Warn("brake", zap.String("effect", string(brake.Nothing)), zap.String("why", "no message of a topic"))
	}
	var failed error
	for _, record := range event.Records {
		effect, why, err := h.obey(ctx, record)
		fields := []zap.Field{
			zap.String("effect", string(effect)), zap.String("why", why),
			zap.String("message_id", record.SNS.MessageID), zap.String("topic", record.SNS.TopicArn), zap.Error(err),
		}
		if err != nil {
			h.Log.Error("brake", fields...)
			failed = errors.Join(failed, err)
			continue
		}
		h.Log.Warn("brake", fields...)
	}
	return failed
}

func (h *Handler) obey(ctx context.Context, record events.SNSEventRecord) (brake.Effect, string, error) {
	message := record.SNS
	_, own := message.MessageAttributes[brake.Mark]
	switch {
	case record.EventSource != "aws:sns":
		return brake.Nothing, "not from SNS", nil
	case message.TopicArn != h.Topic:
		return brake.Nothing, "another topic", nil
	case own:
		return brake.Nothing, "the brake's own message", nil
	case message.Timestamp.IsZero():
		return brake.Nothing, "a message without its time", nil
	}
	cause, brakes, why := h.Rules.Read(message.Message)
	if !brakes {
		return brake.Nothing, why, nil
	}
	effect, err := h.Brake.Trip(ctx, cause, message.Timestamp)
	return effect, cause.Text, err
}

// ReadConfig reads the environment. It refuses functions that the contract spares.
func ReadConfig(env boot.Env, api *contract.API) (brake.Config, error) {
	c := brake.Config{
		Functions: env.List(boot.BrakeFunctions),
		Rules:     brake.Rules{Alarms: env.List(boot.BrakeAlarms), Budget: env(boot.BrakeBudget)},
	}
	if len(c.Functions) == 0 {
		return brake.Config{}, fmt.Errorf("%s is not set", boot.BrakeFunctions)
	}
	for _, function := range c.Functions {
		if name := brake.Undeployed(api, function); name != "" && !api.Function(name).Braked {
			return brake.Config{}, fmt.Errorf("%s: %s is never stopped: take it off the list", boot.BrakeFunctions, function)
		}
	}
	var errs [5]error
	c.Topic, errs[0] = env.Required(boot.BrakeTopicARN)
	c.API, errs[1] = env.Required(boot.APIID)
	c.Stage, errs[2] = env.Required(boot.Stage)
	c.Rules.BudgetPercent, errs[3] = env.Float(boot.BrakeBudgetPercent, 100)
	c.Parameter, errs[4] = env.Required(boot.BrakeParameter)
	return c, errors.Join(errs[:]...)
}

// FromEnv builds the function of a deployment. acting makes the brake of what acts there.
func FromEnv(open store.Open, acting func(boot.Runtime, brake.Config, brake.Memory) (*brake.Brake, error)) boot.Build {
	return func(rt boot.Runtime) (boot.Invoker, error) {
		api, err := contract.Load(rt.Env)
		if err != nil {
			return nil, err
		}
		c, err := ReadConfig(rt.Env, api)
		if err != nil {
			return nil, err
		}
		s, err := open(rt.Env, boot.AccountsTable)
		if err != nil {
			return nil, err
		}
		b, err := acting(rt, c, s.Brake(c.MemoryName()))
		if err != nil {
			return nil, err
		}
		h := &Handler{Topic: c.Topic, Rules: c.Rules, Brake: b, Log: rt.Log}
		return boot.Consume(h.Handle), nil
	}
}
