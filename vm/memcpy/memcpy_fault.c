// SPDX-License-Identifier: GPL-2.0
/*
 * What KASAN must report: when this is loaded, memcpy() reads past the end of an
 * object, by as much as only the caller of the module knows, so that it stays a
 * call.
 */
#include <linux/module.h>
#include <linux/moduleparam.h>
#include <linux/slab.h>

static unsigned int size = 48;
module_param(size, uint, 0444);
MODULE_PARM_DESC(size, "bytes that are read of 32");

static int __init memcpy_fault_init(void)
{
	char *from = kmalloc(32, GFP_KERNEL), *to = kmalloc(size, GFP_KERNEL);

	if (from && to) {
		OPTIMIZER_HIDE_VAR(from);
		memcpy(to, from, size);
		pr_info("memcpy_fault: read %u bytes of 32, the first is %d\n", size, to[0]);
	}
	kfree(from);
	kfree(to);
	return 0;
}

static void __exit memcpy_fault_exit(void)
{
}

module_init(memcpy_fault_init);
module_exit(memcpy_fault_exit);
MODULE_DESCRIPTION("A memcpy() that reads past the end of an object");
MODULE_LICENSE("GPL");
