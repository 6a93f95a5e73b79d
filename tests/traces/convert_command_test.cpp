// simrun convert and view. Each exported format is read here as its consumer's documentation says, and compared with the
// instruction text, which says everything.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <map>
#include <optional>
#include <set>
#include <sstream>
#include <string>
#include <vector>

namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;

struct Reference {
  std::string kind;
  uint64_t address;
  uint64_t bytes;
};
struct Instruction {
  uint64_t pc, length;
  std::string code;  // hexadecimal
  std::vector<Reference> references;
};

bool reads(const Reference& r) { return r.kind == "load" || r.kind == "modify" || r.kind == "load-nt"; }
bool writes(const Reference& r) { return r.kind == "store" || r.kind == "modify" || r.kind == "store-nt"; }

// One recording for all tests.
class ConvertCommand : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    std::string name = (fs::temp_directory_path() / "simrun_convert_XXXXXX").string();
    directory_ = mkdtemp(name.data());
    simrun(fmt::format("record -q -o {} --from work_step --to work_step:2 -- {} 12", file("t"), MARKED_PROGRAM));
    simrun(fmt::format("convert -q {} --to text -o {}", file("t"), file("text")));
    std::ifstream in(file("text"));
    for (std::string line; std::getline(in, line);) {
      std::istringstream words(line);
      uint64_t number, thread;
      Instruction i{};
      std::string code;
      words >> number >> thread >> std::ws;
      if (words.peek() == '!') continue;
      words >> std::hex >> i.pc >> code;
      i.length = code.size() / 2;
      i.code = code;
      for (Reference r; words >> r.kind >> std::hex >> r.address >> std::dec >> r.bytes;) i.references.push_back(r);
      instructions_.push_back(i);
    }
  }
  static void TearDownTestSuite() {
    fs::remove_all(directory_);
    instructions_.clear();
  }

  static std::string file(const std::string& name) { return directory_ + "/" + name; }
  static std::string simrun(const std::string& arguments) {
    FILE* pipe = popen(fmt::format("{} {} 2>&1", SIMRUN_EXECUTABLE, arguments).c_str(), "r");
    std::string output;
    char buffer[4096];
    for (size_t got; (got = fread(buffer, 1, sizeof buffer, pipe)) != 0;) output.append(buffer, got);
    status_ = WEXITSTATUS(pclose(pipe));
    return output;
  }
  static std::string contents(const std::string& name) {
    std::ifstream in(file(name), std::ios::binary);
    return {std::istreambuf_iterator<char>(in), {}};
  }
  static std::string convert(const std::string& format, const std::string& name) {
    const std::string said = simrun(fmt::format("convert -q {} --to {} -o {}", file("t"), format, file(name)));
    EXPECT_EQ(status_, 0) << said;
    return contents(name);
  }

  static inline std::string directory_;
  static inline std::vector<Instruction> instructions_;
  static inline int status_ = 0;
};

TEST_F(ConvertCommand, TextHoldsTheRegion) {
  ASSERT_GT(instructions_.size(), 20'000u);
  uint64_t stores = 0;
  for (const Instruction& i : instructions_)
    for (const Reference& r : i.references) stores += r.kind == "store" && r.bytes == 8;
  EXPECT_GE(stores, 2u * 2000u);  // two calls of work_step
}

struct ChampsimRecord {
  unsigned long long ip;
  unsigned char is_branch, branch_taken, destination_registers[2], source_registers[4];
  unsigned long long destination_memory[2], source_memory[4];
};
static_assert(sizeof(ChampsimRecord) == 64);

// The rules by which ChampSim's inc/instruction.h names branches, in its order.
std::string champsim_branch(const ChampsimRecord& r) {
  const auto has = [](const auto& set, int id) { return std::find(std::begin(set), std::end(set), id) != std::end(set); };
  const bool writes_sp = has(r.destination_registers, 6), writes_ip = has(r.destination_registers, 26);
  const bool reads_sp = has(r.source_registers, 6), reads_flags = has(r.source_registers, 25);
  const bool reads_ip = has(r.source_registers, 26);
  const bool reads_other = std::any_of(std::begin(r.source_registers), std::end(r.source_registers),
                                       [](int id) { return id != 0 && id != 6 && id != 25 && id != 26; });
  if (!writes_ip) return "none";
  if (!reads_sp && !reads_flags && !reads_other) return "jump";
  if (!reads_sp && !reads_ip && !reads_flags && reads_other) return "indirect jump";
  if (!reads_sp && reads_ip && !writes_sp && (reads_flags || reads_other)) return "conditional";
  if (reads_sp && reads_ip && writes_sp && !reads_flags) return reads_other ? "indirect call" : "call";
  if (reads_sp && !reads_ip && writes_sp) return "return";
  return "other";
}

// What the instruction is, by its opcode; prefixes (notrack, bnd, REX) are passed over.
std::string branch_of(const std::string& code) {
  size_t at = 0;
  const auto byte = [&](size_t k) { return 2 * k + 2 <= code.size() ? std::stoi(code.substr(2 * k, 2), nullptr, 16) : -1; };
  while (byte(at) == 0x3e || byte(at) == 0xf2 || (byte(at) & 0xf0) == 0x40) ++at;
  const int opcode = byte(at), next = byte(at + 1);
  if (opcode == 0xe8) return "call";
  if (opcode == 0xe9 || opcode == 0xeb) return "jump";
  if (opcode == 0xc3 || opcode == 0xc2) return "return";
  if ((opcode & 0xf0) == 0x70 || opcode == 0xe3 || (opcode == 0x0f && (next & 0xf0) == 0x80)) return "conditional";
  if (opcode == 0xff && (next >> 3 & 7) == 2) return "indirect call";
  if (opcode == 0xff && (next >> 3 & 7) == 4) return "indirect jump";
  return "none";
}

// Registers that an instruction reads and writes as ChampSim's tracer numbers them here (docs/trace-conversion.md), by
// a decoder of its own that knows the commonest: moves, cmovs, arithmetic, addresses, with registers or memory. Nothing:
// another.
struct RegisterSets {
  std::set<int> read, written;
};
std::optional<RegisterSets> registers_of(const std::string& code) {
  std::vector<int> bytes;
  for (size_t k = 0; k + 1 < code.size(); k += 2) bytes.push_back(std::stoi(code.substr(k, 2), nullptr, 16));
  size_t at = 0;
  const int rex = (bytes[0] & 0xf0) == 0x40 ? bytes[at++] : 0;
  const bool is_cmov = at + 2 < bytes.size() && bytes[at] == 0x0f && (bytes[at + 1] & 0xf0) == 0x40;
  if (is_cmov) bytes[++at] = 0x8b;  // operands as those of a mov to a register
  if (at + 1 >= bytes.size()) return {};
  const int opcode = bytes[at], modrm = bytes[at + 1], mode = modrm >> 6;
  const bool is_arithmetic = opcode < 0x40 && ((opcode & 7) == 1 || (opcode & 7) == 3);
  const int operation = opcode >> 3;  // 2 and 3 read the carry, 7 compares
  if (!is_arithmetic && opcode != 0x89 && opcode != 0x8b && opcode != 0x8d) return {};
  const auto id = [](int number) { return number == 4 ? 6 : 32 + number; };
  const int in_reg = id((modrm >> 3 & 7) | (rex & 4) << 1), in_rm = id((modrm & 7) | (rex & 1) << 3);
  RegisterSets sets;
  if (mode != 3 && (modrm & 7) == 4) {
    if (at + 2 >= bytes.size()) return {};
    const int sib = bytes[at + 2], base = (sib & 7) | (rex & 1) << 3, index = (sib >> 3 & 7) | (rex & 2) << 2;
    if (mode != 0 || (sib & 7) != 5) sets.read.insert(id(base));
    if (index != 4) sets.read.insert(id(index));
  } else if (mode != 3 && (mode != 0 || (modrm & 7) != 5)) {
    sets.read.insert(in_rm);
  }
  const bool to_reg = opcode == 0x8d || (opcode & 2) != 0;
  if (opcode != 0x8d && (to_reg ? mode == 3 : true)) sets.read.insert(to_reg ? in_rm : in_reg);
  const bool writes_register = (to_reg || mode == 3) && !(is_arithmetic && operation == 7);
  if (writes_register) sets.written.insert(to_reg ? in_reg : in_rm);
  if (is_cmov) sets.read.insert(in_reg), sets.read.insert(25);
  if (!is_arithmetic) return sets;
  if (to_reg || mode == 3) sets.read.insert(to_reg ? in_reg : in_rm);
  sets.written.insert(25);
  if (operation == 2 || operation == 3) sets.read.insert(25);
  return sets;
}

TEST_F(ConvertCommand, ChampsimRegisters) {
  const std::string bytes = convert("champsim", "c.champsimtrace");
  ASSERT_EQ(bytes.size(), 64 * instructions_.size());
  std::map<int, int> seen;  // by opcode
  for (size_t k = 0; k < instructions_.size(); ++k) {
    const std::string& code = instructions_[k].code;
    const auto expected = registers_of(code);
    if (!expected) continue;
    ChampsimRecord r;
    std::memcpy(&r, bytes.data() + 64 * k, 64);
    RegisterSets found{{std::begin(r.source_registers), std::end(r.source_registers)},
                       {std::begin(r.destination_registers), std::end(r.destination_registers)}};
    found.read.erase(0);
    found.written.erase(0);
    ASSERT_EQ(found.read, expected->read) << code;
    ASSERT_EQ(found.written, expected->written) << code;
    ++seen[std::stoi(code.substr((code[0] == '4') ? 2 : 0, 2), nullptr, 16)];  // all cmovs under their first byte
  }
  int all = 0;
  for (const auto& [opcode, count] : seen) all += count;
  EXPECT_GT(all, 1000);
  EXPECT_GT(seen[0x0f], 0);
  EXPECT_GE(seen.size(), 4u);
}

TEST_F(ConvertCommand, WhatCannotBeSaidIsAFailure) {
  for (const std::string command : {"info", "info --json", "check", "view -n 1"}) {
    simrun(fmt::format("{} {} > /dev/full", command, file("t")));
    EXPECT_EQ(status_, 1) << command;
  }
  simrun("--version > /dev/full");
  EXPECT_EQ(status_, 1);
}

TEST_F(ConvertCommand, CompressesAsHardAsAsked) {
  const auto size = [&](const std::string& ending, int level) {
    const std::string name = fmt::format("level{}.champsimtrace.{}", level, ending);
    EXPECT_EQ(simrun(fmt::format("convert -q {} --to champsim --level {} -o {}", file("t"), level, file(name))), "");
    return contents(name).size();
  };
  EXPECT_LT(size("xz", 6), size("xz", 0));
  EXPECT_LT(size("gz", 9), size("gz", 1));
  EXPECT_LT(size("zst", 19), size("zst", 1));
  EXPECT_THAT(simrun("convert " + file("t") + " --to din --level 12 -o " + file("x.gz")),
              HasSubstr(".gz has levels 1 to 9"));
  EXPECT_EQ(status_, 2);
  EXPECT_THAT(simrun("convert " + file("t") + " --to din --level 3 -o " + file("x")), HasSubstr("is not compressed"));
  // Plain bytes under such a name: ChampSim decompresses what ends in .bz2.
  for (const char* name : {"x.champsimtrace.bz2", "x.din.lz4", "x.zip", "x.7z"}) {
    EXPECT_THAT(simrun(fmt::format("convert {} --to din -o {}", file("t"), file(name))), HasSubstr(".gz, .xz and .zst are"));
    EXPECT_EQ(status_, 2) << name;
    EXPECT_FALSE(fs::exists(file(name)));
  }
  EXPECT_EQ(status_, 2);
}

// ChampSim's inc/trace_instruction.h.
TEST_F(ConvertCommand, Champsim) {
  const std::string bytes = convert("champsim", "c.champsimtrace");
  ASSERT_EQ(bytes.size(), 64 * instructions_.size());
  std::map<std::string, int> kinds;
  for (size_t k = 0; k < instructions_.size(); ++k) {
    ChampsimRecord r;
    std::memcpy(&r, bytes.data() + 64 * k, 64);
    const Instruction& i = instructions_[k];
    ASSERT_EQ(r.ip, i.pc);
    const bool last = k + 1 == instructions_.size();
    const bool goes_on = !last && instructions_[k + 1].pc == i.pc + i.length;
    EXPECT_TRUE(last || goes_on == (r.is_branch == 0 || r.branch_taken == 0)) << std::hex << i.pc;
    ASSERT_EQ(champsim_branch(r), branch_of(i.code)) << i.code;
    ASSERT_EQ(r.is_branch != 0, champsim_branch(r) != "none") << i.code;
    ++kinds[champsim_branch(r)];
    for (const Reference& m : i.references) {
      const auto on_line = [&](const auto& set) {
        return std::any_of(std::begin(set), std::end(set), [&](auto a) { return a / 64 == m.address / 64; });
      };
      EXPECT_TRUE(!reads(m) || on_line(r.source_memory));
      EXPECT_TRUE(!writes(m) || on_line(r.destination_memory));
    }
  }
  EXPECT_GT(kinds["conditional"], 1000);
  EXPECT_GE(kinds["return"], 2);
  EXPECT_GE(kinds["call"], 1);
}

TEST_F(ConvertCommand, Compressions) {
  const std::string plain = convert("champsim", "plain.champsimtrace");
  for (const auto& [ending, tool] : {std::pair{"xz", "xz"}, {"gz", "gzip"}}) {
    convert("champsim", fmt::format("p.champsimtrace.{}", ending));
    EXPECT_EQ(std::system(fmt::format("{} -dkf {} 2>/dev/null", tool, file(fmt::format("p.champsimtrace.{}", ending))).c_str()), 0);
    EXPECT_EQ(contents("p.champsimtrace"), plain) << ending;
  }
  // Read again by our own importer, each through its decompression.
  convert("champsim", "p.champsimtrace.zst");
  for (const char* ending : {"xz", "gz", "zst"}) {
    simrun(fmt::format("convert -q --from champsim {} -o {}", file(fmt::format("p.champsimtrace.{}", ending)), file("back")));
    EXPECT_THAT(simrun("info " + file("back")), HasSubstr("imported        from champsim"));
    simrun(fmt::format("convert -q --to champsim {} -o {}", file("back"), file("again")));
    const std::string again = contents("again");
    ASSERT_EQ(again.size(), plain.size()) << ending;
    for (size_t at = 0; at < plain.size(); at += 64) {
      ASSERT_EQ(again.substr(at, 10), plain.substr(at, 10)) << ending;      // pc, branch, taken
      ASSERT_EQ(again.substr(at + 16, 48), plain.substr(at + 16, 48)) << ending;  // memory
    }
    EXPECT_THAT(simrun("check " + file("back")), HasSubstr("no violation"));  // of guessed lengths and targets
  }
}

// Of the registers, only what the kind of a branch is inferred from comes back.
TEST_F(ConvertCommand, ChampsimAndBackLosesRegisters) {
  const std::string plain = convert("champsim", "c.champsimtrace");
  simrun(fmt::format("convert -q --from champsim {} -o {}", file("c.champsimtrace"), file("back")));
  simrun(fmt::format("convert -q --to champsim {} -o {}", file("back"), file("again")));
  const std::string again = contents("again");
  ASSERT_EQ(again.size(), plain.size());
  int lost = 0, branches = 0;
  for (size_t at = 0; at < plain.size(); at += 64) {
    ChampsimRecord before, after;
    std::memcpy(&before, plain.data() + at, 64);
    std::memcpy(&after, again.data() + at, 64);
    ASSERT_EQ(champsim_branch(before), champsim_branch(after)) << at;
    lost += plain.substr(at + 10, 6) != again.substr(at + 10, 6);
    branches += after.is_branch;
    ASSERT_TRUE(after.is_branch != 0 || again.substr(at + 10, 6) == std::string(6, '\0')) << at;
  }
  EXPECT_GT(lost, 1000);
  EXPECT_GT(branches, 1000);
}

// A branch that is taken to 4 bytes behind its start came back as one that is not: 4 is the length where none is known.
TEST_F(ConvertCommand, ChampsimBranchesStayTaken) {
  std::string records;
  const uint64_t targets[] = {2, 3, 4, 5, 15, 16, 0};
  for (const uint64_t target : targets) {
    ChampsimRecord branch{0x1000, 1, 1, {26}, {25, 26}, {}, {}}, behind{0x1000 + target, 0, 0, {}, {}, {}, {}};
    records.append(reinterpret_cast<const char*>(&branch), sizeof branch);
    records.append(reinterpret_cast<const char*>(&behind), sizeof behind);
  }
  std::ofstream(file("b.champsim"), std::ios::binary) << records;
  simrun(fmt::format("convert -q --from champsim {} -o {}", file("b.champsim"), file("back")));
  simrun(fmt::format("convert -q --to champsim {} -o {}", file("back"), file("again")));
  const std::string again = contents("again");
  ASSERT_EQ(again.size(), records.size());
  for (size_t at = 0; at < again.size(); at += 128)
    EXPECT_EQ(again.substr(at, 10), records.substr(at, 10)) << targets[at / 128];
}

TEST_F(ConvertCommand, DinAndBack) {
  std::istringstream in(convert("din", "d.din"));
  size_t instruction = 0;
  std::vector<std::pair<int, uint64_t>> expected, got;
  for (const Instruction& i : instructions_) {
    expected.emplace_back(2, i.pc);
    for (const Reference& r : i.references) {
      if (reads(r)) expected.emplace_back(0, r.address);
      if (writes(r)) expected.emplace_back(1, r.address);
    }
  }
  int label;
  for (uint64_t address; in >> label >> std::hex >> address >> std::dec; ++instruction) got.emplace_back(label, address);
  EXPECT_EQ(got, expected);
  simrun(fmt::format("convert -q --from din {} -o {}", file("d.din"), file("back")));
  simrun(fmt::format("convert -q --to din {} -o {}", file("back"), file("again.din")));
  EXPECT_EQ(contents("again.din"), contents("d.din"));
  EXPECT_THAT(simrun("check " + file("back")), HasSubstr("no violation"));
}

TEST_F(ConvertCommand, RamulatorLoadStore) {
  std::istringstream in(convert("ramulator-loadstore", "r"));
  for (const Instruction& i : instructions_)
    for (const Reference& r : i.references)
      for (const char* word : {reads(r) ? "LD" : nullptr, writes(r) ? "ST" : nullptr}) {
        if (word == nullptr) continue;
        std::string op, address;
        in >> op >> address;
        ASSERT_EQ(op, word);
        ASSERT_EQ(std::stoull(address, nullptr, 0), r.address);
      }
  std::string rest;
  EXPECT_FALSE(in >> rest);
}

TEST_F(ConvertCommand, RamulatorO3) {
  std::istringstream in(convert("ramulator-o3", "o"));
  // As Ramulator's SimpleO3Core executes a line: bubbles, then the load, then what it writes.
  uint64_t without = 0, bubbles = 0, stores_alone = 0;
  std::vector<std::pair<char, uint64_t>> expected, got;
  for (const Instruction& i : instructions_) {
    bool any = false;
    for (const Reference& r : i.references) {
      if (reads(r)) expected.emplace_back('L', r.address);
      if (writes(r)) expected.emplace_back('S', r.address);
      any |= reads(r) || writes(r);
    }
    without += any ? 0 : 1;
  }
  for (std::string line; std::getline(in, line);) {
    std::istringstream words(line);
    uint64_t bubble, load, store;
    ASSERT_TRUE(words >> bubble >> load) << line;
    bubbles += bubble;
    const bool has_store = !!(words >> store);
    EXPECT_TRUE(words.eof());
    // The load of a store that has none before it is its own address.
    const bool alone = has_store && load == store && got.size() < expected.size() && expected[got.size()].first == 'S';
    stores_alone += alone;
    if (!alone) got.emplace_back('L', load);
    if (has_store) got.emplace_back('S', store);
  }
  EXPECT_EQ(got, expected);
  EXPECT_GT(stores_alone, 0u);
  EXPECT_LE(bubbles, without);
  EXPECT_GE(bubbles + 64, without);  // those behind the last line
}

TEST_F(ConvertCommand, DramSim3) {
  std::istringstream in(convert("dramsim3", "s"));
  // As its Transaction reads itself: a hexadecimal address, a word, a decimal cycle.
  for (size_t number = 0; number < instructions_.size(); ++number)
    for (const Reference& r : instructions_[number].references)
      for (const char* word : {reads(r) ? "READ" : nullptr, writes(r) ? "WRITE" : nullptr}) {
        if (word == nullptr) continue;
        uint64_t address, cycle;
        std::string op;
        ASSERT_TRUE(in >> std::hex >> address >> op >> std::dec >> cycle);
        ASSERT_EQ(op, word);
        ASSERT_EQ(address, r.address);
        ASSERT_EQ(cycle, number);
      }
  std::string rest;
  EXPECT_FALSE(in >> rest);
}

// The protobuf wire format by hand: varints and length-delimited fields, as src/proto/packet.proto of gem5 names them.
TEST_F(ConvertCommand, Gem5) {
  const std::string bytes = convert("gem5", "g.trc");
  ASSERT_EQ(bytes.substr(0, 4), "gem5");
  size_t at = 4;
  const auto varint = [&] {
    uint64_t value = 0;
    for (int shift = 0;; shift += 7) {
      const auto byte = static_cast<unsigned char>(bytes.at(at++));
      value |= uint64_t{byte & 0x7fu} << shift;
      if (byte < 0x80) return value;
    }
  };
  const auto message = [&] {
    std::map<uint64_t, uint64_t> fields;
    const size_t end = varint() + at;
    while (at < end) {
      const uint64_t key = varint();
      if ((key & 7) == 2) {
        const uint64_t length = varint();
        at += length;
      } else {
        fields[key >> 3] = varint();
      }
    }
    EXPECT_EQ(at, end);
    return fields;
  };
  EXPECT_EQ(message()[3], 1'000'000'000'000u);
  uint64_t last_tick = 0, packets = 0;
  for (const Instruction& i : instructions_)
    for (const Reference& r : i.references)
      for (const uint64_t command : {reads(r) ? 1u : 0u, writes(r) ? 4u : 0u}) {
        if (command == 0) continue;
        for (uint64_t done = 0; done < r.bytes;) {  // a packet for each line
          auto packet = message();
          ASSERT_EQ(packet[2], command);
          ASSERT_EQ(packet[3], r.address + done);
          ASSERT_GT(packet[4], 0u);
          ASSERT_LE(packet[3] % 64 + packet[4], 64u);
          ASSERT_EQ(packet[6], packets++);
          ASSERT_EQ(packet[7], i.pc);
          ASSERT_GE(packet[1], last_tick);
          last_tick = packet[1];
          done += packet[4];
          ASSERT_LE(done, r.bytes);
        }
      }
  EXPECT_EQ(at, bytes.size());
}

TEST_F(ConvertCommand, Csv) {
  std::istringstream in(convert("csv", "c.csv"));
  std::string line;
  std::getline(in, line);
  EXPECT_EQ(line, "number,thread,pc,kind,address,bytes");
  // number,thread,pc,kind,address,bytes: the instruction itself, then what it touches.
  for (size_t k = 0; k < instructions_.size(); ++k) {
    const Instruction& i = instructions_[k];
    const auto expect = [&](const std::string& kind, uint64_t address, uint64_t bytes) {
      ASSERT_TRUE(std::getline(in, line));
      std::istringstream fields(line);
      std::vector<std::string> f;
      for (std::string field; std::getline(fields, field, ',');) f.push_back(field);
      ASSERT_EQ(f.size(), 6u) << line;
      ASSERT_EQ(std::stoull(f[0]), k) << line;
      ASSERT_EQ(std::stoull(f[2], nullptr, 16), i.pc) << line;
      ASSERT_EQ(f[3], kind) << line;
      ASSERT_EQ(std::stoull(f[4], nullptr, 16), address) << line;
      ASSERT_EQ(std::stoull(f[5]), bytes) << line;
    };
    expect("fetch", i.pc, i.length);
    for (const Reference& r : i.references) expect(r.kind, r.address, r.bytes);
    if (HasFatalFailure()) return;
  }
  EXPECT_FALSE(std::getline(in, line));
}

TEST_F(ConvertCommand, Lackey) {
  std::ofstream(file("l")) << "==123== Lackey\nI  00401000,3\n L 1ffefff000,8\nI  00401003,4\n M 1ffefff008,4\n S 600,1\n";
  simrun(fmt::format("convert -q --from lackey {} -o {}", file("l"), file("lt")));
  ASSERT_EQ(status_, 0);
  simrun(fmt::format("convert -q --to text {} -o {}", file("lt"), file("ltext")));
  EXPECT_EQ(contents("ltext"),
            "0 0 401000 - load 1ffefff000 8\n1 0 401003 - modify 1ffefff008 4 store 600 1\n");
}

// What the tool itself prints, with its messages between; its own counts are the judge.
TEST_F(ConvertCommand, LackeyOfARealProgram) {
  if (std::system("valgrind --version >/dev/null 2>&1") != 0) GTEST_SKIP() << "no valgrind";
  std::system(fmt::format("valgrind --tool=lackey --trace-mem=yes --log-file={} /bin/true", file("lackey")).c_str());
  const std::string all = contents("lackey");
  uint64_t instructions = 0, data = 0;
  std::istringstream in(all);
  for (std::string line; std::getline(in, line);) {
    instructions += line.starts_with("I  ");
    data += line.starts_with(" L ") || line.starts_with(" S ") || line.starts_with(" M ");
  }
  ASSERT_GT(instructions, 50'000u);
  EXPECT_EQ(simrun(fmt::format("convert -q --from lackey {} -o {}", file("lackey"), file("lt"))), "");
  simrun(fmt::format("convert -q --to csv {} -o {}", file("lt"), file("lackey.csv")));
  uint64_t fetches = 0, rest = 0;
  std::istringstream csv(contents("lackey.csv"));
  for (std::string line; std::getline(csv, line);) line.find(",fetch,") != std::string::npos ? ++fetches : ++rest;
  EXPECT_EQ(fetches, instructions);
  EXPECT_EQ(rest, data + 1);  // and the heading
}

// A thread that did not run in the region gave a file without instructions, and no word.
TEST_F(ConvertCommand, NothingToConvertIsAnError) {
  const size_t last = instructions_.size() - 1;
  const std::string behind = fmt::format("{}..{}", last + 10, last + 20);
  for (const std::string& command :
       {fmt::format("convert {} --to champsim --thread 0 --region {} -o {}", file("t"), behind, file("x")),
        fmt::format("view {} --thread 0 --from {} --to {}", file("t"), last + 10, last + 20)}) {
    const std::string said = simrun(command);
    EXPECT_EQ(status_, 1) << said;
    EXPECT_THAT(said, HasSubstr("t has no instruction of thread 0 from "));
    EXPECT_THAT(said, HasSubstr("; the first one is number 0, the last "));
    std::string digits;
    for (const char c : said.substr(said.rfind(' '))) digits += std::isdigit(c) ? std::string(1, c) : "";
    EXPECT_EQ(digits, std::to_string(last));
  }
  EXPECT_FALSE(fs::exists(file("x")));
  EXPECT_THAT(simrun(fmt::format("sim {} -c l3_1core --from {}", file("t"), last)), HasSubstr("simulated whole"));
  for (const char* command : {"view {} --from 5 --to 5", "convert {} --to din -o {} --region 10..5"})
    EXPECT_THAT(simrun(fmt::format(fmt::runtime(command), file("t"), file("x"))), HasSubstr("the end must lie behind the beginning")) << command;
  EXPECT_EQ(simrun(fmt::format("convert -q {} --to din --region {}..{} -o {}", file("t"), last, last + 20, file("x"))), "");
  EXPECT_THAT(simrun(fmt::format("view {} --thread 7", file("t"))), HasSubstr("t has no instruction of thread 7\n"));
}

// What lies before damage is written, and the error said.
TEST_F(ConvertCommand, DamagedTracesGiveWhatIsBefore) {
  simrun(fmt::format("record -q --chunk-size 64KiB -o {} -- {} 30", file("d"), MARKED_PROGRAM));
  std::fstream(file("d"), std::ios::in | std::ios::out | std::ios::binary).seekp(static_cast<std::streamoff>(fs::file_size(file("d")) / 2)).write("damage", 6);
  EXPECT_THAT(simrun(fmt::format("convert {} --to din -o {}", file("d"), file("z"))), HasSubstr("at offset"));
  EXPECT_EQ(status_, 1);
  EXPECT_GT(fs::file_size(file("z")), 100'000u);
}

// Without an index (a recording that was cut off) nothing tells before how many threads there are.
TEST_F(ConvertCommand, SeveralThreadsWithoutAnIndex) {
  simrun(fmt::format("record -q --chunk-size 64KiB -o {} -- {} 30 3", file("m"), MARKED_PROGRAM));
  fs::resize_file(file("m"), fs::file_size(file("m")) - 10);
  EXPECT_THAT(simrun(fmt::format("convert {} --to champsim -o {}", file("m"), file("y"))), HasSubstr("give --thread N"));
  EXPECT_EQ(status_, 2);
  EXPECT_FALSE(fs::exists(file("y")));
  simrun(fmt::format("convert -q {} --to champsim --thread 1 -o {}", file("m"), file("y")));
  EXPECT_EQ(status_, 0);
}

TEST_F(ConvertCommand, BadInputSaysWhere) {
  std::ofstream(file("bad.din")) << "2 401000\n0 xyz\n";
  EXPECT_THAT(simrun("convert --from din " + file("bad.din") + " -o " + file("none")),
              HasSubstr("bad.din: at offset 9: line 2: \"xyz\" is no address"));
  EXPECT_EQ(status_, 1);
  std::ofstream(file("bad.champsim")) << std::string(100, '\0');
  EXPECT_THAT(simrun("convert --from champsim " + file("bad.champsim") + " -o " + file("none")),
              HasSubstr("at offset 64: the file ends amid a record"));
  std::ofstream(file("bad.xz")) << "no xz";
  EXPECT_THAT(simrun("convert --from din " + file("bad.xz") + " -o " + file("none")), HasSubstr("damaged xz data"));
  EXPECT_FALSE(fs::exists(file("none")));
  EXPECT_THAT(simrun("convert " + file("t") + " --to din --count-iterations -o x"),
              HasSubstr("--count-iterations goes with --to champsim"));
  EXPECT_EQ(status_, 2);
  EXPECT_THAT(simrun("convert " + file("bad.din") + " --from din --thread 0 -o x"), HasSubstr("go with --to"));
  EXPECT_THAT(simrun("convert " + file("t") + " --to din --process 0 --thread 7 -o x"), HasSubstr("has no thread 7 in that process"));
  EXPECT_EQ(status_, 1);
  EXPECT_THAT(simrun("convert " + file("t") + " --to nothing -o x"), HasSubstr("there are champsim, din"));
  EXPECT_EQ(status_, 2);
}

TEST_F(ConvertCommand, View) {
  const std::string start = simrun("view -n 3 " + file("t"));
  EXPECT_THAT(start, HasSubstr("work_step"));
  EXPECT_THAT(start, HasSubstr("marked_program"));
  const std::string middle = simrun("view --from 10k -n 5 --no-symbols " + file("t"));
  EXPECT_THAT(middle, HasSubstr("       10000 t0"));
  EXPECT_EQ(std::count(middle.begin(), middle.end(), '\n'), 5);
  EXPECT_THAT(middle, ::testing::ContainsRegex("(mov|add|imul|and|cmp|lea)"));
  const std::string followed = simrun("view --all --follow work_step --no-symbols " + file("t"));
  EXPECT_GE(std::count(followed.begin(), followed.end(), '\n'), 2);
  EXPECT_THAT(simrun("view --follow no_such_function " + file("t")), HasSubstr("no module has such a function"));
}

}  // namespace
