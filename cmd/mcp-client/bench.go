package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"example.com/mcp"
)

const (
	benchCalls = 100 // as many as usual
	maxCalls   = 10_000_000
	maxCallers = 10_000
)

var errBench = errors.New("calls have failed")

// A benchReport is what a bench has measured. Times are of the calls that went well.
type benchReport struct {
	Calls     int            `json:"calls"` // that came to an end
	Callers   int            `json:"callers"`
	Seconds   float64        `json:"seconds"`
	PerSecond float64        `json:"callsPerSecond"`
	Latency   *benchLatency  `json:"latencyMs,omitempty"` // nil: none went well
	Errors    map[string]int `json:"errors,omitempty"`    // by what they say
}

// A benchLatency is how long calls took, in milliseconds.
type benchLatency struct {
	P50 float64 `json:"p50"`
	P90 float64 `json:"p90"`
	P99 float64 `json:"p99"`
	Max float64 `json:"max"`
}

// bench calls a tool many times.
func bench(ctx context.Context, j *job) error {
	calls, callers := cmp.Or(j.calls, benchCalls), max(j.callers, 1)
	switch {
	case calls < 0 || calls > maxCalls:
		return usagef("-n must be from 1 to %d, not %d", maxCalls, calls)
	case j.callers < 0 || callers > maxCallers:
		return usagef("-c must be from 1 to %d, not %d", maxCallers, j.callers)
	}
	t, args, err := j.tool(ctx)
	if err != nil {
		return err
	}
	r := j.measure(ctx, t.Name, args, calls, min(calls, callers))
	if err := j.report(r); err != nil {
		return err
	}
	switch failed := sum(maps.Values(r.Errors)); {
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case failed > 0:
		return fmt.Errorf("%d of %d %w", failed, r.Calls, errBench)
	}
	return nil
}

// measure makes the calls. An interrupt ends them.
func (j *job) measure(ctx context.Context, name string, args json.RawMessage, calls, callers int) *benchReport {
	var left atomic.Int64
	left.Store(int64(calls))
	var mu sync.Mutex // guards the two below
	var took []time.Duration
	failed := map[string]int{}
	var all sync.WaitGroup
	start := time.Now()
	for range callers {
		all.Go(func() {
			var mine []time.Duration
			for ctx.Err() == nil && left.Add(-1) >= 0 {
				begun := time.Now()
				r, err := j.cs.CallTool(ctx, name, args)
				d := time.Since(begun)
				switch {
				case ctx.Err() != nil: // it came to no end
				case err == nil && !r.IsError:
					mine = append(mine, d)
				default:
					mu.Lock()
					failed[failure(err)]++
					mu.Unlock()
				}
			}
			mu.Lock()
			took = append(took, mine...)
			mu.Unlock()
		})
	}
	all.Wait()
	seconds := time.Since(start).Seconds()
	slices.Sort(took)
	r := &benchReport{Calls: len(took) + sum(maps.Values(failed)), Callers: callers, Seconds: seconds, Errors: failed}
	if seconds > 0 {
		r.PerSecond = float64(r.Calls) / seconds
	}
	if len(took) > 0 {
		r.Latency = &benchLatency{percentile(took, 50), percentile(took, 90), percentile(took, 99), percentile(took, 100)}
	}
	return r
}

// failure is the kind of a call that did not go well; err is nil where a tool reports an
// error.
func failure(err error) string {
	var answered *mcp.Error
	var overHTTP *mcp.HTTPError
	var late *mcp.TimeoutError
	switch {
	case err == nil:
		return errTool.Error()
	case errors.As(err, &answered):
		return fmt.Sprintf("error %d of the protocol", answered.Code)
	case errors.As(err, &overHTTP):
		return fmt.Sprintf("HTTP %d", overHTTP.Status)
	case errors.As(err, &late):
		return "no answer in time"
	case errors.Is(err, mcp.ErrInvalidResponse):
		return "invalid response"
	case errors.Is(err, mcp.ErrClosed):
		return "connection closed"
	}
	return "no connection"
}

// percentile is the time, in milliseconds, within which p percent of calls were done;
// took is sorted and not empty.
func percentile(took []time.Duration, p int) float64 {
	d := took[(len(took)*p+99)/100-1]
	return float64(d.Microseconds()) / 1000
}

func sum(counts iter.Seq[int]) (n int) {
	for c := range counts {
		n += c
	}
	return n
}

// report prints what was measured.
func (j *job) report(r *benchReport) error {
	if j.json {
		return j.printJSON(r)
	}
	j.printf("calls:    %d in %.3f s, by %d at once", r.Calls, r.Seconds, r.Callers)
	j.printf("rate:     %.1f calls/s", r.PerSecond)
	if l := r.Latency; l != nil {
		j.printf("latency:  p50 %.3f ms, p90 %.3f ms, p99 %.3f ms, max %.3f ms", l.P50, l.P90, l.P99, l.Max)
	}
	for _, kind := range slices.Sorted(maps.Keys(r.Errors)) {
		j.printf("failed:   %d: %s", r.Errors[kind], kind)
	}
	return nil
}
