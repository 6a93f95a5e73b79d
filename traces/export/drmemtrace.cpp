// DynamoRIO's drmemtrace, version 5: a file of one thread as raw2trace writes it, with encodings and where branches go.
#include <algorithm>
#include <cstring>
#include <unordered_map>
#include <utility>

#include "traces/branch_target.h"
#include "traces/export/drmemtrace_record.h"
#include "traces/export/formats.h"

namespace simrun::traces {

namespace {

using namespace drmemtrace;

constexpr uint64_t kWrittenVersion = 5;
constexpr uint32_t kMostBytes = 0xffff;  // of a reference

bool has(const InstructionRecord& i, uint8_t flag) { return (i.flags & flag) != 0; }
bool is_branch(const InstructionRecord& i) { return has(i, kEndsBlock) && !has(i, kSystemCall); }

Type type_of(const InstructionRecord& i) {
  if (!is_branch(i)) return Type::kInstruction;
  if (has(i, kConditional)) return i.next_pc == 0 || i.next_pc == i.pc + i.length ? Type::kUntakenJump : Type::kTakenJump;
  if (has(i, kReturn)) return Type::kReturn;
  if (has(i, kCall)) return has(i, kIndirect) ? Type::kIndirectCall : Type::kDirectCall;
  return has(i, kIndirect) ? Type::kIndirectJump : Type::kDirectJump;
}

class DrmemtraceExporter final : public Exporter {
 public:
  DrmemtraceExporter(CompressedOutput& out, const ExportOptions& options) : out_(out), options_(options) {}

  bool on_begun_string(const InstructionRecord& i) override {
    on_instruction(i);
    next_number_ = i.number;
    behind_ = i.pc;
    return true;
  }
  bool on_instruction(const InstructionRecord& i) override {
    write_call();
    if (!has(i, kSystemCall)) return write(i);
    call_ = i;
    call_code_.assign(i.code.begin(), i.code.end());
    call_.code = call_code_;
    call_waits_ = true;
    return true;
  }

  bool on_event(const EventRecord& e) override {
    const auto event = static_cast<Event>(e.event);
    // A signal came before the call, which is made behind the handler: every call has its marker (tools/invariant_checker.cpp).
    if (event == Event::kSignal && call_waits_ && e.payload.size() >= 2 && e.payload[1] == call_.pc) call_waits_ = false;
    if (event == Event::kSignal || event == Event::kSyscallEnter) write_call();
    if (event == Event::kSignal && started_) {
      if (returns_to_ != 0) handler_returned();
      if (e.payload.size() >= 2) behind_ = e.payload[1];
      marker(Marker::kKernelEvent, behind_);
      interrupted_.push_back(behind_);
      is_behind_branch_ = false;
    }
    if (event != Event::kSyscallEnter || e.payload.size() < 2 || !started_) return true;
    returns_to_ = 0;
    marker(Marker::kSyscall, e.payload[0]);
    if (e.payload[1] != 0) marker(Marker::kMaybeBlockingSyscall, 0);
    return true;
  }

  void finish() override {
    write_call();
    record(Type::kThreadExit, sizeof(uint32_t), tid_);
    record(Type::kFooter, 0, 0);
  }

 private:
  void write_call() {
    if (std::exchange(call_waits_, false)) write(call_);
  }

  bool write(const InstructionRecord& i) {
    if (has(i, kIndirect) && i.next_pc == 0) return true;   // the last one; a target 0 is no target (tools/invariant_checker.cpp)
    if (!started_) start(i.tid != 0 ? i.tid : i.thread + 1, i.process + 1);
    if (returns_to_ != 0 && i.pc != returns_to_) handler_returned();
    others_ran_ |= i.number != next_number_;
    if (others_ran_ && !is_behind_branch_) time(i.number);
    next_number_ = i.number + 1;
    is_behind_branch_ = is_branch(i);
    encoding(i);
    if (has(i, kIndirect)) marker(Marker::kBranchTarget, i.next_pc);
    record(type_of(i), i.length, i.pc);
    references(i);
    behind_ = behind(i);
    // A system call without an event is the return from a handler, but for one that a signal comes before.
    returns_to_ = has(i, kSystemCall) && i.next_pc != i.pc + i.length && i.next_pc != i.pc ? i.pc + i.length : 0;
    return true;
  }

  void record(Type type, uint32_t size, uint64_t value) {
    const Record r{static_cast<uint16_t>(type), static_cast<uint16_t>(size), value};
    out_.write({reinterpret_cast<const char*>(&r), sizeof r});
  }
  void marker(Marker kind, uint64_t value) { record(Type::kMarker, static_cast<uint32_t>(kind), value); }

  void start(uint64_t tid, uint64_t pid) {
    started_ = true;
    tid_ = tid;
    record(Type::kHeader, 0, kWrittenVersion);
    marker(Marker::kVersion, kWrittenVersion);
    const uint64_t file_type = kX86_64 | kSyscallNumbers | kBlockingSyscalls;
    marker(Marker::kFileType, options_.all_code_is_known ? file_type | kEncodings : file_type);
    record(Type::kThread, sizeof(uint32_t), tid);
    record(Type::kProcess, sizeof(uint32_t), pid);
    marker(Marker::kCacheLineBytes, 64);
    marker(Marker::kPageBytes, 4096);
  }

  // There is no time: the number of the instruction, in microseconds, so that the threads' files have one order. Never
  // between a branch and where it goes: readers, who switch threads at times, rely on that (tools/invariant_checker.cpp).
  void time(uint64_t number) {
    others_ran_ = false;
    marker(Marker::kTimestamp, number + 1);
    marker(Marker::kCpu, 0);
  }

  // To where its signal found the thread.
  void handler_returned() {
    marker(Marker::kSyscall, kSigreturn);
    marker(Marker::kKernelTransfer, returns_to_);
    returns_to_ = 0;
    if (interrupted_.empty()) return;
    behind_ = interrupted_.back();
    interrupted_.pop_back();
  }

  // Where it occurs first, and where the code has changed.
  void encoding(const InstructionRecord& i) {
    std::vector<uint8_t>& known = codes_[i.pc];
    if (std::equal(known.begin(), known.end(), i.code.begin(), i.code.end())) return;
    known.assign(i.code.begin(), i.code.end());
    for (size_t at = 0; at < known.size(); at += sizeof(uint64_t)) {
      uint64_t bytes = 0;
      const size_t some = std::min(sizeof bytes, known.size() - at);
      std::memcpy(&bytes, known.data() + at, some);
      record(Type::kEncoding, static_cast<uint32_t>(some), bytes);
    }
  }

  // Each further iteration, of one or two references, behind an instruction that is not fetched.
  void references(const InstructionRecord& i) {
    const auto& all = i.references;
    const size_t each = i.references_each != 0 ? i.references_each : all.size();
    for (size_t k = 0; k < all.size(); ++k) {
      if (k != 0 && k % each == 0) record(Type::kNoFetch, i.length, i.pc);
      reference(all[k]);
    }
  }

  void reference(const MemoryReference& r) {
    const uint32_t bytes = std::min(r.bytes, kMostBytes);
    left_out_ += bytes != r.bytes;
    if (r.kind == OperandKind::kPrefetch) record(Type::kPrefetch, bytes, r.address);
    if (r.kind == OperandKind::kFlush) record(Type::kDataFlush, bytes, r.address);
    if (reads(r.kind)) record(Type::kRead, bytes, r.address);
    if (writes(r.kind)) record(Type::kWrite, bytes, r.address);
  }

  // Where a signal finds the thread behind it, as far as the instruction says; else 0.
  static uint64_t behind(const InstructionRecord& i) {
    if (!is_branch(i)) return i.pc + i.length;
    return has(i, kConditional) ? 0 : branch_target(i.pc, i.code).value_or(0);
  }

  CompressedOutput& out_;
  ExportOptions options_;
  bool started_ = false;
  uint64_t tid_ = 0;
  uint64_t next_number_ = ~uint64_t{0};
  bool others_ran_ = false, is_behind_branch_ = false;
  uint64_t behind_ = 0, returns_to_ = 0;
  InstructionRecord call_;  // the last instruction, when it is a system call and nothing has come behind it yet
  std::vector<uint8_t> call_code_;
  bool call_waits_ = false;
  std::vector<uint64_t> interrupted_;  // where, by handlers that have not returned
  std::unordered_map<uint64_t, std::vector<uint8_t>> codes_;  // by pc
};

}  // namespace

std::unique_ptr<Exporter> make_drmemtrace_exporter(CompressedOutput& out, const ExportOptions& options) {
  return std::make_unique<DrmemtraceExporter>(out, options);
}

}  // namespace simrun::traces
