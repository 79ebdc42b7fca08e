package linedfa

import (
	"bytes"
	"encoding/binary"
	"regexp/syntax"
	"slices"
	"unicode/utf8"
)

// An Automaton tells whether an expression matches a line. One goroutine at a
// time uses it.
//
// It is the deterministic automaton of the expression's program: a state is the
// set of instructions at which the program may be. States and steps are found
// when a line needs them, and kept. There can be very many, so if they take too
// much room, all are found anew.
type Automaton struct {
	prog     *syntax.Prog // nil if the automaton is of no use
	*classes              // nil before the first line
	anchored bool         // no match begins behind the beginning of a line
	prefix   []byte       // each match begins with it

	// steps has the step from each state by each class: the state after it,
	// as an index in steps, or one of the numbers below.
	steps  []int32
	states []state // that of the index i is states[i/width]
	known  map[string]int32
	start  int32
	most   int // states
	read   int // bytes of lines, since all states were found anew

	patient bool // do not give up; for tests

	todo          []uint32 // used by step and enter
	seen, reached []bool   // by instruction; false between two steps
}

// The steps that do not lead to a state.
const (
	unknown int32 = 0 // and state 0 is none
	matched int32 = -1
	dead    int32 = -2 // no match can come
)

// maxSteps bounds the room for steps; each takes four bytes.
const maxSteps = 16 << 10

// usual is how many bytes the lines should have for each state that is found. If
// they have fewer, package regexp is faster.
const usual = 100

// A state is where the program may be after some text.
type state struct {
	before side     // of the next character
	at     []uint32 // instructions that take a character or ask for its sides, in ascending order
}

// New returns the automaton of a program.
func New(prog *syntax.Prog) *Automaton {
	prefix, _ := prog.Prefix()
	return &Automaton{prog: prog, anchored: prog.StartCond()&syntax.EmptyBeginText != 0, prefix: []byte(prefix)}
}

// Match reports whether the expression matches a line. ok is false if the
// automaton cannot tell, or would take longer than package regexp.
func (a *Automaton) Match(line []byte) (matches, ok bool) {
	if a.classes == nil && !a.build() {
		return false, false
	}
	a.read += len(line)
	if len(a.prefix) > 0 {
		// The program does not look at what comes before it.
		i := bytes.Index(line, a.prefix)
		if i < 0 {
			return false, true
		}
		line = line[i:]
	}
	at, steps, ofByte := a.start, a.steps, &a.ofByte
	for i := 0; i < len(line); {
		c := line[i]
		next := steps[at+int32(ofByte[c])]
		if next > 0 {
			at = next
			i++
			continue
		}
		size := 1
		if next == unknown {
			class := int32(ofByte[c])
			if c >= utf8.RuneSelf {
				var r rune
				r, size = utf8.DecodeRune(line[i:])
				class = a.of(r)
			}
			if next = steps[at+class]; next == unknown {
				if next = a.step(at, class); a.classes == nil {
					return false, false
				}
				steps = a.steps
			}
		}
		switch next {
		case matched:
			return true, true
		case dead:
			return false, true
		}
		at = next
		i += size
	}
	next := steps[at+a.end]
	if next == unknown {
		next = a.step(at, a.end)
	}
	return next == matched, true
}

// build makes what the first line needs. It reports false if the automaton is
// of no use.
func (a *Automaton) build() bool {
	if a.prog == nil {
		return false
	}
	c := newClasses(a.prog)
	if c == nil {
		a.prog = nil
		return false
	}
	a.classes = c
	a.most = maxSteps / int(c.width)
	a.seen, a.reached = make([]bool, len(a.prog.Inst)), make([]bool, len(a.prog.Inst))
	a.renew()
	return true
}

// renew forgets all states but the first.
func (a *Automaton) renew() {
	a.steps = append(a.steps[:0], make([]int32, a.width)...)
	a.states = append(a.states[:0], state{})
	a.known = make(map[string]int32)
	a.read = 0
	a.start = a.enter([]uint32{uint32(a.prog.Start)}, border)
	if a.start < 0 { // matched or dead, without looking at the line
		n := int32(len(a.steps))
		for range a.width {
			a.steps = append(a.steps, a.start)
		}
		a.states = append(a.states, state{})
		a.start = n
	}
}

// step finds the step from a state by a class.
func (a *Automaton) step(from, class int32) (to int32) {
	s := a.states[from/a.width]
	after := a.sides[class]
	context := syntax.EmptyOpContext(s.before.rune(), after.rune())
	var next []uint32
	todo := a.todo[:0]
	visit := func(pc uint32) {
		if !a.seen[pc] {
			a.seen[pc] = true
			todo = append(todo, pc)
		}
	}
	for _, pc := range s.at {
		visit(pc)
	}
	for i := 0; i < len(todo) && to != matched; i++ {
		switch inst := &a.prog.Inst[todo[i]]; inst.Op {
		case syntax.InstMatch:
			to = matched
		case syntax.InstAlt, syntax.InstAltMatch:
			visit(inst.Out)
			visit(inst.Arg)
		case syntax.InstCapture, syntax.InstNop:
			visit(inst.Out)
		case syntax.InstEmptyWidth:
			if syntax.EmptyOp(inst.Arg)&^context == 0 {
				visit(inst.Out)
			}
		case syntax.InstFail:
		default: // an instruction that takes a character
			if class != a.end && inst.MatchRune(a.runes[class]) && !a.reached[inst.Out] {
				a.reached[inst.Out] = true
				next = append(next, inst.Out)
			}
		}
	}
	for _, pc := range todo {
		a.seen[pc] = false
	}
	for _, pc := range next {
		a.reached[pc] = false
	}
	a.todo = todo
	switch {
	case to == matched:
	case class == a.end:
		to = dead
	default:
		next = append(next, uint32(a.prog.Start)) // a match may begin behind the character
		if to = a.enter(next, after); to == unknown {
			return a.overflow(next, after)
		}
	}
	a.steps[from+class] = to
	return to
}

// overflow finds all states anew, and returns the index of one.
func (a *Automaton) overflow(roots []uint32, before side) int32 {
	if a.read < usual*a.most && !a.patient {
		a.prog, a.classes, a.steps, a.states, a.known = nil, nil, nil, nil, nil
		return unknown
	}
	a.renew()
	return a.enter(roots, before)
}

// enter returns the index of the state in which the program is at some
// instructions, or matched or dead. It returns unknown if there is no room for
// the state.
func (a *Automaton) enter(roots []uint32, before side) int32 {
	todo := a.todo[:0]
	visit := func(pc uint32) {
		if !a.seen[pc] {
			a.seen[pc] = true
			todo = append(todo, pc)
		}
	}
	for _, pc := range roots {
		visit(pc)
	}
	var at []uint32
	match := false
	for i := 0; i < len(todo); i++ {
		pc := todo[i]
		switch inst := &a.prog.Inst[pc]; inst.Op {
		case syntax.InstMatch:
			match = true
		case syntax.InstAlt, syntax.InstAltMatch:
			visit(inst.Out)
			visit(inst.Arg)
		case syntax.InstCapture, syntax.InstNop:
			visit(inst.Out)
		case syntax.InstEmptyWidth:
			if before.allows(syntax.EmptyOp(inst.Arg)) {
				at = append(at, pc)
			}
		case syntax.InstFail:
		default:
			at = append(at, pc)
		}
	}
	for _, pc := range todo {
		a.seen[pc] = false
	}
	a.todo = todo
	switch {
	case match:
		return matched
	case len(at) == 0 && a.anchored:
		return dead
	}
	slices.Sort(at)
	key := []byte{byte(before)}
	for _, pc := range at {
		key = binary.AppendUvarint(key, uint64(pc))
	}
	if index, ok := a.known[string(key)]; ok {
		return index
	}
	if len(a.states) >= a.most {
		return unknown
	}
	index := int32(len(a.steps))
	a.steps = append(a.steps, make([]int32, a.width)...)
	a.states = append(a.states, state{before, at})
	a.known[string(key)] = index
	return index
}
