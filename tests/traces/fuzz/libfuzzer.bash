#!/bin/bash
# Fuzzes one reader with libFuzzer and the address and undefined-behaviour sanitizers: libfuzzer.bash file|sections|import SECONDS
# Needs clang. What it finds worth keeping goes into build/fuzz/found; a file that did harm into the working directory:
# repair, and add it to corpus/.
set -e
target=$1 seconds=$2
cd "$(dirname "${BASH_SOURCE[0]}")/../../.."
out=build/fuzz flags=(-std=c++20 -O1 -g -I. -fsanitize=fuzzer-no-link,address,undefined -fno-sanitize-recover=undefined)
mkdir -p $out/found/$target
sources=(base/check.cpp traces/*.cpp traces/{check,export,import}/*.cpp tests/traces/fuzz/{use_trace,"${target}_fuzz"}.cpp)
objects=()
for source in "${sources[@]}"; do objects+=("$out/${source//\//_}.o"); done
for k in "${!sources[@]}"; do
  [[ ${objects[k]} -nt ${sources[k]} ]] || printf '%s\n' "${sources[k]}" "${objects[k]}"
done | xargs -r -P "$(nproc)" -n 2 bash -c 'clang++ '"${flags[*]}"' -c "$0" -o "$1"'
clang++ -fsanitize=fuzzer,address,undefined "${objects[@]}" -o "$out/${target}_fuzz" -lfmt -lzstd -llzma -lz -lZydis -lpthread
"$out/${target}_fuzz" -max_total_time="$seconds" -timeout=20 -rss_limit_mb=4096 -max_len=65536 \
  "$out/found/$target" "tests/traces/fuzz/corpus/$target"
