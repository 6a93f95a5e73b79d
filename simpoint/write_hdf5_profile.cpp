#include "simpoint/write_hdf5_profile.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <map>
#include <vector>

#include "simpoint/hdf5_handle.h"

namespace simrun::simpoint {

namespace {

// A one-dimensional dataset that grows.
template <class T>
class Column {
 public:
  Column(hid_t file, const char* name, const char* unit) : name_(name) {
    const hsize_t none = 0, unlimited = H5S_UNLIMITED, chunk = 16384;
    const Hdf5Handle space(H5Screate_simple(1, &none, &unlimited), H5Sclose, "make a data space");
    const Hdf5Handle plan(H5Pcreate(H5P_DATASET_CREATE), H5Pclose, "make a property list");
    hdf5_check(H5Pset_chunk(plan, 1, &chunk), "chunk a dataset");
    hdf5_check(H5Pset_shuffle(plan), "shuffle a dataset");
    hdf5_check(H5Pset_deflate(plan, 4), "compress a dataset");
    const Hdf5Handle links(H5Pcreate(H5P_LINK_CREATE), H5Pclose, "make a property list");
    hdf5_check(H5Pset_create_intermediate_group(links, 1), "make groups");
    set_ = Hdf5Handle(H5Dcreate2(file, name, hdf5_type<T>(), space, links, plan, H5P_DEFAULT), H5Dclose,
                      "create the dataset " + name_);
    if (*unit != 0) write_attribute(set_, "unit", unit);
  }

  void add(T value) {
    waiting_.push_back(value);
    if (waiting_.size() == 1 << 16) flush();
  }

  void flush() {
    if (waiting_.empty()) return;
    const hsize_t count = waiting_.size(), all = written_ + count, from = written_;
    hdf5_check(H5Dset_extent(set_, &all), "extend " + name_);
    const Hdf5Handle file_space(H5Dget_space(set_), H5Sclose, "look at " + name_);
    const Hdf5Handle memory(H5Screate_simple(1, &count, nullptr), H5Sclose, "make a data space");
    hdf5_check(H5Sselect_hyperslab(file_space, H5S_SELECT_SET, &from, nullptr, &count, nullptr), "select in " + name_);
    hdf5_check(H5Dwrite(set_, hdf5_type<T>(), memory, file_space, H5P_DEFAULT, waiting_.data()),
               "write " + name_ + " (is the disk full?)");
    written_ = all;
    waiting_.clear();
  }

  static void write_attribute(hid_t object, const char* name, const std::string& text) {
    const Hdf5Handle type(H5Tcopy(H5T_C_S1), H5Tclose, "make a type");
    hdf5_check(H5Tset_size(type, std::max<size_t>(text.size(), 1)), "size a type");
    hdf5_check(H5Tset_cset(type, H5T_CSET_UTF8), "set an encoding");
    const Hdf5Handle space(H5Screate(H5S_SCALAR), H5Sclose, "make a data space");
    const Hdf5Handle attribute(H5Acreate2(object, name, type, space, H5P_DEFAULT, H5P_DEFAULT), H5Aclose,
                               std::string("create the attribute ") + name);
    hdf5_check(H5Awrite(attribute, type, text.empty() ? " " : text.data()), std::string("write the attribute ") + name);
  }

 private:
  std::string name_;
  Hdf5Handle set_;
  std::vector<T> waiting_;
  hsize_t written_ = 0;
};

// `temporary`: the name until it is complete.
Hdf5Handle create(const std::string& path, const std::string& temporary) {
  const int descriptor = open(temporary.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0666);   // HDF5 does not say what is wrong
  if (descriptor < 0) throw UserError(fmt::format("cannot write {}: {}", path, std::strerror(errno)));
  close(descriptor);
  silence_hdf5();
  return {H5Fcreate(temporary.c_str(), H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT), H5Fclose, "write " + path};
}

class Hdf5Writer final : public ProfileWriter {
 public:
  explicit Hdf5Writer(const std::string& path)
      : path_(path), temporary_(fmt::format("{}.tmp{}", path, getpid())), file_(create(path_, temporary_)) {}
  ~Hdf5Writer() override {
    if (!finished_) std::remove(temporary_.c_str());
  }

  void add(const Interval& interval, std::span<const Entry> entries) override {
    for (const Entry& entry : entries) block_.add(entry.block), count_.add(entry.count);
    first_.add(entries_);
    entries_ += entries.size();
    start_.add(interval.start);
    length_.add(interval.length);
    begin_pc_.add(interval.begin.place.pc);
    begin_offset_.add(interval.begin.place.offset);
    begin_module_.add(index_of(interval.begin.place.module, modules_));
    begin_count_.add(interval.begin.count);
    executed_before_.add(interval.executed_before);
    left_out_.add(interval.left_out);
    for (const uint64_t references : interval.far) far_.add(references);
    begin_process_.add(index_of(interval.begin.process, processes_));
    begin_thread_.add(index_of(interval.begin.thread, threads_));
    begin_thread_count_.add(interval.begin.thread_count);
  }

  void finish(const Profile& profile) override {
    first_.add(entries_);
    for (const Block& block : profile.blocks) {
      block_pc_.add(block.place.pc);
      block_offset_.add(block.place.offset);
      block_module_.add(index_of(block.place.module, modules_));
      block_thread_.add(block.thread);
    }
    flush_all();
    std::map<uint32_t, std::string> build_ids;
    for (const ProfiledModule& module : profile.modules) build_ids[index_of(module.path, modules_)] = module.build_id;
    std::vector<std::string> ids(modules_.size());
    for (auto& [index, id] : build_ids) ids[index] = std::move(id);
    write_texts("modules", in_order(modules_));
    write_texts("build_ids", ids);
    write_texts("processes", in_order(processes_));
    write_texts("threads", in_order(threads_));
    attribute("command", profile.command);
    if (!profile.ended_by.empty()) attribute("ended_by", profile.ended_by);
    attribute("kind", std::string(to_word(profile.kind)));
    attribute("schema", std::string("simrun-profile-1"));
    attribute("interval_length", profile.interval_length);
    attribute("instructions", profile.instructions);
    attribute("left_out", profile.left_out);
    attribute("threads", uint64_t{profile.threads});
    hdf5_check(H5Fflush(file_, H5F_SCOPE_GLOBAL), "write " + path_ + " (is the disk full?)");
    close();
    if (std::rename(temporary_.c_str(), path_.c_str()) != 0) throw UserError("cannot rename " + temporary_);
    finished_ = true;
  }

 private:
  template <class T>
  using C = Column<T>;

  using Numbered = std::map<std::string, uint32_t>;
  static uint32_t index_of(const std::string& text, Numbered& texts) {
    return texts.emplace(text, static_cast<uint32_t>(texts.size())).first->second;
  }

  void attribute(const char* name, const std::string& text) { C<double>::write_attribute(file_, name, text); }
  void attribute(const char* name, uint64_t value) {
    const Hdf5Handle space(H5Screate(H5S_SCALAR), H5Sclose, "make a data space");
    const Hdf5Handle made(H5Acreate2(file_, name, H5T_NATIVE_UINT64, space, H5P_DEFAULT, H5P_DEFAULT), H5Aclose,
                          std::string("create the attribute ") + name);
    hdf5_check(H5Awrite(made, H5T_NATIVE_UINT64, &value), std::string("write the attribute ") + name);
  }

  static std::vector<std::string> in_order(const Numbered& texts) {
    std::vector<std::string> made(texts.size());
    for (const auto& [name, index] : texts) made[index] = name;
    return made;
  }

  // All as long as the longest: the library crashes over texts of variable size in a damaged file.
  void write_texts(const char* dataset, const std::vector<std::string>& texts) {
    size_t longest = 1;
    for (const std::string& text : texts) longest = std::max(longest, text.size());
    std::string names(longest * texts.size(), '\0');
    for (size_t i = 0; i < texts.size(); ++i) texts[i].copy(names.data() + longest * i, texts[i].size());
    const hsize_t count = texts.size();
    const Hdf5Handle type(H5Tcopy(H5T_C_S1), H5Tclose, "make a type");
    hdf5_check(H5Tset_size(type, longest), "size a type");
    hdf5_check(H5Tset_strpad(type, H5T_STR_NULLPAD), "pad a type");
    hdf5_check(H5Tset_cset(type, H5T_CSET_UTF8), "set an encoding");
    const Hdf5Handle space(H5Screate_simple(1, &count, nullptr), H5Sclose, "make a data space");
    const Hdf5Handle set(H5Dcreate2(file_, dataset, type, space, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT), H5Dclose,
                         std::string("create the dataset ") + dataset);
    if (names.empty()) return;
    hdf5_check(H5Dwrite(set, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, names.data()), std::string("write ") + dataset);
  }

  void flush_all() {
    block_.flush(), count_.flush(), first_.flush(), start_.flush(), length_.flush();
    begin_pc_.flush(), begin_offset_.flush(), begin_module_.flush(), begin_count_.flush(), executed_before_.flush(), far_.flush(), left_out_.flush();
    begin_process_.flush(), begin_thread_.flush(), begin_thread_count_.flush();
    block_pc_.flush(), block_offset_.flush(), block_module_.flush(), block_thread_.flush();
  }

  // Closes the file by closing all that is in it.
  void close() {
    const auto drop = [](auto& column) { auto gone = std::move(column); };
    drop(block_), drop(count_), drop(first_), drop(start_), drop(length_);
    drop(begin_pc_), drop(begin_offset_), drop(begin_module_), drop(begin_count_), drop(executed_before_), drop(far_), drop(left_out_);
    drop(begin_process_), drop(begin_thread_), drop(begin_thread_count_);
    drop(block_pc_), drop(block_offset_), drop(block_module_), drop(block_thread_);
    file_ = Hdf5Handle();
  }

  std::string path_, temporary_;
  bool finished_ = false;
  Hdf5Handle file_;
  uint64_t entries_ = 0;
  Numbered modules_, processes_, threads_;
  C<uint32_t> block_{file_, "vectors/block", ""};
  C<double> count_{file_, "vectors/count", "instructions"};
  C<uint64_t> first_{file_, "vectors/first_entry", "entries"};
  C<uint64_t> start_{file_, "intervals/start", "instructions"};
  C<uint64_t> length_{file_, "intervals/length", "instructions"};
  C<uint64_t> begin_pc_{file_, "intervals/begin_pc", "address"};
  C<uint64_t> begin_offset_{file_, "intervals/begin_offset", "bytes"};
  C<uint32_t> begin_module_{file_, "intervals/begin_module", "index into /modules"};
  C<uint64_t> begin_count_{file_, "intervals/begin_count", "executions"};
  C<uint64_t> left_out_{file_, "intervals/left_out", "instructions"};
  C<uint64_t> executed_before_{file_, "intervals/executed_before", "executions"};
  C<uint64_t> far_{file_, "intervals/far", "references"};   // each interval's FarReferences
  C<uint32_t> begin_process_{file_, "intervals/begin_process", "index into /processes"};
  C<uint32_t> begin_thread_{file_, "intervals/begin_thread", "index into /threads"};
  C<uint64_t> begin_thread_count_{file_, "intervals/begin_thread_count", "executions"};
  C<uint64_t> block_pc_{file_, "blocks/pc", "address"};
  C<uint64_t> block_offset_{file_, "blocks/offset", "bytes"};
  C<uint32_t> block_module_{file_, "blocks/module", "index into /modules"};
  C<uint32_t> block_thread_{file_, "blocks/thread", ""};
};

}  // namespace

std::unique_ptr<ProfileWriter> make_hdf5_writer(const std::string& path) { return std::make_unique<Hdf5Writer>(path); }

}  // namespace simrun::simpoint
