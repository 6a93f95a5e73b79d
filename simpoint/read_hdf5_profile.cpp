#include "simpoint/read_hdf5_profile.h"

#include <algorithm>
#include <vector>

#include "simpoint/hdf5_handle.h"
#include "simpoint/write_profile.h"

namespace simrun::simpoint {

namespace {

class Reader {
 public:
  explicit Reader(const std::string& path) : path_(path) {
    silence_hdf5();
    file_ = Hdf5Handle(H5Fopen(path.c_str(), H5F_ACC_RDONLY, H5P_DEFAULT), H5Fclose, "read " + path);
    if (text("schema") != "simrun-profile-1") fail("its schema is " + text("schema") + ", not simrun-profile-1");
  }

  ReadProfile read(const OnVector& on_vector) {
    ReadProfile result;
    Profile& p = result.profile;
    p.command = text("command");
    if (H5Aexists(file_, "ended_by") > 0) p.ended_by = text("ended_by");
    if (!from_word(text("kind"), p.kind)) fail("an unknown kind of intervals: " + text("kind"));
    p.interval_length = number("interval_length");
    p.instructions = number("instructions");
    p.left_out = number("left_out");
    p.threads = static_cast<uint32_t>(number("threads"));
    modules_ = texts("modules");
    if (H5Lexists(file_, "processes", H5P_DEFAULT) > 0) processes_ = texts("processes");
    if (H5Lexists(file_, "threads", H5P_DEFAULT) > 0) threads_ = texts("threads");
    read_intervals(p);
    read_blocks(p);
    if (H5Lexists(file_, "build_ids", H5P_DEFAULT) > 0) read_build_ids(p);
    read_vectors(p.intervals.size(), on_vector);
    result.vectors = p.intervals.size();
    if (result.vectors == 0) fail("no frequency vector in it");
    return result;
  }

 private:
  [[noreturn]] void fail(const std::string& what) const { throw UserError(path_ + ": " + what); }

  Hdf5Handle attribute(const char* name) const {
    return {H5Aopen(file_, name, H5P_DEFAULT), H5Aclose, fmt::format("find the attribute {} in {}", name, path_)};
  }
  uint64_t number(const char* name) const {
    const Hdf5Handle a = attribute(name);
    uint64_t value = 0;
    hdf5_check(H5Aread(a, H5T_NATIVE_UINT64, &value), fmt::format("read the attribute {} of {}", name, path_));
    return value;
  }
  std::string text(const char* name) const {
    const Hdf5Handle a = attribute(name);
    const Hdf5Handle type(H5Aget_type(a), H5Tclose, "look at an attribute");
    if (H5Tget_class(type) != H5T_STRING || H5Tis_variable_str(type) > 0)
      fail(fmt::format("the attribute {} is no text of fixed size", name));
    std::string value(H5Tget_size(type), '\0');
    hdf5_check(H5Aread(a, type, value.data()), fmt::format("read the attribute {} of {}", name, path_));
    return value == " " ? "" : value;
  }

  template <class T>
  std::vector<T> column(const std::string& name, hsize_t from = 0, hsize_t count = H5S_UNLIMITED) const {
    const std::string what = fmt::format("read {} of {}", name, path_);
    const Hdf5Handle set(H5Dopen2(file_, name.c_str(), H5P_DEFAULT), H5Dclose, what);
    const Hdf5Handle space(H5Dget_space(set), H5Sclose, what);
    hsize_t size = 0;
    if (H5Sget_simple_extent_ndims(space) != 1) fail(name + " has not one dimension");
    H5Sget_simple_extent_dims(space, &size, nullptr);
    if (count == H5S_UNLIMITED) count = size;
    if (from + count > size) fail(fmt::format("{} ends at {}, before {}", name, size, from + count));
    std::vector<T> values(count);
    if (count == 0) return values;
    const Hdf5Handle memory(H5Screate_simple(1, &count, nullptr), H5Sclose, what);
    hdf5_check(H5Sselect_hyperslab(space, H5S_SELECT_SET, &from, nullptr, &count, nullptr), what);
    hdf5_check(H5Dread(set, hdf5_type<T>(), memory, space, H5P_DEFAULT, values.data()), what);
    return values;
  }

  std::vector<std::string> texts(const std::string& dataset) const {
    const std::string what = fmt::format("read {} of {}", dataset, path_);
    const Hdf5Handle set(H5Dopen2(file_, dataset.c_str(), H5P_DEFAULT), H5Dclose, what);
    const Hdf5Handle space(H5Dget_space(set), H5Sclose, what);
    const Hdf5Handle type(H5Dget_type(set), H5Tclose, what);
    if (H5Tget_class(type) != H5T_STRING || H5Tis_variable_str(type) != 0)
      fail(dataset + " are no texts of fixed size: make the profile again with simrun bbv");
    hsize_t size = 0;
    if (H5Sget_simple_extent_ndims(space) != 1) fail(dataset + " has not one dimension");
    H5Sget_simple_extent_dims(space, &size, nullptr);
    const size_t length = H5Tget_size(type);
    if (length == 0 || H5Dget_storage_size(set) / length < size) fail(dataset + " is cut off");
    std::string names(length * size, '\0');
    if (size != 0) hdf5_check(H5Dread(set, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, names.data()), what);
    std::vector<std::string> made;
    for (hsize_t i = 0; i < size; ++i) {
      const std::string padded = names.substr(i * length, length);
      made.push_back(padded.substr(0, padded.find('\0')));
    }
    return made;
  }

  const std::string& module(uint32_t index) const {
    if (index >= modules_.size()) fail(fmt::format("module {} of {}", index, modules_.size()));
    return modules_[index];
  }

  // Of an interval's marker: older files have no such column.
  const std::string& name(const std::vector<std::string>& names, const std::vector<uint32_t>& column, size_t interval,
                          const char* what) const {
    static const std::string kNone;
    if (column.empty()) return kNone;
    if (column[interval] >= names.size()) fail(fmt::format("{} {} of {}", what, column[interval], names.size()));
    return names[column[interval]];
  }

  template <class T>
  void require_size(const std::vector<T>& values, size_t size, const char* name) const {
    if (values.size() != size) fail(fmt::format("{} has {} elements, not {}", name, values.size(), size));
  }

  void read_intervals(Profile& p) const {
    const auto start = column<uint64_t>("intervals/start"), length = column<uint64_t>("intervals/length"),
               pc = column<uint64_t>("intervals/begin_pc"), offset = column<uint64_t>("intervals/begin_offset"),
               count = column<uint64_t>("intervals/begin_count");
    const auto in = column<uint32_t>("intervals/begin_module");
    const auto by = processes_.empty() ? std::vector<uint32_t>() : column<uint32_t>("intervals/begin_process");
    if (!by.empty()) require_size(by, start.size(), "intervals/begin_process");
    const auto thread = threads_.empty() ? std::vector<uint32_t>() : column<uint32_t>("intervals/begin_thread");
    const auto thread_count =
        threads_.empty() ? std::vector<uint64_t>(start.size()) : column<uint64_t>("intervals/begin_thread_count");
    if (!thread.empty()) require_size(thread, start.size(), "intervals/begin_thread");
    require_size(thread_count, start.size(), "intervals/begin_thread_count");
    const bool has_before = H5Lexists(file_, "intervals/executed_before", H5P_DEFAULT) > 0;  // older files have not
    const auto before = has_before ? column<uint64_t>("intervals/executed_before") : std::vector<uint64_t>(start.size());
    constexpr size_t kFarKinds = FarReferences().size();
    const bool has_far = H5Lexists(file_, "intervals/far", H5P_DEFAULT) > 0;   // likewise
    const auto far = has_far ? column<uint64_t>("intervals/far") : std::vector<uint64_t>(kFarKinds * start.size());
    require_size(far, kFarKinds * start.size(), "intervals/far");
    const bool has_left_out = H5Lexists(file_, "intervals/left_out", H5P_DEFAULT) > 0;   // likewise
    const auto left_out = has_left_out ? column<uint64_t>("intervals/left_out") : std::vector<uint64_t>(start.size());
    for (const auto* values : {&length, &pc, &offset, &count, &before, &left_out}) require_size(*values, start.size(), "intervals/...");
    require_size(in, start.size(), "intervals/begin_module");
    for (size_t i = 0; i < start.size(); ++i) {
      p.intervals.push_back({start[i],
                             length[i],
                             {{pc[i], module(in[i]), offset[i]},
                              count[i],
                              name(processes_, by, i, "process"),
                              name(threads_, thread, i, "thread"),
                              thread_count[i]},
                             before[i]});
      if (left_out[i] > length[i]) fail(fmt::format("interval {}: {} of its {} instructions are left out", i, left_out[i], length[i]));
      p.intervals.back().left_out = left_out[i];
      std::copy_n(far.begin() + static_cast<std::ptrdiff_t>(i * kFarKinds), kFarKinds, p.intervals.back().far.begin());
    }
  }

  void read_blocks(Profile& p) const {
    const auto pc = column<uint64_t>("blocks/pc"), offset = column<uint64_t>("blocks/offset");
    const auto in = column<uint32_t>("blocks/module"), thread = column<uint32_t>("blocks/thread");
    require_size(offset, pc.size(), "blocks/offset");
    require_size(in, pc.size(), "blocks/module");
    require_size(thread, pc.size(), "blocks/thread");
    for (size_t i = 0; i < pc.size(); ++i) p.blocks.push_back({{pc[i], module(in[i]), offset[i]}, thread[i]});
  }

  void read_build_ids(Profile& p) const {
    const std::vector<std::string> ids = texts("build_ids");
    require_size(ids, modules_.size(), "build_ids");
    for (size_t i = 0; i < ids.size(); ++i)
      if (!ids[i].empty()) p.modules.push_back({modules_[i], ids[i]});
    std::sort(p.modules.begin(), p.modules.end(), [](const auto& a, const auto& b) { return a.path < b.path; });
  }

  void read_vectors(size_t intervals, const OnVector& on_vector) const {
    const auto first = column<uint64_t>("vectors/first_entry");
    require_size(first, intervals + 1, "vectors/first_entry");
    constexpr uint64_t kAtOnce = 1 << 18;
    std::vector<Entry> entries;
    for (size_t i = 0; i < intervals;) {  // whole intervals, about kAtOnce entries in memory
      size_t end = i + 1;
      while (end < intervals && first[end + 1] - first[i] <= kAtOnce) ++end;
      if (first[end] < first[i]) fail("vectors/first_entry does not rise");
      const auto block = column<uint32_t>("vectors/block", first[i], first[end] - first[i]);
      const auto count = column<double>("vectors/count", first[i], first[end] - first[i]);
      for (const uint64_t base = first[i]; i < end; ++i) {
        if (first[i + 1] < first[i] || first[i + 1] - base > block.size()) fail("vectors/first_entry does not rise");
        entries.clear();
        for (uint64_t e = first[i] - base; e < first[i + 1] - base; ++e) entries.push_back({block[e], count[e]});
        try {
          on_vector(entries);
        } catch (const UserError& error) {
          fail(error.what());
        }
      }
    }
  }

  std::string path_;
  Hdf5Handle file_;
  std::vector<std::string> modules_, processes_, threads_;
};

}  // namespace

ReadProfile read_hdf5_profile(const std::string& path, const OnVector& on_vector) {
  return Reader(path).read(on_vector);
}

}  // namespace simrun::simpoint
