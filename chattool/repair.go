package chattool

import (
	"context"

	"charm.land/fantasy"
)

// NoRepair is a [fantasy.RepairToolCallFunction] that leaves a call with broken
// arguments as it is, so that the model is told and nothing runs. By default
// fantasy closes the quotes and brackets of arguments that were cut, and half of
// a command is another command.
func NoRepair(context.Context, fantasy.ToolCallRepairOptions) (*fantasy.ToolCallContent, error) {
	return nil, nil
}

var _ fantasy.RepairToolCallFunction = NoRepair
