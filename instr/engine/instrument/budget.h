// Count mode: how far a thread may run, and its reports (docs/count-mode.md). All functions run on the thread that owns the context, in
// the engine, with `retired` exact.
#pragma once

#include <cstdint>

#include "instr/engine/context/thread_context.h"

namespace simrun::engine {

// Instructions (dispatch/code_table.cpp compares them with what the translator does).
inline constexpr uint64_t kLongestSuperblock = 64;
inline constexpr uint32_t kMostPaths = 9;                                  // of one superblock
inline constexpr uint64_t kMostBetweenChecks = kLongestSuperblock + 256;   // from one limit check to the next; with count_paths: a superblock

// For a new thread, before its first report.
void start_budget(ThreadContext* context);

// `limit` for emitted code: below it the way to the next check does not pass the next stop. When that is too near, the thread goes
// on through single superblocks: those that end before it and leave at the next check (with count_paths), those that are cut to what is
// left.
uint64_t budget_limit(const ThreadContext* context);

// Instructions to the next stop, or of the longest superblock, if it is that near, else 0.
uint32_t cut_length(const ThreadContext* context);

// Reports an interval that ends here, harvests counters that might wrap, finds the next stop. Before anything else is done about a
// departure. `next_pc`: of the instruction that comes next. Returns the mode switch that is due, or nullptr: the caller does it
// (runtime/mode_switch.h).
const border::ModeSwitch* pass_stop(ThreadContext* context, uint64_t next_pc);

// Trace mode with switches to come: adds up what was stored in the current chunk since the last call. The thread that owns the context,
// before it leaves the chunk.
void count_traced(ThreadContext* context);

// The stream goes on in `mode`: its last numbers in the mode before, and a word about it.
void begin_mode(ThreadContext* context, border::Mode mode);

// The path counters as events, and zero again.
void report_paths(ThreadContext* context);

// Before the thread gets company (a thread, a followed process), or waits beside others: reports what it has executed, if it is as much as
// threads report at a time. Else that would come when it has waited, with an interval of long after.
void report_before_company(ThreadContext* context);
void report_before_waiting(ThreadContext* context);

// The last report of a thread.
void end_budget(ThreadContext* context);

// A fault after `instructions` of a superblock, or a trap behind the last of them; `retired` has `counted` of them already. Where paths are
// counted: its longest path, and how many counters have been raised.
void count_cut(ThreadContext* context, uint32_t last_path, uint32_t instructions, uint32_t counted, uint32_t blocks);

}  // namespace simrun::engine
