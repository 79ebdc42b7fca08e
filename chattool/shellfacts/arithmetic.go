package shellfacts

import "mvdan.cc/sh/v3/syntax"

// arithmetic walks an expression. In bash, the value of a variable in it is an
// expression as well, and the index of an array in that one is expanded, with
// commands: x='a[$(ls)]'; echo $((x)) runs ls. So only numbers, and variables that
// have integers, are known.
func (w *walker) arithmetic(x syntax.ArithmExpr) {
	switch x := x.(type) {
	case nil:
	case *syntax.BinaryArithm:
		w.arithmetic(x.X)
		w.arithmetic(x.Y)
		if word, ok := x.X.(*syntax.Word); ok && (x.Op == syntax.Assgn || x.Op >= syntax.AddAssgn && x.Op <= syntax.PowAssgn) {
			w.assigns(word.Lit(), literal("0"))
		}
	case *syntax.UnaryArithm:
		w.arithmetic(x.X)
		if word, ok := x.X.(*syntax.Word); ok && (x.Op == syntax.Inc || x.Op == syntax.Dec) {
			w.assigns(word.Lit(), literal("0"))
		}
	case *syntax.ParenArithm:
		w.arithmetic(x.X)
	case *syntax.Word:
		w.word(x, w.sc)
		if !w.posix && !w.number(x) {
			w.note(w.written(x), " is evaluated as an expression, in which an index may run commands")
		}
	default:
		w.note(w.written(x), " could not be read")
	}
}

// number reports whether a word of an expression is a number, or stands for one.
func (w *walker) number(word *syntax.Word) bool {
	if len(word.Parts) != 1 {
		return false
	}
	switch part := word.Parts[0].(type) {
	case *syntax.Lit:
		return digits(part.Value) || w.integer(part.Value)
	case *syntax.ParamExp:
		if number(part) || part.Length && (part.Index == nil || whole(part.Index)) {
			return true
		}
		return part.Param != nil && part.Index == nil && !part.Excl && part.Slice == nil && part.Repl == nil && part.Exp == nil && w.integer(part.Param.Value)
	case *syntax.ArithmExp:
		return true // it has been walked by itself
	}
	return false
}

// index walks the index of an array.
func (w *walker) index(x syntax.ArithmExpr) {
	if word, ok := x.(*syntax.Word); ok && len(word.Parts) == 1 {
		if lit, ok := word.Parts[0].(*syntax.Lit); ok && (digits(lit.Value) || w.integer(lit.Value)) {
			return
		}
	}
	w.arithmetic(x)
}

// condition walks what stands in [[ and ]].
func (w *walker) condition(x syntax.TestExpr) {
	switch x := x.(type) {
	case *syntax.BinaryTest:
		w.condition(x.X)
		w.condition(x.Y)
		if x.Op >= syntax.TsEql && x.Op <= syntax.TsGtr {
			for _, side := range []syntax.TestExpr{x.X, x.Y} {
				if word, ok := side.(*syntax.Word); !ok || !w.integral(word) {
					w.note(w.written(side), " is evaluated as an expression, in which an index may run commands")
				}
			}
		}
	case *syntax.UnaryTest:
		w.condition(x.X)
		if x.Op == syntax.TsVarSet || x.Op == syntax.TsRefVar {
			if word, ok := x.X.(*syntax.Word); !ok || !identifier(word.Lit()) {
				w.note(w.written(x), " expands an index")
			}
		}
	case *syntax.ParenTest:
		w.condition(x.X)
	case *syntax.Word:
		w.word(x, w.sc)
	}
}

// integral is number for a word that may be in double quotes.
func (w *walker) integral(word *syntax.Word) bool {
	if len(word.Parts) == 1 {
		if q, ok := word.Parts[0].(*syntax.DblQuoted); ok && !q.Dollar {
			word = &syntax.Word{Parts: q.Parts}
		}
	}
	return w.number(word)
}
