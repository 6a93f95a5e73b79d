// simrun convert and view. Each exported format is read here as its consumer's documentation says, and compared with the
// instruction text, which says everything.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>

#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <map>
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
      for (Reference r; words >> r.kind >> std::hex >> r.address >> std::dec >> r.bytes;) i.references.push_back(r);
      instructions_.push_back(i);
    }
  }
  static void TearDownTestSuite() { fs::remove_all(directory_); }

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

// ChampSim's inc/trace_instruction.h, and the rules by which its decoder names branches.
TEST_F(ConvertCommand, Champsim) {
  struct Record {
    unsigned long long ip;
    unsigned char is_branch, branch_taken, destination_registers[2], source_registers[4];
    unsigned long long destination_memory[2], source_memory[4];
  };
  static_assert(sizeof(Record) == 64);
  const std::string bytes = convert("champsim", "c.champsimtrace");
  ASSERT_EQ(bytes.size(), 64 * instructions_.size());
  std::map<std::string, int> kinds;
  for (size_t k = 0; k < instructions_.size(); ++k) {
    Record r;
    std::memcpy(&r, bytes.data() + 64 * k, 64);
    const Instruction& i = instructions_[k];
    ASSERT_EQ(r.ip, i.pc);
    const auto has = [](const auto& set, int id) { return std::find(std::begin(set), std::end(set), id) != std::end(set); };
    const bool last = k + 1 == instructions_.size();
    const bool goes_on = !last && instructions_[k + 1].pc == i.pc + i.length;
    if (!last && r.is_branch == 0) EXPECT_TRUE(goes_on) << std::hex << i.pc;
    if (!last && r.is_branch != 0) EXPECT_EQ(r.branch_taken == 0, goes_on) << std::hex << i.pc;
    if (r.is_branch != 0) {
      EXPECT_TRUE(has(r.destination_registers, 26));
      bool other = false;
      for (unsigned char s : r.source_registers) other |= s != 0 && s != 6 && s != 25 && s != 26;
      const bool sp = has(r.source_registers, 6), flags = has(r.source_registers, 25), ip = has(r.source_registers, 26);
      kinds[sp && !ip ? "return" : sp ? (other ? "indirect call" : "call") : ip && (flags || other) ? "conditional"
            : other ? "indirect" : "jump"]++;
    }
    for (const Reference& m : i.references) {
      const auto on_line = [&](const auto& set) {
        return std::any_of(std::begin(set), std::end(set), [&](auto a) { return a / 64 == m.address / 64; });
      };
      if (reads(m)) EXPECT_TRUE(on_line(r.source_memory));
      if (writes(m)) EXPECT_TRUE(on_line(r.destination_memory));
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
    simrun(fmt::format("convert -q --to champsim {} -o {}", file("back"), file("again")));
    const std::string again = contents("again");
    ASSERT_EQ(again.size(), plain.size()) << ending;
    for (size_t at = 0; at < plain.size(); at += 64) {
      ASSERT_EQ(again.substr(at, 10), plain.substr(at, 10)) << ending;      // pc, branch, taken
      ASSERT_EQ(again.substr(at + 16, 48), plain.substr(at + 16, 48)) << ending;  // memory
    }
    EXPECT_THAT(simrun("check " + file("back")), HasSubstr("instructions"));
  }
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
  uint64_t without = 0, bubbles = 0, loads = 0, stores = 0;
  for (const Instruction& i : instructions_) {
    bool any = false;
    for (const Reference& r : i.references) any |= reads(r) || writes(r), stores += writes(r);
    without += any ? 0 : 1;
  }
  for (std::string line; std::getline(in, line);) {
    std::istringstream words(line);
    uint64_t bubble, load, store;
    ASSERT_TRUE(words >> bubble >> load) << line;
    bubbles += bubble;
    ++loads;
    stores -= (words >> store) ? 1 : 0;
    EXPECT_TRUE(words.eof());
  }
  EXPECT_EQ(stores, 0u);
  EXPECT_GT(loads, 4000u);
  EXPECT_LE(bubbles, without);
  EXPECT_GE(bubbles + 64, without);  // those behind the last line
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
  uint64_t last_tick = 0;
  for (const Instruction& i : instructions_)
    for (const Reference& r : i.references)
      for (const uint64_t command : {reads(r) ? 1u : 0u, writes(r) ? 4u : 0u}) {
        if (command == 0) continue;
        auto packet = message();
        ASSERT_EQ(packet[2], command);
        ASSERT_EQ(packet[3], r.address);
        ASSERT_EQ(packet[4], r.bytes);
        ASSERT_EQ(packet[7], i.pc);
        ASSERT_GE(packet[1], last_tick);
        last_tick = packet[1];
      }
  EXPECT_EQ(at, bytes.size());
}

TEST_F(ConvertCommand, Csv) {
  std::istringstream in(convert("csv", "c.csv"));
  std::string line;
  std::getline(in, line);
  EXPECT_EQ(line, "number,thread,pc,kind,address,bytes");
  uint64_t rows = 0, expected = instructions_.size();
  for (const Instruction& i : instructions_) expected += i.references.size();
  while (std::getline(in, line)) {
    EXPECT_EQ(std::count(line.begin(), line.end(), ','), 5);
    ++rows;
  }
  EXPECT_EQ(rows, expected);
}

TEST_F(ConvertCommand, Lackey) {
  std::ofstream(file("l")) << "==123== Lackey\nI  00401000,3\n L 1ffefff000,8\nI  00401003,4\n M 1ffefff008,4\n S 600,1\n";
  simrun(fmt::format("convert -q --from lackey {} -o {}", file("l"), file("lt")));
  ASSERT_EQ(status_, 0);
  simrun(fmt::format("convert -q --to text {} -o {}", file("lt"), file("ltext")));
  EXPECT_EQ(contents("ltext"),
            "0 0 401000 - load 1ffefff000 8\n1 0 401003 - modify 1ffefff008 4 store 600 1\n");
}

TEST_F(ConvertCommand, BadInputSaysWhere) {
  std::ofstream(file("bad.din")) << "2 401000\n0 xyz\n";
  EXPECT_THAT(simrun("convert --from din " + file("bad.din") + " -o " + file("x")),
              HasSubstr("bad.din: at offset 9: line 2: \"xyz\" is no address"));
  EXPECT_EQ(status_, 1);
  std::ofstream(file("bad.champsim")) << std::string(100, '\0');
  EXPECT_THAT(simrun("convert --from champsim " + file("bad.champsim") + " -o " + file("x")),
              HasSubstr("at offset 64: the file ends amid a record"));
  std::ofstream(file("bad.xz")) << "no xz";
  EXPECT_THAT(simrun("convert --from din " + file("bad.xz") + " -o " + file("x")), HasSubstr("damaged xz data"));
  EXPECT_FALSE(fs::exists(file("x")));
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
