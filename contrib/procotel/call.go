package procotel

import (
	"context"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/trace"

	"github.com/toolproc/toolproc/chattool/toolset"
)

// Call makes the span of a call, in which next carries it out. It is for the
// field Intercept of toolset.Options, and of filetool.Options. The span has an error if the tool could not do its work.
// A command that fails is no error of the tool: the span has its exit code.
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
	ctx, span := t.tracer.Start(ctx, name, trace.WithAttributes(attributes...))
	defer span.End()
	res := next(ctx)
	if res.Output != nil {
		span.SetAttributes(about(&res.Output.Process)...)
	}
	switch {
	case res.Report.Denied:
		span.SetAttributes(attribute.Bool("toolproc.denied", true))
	case res.IsError:
		span.SetAttributes(attribute.String("error.type", "tool_error"))
		span.SetStatus(codes.Error, "the tool could not do its work")
	}
	return res
}

// maxName is the limit of what a model has chosen, in bytes.
const maxName = 64

// clip returns the beginning of s as valid UTF-8, which the exporters want.
func clip(s string, limit int) string {
	if len(s) > limit {
		s = s[:limit]
	}
	return toValid(s)
}
