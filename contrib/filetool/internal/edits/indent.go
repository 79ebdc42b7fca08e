package edits

import "strings"

// An indents puts the indentation of a file into lines that a model has indented in
// its own way. It learns how from the lines of the search, by the indentation that the
// file has on the same lines.
type indents struct {
	model *block
	file  text

	pairs []pair
}

// A pair is the indentation of one line of the search.
type pair struct {
	line        int
	model, file string
}

// indentOf returns the white space before a line.
func indentOf(line string) string { return line[:len(line)-len(strings.TrimLeft(line, " \t"))] }

// move makes at the place that pairs are of. It reports whether they tell how the
// replacement is indented: if the model has lost levels that the file has, they do so only
// for lines that are in the places of others.
func (in *indents) move(at int) bool {
	in.pairs = nil
	search, replace := in.model.search, in.model.replace
	files := make(map[string]string)
	lost, same := false, len(search) == len(replace)
	for j, k := range in.model.stays {
		same = same && (k < 0 || k == j)
	}
	for k, s := range search[:min(len(search), in.file.count()-at)] {
		same = same && indentOf(s) == indentOf(replace[k])
		if allTrimmed(s) == "" {
			continue
		}
		p := pair{k, indentOf(s), indentOf(in.file.text(at + k))}
		if other, ok := files[p.model]; ok && other != p.file {
			lost = true
		}
		files[p.model] = p.file
		in.pairs = append(in.pairs, p)
	}
	if lost {
		return same
	}
	return !in.model.flat()
}

// literal reports that the model indents as the file does: some line of the search says so,
// and none but the first says otherwise.
func (in *indents) literal() (is bool) {
	for _, p := range in.pairs {
		if p.model != p.file && p.line > 0 {
			return false
		}
		is = is || p.model == p.file && p.model != ""
	}
	return is
}

// line returns line j of the replacement as the file would have it.
func (in *indents) line(j int) string {
	line := in.model.replace[j]
	if allTrimmed(line) == "" {
		return ""
	}
	if j > 0 && in.literal() {
		return line
	}
	own := indentOf(line)
	return in.of(own, j) + line[len(own):]
}

// of returns the file's indentation for one of the model's. It uses a line of the search
// with the same indentation, or adds levels to the deepest shallower line, or removes
// levels from the shallowest deeper one.
func (in *indents) of(own string, about int) string {
	var best pair
	most, far := 0, 0
	for _, p := range in.pairs {
		rank := 0
		switch {
		case p.model == own:
			rank = 3 << 20
		case strings.HasPrefix(own, p.model):
			rank = 2<<20 + len(p.model)
		case strings.HasPrefix(p.model, own):
			rank = 2<<20 - len(p.model)
		}
		d := 2 * (p.line - about)
		if d < 0 {
			d = 1 - d // of two that are as near, the one behind
		}
		if rank > most || rank == most && d < far {
			best, most, far = p, rank, d
		}
	}
	if more, ok := strings.CutPrefix(own, best.model); ok {
		return best.file + in.convert(more)
	}
	less := in.convert(best.model[len(own):])
	return best.file[:max(len(best.file)-len(less), 0)]
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
	if unit == "" {
		return levels
	}
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

// fileUnit returns one level of the file's indentation: what most lines that are deeper
// than the line before them have more. It is "" if none is deeper.
func (in *indents) fileUnit() (unit string) {
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
	most := 0
	for indent, n := range seen {
		if indent[0] == '\t' {
			indent = "\t"
		}
		if n > most || n == most && indent < unit {
			unit, most = indent, n
		}
	}
	return unit
}
