package procnats_test

import (
	"encoding/base32"
	"encoding/json"
	"testing"

	"github.com/nats-io/nats.go/jetstream"
	"github.com/stretchr/testify/require"

	"github.com/toolproc/toolproc/contrib/procnats"
	"github.com/toolproc/toolproc/procmgr"
)

// ParseEnd believes the subject, which is what permissions are about.
func TestParseEnd(t *testing.T) {
	subject := base32.HexEncoding.WithPadding(base32.NoPadding).EncodeToString
	good, err := json.Marshal(procnats.End{Host: "build", Key: "x.1", Process: procmgr.Process{ID: "x", ChatID: "alice-1"}})
	require.NoError(t, err)
	host, err := json.Marshal(procnats.End{Host: "build", Key: "x.1", Process: procmgr.Process{ID: "x"}})
	require.NoError(t, err)
	for _, tt := range []struct {
		name, subject string
		data          []byte
		ok            bool
	}{
		{"a chat's", "toolproc.ends.build." + subject([]byte("alice-1")), good, true},
		{"the host's", "toolproc.ends.build._host", host, true},
		{"another machine", "toolproc.ends.gpu." + subject([]byte("alice-1")), good, false},
		{"another chat", "toolproc.ends.build." + subject([]byte("bob-1")), good, false},
		{"no chat", "toolproc.ends.build._host", good, false},
		{"another subject", "toolproc.build." + subject([]byte("alice-1")) + ".list", good, false},
		{"no JSON", "toolproc.ends.build." + subject([]byte("alice-1")), []byte("no end"), false},
		{"nothing", "toolproc.ends.build." + subject([]byte("alice-1")), nil, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			e, err := procnats.ParseEnd(message{subject: tt.subject, data: tt.data})
			if !tt.ok {
				require.ErrorIs(t, err, procmgr.ErrInvalid)
				return
			}
			require.NoError(t, err)
			require.Equal(t, "x", e.Process.ID)
		})
	}
}

// A message has what ParseEnd looks at.
type message struct {
	jetstream.Msg
	subject string
	data    []byte
}

func (m message) Subject() string { return m.subject }
func (m message) Data() []byte    { return m.data }
