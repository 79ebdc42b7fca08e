// Sh stands in for the sh of Git for Windows, and for a few of the programs that
// come with it, where the tests run under Wine. What it is named as is what it
// does. It has no signals, no FIFOs and no job control.
package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"mvdan.cc/sh/v3/expand"
	"mvdan.cc/sh/v3/interp"
	"mvdan.cc/sh/v3/syntax"
)

var programs = map[string]func(args []string) error{
	"sh":   shell,
	"bash": shell,
	"cat":  cat,
	"env":  env,
	"head": head,
	"seq":  seq,
	"tr":   tr,
}

func main() {
	name := strings.TrimSuffix(strings.ToLower(filepath.Base(os.Args[0])), ".exe")
	run := programs[name]
	if run == nil {
		fmt.Fprintln(os.Stderr, "there is no program", name)
		os.Exit(127)
	}
	err := run(os.Args[1:])
	if status, ok := errors.AsType[interp.ExitStatus](err); ok {
		os.Exit(int(status))
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, name+":", err)
		os.Exit(2)
	}
}

// shell is sh -c SCRIPT [NAME [ARGUMENT]...].
func shell(args []string) error {
	if len(args) < 2 || args[0] != "-c" {
		return fmt.Errorf("options %q: only -c is known", args)
	}
	script, err := syntax.NewParser().Parse(strings.NewReader(args[1]), "")
	if err != nil {
		return err
	}
	if err := turnBackground(script); err != nil {
		return err
	}
	var jobs jobs
	options := []interp.RunnerOption{
		interp.StdIO(os.Stdin, os.Stdout, os.Stderr),
		interp.CallHandler(jobs.call),
		interp.ExecHandlers(jobs.exec),
	}
	if len(args) > 3 {
		options = append(options, interp.Params(append([]string{"--"}, args[3:]...)...))
	}
	runner, err := interp.New(options...)
	if err != nil {
		return err
	}
	return runner.Run(context.Background(), script)
}

// The names of two commands that no script knows.
const (
	startJob = "\x01start"
	awaitAll = "\x01wait"
)

// turnBackground makes a command of what stands in front of "&": the
// interpreter would run that as a part of this process, which takes it along
// when it exits.
func turnBackground(script *syntax.File) (err error) {
	syntax.Walk(script, func(node syntax.Node) bool {
		stmt, ok := node.(*syntax.Stmt)
		if !ok || !stmt.Background {
			return true
		}
		stmt.Background = false
		var text strings.Builder
		if perr := syntax.NewPrinter().Print(&text, stmt); perr != nil {
			err = perr
		}
		word := func(s string) *syntax.Word {
			return &syntax.Word{Parts: []syntax.WordPart{&syntax.SglQuoted{Value: s}}}
		}
		*stmt = syntax.Stmt{Position: stmt.Position, Cmd: &syntax.CallExpr{Args: []*syntax.Word{word(startJob), word(text.String())}}}
		return false
	})
	return err
}

// jobs are the processes in the background.
type jobs []*exec.Cmd

func (j *jobs) call(_ context.Context, args []string) ([]string, error) {
	switch {
	case args[0] == "wait":
		return []string{awaitAll}, nil
	case args[0] == "echo" && (len(args) == 1 || !strings.HasPrefix(args[1], "-")):
		// A line in one write, as every sh has it: the interpreter's echo takes
		// several, and a reader may see parts of it.
		return []string{"printf", `%s\n`, strings.Join(args[1:], " ")}, nil
	}
	return args, nil
}

func (j *jobs) exec(next interp.ExecHandlerFunc) interp.ExecHandlerFunc {
	return func(ctx context.Context, args []string) error {
		switch args[0] {
		case startJob:
			here := interp.HandlerCtx(ctx)
			self, err := os.Executable()
			if err != nil {
				return err
			}
			job := exec.Command(self, "-c", args[1])
			job.Dir, job.Stdout, job.Stderr = here.Dir, here.Stdout, here.Stderr
			here.Env.Each(func(name string, v expand.Variable) bool {
				if v.Exported {
					job.Env = append(job.Env, name+"="+v.String())
				}
				return true
			})
			if err := job.Start(); err != nil {
				return err
			}
			*j = append(*j, job)
			return nil
		case awaitAll:
			for _, job := range *j {
				_ = job.Wait() // how it ended is its own affair
			}
			*j = nil
			return nil
		case "sleep":
			return sleep(args[1:])
		}
		return next(ctx, args)
	}
}

func cat(names []string) error {
	if len(names) == 0 {
		_, err := io.Copy(os.Stdout, os.Stdin)
		return err
	}
	for _, name := range names {
		text, err := os.ReadFile(name)
		if err != nil {
			return err
		}
		os.Stdout.Write(text)
	}
	return nil
}

// env is env [-0].
func env(args []string) error {
	end := "\n"
	if len(args) > 0 && args[0] == "-0" {
		end = "\x00"
	}
	out := bufio.NewWriter(os.Stdout)
	for _, kv := range os.Environ() {
		out.WriteString(kv + end)
	}
	return out.Flush()
}

// head is head -c BYTES FILE; of /dev/zero there are as many as it takes.
func head(args []string) error {
	if len(args) != 3 || args[0] != "-c" {
		return fmt.Errorf("arguments %q: only -c BYTES FILE is known", args)
	}
	n, err := strconv.ParseInt(args[1], 10, 64)
	if err != nil {
		return err
	}
	var from io.Reader = zeros{}
	if args[2] != "/dev/zero" {
		file, err := os.Open(args[2])
		if err != nil {
			return err
		}
		defer file.Close()
		from = file
	}
	_, err = io.Copy(os.Stdout, io.LimitReader(from, n))
	return err
}

type zeros struct{}

func (zeros) Read(p []byte) (int, error) {
	clear(p)
	return len(p), nil
}

// seq is seq [FIRST] LAST.
func seq(args []string) error {
	first, last := 1, 0
	var err error
	if len(args) > 1 {
		if first, err = strconv.Atoi(args[0]); err != nil {
			return err
		}
		args = args[1:]
	}
	if len(args) != 1 {
		return fmt.Errorf("arguments %q: FIRST and LAST", args)
	}
	if last, err = strconv.Atoi(args[0]); err != nil {
		return err
	}
	out := bufio.NewWriter(os.Stdout)
	for i := first; i <= last; i++ {
		fmt.Fprintln(out, i)
	}
	return out.Flush()
}

// sleep is sleep SECONDS, and a part of the shell: what a test ends right away
// mostly sleeps, and a process that is ended while it starts another one leaves
// under Wine something that has the pipe and never ends.
func sleep(args []string) error {
	if len(args) != 1 {
		return fmt.Errorf("arguments %q: SECONDS", args)
	}
	seconds, err := strconv.ParseFloat(args[0], 64)
	if err != nil {
		return err
	}
	time.Sleep(time.Duration(seconds * float64(time.Second)))
	return nil
}

// tr is tr CHARACTER CHARACTER, where \N is a character by its octal number.
func tr(args []string) error {
	if len(args) != 2 {
		return fmt.Errorf("arguments %q: CHARACTER CHARACTER", args)
	}
	var c [2]byte
	for i, arg := range args {
		if n, err := strconv.ParseUint(strings.TrimPrefix(arg, `\`), 8, 8); err == nil && arg[0] == '\\' {
			c[i] = byte(n)
		} else if len(arg) == 1 {
			c[i] = arg[0]
		} else {
			return fmt.Errorf("%q is no character", arg)
		}
	}
	text, err := io.ReadAll(os.Stdin)
	if err != nil {
		return err
	}
	_, err = os.Stdout.WriteString(strings.ReplaceAll(string(text), string(c[0:1]), string(c[1:2])))
	return err
}
