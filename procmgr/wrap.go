package procmgr

// WrapHost returns a Host whose own view is f(h), and whose view of each chat is
// f(h.Chat(id)). So a guard that f puts around a Manager stands before the host
// and before every chat, and nothing reaches around it. f is called once for h, and
// once for each call of Chat.
//
// A guard embeds [Unsupported], and forwards by name what it lets through. It must
// not embed the Manager that it guards: a method that the guard does not have would
// then go to that Manager directly, also one that a later version adds.
func WrapHost(h Host, f func(Manager) Manager) Host {
	return &wrappedHost{Manager: f(h), chat: func(id string) Manager { return f(h.Chat(id)) }}
}

// A wrappedHost has the methods of the Manager that f has returned, and no other
// methods of its type.
type wrappedHost struct {
	Manager
	chat func(id string) Manager
}

func (h *wrappedHost) Chat(id string) Manager { return h.chat(id) }
