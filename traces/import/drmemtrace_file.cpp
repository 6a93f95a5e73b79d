#include "traces/import/drmemtrace_file.h"

#include <Zydis/Zydis.h>
#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "traces/branch_target.h"

namespace simrun::traces::drmemtrace {

namespace {

constexpr uint32_t kLongest = 15;  // instruction
constexpr size_t kMostReferences = 4096;
constexpr uint64_t kMostBytes = 1 << 20;  // of a reference
constexpr unsigned kMostInBundle = 8;

uint8_t branch_flags(Type type) {
  switch (type) {
    case Type::kDirectJump: return kEndsBlock;
    case Type::kIndirectJump: return kEndsBlock | kIndirect;
    case Type::kConditionalJump:
    case Type::kTakenJump:
    case Type::kUntakenJump: return kEndsBlock | kConditional;
    case Type::kDirectCall: return kEndsBlock | kCall;
    case Type::kIndirectCall: return kEndsBlock | kCall | kIndirect;
    case Type::kReturn: return kEndsBlock | kReturn | kIndirect;
    case Type::kSysenter: return kEndsBlock | kSystemCall;
    default: return 0;
  }
}

// What the type of a record does not tell. Nothing: these bytes are no instruction.
std::optional<uint8_t> flags_of_code(std::span<const uint8_t> code) {
  ZydisDecoder decoder;
  ZydisDecodedInstruction decoded;
  ZydisDecoderInit(&decoder, ZYDIS_MACHINE_MODE_LONG_64, ZYDIS_STACK_WIDTH_64);
  if (!ZYAN_SUCCESS(ZydisDecoderDecodeInstruction(&decoder, nullptr, code.data(), code.size(), &decoded)) ||
      decoded.length != code.size())
    return {};
  switch (decoded.mnemonic) {
    case ZYDIS_MNEMONIC_SYSCALL:
    case ZYDIS_MNEMONIC_SYSENTER:
    case ZYDIS_MNEMONIC_INT: return kEndsBlock | kSystemCall;
    case ZYDIS_MNEMONIC_NOP:
    case ZYDIS_MNEMONIC_ENDBR32:
    case ZYDIS_MNEMONIC_ENDBR64: return kNop;
    default: break;
  }
  constexpr auto kRepeated = ZYDIS_ATTRIB_HAS_REP | ZYDIS_ATTRIB_HAS_REPE | ZYDIS_ATTRIB_HAS_REPNE;
  return (decoded.attributes & kRepeated) != 0 ? kRepeats : 0;
}

// Of a direct branch whose bytes are known.
std::optional<uint64_t> target_of(const Unit& i) {
  if (!i.has_code || (i.flags & kEndsBlock) == 0) return {};
  return branch_target(i.pc, {i.code.data(), i.length});
}

bool is_prefetch(Type type) {
  return (type >= Type::kPrefetch && type <= Type::kPrefetchInstruction) ||
         (type >= Type::kFirstLevelPrefetch && type <= Type::kLastLevelPrefetch);
}

}  // namespace

File::File(const std::string& path, PassedOver& passed_over) : in_(path), passed_over_(passed_over) {
  Record r;
  if (!read(&r)) fail("the file is empty");
  if (r.type != static_cast<uint16_t>(Type::kHeader))
    fail(fmt::format("no trace of drmemtrace: its first record has type {}, not {}. Raw files have to be converted by "
                     "DynamoRIO before: drrun -t drmemtrace -indir FOLDER",
                     uint16_t{r.type}, static_cast<int>(Type::kHeader)));
  take(r);
}

void File::fail(const std::string& what) const { throw TraceError(in_.path(), record_start_, what); }

bool File::read(Record* record) {
  if (bundle_at_ != bundle_.size) {
    const uint8_t length = static_cast<uint8_t>(bundle_.value >> 8 * bundle_at_++);
    *record = {static_cast<uint16_t>(last_type_), length, next_pc_};
    return true;
  }
  record_start_ = in_.offset();
  const size_t got = in_.read(record, sizeof *record);
  if (got != 0 && got != sizeof *record) fail("the file ends amid a record of 12 bytes");
  return got != 0;
}

bool File::next() {
  is_ready_ = false;
  while (!is_ready_) {
    Record r;
    if (read(&r)) {
      take(r);
      continue;
    }
    if (!has_footer_) fail("the file ends without a footer: it was cut off");
    return false;
  }
  return true;
}

void File::take(const Record& r) {
  const auto type = static_cast<Type>(r.type);
  switch (type) {
    case Type::kRead: return reference(OperandKind::kLoad, r.value, r.size);
    case Type::kWrite: return reference(OperandKind::kStore, r.value, r.size);
    case Type::kInstruction:
    case Type::kDirectJump:
    case Type::kIndirectJump:
    case Type::kConditionalJump:
    case Type::kDirectCall:
    case Type::kIndirectCall:
    case Type::kReturn:
    case Type::kSysenter:
    case Type::kTakenJump:
    case Type::kUntakenJump: return instruction(type, r.value, r.size);
    case Type::kNoFetch:
    case Type::kMaybeFetch: return iteration(r.value, r.size);
    case Type::kBundle:
      if (r.size > kMostInBundle) fail(fmt::format("a bundle of {} instructions", uint16_t{r.size}));
      bundle_ = r;
      bundle_at_ = 0;
      return;
    case Type::kInstructionFlush:
    case Type::kInstructionFlushEnd:
    case Type::kDataFlush:
    case Type::kDataFlushEnd: return flush_reference(r);
    case Type::kThread:
      if (r.value != tid_) complete({});
      tid_ = r.value;
      pid_ = processes_.contains(tid_) ? processes_[tid_] : pid_;
      return;
    case Type::kProcess:
      if (r.value != pid_) complete({});
      pid_ = processes_[tid_] = r.value;
      return;
    case Type::kThreadExit: return complete({});
    case Type::kHeader: return header(r.value);
    case Type::kFooter:
      complete({});
      has_footer_ = true;
      return;
    case Type::kHardwarePrefetch:
      ++passed_over_.hardware_prefetches;
      return;
    case Type::kMarker: return marker(static_cast<Marker>(r.size), r.value);
    case Type::kEncoding: return encoding(r);
    default:
      if (!is_prefetch(type)) fail(fmt::format("a record of the unknown type {}", uint16_t{r.type}));
      return reference(OperandKind::kPrefetch, r.value, r.size);
  }
}

// Behind a footer: that of another file, which was put behind the first.
void File::header(uint64_t version) {
  check_version(version_ = version);
  if (!has_footer_) return;
  has_footer_ = false;
  file_type_ = 0;
  window_.reset();
}

void File::check_version(uint64_t version) const {
  if (version < kOldestVersion || version > kNewestVersion)
    fail(fmt::format("version {} of drmemtrace's format: {} to {} are read", version, kOldestVersion, kNewestVersion));
}

void File::set_file_type(uint64_t type) {
  for (const auto& [bit, name] : {std::pair{kAarch64, "AArch64"}, {kArm, "32-bit Arm"}, {kX86, "32-bit x86"}})
    if ((type & bit) != 0) fail(fmt::format("a trace of {}: only x86-64 is read", name));
  constexpr uint64_t kAnyFilter = kFiltered | kInstructionsFiltered | kDataFiltered;
  if ((type & kAnyFilter) != 0 && (type & kBimodal) == 0)
    fail("a filtered trace (-L0I_filter, -L0D_filter): what hit in the filter is not there. Trace without a filter");
  if ((type & kWholeSystem) != 0) fail("a trace of a whole system: only those of programs are read");
  passed_over_.files_without_data += (type & kInstructionsOnly) != 0 && (file_type_ & kInstructionsOnly) == 0;
  passed_over_.unknown_file_types |= type & ~uint64_t{kAllKnownTypes};
  if (file_type_ == 0) is_filtered_ = (type & kBimodal) != 0;
  file_type_ = type;
}

void File::marker(Marker kind, uint64_t value) {
  switch (kind) {
    case Marker::kVersion: return check_version(version_ = value);
    case Marker::kFileType: return set_file_type(value);
    case Marker::kTimestamp:
      timestamp_ = value;
      return;
    case Marker::kWindow: return window(value);
    case Marker::kFilterEndpoint:
      is_filtered_ = false;
      return;
    case Marker::kSyscallTraceStart:
    case Marker::kContextSwitchStart:
      in_kernel_ = true;
      return;
    case Marker::kSyscallTraceEnd:
    case Marker::kContextSwitchEnd:
      in_kernel_ = false;
      return;
    case Marker::kFunctionId:
    case Marker::kFunctionReturnAddress:
    case Marker::kFunctionArgument:
    case Marker::kFunctionReturnValue:
      ++passed_over_.function_markers;
      return;
    default: break;
  }
  passed_over_.unknown_markers += kind > Marker::kLastKnown && kind < Marker::kFirstOfUsers;
  if (is_passed_over()) return;
  if (kind == Marker::kKernelEvent) return kernel_event(value);
  if (kind == Marker::kSyscall) return syscall(value);
  if (kind == Marker::kKernelTransfer) goes_elsewhere_ = true;
  if (kind == Marker::kMaybeBlockingSyscall && pending_.events.size() >= 3 &&
      static_cast<Event>(static_cast<uint32_t>(pending_.events.end()[-3])) == Event::kSyscallEnter)
    pending_.events.back() = 1;
}

void File::window(uint64_t number) {
  if (window_ && *window_ != number) {
    ++passed_over_.windows;
    pending_.has_code = false;  // or it would be believed to go on at its end
    complete({});
    is_filtered_ = (file_type_ & kBimodal) != 0;
  }
  window_ = number;
}

// An instruction at which the thread was interrupted has yet to be done, and comes again: but for a jump to itself, and a
// system call, which was made. From version 7 on there are only the iterations of string instructions.
void File::kernel_event(uint64_t value) {
  if (pending_.has_instruction && version_ >= kVersionWithInterruptedPc && value == pending_.pc &&
      (pending_.flags & kSystemCall) == 0 && target_of(pending_) != value)
    pending_.is_retired = false;
  if (version_ < kVersionWithInterruptedPc || value == 0) return event(Event::kSignal, {0});
  if (pending_.has_instruction && pending_.is_retired) look_where_it_goes(value);
  event(Event::kSignal, {0, value});
}

// The return from a signal handler is none of the calls of a trace.
void File::syscall(uint64_t number) {
  if (pending_.has_instruction) pending_.flags |= kEndsBlock | kSystemCall;
  if (number != kSigreturn) event(Event::kSyscallEnter, {number, 0});
}

void File::event(Event event, std::initializer_list<uint64_t> payload) {
  pending_.events.push_back(static_cast<uint64_t>(event) | static_cast<uint64_t>(payload.size()) << 32);
  pending_.events.insert(pending_.events.end(), payload);
}

void File::encoding(const Record& r) {
  if (r.size > sizeof r.value) fail(fmt::format("an encoding of {} bytes in a record", uint16_t{r.size}));
  if (encoding_.size() > 64) fail("an encoding of more than 64 bytes");
  const auto* const bytes = reinterpret_cast<const uint8_t*>(&r) + offsetof(Record, value);
  encoding_.insert(encoding_.end(), bytes, bytes + r.size);
}

void File::keep_encoding(uint64_t pc) {
  if (encoding_.empty()) return;
  Code code{};
  const bool is_x86 = (file_type_ & kSyntheticIsa) == 0 && encoding_.size() <= kLongest;
  const auto flags = is_x86 ? flags_of_code(encoding_) : std::nullopt;
  if (flags) {
    std::copy(encoding_.begin(), encoding_.end(), code.bytes.begin());
    code.length = static_cast<uint8_t>(encoding_.size());
    code.flags = *flags;
  }
  codes_[pc] = code;
  encoding_.clear();
}

void File::instruction(Type type, uint64_t pc, uint32_t length) {
  if (length == 0) return;  // says only whose the next reference is, in filtered traces
  if (length > kLongest) fail(fmt::format("an instruction of {} bytes", length));
  keep_encoding(pc);
  last_type_ = type;
  next_pc_ = pc + length;
  if (is_passed_over()) {
    ++(in_kernel_ ? passed_over_.kernel_instructions : passed_over_.filtered_instructions);
    return;
  }
  complete(pc);
  pending_.has_instruction = true;
  pending_.pc = pc;
  pending_.timestamp = timestamp_;
  describe(type, length);
}

void File::describe(Type type, uint32_t length) {
  pending_.length = static_cast<uint8_t>(length);
  pending_.flags = branch_flags(type);
  const auto known = codes_.find(pending_.pc);
  pending_.has_code = known != codes_.end() && known->second.length == length;
  if (!pending_.has_code) return;
  pending_.code = known->second.bytes;
  pending_.flags |= known->second.flags;
}

// Not the first one, unless what was before is not in the trace.
void File::iteration(uint64_t pc, uint32_t length) {
  if (is_passed_over()) return keep_encoding(pc);
  if (!pending_.has_instruction || pending_.pc != pc || !pending_.events.empty()) {
    instruction(Type::kInstruction, pc, length);
    if (length != 0) pending_.flags |= kRepeats;
    return;
  }
  keep_encoding(pc);
  end_iteration();
  pending_.flags |= kRepeats;
  ++further_iterations_;
}

void File::reference(OperandKind kind, uint64_t address, uint64_t bytes) {
  if (is_passed_over()) return;
  auto& references = further_iterations_ == 0 ? pending_.references : iteration_;
  if (!pending_.has_instruction || references.size() == kMostReferences) {
    ++passed_over_.references;
    return;
  }
  references.push_back({kind, static_cast<uint32_t>(std::clamp<uint64_t>(bytes, 1, kMostBytes)), address});
}

// A size, or a second record with the end.
void File::flush_reference(const Record& r) {
  const auto type = static_cast<Type>(r.type);
  const bool is_end = type == Type::kDataFlushEnd || type == Type::kInstructionFlushEnd;
  if (is_end && !flush_start_) fail("the end of a flush without its start");
  if (is_end) reference(OperandKind::kFlush, *flush_start_, r.value - *flush_start_);
  if (!is_end && r.size != 0) reference(OperandKind::kFlush, r.value, r.size);
  flush_start_.reset();
  if (!is_end && r.size == 0) flush_start_ = r.value;
}

// Of one or two operands, which go on by their size: rep movs and its like, of whose iterations nothing was left out.
bool File::can_repeat() const {
  const auto& first = pending_.references;
  const auto fits = [&](const InstructionImporter::Reference& r) {
    return r.bytes == first[0].bytes && (r.kind == OperandKind::kLoad || r.kind == OperandKind::kStore);
  };
  return !first.empty() && first.size() <= 2 && std::all_of(first.begin(), first.end(), fits);
}

void File::end_iteration() {
  if (further_iterations_ == 0) {
    if ((pending_.flags & kRepeats) != 0 && can_repeat()) pending_.iterations = 1;
    return;
  }
  const auto& first = pending_.references;
  if (further_iterations_ == 1 && can_repeat()) {
    pending_.iterations = 1;
    pending_.runs_down = !iteration_.empty() && iteration_[0].address < first[0].address;
  }
  const uint64_t bytes = first.empty() ? 0 : further_iterations_ * first[0].bytes;
  const auto follows = [&](const InstructionImporter::Reference& now, const InstructionImporter::Reference& then) {
    return now.kind == then.kind && now.bytes == then.bytes &&
           now.address == (pending_.runs_down ? then.address - bytes : then.address + bytes);
  };
  is_irregular_ |= pending_.iterations == 0 ||
                   !std::equal(iteration_.begin(), iteration_.end(), first.begin(), first.end(), follows);
  if (is_irregular_) passed_over_.irregular_references += iteration_.size();
  else ++pending_.iterations;
  iteration_.clear();
}

// drmemtrace writes what reads and writes one place as a read and a write.
void File::merge_modifies() {
  auto& all = pending_.references;
  if (pending_.iterations != 0) return;
  for (size_t k = 1; k < all.size(); ++k) {
    if (all[k - 1].kind != OperandKind::kLoad || all[k].kind != OperandKind::kStore ||
        all[k - 1].address != all[k].address || all[k - 1].bytes != all[k].bytes)
      continue;
    all[k - 1].kind = OperandKind::kReadModifyWrite;
    all.erase(all.begin() + static_cast<std::ptrdiff_t>(k));
  }
}

// Without its bytes nobody believes to know where an instruction goes.
void File::look_where_it_goes(std::optional<uint64_t> next_pc) {
  if (!pending_.has_code || !pending_.events.empty()) return;
  if (!next_pc) {
    // The thread goes on in another file.
    if ((file_type_ & kCoreSharded) != 0) pending_.has_code = false;
    return;
  }
  if ((pending_.flags & (kIndirect | kReturn)) != 0) return;
  const std::optional<uint64_t> target = target_of(pending_);
  const bool may_fall_through = !target || (pending_.flags & kConditional) != 0;
  if (target == next_pc || (may_fall_through && *next_pc == pending_.pc + pending_.length)) return;
  if (goes_elsewhere_ && (pending_.flags & kSystemCall) != 0) return;
  passed_over_.gaps += goes_elsewhere_ ? 0 : 1;
  pending_.has_code = false;
}

void File::complete(std::optional<uint64_t> next_pc) {
  if (pending_.has_instruction) {
    end_iteration();
    if (!pending_.is_retired && pending_.iterations == 0) {
      passed_over_.interrupted_references += pending_.references.size();
      pending_.has_instruction = false;
    }
    merge_modifies();
    look_where_it_goes(next_pc);
  }
  if (pending_.has_instruction || !pending_.events.empty()) {
    if (!pending_.has_instruction) pending_.timestamp = timestamp_;
    pending_.pid = pid_;
    pending_.tid = tid_;
    std::swap(unit_, pending_);
    is_ready_ = true;
  }
  pending_.has_instruction = false;
  pending_.is_retired = true;
  pending_.references.clear();
  pending_.events.clear();
  pending_.iterations = further_iterations_ = 0;
  pending_.runs_down = goes_elsewhere_ = is_irregular_ = false;
  iteration_.clear();
}

}  // namespace simrun::traces::drmemtrace
