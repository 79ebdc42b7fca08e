package toolset_test

import (
	"fmt"
	"os"
	"runtime"
	"runtime/pprof"
	"testing"
	"time"

	"github.com/toolproc/toolproc/internal/testenv"
)

// TestMain fails if a test leaves a goroutine behind.
func TestMain(m *testing.M) {
	before := runtime.NumGoroutine()
	leave := testenv.CPUGroup()
	code := m.Run()
	leave()
	deadline := time.Now().Add(5 * time.Second)
	for code == 0 && runtime.NumGoroutine() > before+1 { // one more handles os/signal, once fuzzing has used it
		if time.Now().After(deadline) {
			fmt.Fprintln(os.Stderr, "goroutines were left behind:")
			pprof.Lookup("goroutine").WriteTo(os.Stderr, 1)
			code = 1
		}
		runtime.Gosched()
	}
	os.Exit(code)
}
