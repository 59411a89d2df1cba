#!/bin/sh
# Runs every fuzz target for SECONDS seconds each (default 600), seeded with the recorded texts of `crates/ir`.
# Needs cargo-fuzz (`cargo install cargo-fuzz`); a stable compiler serves. Ends with the first finding.
set -eu
cd "$(dirname "$0")"
seconds=${1:-600}
data=../crates/ir/tests/data
seed() { # target, extensions…
    target=$1
    shift
    mkdir -p "corpus/$target"
    for extension in "$@"; do
        find "$data" -name "*.$extension" -size -64k | while IFS= read -r file; do
            cp "$file" "corpus/$target/$(echo "$file" | tr '/.' '__')"
        done
    done
}
seed mlir ttir ttgir
seed llvm llir
seed ptx ptx
seed amdgcn ptx
seed sass vcode
seed cubin cubin
seed cranelift clif clif_opt vcode bytes
# The compiler's own instrumentation is not stable; the code under test is built as ever.
export RUSTC_BOOTSTRAP=1
for target in mlir llvm ptx amdgcn sass cubin cranelift; do
    cargo fuzz run --sanitizer none "$target" -- -max_total_time="$seconds" -timeout=10 -rss_limit_mb=2048 -max_len=65536 -print_final_stats=1
done
