// SPDX-License-Identifier: GPL-2.0
/*
 * What bid-storm copies, each copy with a build ID of its own: a library whose
 * code works wherever it is mapped, and without its data.
 */
__attribute__((noinline)) static unsigned long deeper(int depth, unsigned long rounds)
{
	unsigned long sum = 0;

	if (depth)
		return deeper(depth - 1, rounds) + 1;
	for (unsigned long i = 0; i < rounds * 100; i++) {
		sum += i;
		__asm__ volatile("" : "+r" (sum));
	}
	return sum;
}

unsigned long storm_work(unsigned long rounds);
unsigned long storm_work(unsigned long rounds)
{
	return deeper(6, rounds) + 1;
}
