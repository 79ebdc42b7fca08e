package filetool

import "github.com/toolproc/toolproc/procmgr/procfile"

// Files are the text files of one machine: [Local] here, and the Client of package
// prochttp elsewhere. The contract is that of package procfile.
type Files = procfile.Files

// The requests and results of Files.
type (
	// ReadRequest is [procfile.ReadRequest].
	ReadRequest = procfile.ReadRequest
	// ReadResult is [procfile.ReadResult].
	ReadResult = procfile.ReadResult
	// WriteRequest is [procfile.WriteRequest].
	WriteRequest = procfile.WriteRequest
	// WriteResult is [procfile.WriteResult].
	WriteResult = procfile.WriteResult
	// EditRequest is [procfile.EditRequest].
	EditRequest = procfile.EditRequest
	// EditResult is [procfile.EditResult].
	EditResult = procfile.EditResult
	// FileEdit is [procfile.FileEdit].
	FileEdit = procfile.FileEdit
	// Edit is [procfile.Edit].
	Edit = procfile.Edit
)

type (
	// Local are the files of this machine.
	Local = procfile.Local
	// LocalOptions are the options of NewLocal.
	LocalOptions = procfile.LocalOptions
)

// NewLocal returns the files of this machine; see [procfile.NewLocal].
func NewLocal(opts *LocalOptions) (*Local, error) { return procfile.NewLocal(opts) }
