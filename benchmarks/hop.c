// SPDX-License-Identifier: GPL-2.0
/* A frame of the stack that sample-cost builds; each copy of this library is a file of its own in the callchain. */
#include "hop.h"

void hop(struct walk *walk)
{
	if (walk->left) {
		walk->left--;
		walk->hops[walk->left % walk->files](walk);
	} else {
		walk->leaf(walk);
	}
	/* The frame stays: the call before is no jump. */
	__asm__ volatile("" : : : "memory");
}
