package contract

import (
	"reflect"
	"testing"
)

// TestForAuthorizer: of a contract that is a small part of the whole the authorizer decides alike.
func TestForAuthorizer(t *testing.T) {
	small, err := ForAuthorizer(Document())
	if err != nil {
		t.Fatal(err)
	}
	if len(small)*8 > len(Document()) {
		t.Errorf("%d bytes are left of %d", len(small), len(Document()))
	}
	api, err := Default()
	if err != nil {
		t.Fatal(err)
	}
	got, err := Read("small", small)
	if err != nil {
		t.Fatal(err)
	}
	type decided struct {
		id, method, path, resource, function, backend, code string
		units                                               int64
		public                                              bool
		limits                                              Limits
		runs                                                Function
	}
	of := func(a *API) (all []decided) {
		for _, op := range a.Operations {
			resolved, err := a.Resolve(op.Method, op.Resource, nil)
			if err != nil || resolved == nil {
				t.Errorf("%s: %v", op.ID, err)
				continue
			}
			all = append(all, decided{resolved.ID, op.Method, op.Path, op.Resource, op.Function, op.Backend, op.Code, op.Units, op.Public, a.Limits, a.Function(op.Function)})
		}
		return all
	}
	if got, want := of(got), of(api); !reflect.DeepEqual(got, want) || len(want) == 0 {
		t.Errorf("got %+v, want %+v", got, want)
	}
}
