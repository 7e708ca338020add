package contract

//go:generate go test -count=1 -run TestDescriptionIsCurrent . -update
