// What other programs compress: zip archives and lz4 frames, whole and damaged.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <lz4frame.h>
#include <zlib.h>

#include <cstring>
#include <fstream>
#include <iterator>

#include "tests/traces/made_trace.h"
#include "traces/export/compressed_file.h"
#include "traces/trace_error.h"

namespace simrun::traces {
namespace {

using ::testing::HasSubstr;

std::string number(uint64_t value, size_t bytes) { return {reinterpret_cast<const char*>(&value), bytes}; }

std::string deflated(const std::string& data, int window_bits) {
  z_stream stream{};
  deflateInit2(&stream, 6, Z_DEFLATED, window_bits, 8, Z_DEFAULT_STRATEGY);
  std::string out(deflateBound(&stream, data.size()), '\0');
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(data.data()));
  stream.avail_in = static_cast<uInt>(data.size());
  stream.next_out = reinterpret_cast<Bytef*>(out.data());
  stream.avail_out = static_cast<uInt>(out.size());
  deflate(&stream, Z_FINISH);
  out.resize(stream.total_out);
  deflateEnd(&stream);
  return out;
}

enum class Kind { kStored, kDeflated, kSizesBehind, kLongSizesBehind };

// A member as APPNOTE.TXT, 4.3.7, has it.
std::string member(const std::string& data, Kind kind) {
  const bool behind = kind == Kind::kSizesBehind || kind == Kind::kLongSizesBehind;
  const std::string stored = kind == Kind::kStored ? data : deflated(data, -15);
  const uint64_t sum = crc32(0, reinterpret_cast<const Bytef*>(data.data()), static_cast<uInt>(data.size()));
  const size_t wide = kind == Kind::kLongSizesBehind ? 8 : 4;
  std::string all = "PK\3\4" + number(20, 2) + number(behind ? 8 : 0, 2) + number(kind == Kind::kStored ? 0 : 8, 2) + number(0, 4);
  all += number(behind ? 0 : sum, 4) + number(behind ? 0 : stored.size(), 4) + number(behind ? 0 : data.size(), 4);
  all += number(5, 2) + number(4, 2) + "chunkMORE" + stored;
  if (behind) all += "PK\7\x8" + number(sum, 4) + number(stored.size(), wide) + number(data.size(), wide);
  return all;
}

std::string directory() { return "PK\1\2" + std::string(42, '\0') + "PK\5\6" + std::string(18, '\0'); }

class CompressedInputs : public ::testing::Test {
 protected:
  std::string read(const std::string& name, const std::string& bytes) {
    std::ofstream(scratch_.file(name), std::ios::binary) << bytes;
    CompressedInput in(scratch_.file(name));
    std::string all(1 << 20, '\0');
    all.resize(in.read(all.data(), all.size()));
    return all;
  }
  // The file of that name into which first_ was written.
  std::string written(const std::string& name) {
    CompressedOutput out(scratch_.file(name));
    out.write(first_);
    out.finish();
    std::ifstream in(scratch_.file(name), std::ios::binary);
    return {std::istreambuf_iterator<char>(in), {}};
  }
  std::string error_of(const std::string& name, const std::string& bytes) {
    try {
      read(name, bytes);
    } catch (const TraceError& error) {
      return error.what();
    }
    return "";
  }

  ScratchDirectory scratch_;
  const std::string first_ = std::string(100'000, 'a') + "first", second_ = "second\n" + std::string(70'000, 'b');
};

TEST_F(CompressedInputs, MembersOfAZipFollowEachOther) {
  for (const Kind a : {Kind::kStored, Kind::kDeflated, Kind::kSizesBehind, Kind::kLongSizesBehind})
    for (const Kind b : {Kind::kStored, Kind::kDeflated, Kind::kSizesBehind, Kind::kLongSizesBehind})
      EXPECT_TRUE(read("x.zip", member(first_, a) + member("", a) + member(second_, b) + directory()) == first_ + second_);
  EXPECT_EQ(read("x.zip", directory().substr(46)), "");
}

TEST_F(CompressedInputs, CutOffZip) {
  const std::string whole = member("the first", Kind::kDeflated) + member("second", Kind::kSizesBehind) + member("third", Kind::kStored);
  for (size_t size = 0; size < whole.size(); ++size)
    EXPECT_THAT(error_of("x.zip", whole.substr(0, size)), HasSubstr("the zip archive is cut off")) << size;
  EXPECT_THAT(error_of("x.zip", whole.substr(0, 80)), HasSubstr("at offset 9: "));
}

TEST_F(CompressedInputs, DamagedZip) {
  std::string wrong_sum = member("first", Kind::kStored) + directory();
  wrong_sum[14] ^= 1;
  EXPECT_THAT(error_of("x.zip", wrong_sum), HasSubstr("its checksum is another"));
  std::string other_method = member("first", Kind::kStored) + directory();
  other_method[8] = 12;
  EXPECT_THAT(error_of("x.zip", other_method), HasSubstr("compressed by method 12"));
  EXPECT_THAT(error_of("x.zip", "no zip archive"), HasSubstr("no member where one should begin"));
  EXPECT_THAT(error_of("x.zip", member("first", Kind::kDeflated) + "PK\3?" + std::string(40, '\0')), HasSubstr("damaged zip"));
}

TEST_F(CompressedInputs, Lz4AndZlib) {
  std::string frame(LZ4F_compressFrameBound(first_.size(), nullptr), '\0');
  frame.resize(LZ4F_compressFrame(frame.data(), frame.size(), first_.data(), first_.size(), nullptr));
  EXPECT_TRUE(read("x.lz4", frame + frame) == first_ + first_);
  for (size_t size = 1; size < frame.size(); size += 7)
    EXPECT_THAT(error_of("x.lz4", frame.substr(0, size)), HasSubstr("the lz4 data are cut off")) << size;
  EXPECT_THAT(error_of("x.lz4", "no lz4 data at all"), HasSubstr("damaged lz4 data"));
  EXPECT_TRUE(read("x.zlib", deflated(first_, 15)) == first_);
}

TEST_F(CompressedInputs, GzipAndZstdInMembersCutOffOrDamaged) {
  for (const char* name : {"x.gz", "x.zst"}) {
    const std::string whole = written(name);
    EXPECT_TRUE(read(name, whole + whole) == first_ + first_) << name;
    for (size_t size = whole.size() + 1; size < 2 * whole.size(); ++size)
      EXPECT_THAT(error_of(name, (whole + whole).substr(0, size)), HasSubstr("data are cut off")) << name << " " << size;
    EXPECT_THAT(error_of(name, whole + "something else"), HasSubstr("damaged")) << name;
  }
}

// Whatever the file is named.
TEST_F(CompressedInputs, FirstBytesSayHow) {
  std::string frame(LZ4F_compressFrameBound(first_.size(), nullptr), '\0');
  frame.resize(LZ4F_compressFrame(frame.data(), frame.size(), first_.data(), first_.size(), nullptr));
  EXPECT_TRUE(read("x", frame) == first_);
  EXPECT_TRUE(read("x", deflated(first_, 15 + 16)) == first_);
  EXPECT_TRUE(read("x.trace", member(first_, Kind::kDeflated) + directory()) == first_);
  for (const char* ending : {".xz", ".gz", ".zst"}) {
    EXPECT_TRUE(read("x", written(std::string("y") + ending)) == first_) << ending;
  }
  for (const std::string& plain : {std::string(), std::string("\x1f"), std::string("\x1f\x8b"), std::string("\x1f\x8b\x07 no gzip"), std::string("\x28\xb5\x2f"), second_})
    EXPECT_TRUE(read("x", plain) == plain);
}

}  // namespace
}  // namespace simrun::traces
