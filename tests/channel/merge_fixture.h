// A target with a path of 10 instructions and one load for each of four threads, and a merge over it.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "instr/channel/merge.h"
#include "tests/channel/fake_target.h"
#include "tests/channel/recording_sink.h"

namespace simrun::channel {

using namespace border;

inline constexpr uint64_t kPcOf[] = {0x100000, 0x200000, 0x300000, 0x400000};

class MergeTest : public testing::Test {
 protected:
  MergeTest() : process_(target_.mapping()) {
    sink_.fetches = false;
    for (uint64_t pc : kPcOf) {
      std::vector<FakeInstruction> ten(10);
      ten[0].operands.push_back(address_operand(OperandKind::kLoad, 1, 8));
      path_.push_back(target_.add_path(pc, ten, 1));
    }
    options_.quantum = 10;
    options_.stall_time_out = std::chrono::milliseconds(20);
  }
  Merge<RecordingSink>& merge() {
    if (!merge_) merge_ = std::make_unique<Merge<RecordingSink>>(process_, sink_, options_);
    return *merge_;
  }
  void settle(bool alive) {
    while (merge().advance(alive) == Status::kAdvanced) {
    }
  }
  // Thread `t` retires its path once.
  void step(Producer& producer, uint32_t t) { producer.put({path_[t], 0x1000 * (t + 1)}); }
  std::string order() const {
    std::string letters;
    for (const Recorded& r : sink_.all) letters += static_cast<char>('A' + r.address / 0x1000 - 1);
    return letters;
  }
  size_t report_count() {
    const auto reports = merge().reports();
    return static_cast<size_t>(std::count_if(reports.begin(), reports.end(), [](const auto& r) { return r.ended; }));
  }
  ThreadReport report(uint32_t index) {
    for (const ThreadReport& r : merge().reports())
      if (r.index == index) return r;
    ADD_FAILURE() << "no thread " << index;
    return {};
  }

  FakeTarget target_{8192, 16};
  MappedProcess process_;
  RecordingSink sink_;
  MergeOptions options_;
  std::vector<uint32_t> path_;
  std::unique_ptr<Merge<RecordingSink>> merge_;
};

}  // namespace simrun::channel
