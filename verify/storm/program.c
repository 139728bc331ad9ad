// SPDX-License-Identifier: GPL-2.0
/*
 * What bid-storm copies, each copy with a build ID of its own: a program that
 * works for as many microseconds as it is told.
 */
#include <stdlib.h>
#include <time.h>

static volatile unsigned long sink;

static unsigned long now_us(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec * 1000000ul + ts.tv_nsec / 1000;
}

static __attribute__((noinline)) void work(int depth, unsigned long until)
{
	if (depth)
		work(depth - 1, until);
	else
		while (now_us() < until)
			for (int i = 0; i < 1000; i++)
				sink += i;
	sink++;			/* no tail call */
}

int main(int argc, char **argv)
{
	work(8, now_us() + (argc > 1 ? strtoul(argv[1], NULL, 10) : 1000));
	return 0;
}
