// SPDX-License-Identifier: GPL-2.0
/* Solves n queens: how many ways are there to put n queens on a board? */
#include <stdio.h>
#include <stdlib.h>
#include "library.h"

static int attacks(const int *order, int a, int b)
{
	return abs(order[a] - order[b]) == b - a;
}

static int row_is_safe(const int *order, int row)
{
	for (int other = 0; other < row; other++) {
		if (attacks(order, other, row))
			return 0;
	}
	return 1;
}

static void count_safe(const int *order, int n, void *data)
{
	long *count = data;

	for (int row = 0; row < n; row++) {
		if (!row_is_safe(order, row))
			return;
	}
	++*count;
}

int main(int argc, char **argv)
{
	int n = argc > 1 ? atoi(argv[1]) : 10;
	long count = 0;

	if (n < 1 || n > 12) {
		fprintf(stderr, "%s: give a number of queens from 1 to 12\n", argv[0]);
		return 1;
	}
	each_order(n, count_safe, &count);
	printf("%ld ways to put %d queens\n", count, n);
	return 0;
}
