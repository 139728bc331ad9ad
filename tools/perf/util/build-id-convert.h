/* SPDX-License-Identifier: GPL-2.0 */
#ifndef __PERF_BUILD_ID_CONVERT_H
#define __PERF_BUILD_ID_CONVERT_H

#include <stdbool.h>
#include <stdio.h>
#include <linux/types.h>

struct build_id_converter;
struct dso;
struct machine;
struct map;
struct perf_event_attr;
struct perf_sample;
struct thread;
union perf_event;

/**
 * struct build_id_converter_ops - what the converter asks of its user
 */
struct build_id_converter_ops {
	/**
	 * @find_build_id: A DSO is hit. If the profile has no build ID of the
	 *		   recorded file, or that of another file, set it with
	 *		   dso__set_build_id().
	 */
	void (*find_build_id)(void *arg, struct dso *dso);
	/**
	 * @dso_hit: Called once for each DSO that entries refer to, before the
	 *	     event with the first of them is returned.
	 */
	int (*dso_hit)(void *arg, struct dso *dso, struct map *map, struct perf_sample *sample,
		       struct machine *machine);
	/**
	 * @keep_map: Addresses in @map stay in the sample, for want of a build
	 *	      ID. Called before the event with them is returned, for each
	 *	      such event. NULL if the output has the maps anyway.
	 */
	int (*keep_map)(void *arg, struct thread *thread, struct map *map,
			struct perf_sample *sample, struct machine *machine);
};

struct build_id_converter *build_id_converter__new(const struct build_id_converter_ops *ops,
						   void *arg);
void build_id_converter__delete(struct build_id_converter *conv);

u64 build_id_converter__sample_type(const struct perf_event_attr *attr);
void build_id_converter__attr_event(union perf_event *event);
void build_id_converter__event_desc(void *section, size_t size);

union perf_event *build_id_converter__event(struct build_id_converter *conv,
					    union perf_event *event,
					    struct perf_sample *sample, struct machine *machine);
void build_id_converter__warn_cut(const struct build_id_converter *conv);
void build_id_converter__warn_addresses(const struct build_id_converter *conv);
void build_id_converter__fprintf(const struct build_id_converter *conv, FILE *fp);

#endif /* __PERF_BUILD_ID_CONVERT_H */
