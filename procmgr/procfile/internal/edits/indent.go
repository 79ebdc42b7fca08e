package edits

import "strings"

// An indents puts the indentation of a file into lines that a model has indented in
// its own way. It learns it from the lines of the search, of which the file has each
// one in its own way.
type indents struct {
	model *block
	file  text

	from  int // the place that pairs are of; -1: none yet
	pairs []pair
	unit  string // one level in the file; "" until it is asked for
}

// A pair is the indentation of one line of the search.
type pair struct {
	line        int
	model, file string
}

// indentOf returns the white space before a line.
func indentOf(line string) string { return line[:len(line)-len(strings.TrimLeft(line, " \t"))] }

// line returns line j of the replacement as the file would have it at a place.
func (in *indents) line(at, j int) string {
	line := in.model.replace[j]
	if strings.TrimSpace(line) == "" {
		return ""
	}
	if in.from != at {
		in.from, in.pairs = at, nil
		for k, s := range in.model.search {
			if strings.TrimSpace(s) != "" {
				in.pairs = append(in.pairs, pair{k, indentOf(s), indentOf(in.file.text(at + k))})
			}
		}
	}
	own := indentOf(line)
	return in.of(own, in.about(j)) + line[len(own):]
}

// about returns the line of the search in whose place a line of the replacement
// stands, as far as the lines that stay tell.
func (in *indents) about(j int) int {
	for i := j - 1; i >= 0; i-- {
		if k := in.model.stays[i]; k >= 0 {
			return k + j - i
		}
	}
	return j
}

// of returns the file's indentation for one of the model's.
func (in *indents) of(own string, about int) string {
	near := func(fits func(pair) int) (best pair, ok bool) {
		most, far := -1, 0
		for _, p := range in.pairs {
			d := p.line - about
			if d < 0 {
				d = 1 - 2*d // of two that are as near, the one behind
			} else {
				d *= 2
			}
			if n := fits(p); n >= 0 && (n > most || n == most && d < far) {
				best, most, far = p, n, d
			}
		}
		return best, most >= 0
	}
	if p, ok := near(func(p pair) int {
		if p.model == own {
			return 0
		}
		return -1
	}); ok {
		return p.file
	}
	if p, ok := near(func(p pair) int { // the deepest of those above it
		if strings.HasPrefix(own, p.model) {
			return len(p.model)
		}
		return -1
	}); ok {
		return p.file + in.convert(own[len(p.model):])
	}
	if p, ok := near(func(p pair) int { // the highest of those below it
		if strings.HasPrefix(p.model, own) {
			return 1<<20 - len(p.model)
		}
		return -1
	}); ok {
		less := in.convert(p.model[len(own):])
		return p.file[:max(len(p.file)-len(less), 0)]
	}
	return in.convert(own)
}

// convert turns some levels of the model's indentation into the file's.
func (in *indents) convert(levels string) string {
	// What the search itself shows of one level comes first.
	for _, a := range in.pairs {
		for _, b := range in.pairs {
			model, deeper := strings.CutPrefix(b.model, a.model)
			file, too := strings.CutPrefix(b.file, a.file)
			if !deeper || !too || model == "" || file == "" || len(levels)%len(model) != 0 {
				continue
			}
			if n := len(levels) / len(model); strings.Repeat(model, n) == levels {
				return strings.Repeat(file, n)
			}
		}
	}
	unit, own := in.fileUnit(), in.modelUnit()
	tabs := strings.Count(levels, "\t")
	spaces := len(levels) - tabs
	switch {
	case tabs > 0 && unit == "\t", tabs == 0 && unit != "\t" && (own == len(unit) || own < 2):
		return levels
	case own < 2:
		own = 4
	}
	return strings.Repeat(unit, tabs+spaces/own) + strings.Repeat(" ", spaces%own)
}

// modelUnit returns by how many spaces the model indents one level, or 0 if it does
// not tell.
func (in *indents) modelUnit() int {
	unit := 0
	for _, lines := range [...][]string{in.model.search, in.model.replace} {
		last := -1
		for _, line := range lines {
			if strings.TrimSpace(line) == "" {
				continue
			}
			n := len(indentOf(line))
			if strings.Contains(indentOf(line), "\t") {
				continue
			}
			if last >= 0 {
				unit = gcd(unit, max(n-last, last-n))
			}
			last = n
		}
	}
	return unit
}

func gcd(a, b int) int {
	for b != 0 {
		a, b = b, a%b
	}
	return a
}

// fileUnit returns one level of the file's indentation: what most lines that are
// deeper than the line before them have more.
func (in *indents) fileUnit() string {
	if in.unit != "" {
		return in.unit
	}
	seen := make(map[string]int)
	last := ""
	for i := range min(in.file.count(), 10_000) {
		line := in.file.text(i)
		if strings.TrimSpace(line) == "" {
			continue
		}
		now := indentOf(line)
		if more, ok := strings.CutPrefix(now, last); ok && more != "" && (more[0] == '\t' || len(more) <= 8) {
			seen[more]++
		}
		last = now
	}
	in.unit = "    "
	most := 0
	for unit, n := range seen {
		if unit[0] == '\t' {
			unit = "\t"
		}
		if n > most || n == most && unit < in.unit {
			in.unit, most = unit, n
		}
	}
	return in.unit
}
