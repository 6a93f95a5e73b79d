// ChampSim: 64-byte records without header (its inc/trace_instruction.h). The kind of a branch is not written: its
// decoder infers it from who reads and writes the stack pointer (6), the flags (25) and the instruction pointer (26).
#include <Zydis/Zydis.h>

#include <algorithm>
#include <unordered_map>

#include "traces/export/champsim_record.h"
#include "traces/export/formats.h"

namespace simrun::traces {

namespace {

constexpr uint64_t kLine = 64;

struct Registers {
  std::vector<uint8_t> code;
  uint8_t read[4] = {}, written[2] = {};
};

template <size_t kCount>
void add(uint8_t (&set)[kCount], uint8_t id) {
  for (uint8_t& entry : set) {
    if (entry == id) return;
    if (entry == 0) {
      entry = id;
      return;
    }
  }
}

// Any numbers do, as long as they are not 0 and not those with a meaning.
uint8_t number_of(ZydisRegister reg) {
  // None: there is no larger one (x87, MMX, masks).
  const ZydisRegister larger = ZydisRegisterGetLargestEnclosing(ZYDIS_MACHINE_MODE_LONG_64, reg);
  const ZydisRegister wide = larger != ZYDIS_REGISTER_NONE ? larger : reg;
  if (wide == ZYDIS_REGISTER_RSP) return kChampsimStackPointer;
  if (wide == ZYDIS_REGISTER_RIP) return kChampsimInstructionPointer;
  if (wide == ZYDIS_REGISTER_RFLAGS) return kChampsimFlags;
  const ZyanI8 id = ZydisRegisterGetId(wide);
  if (id < 0) return 0;
  switch (ZydisRegisterGetClass(wide)) {
    case ZYDIS_REGCLASS_GPR64: return static_cast<uint8_t>(kChampsimFirstGeneral + id);
    case ZYDIS_REGCLASS_XMM:
    case ZYDIS_REGCLASS_YMM:
    case ZYDIS_REGCLASS_ZMM: return static_cast<uint8_t>(64 + id);
    case ZYDIS_REGCLASS_X87: return static_cast<uint8_t>(100 + id);
    case ZYDIS_REGCLASS_MMX: return static_cast<uint8_t>(110 + id);
    case ZYDIS_REGCLASS_MASK: return static_cast<uint8_t>(120 + id);
    default: return 0;
  }
}

class ChampsimExporter final : public Exporter {
 public:
  ChampsimExporter(CompressedOutput& out, const ExportOptions& options) : out_(out), options_(options) {
    ZydisDecoderInit(&decoder_, ZYDIS_MACHINE_MODE_LONG_64, ZYDIS_STACK_WIDTH_64);
  }

  bool on_begun_string(const InstructionRecord& i) override {
    return options_.count_iterations ? on_instruction(i) : Exporter::on_begun_string(i);
  }
  bool on_instruction(const InstructionRecord& i) override {
    ChampsimRecord record{};
    record.ip = i.pc;
    const Registers& registers = registers_of(i);
    std::copy(std::begin(registers.read), std::end(registers.read), record.source_registers);
    std::copy(std::begin(registers.written), std::end(registers.written), record.destination_registers);
    if (is_branch(i.flags)) {
      record.is_branch = 1;
      record.branch_taken = (i.flags & kConditional) == 0 || (i.next_pc != 0 && i.next_pc != i.pc + i.length);
      set_branch_registers(record, i.flags, registers);
    }
    if (options_.count_iterations && i.iterations > 1)
      return iterations(record, i);
    left_out_ += add_references(record, i.references);
    write(record);
    return true;
  }

 private:
  static bool is_branch(uint8_t flags) { return (flags & kEndsBlock) != 0 && (flags & kSystemCall) == 0; }

  static bool is_other(uint8_t id) {
    return id != 0 && id != kChampsimStackPointer && id != kChampsimFlags && id != kChampsimInstructionPointer;
  }

  static void set_branch_registers(ChampsimRecord& r, uint8_t flags, const Registers& registers) {
    std::fill(std::begin(r.source_registers), std::end(r.source_registers), 0);
    std::fill(std::begin(r.destination_registers), std::end(r.destination_registers), 0);
    const bool is_return = (flags & kReturn) != 0, is_call = (flags & kCall) != 0;
    const bool indirect = (flags & kIndirect) != 0 && !is_return, conditional = (flags & kConditional) != 0;
    if (!is_return && !(indirect && !is_call)) add(r.source_registers, kChampsimInstructionPointer);
    if (is_call || is_return) add(r.source_registers, kChampsimStackPointer), add(r.destination_registers, kChampsimStackPointer);
    add(r.destination_registers, kChampsimInstructionPointer);
    bool depends = false;
    for (const uint8_t id : registers.read) {
      if (!(is_other(id) && (indirect || conditional)) && !(id == kChampsimFlags && conditional)) continue;
      add(r.source_registers, id);
      depends = true;
    }
    // A branch that depends on no register (jmp [rip + x]) reads memory: any register tells the decoder that it is indirect, and one that nothing
    // writes keeps it from waiting for another instruction.
    if (indirect && !depends) add(r.source_registers, kChampsimNeverWritten);
    if (conditional && !depends) add(r.source_registers, kChampsimFlags);
    for (const uint8_t id : registers.written)
      if (is_other(id)) add(r.destination_registers, id);  // of loop
  }

  // Sets of addresses, 0 is empty. Returns how many references found no place for one of their lines: those that are
  // there already need none. First bytes come first, so that a long reference takes no place from another.
  static uint64_t add_references(ChampsimRecord& r, std::span<const MemoryReference> references) {
    for (const MemoryReference& reference : references) {
      if (reads(reference.kind)) place(r.source_memory, reference.address);
      if (writes(reference.kind)) place(r.destination_memory, reference.address);
    }
    uint64_t left_out = 0;
    for (const MemoryReference& reference : references) {
      if (reads(reference.kind)) left_out += !place_lines(r.source_memory, reference);
      if (writes(reference.kind)) left_out += !place_lines(r.destination_memory, reference);
    }
    return left_out;
  }

  // Its address, and the start of each further line that it touches.
  template <size_t kCount>
  static bool place_lines(uint64_t (&set)[kCount], const MemoryReference& reference) {
    const uint64_t last = (reference.address + std::max(reference.bytes, 1u) - 1) / kLine;
    bool all = place(set, reference.address);
    for (uint64_t line = reference.address / kLine + 1; all && line <= last; ++line) all = place(set, line * kLine);
    return all;
  }

  template <size_t kCount>
  static bool place(uint64_t (&set)[kCount], uint64_t address) {
    if (address == 0) return false;
    for (uint64_t& entry : set) {
      if (entry / kLine == address / kLine && entry != 0) return true;
      if (entry == 0) {
        entry = address;
        return true;
      }
    }
    return false;
  }

  bool iterations(const ChampsimRecord& record, const InstructionRecord& i) {
    const size_t each = i.references_each;
    for (size_t at = 0; at < i.references.size(); at += each) {
      ChampsimRecord one = record;
      left_out_ += add_references(one, i.references.subspan(at, std::min(each, i.references.size() - at)));
      write(one);
    }
    return true;
  }

  void write(const ChampsimRecord& record) { out_.write({reinterpret_cast<const char*>(&record), sizeof record}); }

  const Registers& registers_of(const InstructionRecord& i) {
    Registers& known = known_[i.pc];
    if (!known.code.empty() && std::equal(known.code.begin(), known.code.end(), i.code.begin(), i.code.end())) return known;
    known = Registers{};
    known.code.assign(i.code.begin(), i.code.end());
    ZydisDecodedInstruction decoded;
    ZydisDecodedOperand operands[ZYDIS_MAX_OPERAND_COUNT];
    if (i.code.empty() ||
        !ZYAN_SUCCESS(ZydisDecoderDecodeFull(&decoder_, i.code.data(), i.code.size(), &decoded, operands)))
      return known;
    for (uint32_t k = 0; k < decoded.operand_count; ++k) add_operand(known, operands[k]);
    if (decoded.cpu_flags != nullptr) {
      if (decoded.cpu_flags->tested != 0) add(known.read, kChampsimFlags);
      if ((decoded.cpu_flags->modified | decoded.cpu_flags->set_0 | decoded.cpu_flags->set_1) != 0)
        add(known.written, kChampsimFlags);
    }
    add_what_zydis_omits(known, decoded, operands);
    return known;
  }

  // That scas and cmps move their pointers, and that xlat reads al.
  static void add_what_zydis_omits(Registers& to, const ZydisDecodedInstruction& decoded, const ZydisDecodedOperand* operands) {
    if (decoded.mnemonic == ZYDIS_MNEMONIC_XLAT) add(to.read, kChampsimFirstGeneral);
    if (decoded.meta.category != ZYDIS_CATEGORY_STRINGOP) return;
    for (uint32_t k = 0; k < decoded.operand_count; ++k)
      if (operands[k].type == ZYDIS_OPERAND_TYPE_MEMORY) add(to.written, number_of(operands[k].mem.base));
  }

  static void add_operand(Registers& to, const ZydisDecodedOperand& operand) {
    // In the field of a mask k0 stands for none.
    if (operand.encoding == ZYDIS_OPERAND_ENCODING_MASK && operand.reg.value == ZYDIS_REGISTER_K0) return;
    const auto note = [&](ZydisRegister reg, bool read, bool written) {
      const uint8_t id = number_of(reg);
      if (id == 0 || id == kChampsimFlags || id == kChampsimInstructionPointer) return;
      if (read) add(to.read, id);
      if (written) add(to.written, id);
    };
    // What is written on a condition only (cmov) is read, too: what it was may stay.
    constexpr ZydisOperandActions kReads = ZYDIS_OPERAND_ACTION_MASK_READ | ZYDIS_OPERAND_ACTION_CONDWRITE;
    if (operand.type == ZYDIS_OPERAND_TYPE_REGISTER)
      note(operand.reg.value, (operand.actions & kReads) != 0, (operand.actions & ZYDIS_OPERAND_ACTION_MASK_WRITE) != 0);
    if (operand.type != ZYDIS_OPERAND_TYPE_MEMORY) return;
    note(operand.mem.base, true, false);
    note(operand.mem.index, true, false);
  }

  CompressedOutput& out_;
  ExportOptions options_;
  ZydisDecoder decoder_;
  std::unordered_map<uint64_t, Registers> known_;
};

}  // namespace

std::unique_ptr<Exporter> make_champsim_exporter(CompressedOutput& out, const ExportOptions& options) {
  return std::make_unique<ChampsimExporter>(out, options);
}

}  // namespace simrun::traces
