// Command settle is the Lambda function that gives failed calls their units back.
package main

import (
	"sekisho/functions/internal/aws/dispatchlog"
	"sekisho/functions/internal/aws/dynamo"
	"sekisho/functions/internal/aws/topic"
	"sekisho/functions/internal/boot"
	"sekisho/functions/internal/handler/settle"
)

func main() {
	boot.Main("settle", settle.FromEnv(dynamo.FromEnv, settle.Platform{Topic: subscribers, Admissions: admissions}))
}

func subscribers(env boot.Env, variable string) (settle.Publisher, error) {
	return topic.FromEnv(env, variable)
}

func admissions(env boot.Env, variable string) (settle.Admissions, error) {
	log, err := dispatchlog.FromEnv(env, variable)
	if log == nil {
		return nil, err
	}
	return log, err
}
