// SPDX-License-Identifier: GPL-2.0
/*
 * Samples in real NMIs, for machines that have no counter which raises them:
 * while this is loaded, a timer on each CPU sends NMIs, in turn to its own CPU,
 * where the interrupt of the timer is interrupted, and to the next one, where
 * it may be anything. Each hits the tracepoint nmi_sample:nmi_sample. All other
 * NMIs are taken for its own.
 */
#include <linux/cpumask.h>
#include <linux/hrtimer.h>
#include <linux/ktime.h>
#include <linux/module.h>
#include <linux/moduleparam.h>
#include <linux/percpu.h>
#include <linux/perf_event.h>
#include <linux/smp.h>

#include <asm/apic.h>
#include <asm/nmi.h>

/* The sample is of what was interrupted, not of the handler. */
#define perf_fetch_caller_regs(to) ((to) = regs)
#define CREATE_TRACE_POINTS
#include "nmi_sample_trace.h"

static unsigned int period_us = 1000;
module_param(period_us, uint, 0444);
MODULE_PARM_DESC(period_us, "time between two NMIs that a CPU sends");

struct nmi_sender {
	struct hrtimer timer;
	bool to_next;
};

static DEFINE_PER_CPU(struct nmi_sender, senders);

static int nmi_sample_handle(unsigned int cmd, struct pt_regs *regs)
{
	trace_nmi_sample(regs);
	return NMI_HANDLED;
}

static enum hrtimer_restart send_nmi(struct hrtimer *timer)
{
	struct nmi_sender *sender = container_of(timer, struct nmi_sender, timer);
	unsigned int cpu = smp_processor_id();

	if (sender->to_next)
		cpu = cpumask_next_wrap(cpu, cpu_online_mask);
	sender->to_next = !sender->to_next;
	__apic_send_IPI_mask(cpumask_of(cpu), NMI_VECTOR);
	hrtimer_forward_now(timer, us_to_ktime(period_us));
	return HRTIMER_RESTART;
}

static void start_sender(void *unused)
{
	struct nmi_sender *sender = this_cpu_ptr(&senders);

	hrtimer_setup(&sender->timer, send_nmi, CLOCK_MONOTONIC, HRTIMER_MODE_REL_PINNED_HARD);
	hrtimer_start(&sender->timer, us_to_ktime(period_us), HRTIMER_MODE_REL_PINNED_HARD);
}

static void do_nothing(void *unused)
{
}

static int __init nmi_sample_init(void)
{
	int err;

	if (!period_us)
		return -EINVAL;
	err = register_nmi_handler(NMI_LOCAL, nmi_sample_handle, 0, "nmi_sample");
	if (err)
		return err;
	on_each_cpu(start_sender, NULL, true);
	return 0;
}

static void __exit nmi_sample_exit(void)
{
	int cpu;

	for_each_online_cpu(cpu)
		hrtimer_cancel(&per_cpu_ptr(&senders, cpu)->timer);
	/* What was sent has arrived on all of them. */
	on_each_cpu(do_nothing, NULL, true);
	unregister_nmi_handler(NMI_LOCAL, "nmi_sample");
}

module_init(nmi_sample_init);
module_exit(nmi_sample_exit);
MODULE_LICENSE("GPL");
MODULE_DESCRIPTION("Samples in NMIs");
