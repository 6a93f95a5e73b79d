#define XXH_INLINE_ALL
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>
#include <xxhash.h>
#include <zstd.h>

#include <cerrno>
#include <cstddef>
#include <cstring>

#include "base/user_error.h"
#include "traces/section_file.h"
#include "traces/section_layout.h"

namespace simrun::traces {

SectionFileReader::SectionFileReader(std::string path) : path_(std::move(path)) {
  descriptor_ = open(path_.c_str(), O_RDONLY | O_CLOEXEC);
  if (descriptor_ < 0) throw UserError(fmt::format("cannot read {}: {}", path_, std::strerror(errno)));
  struct stat status {};
  if (fstat(descriptor_, &status) != 0 || !S_ISREG(status.st_mode)) {
    close(descriptor_);
    throw UserError(fmt::format("cannot read {}: not a regular file", path_));
  }
  size_ = static_cast<uint64_t>(status.st_size);
  try {
    scan();
  } catch (...) {
    close(descriptor_);
    throw;
  }
}

SectionFileReader::~SectionFileReader() { close(descriptor_); }

void SectionFileReader::read_bytes(void* to, uint64_t size, uint64_t offset) const {
  char* at = static_cast<char*>(to);
  while (size != 0) {
    const ssize_t got = pread(descriptor_, at, size, static_cast<off_t>(offset));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) fail(offset, fmt::format("cannot read: {}", std::strerror(errno)));
    if (got == 0) fail(offset, "the file ends here");
    at += got;
    offset += static_cast<uint64_t>(got);
    size -= static_cast<uint64_t>(got);
  }
}

Section SectionFileReader::read_header(uint64_t offset) const {
  if (size_ - offset < sizeof(SectionHeader)) fail(offset, "the file ends amid the header of a section");
  SectionHeader header;
  read_bytes(&header, sizeof header, offset);
  if (header.magic != kSectionMagic) fail(offset, "no section starts here");
  if (header.raw_bytes > kMaxRawBytes || header.stored_bytes > ZSTD_compressBound(kMaxRawBytes))
    fail(offset, "a section of more than 1 GiB");
  if (header.stored_bytes > size_ - offset - sizeof header) fail(offset, "the file ends amid a section");
  return {static_cast<SectionType>(header.type), offset,
          header.stored_bytes,                   header.raw_bytes,
          header.first_instruction,              header.instructions};
}

// True when the file was completed.
bool SectionFileReader::read_footer(uint64_t* index_offset) {
  if (size_ < sizeof(FileHeader) + sizeof(Footer)) return false;
  Footer footer;
  read_bytes(&footer, sizeof footer, size_ - sizeof footer);
  if (footer.magic != kFooterMagic || footer.file_bytes != size_ ||
      footer.checksum != XXH3_64bits(&footer, offsetof(Footer, checksum)))
    return false;
  *index_offset = footer.index_offset;
  return true;
}

// Headers of sections follow each other; nothing but them is read. That takes one read for each section, which is one for
// some millions of instructions.
void SectionFileReader::scan() {
  FileHeader header;
  if (size_ < sizeof header) fail(0, "too short for a trace of simrun");
  read_bytes(&header, sizeof header, 0);
  if (header.magic != kFileMagic) fail(0, "not a trace of simrun");
  if (header.version < kOldestFormatVersion || header.version > kFormatVersion)
    fail(8, fmt::format("written in version {} of the format; this simrun reads versions {} to {}", header.version,
                        kOldestFormatVersion, kFormatVersion));
  uint64_t index_offset = 0;
  const bool complete = read_footer(&index_offset);
  const uint64_t end = complete ? size_ - sizeof(Footer) : size_;
  uint64_t at = sizeof header;
  try {
    while (at != end) {
      const Section section = read_header(at);
      at += sizeof(SectionHeader) + section.stored_bytes;
      if (at > end) fail(section.offset, "a section reaches into the footer");
      sections_.push_back(section);
    }
  } catch (const TraceError& error) {
    if (complete) {
      damage_ = error;
      return;
    }
    incomplete_ = fmt::format("the recording was not completed: at offset {}: {}", error.offset, error.cause);
  }
  if (complete && (sections_.empty() || sections_.back().offset != index_offset))
    fail(size_ - sizeof(Footer), "the footer does not name the last section");
  if (!complete && incomplete_.empty()) incomplete_ = "the recording was not completed: no footer";
}

Bytes SectionFileReader::read(const Section& section) const {
  SectionHeader header;
  read_bytes(&header, sizeof header, section.offset);
  if (header.stored_bytes != section.stored_bytes || header.raw_bytes != section.raw_bytes)
    fail(section.offset, "the file changes while it is read");
  Bytes stored(section.stored_bytes);
  read_bytes(stored.data(), stored.size(), section.offset + sizeof header);
  const uint64_t seed = XXH3_64bits(&header, offsetof(SectionHeader, checksum));
  if (XXH3_64bits_withSeed(stored.data(), stored.size(), seed) != header.checksum)
    fail(section.offset, "the checksum of a section is wrong");
  // The frame says its size too: no memory for what the header only claims.
  if (ZSTD_getFrameContentSize(stored.data(), stored.size()) != section.raw_bytes)
    fail(section.offset, "a section is not of the size that its header says");
  Bytes raw(section.raw_bytes);
  const size_t size = ZSTD_decompress(raw.data(), raw.size(), stored.data(), stored.size());
  if (ZSTD_isError(size)) fail(section.offset, fmt::format("cannot decompress: {}", ZSTD_getErrorName(size)));
  if (size != section.raw_bytes) fail(section.offset, "a section is not of the size that its header says");
  return raw;
}

}  // namespace simrun::traces
