package main

import (
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"time"
)

// helloName is the second name of this program. Under that name it is the web
// server of the project that the model makes, and the client of that server.
const helloName = "hello"

const (
	// warmUp is how long the server takes until it listens. That is longer than
	// execute watches a command that it has started in the background.
	warmUp = 800 * time.Millisecond
	// reportTime is how long the server takes for its report. That is longer
	// than the model waits for the report at first.
	reportTime = 2500 * time.Millisecond
	logLines   = 40_000
)

func isHello() bool { return filepath.Base(os.Args[0]) == helloName }

// hello returns the exit code of "hello serve" or "hello get URL".
func hello(args []string) int {
	var err error
	switch {
	case len(args) == 1 && args[0] == "serve":
		err = serve()
	case len(args) == 2 && args[0] == "get":
		err = get(args[1])
	default:
		err = errors.New("usage: hello serve | hello get URL")
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "hello:", err)
		return 1
	}
	return 0
}

// serve serves until a signal ends it.
func serve() error {
	time.Sleep(warmUp)
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	fmt.Printf("listening on http://%s\n", listener.Addr())
	return http.Serve(listener, routes())
}

func routes() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /{$}", func(w http.ResponseWriter, r *http.Request) {
		http.ServeFile(w, r, "page.txt")
	})
	mux.HandleFunc("GET /log", func(w http.ResponseWriter, _ *http.Request) {
		for i := range logLines {
			_, _ = fmt.Fprintf(w, "%05d all is well, nothing to see here, move along\n", i+1)
		}
	})
	mux.HandleFunc("GET /report", func(w http.ResponseWriter, _ *http.Request) {
		_, _ = fmt.Fprintln(w, "report: counting")
		_ = http.NewResponseController(w).Flush() // the ResponseWriter of net/http can flush
		time.Sleep(reportTime)
		_, _ = fmt.Fprintln(w, "report: 1 page, all of it good")
	})
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		fmt.Println(r.Method, r.URL.Path)
		mux.ServeHTTP(w, r)
	})
}

// get prints the body of a URL as it arrives.
func get(url string) error {
	res, err := http.Get(url)
	if err != nil {
		return err
	}
	defer res.Body.Close()
	if res.StatusCode != http.StatusOK {
		return errors.New(res.Status)
	}
	_, err = io.Copy(os.Stdout, res.Body)
	return err
}
