// SPDX-License-Identifier: GPL-2.0
/*
 * Reading the memory map from contexts that may hold any lock.
 *
 * To try for mmap_lock is harmless everywhere. To release it is not: that may
 * wake a writer, which takes the locks of a runqueue, and the code that was
 * interrupted may hold them. With interrupts off the release is therefore
 * left to an irq_work, and there is one of these for each CPU.
 */
#include <linux/atomic.h>
#include <linux/irq_work.h>
#include <linux/irqflags.h>
#include <linux/mmap_lock.h>
#include <linux/mmap_trylock.h>
#include <linux/percpu.h>

struct mmap_unlock_work {
	struct irq_work irq_work;
	struct mm_struct *mm;
	/* From before the lock is tried for until the irq_work has read @mm. */
	atomic_t claimed;
};

static void mmap_unlock_run(struct irq_work *irq_work)
{
	struct mmap_unlock_work *work =
		container_of(irq_work, struct mmap_unlock_work, irq_work);

	/* Lockdep has seen the release in mmap_read_unlock_atomic(). */
	mmap_read_unlock_non_owner(work->mm);
	atomic_set_release(&work->claimed, 0);
}

static DEFINE_PER_CPU(struct mmap_unlock_work, mmap_unlock_work) = {
	.irq_work = IRQ_WORK_INIT(mmap_unlock_run),
};

/**
 * mmap_read_trylock_atomic() - try to lock a memory map for reading
 * @mm: the memory map
 * @workp: set to what mmap_read_unlock_atomic() must be given
 *
 * Context: any, NMI included. When interrupts are off they must stay off until
 * mmap_read_unlock_atomic().
 *
 * Return: whether the lock was taken. That it was not may also be due to an
 * earlier release that is still pending on this CPU, or to PREEMPT_RT, where
 * mmap_lock cannot be tried for with interrupts off.
 */
bool mmap_read_trylock_atomic(struct mm_struct *mm, struct mmap_unlock_work **workp)
{
	struct mmap_unlock_work *work = NULL;

	if (irqs_disabled()) {
		if (IS_ENABLED(CONFIG_PREEMPT_RT))
			return false;

		work = this_cpu_ptr(&mmap_unlock_work);
		if (irq_work_is_busy(&work->irq_work) ||
		    atomic_cmpxchg_acquire(&work->claimed, 0, 1))
			return false;
	}

	if (!mmap_read_trylock(mm)) {
		if (work)
			atomic_set_release(&work->claimed, 0);
		return false;
	}

	*workp = work;
	return true;
}

/**
 * mmap_read_unlock_atomic() - release what mmap_read_trylock_atomic() locked
 * @mm: the memory map
 * @work: as mmap_read_trylock_atomic() has set it
 */
void mmap_read_unlock_atomic(struct mm_struct *mm, struct mmap_unlock_work *work)
{
	if (!work) {
		mmap_read_unlock(mm);
		return;
	}

	/* The irq_work runs in another context: end what lockdep tracks here. */
	rwsem_release(&mm->mmap_lock.dep_map, _RET_IP_);
	work->mm = mm;
	irq_work_queue(&work->irq_work);
}
