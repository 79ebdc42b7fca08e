package procotel

import (
	"context"
	"encoding/json"
	"strings"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/metric"
	"go.opentelemetry.io/otel/trace"

	"github.com/toolproc/toolproc/chattool/toolset"
	"github.com/toolproc/toolproc/envpolicy"
)

// Call makes the span of a call, in which next carries it out, and measures it. It is for
// the field Intercept of toolset.Options, and of filetool.Options. The span has an error
// if the tool could not do its work. A command that fails is no error of the tool: the
// span has its exit code.
func (t *Telemetry) Call(ctx context.Context, c toolset.Call, next func(context.Context) toolset.Result) toolset.Result {
	// A model chooses the name, so it must not become one of many names of spans.
	name := "execute_tool"
	attributes := []attribute.KeyValue{
		attribute.String("gen_ai.operation.name", "execute_tool"),
		attribute.String("gen_ai.tool.type", "function"),
	}
	if c.ID != "" {
		attributes = append(attributes, attribute.String("gen_ai.tool.call.id", clip(c.ID, maxName)))
	}
	if tool := clip(c.Name, maxName); tool != "" {
		attributes = append(attributes, attribute.String("gen_ai.tool.name", tool))
		name += " " + tool
	}
	t.mu.Lock()
	description, known := t.tools[c.Name]
	t.mu.Unlock()
	if description != "" {
		attributes = append(attributes, attribute.String("gen_ai.tool.description", description))
	}
	ctx, span := t.tracer.Start(ctx, name, trace.WithAttributes(attributes...))
	defer span.End()
	began := time.Now()
	res := next(ctx)
	tool := c.Name
	if !known { // a model must not make one histogram after the other
		tool = "_OTHER"
	}
	t.measure(ctx, tool, res, time.Since(began))
	if t.opts.Content {
		span.SetAttributes(
			attribute.String("gen_ai.tool.call.arguments", clip(t.masks.Replace(string(c.Arguments)), maxContent)),
			attribute.String("gen_ai.tool.call.result", clip(t.masks.Replace(res.Content), maxContent)),
		)
	}
	if res.Output != nil {
		span.SetAttributes(about(&res.Output.Process)...)
	}
	switch {
	case res.Report.Denied:
		span.SetAttributes(attribute.Bool("toolproc.denied", true))
	case res.IsError:
		span.SetAttributes(attribute.String("error.type", toolError))
		span.SetStatus(codes.Error, "the tool could not do its work")
	}
	return res
}

// Tools names tools, as the Definitions of a Set are. Call then adds their descriptions to
// spans, and measures them by their names. The names that toolset and filetool give their
// tools are known without it.
func (t *Telemetry) Tools(tools []toolset.Definition) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, d := range tools {
		t.tools[d.Name] = clip(d.Description, maxContent)
	}
}

// usualTools are the tools of toolset and filetool.
var usualTools = []string{
	"execute", "process_output", "process_list", "process_signal", "process_input", "read_file", "write_file", "edit_files",
}

// measure records the duration of a call.
func (t *Telemetry) measure(ctx context.Context, tool string, res toolset.Result, took time.Duration) {
	attributes := []attribute.KeyValue{attribute.String("gen_ai.operation.name", "execute_tool"), attribute.String("gen_ai.tool.name", tool)}
	if res.IsError && !res.Report.Denied {
		attributes = append(attributes, attribute.String("error.type", toolError))
	}
	t.instruments.called.Record(ctx, took.Seconds(), metric.WithAttributes(attributes...))
}

// masks returns what masks the secrets of an environment in a text, also in JSON.
func masks(env []string) *strings.Replacer {
	var pairs []string
	for _, kv := range env {
		name, value, _ := strings.Cut(kv, "=")
		if len(value) < minSecret || !envpolicy.IsSecret(name, value) {
			continue
		}
		quoted, _ := json.Marshal(value) // a string can be encoded
		for _, form := range []string{value, string(quoted[1 : len(quoted)-1])} {
			pairs = append(pairs, form, "[withheld: "+name+"]")
		}
	}
	return strings.NewReplacer(pairs...)
}

const (
	// toolError is the error.type of a tool that could not do its work.
	toolError = "tool_error"
	// minSecret is the length from which a value is masked, in bytes, as in output.
	minSecret = 16
	// maxName is the limit of what a model has chosen, in bytes.
	maxName = 64
	// maxContent is the limit of a text of a call, in bytes.
	maxContent = 64 << 10
)

// clip returns the beginning of s as valid UTF-8, which the exporters want.
func clip(s string, limit int) string {
	if len(s) > limit {
		s = s[:limit]
	}
	return toValid(s)
}
