/* SPDX-License-Identifier: GPL-2.0 */
#undef TRACE_SYSTEM
#define TRACE_SYSTEM nmi_sample

#if !defined(_NMI_SAMPLE_TRACE_H) || defined(TRACE_HEADER_MULTI_READ)
#define _NMI_SAMPLE_TRACE_H

#include <linux/tracepoint.h>

/* Hit in an NMI, with the registers of what it interrupted. */
TRACE_EVENT(nmi_sample,
	TP_PROTO(struct pt_regs *regs),
	TP_ARGS(regs),
	TP_STRUCT__entry(
		__field(unsigned long, ip)
	),
	TP_fast_assign(
		__entry->ip = instruction_pointer(regs);
	),
	TP_printk("ip=%lx", __entry->ip)
);

#endif

#undef TRACE_INCLUDE_PATH
#define TRACE_INCLUDE_PATH .
#undef TRACE_INCLUDE_FILE
#define TRACE_INCLUDE_FILE nmi_sample_trace
#include <trace/define_trace.h>
