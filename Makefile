# SPDX-License-Identifier: GPL-2.0
# The front door. Each target is a small program in scripts/, which says at its top what it does.

# A $ in a command is the shell's.
override CMD := $(value CMD)
export BASE TREE TOPIC FORCE SIGNOFF PREFIX CMD TIMEOUT ACCEL
KERNEL ?= debug

.NOTPARALLEL:
.PHONY: help demo check check-full perf base-perf tree export series apply lint bench fuzz packages kernel vm vm-demo \
	bench-kernel

help:
	@echo 'make demo            everything from nothing: record on this machine, convert, compare'
	@echo 'make check           the tests that every change must pass'
	@echo 'make check-full      those and the long ones'
	@echo 'make perf            build/perf, with the series'
	@echo 'make base-perf       build/base-perf, without'
	@echo 'make tree            build/linux, a git repository with one commit for each patch, and branches topic/*'
	@echo 'make export          build/linux back to patches/ and the whole files'
	@echo 'make series          each topic as mail, in build/series/NN-topic (SIGNOFF="Name <address>")'
	@echo 'make apply TREE=DIR  the topics onto a kernel tree of your own'
	@echo 'make lint            checkpatch, shellcheck, manifest'
	@echo 'make bench           what the conversion costs'
	@echo 'make bench-kernel    what a sample costs in the kernel, on the base and on the series'
	@echo 'make fuzz            damaged files against build/perf'
	@echo 'make packages        installs what the others need'
	@echo 'make kernel          a kernel of the series to boot (KERNEL=NAME: the configuration, of vm/NAME.config)'
	@echo 'make vm              boots it in QEMU, for a shell (CMD=COMMAND: to run that, at most TIMEOUT=SECONDS)'
	@echo 'make vm-demo         the demo in a guest: perf record --buildid-offset'
	@echo
	@echo 'BASE=DIR or BASE=FILE.tar.xz: a Linux 7.3.y of your own instead of the download'
	@echo 'TOPIC="NN ...": only these topics (series), or these and what they need (apply)'
	@echo 'FORCE=1: make the tree or export anew, whatever is lost; PREFIX=v2: in the subjects of the mails'
	@echo 'TIMEOUT=SECONDS (600), ACCEL=tcg or kvm: for guests. All of these may be in the environment, too.'

demo: perf
	@scripts/demo

check:
	@scripts/check

check-full:
	@scripts/check --full

perf: packages
	@scripts/perf series

base-perf: packages
	@scripts/perf base

tree:
	@scripts/tree

export:
	@scripts/export

series:
	@scripts/series

apply:
	@scripts/apply "$(TREE)"

lint: packages
	@scripts/lint

bench: perf
	@scripts/bench --perf build/perf

bench-kernel: packages
	@scripts/bench-kernel

fuzz: perf
	@scripts/fuzz --perf build/perf --seed 1 --count 1000

kernel: packages
	@scripts/kernel $(KERNEL)

vm:
	@scripts/vm --kernel $(KERNEL) $(if $(CMD),"$$CMD")

vm-demo: perf kernel
	@scripts/demo --vm --kernel $(KERNEL)

packages:
	@scripts/packages
