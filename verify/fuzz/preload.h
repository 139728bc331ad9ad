/* SPDX-License-Identifier: GPL-2.0 */
#pragma once

enum {
	PRELOAD_REQUEST_FD = 198,
	PRELOAD_ANSWER_FD = 199,
};
