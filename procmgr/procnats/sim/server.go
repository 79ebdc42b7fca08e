package main

import (
	"fmt"
	"net/url"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"golang.org/x/xerrors"
)

// servers is how many there are.
const servers = 3

// A serverConfig is that of one server of the cluster.
type serverConfig struct {
	Name    string
	Port    int
	Route   int   // the port for the other servers
	Routes  []int // those of all servers
	Dir     string
	Profile string
}

// serverTraffic is what a server has moved, routes to other servers included.
type serverTraffic struct {
	InMsgs, OutMsgs, InBytes, OutBytes int64
	Subscriptions                      uint32
	Connections                        int
	Usage                              usage
}

// runServer is a server, until its stdin ends.
func runServer(c serverConfig, p *parent) error {
	opts := &server.Options{
		ServerName: c.Name,
		Host:       "127.0.0.1", Port: c.Port,
		JetStream: true, StoreDir: c.Dir,
		NoSigs: true, NoLog: true,
		PingInterval: 2 * time.Second, MaxPingsOut: 3, // so that a machine that was cut off is soon gone
		Cluster: server.ClusterOpts{Name: "sim", Host: "127.0.0.1", Port: c.Route},
	}
	for _, port := range c.Routes {
		opts.Routes = append(opts.Routes, &url.URL{Scheme: "nats", Host: fmt.Sprintf("127.0.0.1:%d", port)})
	}
	s, err := server.NewServer(opts)
	if err != nil {
		return err
	}
	s.Start()
	defer func() {
		s.Shutdown()
		s.WaitForShutdown()
	}()
	if !s.ReadyForConnections(30 * time.Second) {
		return xerrors.New("the server takes no connections")
	}
	p.say("ready", nil)
	return p.serve(map[string]func(string) (any, error){
		"stats": func(string) (any, error) {
			v, err := s.Varz(nil)
			if err != nil {
				return nil, err
			}
			return serverTraffic{v.InMsgs, v.OutMsgs, v.InBytes, v.OutBytes, v.Subscriptions, v.Connections, usageNow()}, nil
		},
		"leads": func(stream string) (any, error) {
			return s.JetStreamIsStreamLeader(server.DEFAULT_GLOBAL_ACCOUNT, stream), nil
		},
		"healthy": func(string) (any, error) {
			return s.Healthz(nil).Status == "ok" && s.JetStreamIsCurrent(), nil
		},
	})
}
