#!/bin/sh
# A wrapper around rustc (RUSTC_WORKSPACE_WRAPPER) that has our own crates count their branches. Any stable compiler has LLVM's pass.
exec "$@" -Cpasses=sancov-module -Cllvm-args=-sanitizer-coverage-level=3 -Cllvm-args=-sanitizer-coverage-inline-8bit-counters
