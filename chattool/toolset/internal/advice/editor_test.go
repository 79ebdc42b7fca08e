package advice_test

import (
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/toolproc/toolproc/chattool/toolset/internal/advice"
)

const (
	vimWaits = "The editor vim waits for a person at a terminal, and there is neither. End it with process_signal." +
		" Change files with sed, a script or a here-document instead, or with a tool for files."
	unedited = "Nobody has edited the list of `git rebase -i`"
)

func TestEditor(t *testing.T) {
	t.Parallel()
	const warning = "Vim: Warning: Output is not to a terminal\nVim: Warning: Input is not from a terminal\n"
	for _, tt := range []struct{ name, command, output, want string }{
		{"vim", "vim main.go", warning + "\f\"main.go\" [New]~  ", vimWaits},
		{"behind something else", "./edit.sh", warning, vimWaits},
		{"nano", "cd src && nano main.go", "", "The editor nano waits"},
		{"nvim", "nvim", "", "The editor nvim waits"},
		{"vi after a line", "ls\nvi f", "f\n", "The editor vi waits"},
		{"with options", "nvim --headless f", "", ""},
		{"a command of its own", "vim +wq f", "", ""},
		{"with input", "vi f < keys", "", ""},
		{"another program", "./server vim", "", ""},
		{"quoted", "echo 'vim f'", "", ""},
		{"not the last", "vim f; ./server", "", ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r := running(tt.command, tt.output)
			if tt.want == "" {
				require.NotContains(t, noteOf(r), "editor")
			} else {
				require.Contains(t, noteOf(r), tt.want)
			}
			r.Ran = 0
			require.NotContains(t, noteOf(r), "editor", "it has only just begun")
			require.NotContains(t, noteOn(tt.command, 0, tt.output), "editor", "it has ended by itself")
		})
	}
	require.Contains(t, noteOn("vim f", 1, warning+"Vim: Error reading input, exiting...\n"), "The editor vim waits")
	require.NotContains(t, noteOn("vim f", 1, warning), "process_signal")
}

func TestUnedited(t *testing.T) {
	t.Parallel()
	for name, commands := range map[string][]string{
		unedited: {
			"git rebase -i HEAD~3", "git rebase --interactive main", "cd app && git -C sub -c user.name=a rebase -i --root", "git stash; git rebase -ir HEAD~2; git stash pop",
		},
		"": {
			"git rebase main", "git rebase -i --autosquash HEAD~3", "git rebase -i --exec 'go test' main", "git rebase -ix 'go test' main", "git rebase --continue",
			"GIT_SEQUENCE_EDITOR='sed -i s/pick/squash/' git rebase -i HEAD~3", "git -c sequence.editor='sed -i 2s/pick/s/' rebase -i HEAD~2", "echo git rebase -i HEAD~3", "git log --grep 'rebase -i'",
		},
	} {
		for _, command := range commands {
			note := noteOn(command, 0, "Successfully rebased and updated refs/heads/main.\n")
			if name == "" {
				require.Empty(t, note, command)
			} else {
				require.Contains(t, note, name, command)
			}
			require.NotContains(t, noteOn(command, 1, "CONFLICT (content)\n"), "Nobody")
		}
	}
	require.Empty(t, advice.Notes(running("git rebase -i HEAD~3", "")))
}
