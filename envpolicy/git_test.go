package envpolicy_test

import (
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/toolproc/toolproc/envpolicy"
	"github.com/toolproc/toolproc/internal/testenv"
)

// If git settings are withheld, git still works, with all other settings.
func TestGitConfig(t *testing.T) {
	header := "Authorization: Bearer " + random(20)
	settings := func(pairs ...string) []string {
		env := []string{fmt.Sprint("GIT_CONFIG_COUNT=", len(pairs)/2)}
		for i := 0; i < len(pairs); i += 2 {
			env = append(env, fmt.Sprintf("GIT_CONFIG_KEY_%d=%s", i/2, pairs[i]), fmt.Sprintf("GIT_CONFIG_VALUE_%d=%s", i/2, pairs[i+1]))
		}
		return env
	}
	tests := []struct {
		name       string
		policy     envpolicy.Policy
		base       []string
		request    map[string]string
		want       string // git config --list
		withheld   []string
		overridden []string
	}{
		{
			name: "no secret",
			base: settings("safe.directory", "*", "user.name", "A"),
			want: "safe.directory=*\nuser.name=A\n",
		},
		{
			name:       "a value between others",
			base:       settings("safe.directory", "*", "http.https://h/.extraheader", header, "user.name", "A"),
			want:       "safe.directory=*\ntoolproc.withheld=http.https://h/.extraheader\nuser.name=A\n",
			withheld:   []string{"GIT_CONFIG_VALUE_1"},
			overridden: []string{"GIT_CONFIG_KEY_1"},
		},
		{
			name:     "a key",
			base:     settings("url.https://u:p@h/.insteadof", "https://h/", "user.name", "A"),
			want:     "toolproc.withheld=https://h/\nuser.name=A\n",
			withheld: []string{"GIT_CONFIG_KEY_0"},
		},
		{
			name:     "both",
			base:     settings("url.https://u:p@h/.insteadof", "https://u:q@h/"),
			want:     "toolproc.withheld=\n",
			withheld: []string{"GIT_CONFIG_KEY_0", "GIT_CONFIG_VALUE_0"},
		},
		{
			name: "a list of settings goes as a whole",
			base: append(settings("user.name", "A"),
				"GIT_CONFIG_PARAMETERS='http.extraheader'='"+header+"' 'user.email'='a@example.com'"),
			want:     "user.name=A\n",
			withheld: []string{"GIT_CONFIG_PARAMETERS"},
		},
		{
			name: "a list without a secret stays",
			base: []string{"GIT_CONFIG_PARAMETERS='user.name'='A'"},
			want: "user.name=A\n",
		},
		{
			name:       "one more of the request's",
			base:       settings("user.name", "A", "http.extraheader", header),
			request:    map[string]string{"GIT_CONFIG_COUNT": "3", "GIT_CONFIG_KEY_2": "user.email", "GIT_CONFIG_VALUE_2": "a@example.com"},
			want:       "user.name=A\ntoolproc.withheld=http.extraheader\nuser.email=a@example.com\n",
			withheld:   []string{"GIT_CONFIG_VALUE_1"},
			overridden: []string{"GIT_CONFIG_COUNT", "GIT_CONFIG_KEY_1"},
		},
		{
			name:       "the request's in its place",
			base:       settings("http.extraheader", header),
			request:    map[string]string{"GIT_CONFIG_KEY_0": "user.name", "GIT_CONFIG_VALUE_0": "A"},
			want:       "user.name=A\n",
			overridden: []string{"GIT_CONFIG_KEY_0"},
		},
		{
			name:   "allowed",
			policy: envpolicy.Policy{Allow: []string{"GIT_CONFIG_*"}},
			base:   settings("http.extraheader", header),
			want:   "http.extraheader=" + header + "\n",
		},
		{
			name:     "excluded with their number",
			policy:   envpolicy.Policy{Exclude: []string{"GIT_CONFIG_*"}},
			base:     settings("user.name", "A"),
			withheld: []string{"GIT_CONFIG_COUNT", "GIT_CONFIG_KEY_0", "GIT_CONFIG_VALUE_0"},
		},
		{
			name:       "excluded one by one",
			policy:     envpolicy.Policy{Exclude: []string{"GIT_CONFIG_VALUE_0"}},
			base:       settings("user.name", "A", "user.email", "a@example.com"),
			want:       "toolproc.withheld=user.name\nuser.email=a@example.com\n",
			withheld:   []string{"GIT_CONFIG_VALUE_0"},
			overridden: []string{"GIT_CONFIG_KEY_0"},
		},
		{
			name:     "beyond the number",
			base:     append(settings("user.name", "A"), "GIT_CONFIG_KEY_1=http.extraheader", "GIT_CONFIG_VALUE_1="+header),
			want:     "user.name=A\n",
			withheld: []string{"GIT_CONFIG_VALUE_1"},
		},
		{
			name:     "a number that git does not use",
			base:     append(settings("user.name", "A"), "GIT_CONFIG_VALUE_00="+header),
			want:     "user.name=A\n",
			withheld: []string{"GIT_CONFIG_VALUE_00"},
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			env, report := tt.policy.ApplyOn("linux", tt.base, tt.request)
			require.Equal(t, tt.withheld, report.Withheld, "withheld")
			require.Equal(t, tt.overridden, report.Overridden, "overridden")
			for _, entry := range env {
				require.False(t, tt.policy.Allow == nil && strings.Contains(entry, header), "%q", entry)
			}
			testenv.Programs(t, "git")
			cmd := exec.Command("git", "config", "--list")
			cmd.Dir = t.TempDir() // with no settings of its own, nor does git find others
			cmd.Env = append(env, "PATH="+os.Getenv("PATH"), "HOME="+cmd.Dir, "GIT_CONFIG_NOSYSTEM=1")
			var stderr strings.Builder
			cmd.Stderr = &stderr
			out, err := cmd.Output()
			require.NoError(t, err, stderr.String())
			require.Equal(t, tt.want, string(out))
		})
	}
	t.Run("on Windows", func(t *testing.T) {
		base := []string{"git_config_count=1", "Git_Config_Key_0=http.extraheader", "Git_Config_Value_0=" + header}
		env, report := envpolicy.Policy{Interactive: true}.ApplyOn("windows", base, nil)
		require.Equal(t, []string{"git_config_count=1", "Git_Config_Key_0=toolproc.withheld", "Git_Config_Value_0=http.extraheader"}, env)
		require.Equal(t, envpolicy.Report{Withheld: []string{"Git_Config_Value_0"}, Overridden: []string{"Git_Config_Key_0"}}, report)
	})
}
