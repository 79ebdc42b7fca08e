package procmgr

// A Screen is the content of a terminal.
type Screen struct {
	// Rows are all rows of the terminal, from the top, without trailing
	// blanks.
	Rows []string `json:"rows"`
	// Row and Col are the cursor's place, counted from 0.
	Row int `json:"row"`
	Col int `json:"col"`
	// Alternate reports that the program shows its alternate screen, as
	// editors and pagers do.
	Alternate bool `json:"alternate,omitempty"`
}
