package envpolicy

import (
	"maps"
	"runtime"
	"slices"
	"strings"
)

// nonInteractive has the variables of NonInteractive.
var nonInteractive = map[string]string{
	// An editor that accepts the text unchanged: a commit without a message
	// fails, and a rebase takes its list as it is. The variables of single
	// programs are here because an inherited one would win over EDITOR.
	"EDITOR":              "true",
	"GIT_EDITOR":          "true",
	"GIT_SEQUENCE_EDITOR": "true",
	"HGEDITOR":            "true",
	"JJ_EDITOR":           "true",
	"KUBE_EDITOR":         "true",
	"SVN_EDITOR":          "true",
	"VISUAL":              "true",

	// A pager waits for a key.
	"AWS_PAGER":     "cat",
	"BAT_PAGER":     "cat",
	"DELTA_PAGER":   "cat",
	"GH_PAGER":      "cat",
	"GIT_PAGER":     "cat",
	"MANPAGER":      "cat",
	"PAGER":         "cat",
	"PSQL_PAGER":    "cat",
	"SYSTEMD_PAGER": "cat",

	// Without a terminal, these would open a window on the desktop of the user
	// who runs the host. A helper that fails ends the question at once. Without
	// a helper, ssh asks on any terminal that it finds; force makes it use the
	// helper even then.
	"GIT_ASKPASS":         "false",
	"SSH_ASKPASS":         "false",
	"SSH_ASKPASS_REQUIRE": "force",
	"SUDO_ASKPASS":        "false",

	// Some programs ask questions even without a terminal.
	"COREPACK_ENABLE_DOWNLOAD_PROMPT": "0",
	"DEBIAN_FRONTEND":                 "noninteractive",
	"APT_LISTCHANGES_FRONTEND":        "none",
	"GCM_INTERACTIVE":                 "never",
	"GH_PROMPT_DISABLED":              "1",
	"GIT_TERMINAL_PROMPT":             "0",
	"PIP_NO_INPUT":                    "1",
	"POETRY_NO_INTERACTION":           "1",
	"TF_INPUT":                        "0",

	// These make output plain. Python holds back its output to a pipe, so that
	// a server seems to print nothing.
	"GH_NO_UPDATE_NOTIFIER":         "1",
	"NO_COLOR":                      "1",
	"PIP_DISABLE_PIP_VERSION_CHECK": "1",
	"PYTHONUNBUFFERED":              "1",
	"TERM":                          "dumb",
}

// NonInteractive returns the variables that keep a command without a terminal
// from waiting for a person, and that keep its output plain: editors that
// change nothing, pagers that do not page, helpers that refuse to ask for a
// password, and prompts and colors turned off. [Policy.Apply] sets them unless
// [Policy.Interactive] is true. [Policy.Set] can change single variables.
//
// If a host gives out credentials through a GIT_ASKPASS of its own, it sets
// that variable in Policy.Set.
//
// CI is not among them. With CI set, many programs do not ask, but builds
// change too: warnings become errors, and lock files become frozen. No variable
// here answers a question with yes.
//
// The caller may change the map.
func NonInteractive() map[string]string { return maps.Clone(nonInteractive) }

// coreUnix and coreWindows have the patterns of CoreNames.
var (
	coreUnix = strings.Fields(coreBoth + `
		FTP_PROXY LANGUAGE LOCALE_ARCHIVE LOGNAME NIX_SSL_CERT_FILE TZDIR USER
		XDG_CACHE_HOME XDG_CONFIG_DIRS XDG_CONFIG_HOME XDG_DATA_DIRS XDG_DATA_HOME XDG_RUNTIME_DIR XDG_STATE_HOME
		__CF_USER_TEXT_ENCODING
	`)
	// Without SystemRoot, programs on Windows cannot even open a socket.
	coreWindows = strings.Fields(coreBoth + `
		ALLUSERSPROFILE APPDATA COMPUTERNAME CommonProgramFiles* CommonProgramW6432 ComSpec DriverData
		HOMEDRIVE HOMEPATH LOCALAPPDATA MSYSTEM NUMBER_OF_PROCESSORS OS PATHEXT PROCESSOR_* PSModulePath PUBLIC
		ProgramData ProgramFiles* ProgramW6432 SystemDrive SystemRoot TEMP TMP USERDOMAIN USERNAME USERPROFILE windir
	`)
)

const coreBoth = `
	HOME LANG LC_* PATH SHELL TERM TMPDIR TZ
	ALL_PROXY HTTPS_PROXY HTTP_PROXY NO_PROXY
	CURL_CA_BUNDLE NODE_EXTRA_CA_CERTS REQUESTS_CA_BUNDLE SSL_CERT_DIR SSL_CERT_FILE
`

// CoreNames returns patterns for [Policy.IncludeOnly]: the variables that programs
// on this platform need to run at all, to find the user's files, to use the user's
// language, and to reach the network through the host's proxy and with its
// certificates. The caller may change the slice.
func CoreNames() []string { return coreNames(runtime.GOOS) }

func coreNames(goos string) []string {
	if goos == "windows" {
		return slices.Clone(coreWindows)
	}
	return slices.Clone(coreUnix)
}
