// Slices add up to the serial run, machines of a sweep count what they count alone, to the last counter.
#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <stdexcept>

#include "base/user_error.h"
#include "sim/build/validate_machine.h"
#include "sim/parallel/model_sweep.h"
#include "sim/parallel/sliced_model.h"
#include "sim/stats/broken_law.h"
#include "tests/sim/machines.h"

namespace simrun::sim {
namespace {

// More, and others, in the nightly run.
uint64_t cases() { return from_environment("SIMRUN_TEST_CASES", 150); }
uint64_t first_seed() { return from_environment("SIMRUN_TEST_FIRST", 1); }

TEST(Slices, EqualTheSerialRun) {
  uint64_t cut = 0;
  for (uint64_t seed = first_seed(); cut < cases(); ++seed) {
    std::mt19937_64 random(seed);
    const MachineConfig machine = random_machine_with_policies(random);
    const uint32_t threads = 2 + static_cast<uint32_t>(random() % 3);
    if (!SlicedModel::find_obstacle(machine, threads).empty()) continue;
    ++cut;
    SCOPED_TRACE("SIMRUN_TEST_FIRST=" + std::to_string(seed) + ", " + describe(machine));
    Hierarchy serial(machine);
    SlicedModel sliced(machine, threads, 2 + random() % 600);
    EXPECT_GE(sliced.slices(), threads);
    for (const Reference& r : random_stream(random, machine, 3000)) {
      serial.access(r.core, r.kind, r.address, r.bytes);
      sliced.access(r.core, r.kind, r.address, r.bytes);
    }
    EXPECT_TRUE(serial.statistics() == sliced.statistics());
    std::string why;
    EXPECT_TRUE(sliced.check_invariants(&why)) << why;
    if (testing::Test::HasFailure()) return;
  }
}

TEST(Slices, LongStreamAndStatisticsInBetween) {
  MachineConfig machine = small_machine(4);
  machine.levels[2].replacement = Replacement::kRandom;
  Hierarchy serial(machine);
  SlicedModel sliced(machine, 4);
  std::mt19937_64 random(9);
  for (int i = 0; i < 300'000; ++i) {
    const auto core = static_cast<uint32_t>(random() % 4);
    const auto kind = static_cast<Access>(random() % 6);
    const uint64_t address = random() % (200 << 10);
    serial.access(core, kind, address, 8);
    sliced.access(core, kind, address, 8);
    if (i % 100'000 == 777) {
      ASSERT_TRUE(serial.statistics() == sliced.statistics()) << i;
    }
  }
  EXPECT_TRUE(serial.statistics() == sliced.statistics());
  EXPECT_EQ(find_broken_law(machine, serial.statistics()), "");
}

// Cores take turns of many references, most of which the filter leaves out: lines of the group that level 1 loses by
// writes to code, flushes and evictions further on, sets that overflow, prefetches, threads that come.
TEST(Slices, TurnsOfManyReferences) {
  uint64_t cut = 0;
  for (uint64_t seed = first_seed(); cut < cases(); ++seed) {
    std::mt19937_64 random(seed);
    MachineConfig machine = random_machine_with_policies(random);
    if (seed % 4 != 0) machine.levels[0].replacement = Replacement::kLru;
    const uint32_t threads = 1 + static_cast<uint32_t>(random() % 4);
    if (!SlicedModel::find_obstacle(machine, threads).empty()) continue;
    ++cut;
    SCOPED_TRACE("SIMRUN_TEST_FIRST=" + std::to_string(seed) + ", " + describe(machine));
    Hierarchy serial(machine);
    SlicedModel sliced(machine, threads, 2 + random() % (random() % 2 == 0 ? 5000 : 50'000));
    for (uint32_t turn = 0; turn < 12; ++turn) {
      const auto core = static_cast<uint32_t>(random() % machine.cores);
      if (random() % 4 == 0) serial.run_thread(core, turn), sliced.run_thread(core, turn);
      const uint64_t first = random() % 4 * 512, lines = uint64_t{4} << random() % 8;
      for (uint64_t left = random() % 3000; left != 0; --left) {
        const uint64_t number = random() % 8 == 0 ? random() % 3000 : first + random() % lines;
        const auto kind = random() % 400 == 0 ? Access::kFlush : static_cast<Access>(random() % 5);
        const uint64_t address = number * machine.line_bytes + random() % machine.line_bytes;
        serial.access(core, kind, address, 4), sliced.access(core, kind, address, 4);
      }
    }
    ASSERT_TRUE(serial.statistics() == sliced.statistics());
    std::string why;
    ASSERT_TRUE(sliced.check_invariants(&why)) << why;
  }
}

// More hits in a row than the lister counts in a register.
TEST(Slices, ManyHitsInARow) {
  const MachineConfig machine = small_machine(1);
  Hierarchy serial(machine);
  SlicedModel sliced(machine, 2, 20'000);
  for (uint64_t i = 0; i < 50'000; ++i) {
    const auto kind = static_cast<Access>(i / 5000 % 4);
    const uint32_t bytes = i % 3000 == 2999 ? 200 : 8;  // several lines
    serial.access(0, kind, 4096, bytes), sliced.access(0, kind, 4096, bytes);
  }
  EXPECT_TRUE(serial.statistics() == sliced.statistics());
}

// Words: a number, then packed references; each is made as often as the number says.
struct Repeats final : SlicedModel::Maker {
  void make(uint32_t, ReferenceLister& to, std::span<const uint64_t> words) override {
    for (uint64_t left = words[0]; left != 0; --left) to.take(0, words.data() + 1, words.data() + words.size());
    made += words[0] * (words.size() - 1);
  }
  std::atomic<uint64_t> made = 0;
};

// What is made later and what is made at once keep their order; stretches that are just full, and longer than usual.
TEST(Slices, WordsForLater) {
  const MachineConfig machine = small_machine(1);
  Hierarchy serial(machine);
  Repeats maker;
  SlicedModel sliced(machine, 2, 64);
  const std::array<uint64_t, 1> once{1};
  uint64_t all = 0;
  for (uint64_t size = 0; size < 130; ++size) {
    const std::vector<uint64_t> words(size, pack(Access::kLoad, size));
    for (uint64_t i = 0; i < size; ++i) serial.access_line(0, Access::kLoad, size);
    sliced.make_later(0, maker, once, words), all += size;
    if (size % 3 == 0) serial.access_line(0, Access::kStore, 500 + size), sliced.access_line(0, Access::kStore, 500 + size);
    if (size % 2 == 0) {
      sliced.settle();
      ASSERT_EQ(maker.made, all);
    }
  }
  EXPECT_TRUE(serial.statistics() == sliced.statistics());
}

// A stretch that was made longer is full of pieces: the next one is short again.
TEST(Slices, LongWordsBehindManyPieces) {
  const MachineConfig machine = small_machine(1);
  Hierarchy serial(machine);
  Repeats maker;
  SlicedModel sliced(machine, 1, 8192);
  const auto later = [&](size_t size, uint64_t line) {
    const std::vector<uint64_t> words(size, pack(Access::kLoad, line));
    for (size_t i = 0; i < size; ++i) serial.access_line(0, Access::kLoad, line);
    sliced.make_later(0, maker, std::array<uint64_t, 1>{1}, words);
  };
  later(40'000, 5), sliced.settle();
  for (int i = 0; i < 2; ++i) later(1, 6), sliced.settle();  // to the long one again
  for (int i = 0; i < 4096; ++i) later(1, 6);
  later(30'000, 7);
  EXPECT_TRUE(serial.statistics() == sliced.statistics());
}

// Few words list far more batches than a stretch keeps.
TEST(Slices, WordsOfManyReferences) {
  const MachineConfig machine = small_machine(1);
  for (const uint32_t threads : {1u, 2u, 4u}) {
    Hierarchy serial(machine);
    Repeats maker;
    SlicedModel sliced(machine, threads, 64);
    std::vector<uint64_t> words;
    for (uint64_t k = 0; k < 30; ++k) words.push_back(pack(Access::kLoad, k * 37 * 64));  // one set
    for (const uint64_t times : {30'000u, 1u, 20'000u, 20'000u}) {
      for (uint64_t i = 0; i < times * words.size(); ++i) serial.access_line(0, Access::kLoad, i % words.size() * 37 * 64);
      sliced.make_later(0, maker, std::array<uint64_t, 1>{times}, words);
    }
    EXPECT_TRUE(serial.statistics() == sliced.statistics());
  }
}

// Whoever gives references or wants counts hears what went wrong; nobody waits for ever.
TEST(Slices, MakersFail) {
  struct Fails final : SlicedModel::Maker {
    void make(uint32_t, ReferenceLister&, std::span<const uint64_t>) override { throw std::runtime_error("no"); }
  } maker;
  SlicedModel sliced(small_machine(1), 2, 64);
  sliced.make_later(0, maker, {}, std::array<uint64_t, 1>{1});
  EXPECT_NO_THROW(sliced.settle());
  EXPECT_THROW(sliced.statistics(), std::runtime_error);
}

// The two ways of simulating the same lines in turns of the cores.
struct BothWays {
  explicit BothWays(const MachineConfig& machine, uint32_t threads = 1) : serial(machine), sliced(machine, threads) {}
  void turn(uint32_t core, Access kind, std::initializer_list<uint64_t> lines) {
    for (const uint64_t line : lines) serial.access_line(core, kind, line), sliced.access_line(core, kind, line);
  }
  bool equal() { return serial.statistics() == sliced.statistics(); }
  Hierarchy serial;
  SlicedModel sliced;
};

MachineConfig machine_of(uint32_t cores, std::vector<LevelConfig> levels) {
  MachineConfig machine;
  machine.name = "tiny", machine.cores = cores, machine.levels = std::move(levels);
  return machine;
}

// A line that another one left doubt about in an earlier turn of the core misses, and takes the other one away.
TEST(Slices, DoubtOfAnEarlierTurn) {
  const MachineConfig machine = machine_of(2, {unified_level("L1", 1, 128, 2), unified_level("L2", 1, 128, 2)});
  for (const bool ends_a_batch : {false, true}) {
    BothWays both(machine);
    both.turn(0, Access::kLoad, {1, 3}), both.turn(1, Access::kLoad, {2, 1});
    if (ends_a_batch) both.sliced.statistics();
    both.turn(0, Access::kLoad, {1, 2, 1});
    EXPECT_TRUE(both.equal()) << ends_a_batch;
  }
}

// What the list held at a place before is no line of the other half's that lies there now.
TEST(Slices, GuessesOfAnEarlierBatch) {
  BothWays both(machine_of(1, {split_level("L1", 1, 128, 2), unified_level("L2", 1, 1024, 4)}));
  both.turn(0, Access::kFetch, {1});
  both.sliced.statistics();
  both.turn(0, Access::kStore, {1}), both.turn(0, Access::kFetch, {1});
  EXPECT_TRUE(both.equal());
}

TEST(Slices, OneWayBehindOneHalf) {
  MachineConfig machine = machine_of(1, {split_level("L1", 1, 128, 2), split_level("L2", 1, 128, 1)});
  machine.levels[1].data = {256, 2, 0};
  BothWays both(machine);
  both.turn(0, Access::kFetch, {0, 2, 0, 2});
  EXPECT_TRUE(both.equal());
}

TEST(Slices, EachReferenceIsOfItsCore) {
  const MachineConfig machine = machine_of(2, {unified_level("L1", 1, 128, 2), unified_level("L2", 1, 128, 2)});
  BothWays both(machine);
  both.turn(0, Access::kLoad, {1, 3}), both.turn(1, Access::kLoad, {1, 3});
  both.turn(0, Access::kStore, {1}), both.turn(1, Access::kLoad, {1});
  EXPECT_TRUE(both.equal());
  both.turn(0, Access::kLoad, {1});
  both.serial.access_further_line(1, Access::kLoad, 1), both.sliced.access_further_line(1, Access::kLoad, 1);
  EXPECT_TRUE(both.equal());
}

template <class T>
T pick(std::mt19937_64& random, std::initializer_list<T> values) { return values.begin()[random() % values.size()]; }

// Sets of few ways.
MachineConfig random_small_machine(std::mt19937_64& random) {
  std::vector<LevelConfig> levels;
  for (uint64_t left = 1 + random() % 4; left != 0; --left) {
    const auto shape = [&] {
      const auto ways = pick(random, {1u, 2u, 2u, 3u, 4u, 8u});
      return CacheShape{pick(random, {1u, 2u, 2u, 4u, 8u, 6u}) * ways * 64, ways, 0};
    };
    const bool is_first = levels.empty(), is_split = (is_first || levels.back().split) && random() % 4 != 0;
    LevelConfig level = unified_level("L" + std::to_string(levels.size() + 1), 1, 64, 1);
    if ((level.split = is_split))
      level.instruction = shape(), level.data = shape(), level.unified = {};
    else
      level.unified = shape();
    if (!is_first && random() % 4 == 0)
      level.replacement = pick(random, {Replacement::kRandom, Replacement::kLip, Replacement::kSrrip});
    if (!is_first && random() % 4 == 0) level.inclusion = pick(random, {Inclusion::kNonInclusive, Inclusion::kExclusive});
    levels.push_back(level);
  }
  MachineConfig machine = machine_of(1 + random() % 3, std::move(levels));
  if (random() % 2 == 0) machine.levels.back().cores_per_cache = machine.cores;
  machine.coherence = pick(random, {Coherence::kMesi, Coherence::kMsi, Coherence::kMoesi, Coherence::kMesif});
  return machine;
}

// A window of few lines that jumps, long turns: lines are taken away all the time, and come again. put(core, kind, line) of each,
// and now and then, behind a turn, look().
template <class Put, class Look>
void random_turns(std::mt19937_64& random, uint32_t cores, Put put, Look look) {
  const uint64_t lines = 2 + random() % (uint64_t{2} << random() % 6), stride = uint64_t{1} << random() % 4;
  const uint64_t longest = uint64_t{1} << random() % 10, jump = 1 + random() % 64, writes = 1 + random() % 12;
  uint64_t window = 0;
  for (int left = 2000; left > 0;) {
    const auto core = static_cast<uint32_t>(random() % cores);
    for (uint64_t turn = 1 + random() % longest; turn != 0; --turn, --left) {
      if (random() % jump == 0) window = random() % lines;
      const uint64_t line = (window + random() % 3 * stride) % lines;
      const Access kind = random() % writes == 0 ? Access::kStore : pick(random, {Access::kLoad, Access::kLoad, Access::kFetch});
      put(core, random() % 500 == 0 ? Access::kFlush : kind, line);
    }
    if (random() % 32 == 0) look();
  }
}

TEST(Slices, LinesThatAreTakenAway) {
  for (uint64_t seed = first_seed(), end = seed + 10 * cases(); seed < end; ++seed) {
    std::mt19937_64 random(seed);
    const MachineConfig machine = random_small_machine(random);
    const uint32_t threads = 1 + random() % 2;
    if (find_problem(machine) || !SlicedModel::find_obstacle(machine, threads).empty()) continue;
    SCOPED_TRACE("SIMRUN_TEST_FIRST=" + std::to_string(seed) + ", " + describe(machine));
    BothWays both(machine, threads);
    const auto look = [&] { ASSERT_TRUE(both.equal()); };
    random_turns(random, machine.cores, [&](uint32_t core, Access kind, uint64_t line) { both.turn(core, kind, {line}); }, look);
    look();
    if (testing::Test::HasFailure()) return;
    std::string why;
    ASSERT_TRUE(both.sliced.check_invariants(&why)) << why;
  }
}

// References into a sweep, as words.
class SweptReferences final : public ModelSweep::Maker {
 public:
  explicit SweptReferences(ModelSweep& sweep) : sweep_(sweep) {}
  void set_pc(uint64_t pc) { pc_ = pc; }
  void access(uint32_t core, Access kind, uint64_t address, uint32_t bytes) { put({core, index(kind), address, bytes, pc_}); }
  void run_thread(uint32_t core, uint32_t thread) { put({core, kAccessKinds, thread, 0, 0}); }
  void make(size_t, Hierarchy& to, std::span<const uint64_t> words) override { make_into(to, words); }
  void make(size_t, ReferenceLister& to, std::span<const uint64_t> words) override { make_into(to, words); }

 private:
  template <class Model>
  static void make_into(Model& to, std::span<const uint64_t> words) {
    for (; !words.empty(); words = words.subspan(5)) {
      const auto core = static_cast<uint32_t>(words[0]);
      if (words[1] == kAccessKinds) {
        to.run_thread(core, static_cast<uint32_t>(words[2]));
        continue;
      }
      to.set_pc(words[4]);
      to.access(core, static_cast<Access>(words[1]), words[2], static_cast<uint32_t>(words[3]));
    }
  }
  void put(const std::array<uint64_t, 5>& words) { sweep_.make_later(*this, words, {}); }
  ModelSweep& sweep_;
  uint64_t pc_ = 0;
};

// Threads move between cores: what each did, serially, in slices, in a sweep, and their sum is that of the cores.
TEST(Threads, CountsFollowThemFromCoreToCore) {
  const MachineConfig machine = small_machine(4);
  Hierarchy serial(machine);
  SlicedModel sliced(machine, 4);
  ModelSweep model_sweep({machine, machine}, 2);
  SweptReferences sweep(model_sweep);
  std::vector<CoreStatistics> expected(6);
  std::mt19937_64 random(4);
  uint32_t runs_on[6] = {0, 1, 2, 3, 4, 4};  // core 4: none
  for (uint32_t thread = 0; thread < 4; ++thread) {
    serial.run_thread(thread, thread), sliced.run_thread(thread, thread), sweep.run_thread(thread, thread);
  }
  for (int i = 0; i < 50'000; ++i) {
    const auto thread = static_cast<uint32_t>(random() % 6);
    if (runs_on[thread] == 4) {
      const auto other = static_cast<uint32_t>(random() % 6);
      if (runs_on[other] == 4) continue;
      const uint32_t core = runs_on[thread] = runs_on[other];
      runs_on[other] = 4;
      serial.run_thread(core, thread), sliced.run_thread(core, thread), sweep.run_thread(core, thread);
    }
    const uint64_t address = random() % (100 << 10);
    const Access kind = random() % 4 == 0 ? Access::kStore : Access::kLoad;
    ++(kind == Access::kStore ? expected[thread].stores : expected[thread].loads);
    serial.access(runs_on[thread], kind, address, 1), sliced.access(runs_on[thread], kind, address, 1);
    sweep.access(runs_on[thread], kind, address, 1);
  }
  const Statistics s = serial.statistics();
  ASSERT_EQ(s.threads.size(), 6u);
  CoreStatistics threads, cores;
  for (uint32_t thread = 0; thread < 6; ++thread) {
    EXPECT_EQ(s.threads[thread].loads, expected[thread].loads) << thread;
    EXPECT_EQ(s.threads[thread].stores, expected[thread].stores) << thread;
    EXPECT_GT(s.threads[thread].served.back().demand(), 0u);
    threads += s.threads[thread];
  }
  for (const CoreStatistics& core : s.cores) cores += core;
  EXPECT_TRUE(threads == cores);
  EXPECT_TRUE(s == sliced.statistics());
  for (const Statistics& one : model_sweep.statistics()) EXPECT_TRUE(s == one);
}

TEST(Slices, SaysWhatCannotBeCut) {
  const auto obstacle = [](auto change) {
    MachineConfig m = small_machine(2);
    change(m);
    return SlicedModel::find_obstacle(m, 2);
  };
  EXPECT_EQ(obstacle([](MachineConfig&) {}), "");
  EXPECT_NE(obstacle([](MachineConfig& m) { m.levels[1].replacement = Replacement::kDrrip; }).find("drrip"),
            std::string::npos);
  EXPECT_NE(obstacle([](MachineConfig& m) { m.levels[1].unified.prefetch = {{}}; }).find("prefetchers"),
            std::string::npos);
  EXPECT_NE(obstacle([](MachineConfig& m) {
              m.tlb = TlbConfig{{4, 4}, {4, 4}, {}, 0, 0};
            }).find("TLB"),
            std::string::npos);
  EXPECT_NE(obstacle([](MachineConfig& m) {
              m.levels[2].unified = {5 * 64 * 64, 64, 0};
            }).find("sets"),
            std::string::npos);
  MachineConfig m = small_machine(1);
  m.levels[1].replacement = Replacement::kDip;
  EXPECT_THROW(SlicedModel(m, 2), UserError);
}

TEST(Sweep, EachMachineCountsWhatItCountsAlone) {
  std::mt19937_64 random(11);
  std::vector<MachineConfig> machines;
  while (machines.size() < 9) {
    MachineConfig m = random_machine_with_everything(random);
    m.cores = 4, m.line_bytes = 64;
    if (!find_problem(m)) machines.push_back(m);
  }
  ModelSweep model_sweep(machines, 3);
  SweptReferences sweep(model_sweep);
  std::vector<std::unique_ptr<Hierarchy>> alone;
  for (const MachineConfig& m : machines) alone.push_back(std::make_unique<Hierarchy>(m));
  for (const Reference& r : random_stream(random, machines[0], 30'000)) {
    sweep.set_pc(r.address % 5);
    sweep.access(r.core, r.kind, r.address, r.bytes);
    for (auto& model : alone) model->set_pc(r.address % 5), model->access(r.core, r.kind, r.address, r.bytes);
  }
  const std::vector<Statistics> all = model_sweep.statistics();
  ASSERT_EQ(all.size(), machines.size());
  for (size_t i = 0; i < all.size(); ++i) EXPECT_TRUE(all[i] == alone[i]->statistics()) << describe(machines[i]);
  std::string why;
  EXPECT_TRUE(model_sweep.check_invariants(&why)) << why;
  machines[1].line_bytes = 128;
  EXPECT_THROW(ModelSweep(machines, 2), UserError);
}

// References are made and filtered once for those of a thread that have level 1 alike; their other levels differ in all that there is.
TEST(Sweep, MachinesWithLevel1AlikeCountWhatTheyCountAlone) {
  uint64_t fewer = 0;
  for (uint64_t seed = first_seed(), end = seed + 5 * cases(); seed < end; ++seed) {
    std::mt19937_64 random(seed);
    std::vector<MachineConfig> machines;
    while (machines.empty())
      if (MachineConfig m = random_small_machine(random); !find_problem(m)) machines.push_back(std::move(m));
    const uint64_t most = 2 + random() % 12;
    for (int tries = 0; machines.size() < most && tries < 2000; ++tries) {
      MachineConfig m = random_small_machine(random);
      m.cores = machines[0].cores, m.line_bytes = machines[0].line_bytes;
      if (m.levels.size() == 1 || m.levels.back().cores_per_cache != 1) m.levels.back().cores_per_cache = m.cores;
      if (random() % 4 != 0) m.levels[0] = machines[0].levels[0];
      if (m.levels.size() > 1 && random() % 4 == 0) m.levels.back().replacement = static_cast<Replacement>(random() % 13);
      if (random() % 16 == 0) m.levels.back().unified.prefetch = {{}};
      if (random() % 16 == 0) m.levels[0].replacement = Replacement::kTreePlru;
      if (!find_problem(m)) machines.push_back(m);
    }
    SCOPED_TRACE("SIMRUN_TEST_FIRST=" + std::to_string(seed));
    const uint32_t threads = random() % 4 != 0 ? 1 : 2 + random() % 2;
    ModelSweep model_sweep(machines, threads, size_t{1} << random() % 12);
    fewer += model_sweep.makings() < machines.size();
    SweptReferences sweep(model_sweep);
    std::vector<std::unique_ptr<Hierarchy>> alone;
    for (const MachineConfig& m : machines) alone.push_back(std::make_unique<Hierarchy>(m));
    const auto expect_equal = [&] {
      const std::vector<Statistics> all = model_sweep.statistics();
      for (size_t i = 0; i < all.size(); ++i) ASSERT_TRUE(all[i] == alone[i]->statistics()) << i << ": " << describe(machines[i]);
    };
    uint32_t next_thread = 100;
    const auto put = [&](uint32_t core, Access kind, uint64_t line) {
      const uint32_t bytes = random() % 20 == 0 ? 100 : 1;
      sweep.access(core, kind, line * 64, bytes);
      for (auto& model : alone) model->access(core, kind, line * 64, bytes);
      if (random() % 100 == 0) {
        sweep.run_thread(core, next_thread);
        for (auto& model : alone) model->run_thread(core, next_thread);
        ++next_thread;
      }
    };
    random_turns(random, machines[0].cores, put, expect_equal);
    expect_equal();
    if (testing::Test::HasFailure()) return;
    std::string why;
    ASSERT_TRUE(model_sweep.check_invariants(&why)) << why;
  }
  EXPECT_GT(fewer, cases() * 3 / 2);  // of five times as many sweeps
}

// Words are a number of loads by core 1, and their addresses.
class Loads final : public ModelSweep::Maker {
 public:
  void make(size_t number, Hierarchy& to, std::span<const uint64_t> words) override { make_into(number, to, words); }
  void make(size_t number, ReferenceLister& to, std::span<const uint64_t> words) override { make_into(number, to, words); }
  bool fails = false;

 private:
  template <class Model>
  void make_into(size_t number, Model& to, std::span<const uint64_t> words) const {
    if (fails && number == 1) throw std::runtime_error("made to fail");
    while (!words.empty()) {
      for (const uint64_t address : words.subspan(1, words[0])) to.access(1, Access::kLoad, address, 8);
      words = words.subspan(1 + words[0]);
    }
  }
};

// Words of two makers by turns.
TEST(Sweep, MakesReferencesOfWordsInTheirOrder) {
  const MachineConfig machine = small_machine(2);
  Loads loads;
  std::mt19937_64 random(5);
  for (const size_t batch_words : {1, 50, 100'000}) {
    ModelSweep sweep(std::vector<MachineConfig>(batch_words == 50 ? 9 : 3, machine), 2, batch_words);
    SweptReferences stores(sweep);
    Hierarchy alone(machine);
    for (int i = 0; i < 3000; ++i) {
      const uint64_t address = random() % (100 << 10);
      if (random() % 2 == 0) {
        stores.access(0, Access::kStore, address, 4), alone.access(0, Access::kStore, address, 4);
        continue;
      }
      std::vector<uint64_t> words(random() % 20);
      for (uint64_t& word : words) word = random() % (100 << 10);
      sweep.make_later(loads, std::array<uint64_t, 1>{words.size()}, words);
      for (const uint64_t word : words) alone.access(1, Access::kLoad, word, 8);
    }
    for (const Statistics& one : sweep.statistics()) EXPECT_TRUE(one == alone.statistics());
    loads.fails = true;
    sweep.make_later(loads, std::array<uint64_t, 1>{0}, {});
    sweep.settle();
    EXPECT_THROW(sweep.statistics(), std::runtime_error);
    EXPECT_THROW(sweep.check_invariants(nullptr), std::runtime_error);
    loads.fails = false;
  }
}

TEST(Laws, HoldForEverything) {
  for (uint64_t seed = 1; seed <= 300; ++seed) {
    std::mt19937_64 random(seed * 31);
    const MachineConfig machine = random_machine_with_everything(random);
    SCOPED_TRACE(describe(machine));
    Hierarchy h(machine);
    for (const Reference& r : random_stream(random, machine, 1500)) {
      h.set_pc(r.address % 5);
      h.access(r.core, r.kind, r.address, r.bytes);
    }
    ASSERT_EQ(find_broken_law(machine, h.statistics()), "");
  }
  Statistics wrong = Hierarchy(small_machine(1)).statistics();
  wrong.levels[2].total.write_backs_out = 3;
  EXPECT_NE(find_broken_law(small_machine(1), wrong), "");
}

}  // namespace
}  // namespace simrun::sim
