package shellfacts

import "mvdan.cc/sh/v3/syntax"

// arithmetic walks an expression. In bash, the value of a variable in it is an
// expression as well, and the index of an array in that one is expanded, with
// commands: x='a[$(ls)]'; echo $((x)) runs ls. So only numbers are known.
func (w *walker) arithmetic(x syntax.ArithmExpr) {
	switch x := x.(type) {
	case nil:
	case *syntax.BinaryArithm:
		w.arithmetic(x.X)
		w.arithmetic(x.Y)
	case *syntax.UnaryArithm:
		w.arithmetic(x.X)
	case *syntax.ParenArithm:
		w.arithmetic(x.X)
	case *syntax.Word:
		w.word(x, w.sc)
		w.evaluated(x)
		w.assigns(x.Lit(), value{}) // it may be
	default:
		w.note(w.written(x), " could not be read")
	}
}

// evaluated is called for a word that bash evaluates as an expression.
func (w *walker) evaluated(word *syntax.Word) {
	if len(word.Parts) == 1 {
		part := word.Parts[0]
		if q, ok := part.(*syntax.DblQuoted); ok && len(q.Parts) == 1 {
			part = q.Parts[0]
		}
		switch part := part.(type) {
		case *syntax.Lit:
			if digits(part.Value) {
				return
			}
		case *syntax.ParamExp:
			if number(part) {
				return
			}
		case *syntax.ArithmExp:
			return // it has been walked by itself
		}
	}
	if !w.posix {
		w.note(w.written(word), " is evaluated as an expression, in which an index may run commands")
	}
}

// condition walks what stands in [[ and ]].
func (w *walker) condition(x syntax.TestExpr) {
	switch x := x.(type) {
	case *syntax.BinaryTest:
		w.condition(x.X)
		w.condition(x.Y)
		if x.Op >= syntax.TsEql && x.Op <= syntax.TsGtr {
			for _, side := range []syntax.TestExpr{x.X, x.Y} {
				if word, ok := side.(*syntax.Word); ok {
					w.evaluated(word)
				}
			}
		}
	case *syntax.UnaryTest:
		w.condition(x.X)
		if word, ok := x.X.(*syntax.Word); (x.Op == syntax.TsVarSet || x.Op == syntax.TsRefVar) && !(ok && identifier(word.Lit())) {
			w.note(w.written(x), " expands an index")
		}
	case *syntax.ParenTest:
		w.condition(x.X)
	case *syntax.Word:
		w.word(x, w.sc)
	}
}
