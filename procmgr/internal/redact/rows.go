package redact

import "unicode/utf8"

// MaskRows masks the values on a screen with so many columns, cell by cell, also
// if a value goes on in the next row. What stands before the cursor may be the
// beginning of a value: Soon bytes of it and more are masked too.
func (s *Set) MaskRows(rows []string, cols, row, col int) []string {
	if s == nil {
		return rows
	}
	var cells []rune
	cursor := 0
	for y, line := range rows {
		begin := len(cells)
		cells = append(cells, []rune(line)...)
		if y == row {
			cursor = len(string(cells[:min(begin+col, len(cells))]))
		}
		if len(cells)-begin < cols {
			cells = append(cells, '\n')
		}
	}
	text := []byte(string(cells))
	spans := s.find(text, func(int) {})
	if from, value := s.opens(text[:cursor]); cursor-from >= Soon {
		spans = merge(append(spans, span{from, cursor, value}))
	}
	for _, span := range spans {
		words := []rune("[withheld: " + s.names[span.value] + "]")
		from := utf8.RuneCount(text[:span.from])
		for i := range cells[from : from+utf8.RuneCount(text[span.from:span.to])] {
			switch cell := &cells[from+i]; {
			case *cell == '\n': // between two rows
			case len(words) > 0:
				*cell, words = words[0], words[1:]
			default:
				*cell = '-'
			}
		}
	}
	masked := make([]string, len(rows))
	for y, line := range rows {
		n := utf8.RuneCountInString(line)
		masked[y] = string(cells[:n])
		if n < cols {
			n++ // the newline
		}
		cells = cells[n:]
	}
	return masked
}
