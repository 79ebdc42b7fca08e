//go:build linux

#include "textflag.h"

// starter is the program of starter_linux.go. It lives at a fixed address, and uses the
// stack that the kernel has made: the number of arguments, the arguments, the environment.
TEXT starter<>(SB), NOSPLIT|NOFRAME, $0
	MOVQ SP, R12
	MOVQ $0x400400, R13 // struct starterHead

	// close_range(4, ~0, 0): 3 is the input of the shell
	MOVQ $436, AX
	MOVQ $4, DI
	MOVL $0xffffffff, SI
	XORL DX, DX
	SYSCALL
	TESTQ AX, AX
	JNE  fail

	// landlock_create_ruleset(attr, 8, 0)
	MOVQ $444, AX
	MOVQ R13, DI
	MOVQ $8, SI
	XORL DX, DX
	SYSCALL
	TESTQ AX, AX
	JLT  fail
	MOVQ AX, R15
	ADDQ $56, R13

next: // rights, the address of the next rule, the path
	MOVQ (R13), BX
	TESTQ BX, BX
	JEQ  restrict
	MOVQ $2, AX // open(path, O_PATH|O_CLOEXEC)
	LEAQ 16(R13), DI
	MOVQ $0x280000, SI
	XORL DX, DX
	SYSCALL
	TESTQ AX, AX
	JLT  skip
	MOVQ AX, R9
	MOVQ BX, -16(SP) // struct landlock_path_beneath_attr, in the red zone
	MOVL AX, -8(SP)
	MOVQ $445, AX // landlock_add_rule: without it, less is allowed
	MOVQ R15, DI
	MOVQ $1, SI
	LEAQ -16(SP), DX
	XORL R10, R10
	SYSCALL
	MOVQ $3, AX // close
	MOVQ R9, DI
	SYSCALL
skip:
	MOVQ 8(R13), R13
	JMP  next

restrict:
	MOVQ $446, AX // landlock_restrict_self
	MOVQ R15, DI
	XORL SI, SI
	SYSCALL
	TESTQ AX, AX
	JNE  fail
	MOVQ $3, AX // close
	MOVQ R15, DI
	SYSCALL
	MOVQ $59, AX // execve(argv[1], argv+1, environ)
	MOVQ 16(R12), DI
	LEAQ 16(R12), SI
	MOVQ (R12), DX
	SHLQ $3, DX
	LEAQ 16(R12)(DX*1), DX
	SYSCALL

fail:
	MOVQ $1, AX // write(2, message, 48)
	MOVQ $2, DI
	MOVQ $0x400408, SI
	MOVQ $48, DX
	SYSCALL
	MOVQ $231, AX // exit_group(125)
	MOVQ $125, DI
	SYSCALL
	INT  $3

TEXT starterEnd<>(SB), NOSPLIT|NOFRAME, $0
	RET

// func starterText() (begin, end unsafe.Pointer)
TEXT ·starterText(SB), NOSPLIT, $0-16
	LEAQ starter<>(SB), AX
	MOVQ AX, begin+0(FP)
	LEAQ starterEnd<>(SB), AX
	MOVQ AX, end+8(FP)
	RET
