//go:build linux

#include "textflag.h"

// starter is the program of starter_linux.go, see starter_amd64.s.
TEXT starter<>(SB), NOSPLIT|NOFRAME, $0
	MOVD RSP, R19
	MOVD $0x400400, R20 // struct starterHead

	// close_range(4, ~0, 0): 3 is the input of the shell
	MOVD $436, R8
	MOVD $4, R0
	MOVD $0xffffffff, R1
	MOVD $0, R2
	SVC
	CBNZ R0, fail

	// landlock_create_ruleset(attr, 8, 0)
	MOVD $444, R8
	MOVD R20, R0
	MOVD $8, R1
	MOVD $0, R2
	SVC
	TBNZ $63, R0, fail
	MOVD R0, R21
	ADD  $56, R20, R20

next: // rights, the address of the next rule, the path
	MOVD (R20), R22
	CBZ  R22, restrict
	MOVD $56, R8 // openat(AT_FDCWD, path, O_PATH|O_CLOEXEC)
	MOVD $-100, R0
	ADD  $16, R20, R1
	MOVD $0x280000, R2
	MOVD $0, R3
	SVC
	TBNZ $63, R0, skip
	MOVD R0, R23
	SUB  $16, R19, R24
	MOVD R24, RSP
	MOVD R22, (R24) // struct landlock_path_beneath_attr
	MOVW R23, 8(R24)
	MOVD $445, R8 // landlock_add_rule: without it, less is allowed
	MOVD R21, R0
	MOVD $1, R1
	MOVD R24, R2
	MOVD $0, R3
	SVC
	MOVD $57, R8 // close
	MOVD R23, R0
	SVC
skip:
	MOVD 8(R20), R20
	JMP  next

restrict:
	MOVD $446, R8 // landlock_restrict_self
	MOVD R21, R0
	MOVD $0, R1
	SVC
	CBNZ R0, fail
	MOVD $57, R8 // close
	MOVD R21, R0
	SVC
	MOVD $221, R8 // execve(argv[1], argv+1, environ)
	MOVD 16(R19), R0
	ADD  $16, R19, R1
	MOVD (R19), R2
	LSL  $3, R2, R2
	ADD  R1, R2, R2
	SVC

fail:
	MOVD $64, R8 // write(2, message, 48)
	MOVD $2, R0
	MOVD $0x400408, R1
	MOVD $48, R2
	SVC
	MOVD $94, R8 // exit_group(125)
	MOVD $125, R0
	SVC
	BRK

TEXT starterEnd<>(SB), NOSPLIT|NOFRAME, $0
	RET

// func starterText() (begin, end unsafe.Pointer)
TEXT ·starterText(SB), NOSPLIT, $0-16
	MOVD $starter<>(SB), R0
	MOVD R0, begin+0(FP)
	MOVD $starterEnd<>(SB), R0
	MOVD R0, end+8(FP)
	RET
