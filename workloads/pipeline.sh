#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
# A shell's work: many programs, most of them short-lived, connected by pipes.
set -eu
i=1
while [ "$i" -le 60 ]; do
	date -u -d "@$i" +%F >/dev/null
	i=$((i + 1))
done
seq 400000 | awk '{ print ($1 * 7919) % 65537 }' | sort -n | uniq -c | sort -k1,1nr -k2,2n | gzip -9 | wc -c
