package contract

//go:generate go test -count=1 -run TestDescriptionIsCurrent . -update
//go:generate go test -count=1 -run TestListedIsCurrent ../mcpserver -update
