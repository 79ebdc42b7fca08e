package envpolicy

import "slices"

// coreUnix has the variables that a program on Unix needs to find its files, to
// use the user's language and to reach the network.
var coreUnix = []string{
	"ALL_PROXY",
	"CURL_CA_BUNDLE",
	"FTP_PROXY",
	"HOME",
	"HTTPS_PROXY",
	"HTTP_PROXY",
	"LANG",
	"LANGUAGE",
	"LC_*",
	"LOCALE_ARCHIVE", // for a C library of Nix
	"LOGNAME",
	"NIX_SSL_CERT_FILE",
	"NODE_EXTRA_CA_CERTS",
	"NO_PROXY",
	"PATH",
	"REQUESTS_CA_BUNDLE",
	"SHELL",
	"SSL_CERT_DIR",
	"SSL_CERT_FILE",
	"TERM",
	"TMPDIR",
	"TZ",
	"TZDIR",
	"USER",
	"XDG_CACHE_HOME",
	"XDG_CONFIG_DIRS",
	"XDG_CONFIG_HOME",
	"XDG_DATA_DIRS",
	"XDG_DATA_HOME",
	"XDG_RUNTIME_DIR",
	"XDG_STATE_HOME",
	"__CF_USER_TEXT_ENCODING", // the encoding of text on macOS
}

// coreWindows is the same for Windows. Without SystemRoot, programs cannot even
// open a socket. HOME and the names after it are for the programs of an sh.
var coreWindows = []string{
	"ALLUSERSPROFILE",
	"APPDATA",
	"COMPUTERNAME",
	"CommonProgramFiles*",
	"CommonProgramW6432",
	"ComSpec",
	"DriverData",
	"HOMEDRIVE",
	"HOMEPATH",
	"LOCALAPPDATA",
	"NUMBER_OF_PROCESSORS",
	"OS",
	"PATH",
	"PATHEXT",
	"PROCESSOR_*",
	"PSModulePath",
	"PUBLIC",
	"ProgramData",
	"ProgramFiles*",
	"ProgramW6432",
	"SystemDrive",
	"SystemRoot",
	"TEMP",
	"TMP",
	"USERDOMAIN",
	"USERNAME",
	"USERPROFILE",
	"windir",

	"HOME",
	"LANG",
	"LC_*",
	"MSYSTEM",
	"SHELL",
	"TERM",
	"TMPDIR",
	"TZ",

	"ALL_PROXY",
	"CURL_CA_BUNDLE",
	"HTTPS_PROXY",
	"HTTP_PROXY",
	"NODE_EXTRA_CA_CERTS",
	"NO_PROXY",
	"REQUESTS_CA_BUNDLE",
	"SSL_CERT_DIR",
	"SSL_CERT_FILE",
}

func coreNames(goos string) []string {
	if goos == "windows" {
		return coreWindows
	}
	return coreUnix
}

// CoreNames returns the patterns of the names that [InheritCore] inherits on a
// platform, given as a value of [runtime.GOOS]. Programs need these variables
// to run at all, to find the user's files, and to reach the network through the
// proxy of the host and with its certificates. Windows has names of its own,
// and all other platforms share theirs. The caller may change the slice.
func CoreNames(goos string) []string {
	return slices.Clone(coreNames(goos))
}
