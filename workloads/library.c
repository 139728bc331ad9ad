// SPDX-License-Identifier: GPL-2.0
/* The shared library of program.c: deep call chains that cross between it and the program. */
#include "library.h"

struct search {
	int n;
	int order[16];
	void (*visit)(const int *order, int n, void *data);
	void *data;
};

static void swap_items(int *a, int *b)
{
	int c = *a;

	*a = *b;
	*b = c;
}

static void place(struct search *search, int level)
{
	if (level == search->n) {
		search->visit(search->order, search->n, search->data);
		return;
	}
	for (int i = level; i < search->n; i++) {
		swap_items(&search->order[level], &search->order[i]);
		place(search, level + 1);
		swap_items(&search->order[level], &search->order[i]);
	}
}

void each_order(int n, void (*visit)(const int *order, int n, void *data), void *data)
{
	struct search search = { .n = n, .visit = visit, .data = data };

	for (int i = 0; i < n; i++)
		search.order[i] = i;
	place(&search, 0);
}
