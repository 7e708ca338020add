package awsfake

import (
	"net/http/httptest"
	"os"

	"sekisho/tests/awsfake/moto"
)

// Region and AccountID are where everything lives.
const (
	Region    = moto.Region
	AccountID = moto.AccountID
)

// Cloud is a running moto server and stand-in.
type Cloud struct {
	// Endpoint is moto's URL, such as http://127.0.0.1:40123.
	Endpoint string
	// StandIn is the URL of Budgets, Cost Explorer and Service Quotas.
	StandIn string

	moto    *moto.Server
	standIn *httptest.Server
}

// Start runs both until Stop.
func Start() (*Cloud, error) {
	server, err := moto.Start()
	if err != nil {
		return nil, err
	}
	standIn := httptest.NewServer(newStandIn(DefaultQuota))
	return &Cloud{Endpoint: server.Endpoint, StandIn: standIn.URL, moto: server, standIn: standIn}, nil
}

// Stop ends what Start started, and nothing else.
func (c *Cloud) Stop() {
	c.standIn.Close()
	c.moto.Stop()
}

// Environment is what makes Terraform and the AWS SDK talk to this cloud and to nothing
// else: a call that slips past the endpoints meets a proxy that is not there.
func (c *Cloud) Environment() map[string]string {
	return map[string]string{
		"AWS_ENDPOINT_URL":                c.Endpoint,
		"AWS_ENDPOINT_URL_BUDGETS":        c.StandIn,
		"AWS_ENDPOINT_URL_COST_EXPLORER":  c.StandIn,
		"AWS_ENDPOINT_URL_SERVICE_QUOTAS": c.StandIn,
		"AWS_REGION":                      Region,
		"AWS_ACCESS_KEY_ID":               "test",
		"AWS_SECRET_ACCESS_KEY":           "test",
		"AWS_SESSION_TOKEN":               "",
		"AWS_PROFILE":                     "",
		"AWS_CONFIG_FILE":                 os.DevNull,
		"AWS_SHARED_CREDENTIALS_FILE":     os.DevNull,
		"AWS_EC2_METADATA_DISABLED":       "true",
		"HTTP_PROXY":                      "http://127.0.0.1:9",
		"HTTPS_PROXY":                     "http://127.0.0.1:9",
		"NO_PROXY":                        "127.0.0.1,localhost",
	}
}

// Variables is Environment as a list of NAME=value, for a process.
func (c *Cloud) Variables() []string {
	var list []string
	for name, value := range c.Environment() {
		list = append(list, name+"="+value)
	}
	return list
}
