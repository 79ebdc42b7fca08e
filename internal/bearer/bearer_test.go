package bearer_test

import (
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/toolproc/toolproc/internal/bearer"
)

func TestToken(t *testing.T) {
	t.Parallel()
	token := bearer.Hash("s3cret")
	for given, want := range map[string]bool{
		"Bearer s3cret":  true,
		"bearer s3cret":  true,
		"Bearer s3cret ": false,
		"Bearer  s3cret": false,
		"Basic s3cret":   false,
		"s3cret":         false,
		"Bearer":         false,
		"Bearer s3cre":   false,
		"":               false,
	} {
		require.Equal(t, want, token.In(http.Header{"Authorization": {given}}), given)
	}
	require.False(t, token.In(http.Header{}))
	require.False(t, token.In(http.Header{"Authorization": {"Bearer s3cret", "Bearer s3cret"}}))
	for given, want := range map[string]bool{"s3cret": true, "a b": false, "é": false, "\x7f": false, "a\n": false} {
		require.Equal(t, want, bearer.Fits(given), "%q", given)
	}
}

func TestNames(t *testing.T) {
	t.Parallel()
	for host, want := range map[string]bool{
		"localhost":        true,
		"LOCALHOST:80":     true,
		"127.0.0.1:8080":   true,
		"[::1]:8080":       true,
		"[::1]":            true,
		"build.corp":       true,
		"Build.Corp:443":   true,
		"evil.example":     false,
		"localhost.evil":   false,
		"evil.example:443": false,
		"":                 false,
	} {
		require.Equal(t, want, bearer.Names(host, []string{"build.corp"}), host)
	}
}
