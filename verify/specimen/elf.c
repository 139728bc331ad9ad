// SPDX-License-Identifier: GPL-2.0
/* Has what perf reads of ELF files beside symbols: .plt, .plt.got, .plt.sec, IFUNCs, .opd, SDT notes. Nobody runs it. */

#include "specimen.c"

extern unsigned int from_elsewhere(unsigned int v);
extern unsigned int also_from_elsewhere(unsigned int v);

/* Its address is taken: .plt.got */
unsigned int (*pointer)(unsigned int) = also_from_elsewhere;

static unsigned int turned(unsigned int v)
{
	return turn(v, 3);
}

static unsigned int (*choose(void))(unsigned int)
{
	return turned;
}

unsigned int chosen(unsigned int v) __attribute__((ifunc("choose")));

unsigned int caller(unsigned int v)
{
	unsigned int (*volatile also)(unsigned int) = also_from_elsewhere;

	return from_elsewhere(v) + also_from_elsewhere(v) + also(v) + chosen(v);
}

__asm__(".pushsection .opd,\"aw\",@progbits\n"
	".globl described\n"
	".type described,@function\n"
	"described: .quad caller, 0, 0\n"
	".size described, 24\n"
	".popsection\n"
	".pushsection .note.stapsdt,\"\",@note\n"
	".balign 4\n"
	".long 8, 2f - 1f, 3\n"
	".asciz \"stapsdt\"\n"
	"1: .quad caller, 0, 0\n"
	".asciz \"provider\"\n"
	".asciz \"probe\"\n"
	".asciz \"4@%edi\"\n"
	"2: .balign 4\n"
	".popsection\n");
