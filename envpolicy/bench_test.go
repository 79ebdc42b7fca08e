package envpolicy_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/toolproc/toolproc/envpolicy"
)

// desktop returns an environment of 60 variables, like that of a desktop
// terminal.
func desktop() []string {
	env := strings.Split(strings.TrimSpace(`
SHELL=/bin/bash
SESSION_MANAGER=local/host:@/tmp/.ICE-unix/2345,unix/host:/tmp/.ICE-unix/2345
COLORTERM=truecolor
XDG_CONFIG_DIRS=/etc/xdg/xdg-gnome:/etc/xdg
XDG_MENU_PREFIX=gnome-
GNOME_DESKTOP_SESSION_ID=this-is-deprecated
LANGUAGE=en_US:en
SSH_AUTH_SOCK=/run/user/1000/keyring/ssh
XMODIFIERS=@im=ibus
DESKTOP_SESSION=gnome
EDITOR=vim
GTK_MODULES=gail:atk-bridge
PWD=/home/user/src/project
LOGNAME=user
XDG_SESSION_TYPE=wayland
SYSTEMD_EXEC_PID=2345
XAUTHORITY=/run/user/1000/.mutter-Xwaylandauth.ABCDEF
HOME=/home/user
USERNAME=user
LANG=en_US.UTF-8
LS_COLORS=`+strings.Repeat("di=01;34:*.tar=01;31:", 70)+`
XDG_CURRENT_DESKTOP=GNOME
WAYLAND_DISPLAY=wayland-0
GNOME_TERMINAL_SERVICE=:1.123
LESSCLOSE=/usr/bin/lesspipe %s %s
XDG_SESSION_CLASS=user
TERM=xterm-256color
LESSOPEN=| /usr/bin/lesspipe %s
USER=user
DISPLAY=:0
SHLVL=1
QT_IM_MODULE=ibus
XDG_RUNTIME_DIR=/run/user/1000
DEBUGINFOD_URLS=https://debuginfod.example.com
XDG_DATA_DIRS=/usr/share/gnome:/usr/local/share:/usr/share:/var/lib/snapd/desktop
PATH=/home/user/go/bin:/home/user/.local/bin:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin
GDMSESSION=gnome
DBUS_SESSION_BUS_ADDRESS=unix:path=/run/user/1000/bus
GOPATH=/home/user/go
GOFLAGS=-mod=readonly
CARGO_HOME=/home/user/.cargo
NVM_DIR=/home/user/.nvm
HTTPS_PROXY=http://user:password@proxy.example.com:3128
NO_PROXY=localhost,127.0.0.1
OPENAI_API_KEY=x
ANTHROPIC_API_KEY=x
GITHUB_TOKEN=x
AWS_REGION=eu-central-1
AWS_SECRET_ACCESS_KEY=x
DATABASE_URL=postgres://user:password@db.example.com/production
_=/usr/bin/env
`), "\n")
	for i := len(env); i < 60; i++ {
		env = append(env, fmt.Sprintf("PROJECT_SETTING_%d=some value", i))
	}
	return env
}

func BenchmarkApply(b *testing.B) {
	request := map[string]string{"FOO": "1", "PORT": "8080"}
	benchmarks := []struct {
		name   string
		goos   string
		policy envpolicy.Policy
	}{
		{"default", "linux", envpolicy.Policy{}},
		{"core", "linux", envpolicy.Policy{Inherit: envpolicy.InheritCore}},
		{"patterns", "linux", envpolicy.Policy{
			Allow:   []string{"OPENAI_*", "GITHUB_TOKEN"},
			Exclude: []string{"XDG_*", "GNOME_*", "*_SESSION_*"},
			Set:     map[string]string{"A": "1", "B": "2"},
		}},
		{"windows", "windows", envpolicy.Policy{}},
	}
	base := desktop()
	for _, bm := range benchmarks {
		b.Run(bm.name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				bm.policy.ApplyOn(bm.goos, base, request)
			}
		})
	}
}
