package lab

import (
	"archive/tar"
	"bufio"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"
)

// Guest is the VM that is the node. Commands go over a serial line, so they need neither its network nor the cluster.
type Guest struct {
	qemu   *Process
	lock   *os.File
	mutex  sync.Mutex
	socket string
	line   net.Conn
	reader *bufio.Reader
	next   int
}

// Workload images of the tests: one static busybox under two names.
const (
	PauseImage   = "localhost/lab-pause:1"
	BusyboxImage = "localhost/lab-busybox:1"
)

const kubeletConfig = `apiVersion: kubelet.config.k8s.io/v1beta1
kind: KubeletConfiguration
authentication: {anonymous: {enabled: false}, webhook: {enabled: true}, x509: {clientCAFile: /etc/kubernetes/ca.crt}}
authorization: {mode: Webhook}
cgroupDriver: systemd
containerRuntimeEndpoint: unix:///run/containerd/containerd.sock
staticPodPath: /etc/kubernetes/manifests
failSwapOn: false
clusterDNS: [10.96.0.10]
clusterDomain: cluster.local
port: %d
`

// StartNode boots the VM and waits until its kubelet says Ready. `extra` is added to the kubelet's configuration.
func (l *Lab) StartNode(extra string) error {
	lock, err := os.OpenFile(l.Lock, os.O_CREATE|os.O_RDWR, 0o644)
	if err != nil {
		return err
	}
	if syscall.Flock(int(lock.Fd()), syscall.LOCK_EX|syscall.LOCK_NB) != nil {
		begin := time.Now()
		fmt.Println("another guest runs on this machine: waiting for", l.Lock)
		if err := syscall.Flock(int(lock.Fd()), syscall.LOCK_EX); err != nil {
			return err
		}
		fmt.Printf("waited %.0f s for the other guest\n", time.Since(begin).Seconds())
	}
	l.Guest = &Guest{lock: lock}
	if err := l.writeNodeDisk(extra); err != nil {
		return err
	}
	disk, socket := l.path("node.qcow2"), l.path("shell.sock")
	if out, err := exec.Command("qemu-img", "create", "-q", "-f", "qcow2", "-b", l.Node, "-F", "raw", disk).CombinedOutput(); err != nil {
		return fmt.Errorf("qemu-img: %w: %s", err, out)
	}
	l.Guest.qemu, err = spawn(l.Work, "qemu", "qemu-system-x86_64", "-accel", "tcg,thread=multi", "-cpu", "Haswell", "-smp", "2", "-m", "4096",
		"-nodefaults", "-no-user-config", "-display", "none", "-no-reboot", "-rtc", "base=utc",
		"-chardev", "file,id=console,path="+l.path("console.log"), "-device", "isa-serial,chardev=console",
		"-chardev", "socket,id=shell,server=on,wait=off,path="+socket, "-device", "isa-serial,chardev=shell",
		"-kernel", filepath.Join(l.Kernel, "vmlinuz"), "-initrd", filepath.Join(l.Kernel, "initramfs.cpio"),
		"-append", "console=ttyS0 quiet panic=-1 oops=panic psi=1 mitigations=off net.ifnames=0 random.trust_cpu=on systemd.default_timeout_start_sec=900 systemd.default_device_timeout_sec=900",
		"-drive", "file="+disk+",if=virtio,format=qcow2,cache=unsafe",
		"-drive", "file="+l.path("node.tar")+",if=virtio,format=raw,cache=unsafe,readonly=on",
		"-netdev", fmt.Sprintf("user,id=net,hostfwd=tcp:127.0.0.1:%d-:%d", l.ports.Kubelet, l.ports.Kubelet),
		"-device", "virtio-net-pci,netdev=net")
	if err != nil {
		return err
	}
	if err := l.Guest.connect(socket); err != nil {
		return fmt.Errorf("%w\n%s", err, tail(l.path("console.log"), 3000))
	}
	return Until(15*time.Minute, "the node is ready", func() error {
		if err := l.Guest.qemu.Alive(); err != nil {
			return &Fatal{err}
		}
		node, err := l.Get("/api/v1/nodes/" + NodeName)
		if err != nil {
			return err
		}
		conditions, _ := At(node, "status", "conditions").([]any)
		for _, condition := range conditions {
			if Text(condition, "type") == "Ready" && Text(condition, "status") != "True" {
				return errors.New(Text(condition, "message"))
			}
		}
		if len(conditions) == 0 {
			return errors.New("no conditions yet")
		}
		return nil
	})
}

// What differs from run to run comes on a second disk, which is a plain tar.
func (l *Lab) writeNodeDisk(extra string) error {
	kubeconfig, err := l.kubeconfigText(fmt.Sprintf("https://10.0.2.2:%d", l.ports.API), "lab-node")
	if err != nil {
		return err
	}
	ca, err := os.ReadFile(l.path("ca.crt"))
	if err != nil {
		return err
	}
	busybox, err := busyboxArchive()
	if err != nil {
		return err
	}
	agent, err := os.ReadFile(l.Image)
	if err != nil {
		return err
	}
	out, err := os.Create(l.path("node.tar"))
	if err != nil {
		return err
	}
	defer out.Close()
	writer := tar.NewWriter(out)
	for _, file := range []struct {
		name string
		data []byte
	}{
		{"etc/kubernetes/kubelet.kubeconfig", []byte(kubeconfig)},
		{"etc/kubernetes/kubelet.yaml", []byte(fmt.Sprintf(kubeletConfig, l.ports.Kubelet) + extra)},
		{"etc/kubernetes/ca.crt", ca},
		{"lab/env", []byte(fmt.Sprintf("NODE=%s\nAPI_PORT=%d\n", NodeName, l.ports.API))},
		{"lab/images/busybox.tar", busybox},
		{"lab/images/agent.tar", agent},
	} {
		if err := addFile(writer, file.name, 0o644, file.data); err != nil {
			return err
		}
	}
	if err := writer.Close(); err != nil {
		return err
	}
	// A disk has whole sectors; more zeros are a longer end of the archive.
	size, err := out.Seek(0, io.SeekEnd)
	if err != nil {
		return err
	}
	return out.Truncate((size + 1<<20) &^ (1<<20 - 1))
}

func (g *Guest) connect(socket string) error {
	err := Until(30*time.Second, "QEMU opens the serial line", func() error {
		if err := g.qemu.Alive(); err != nil {
			return &Fatal{err}
		}
		line, err := net.Dial("unix", socket)
		g.line = line
		return err
	})
	if err != nil {
		return err
	}
	g.socket, g.reader = socket, bufio.NewReaderSize(g.line, 1<<16)
	return Until(10*time.Minute, "the guest's shell answers", func() error {
		if err := g.qemu.Alive(); err != nil {
			return &Fatal{err}
		}
		_, err := g.run("true", 5*time.Second)
		return err
	})
}

// Release lets another process use the serial line, which takes one at a time.
func (g *Guest) Release() { g.line.Close() }

// Resume takes the serial line back after Release.
func (g *Guest) Resume() error { return g.connect(g.socket) }

// Run runs a script in the guest's sh and gives its output; a status that is not 0 is an error.
func (g *Guest) Run(script string) (string, error) { return g.run(script, 2*time.Minute) }

func (g *Guest) run(script string, patience time.Duration) (string, error) {
	g.mutex.Lock()
	defer g.mutex.Unlock()
	g.next++
	id := strconv.Itoa(g.next)
	if err := g.line.SetDeadline(time.Now().Add(patience)); err != nil {
		return "", err
	}
	if _, err := fmt.Fprintf(g.line, "%s %s\n", id, base64Of([]byte(script))); err != nil {
		return "", err
	}
	var encoded strings.Builder
	inside := false
	for {
		text, err := g.reader.ReadString('\n')
		if err != nil {
			return "", fmt.Errorf("in the guest: %s: %w", script, err)
		}
		text = strings.TrimSpace(text)
		switch {
		case text == "@begin "+id:
			inside = true
		case inside && strings.HasPrefix(text, "@end "+id+" "):
			output, err := base64.StdEncoding.DecodeString(encoded.String())
			if status := strings.TrimPrefix(text, "@end "+id+" "); err == nil && status != "0" {
				err = fmt.Errorf("in the guest: %s: status %s: %s", script, status, output)
			}
			return string(output), err
		case inside:
			encoded.WriteString(text)
		}
	}
}

// Journal is what the node's services logged, for failures.
func (g *Guest) Journal() string {
	out, err := g.Run("journalctl -b --no-pager -o short-monotonic -u kubelet -u containerd -u 'lab-*' | tail -n 400; cat /proc/loadavg")
	if err != nil {
		return err.Error()
	}
	return out
}

func (g *Guest) stop() {
	if g.qemu != nil {
		g.qemu.Kill()
	}
	if g.lock != nil {
		g.lock.Close()
	}
}
