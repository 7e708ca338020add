package awsfake

import "fmt"

// anomalies is Cost Anomaly Detection: monitors, and subscriptions to them.
type anomalies struct {
	made          int
	monitors      map[string]object
	subscriptions map[string]object
	tags          map[string][]object
}

func newAnomalies() *anomalies {
	services := object{"MonitorArn": ServiceMonitor, "MonitorName": "Default-Services-Monitor", "MonitorType": "DIMENSIONAL", "MonitorDimension": "SERVICE"}
	return &anomalies{monitors: map[string]object{ServiceMonitor: services}, subscriptions: map[string]object{}, tags: map[string][]object{}}
}

func (a *anomalies) operations() map[string]operation {
	return map[string]operation{
		"CreateAnomalyMonitor":      a.createMonitor,
		"GetAnomalyMonitors":        lister(a.monitors, "MonitorArnList", "AnomalyMonitors"),
		"DeleteAnomalyMonitor":      remover(a.monitors, "MonitorArn", "UnknownMonitorException"),
		"CreateAnomalySubscription": a.createSubscription,
		"GetAnomalySubscriptions":   lister(a.subscriptions, "SubscriptionArnList", "AnomalySubscriptions"),
		"DeleteAnomalySubscription": remover(a.subscriptions, "SubscriptionArn", "UnknownSubscriptionException"),
		"ListTagsForResource": func(in object) (object, error) {
			return object{"ResourceTags": a.tags[text(in, "ResourceArn")]}, nil
		},
	}
}

func (a *anomalies) arn(kind string) string {
	a.made++
	return fmt.Sprintf("arn:aws:ce::%s:%s/00000000-0000-4000-8000-%012d", AccountID, kind, a.made)
}

// ServiceMonitor is the one that AWS makes in every account opened since 2023.
const ServiceMonitor = "arn:aws:ce::" + AccountID + ":anomalymonitor/00000000-0000-4000-8000-000000000000"

// createMonitor keeps AWS's rules for a member account opened since 2023, which is where people
// deploy: it has its monitor of services, there can be no second one, and monitors over tags,
// cost categories and linked accounts are the management account's
// (https://docs.aws.amazon.com/cost-management/latest/userguide/getting-started-ad.html).
func (a *anomalies) createMonitor(in object) (object, error) {
	given := nested(in, "AnomalyMonitor")
	if text(given, "MonitorType") == "CUSTOM" {
		return nil, fault{"ValidationException", "Cost monitors for linked accounts, cost allocation tags and cost categories can only be created in the management account"}
	}
	for _, other := range a.monitors {
		if text(given, "MonitorDimension") != "" && text(given, "MonitorDimension") == text(other, "MonitorDimension") {
			return nil, fault{"ValidationException", "Limit exceeded on dimensional spend monitor creation"}
		}
	}
	arn := a.arn("anomalymonitor")
	given["MonitorArn"] = arn
	a.monitors[arn] = given
	a.tags[arn] = objects(in, "ResourceTags")
	return object{"MonitorArn": arn}, nil
}

func (a *anomalies) createSubscription(in object) (object, error) {
	given := nested(in, "AnomalySubscription")
	for _, monitor := range given["MonitorArnList"].([]any) {
		if _, ok := a.monitors[monitor.(string)]; !ok {
			return nil, fault{"UnknownMonitorException", "there is no such monitor"}
		}
	}
	arn := a.arn("anomalysubscription")
	given["SubscriptionArn"], given["AccountId"] = arn, AccountID
	a.subscriptions[arn] = given
	a.tags[arn] = objects(in, "ResourceTags")
	return object{"SubscriptionArn": arn}, nil
}

// lister answers with the items whose ARNs are asked for, or with all.
func lister(items map[string]object, asked, answer string) operation {
	return func(in object) (object, error) {
		list := []object{}
		arns, _ := in[asked].([]any)
		for _, arn := range arns {
			if item, ok := items[arn.(string)]; ok {
				list = append(list, item)
			}
		}
		if len(arns) == 0 {
			for _, item := range items {
				list = append(list, item)
			}
		}
		return object{answer: list}, nil
	}
}

func remover(items map[string]object, name, missing string) operation {
	return func(in object) (object, error) {
		arn := text(in, name)
		if _, ok := items[arn]; !ok {
			return nil, fault{missing, "there is no " + arn}
		}
		delete(items, arn)
		return object{}, nil
	}
}
