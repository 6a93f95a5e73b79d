// What python/simrun calls through ctypes: trace.h with plain types. The layouts that numpy sees are stated here once more.
// Errors come back as text that the caller frees with simrun_free.
#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <nlohmann/json.hpp>

#include "traces/library/trace.h"

namespace {

using simrun::Instruction;
using simrun::Instructions;
using simrun::Reference;
using simrun::Trace;

static_assert(sizeof(Instruction) == 80 && sizeof(Reference) == 16);
static_assert(offsetof(Instruction, first_reference) == 40 && offsetof(Instruction, reference_count) == 48);
static_assert(offsetof(Instruction, thread) == 52 && offsetof(Instruction, flags) == 60 && offsetof(Instruction, code) == 63);
static_assert(offsetof(Reference, bytes) == 8 && offsetof(Reference, kind) == 12 && offsetof(Reference, flags) == 13);

char* copy(const std::string& text) {
  char* const to = static_cast<char*>(std::malloc(text.size() + 1));
  if (to != nullptr) std::memcpy(to, text.c_str(), text.size() + 1);
  return to;
}

// Runs `f`; what it throws goes into `*error` and gives `otherwise`.
template <class F, class Value>
Value guarded(char** error, Value otherwise, F&& f) {
  *error = nullptr;
  try {
    return f();
  } catch (const std::exception& e) {
    *error = copy(e.what());
  }
  return otherwise;
}

std::string describe(const Trace& trace) {
  nlohmann::ordered_json threads = nlohmann::ordered_json::array(), modules = threads;
  nlohmann::ordered_json processes = threads;
  const char* const kOrigins[] = {"launched", "forked", "executed"};
  for (const auto& p : trace.processes())
    processes.push_back({{"process", p.process}, {"origin", kOrigins[static_cast<size_t>(p.origin)]}, {"parent", p.parent},
                         {"pid", p.pid}, {"command", p.command}});
  for (const auto& t : trace.threads())
    threads.push_back({{"thread", t.thread}, {"process", t.process}, {"tid", t.tid}, {"instructions", t.instructions}});
  for (const auto& m : trace.modules())
    modules.push_back({{"process", m.process}, {"path", m.path}, {"build_id", m.build_id}, {"start", m.start},
                       {"end", m.end}, {"file_offset", m.file_offset}});
  return nlohmann::ordered_json{{"instructions", trace.instruction_count()},
                                {"incomplete", trace.incomplete()},
                                {"processes", processes},
                                {"threads", threads},
                                {"modules", modules},
                                {"information", nlohmann::ordered_json::parse(trace.information())},
                                {"summary", nlohmann::ordered_json::parse(trace.summary())}}
      .dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace);
}

}  // namespace

extern "C" {

SIMRUN_PUBLIC Trace* simrun_open(const char* path, char** error) {
  return guarded(error, static_cast<Trace*>(nullptr), [&] { return new Trace(path); });
}
SIMRUN_PUBLIC void simrun_close(Trace* trace) { delete trace; }
SIMRUN_PUBLIC void simrun_free(char* text) { std::free(text); }

// JSON; to be freed.
SIMRUN_PUBLIC char* simrun_describe(const Trace* trace, char** error) {
  return guarded(error, static_cast<char*>(nullptr), [&] { return copy(describe(*trace)); });
}

SIMRUN_PUBLIC Instructions* simrun_read(const Trace* trace, uint64_t from, uint64_t to, int64_t thread, int64_t process,
                                        char** error) {
  return guarded(error, static_cast<Instructions*>(nullptr),
                 [&] { return new Instructions(trace->instructions({from, to, thread, process})); });
}
SIMRUN_PUBLIC void simrun_end_read(Instructions* range) { delete range; }

// How many instructions stand at `*first` (0: the end), with their references one after the other at `*references`.
SIMRUN_PUBLIC uint64_t simrun_next(Instructions* range, uint64_t most, const Instruction** first,
                                   const Reference** references, uint64_t* reference_count, char** error) {
  return guarded(error, uint64_t{0}, [&]() -> uint64_t {
    const std::span<const Instruction> batch = range->next(most);
    *first = batch.data();
    *references = batch.empty() ? nullptr : batch.front().first_reference;
    *reference_count = 0;
    for (const Instruction& i : batch) *reference_count += i.reference_count;
    return batch.size();
  });
}
}
