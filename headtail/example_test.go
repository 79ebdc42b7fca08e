package headtail_test

import (
	"fmt"

	"github.com/toolproc/toolproc/headtail"
)

func ExampleNew() {
	b := headtail.New(16, 16)
	for i := range 1000 {
		fmt.Fprintf(b, "step %d\n", i)
	}
	fmt.Fprintln(b, "failed")
	b.Close()

	text, cut := b.Snapshot(0).Text(headtail.Limits{})
	fmt.Print(text)
	fmt.Printf("(%d of %d bytes)\n", cut.RetainedBytes, cut.OriginalBytes)
	// Output:
	// step 0
	// step 1
	// st
	//
	// ... [omitted 8865 bytes] ...
	//
	// step 999
	// failed
	// (32 of 8897 bytes)
}

// A reader that asks again from Total gets each byte once, and no rune in
// halves.
func ExampleBuffer_Snapshot() {
	b := headtail.New(headtail.DefaultHead, headtail.DefaultTail)
	var next int64
	for _, chunk := range []string{"caf", "\xc3", "\xa9 au l", "ait\n"} {
		b.Write([]byte(chunk))
		s := b.Snapshot(next)
		fmt.Printf("%q, next %d\n", s.Head, s.Total)
		next = s.Total
	}
	// Output:
	// "caf", next 3
	// "", next 3
	// "é au l", next 10
	// "ait\n", next 14
}
