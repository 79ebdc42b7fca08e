package policy

import "golang.org/x/sys/windows"

// flush drops what a console has not handed out.
func flush(fd uintptr) { _ = windows.FlushConsoleInputBuffer(windows.Handle(fd)) }
