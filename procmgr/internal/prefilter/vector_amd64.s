#include "textflag.h"

// LOOKUP leaves in text, of 32 bytes, the buckets that each byte may belong to.
#define LOOKUP(text, low, high) \
	VPAND   Y8, text, Y15    \
	VPSRLW  $4, text, text   \
	VPAND   Y8, text, text   \
	VPSHUFB Y15, low, Y15    \
	VPSHUFB text, high, text \
	VPAND   Y15, text, text

// func indexAVX2(p *byte, n int, m *masks) int
//
// n is at least 35. It looks at 32 places at a time, and needs the 3 bytes
// behind them.
TEXT ·indexAVX2(SB), NOSPLIT, $0-32
	MOVQ p+0(FP), SI
	MOVQ n+8(FP), CX
	MOVQ m+16(FP), DX

	VBROADCASTI128 0(DX), Y0
	VBROADCASTI128 16(DX), Y1
	VBROADCASTI128 32(DX), Y2
	VBROADCASTI128 48(DX), Y3
	VBROADCASTI128 64(DX), Y4
	VBROADCASTI128 80(DX), Y5
	VBROADCASTI128 96(DX), Y6
	VBROADCASTI128 112(DX), Y7
	MOVQ           $0x0f0f0f0f0f0f0f0f, AX
	MOVQ           AX, X8
	VPBROADCASTQ   X8, Y8

	XORQ AX, AX
	SUBQ $35, CX // the last place to begin at

loop:
	VMOVDQU (SI)(AX*1), Y9
	VMOVDQU 1(SI)(AX*1), Y10
	VMOVDQU 2(SI)(AX*1), Y11
	VMOVDQU 3(SI)(AX*1), Y12
	LOOKUP(Y9, Y0, Y1)
	LOOKUP(Y10, Y2, Y3)
	LOOKUP(Y11, Y4, Y5)
	LOOKUP(Y12, Y6, Y7)
	VPAND   Y10, Y9, Y9
	VPAND   Y12, Y11, Y11
	VPAND   Y11, Y9, Y9
	VPTEST  Y9, Y9
	JNZ     hit
	ADDQ    $32, AX
	CMPQ    AX, CX
	JLE     loop
	JMP     done

hit:
	VPXOR     Y10, Y10, Y10
	VPCMPEQB  Y10, Y9, Y9
	VPMOVMSKB Y9, BX
	NOTL      BX
	BSFL      BX, BX
	ADDQ      BX, AX

done:
	VZEROUPPER
	MOVQ AX, ret+24(FP)
	RET
