package redact

// MaskRows masks the values on a screen with so many columns, cell by cell, also
// if a value goes on in the next row. What stands before the cursor may be the
// beginning of a value: Soon bytes of it and more are masked too.
func (s *Set) MaskRows(rows []string, cols, row, col int) []string {
	if s == nil {
		return rows
	}
	var text []byte
	var cells [][2]int // of each byte: its row, and the cell in it; -1 between two rows
	cursor := -1
	for y, line := range rows {
		x := 0
		for _, r := range line {
			if y == row && x == col {
				cursor = len(text)
			}
			text = append(text, string(r)...)
			for len(cells) < len(text) {
				cells = append(cells, [2]int{y, x})
			}
			x++
		}
		if y == row && cursor < 0 {
			cursor = len(text)
		}
		if x < cols {
			text, cells = append(text, '\n'), append(cells, [2]int{y, -1})
		}
	}
	spans := s.find(text, func(int) {})
	if cursor >= Soon {
		if from, value := s.opens(text[:cursor]); cursor-from >= Soon {
			spans = merge(append(spans, span{from, cursor, value}))
		}
	}
	if len(spans) == 0 {
		return rows
	}
	drawn := make([][]rune, len(rows))
	for y, line := range rows {
		drawn[y] = []rune(line)
	}
	for _, span := range spans {
		words := []rune("[withheld: " + s.names[span.value] + "]")
		last := [2]int{-1, -1}
		for _, cell := range cells[span.from:span.to] {
			if cell == last || cell[1] < 0 {
				continue
			}
			last = cell
			drawn[cell[0]][cell[1]] = '-'
			if len(words) > 0 {
				drawn[cell[0]][cell[1]], words = words[0], words[1:]
			}
		}
	}
	masked := make([]string, len(rows))
	for y := range drawn {
		masked[y] = string(drawn[y])
	}
	return masked
}
