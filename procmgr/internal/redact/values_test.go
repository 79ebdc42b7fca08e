package redact_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/toolproc/toolproc/procmgr/internal/redact"
)

func TestOf(t *testing.T) {
	const line = "MIIEvQIBADANBgkqhkiG9w0BAQEFAASCBKcwggSjAgEAAoIBAQC7VJTUt9Us8cKj"
	for value, want := range map[string][]string{
		"":                             nil,
		"postgres":                     nil,
		"my-project-123456":            nil,
		"claude-3-5-sonnet-20241022":   nil,
		"correct horse battery staple": nil,
		"abcdefghijklmnopqrst":         nil, // no digit
		"12345678901234567890":         nil, // no letter
		"a1b2c3d4e5f6a7b":              nil, // 15 bytes
		"a1b2c3d4e5f6a7b8":             {"a1b2c3d4e5f6a7b8"},
		token:                          {token},
		"wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKE1":     {"wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKE1"},
		"/home/ada/.cache/a1b2c3d4e5f6a7b8":            nil,
		"~/keys/a1b2c3d4e5f6a7b8":                      nil,
		`C:\keys\a1b2c3d4e5f6a7b8`:                     nil,
		"keys/a1b2c3d4e5f6a7b8.pem":                    nil,
		"db1.a1b2c3d4e5f6a7b8.eu-west-1.amazonaws.com": nil,
		"db1.a1b2c3d4e5f6a7b8.amazonaws.com:5432":      nil,
		"eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.Tabcd12": {"eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.Tabcd12"},
		"postgres://ada:postgres@db/x":                 {"postgres://ada:postgres@db/x"},
		"postgres://ada:a1b2c3d4e5f6@db/x":             {"postgres://ada:a1b2c3d4e5f6@db/x", "a1b2c3d4e5f6"},
		"postgres://ada:a1b2%2Fc3d4e5f6%40@db/x":       {"postgres://ada:a1b2%2Fc3d4e5f6%40@db/x", "a1b2/c3d4e5f6@"},
		"https://ada:p@ss@a1b2c3d4e5f6@db/x":           {"https://ada:p@ss@a1b2c3d4e5f6@db/x", "p@ss@a1b2c3d4e5f6"},
		"https://hooks.example.com/services/T0/a1b2c3d4e5f6": {
			"https://hooks.example.com/services/T0/a1b2c3d4e5f6"},
		"-----BEGIN PRIVATE KEY-----\r\n" + line + "\r\nshort1\r\n-----END PRIVATE KEY-----\r\n": {line},
		`-----BEGIN PRIVATE KEY-----\n` + line + `\n-----END PRIVATE KEY-----\n`:                 {line},
	} {
		var got []string
		for _, part := range redact.Of("X", value) {
			require.Equal(t, "X", part.Name)
			got = append(got, part.Value)
		}
		require.Equal(t, want, got, "%q", value)
	}
}
