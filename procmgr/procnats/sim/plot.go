package main

import (
	"fmt"
	"math"
	"strings"
)

// plot draws the run as SVG: above the calls of each second, below the times of
// calls and of ends, on a logarithmic scale.
func (r *result) plot() string {
	const (
		width, left, right = 860, 60, 20
		top, high, between = 30, 150, 66
		under              = 60
	)
	var b strings.Builder
	second := top + high + between // the top of the lower part
	height := second + high + under
	longest, most := r.Options.Time.Seconds(), 1.0
	for _, p := range r.Points {
		longest, most = max(longest, p.At+1), max(most, float64(p.Calls+p.Failed))
	}
	step := niceStep(most / 3)
	most = math.Ceil(most/step) * step
	x := func(at float64) float64 { return left + at/longest*(width-left-right) }
	y := func(n float64) float64 { return top + high - n/most*high }
	const decades = 5 // from 0.1 ms on
	log := func(ms float64) float64 {
		return float64(second+high) - math.Log10(min(max(ms, 0.1), math.Pow(10, decades-1))/0.1)/decades*high
	}
	fmt.Fprintf(&b, "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%d\" height=\"%d\" viewBox=\"0 0 %d %d\" font-family=\"sans-serif\" font-size=\"11\">\n", width, height, width, height)
	fmt.Fprintf(&b, "<rect width=\"%d\" height=\"%d\" fill=\"#ffffff\"/>\n", width, height)
	text := func(x, y float64, anchor, color, s string) {
		fmt.Fprintf(&b, "<text x=\"%.1f\" y=\"%.1f\" text-anchor=\"%s\" fill=\"%s\">%s</text>\n", x, y, anchor, color, s)
	}
	rule := func(at float64, label string) {
		fmt.Fprintf(&b, "<line x1=\"%d\" y1=\"%.1f\" x2=\"%d\" y2=\"%.1f\" stroke=\"#e4e4e4\"/>\n", left, at, width-right, at)
		text(left-6, at+4, "end", "#444444", label)
	}
	for n := 0.0; n <= most; n += step {
		rule(y(n), fmt.Sprintf("%.0f", n))
	}
	for i, label := range []string{"0.1 ms", "1 ms", "10 ms", "100 ms", "1 s", "10 s"} {
		rule(log(0.1*math.Pow(10, float64(i))), label)
	}
	for i, f := range r.Faults {
		fmt.Fprintf(&b, "<line x1=\"%.1f\" y1=\"%d\" x2=\"%.1f\" y2=\"%d\" stroke=\"#999999\" stroke-dasharray=\"3 3\"/>\n", x(f.At), top, x(f.At), second+high)
		text(x(f.At)+3, float64(second-50+12*(i%3)), "start", "#666666", f.What)
	}
	line := func(color string, of func(point) (float64, bool)) {
		var path strings.Builder
		verb := "M"
		for _, p := range r.Points {
			at, ok := of(p)
			if !ok {
				verb = "M"
				continue
			}
			fmt.Fprintf(&path, "%s%.1f %.1f", verb, x(p.At+0.5), at)
			verb = "L"
		}
		fmt.Fprintf(&b, "<path d=\"%s\" fill=\"none\" stroke=\"%s\" stroke-width=\"1.5\"/>\n", path.String(), color)
	}
	const blue, orange, green, red = "#1f5fa8", "#d9822b", "#3a8f4d", "#c23030"
	line(blue, func(p point) (float64, bool) { return y(float64(p.Calls)), true })
	line(red, func(p point) (float64, bool) { return y(float64(p.Failed)), true })
	line(blue, func(p point) (float64, bool) { return log(p.P50), p.P50 > 0 })
	line(orange, func(p point) (float64, bool) { return log(p.P99), p.P99 > 0 })
	line(green, func(p point) (float64, bool) { return log(p.EndTime), p.Ends > 0 })
	text(left, top-10, "start", "#000000", fmt.Sprintf("%d machines, %d chats: calls a second", r.Options.Machines, r.Options.Chats))
	text(width-right, top-10, "end", red, "failed")
	text(left, float64(second-4), "start", "#000000", "times")
	at := float64(height - 14)
	text(left, at, "start", blue, "half of the calls that do not wait")
	text(left+210, at, "start", orange, "99 % of them")
	text(left+310, at, "start", green, "the longest way of an end to its agent")
	for n := 0.0; n <= longest; n += niceStep(longest / 8) {
		text(x(n), float64(second+high+16), "middle", "#444444", fmt.Sprintf("%.0f s", n))
	}
	b.WriteString("</svg>\n")
	return b.String()
}

// niceStep returns 1, 2 or 5 times a power of ten, at least n.
func niceStep(n float64) float64 {
	power := math.Pow(10, math.Floor(math.Log10(max(n, 0.001))))
	for _, f := range []float64{1, 2, 5} {
		if f*power >= n {
			return f * power
		}
	}
	return 10 * power
}
