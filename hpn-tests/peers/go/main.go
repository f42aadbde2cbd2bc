// A client of golang.org/x/crypto/ssh and github.com/pkg/sftp, and a server:
//
//	go MODE get|put HOST PORT KEY SOURCE COPY
//	go serve PORT HOSTKEY USERKEY.pub [SOFTWARE]
package main

import (
	"bytes"
	"fmt"
	"io"
	"log"
	"net"
	"os"
	"sync"

	"github.com/pkg/sftp"
	"golang.org/x/crypto/ssh"
)

const (
	packet  = 32 << 10 // bytes, pkg/sftp's default
	writers = 64       // requests under way, as many as pkg/sftp's default
)

func check(err error) {
	if err != nil {
		log.Fatal(err)
	}
}

func key(path string) ssh.Signer {
	text, err := os.ReadFile(path)
	check(err)
	signer, err := ssh.ParsePrivateKey(text)
	check(err)
	return signer
}

func openBoth(client *sftp.Client, get bool, source, copied string) (
	remote *sftp.File, local *os.File) {
	var err error
	if get {
		remote, err = client.Open(source)
		check(err)
		local, err = os.Create(copied)
	} else {
		remote, err = client.Create(copied)
		check(err)
		local, err = os.Open(source)
	}
	check(err)
	return
}

// Parts of a file, each in a request of its own, from many goroutines.
func parallel(from io.ReaderAt, to io.WriterAt, size int64) {
	offsets := make(chan int64)
	var wait sync.WaitGroup
	for i := 0; i < writers; i++ {
		wait.Add(1)
		go func() {
			defer wait.Done()
			part := make([]byte, packet)
			for at := range offsets {
				n, err := from.ReadAt(part, at)
				if err != io.EOF {
					check(err)
				}
				_, err = to.WriteAt(part[:n], at)
				check(err)
			}
		}()
	}
	for at := int64(0); at < size; at += packet {
		offsets <- at
	}
	close(offsets)
	wait.Wait()
}

func move(conn *ssh.Client, mode string, get bool, source, copied string) {
	options := []sftp.ClientOption{}
	if mode == "readfrom" || mode == "many" {
		options = append(options, sftp.UseConcurrentWrites(true))
	}
	if mode == "many" {
		options = append(options,
			sftp.MaxConcurrentRequestsPerFile(1024))
	}
	client, err := sftp.NewClient(conn, options...)
	check(err)
	remote, local := openBoth(client, get, source, copied)
	switch {
	case mode == "at" && get:
		info, err := remote.Stat()
		check(err)
		parallel(remote, local, info.Size())
	case mode == "at":
		info, err := local.Stat()
		check(err)
		parallel(local, remote, info.Size())
	case get:
		_, err = remote.WriteTo(local)
	default:
		_, err = remote.ReadFrom(local)
	}
	check(err)
	check(remote.Close())
	check(local.Close())
	check(client.Close())
}

func session(conn *ssh.Client, get bool, source, copied string) {
	session, err := conn.NewSession()
	check(err)
	command := "cat > " + copied
	if get {
		command = "cat " + source
		session.Stdout, err = os.Create(copied)
	} else {
		session.Stdin, err = os.Open(source)
	}
	check(err)
	check(session.Run(command))
}

func client(mode, direction, host, port, keyPath, source, copied string) {
	conn, err := ssh.Dial("tcp", net.JoinHostPort(host, port),
		&ssh.ClientConfig{
			User:            "root",
			Auth:            []ssh.AuthMethod{ssh.PublicKeys(key(keyPath))},
			HostKeyCallback: ssh.InsecureIgnoreHostKey(),
		})
	check(err)
	if mode == "exec" {
		session(conn, direction == "get", source, copied)
	} else {
		move(conn, mode, direction == "get", source, copied)
	}
	check(conn.Close())
}

func serveSession(channel ssh.Channel, requests <-chan *ssh.Request) {
	for request := range requests {
		ok := request.Type == "subsystem" &&
			string(request.Payload[4:]) == "sftp"
		request.Reply(ok, nil)
		if !ok {
			continue
		}
		go func() {
			server, err := sftp.NewServer(channel)
			check(err)
			server.Serve()
			channel.SendRequest("exit-status", false,
				[]byte{0, 0, 0, 0})
			channel.Close()
		}()
	}
}

func serve(port, hostKey, userKey string, software ...string) {
	text, err := os.ReadFile(userKey)
	check(err)
	user, _, _, _, err := ssh.ParseAuthorizedKey(text)
	check(err)
	config := &ssh.ServerConfig{
		PublicKeyCallback: func(_ ssh.ConnMetadata, offered ssh.PublicKey) (
			*ssh.Permissions, error) {
			if !bytes.Equal(offered.Marshal(), user.Marshal()) {
				return nil, fmt.Errorf("not the user's key")
			}
			return nil, nil
		},
	}
	config.AddHostKey(key(hostKey))
	for _, name := range software {
		config.ServerVersion = "SSH-2.0-" + name
	}
	listener, err := net.Listen("tcp", ":"+port)
	check(err)
	for {
		conn, err := listener.Accept()
		check(err)
		_, channels, requests, err := ssh.NewServerConn(conn, config)
		if err != nil {
			log.Print(err)
			continue
		}
		go ssh.DiscardRequests(requests)
		go func() {
			for opened := range channels {
				if opened.ChannelType() != "session" {
					opened.Reject(ssh.UnknownChannelType, "")
					continue
				}
				channel, requests, err := opened.Accept()
				check(err)
				go serveSession(channel, requests)
			}
		}()
	}
}

func main() {
	log.SetFlags(0)
	a := os.Args[1:]
	if len(a) >= 4 && a[0] == "serve" {
		serve(a[1], a[2], a[3], a[4:]...)
	} else if len(a) == 7 {
		client(a[0], a[1], a[2], a[3], a[4], a[5], a[6])
	} else {
		log.Fatal("usage: go MODE get|put HOST PORT KEY SOURCE COPY")
	}
}
