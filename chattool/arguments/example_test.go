package arguments_test

import (
	"encoding/json"
	"fmt"

	"github.com/toolproc/toolproc/chattool/arguments"
)

func ExampleDecode() {
	var args struct {
		Path  arguments.Text  `json:"path" description:"The file." alias:"file,filename"`
		Limit arguments.Lines `json:"limit,omitempty" description:"How many lines."`
	}
	fmt.Println(string(arguments.Schema(args, func(description string) string { return description })))
	fmt.Println(arguments.Decode(json.RawMessage(`{"path":"a.txt","limit":"20"}`), &args), args)
	fmt.Println(arguments.Decode(json.RawMessage(`{"filename":"a.txt"}`), &args))
	// Output:
	// {"properties":{"path":{"type":"string","description":"The file."},"limit":{"type":"integer","description":"How many lines."}},"additionalProperties":false,"type":"object","required":["path"]}
	// <nil> {a.txt 20}
	// there is no argument "filename", it is called "path"; this tool takes path, limit
}
