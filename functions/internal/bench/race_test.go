package bench

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"sekisho/functions/internal/aws/dynamo"
	"sekisho/functions/internal/usage"
	"sekisho/tests/awsfake/moto"
	"sekisho/tests/bench"
	"sekisho/tests/repository"
)

// A race is this many calls at once against this limit.
const (
	racing = 100
	limit  = 50
)

// limiter decides about races, one key after the other, and says how many calls each was granted, and in
// which time. asked is how many requests it has made so far: reads, and all others.
type limiter struct {
	name  string
	race  func(keys []string) (granted []int, took time.Duration, err error)
	asked func() (reads, others int, err error)
}

func races(r *run) {
	keys := r.many(1500) / 100
	t := r.table("limiters in a race", fmt.Sprintf("%d calls at once against a limit of %d, %d keys one after the other. DynamoDB is the same emulator for all, and its one process the bottleneck: "+
		"compare decisions per second within it, and Redis with nothing.", racing, limit, max(keys, 1)),
		"fewest granted", "over the limit", "reads per decision", "writes per decision", "decisions/s")
	front, asked := r.counting()
	limiters := []limiter{
		{"sekisho", r.admitting(front), asked},
		{"read, then add", r.readThenAdd(front), asked},
	}
	n, err := r.node()
	if err != nil {
		t.Note("Left out: rate-limiter-flexible. %s", oneLine(err))
	} else {
		bundle, err := n.bundle("limiters", r.TempDir())
		r.must(err)
		limiters = append(limiters, limiter{"rate-limiter-flexible, DynamoDB", r.inNode(n, bundle, "dynamo", front), asked})
		if socket, err := r.redis(); err != nil {
			t.Note("Left out: Redis. %s", oneLine(err))
		} else {
			limiters = append(limiters, limiter{"rate-limiter-flexible, Redis", r.inNode(n, bundle, "redis", socket), func() (int, int, error) { return redisCalls(socket) }})
			t.Note("A write to Redis is one run of the limiter's script.")
		}
	}
	var variants []bench.Variant
	for _, l := range limiters {
		round := 0
		variants = append(variants, bench.Variant{Name: l.name, Measure: func() (map[string]float64, error) {
			round++
			return l.measure(fmt.Sprintf("%s-%d", l.name[:4], round), max(keys, 1))
		}})
	}
	r.interleave(t, variants)
}

func (l limiter) measure(prefix string, races int) (map[string]float64, error) {
	var keys []string
	for i := range races {
		keys = append(keys, fmt.Sprintf("%s-%d", prefix, i))
	}
	readsBefore, othersBefore, err := l.asked()
	if err != nil {
		return nil, err
	}
	granted, took, err := l.race(keys)
	if err != nil {
		return nil, err
	}
	reads, others, err := l.asked()
	if err != nil {
		return nil, err
	}
	fewest, most := granted[0], granted[0]
	for _, g := range granted {
		fewest, most = min(fewest, g), max(most, g)
	}
	decisions := float64(races * racing)
	return map[string]float64{
		"fewest granted": float64(fewest), "over the limit": float64(max(0, most-limit)), "decisions/s": decisions / took.Seconds(),
		"reads per decision": float64(reads-readsBefore) / decisions, "writes per decision": float64(others-othersBefore) / decisions,
	}, nil
}

// counting is a proxy before the emulator, which counts for whoever asks in whatever language.
func (r *run) counting() (address string, asked func() (int, int, error)) {
	r.Helper()
	to, err := url.Parse(r.cloud().Endpoint)
	r.must(err)
	proxy := &httputil.ReverseProxy{Rewrite: func(p *httputil.ProxyRequest) { p.SetURL(to); p.Out.Host = p.In.Host },
		Transport: &http.Transport{MaxIdleConnsPerHost: racing}}
	var mu sync.Mutex
	reads, others := 0, 0
	front := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
		switch _, operation, _ := strings.Cut(q.Header.Get("X-Amz-Target"), "."); operation {
		case "CreateTable", "DescribeTable", "UpdateTimeToLive", "DescribeTimeToLive":
		default:
			mu.Lock()
			if operation == "GetItem" {
				reads++
			} else {
				others++
			}
			mu.Unlock()
		}
		proxy.ServeHTTP(w, q)
	}))
	r.Cleanup(front.Close)
	return front.URL, func() (int, int, error) {
		mu.Lock()
		defer mu.Unlock()
		return reads, others, nil
	}
}

// clientTo is a client for the emulator at another address, with a connection for each call of a race.
func clientTo(address string) *dynamodb.Client {
	return dynamodb.NewFromConfig(moto.Config(address), func(o *dynamodb.Options) {
		o.HTTPClient = &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: racing}}
	})
}

// inGo runs races of a decision.
func (r *run) inGo(decide func(ctx context.Context, key string) (bool, error)) func([]string) ([]int, time.Duration, error) {
	return func(keys []string) ([]int, time.Duration, error) {
		start := time.Now()
		var granted []int
		var failed error
		for _, key := range keys {
			var mu sync.Mutex
			var running sync.WaitGroup
			n := 0
			for range racing {
				running.Go(func() {
					ok, err := decide(r.Context(), key)
					mu.Lock()
					defer mu.Unlock()
					failed = errors.Join(failed, err)
					if ok {
						n++
					}
				})
			}
			running.Wait()
			granted = append(granted, n)
		}
		return granted, time.Since(start), failed
	}
}

func (r *run) admitting(address string) func([]string) ([]int, time.Duration, error) {
	r.Helper()
	counters := dynamo.New(clientTo(address), r.fresh("race")).Usage()
	return r.inGo(func(ctx context.Context, key string) (bool, error) {
		now := time.Now()
		d, err := counters.Admit(ctx, usage.Admission{ID: usage.NewAdmissionID(now), At: now, Meter: key, Operation: "pl", Units: 1, Limits: usage.PerMonth(limit)})
		return d.Admitted, err
	})
}

// readThenAdd is what many tutorials do: look whether there is room, then count.
func (r *run) readThenAdd(address string) func([]string) ([]int, time.Duration, error) {
	r.Helper()
	client, table := clientTo(address), r.fresh("naive").Usage
	return r.inGo(func(ctx context.Context, name string) (bool, error) {
		key := map[string]types.AttributeValue{"pk": &types.AttributeValueMemberS{Value: name}}
		had, err := client.GetItem(ctx, &dynamodb.GetItemInput{TableName: &table, Key: key, ConsistentRead: aws.Bool(true)})
		if err != nil {
			return false, err
		}
		if used, ok := had.Item["used"].(*types.AttributeValueMemberN); ok {
			if n, err := strconv.Atoi(used.Value); err != nil || n >= limit {
				return false, err
			}
		}
		_, err = client.UpdateItem(ctx, &dynamodb.UpdateItemInput{TableName: &table, Key: key, UpdateExpression: aws.String("ADD used :one"),
			ExpressionAttributeValues: map[string]types.AttributeValue{":one": &types.AttributeValueMemberN{Value: "1"}}})
		return err == nil, err
	})
}

// inNode runs the races of rate-limiter-flexible, in a process of its own.
func (r *run) inNode(n node, bundle, store, at string) func([]string) ([]int, time.Duration, error) {
	return func(keys []string) ([]int, time.Duration, error) {
		asked, err := json.Marshal(map[string]any{"store": store, "at": at, "table": "flexible", "keys": keys, "calls": racing, "points": limit})
		if err != nil {
			return nil, 0, err
		}
		var said struct {
			Granted []int
			Seconds float64
		}
		ctx, cancel := context.WithTimeout(r.Context(), 5*time.Minute)
		defer cancel()
		var stderr bytes.Buffer
		command := exec.CommandContext(ctx, n.program, bundle)
		command.Stdin, command.Stderr = bytes.NewReader(asked), &stderr
		out, err := command.Output()
		if err == nil {
			err = json.Unmarshal(out, &said)
		}
		if err != nil || len(said.Granted) != len(keys) {
			return nil, 0, fmt.Errorf("limiters.mjs: %w: %.500s %.200s", err, stderr.String(), out)
		}
		return said.Granted, time.Duration(said.Seconds * float64(time.Second)), nil
	}
}

// redis starts a server that listens on a socket only, and keeps nothing.
func (r *run) redis() (socket string, err error) {
	r.Helper()
	program, err := repository.Script("redis")
	if err != nil {
		return "", err
	}
	dir := r.TempDir()
	socket = filepath.Join(dir, "redis")
	command := exec.Command(program, "--port", "0", "--unixsocket", socket, "--save", "", "--appendonly", "no", "--dir", dir)
	command.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	if err := command.Start(); err != nil {
		return "", err
	}
	r.Cleanup(func() {
		_ = command.Process.Kill()
		_ = command.Wait()
	})
	for range 100 {
		if _, _, err = redisCalls(socket); err == nil {
			return socket, nil
		}
		time.Sleep(50 * time.Millisecond)
	}
	return "", err
}

var scripts = regexp.MustCompile(`cmdstat_eval(?:sha)?:calls=(\d+)`)

// redisCalls counts the scripts that the server has run.
func redisCalls(socket string) (reads, calls int, err error) {
	connection, err := net.Dial("unix", socket)
	if err != nil {
		return 0, 0, err
	}
	defer connection.Close()
	if _, err := connection.Write([]byte("INFO commandstats\r\n")); err != nil {
		return 0, 0, err
	}
	from := bufio.NewReader(connection)
	head, err := from.ReadString('\n') // $ and the number of bytes
	if err != nil {
		return 0, 0, err
	}
	size, err := strconv.Atoi(strings.TrimSpace(strings.TrimPrefix(head, "$")))
	if err != nil {
		return 0, 0, fmt.Errorf("redis said %q", head)
	}
	stats := make([]byte, size)
	if _, err := io.ReadFull(from, stats); err != nil {
		return 0, 0, err
	}
	for _, m := range scripts.FindAllSubmatch(stats, -1) {
		n, err := strconv.Atoi(string(m[1]))
		if err != nil {
			return 0, 0, err
		}
		calls += n
	}
	return 0, calls, nil
}
