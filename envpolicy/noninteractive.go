package envpolicy

import (
	"slices"
	"strings"
)

// nonInteractive has the variables of NonInteractive as entries, which Apply can
// use as they are; sorted, so that Apply has little left to sort.
var nonInteractive = slices.Sorted(slices.Values([]string{
	// An editor that accepts the text as it is: a commit without a message
	// fails, a rebase takes its list unchanged. The ones of single programs are
	// here because an inherited one would win over EDITOR.
	"EDITOR=true",
	"GIT_EDITOR=true",
	"GIT_SEQUENCE_EDITOR=true",
	"HGEDITOR=true",
	"JJ_EDITOR=true",
	"KUBE_EDITOR=true",
	"SVN_EDITOR=true",
	"VISUAL=true",

	// A pager waits for a key.
	"AWS_PAGER=cat",
	"BAT_PAGER=cat",
	"DELTA_PAGER=cat",
	"GH_PAGER=cat",
	"GIT_PAGER=cat",
	"MANPAGER=cat",
	"PAGER=cat",
	"PSQL_PAGER=cat",
	"SYSTEMD_PAGER=cat",

	// Without a terminal, these would open a window on the desktop of whoever
	// runs the host. A helper that fails ends the question at once. It is
	// preferred over no helper, with which ssh asks on any terminal that it can
	// get hold of: force makes it use the helper even then.
	"GIT_ASKPASS=false",
	"SSH_ASKPASS=false",
	"SSH_ASKPASS_REQUIRE=force",
	"SUDO_ASKPASS=false",

	// Questions that are asked even without a terminal.
	"COREPACK_ENABLE_DOWNLOAD_PROMPT=0",
	"DEBIAN_FRONTEND=noninteractive",
	"APT_LISTCHANGES_FRONTEND=none",
	"GCM_INTERACTIVE=never",
	"GH_PROMPT_DISABLED=1",
	"GIT_TERMINAL_PROMPT=0",
	"PIP_NO_INPUT=1",
	"POETRY_NO_INTERACTION=1",
	"TF_INPUT=0",

	// Output for reading. Python holds back what it prints to a pipe, so that a
	// server seems to say nothing.
	"GH_NO_UPDATE_NOTIFIER=1",
	"NO_COLOR=1",
	"PIP_DISABLE_PIP_VERSION_CHECK=1",
	"PYTHONUNBUFFERED=1",
	"TERM=dumb",
}))

// NonInteractive returns the variables that keep a command without a terminal
// from waiting for a person, and its output plain: editors that change nothing,
// pagers that do not page, helpers that refuse to ask for a password, prompts
// and colors turned off. [Policy.Apply] sets them unless [Policy.Interactive];
// [Policy.Set] can change single ones, and [Policy.Unset] remove them.
//
// A host that hands out credentials by a GIT_ASKPASS of its own sets that one
// in Policy.Set.
//
// CI is not among them. Many programs ask nothing where it is set, but it also
// changes what builds do: warnings become errors, lock files become frozen.
// Nor is anything that answers a question with yes.
//
// The map is the caller's to change.
func NonInteractive() map[string]string {
	m := make(map[string]string, len(nonInteractive))
	for _, entry := range nonInteractive {
		name, value, _ := strings.Cut(entry, "=")
		m[name] = value
	}
	return m
}
