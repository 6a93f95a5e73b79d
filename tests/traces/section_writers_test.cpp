// Several writers of one file: one at a time, and what one has completed no other touches.
#include <gtest/gtest.h>

#include <atomic>
#include <string>
#include <thread>

#include "base/user_error.h"
#include "tests/traces/made_trace.h"
#include "traces/section_file.h"

namespace simrun::traces {
namespace {

void write_file(SectionFileWriter& file) {
  const std::string text = "{}";
  const std::span<const uint8_t> bytes(reinterpret_cast<const uint8_t*>(text.data()), text.size());
  ASSERT_TRUE(file.append(seal_section(SectionType::kInformation, bytes, 1), 0));
  ASSERT_TRUE(file.append(seal_section(SectionType::kIndex, bytes, 1), 0));
  ASSERT_TRUE(file.append_footer());
  file.finish();
}

TEST(SectionWriters, TakeNoFileThatIsComplete) {
  const ScratchDirectory scratch;
  std::atomic<uint32_t> written{0};
  const auto work = [&] {
    for (int k = 0; k < 3000; ++k) try {
        SectionFileWriter file(scratch.file("t"));
        write_file(file);
        ++written;
      } catch (const UserError& error) {
        EXPECT_NE(std::string(error.what()).find("another simrun is writing it"), std::string::npos) << error.what();
      }
  };
  {
    const std::jthread other(work), third(work);
    work();
  }
  EXPECT_GT(written, 0u);
  EXPECT_TRUE(SectionFileReader(scratch.file("t")).incomplete().empty());
}

}  // namespace
}  // namespace simrun::traces
