// Code for hot paths makes the references that the paths' descriptions say, in the same order: everything counted is
// equal to taking path by path, for random paths and machines, several cores and processes in turns. So do slices, whose
// threads have such code each, with a filter in place of level 1, and the machines of a sweep, which have some each.
#include "cli/compiled_paths.h"

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/syscall.h>

#include <array>
#include <deque>
#include <functional>
#include <optional>
#include <random>

#include "cli/model_sink.h"
#include "cli/slices_sink.h"
#include "cli/sweep_sink.h"
#include "sim/parallel/model_sweep.h"
#include "sim/parallel/sliced_model.h"
#include "instr/channel/counting_sink.h"
#include "tests/channel/fake_target.h"
#include "tests/channel/same_statistics.h"
#include "tests/sim/machines.h"

namespace simrun::cli {
namespace {

using border::OperandDescriptor;
using border::OperandKind;

constexpr uint16_t kMostWords = 4;

// Mostly near the one before by the same words, as pushes, fields of a structure and neighbours in an array are.
OperandDescriptor random_operand(std::mt19937_64& random, uint16_t words, const OperandDescriptor* before) {
  constexpr uint32_t kSizes[] = {1, 2, 4, 8, 8, 8, 16, 32, 64, 100};
  const uint64_t dice = random() % 32;
  auto kind = OperandKind::kLoad;
  if (dice < 10) kind = OperandKind::kStore;
  if (dice >= 26) kind = static_cast<OperandKind>(dice - 26 + 1);
  if (before != nullptr && before->form == border::OperandForm::kAddress && random() % 4 != 0) {
    OperandDescriptor o = *before;
    o.kind = kind;
    o.size = kSizes[random() % 10];
    o.disp += static_cast<int64_t>(random() % 40) - 20;
    return o;
  }
  // An absent word, a negative constant, one that does not fit 32 bits.
  const auto word = [&] {
    return words == 0 || random() % 5 == 0 ? border::kNoWord : static_cast<uint16_t>(1 + random() % words);
  };
  int64_t disp = static_cast<int64_t>(random() % 300) - 100;
  if (random() % 16 == 0) disp += int64_t{1} << 40;
  if (random() % 16 == 0) disp += 0x40'0000 - 3 * 4096;  // the code
  OperandDescriptor o = channel::address_operand(kind, word(), kSizes[random() % 10], disp);
  if (random() % 3 == 0) o = channel::address_operand(kind, word(), o.size, disp, word(), static_cast<uint8_t>(random() % 4));
  if (o.word_a == border::kNoWord && o.word_b == border::kNoWord) o.disp = static_cast<int64_t>(random() % 4096) + 8192;
  if (random() % 10 == 0) o.flags |= border::kFsBase;
  if (random() % 60 == 0) o.flags |= random() % 2 == 0 ? border::kAddress32 : border::kGsBase;
  if (random() % 60 == 0 && o.word_b != border::kNoWord) o.modifier = border::OperandModifier::kByteIndex;
  if (random() % 100 == 0 && words >= 2) {
    const uint32_t size = random() % 2 == 0 ? 64 : 8;
    o = channel::address_operand(random() % 2 == 0 ? OperandKind::kLoad : OperandKind::kStore, 1, size, 0, 1);
    o.form = border::OperandForm::kRepeatString, o.word_c = 2;
  }
  return o;
}

// Code of a program, in a process that is not there.
struct Program {
  // `special`: of so many operands, one is no plain sum at least.
  Program(std::mt19937_64& random, uint32_t paths, uint32_t longest, uint32_t special = ~0u)
      : target(8192, 4, uint64_t{1} << 22), mapped(target.mapping()) {
    for (uint64_t pc = 0x40'0000; ids.size() < paths; pc += random() % 150) {
      std::vector<channel::FakeInstruction> instructions(1 + random() % longest);
      std::optional<OperandDescriptor> before;
      const auto words_of_path = static_cast<uint16_t>(random() % (kMostWords + 1));
      for (channel::FakeInstruction& i : instructions) {
        i.length = static_cast<uint8_t>(1 + random() % 15);
        for (uint64_t left = random() % 3; left != 0; --left) {
          before = random_operand(random, words_of_path, before ? &*before : nullptr);
          if (before->form == border::OperandForm::kAddress && random() % special == 0)
            before->flags = random() % 4 != 0 ? border::kFsBase : random() % 2 == 0 ? border::kGsBase : border::kAddress32;
          i.operands.push_back(*before);
        }
        if (i.operands.size() == 1 && before->form == border::OperandForm::kRepeatString && random() % 4 != 0) {
          i.operands.push_back(*before);  // the other side of a movs
          i.operands.back().kind = before->kind == OperandKind::kLoad ? OperandKind::kStore : OperandKind::kLoad;
          i.operands.back().disp += static_cast<int64_t>(random() % 4096);
        }
      }
      ids.push_back(target.add_path(pc, instructions, words_of_path));
      words.push_back(words_of_path);
    }
  }
  channel::FakeTarget target;
  channel::MappedProcess mapped;
  std::vector<uint32_t> ids;
  std::vector<uint16_t> words;  // of each
};

enum class Memory : uint8_t { kOfEachProcess, kNamed };

// One side of the comparison: its model, and its threads' states.
template <class Model, class Sink = BasicModelSink<Model>>
struct Side {
  Side(const auto& machine, std::deque<Program>& programs, Memory memory, auto... more)
      : model(machine, more...), sink(memory == Memory::kNamed ? Sink(model, names) : Sink(model)) {
    names.add_image(0, {});
    for (Program& p : programs) paths.push_back(std::make_unique<channel::PathTable>(p.mapped, model.line_bytes()));
    for (uint32_t i = 0; i < threads.size(); ++i) threads[i].bases = {0x7f00'1230 + i * 0x1238, 0x55'0000 + i * 64};
  }
  Model model;
  channel::MemoryNames names;
  Sink sink;
  std::vector<std::unique_ptr<channel::PathTable>> paths;
  std::array<channel::ReplayState, 5> threads;
};

// How far a side got in words.
struct End {
  int64_t words;
  uint64_t instructions, last_line;
  bool operator==(const End&) const = default;
};

// Executions of random paths; the last may be cut off.
std::vector<uint64_t> random_words(std::mt19937_64& random, const Program& program, uint64_t executions) {
  std::vector<uint64_t> words;
  size_t path = 0;
  for (; executions != 0; --executions) {
    if (random() % 3 != 0) path = random() % program.ids.size();
    words.push_back(program.ids[path]);
    for (uint32_t k = 0; k < program.words[path]; ++k)
      words.push_back(random() % 3 == 0 ? random() % 8 : 4096 * (1 + random() % 6) + random() % 1000);
  }
  if (random() % 2 == 0) words.resize(words.size() - random() % (program.words[path] + 1));
  return words;
}

// Something that changes what pages are named, of the few that random words and code lie on; with a process 1, there is one.
std::function<void(channel::MemoryNames&)> random_change(std::mt19937_64& random, bool has_child) {
  constexpr uint64_t kPage = channel::MemoryNames::kPageBytes;
  if (!has_child || random() % 6 == 0) {
    const bool copies = random() % 3 != 0;
    return [copies](channel::MemoryNames& names) {
      names.forget(1);
      if (copies)
        names.add_copy(1, 0);
      else
        names.add_image(1, {});
    };
  }
  const auto process = static_cast<uint32_t>(random() % 2);
  const uint64_t begin = (random() % 4 == 0 ? 0x40'0000 : 0) + random() % 8 * kPage, bytes = (1 + random() % 4) * kPage;
  const uint64_t flags = random() % 2 == 0 ? MAP_SHARED : MAP_PRIVATE;
  std::array<uint64_t, 11> payload = {SYS_mmap, begin, begin, bytes, PROT_READ | PROT_WRITE, flags, 0, 0, 1, 8, random() % 3};
  if (random() % 3 == 0) payload[5] |= MAP_ANONYMOUS, payload[9] = border::kNoDevice;
  if (random() % 4 == 0) payload = {SYS_munmap, 0, begin, bytes, 0, 0, 0, 0, 1, 0, 0};
  return [process, payload](channel::MemoryNames& names) { names.event(process, border::Event::kMappingChange, payload); };
}

using Slices = Side<sim::SlicedModel, SlicesSink>;
using Sweep = Side<sim::ModelSweep, SweepSink>;

template <class Model, class Sink>
std::optional<End> take_together(Side<Model, Sink>& side, uint32_t process, uint32_t thread,
                                 const std::vector<uint64_t>& words, uint64_t turn) {
  channel::ReplayState& state = side.threads[thread];
  End end{};
  const bool together = side.sink.take_together(state.handle, [&](auto& way) {
    static_assert(channel::HasCode<std::remove_reference_t<decltype(way)>>);
    channel::PathsTogether all(state, way);
    end.words = all.run(*side.paths[process], words.data(), words.data() + words.size(), turn, side.sink) - words.data();
    end.instructions = all.instructions();
  });
  end.last_line = state.last_line;
  return together ? std::optional(end) : std::nullopt;
}

// As Merge does with such a sink.
template <class Model, class Sink>
End take_later(Side<Model, Sink>& side, uint32_t process, uint32_t thread, const std::vector<uint64_t>& words, uint64_t turn) {
  channel::ReplayState& state = side.threads[thread];
  const channel::ReplayState before = state;
  channel::CountingSink counting;
  End end{};
  counting.take_together(0, [&](auto& way) {
    channel::PathsTogether all(state, way);
    end.words = all.run(*side.paths[process], words.data(), words.data() + words.size(), turn, counting) - words.data();
    end.instructions = all.instructions();
  });
  end.last_line = state.last_line;
  EXPECT_TRUE(side.sink.makes_later(state.handle));
  side.sink.make_later(*side.paths[process], before, {words.data(), static_cast<size_t>(end.words)});
  return end;
}

template <class Model, class Sink>
End take_one_by_one(Side<Model, Sink>& side, uint32_t process, uint32_t thread, const std::vector<uint64_t>& words,
                    uint64_t turn) {
  channel::ReplayState& state = side.threads[thread];
  const uint64_t *const begin = words.data(), *const end = begin + words.size(), *at = begin;
  const uint64_t before = state.statistics.instructions;
  while (at != end && state.statistics.instructions - before < turn) {
    const uint32_t length = channel::path_length(*side.paths[process], at, end);
    if (length == 0) break;
    const channel::DecodedPath& path = (*side.paths[process])[*at];
    if (path.special_count != 0) {
      channel::replay(path, at, state, side.sink);
    } else {  // reference by reference
      const uint32_t skip = path.first_line == state.last_line ? 1 : 0;
      state.last_line = path.last_line;
      state.statistics.instructions += path.instructions;
      channel::count_path(state.statistics, path, skip);
      channel::replay_plain(path, skip, path.reference_count, at, state.handle, side.sink);
    }
    at += length;
  }
  return {at - begin, state.statistics.instructions - before, state.last_line};
}

// As many lines, of another size.
void widen_lines(sim::MachineConfig& machine, uint32_t line_bytes) {
  for (sim::LevelConfig& level : machine.levels)
    for (sim::CacheShape* shape : {&level.unified, &level.instruction, &level.data})
      shape->size_bytes = shape->size_bytes / machine.line_bytes * line_bytes;
  machine.line_bytes = line_bytes;
}

// The machine behind another.
// The machine and another; or each so often that a thread filters for them together, if level 1 lets it.
std::vector<sim::MachineConfig> swept(const sim::MachineConfig& machine, bool many) {
  sim::MachineConfig other = sim::small_machine(machine.cores);
  widen_lines(other, machine.line_bytes);
  return many ? std::vector{other, machine, other, machine, other, machine, other, machine} : std::vector{other, machine};
}

template <class Sink = BasicModelSink<sim::Hierarchy>>
void compare(const sim::MachineConfig& machine, std::mt19937_64& random, std::deque<Program>& programs, uint32_t turns,
             uint64_t longest_turn, Memory memory = Memory::kOfEachProcess,
             const CompiledPaths::Room& room = CompiledPaths::Room()) {
  Side<sim::Hierarchy, Sink> coded(machine, programs, memory), plain(machine, programs, memory);
  coded.sink.set_room_for_code(room);
  const uint32_t slices = 2 << random() % 2;
  std::optional<Slices> sliced;  // some turns so, some so
  if (sim::SlicedModel::find_obstacle(machine, slices).empty()) {
    sliced.emplace(machine, programs, memory, slices, 2 + random() % (random() % 2 == 0 ? 1000 : 50'000));
    sliced->sink.set_room_for_code(room);
  }
  std::optional<Sweep> sweep;
  if (random() % 4 == 0) {
    sweep.emplace(swept(machine, random() % 2 == 0), programs, memory, 2u, size_t{256} << random() % 8);
    sweep->sink.set_room_for_code(room);
  }
  bool has_child = memory == Memory::kOfEachProcess;
  for (uint32_t turn = 0; turn < turns; ++turn) {
    if (memory == Memory::kNamed && random() % 4 == 0 && turn > turns / 4) {
      const auto change = random_change(random, has_child);
      has_child = true;
      change(coded.names), coded.sink.look_at_names();
      change(plain.names), plain.sink.look_at_names();
      if (sliced) change(sliced->names), sliced->sink.look_at_names();
      if (sweep) change(sweep->names);
    }
    const auto process = static_cast<uint32_t>(has_child ? random() % programs.size() : 0);
    channel::ThreadReport report;
    const uint32_t thread = report.index = turn % 5;
    report.core = static_cast<uint32_t>(random() % machine.cores), report.process = process;
    const bool runs = random() % 4 != 0;  // else its core goes on as it was
    const auto begin = [&](auto& side) {
      side.threads[thread].handle = runs ? side.sink.run_on(report) : side.sink.start_thread(report);
    };
    begin(coded), begin(plain);
    const std::vector<uint64_t> words = random_words(random, programs[process], 1 + random() % longest_turn);
    const uint64_t turn_ends = 1 + random() % (random() % 2 == 0 ? 4 * longest_turn : uint64_t{1} << 40);
    const End end = take_one_by_one(plain, process, thread, words, turn_ends);
    if (const std::optional<End> end_of_coded = take_together(coded, process, thread, words, turn_ends)) {
      ASSERT_EQ(*end_of_coded, end);
    } else {  // addresses are translated, or there are several prefetchers of a kind
      ASSERT_TRUE(machine.tlb || machine.addresses != sim::Addresses::kVirtual || coded.model.wants_pc());
      ASSERT_EQ(take_one_by_one(coded, process, thread, words, turn_ends), end);
    }
    if (sliced) {
      begin(*sliced);
      const bool one_by_one = random() % 8 == 0;
      ASSERT_EQ(sliced->sink.makes_later(sliced->threads[thread].handle), !sliced->sink.has_names());
      if (!one_by_one && sliced->sink.has_names()) {
        const std::optional<End> together = take_together(*sliced, process, thread, words, turn_ends);
        if (together) {
          ASSERT_EQ(*together, end);
        } else {  // nothing is left out of level 1
          ASSERT_EQ(take_one_by_one(*sliced, process, thread, words, turn_ends), end);
        }
      } else {
        const auto take = one_by_one ? &take_one_by_one<sim::SlicedModel, SlicesSink> : &take_later<sim::SlicedModel, SlicesSink>;
        ASSERT_EQ(take(*sliced, process, thread, words, turn_ends), end);
      }
      if (random() % 50 == 0) sliced->model.statistics();
      if (random() % 50 == 0) sliced->sink.lose_paths(process);
    }
    if (sweep) {
      begin(*sweep);
      const auto take = random() % 8 != 0 ? &take_later<sim::ModelSweep, SweepSink> : &take_one_by_one<sim::ModelSweep, SweepSink>;
      ASSERT_EQ(take(*sweep, process, thread, words, turn_ends), end);
      if (random() % 50 == 0) sweep->sink.lose_paths(process);
    }
    if (random() % 50 == 0) coded.sink.forget_process(process);
  }
  ASSERT_TRUE(coded.model.statistics() == plain.model.statistics());
  std::string why;
  ASSERT_TRUE(coded.model.check_invariants(&why)) << why;
  if (sliced) {
    ASSERT_TRUE(sliced->model.statistics() == plain.model.statistics());
  }
  if (sweep) {
    const std::vector<sim::Statistics> all = sweep->model.statistics();
    for (size_t i = 1; i < all.size(); i += 2) ASSERT_TRUE(all[i] == plain.model.statistics()) << i;
  }
  for (uint32_t i = 0; i < 5; ++i) {
    channel::expect_same_counts(coded.threads[i].statistics, plain.threads[i].statistics);
    if (sliced) channel::expect_same_counts(sliced->threads[i].statistics, plain.threads[i].statistics);
    if (sweep) channel::expect_same_counts(sweep->threads[i].statistics, plain.threads[i].statistics);
  }
}

// With the sink that the machine needs.
void compare_any(const sim::MachineConfig& machine, std::mt19937_64& random, std::deque<Program>& programs, uint32_t turns,
                 Memory memory) {
  if (sim::Hierarchy(machine).wants_pc())
    compare<PcModelSink<sim::Hierarchy>>(machine, random, programs, turns, 200, memory);
  else
    compare(machine, random, programs, turns, 200, memory);
}

TEST(CompiledPaths, CountWhatReferencesOneByOneCount) {
  const uint64_t first = sim::from_environment("SIMRUN_TEST_FIRST", 1), cases = sim::from_environment("SIMRUN_TEST_CASES", 60);
  for (uint64_t seed = first; seed < first + cases; ++seed) {
    std::mt19937_64 random(seed);
    sim::MachineConfig machine =
        seed % 2 == 0 ? sim::random_usual_machine(random) : sim::random_machine_with_policies(random);
    if (seed % 8 == 0) widen_lines(machine, uint32_t{256} << random() % 5);
    SCOPED_TRACE("seed " + std::to_string(seed) + ", " + sim::describe(machine));
    std::deque<Program> programs;
    for (int k = 0; k < 2; ++k) programs.emplace_back(random, 20, 12);
    compare(machine, random, programs, 200, 200);
    if (testing::Test::HasFailure()) return;
  }
}

// Where processes share memory, and copy what was theirs together when they write it.
TEST(CompiledPaths, CountTheSameWhereMemoryHasNames) {
  const uint64_t first = sim::from_environment("SIMRUN_TEST_FIRST", 1), cases = sim::from_environment("SIMRUN_TEST_CASES", 80);
  for (uint64_t seed = first; seed < first + cases; ++seed) {
    std::mt19937_64 random(seed);
    sim::MachineConfig machine =
        seed % 2 == 0 ? sim::random_usual_machine(random) : sim::random_machine_with_everything(random);
    if (seed % 8 == 0) widen_lines(machine, uint32_t{256} << random() % 5);
    if (seed % 8 != 7) machine.addresses = sim::Addresses::kVirtual;
    SCOPED_TRACE("seed " + std::to_string(seed) + ", " + sim::describe(machine));
    std::deque<Program> programs;
    for (int k = 0; k < 2; ++k) programs.emplace_back(random, 20, 12);
    compare_any(machine, random, programs, 300, Memory::kNamed);
    if (testing::Test::HasFailure()) return;
  }
}

// Where TLBs and prefetchers see every access too.
TEST(CompiledPaths, CountTheSameOnWatchedMachines) {
  const uint64_t first = sim::from_environment("SIMRUN_TEST_FIRST", 1), cases = sim::from_environment("SIMRUN_TEST_CASES", 60);
  for (uint64_t seed = first; seed < first + cases; ++seed) {
    std::mt19937_64 random(seed);
    sim::MachineConfig machine = sim::random_machine_with_everything(random);
    if (seed % 8 != 0) machine.addresses = sim::Addresses::kVirtual;
    for (sim::CacheShape* shape : {&machine.levels[0].unified, &machine.levels[0].instruction, &machine.levels[0].data}) {
      // One by instruction for data is what has code.
      if (seed % 8 < 5 && shape->prefetch.size() > 1) shape->prefetch.resize(1);
      if (shape == &machine.levels[0].instruction && seed % 8 < 5) shape->prefetch.clear();
      if (shape != &machine.levels[0].instruction && seed % 4 < 2) shape->prefetch = {{sim::PrefetchKind::kStride, 1, 2}};
    }
    SCOPED_TRACE("seed " + std::to_string(seed) + ", " + sim::describe(machine));
    std::deque<Program> programs;
    for (int k = 0; k < 2; ++k) programs.emplace_back(random, 20, 12);
    compare_any(machine, random, programs, 200, Memory::kOfEachProcess);
    if (testing::Test::HasFailure()) return;
  }
}

// Where code calls out for special operands, those who see every access hear of the instruction, and the position in
// time of what follows does not change.
TEST(CompiledPaths, CountSpecialOperandsOnWatchedMachines) {
  using sim::PrefetchKind;
  const uint64_t first = sim::from_environment("SIMRUN_TEST_FIRST", 1), cases = sim::from_environment("SIMRUN_TEST_CASES", 40);
  for (uint64_t seed = first; seed < first + cases; ++seed) {
    std::mt19937_64 random(seed);
    sim::MachineConfig machine = seed % 2 == 0 ? sim::random_usual_machine(random) : sim::random_machine_with_everything(random);
    machine.addresses = sim::Addresses::kVirtual;
    for (sim::LevelConfig& level : machine.levels)
      for (sim::CacheShape* shape : {&level.unified, &level.instruction, &level.data}) shape->prefetch.clear();
    if (machine.memory_latency == 0) machine.memory_latency = 50;  // so that some prefetches are late
    constexpr PrefetchKind kKinds[] = {PrefetchKind::kStride, PrefetchKind::kNextLine, PrefetchKind::kStream};
    if (seed % 4 != 3)
      for (sim::CacheShape* shape : {&machine.levels[0].unified, &machine.levels[0].data})
        shape->prefetch = {{kKinds[seed % 4], 1, 2}};
    if (sim::LevelConfig& last = machine.levels.back(); seed % 8 == 3 && last.inclusion != sim::Inclusion::kExclusive)
      last.unified.prefetch = last.data.prefetch = {{PrefetchKind::kStride, 1, 1}};
    if (seed % 4 == 3 || seed % 3 == 0) machine.tlb = sim::TlbConfig{{16, 4}, {8, 2}, {64, 4}, 7, 30};
    SCOPED_TRACE("seed " + std::to_string(seed) + ", " + sim::describe(machine));
    std::deque<Program> programs;
    for (int k = 0; k < 2; ++k) programs.emplace_back(random, 20, 12, 2 + static_cast<uint32_t>(random() % 4));
    compare_any(machine, random, programs, 200, Memory::kOfEachProcess);
    if (testing::Test::HasFailure()) return;
  }
}

// The code of all would need more room than there is: when it is full, all of it goes, and the loop does as well. Little
// room is full twice, and then there is no code any more.
TEST(CompiledPaths, OfMorePathsThanThereIsRoomFor) {
  for (const CompiledPaths::Room room : {CompiledPaths::Room{size_t{1} << 20}, {size_t{64} << 10, 2, 4}, {4096, 2, 4}}) {
    std::mt19937_64 random(7);
    std::deque<Program> programs;
    programs.emplace_back(random, 1000, 64);
    compare(sim::small_machine(2), random, programs, 40, 20000, Memory::kOfEachProcess, room);
    if (testing::Test::HasFailure()) return;
  }
}

TEST(CompiledPaths, HaveNoCodeWhenItsRoomWasFullTwice) {
  std::mt19937_64 random(3);
  Program program(random, 500, 20);
  channel::PathTable paths(program.mapped, 64);
  CompiledPaths compiled({6, 1023, 1023, 0, true}, program.mapped.path_capacity(), {size_t{64} << 10, 2, 4});
  uint32_t most = 0, again = 0;
  const auto count = [&] {
    uint32_t coded = 0;
    for (const uint32_t id : program.ids) coded += compiled.has_code(id);
    return coded;
  };
  const auto execute_all = [&](uint32_t& most_coded) {
    for (uint32_t before = 0;; before = most_coded) {
      for (const uint32_t id : program.ids) {
        if (!compiled.has_code(id)) compiled.executed(id, paths.decode(id));
        const uint32_t coded = count();
        if (coded < before && coded == 0) return;
        most_coded = before = std::max(before, coded);
      }
    }
  };
  execute_all(most), execute_all(again);
  EXPECT_GT(most, 10u);
  EXPECT_GT(again, 10u);
  for (int i = 0; i < 100; ++i)
    for (const uint32_t id : program.ids) compiled.executed(id, paths.decode(id));
  EXPECT_EQ(count(), 0u);
}

// Hot paths do get code, and nobody else makes their references.
TEST(CompiledPaths, RunHotPaths) {
  std::mt19937_64 random(1);
  Program program(random, 1, 4);
  channel::PathTable paths(program.mapped, 64);
  const channel::DecodedPath& path = paths.decode(program.ids[0]);
  ASSERT_EQ(path.special_count, 0u);
  CompiledPaths compiled({6, 1023, 1023, 0, true}, program.mapped.path_capacity(), {});
  for (int i = 0; i < 63; ++i) compiled.executed(program.ids[0], path);
  EXPECT_FALSE(compiled.has_code(program.ids[0]));
  compiled.executed(program.ids[0], path);
  EXPECT_TRUE(compiled.has_code(program.ids[0]));
}

// The load of a movs is of what the page was named before its store made a copy of the page.
TEST(CompiledPaths, NameTheSourceOfAStringFirst) {
  channel::FakeInstruction movs;
  for (const OperandKind kind : {OperandKind::kLoad, OperandKind::kStore}) {
    OperandDescriptor o = channel::address_operand(kind, 1, 8, kind == OperandKind::kStore ? 512 : 0, 1);
    o.form = border::OperandForm::kRepeatString, o.word_c = 2;
    movs.operands.push_back(o);
  }
  movs.length = 2;
  channel::FakeTarget target(8192, 4, uint64_t{1} << 22);
  const uint64_t id = target.add_path(0x40'0000, {movs}, 2);
  const channel::MappedProcess mapped(target.mapping());
  channel::PathTable paths(mapped, 64);
  sim::Hierarchy model(sim::small_machine(1));
  channel::MemoryNames names;
  names.add_image(0, {}), names.add_copy(1, 0);
  BasicModelSink<sim::Hierarchy> sink(model, names);
  channel::ThreadReport parent, child;
  child.process = 1;
  sink.data(sink.start_thread(parent), channel::ReferenceKind::kLoad, 4096, 8);
  channel::ReplayState state;
  state.handle = sink.start_thread(child);
  const std::vector<uint64_t> words = {id, 4096, 4096 + 8};
  EXPECT_TRUE(sink.take_together(state.handle, [&](auto& way) {
    channel::PathsTogether(state, way).run(paths, words.data(), words.data() + words.size(), 1 << 20, sink);
  }));
  const sim::CoreStatistics core = model.statistics().cores[0];
  EXPECT_EQ(core.loads, 2u);
  EXPECT_EQ(core.stores, 1u);
  EXPECT_EQ(core.served[0].demand(), 1u);  // the child's load finds the parent's line
}

// What makes no sense amid code is an error behind it, and everything before is counted.
TEST(CompiledPaths, FailAmidCode) {
  OperandDescriptor string = channel::address_operand(OperandKind::kStore, 1, 8, 0, 1);
  string.form = border::OperandForm::kRepeatString, string.word_c = 2;
  channel::FakeInstruction instruction;
  instruction.length = 3, instruction.operands = {string};
  channel::FakeTarget target(8192, 4, uint64_t{1} << 22);
  const uint64_t id = target.add_path(0x40'0000, {instruction}, 2);
  const channel::MappedProcess mapped(target.mapping());
  channel::PathTable paths(mapped, 64);
  sim::Hierarchy model(sim::small_machine(1));
  BasicModelSink<sim::Hierarchy> sink(model);
  channel::ReplayState state;
  const auto run = [&](const std::vector<uint64_t>& words) {
    EXPECT_TRUE(sink.take_together(0, [&](auto& way) {
      channel::PathsTogether all(state, way);
      all.run(paths, words.data(), words.data() + words.size(), 1 << 20, sink);
    }));
  };
  std::vector<uint64_t> good, bad;
  for (uint64_t k = 0; k < 200; ++k) good.insert(good.end(), {id, 4096, 4096 + 24});
  run(good);
  bad = good;
  bad[31] = 0, bad[32] = uint64_t{1} << 50;
  EXPECT_THROW(run(bad), channel::StreamError);
  EXPECT_EQ(state.statistics.instructions, 400u);
  EXPECT_EQ(state.statistics.stores, (200 + 199) * 3u);
}

}  // namespace
}  // namespace simrun::cli
