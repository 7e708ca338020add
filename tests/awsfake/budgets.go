package awsfake

import (
	"reflect"
	"slices"
)

// budget is one budget and who is told about it.
type budget struct {
	given         object
	notifications []notification
	tags          []object
}

type notification struct {
	given       object
	subscribers []object
}

type budgets struct {
	byName map[string]*budget
}

func newBudgets() *budgets { return &budgets{byName: map[string]*budget{}} }

func (b *budgets) operations() map[string]operation {
	return map[string]operation{
		"CreateBudget":                       b.create,
		"UpdateBudget":                       b.update,
		"DescribeBudget":                     b.describe,
		"DeleteBudget":                       b.delete,
		"CreateNotification":                 b.notify,
		"DeleteNotification":                 b.unnotify,
		"DescribeNotificationsForBudget":     b.notifications,
		"DescribeSubscribersForNotification": b.subscribers,
		"ListTagsForResource":                b.tags,
		"TagResource":                        b.tag,
	}
}

func (b *budgets) find(in object) (*budget, error) {
	found, ok := b.byName[text(in, "BudgetName")]
	if !ok {
		return nil, fault{"NotFoundException", "there is no such budget"}
	}
	return found, nil
}

func (b *budgets) create(in object) (object, error) {
	given := nested(in, "Budget")
	made := &budget{given: complete(given), tags: objects(in, "ResourceTags")}
	name := text(given, "BudgetName")
	if _, ok := b.byName[name]; ok {
		return nil, fault{"DuplicateRecordException", "there is a budget of that name"}
	}
	for _, n := range objects(in, "NotificationsWithSubscribers") {
		made.notifications = append(made.notifications, notification{nested(n, "Notification"), objects(n, "Subscribers")})
	}
	b.byName[name] = made
	return object{}, nil
}

// complete adds what AWS fills in and Terraform reads.
func complete(given object) object {
	given["CalculatedSpend"] = object{"ActualSpend": object{"Amount": "0", "Unit": "USD"}}
	for name, value := range map[string]any{
		"TimePeriod": object{"Start": 1767225600, "End": 3706473600},
		"CostTypes": object{
			"IncludeCredit": true, "IncludeDiscount": true, "IncludeOtherSubscription": true, "IncludeRecurring": true,
			"IncludeRefund": true, "IncludeSubscription": true, "IncludeSupport": true, "IncludeTax": true,
			"IncludeUpfront": true, "UseAmortized": false, "UseBlended": false,
		},
	} {
		if given[name] == nil {
			given[name] = value
		}
	}
	return given
}

func (b *budgets) update(in object) (object, error) {
	given := nested(in, "NewBudget")
	found, err := b.find(given)
	if err != nil {
		return nil, err
	}
	found.given = complete(given)
	return object{}, nil
}

func (b *budgets) describe(in object) (object, error) {
	found, err := b.find(in)
	if err != nil {
		return nil, err
	}
	return object{"Budget": found.given}, nil
}

func (b *budgets) delete(in object) (object, error) {
	if _, err := b.find(in); err != nil {
		return nil, err
	}
	delete(b.byName, text(in, "BudgetName"))
	return object{}, nil
}

func (b *budgets) notify(in object) (object, error) {
	found, err := b.find(in)
	if err != nil {
		return nil, err
	}
	found.notifications = append(found.notifications, notification{nested(in, "Notification"), objects(in, "Subscribers")})
	return object{}, nil
}

func (b *budgets) unnotify(in object) (object, error) {
	found, err := b.find(in)
	if err != nil {
		return nil, err
	}
	found.notifications = slices.DeleteFunc(found.notifications, func(n notification) bool { return same(n.given, nested(in, "Notification")) })
	return object{}, nil
}

func (b *budgets) notifications(in object) (object, error) {
	found, err := b.find(in)
	if err != nil {
		return nil, err
	}
	list := []object{}
	for _, n := range found.notifications {
		list = append(list, n.given)
	}
	return object{"Notifications": list}, nil
}

func (b *budgets) subscribers(in object) (object, error) {
	found, err := b.find(in)
	if err != nil {
		return nil, err
	}
	for _, n := range found.notifications {
		if same(n.given, nested(in, "Notification")) {
			return object{"Subscribers": n.subscribers}, nil
		}
	}
	return nil, fault{"NotFoundException", "there is no such notification"}
}

// same compares what makes a notification one: all but the state that AWS adds.
func same(a, b object) bool {
	for _, name := range []string{"ComparisonOperator", "NotificationType", "Threshold", "ThresholdType"} {
		if !reflect.DeepEqual(a[name], b[name]) {
			return false
		}
	}
	return true
}

func (b *budgets) tags(in object) (object, error) {
	for name, found := range b.byName {
		if text(in, "ResourceARN") == "arn:aws:budgets::"+AccountID+":budget/"+name {
			return object{"ResourceTags": found.tags}, nil
		}
	}
	return nil, fault{"NotFoundException", "there is no such budget"}
}

func (b *budgets) tag(in object) (object, error) {
	for name, found := range b.byName {
		if text(in, "ResourceARN") == "arn:aws:budgets::"+AccountID+":budget/"+name {
			found.tags = objects(in, "ResourceTags")
			return object{}, nil
		}
	}
	return nil, fault{"NotFoundException", "there is no such budget"}
}
