package lab

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"syscall"
	"time"
)

// Process is a program that dies with the test, with its output in a file.
type Process struct {
	name string
	log  string
	cmd  *exec.Cmd
	done chan struct{}
}

type startRequest struct {
	cmd    *exec.Cmd
	result chan error
}

var starter chan startRequest

// The kernel sends a parent-death signal when the thread that started the child ends, so one thread starts them all.
func start(cmd *exec.Cmd) error {
	if starter == nil {
		starter = make(chan startRequest)
		go func() {
			runtime.LockOSThread()
			for request := range starter {
				request.result <- request.cmd.Start()
			}
		}()
	}
	request := startRequest{cmd, make(chan error)}
	starter <- request
	return <-request.result
}

func spawn(dir, name string, command ...string) (*Process, error) {
	logPath := filepath.Join(dir, name+".log")
	log, err := os.OpenFile(logPath, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o644)
	if err != nil {
		return nil, err
	}
	defer log.Close()
	cmd := exec.Command(command[0], command[1:]...)
	cmd.Stdout, cmd.Stderr = log, log
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	if err := start(cmd); err != nil {
		return nil, err
	}
	process := &Process{name: name, log: logPath, cmd: cmd, done: make(chan struct{})}
	go func() {
		_ = cmd.Wait()
		close(process.done)
	}()
	return process, nil
}

// Alive says nil, or how the process ended, with the end of its log.
func (p *Process) Alive() error {
	if p == nil { // somebody else's
		return nil
	}
	select {
	case <-p.done:
		return fmt.Errorf("%s ended: %v\n%s", p.name, p.cmd.ProcessState, tail(p.log, 2000))
	default:
		return nil
	}
}

// Kill ends it without a chance to say good-bye.
func (p *Process) Kill() {
	_ = p.cmd.Process.Kill()
	<-p.done
}

// Stop asks it to end, and insists after some time.
func (p *Process) Stop(patience time.Duration) {
	_ = p.cmd.Process.Signal(syscall.SIGTERM)
	select {
	case <-p.done:
	case <-time.After(patience):
		p.Kill()
	}
}

func tail(path string, bytes int64) string {
	text, err := os.ReadFile(path)
	if err != nil {
		return err.Error()
	}
	if int64(len(text)) > bytes {
		text = text[int64(len(text))-bytes:]
	}
	return string(text)
}

// Until calls `check` until it gives nil; the error names what was waited for and why it is not there.
func Until(patience time.Duration, what string, check func() error) error {
	deadline := time.Now().Add(patience)
	for {
		err := check()
		if err == nil {
			return nil
		}
		var fatal *Fatal
		if errors.As(err, &fatal) {
			return fmt.Errorf("%s: %w", what, err)
		}
		if time.Now().After(deadline) {
			return fmt.Errorf("%s: not within %v: %w", what, patience, err)
		}
		time.Sleep(200 * time.Millisecond)
	}
}

// Fatal is an error that waiting does not cure.
type Fatal struct{ Err error }

func (f *Fatal) Error() string { return f.Err.Error() }
func (f *Fatal) Unwrap() error { return f.Err }
