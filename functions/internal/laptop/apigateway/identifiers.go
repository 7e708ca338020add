package apigateway

import (
	"crypto/rand"
	"encoding/base64"
	"fmt"
	"hash/fnv"
	"strconv"

	"sekisho/functions/internal/laptop/lambda"
)

// Where the laptop pretends to run. They are in ARNs only.
const (
	accountID = lambda.AccountID
	region    = lambda.Region
	apiID     = "local"
)

// newExtendedID has the form of API Gateway's own, such as FvcayGSyCYcFs5w=.
func newExtendedID() string {
	var b [11]byte
	_, _ = rand.Read(b[:]) // never fails: crypto/rand
	return base64.URLEncoding.EncodeToString(b[:])
}

// resourceID is stable for a path; real ones have six letters and digits too.
func resourceID(path string) string {
	h := fnv.New64a()
	_, _ = h.Write([]byte(path))
	const space = 36 * 36 * 36 * 36 * 36 * 36
	return fmt.Sprintf("%06s", strconv.FormatUint(h.Sum64()%space, 36))
}
