package prockeep

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"net"
	"os"
	"strings"
	"syscall"
)

// nameOf returns the beginning of the abstract addresses at which the keepers of a
// directory are found even if that was removed, see unix(7). A path means another
// directory in another mount namespace or below another root.
func nameOf(dir string) string {
	space, _ := os.Readlink("/proc/self/ns/mnt") // if it cannot be read, it is "" for other programs too
	var root syscall.Stat_t
	_ = syscall.Stat("/", &root) // it succeeds
	sum := sha256.Sum256(fmt.Appendf(nil, "%d %s %d %d %s", os.Geteuid(), space, root.Dev, root.Ino, dir))
	return "@toolproc-keeper-" + hex.EncodeToString(sum[:16]) + "-"
}

// listenName listens at the abstract address of a keeper.
func listenName(dir, token string) (net.Listener, error) {
	return net.Listen("unix", nameOf(dir)+token)
}

// namedKeepers returns the tokens of the keepers of a directory that live.
func namedKeepers(dir string) (tokens []string) {
	text, _ := os.ReadFile("/proc/net/unix") // whoever cannot read it finds none
	name := nameOf(dir)
	for line := range bytes.Lines(text) {
		_, token, found := strings.Cut(strings.TrimSpace(string(line)), name)
		if found {
			tokens = append(tokens, token)
		}
	}
	return tokens
}
