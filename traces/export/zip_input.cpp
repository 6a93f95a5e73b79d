// Zip archives (PKWARE's APPNOTE.TXT, 4.3), from front to back: the data of a member says where it ends, so that an archive
// that was cut off is read up to there. The directory at the end is not read; without it the archive is not complete.
#include <zlib.h>

#include <algorithm>

#include "traces/export/input_codec.h"

namespace simrun::traces {

namespace {

constexpr uint32_t kMember = 0x04034b50, kDirectory = 0x02014b50, kEnd = 0x06054b50, kDescriptor = 0x08074b50;
constexpr size_t kHeaderBytes = 30, kEntryBytes = 12;

struct Zip final : CompressedInput::Codec {
  explicit Zip(std::FILE* from) : Codec(from) { inflateInit2(&stream, -15); }
  ~Zip() override { inflateEnd(&stream); }

  size_t give(uint8_t* to, size_t most) override {
    for (;;) {
      if (!inside && !begin_member()) return 0;
      const size_t got = deflated ? inflate_some(to, most) : copy_some(to, most);
      sum = static_cast<uint32_t>(crc32(sum, to, static_cast<uInt>(got)));
      if (!inside) end_member();
      if (got != 0) return got;
    }
  }

 private:
  // At least `bytes` that were not consumed, unless the file ends before.
  bool look(size_t bytes) {
    while (stream.avail_in < bytes) {
      std::memmove(in.data(), stream.next_in, stream.avail_in);
      const size_t got = std::fread(in.data() + stream.avail_in, 1, in.size() - stream.avail_in, file);
      if (got == 0 && std::ferror(file)) throw FormatError(fmt::format("cannot read: {}", std::strerror(errno)));
      stream.next_in = in.data();
      stream.avail_in += static_cast<uInt>(got);
      if (got == 0) return false;
    }
    return true;
  }
  void require(size_t bytes) {
    if (!look(bytes)) throw FormatError("the zip archive is cut off");
  }
  template <class Number>
  Number at(size_t offset) const {
    Number value;
    std::memcpy(&value, stream.next_in + offset, sizeof value);
    return value;
  }
  void skip(size_t bytes) {
    while (bytes != 0) {
      require(1);
      const size_t some = std::min<size_t>(bytes, stream.avail_in);
      stream.next_in += some;
      stream.avail_in -= static_cast<uInt>(some);
      bytes -= some;
    }
  }

  // False: there are no more.
  bool begin_member() {
    require(4);
    const auto signature = at<uint32_t>(0);
    if (signature == kDirectory || signature == kEnd) return false;
    if (signature != kMember) throw FormatError("damaged zip archive: no member where one should begin");
    require(kHeaderBytes);
    const auto bits = at<uint16_t>(6), method = at<uint16_t>(8);
    has_descriptor = (bits & 8) != 0;
    deflated = method == 8;
    if ((bits & 1) != 0) throw FormatError("the zip archive is encrypted");
    if (!deflated && (method != 0 || has_descriptor))
      throw FormatError(fmt::format("the zip archive is compressed by method {}: only 0 and 8 (deflate) are read", method));
    expected_sum = at<uint32_t>(14);
    left = at<uint32_t>(18);
    if (!deflated && left == 0xffffffff) throw FormatError("a stored member of the zip archive of 4 GiB or more");
    skip(kHeaderBytes + at<uint16_t>(26) + at<uint16_t>(28));
    inflateReset(&stream);
    sum = 0;
    inside = true;
    return true;
  }

  size_t inflate_some(uint8_t* to, size_t most) {
    stream.next_out = to;
    stream.avail_out = static_cast<uInt>(most);
    while (inside && stream.avail_out == most) {
      require(1);
      const int result = inflate(&stream, Z_NO_FLUSH);
      if (result == Z_STREAM_END) inside = false;
      else if (result != Z_OK) throw FormatError("damaged data in the zip archive");
    }
    return most - stream.avail_out;
  }

  size_t copy_some(uint8_t* to, size_t most) {
    if (left != 0) require(1);
    const size_t some = std::min({most, static_cast<size_t>(left), static_cast<size_t>(stream.avail_in)});
    if (some != 0) std::memcpy(to, stream.next_in, some);
    skip(some);
    left -= some;
    inside = left != 0;
    return some;
  }

  // A descriptor is a sum and two sizes of 4 or of 8 bytes: whichever has a signature behind it.
  void end_member() {
    if (has_descriptor) {
      require(4);
      if (at<uint32_t>(0) == kDescriptor) skip(4);
      require(kEntryBytes + 4);
      expected_sum = at<uint32_t>(0);
      const auto behind = at<uint32_t>(kEntryBytes);
      skip(behind == kMember || behind == kDirectory ? kEntryBytes : kEntryBytes + 8);
    }
    if (sum != expected_sum) throw FormatError("damaged data in the zip archive: its checksum is another");
  }

  z_stream stream{};
  bool inside = false, deflated = false, has_descriptor = false;
  uint64_t left = 0;  // of a member that is stored
  uint32_t sum = 0, expected_sum = 0;
};

}  // namespace

std::unique_ptr<CompressedInput::Codec> make_zip_codec(std::FILE* file) { return std::make_unique<Zip>(file); }

}  // namespace simrun::traces
