package prochttp_test

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/toolproc/toolproc/procmgr"
	"github.com/toolproc/toolproc/procmgr/prochttp"
)

var update = flag.Bool("update", false, "write the answers in docs/protocol.md and testdata anew")

// protocolPage describes the protocol, exchangesPage has exchanges of each call, and
// errorsPage shows each of its errors.
const (
	protocolPage  = "../../docs/protocol.md"
	exchangesPage = "testdata/exchanges.md"
	errorsPage    = "testdata/errors.md"
)

// pageInstance is the instance of the handler on the page.
const pageInstance = "ZKQ4B7VYD2JXW5RM3LTC6PHNSA"

// The test sends each request on the pages exactly as it is there, and compares
// the handler's answer with the one on the page. With -update it writes the
// answers anew.
func TestProtocolExchanges(t *testing.T) {
	all := exchanges(t)
	used := make(map[string]bool)
	answers := make([]string, len(all))
	for i := 0; i < len(all); {
		name, _, _ := strings.Cut(all[i].name, "/")
		used[name] = true
		made, ok := scenes[name]
		require.True(t, ok, "nothing is known of the scene %q", name)
		s := made(t)
		if s.host == nil {
			s.host = actor{}
		}
		if s.opts.Authorize == nil {
			s.opts.Token = token
		}
		s.opts.Hosts = []string{"build.example"}
		h := newHandler(t, s.host, &s.opts)
		url := serve(t, h)
		for n := 1; i < len(all) && strings.HasPrefix(all[i].name, name+"/"); i, n = i+1, n+1 {
			require.Equal(t, fmt.Sprintf("%s/%d", name, n), all[i].name)
			if s.before != nil {
				s.before(n, h, url)
			}
			answers[i] = exchangeRaw(t, url, all[i])
			if !*update {
				require.Equal(t, all[i].answer, answers[i], "%s: go test ./procmgr/prochttp -run Protocol -update", all[i].name)
			}
		}
		if s.after != nil {
			s.after()
		}
	}
	for name := range scenes {
		require.True(t, used[name], "the scene %q is on no page", name)
	}
	if *update {
		for i := len(all) - 1; i >= 0; i-- { // from the end, so that no place moves
			e := all[i]
			page := readPage(t, e.page)
			require.NoError(t, os.WriteFile(e.page, []byte(page[:e.start]+answers[i]+page[e.end:]), 0o644))
		}
	}
}

// An exchange is a request on a page and its answer.
type exchange struct {
	name, request, answer string
	page                  string // the file
	start, end            int    // of the answer
}

var (
	exchangeForm = regexp.MustCompile("(?s)<!-- replay: (\\S+) -->\n```http\n(.*?\n)```\n\n```http\n(.*?)```\n")
	httpFence    = regexp.MustCompile("(?m)^```http$")
)

func readPage(t testing.TB, name string) string {
	t.Helper()
	text, err := os.ReadFile(name)
	require.NoError(t, err)
	return string(text)
}

// exchanges returns the exchanges of the pages, in their order.
func exchanges(t testing.TB) []exchange {
	t.Helper()
	var all []exchange
	for _, name := range []string{protocolPage, exchangesPage, errorsPage} {
		page := readPage(t, name)
		found := exchangeForm.FindAllStringSubmatchIndex(page, -1)
		for _, at := range found {
			all = append(all, exchange{page[at[2]:at[3]], page[at[4]:at[5]], page[at[6]:at[7]], name, at[6], at[7]})
		}
		require.Len(t, httpFence.FindAllString(page, -1), 2*len(found), "%s: a block belongs to no exchange", name)
		require.NotEmpty(t, found, name)
	}
	return all
}

// exchangeRaw sends a request on a connection of its own and returns the answer
// in the form of the page.
func exchangeRaw(t testing.TB, url string, e exchange) string {
	t.Helper()
	instance := instanceOf(t, url)
	head, body, ok := strings.Cut(e.request, "\n\n")
	require.True(t, ok, "%s: an empty line ends the header", e.name)
	if declared := regexp.MustCompile(`(?m)^Content-Length: (\d+)$`).FindStringSubmatch(head); declared != nil &&
		!strings.Contains(head, "\nExpect: ") {
		require.Equal(t, declared[1], strconv.Itoa(len(body)), "%s: the length of the body", e.name)
	} else {
		require.Empty(t, body, e.name)
	}
	head = strings.ReplaceAll(head, pageInstance, instance)
	head = strings.ReplaceAll(head, "…", strings.Repeat("x", 32<<10))
	conn, err := net.Dial("tcp", strings.TrimPrefix(url, "http://"))
	require.NoError(t, err)
	defer conn.Close()
	require.NoError(t, conn.SetDeadline(time.Now().Add(long)))
	_, err = io.WriteString(conn, strings.ReplaceAll(head, "\n", "\r\n")+"\r\n\r\n"+body)
	require.NoError(t, err)
	var answer bytes.Buffer
	res, err := http.ReadResponse(bufio.NewReader(io.TeeReader(conn, &answer)), nil)
	require.NoError(t, err, e.name)
	defer res.Body.Close()
	_, err = io.Copy(io.Discard, res.Body)
	require.NoError(t, err, e.name)
	text := strings.ReplaceAll(answer.String(), "\r\n", "\n")
	text = regexp.MustCompile(`(?m)^Date: .*\n`).ReplaceAllString(text, "")
	require.Contains(t, text, "Toolproc-Instance: "+instance+"\n", e.name)
	return strings.ReplaceAll(text, instance, pageInstance)
}

// instanceOf learns the instance as a client does.
func instanceOf(t testing.TB, url string) string {
	t.Helper()
	res, err := http.Get(url + "/health")
	require.NoError(t, err)
	defer res.Body.Close()
	return res.Header.Get("Toolproc-Instance")
}

// The table of codes on the page is the same as the handler's, and each code is
// in an exchange.
func TestProtocolCodes(t *testing.T) {
	sentinels := map[string]error{"": nil}
	for name, err := range map[string]error{
		"ErrNotFound": procmgr.ErrNotFound, "ErrNotRunning": procmgr.ErrNotRunning, "ErrClosed": procmgr.ErrClosed,
		"ErrInvalid": procmgr.ErrInvalid, "ErrConflict": procmgr.ErrConflict, "ErrLimit": procmgr.ErrLimit,
		"ErrUnknown": procmgr.ErrUnknown, "ErrRefused": procmgr.ErrRefused, "ErrNotReady": procmgr.ErrNotReady,
		"errors.ErrUnsupported": errors.ErrUnsupported,
	} {
		sentinels["`"+name+"`"] = err
	}
	rows := table(t, "Errors", "code")
	seen := make(map[string]int)
	for _, e := range exchanges(t) {
		_, body, _ := strings.Cut(e.answer, "\n\n")
		var f struct{ Code string }
		require.NoError(t, json.Unmarshal([]byte(body), &f), e.name)
		status, _ := strconv.Atoi(strings.Fields(e.answer)[1])
		if f.Code != "" {
			seen[f.Code] = status
		} else {
			require.Equal(t, http.StatusOK, status, e.name)
		}
	}
	codes := prochttp.ProtocolCodes()
	for _, code := range codes {
		i := slices.IndexFunc(rows, func(row []string) bool { return row[0] == "`"+code.Code+"`" })
		require.GreaterOrEqual(t, i, 0, "%s is not in the table", code.Code)
		require.Equal(t, strconv.Itoa(code.Status), rows[i][1], code.Code)
		want, ok := sentinels[rows[i][2]]
		require.True(t, ok, "%s: %s is no error of procmgr", code.Code, rows[i][2])
		require.Equal(t, want, code.Sentinel, code.Code)
		require.Equal(t, code.Status, seen[code.Code], "%s is in no exchange", code.Code)
	}
	require.Len(t, rows, len(codes), "a code is on the page and not in the handler")
}

// Each error matches its sentinel behind a client, and behind a client of a
// handler of a client.
func TestProtocolErrors(t *testing.T) {
	for _, code := range prochttp.ProtocolCodes() {
		t.Run(code.Code, func(t *testing.T) {
			answers := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				w.Header().Set("Toolproc-Instance", pageInstance)
				if r.URL.Path == "/health" {
					_, _ = io.WriteString(w, `{"status":"ok"}`)
					return
				}
				w.WriteHeader(code.Status)
				_, _ = fmt.Fprintf(w, `{"message":"m","detail":"what to do","code":%q}`, code.Code)
			})
			once := &prochttp.ClientOptions{Token: token, Retry: -1}
			one := newClient(t, serve(t, answers), once)
			two := newClient(t, serve(t, newHandler(t, one, nil)), once)
			matches(t, code.Sentinel, one, two)
		})
	}
}

// matches makes each call. It compares the call's error with a sentinel, and
// with all other sentinels.
func matches(t *testing.T, sentinel error, hosts ...procmgr.Host) {
	t.Helper()
	for _, host := range hosts {
		for _, m := range []procmgr.Manager{host, host.Chat("a")} {
			_, start := m.Start(t.Context(), procmgr.StartRequest{ID: "x", Command: "true", Wait: time.Second})
			_, output := m.Output(t.Context(), "x", procmgr.OutputRequest{})
			_, list := m.List(t.Context(), procmgr.ListRequest{})
			signal := m.Signal(t.Context(), "x", procmgr.Kill)
			for i, err := range []error{start, output, list, signal} {
				if i > 0 || !errors.Is(err, procmgr.ErrUnknown) { // if a start is unknown, the client gives its own reason
					require.ErrorContains(t, err, "what to do")
				}
				for _, other := range prochttp.ProtocolCodes() {
					if other.Sentinel != nil {
						require.Equal(t, errors.Is(other.Sentinel, sentinel), errors.Is(err, other.Sentinel), "%v", err)
					}
				}
			}
		}
	}
}

// The table of each object has exactly the object's fields. It gives the right
// type, and says whether a field may be missing.
func TestProtocolFields(t *testing.T) {
	objects := prochttp.ProtocolObjects()
	for heading, v := range objects {
		fields := make(map[string]reflect.StructField)
		for _, field := range reflect.VisibleFields(reflect.TypeOf(v)) {
			if name, _, _ := strings.Cut(field.Tag.Get("json"), ","); !field.Anonymous {
				fields[name] = field
			}
		}
		for _, row := range table(t, heading, "field") {
			name := strings.Trim(row[0], "`")
			field, ok := fields[name]
			require.True(t, ok, "%s: there is no field %s", heading, row[0])
			require.Equal(t, row[1], typeOf(field.Type, strings.HasSuffix(heading, "request")), "%s: %s", heading, row[0])
			omitted := strings.Contains(field.Tag.Get("json"), ",omit")
			require.Equal(t, row[2] == "always" || row[2] == "required", !omitted, "%s: %s may be missing, or not", heading, row[0])
			delete(fields, name)
		}
		require.Empty(t, fields, "%s: fields that the page does not have", heading)
	}
	require.Len(t, regexp.MustCompile(`(?m)^\| field \|`).FindAllString(readPage(t, protocolPage), -1), len(objects), "a table of something else")
}

// typeOf returns what JSON makes of a type. A request has its durations as text.
func typeOf(goType reflect.Type, request bool) string {
	switch kind := goType.Kind(); {
	case kind == reflect.Pointer:
		return typeOf(goType.Elem(), request)
	case kind == reflect.String, goType == reflect.TypeFor[time.Time](), goType == reflect.TypeFor[[]byte](),
		goType == reflect.TypeFor[time.Duration]() && request:
		return "string"
	case kind == reflect.Bool:
		return "boolean"
	case kind == reflect.Int, kind == reflect.Int64:
		return "integer"
	case kind == reflect.Slice:
		return "array"
	case kind == reflect.Map, kind == reflect.Struct:
		return "object"
	}
	return goType.String()
}

// The client encodes the ID of a chat as the page does.
func TestProtocolChats(t *testing.T) {
	var sent string
	c := newClient(t, serve(t, http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		sent = r.Header.Get("Toolproc-Chat-Id")
	})), &prochttp.ClientOptions{Retry: -1})
	for _, row := range table(t, "The ID of a chat", "chat") {
		_, err := c.Chat(strings.Trim(row[0], "`")).List(t.Context(), procmgr.ListRequest{})
		require.Error(t, err, "it has no answer")
		require.Equal(t, strings.Trim(row[1], "`"), sent)
	}
}

// table returns the cells of the rows of the table below a heading of the page whose first
// column has the given name.
func table(t testing.TB, heading, column string) (rows [][]string) {
	t.Helper()
	_, section, _ := strings.Cut(readPage(t, protocolPage), "# "+heading+"\n")
	section, _, _ = strings.Cut(section, "\n#")
	_, found, _ := strings.Cut(section, "\n| "+column+" |")
	_, found, _ = strings.Cut(found, "\n|---")
	_, found, _ = strings.Cut(found, "\n")
	for line := range strings.Lines(found) {
		if !strings.HasPrefix(line, "| ") {
			break
		}
		cells := strings.Split(strings.Trim(line, "| \n"), "|")
		for i := range cells {
			cells[i] = strings.TrimSpace(cells[i])
		}
		rows = append(rows, cells)
	}
	require.NotEmpty(t, rows, "there is no table %q below %q", column, heading)
	return rows
}
