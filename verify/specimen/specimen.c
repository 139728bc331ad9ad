// SPDX-License-Identifier: GPL-2.0
/* Code to resolve addresses to; nobody runs it. */

static inline unsigned int turn(unsigned int v, unsigned int by)
{
	return v << by | v >> (32 - by);
}

#define STEP(n)									\
	unsigned int step_##n(unsigned int v)					\
	{									\
		for (unsigned int i = 0; i < n; i++)				\
			v = turn(v + i, 1 + n % 31) ^ turn(v, 7);		\
		return v;							\
	}

STEP(1) STEP(2) STEP(3) STEP(4) STEP(5) STEP(6) STEP(7) STEP(8)
STEP(9) STEP(10) STEP(11) STEP(12) STEP(13) STEP(14) STEP(15) STEP(16)
