package awsfake

// DefaultQuota is the account's quota of concurrent executions of Lambda.
const DefaultQuota = 1000

// quotas is Service Quotas, for the one quota that the stack asks for.
func quotas(concurrency float64) map[string]operation {
	get := func(in object) (object, error) {
		if text(in, "ServiceCode") != "lambda" || text(in, "QuotaCode") != "L-B99A9384" {
			return nil, fault{"NoSuchResourceException", "the stand-in knows Lambda's L-B99A9384 only"}
		}
		return object{"Quota": object{
			"ServiceCode": "lambda", "ServiceName": "AWS Lambda",
			"QuotaArn":  "arn:aws:servicequotas:" + Region + ":" + AccountID + ":lambda/L-B99A9384",
			"QuotaCode": "L-B99A9384", "QuotaName": "Concurrent executions",
			"Value": concurrency, "Unit": "None", "Adjustable": true, "GlobalQuota": false,
		}}, nil
	}
	return map[string]operation{"GetServiceQuota": get, "GetAWSDefaultServiceQuota": get}
}
