// SPDX-License-Identifier: GPL-2.0
// What the features of a file say.
#pragma once

#include "perfdata/build_id.h"
#include "perfdata/events.h"

namespace perfdata {

// A row of the build-ID table, which in a stream is a record.
struct BuildIdRow {
	uint16_t misc = 0;
	uint32_t pid = 0;
	BuildId id;
	std::string name;
};

BuildIdRow parse_build_id_row(const Bytes &record);
std::vector<BuildIdRow> parse_build_ids(const Bytes &feature);

// EVENT_DESC: the name of each event, in the order of the attrs.
// The name of the machine that it was recorded on.
std::string parse_host_name(const Bytes &feature);
std::vector<std::string> parse_event_names(const Bytes &feature);

} // namespace perfdata
