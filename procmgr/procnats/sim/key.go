package main

import "strings"

// A processKey names a process in the whole fleet.
type processKey struct{ chat, id string }

func (k processKey) String() string { return k.chat + " " + k.id }

func keyOf(text string) processKey {
	chat, id, _ := strings.Cut(text, " ")
	return processKey{chat, id}
}
