/* SPDX-License-Identifier: GPL-2.0 */
#ifndef DEMO_LIBRARY_H
#define DEMO_LIBRARY_H

/* Calls visit() with each order of the items 0 to n - 1; each item is one level of calls deeper. */
void each_order(int n, void (*visit)(const int *order, int n, void *data), void *data);

#endif
