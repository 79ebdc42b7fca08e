package shellfacts

import "mvdan.cc/sh/v3/syntax"

// arithmetic walks an expression. In bash, the value of a variable in it is an
// expression as well, and the index of an array in that one is expanded, with
// commands: x='a[$(ls)]'; echo $((x)) runs ls. So only numbers are known.
func (w *walker) arithmetic(x syntax.ArithmExpr) {
	if x == nil {
		return
	}
	syntax.Walk(x, func(n syntax.Node) bool {
		word, ok := n.(*syntax.Word)
		if ok {
			w.word(word, w.sc)
			w.evaluated(word)
			w.assigns(word.Lit(), value{}) // it may be
		}
		return !ok
	})
}

// evaluated is called for a word that bash evaluates as an expression.
func (w *walker) evaluated(n syntax.Node) {
	if word, ok := n.(*syntax.Word); ok && len(word.Parts) == 1 {
		part := word.Parts[0]
		if q, ok := part.(*syntax.DblQuoted); ok && len(q.Parts) == 1 {
			part = q.Parts[0]
		}
		if _, ok := part.(*syntax.ArithmExp); ok || digits(word.Lit()) {
			return // it has been walked by itself
		}
		if p, ok := part.(*syntax.ParamExp); ok && number(p) {
			return
		}
	}
	if !w.posix {
		w.note(w.written(n), " is evaluated as an expression, in which an index may run commands")
	}
}

// condition walks what stands in [[ and ]].
func (w *walker) condition(x syntax.TestExpr) {
	syntax.Walk(x, func(n syntax.Node) bool {
		switch n := n.(type) {
		case *syntax.BinaryTest:
			if n.Op >= syntax.TsEql && n.Op <= syntax.TsGtr {
				w.evaluated(n.X)
				w.evaluated(n.Y)
			}
		case *syntax.UnaryTest:
			if word, ok := n.X.(*syntax.Word); (n.Op == syntax.TsVarSet || n.Op == syntax.TsRefVar) && !(ok && identifier(word.Lit())) {
				w.note(w.written(n), " expands an index")
			}
		case *syntax.Word:
			w.word(n, w.sc)
			return false
		}
		return true
	})
}
