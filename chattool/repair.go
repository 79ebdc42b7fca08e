package chattool

import (
	"context"

	"charm.land/fantasy"
)

// NoRepair is a [fantasy.RepairToolCallFunction] that leaves a call with broken
// arguments as it is. The model then reads that the arguments are broken, and
// nothing runs. By default fantasy closes the quotes and brackets of arguments
// that were cut. But half of a command is another command.
func NoRepair(context.Context, fantasy.ToolCallRepairOptions) (*fantasy.ToolCallContent, error) {
	return nil, nil
}

var _ fantasy.RepairToolCallFunction = NoRepair
