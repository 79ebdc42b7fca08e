// Package procroute makes one [procmgr.Host] of many: [New] returns a Host whose
// chats run on the machines that a [Router] names. Take it if chats belong to
// several machines that this program can reach; if machines dial out to NATS, take
// procnats.
package procroute
