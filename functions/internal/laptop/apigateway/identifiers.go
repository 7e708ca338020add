package apigateway

import (
	"crypto/rand"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"hash/fnv"
	"strconv"
	"time"
)

// Where the stand-in pretends to run. They are in ARNs only.
const (
	accountID = "000000000000"
	region    = "us-east-1"
	apiID     = "local"
)

func newUUID() string {
	var b [16]byte
	_, _ = rand.Read(b[:]) // never fails: crypto/rand
	b[6], b[8] = b[6]&0x0f|0x40, b[8]&0x3f|0x80
	h := hex.EncodeToString(b[:])
	return h[:8] + "-" + h[8:12] + "-" + h[12:16] + "-" + h[16:20] + "-" + h[20:]
}

// newExtendedID has the form of API Gateway's own, such as FvcayGSyCYcFs5w=.
func newExtendedID() string {
	var b [11]byte
	_, _ = rand.Read(b[:])
	return base64.URLEncoding.EncodeToString(b[:])
}

func newTraceID(now time.Time) string {
	var b [12]byte
	_, _ = rand.Read(b[:])
	return fmt.Sprintf("Root=1-%08x-%x", now.Unix(), b)
}

// resourceID is stable for a path; real ones have six letters and digits too.
func resourceID(path string) string {
	h := fnv.New64a()
	_, _ = h.Write([]byte(path))
	const space = 36 * 36 * 36 * 36 * 36 * 36
	return fmt.Sprintf("%06s", strconv.FormatUint(h.Sum64()%space, 36))
}
