#include "textflag.h"

// Both functions look at many places at a time: at the two most telling bytes of
// a run, and mostly at no more. They need the 3 bytes behind the places.

// BEGIN loads the arguments, and the addresses of the bytes of the first place.
#define BEGIN \
	MOVQ p+0(FP), SI \
	MOVQ n+8(FP), CX \
	MOVQ m+16(FP), DX \
	MOVQ 0(DX), R8 \
	MOVQ 8(DX), R9 \
	MOVQ 16(DX), R10 \
	MOVQ 24(DX), R11 \
	ADDQ SI, R8 \
	ADDQ SI, R9 \
	ADDQ SI, R10 \
	ADDQ SI, R11 \
	MOVQ $0x0f0f0f0f0f0f0f0f, AX

// LOOKUP leaves in text the buckets that each byte may belong to.
#define LOOKUP(text, low, high) \
	VPAND   Y8, text, Y15    \
	VPSRLW  $4, text, text   \
	VPAND   Y8, text, text   \
	VPSHUFB Y15, low, Y15    \
	VPSHUFB text, high, text \
	VPAND   Y15, text, text

// func indexAVX2(p *byte, n int, m *masks) int
//
// n is at least 35. It looks at 32 places at a time.
TEXT ·indexAVX2(SB), NOSPLIT, $0-32
	BEGIN
	MOVQ           AX, X8
	VPBROADCASTQ   X8, Y8
	VBROADCASTI128 32(DX), Y0
	VBROADCASTI128 48(DX), Y1
	VBROADCASTI128 64(DX), Y2
	VBROADCASTI128 80(DX), Y3
	VBROADCASTI128 96(DX), Y4
	VBROADCASTI128 112(DX), Y5
	VBROADCASTI128 128(DX), Y6
	VBROADCASTI128 144(DX), Y7

	XORQ AX, AX
	SUBQ $35, CX // the last place to begin at

loop:
	VMOVDQU (R8)(AX*1), Y9
	VMOVDQU (R9)(AX*1), Y10
	LOOKUP(Y9, Y0, Y1)
	LOOKUP(Y10, Y2, Y3)
	VPAND   Y10, Y9, Y9
	VPTEST  Y9, Y9
	JNZ     more

next:
	ADDQ $32, AX
	CMPQ AX, CX
	JLE  loop
	JMP  done

more:
	VMOVDQU (R10)(AX*1), Y11
	VMOVDQU (R11)(AX*1), Y12
	LOOKUP(Y11, Y4, Y5)
	LOOKUP(Y12, Y6, Y7)
	VPAND   Y12, Y11, Y11
	VPAND   Y11, Y9, Y9
	VPTEST  Y9, Y9
	JZ      next

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

// WIDE is LOOKUP for 64 bytes.
#define WIDE(text, low, high) \
	VPANDQ  Z8, text, Z15    \
	VPSRLW  $4, text, text   \
	VPANDQ  Z8, text, text   \
	VPSHUFB Z15, low, Z15    \
	VPSHUFB text, high, text \
	VPANDQ  Z15, text, text

// func indexAVX512(p *byte, n int, m *masks) int
//
// n is at least 67. It looks at 64 places at a time.
TEXT ·indexAVX512(SB), NOSPLIT, $0-32
	BEGIN
	VPBROADCASTQ    AX, Z8
	VBROADCASTI32X4 32(DX), Z0
	VBROADCASTI32X4 48(DX), Z1
	VBROADCASTI32X4 64(DX), Z2
	VBROADCASTI32X4 80(DX), Z3
	VBROADCASTI32X4 96(DX), Z4
	VBROADCASTI32X4 112(DX), Z5
	VBROADCASTI32X4 128(DX), Z6
	VBROADCASTI32X4 144(DX), Z7

	XORQ AX, AX
	SUBQ $67, CX // the last place to begin at

loop:
	VMOVDQU64 (R8)(AX*1), Z9
	VMOVDQU64 (R9)(AX*1), Z10
	WIDE(Z9, Z0, Z1)
	WIDE(Z10, Z2, Z3)
	VPTESTMB  Z9, Z10, K1
	KORTESTQ  K1, K1
	JNZ       more

next:
	ADDQ $64, AX
	CMPQ AX, CX
	JLE  loop
	JMP  done

more:
	VPANDQ    Z9, Z10, Z9
	VMOVDQU64 (R10)(AX*1), Z11
	VMOVDQU64 (R11)(AX*1), Z12
	WIDE(Z11, Z4, Z5)
	WIDE(Z12, Z6, Z7)
	VPANDQ    Z11, Z12, Z12
	VPTESTMB  Z9, Z12, K1
	KMOVQ     K1, BX
	TESTQ     BX, BX
	JZ        next
	BSFQ      BX, BX
	ADDQ      BX, AX

done:
	VZEROUPPER
	MOVQ AX, ret+24(FP)
	RET
