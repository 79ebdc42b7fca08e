//go:build linux || darwin || freebsd || netbsd || openbsd || dragonfly

package prockeep

import (
	"bufio"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"net/http"
	"os"
	"slices"
	"strings"

	"golang.org/x/sys/unix"
	"golang.org/x/xerrors"

	"github.com/toolproc/toolproc/procmgr/prockeep/internal/holder"
)

// maxUpgradeTries is how many keepers an upgrade may meet that end in the midst of
// it, as at another program's upgrade.
const maxUpgradeTries = 100

// upgrade lets the keeper go on as the program of the opener.
func (o *opener) upgrade(ctx context.Context) error {
	if !holder.Supported {
		return errors.ErrUnsupported
	}
	path, err := o.program()
	if err != nil {
		return err
	}
	program, err := os.Open(path)
	if err != nil {
		return xerrors.Errorf("the keeper's program cannot be opened: %w", err)
	}
	defer program.Close()
	name := rand.Text()
	said := false
	for range maxUpgradeTries {
		l, err := o.connect(ctx)
		if err != nil {
			return err
		}
		switch {
		case slices.Contains(l.status.Upgrades, name):
			l.close()
			return nil
		case said:
			l.close()
			return xerrors.Errorf("the new program was started and has not taken over; the keeper goes on as the program of before, %s may say why", nameLog)
		}
		err = l.upgrade(ctx, program, name)
		if err == nil {
			said = true
			err = l.gone(ctx)
		}
		l.close()
		if err != nil && !errors.Is(err, errAbsent) {
			return err
		}
	}
	return xerrors.Errorf("each of %d keepers ended in the midst of it", maxUpgradeTries)
}

// upgrade asks the keeper at the other end for an upgrade. If it returns nil, that
// keeper is about to end, and the next one takes over.
func (l *line) upgrade(ctx context.Context, program *os.File, name string) error {
	defer l.bound(ctx, launchTime+saveTime)()
	err := l.askUpgrade(ctx, program, name)
	switch {
	case err == nil:
		return nil
	case ctx.Err() != nil:
		return ctx.Err()
	case errors.Is(err, os.ErrDeadlineExceeded):
		return xerrors.New("the keeper has not answered in time")
	}
	var told *refusedUpgrade
	if errors.As(err, &told) {
		return err
	}
	return errAbsent // it ended in the midst of this
}

// A refusedUpgrade is what a keeper says that goes on as it was.
type refusedUpgrade struct{ why string }

func (e *refusedUpgrade) Error() string { return e.why }

func (l *line) askUpgrade(ctx context.Context, program *os.File, name string) error {
	body, _ := json.Marshal(upgradeRequest{name}) // a string can always be written
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://localhost"+pathKeeper, strings.NewReader(string(body)))
	if err != nil {
		return err
	}
	if err := req.Write(l.conn); err != nil {
		return err
	}
	from := bufio.NewReader(l.conn)
	res, err := http.ReadResponse(from, req)
	if err != nil {
		return err
	}
	if res.StatusCode != http.StatusSwitchingProtocols {
		res.Body.Close()
		return &refusedUpgrade{"the keeper has answered " + res.Status + ", and not as one that can be upgraded"}
	}
	if _, _, err := l.conn.WriteMsgUnix([]byte{0}, unix.UnixRights(fdOf(program)), nil); err != nil {
		return err
	}
	res, err = http.ReadResponse(from, req)
	if err != nil {
		return err
	}
	defer res.Body.Close()
	var r report
	if err := json.NewDecoder(res.Body).Decode(&r); err != nil {
		return err
	}
	if r.Error != "" {
		return &refusedUpgrade{r.Error}
	}
	return nil
}
