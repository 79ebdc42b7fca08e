package envpolicy

import "strings"

// hasPassword reports whether value contains a password: in a URL, in a data
// source name, in a field of a connection string or of JSON, or in a line of a
// .netrc, an .npmrc or a nix.conf.
func hasPassword(value string) bool {
	if hasPasswordURL(value) || isDSN(value) || hasPasswordJSON(value) || isNetrc(value) {
		return true
	}
	return strings.IndexByte(value, '=') >= 0 && (hasPasswordField(value) || hasPasswordLine(value))
}

// hasPasswordURL reports whether value contains a URL with a password. There
// may be several URLs, as in GOPROXY or PIP_EXTRA_INDEX_URL, and a URL may be
// inside another scheme, as with JDBC.
func hasPasswordURL(value string) bool {
	for rest := value; ; {
		_, after, ok := strings.Cut(rest, "://")
		if !ok {
			return false
		}
		authority := after
		if i := strings.IndexAny(after, "/?# \t\r\n\"'<>\\"); i >= 0 {
			authority = after[:i]
		}
		// The last @, because people forget to escape an @ in their password.
		if i := strings.LastIndexByte(authority, '@'); i >= 0 {
			user, password, _ := strings.Cut(authority[:i], ":")
			if password != "" || isToken(user) {
				return true
			}
		}
		rest = after
	}
}

// isDSN reports whether value is a data source name with a password, in the
// form of Go drivers for MySQL (user:password@tcp(host)/db, user:password@/db)
// or of Oracle's tools (user/password@//host/db).
func isDSN(value string) bool {
	user := 0
	for user < len(value) && isWordByte(value[user]) {
		user++
	}
	if user == 0 || user+1 >= len(value) || value[user+1] == '@' {
		return false
	}
	i := strings.LastIndexByte(value, '@')
	if i <= user {
		return false
	}
	after := value[i+1:]
	switch value[user] {
	case '/':
		return strings.HasPrefix(after, "//")
	case ':':
		protocol := 0
		for protocol < len(after) && isWordByte(after[protocol]) {
			protocol++
		}
		switch {
		case protocol > 0:
			return strings.HasPrefix(after[protocol:], "(") && strings.Contains(after, ")/")
		case strings.HasPrefix(after, "/"):
			database, _, _ := strings.Cut(after[1:], "?")
			return database != "" && all(database, isWordByte)
		}
	}
	return false
}

// isWordByte reports whether c can be part of the name of a user, a protocol or
// a database.
func isWordByte(c byte) bool {
	return isLetter(c) || isDigit(c) || c == '_' || c == '-' || c == '.' || c == '+'
}

// passwordFields are the names of a password in the connection strings of
// databases (libpq, ODBC, ADO.NET, JDBC) and of Azure, and in the query of a
// URL. There it may also be a signature, which lets in anybody who has it.
var passwordFields = []string{
	"password", "passwd", "pwd", "accountkey", "sharedaccesskey", "sig", "access_token", "auth_token", "token",
	"api_key", "apikey", "client_secret", "x-amz-signature", "x-goog-signature",
}

// lastOfField has the last letter of each of passwordFields.
var lastOfField = func() (last [256]bool) {
	for _, key := range passwordFields {
		last[key[len(key)-1]] = true
	}
	return last
}()

// hasPasswordField reports whether value consists of several fields key=value,
// and one of them is a password. Semicolons, spaces or ampersands separate
// fields, the fields of a URL begin with its question mark, and the options of
// a program begin with --. If a password begins like a quotation or a
// reference, it belongs to a script that gets it from elsewhere. The same holds
// in a function that bash has exported.
func hasPasswordField(value string) bool {
	if !strings.ContainsAny(value, "; &?") || strings.HasPrefix(value, "() {") {
		return false
	}
	for end := 0; ; end++ {
		i := strings.IndexByte(value[end:], '=')
		if i < 0 || end+i+1 == len(value) {
			return false
		}
		if end += i; end == 0 || !lastOfField[value[end-1]|0x20] {
			continue
		}
		for _, key := range passwordFields {
			begin := end - len(key)
			if begin < 0 || !strings.EqualFold(value[begin:end], key) ||
				begin > 0 && !partsFields(value[begin-1]) && !strings.HasSuffix(value[:begin], " --") {
				continue
			}
			if key == "token" && begin > 0 && value[begin-1] == ' ' {
				continue // people write of tokens
			}
			content := value[end+1:]
			if content[0] == '"' || content[0] == '\'' {
				content = content[1:]
			}
			if content != "" && !partsFields(content[0]) && !isReference(content[0]) {
				return true
			}
		}
	}
}

func partsFields(c byte) bool { return c == ';' || c == ' ' || c == '&' || c == '?' }

// isReference reports whether a text that begins with c is a placeholder for a
// secret: $TOKEN, %TOKEN%, {{token}}, <token>, ***, or a quotation with one of
// these.
func isReference(c byte) bool { return strings.IndexByte("$\"'`{<*%\\", c) >= 0 }

// hasPasswordJSON reports whether value is JSON in which a string has the name
// of a secret.
func hasPasswordJSON(value string) bool {
	if value[0] != '{' && value[0] != '[' {
		return false
	}
	for rest := value; ; {
		i := strings.Index(rest, `":`)
		if i < 0 {
			return false
		}
		name := rest[strings.LastIndexByte(rest[:i], '"')+1 : i]
		rest = rest[i+len(`":`):]
		content, ok := strings.CutPrefix(strings.TrimLeft(rest, " \t\r\n"), `"`)
		if ok && content != "" && !isReference(content[0]) && (name == "auth" || secretName(name)) {
			return true
		}
	}
}

// isNetrc reports whether value is a .netrc with a password.
func isNetrc(value string) bool {
	return strings.HasPrefix(value, "machine ") &&
		(strings.Contains(value, " password ") || strings.Contains(value, "\npassword "))
}

// hasPasswordLine reports whether value contains a line with a password, as in
// an .npmrc or a nix.conf.
func hasPasswordLine(value string) bool {
	if _, after, ok := strings.Cut(value, "access-tokens = "); ok {
		return strings.Contains(after, "=")
	}
	for rest := value; ; {
		_, after, ok := strings.Cut(rest, "/:_")
		if !ok {
			return false
		}
		name, secret, ok := strings.Cut(after, "=")
		if ok && secret != "" && !isReference(secret[0]) && (name == "auth" || name == "authToken" || name == "password") {
			return true
		}
		rest = after
	}
}
