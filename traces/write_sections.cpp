#define XXH_INLINE_ALL
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>
#include <xxhash.h>
#include <zstd.h>
#include <zstd_errors.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstring>
#include <memory>
#include <new>

#include "base/check.h"
#include "base/new_file.h"
#include "base/user_error.h"
#include "traces/section_file.h"
#include "traces/section_layout.h"

namespace simrun::traces {

namespace {

constexpr uint64_t kReservedAtOnce = 16 << 20;

ZSTD_CCtx* compressor() {
  thread_local const std::unique_ptr<ZSTD_CCtx, size_t (*)(ZSTD_CCtx*)> context(ZSTD_createCCtx(), ZSTD_freeCCtx);
  if (context == nullptr) throw std::bad_alloc();
  return context.get();
}

UserError cannot_write(const std::string& path, const std::string& why) { return UserError(fmt::format("cannot write {}: {}", path, why)); }

// The descriptor of `temporary`, which will be `path`, locked and empty. Between the open and the lock another simrun may have given the
// file its final name: then it is that one's.
int open_locked(const std::string& temporary, const std::string& path) {
  constexpr int kAttempts = 100;
  for (int k = 0; k < kAttempts; ++k) {
    const int file = open(temporary.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0666);
    if (file < 0) throw cannot_write(temporary, std::strerror(errno));
    if (flock(file, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK) {
      close(file);
      break;
    }
    struct stat own {}, named {};
    const bool is_named = fstat(file, &own) == 0 && stat(temporary.c_str(), &named) == 0 && own.st_ino == named.st_ino && own.st_dev == named.st_dev;
    if (is_named && ftruncate(file, 0) == 0) return file;
    const int error = errno;
    close(file);
    if (is_named) throw cannot_write(temporary, std::strerror(error));
  }
  throw cannot_write(path, "another simrun is writing it");
}

}  // namespace

SealedSection seal_section(SectionType type, std::span<const uint8_t> payload, int level, uint64_t first_instruction,
                           uint64_t instructions) {
  CHECK(payload.size() <= kMaxRawBytes);
  SealedSection sealed;
  // Kept by each thread: what it may need at most is many times what it needs.
  thread_local Bytes stored;
  stored.resize(std::max(stored.size(), ZSTD_compressBound(payload.size())));
  const size_t size = ZSTD_compressCCtx(compressor(), stored.data(), stored.size(), payload.data(), payload.size(), level);
  if (ZSTD_getErrorCode(size) == ZSTD_error_memory_allocation) throw std::bad_alloc();
  CHECK(!ZSTD_isError(size));
  sealed.bytes.reserve(sizeof(SectionHeader) + size);
  sealed.bytes.resize(sizeof(SectionHeader));
  sealed.bytes.insert(sealed.bytes.end(), stored.begin(), stored.begin() + static_cast<ptrdiff_t>(size));
  SectionHeader header{kSectionMagic,     static_cast<uint32_t>(type), size, payload.size(),
                       first_instruction, instructions,                0};
  header.checksum = XXH3_64bits_withSeed(sealed.bytes.data() + sizeof header, size,
                                         XXH3_64bits(&header, offsetof(SectionHeader, checksum)));
  std::memcpy(sealed.bytes.data(), &header, sizeof header);
  sealed.section = {type, 0, size, payload.size(), first_instruction, instructions};
  return sealed;
}

SectionFileWriter::SectionFileWriter(std::string path) : path_(std::move(path)) {
  const OutputPlace place = path_ == "-" ? OutputPlace{path_, STDOUT_FILENO} : follow_links(path_);
  if (place.descriptor < 0) path_ = place.path;
  temporary_ = path_ + ".partial";
  struct stat existing {};
  if (stat(path_.c_str(), &existing) == 0 && S_ISDIR(existing.st_mode))
    throw UserError(fmt::format("cannot write {}: {}", path_, std::strerror(EISDIR)));
  // Renaming would put a plain file in the place of the device, for everyone who uses it.
  if (place.descriptor >= 0 || (stat(path_.c_str(), &existing) == 0 && !S_ISREG(existing.st_mode)))
    throw UserError(fmt::format("cannot write {}: not a regular file, and a trace is written at more places than its end",
                                path_));
  descriptor_ = open_locked(temporary_, path_);
  const FileHeader header{kFileMagic, kFormatVersion, 0};
  if (!make_room(sizeof header) || !write_all(&header, sizeof header, 0)) {
    unlink(temporary_.c_str());
    close(descriptor_);
    throw cannot_write(temporary_, why_);
  }
  end_ = sizeof header;
}

SectionFileWriter::~SectionFileWriter() {
  if (!finished_ && ftruncate(descriptor_, static_cast<off_t>(end_)) != 0) {
    // What is behind the last section is not read.
  }
  const auto holds_chunk = [](const Section& section) { return is_chunk(section.type); };
  if (!finished_ && std::none_of(sections_.begin(), sections_.end(), holds_chunk)) unlink(temporary_.c_str());
  close(descriptor_);
}

bool SectionFileWriter::write_all(const void* data, size_t size, uint64_t offset) {
  const char* from = static_cast<const char*>(data);
  while (size != 0) {
    const ssize_t written = pwrite(descriptor_, from, size, static_cast<off_t>(offset));
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) {
      why_ = written < 0 ? std::strerror(errno) : "nothing was written";
      return false;
    }
    from += written;
    offset += static_cast<uint64_t>(written);
    size -= static_cast<size_t>(written);
  }
  return true;
}

// Space on the disk, not length of the file. Where the file system cannot promise any, writing itself will tell.
bool SectionFileWriter::make_room(uint64_t end) {
  if (end <= room_ || !can_reserve_) return true;
  for (const uint64_t wanted : {end + kReservedAtOnce, end}) {
    int result;
    do result = fallocate(descriptor_, FALLOC_FL_KEEP_SIZE, 0, static_cast<off_t>(wanted));
    while (result != 0 && errno == EINTR);
    if (result == 0) {
      room_ = wanted;
      return true;
    }
    if (errno != ENOSPC && errno != EDQUOT && errno != EFBIG) {
      can_reserve_ = false;
      return true;
    }
  }
  why_ = std::strerror(errno);
  return false;
}

bool SectionFileWriter::append(const SealedSection& sealed, uint64_t reserve) {
  if (!make_room(end_ + sealed.bytes.size() + reserve)) return false;
  if (!write_all(sealed.bytes.data(), sealed.bytes.size(), end_)) return false;
  sections_.push_back(sealed.section);
  sections_.back().offset = end_;
  end_ += sealed.bytes.size();
  return true;
}

void SectionFileWriter::cut_back_to(uint64_t offset) {
  while (!sections_.empty() && sections_.back().offset >= offset) sections_.pop_back();
  end_ = offset;
}

bool SectionFileWriter::append_footer() {
  CHECK(!sections_.empty() && sections_.back().type == SectionType::kIndex);
  Footer footer{sections_.back().offset, end_ + sizeof(Footer), 0, kFooterMagic};
  footer.checksum = XXH3_64bits(&footer, offsetof(Footer, checksum));
  if (!write_all(&footer, sizeof footer, end_)) return false;
  end_ += sizeof footer;
  return true;
}

// Where a network file system says that the disk is full. Of a copy: the lock stays with the other until the file has its final name.
bool SectionFileWriter::close_copy() const {
  const int copy = fcntl(descriptor_, F_DUPFD_CLOEXEC, 3);
  return copy >= 0 ? close(copy) == 0 : fsync(descriptor_) == 0;
}

void SectionFileWriter::finish() {
  if (ftruncate(descriptor_, static_cast<off_t>(end_)) != 0 || !close_copy() || std::rename(temporary_.c_str(), path_.c_str()) != 0)
    throw UserError(fmt::format("cannot complete {}: {} (what was recorded is in {})", path_, std::strerror(errno),
                                temporary_));
  finished_ = true;
}

}  // namespace simrun::traces
