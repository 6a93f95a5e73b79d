#include "cli/phases/stored_state.h"

#include <fmt/format.h>
#include <zstd.h>

#include <cstring>
#include <nlohmann/json.hpp>
#include <utility>
#include <vector>

#include "base/user_error.h"
#include "base/whole_file.h"
#include "configs/read_machine.h"
#include "simpoint/write_bytes.h"

namespace simrun::cli {

namespace {

using nlohmann::json;

constexpr char kMagic[] = "SSTATE1\n";
constexpr size_t kMagicBytes = sizeof kMagic - 1;
constexpr int kLayout = 4;  // to be raised when the bytes of sim::Hierarchy::state() change
constexpr uint64_t kMaxHeader = 16u << 20, kMaxState = uint64_t{1} << 40;

constexpr char kInterval[] = "interval", kCommand[] = "command";

json header_of(const sim::MachineConfig& machine) {
  return {{"simrun", SIMRUN_VERSION}, {"layout", kLayout}, {"machine", configs::to_json(machine)}};
}

struct StateFile {
  json header;
  std::string frame;
};

// Throws UserError.
StateFile read_file(const std::string& path) {
  std::string text;
  if (const int error = read_whole(path.c_str(), &text)) throw UserError(fmt::format("cannot read {}: {}", path, std::strerror(error)));
  if (text.compare(0, kMagicBytes, kMagic) != 0) throw UserError(path + " is no stored cache state");
  uint64_t bytes = 0;
  constexpr size_t kBegin = kMagicBytes + sizeof bytes;
  if (text.size() >= kBegin) std::memcpy(&bytes, text.data() + kMagicBytes, sizeof bytes);
  if (text.size() < kBegin || bytes > kMaxHeader || text.size() - kBegin < bytes) throw UserError(path + " is damaged: its header is cut off");
  StateFile file;
  if (!(file.header = json::parse(text.substr(kBegin, bytes), nullptr, false)).is_object()) throw UserError(path + " is damaged: its header makes no sense");
  text.erase(0, kBegin + bytes);
  file.frame = std::move(text);
  return file;
}

}  // namespace

void write_state(const std::string& path, const sim::Hierarchy& model, const json& region) {
  const std::vector<uint8_t> state = model.state();
  json whole = header_of(model.config());
  if (!region.is_null()) whole.update(region);
  const std::string header = whole.dump(-1, ' ', false, json::error_handler_t::replace);  // as traces have it: arguments are any bytes
  const uint64_t header_bytes = header.size();
  std::string frame(ZSTD_compressBound(state.size()), 0);
  ZSTD_CCtx* const context = ZSTD_createCCtx();
  ZSTD_CCtx_setParameter(context, ZSTD_c_checksumFlag, 1);
  const size_t size = ZSTD_compress2(context, frame.data(), frame.size(), state.data(), state.size());
  ZSTD_freeCCtx(context);
  if (ZSTD_isError(size)) throw UserError(fmt::format("cannot compress {}: {}", path, ZSTD_getErrorName(size)));
  frame.resize(size);
  simpoint::write_whole(
      path, kMagic + std::string(reinterpret_cast<const char*>(&header_bytes), sizeof header_bytes) + header + frame);
}

void read_state(const std::string& path, sim::Hierarchy& model) {
  StateFile file = read_file(path);
  for (const char* key : {kInterval, kCommand}) file.header.erase(key);
  const json ours = header_of(model.config());
  if (file.header.value("machine", json()) != ours["machine"])
    throw UserError(path + " is the state of another machine: it can only go on with the machine of its run");
  if (file.header != ours)
    throw UserError(fmt::format("{} is of another version of simrun ({}): make it again", path,
                                file.header.value("simrun", "unknown")));
  const unsigned long long size = ZSTD_getFrameContentSize(file.frame.data(), file.frame.size());
  if (size == ZSTD_CONTENTSIZE_ERROR || size == ZSTD_CONTENTSIZE_UNKNOWN || size > kMaxState)
    throw UserError(path + " is damaged");
  std::vector<uint8_t> state(size);
  const size_t got = ZSTD_decompress(state.data(), state.size(), file.frame.data(), file.frame.size());
  if (ZSTD_isError(got) || got != size)
    throw UserError(fmt::format("{} is damaged: {}", path, ZSTD_isError(got) ? ZSTD_getErrorName(got) : "too short"));
  model.set_state(std::move(state));
}

void require_state_of_region(const std::string& path, const traces::Reader& trace) {
  const json header = read_file(path).header, summary = trace.summary(), information = trace.information();
  const json region = summary.is_object() ? summary.value("region", json()) : json();
  if (!header.contains(kInterval) || !region.is_object() || !region.contains(kInterval)) return;
  if (header[kInterval] == region[kInterval] && header.value(kCommand, json()) == information.value(kCommand, json())) return;
  throw UserError(fmt::format("{} is the state before another region: interval {} of {}, and {} is of interval {}", path, header[kInterval].dump(),
                              header.value(kCommand, json()).dump(), trace.path(), region[kInterval].dump()));
}

bool is_state_of(const std::string& path, const sim::MachineConfig& machine) {
  try {
    json header = read_file(path).header;
    for (const char* key : {kInterval, kCommand}) header.erase(key);
    return header == header_of(machine);
  } catch (const UserError&) {
    return false;
  }
}

}  // namespace simrun::cli
