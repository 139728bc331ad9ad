/* SPDX-License-Identifier: GPL-2.0 */
#ifndef HOP_H
#define HOP_H

struct walk {
	unsigned int left;			/* frames still to be entered */
	unsigned int files;			/* length of hops */
	void (**hops)(struct walk *walk);
	void (*leaf)(struct walk *walk);	/* called by the last frame */
};

#endif
