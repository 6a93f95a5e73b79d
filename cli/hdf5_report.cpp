// JSON to HDF5 (docs/results-hdf5.md): an object is a group; a value in it an attribute; a list of
// numbers or words a data set; a list of objects a group of columns, or, when all have different names, of groups. Lists within columns are one
// table, so that a run of many intervals has as many objects as one of few.
#include "cli/hdf5_report.h"

#include <fmt/format.h>
#include <hdf5.h>

#include <algorithm>
#include <set>
#include <vector>

#include "base/user_error.h"

namespace simrun::cli {

namespace {

using Json = nlohmann::ordered_json;

// An HDF5 identifier with its close function.
class Handle {
 public:
  Handle(hid_t id, herr_t (*close)(hid_t)) : id_(id), close_(close) {
    if (id < 0) throw UserError("HDF5: an object cannot be created");
  }
  ~Handle() { close_(id_); }
  Handle(const Handle&) = delete;
  Handle& operator=(const Handle&) = delete;
  operator hid_t() const { return id_; }

 private:
  hid_t id_;
  herr_t (*close_)(hid_t);
};

void require(herr_t status) {
  if (status < 0) throw UserError("HDF5: writing failed");
}

enum class Kind { kInteger, kReal, kText, kNone };

Kind kind_of(const Json& value) {
  if (value.is_boolean() || value.is_number_unsigned() || (value.is_number_integer() && value.get<int64_t>() >= 0))
    return Kind::kInteger;
  if (value.is_number()) return Kind::kReal;
  return value.is_string() || value.is_null() ? Kind::kText : Kind::kNone;
}

Kind common_kind(const std::vector<const Json*>& values) {
  std::set<Kind> kinds;
  for (const Json* value : values) kinds.insert(kind_of(*value));
  if (kinds == std::set{Kind::kInteger, Kind::kReal}) return Kind::kReal;
  return kinds.size() == 1 ? *kinds.begin() : Kind::kNone;
}

hid_t type_of(Kind kind) {
  if (kind == Kind::kInteger) return H5Tcopy(H5T_NATIVE_UINT64);
  if (kind == Kind::kReal) return H5Tcopy(H5T_NATIVE_DOUBLE);
  const hid_t text = H5Tcopy(H5T_C_S1);
  H5Tset_size(text, H5T_VARIABLE);
  H5Tset_cset(text, H5T_CSET_UTF8);
  return text;
}

// Calls write(pointer to the values in memory).
template <class Write>
void with_memory(Kind kind, const std::vector<const Json*>& values, Write write) {
  std::vector<uint64_t> integers;
  std::vector<double> reals;
  std::vector<std::string> texts;
  std::vector<const char*> pointers;
  for (const Json* v : values) {
    if (kind == Kind::kInteger) integers.push_back(v->is_boolean() ? v->get<bool>() : v->get<uint64_t>());
    if (kind == Kind::kReal) reals.push_back(v->get<double>());
    if (kind == Kind::kText) texts.push_back(v->is_null() ? "" : v->get<std::string>());
  }
  for (const std::string& text : texts) pointers.push_back(text.c_str());
  if (kind == Kind::kInteger) write(static_cast<const void*>(integers.data()));
  if (kind == Kind::kReal) write(static_cast<const void*>(reals.data()));
  if (kind == Kind::kText) write(static_cast<const void*>(pointers.data()));
}

void write_attribute(hid_t object, const std::string& name, const Json& value) {
  const Kind kind = kind_of(value);
  const Handle type(type_of(kind), H5Tclose), space(H5Screate(H5S_SCALAR), H5Sclose);
  const Handle attribute(H5Acreate2(object, name.c_str(), type, space, H5P_DEFAULT, H5P_DEFAULT), H5Aclose);
  with_memory(kind, {&value}, [&](const void* data) { require(H5Awrite(attribute, type, data)); });
}

constexpr hsize_t kCompressedFrom = 4096;   // numbers

// `row_length`: of a matrix of so many columns; 0: they are one column. `key`: what its unit is known by, if not by its name.
void write_data_set(hid_t group, const std::string& name, const std::vector<const Json*>& values, size_t row_length = 0,
                    const std::string& key = "") {
  const Kind kind = values.empty() ? Kind::kInteger : common_kind(values);
  if (kind == Kind::kNone) return;
  const hsize_t size = values.size(), matrix[] = {row_length != 0 ? size / row_length : 0, row_length};
  const Handle type(type_of(kind), H5Tclose);
  const Handle space(row_length != 0 ? H5Screate_simple(2, matrix, nullptr) : H5Screate_simple(1, &size, nullptr), H5Sclose);
  const Handle plan(H5Pcreate(H5P_DATASET_CREATE), H5Pclose);
  if (size >= kCompressedFrom && kind != Kind::kText) {
    const hsize_t rows = std::max<hsize_t>(kCompressedFrom / std::max<size_t>(row_length, 1), 1), chunk[] = {rows, row_length};
    require(H5Pset_chunk(plan, row_length != 0 ? 2 : 1, chunk));
    require(H5Pset_shuffle(plan));
    require(H5Pset_deflate(plan, 4));
  }
  const Handle set(H5Dcreate2(group, name.c_str(), type, space, H5P_DEFAULT, plan, H5P_DEFAULT), H5Dclose);
  if (size != 0)
    with_memory(kind, values,
                [&](const void* data) { require(H5Dwrite(set, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, data)); });
  if (kind != Kind::kText) write_attribute(set, "unit", unit_of(key.empty() ? name : key));
}

void write_object(hid_t group, const Json& object);
void write_value(hid_t group, const std::string& name, const Json& value);

bool all_have_names(const std::vector<const Json*>& rows) {
  std::set<std::string> names;
  for (const Json* row : rows)
    if (row->contains("name")) names.insert((*row)["name"].get<std::string>());
  return names.size() == rows.size();
}

void write_columns(hid_t group, const std::vector<const Json*>& rows);

void write_rows(hid_t group, const Json& numbers) {
  std::vector<const Json*> rows;
  for (const Json& number : numbers) rows.push_back(&number);
  write_data_set(group, "row", rows);
}

// A list of each row: equally many numbers or words as a matrix, else all one behind the other as a table of their own, whose column `row`
// says which row each is of.
void write_lists(hid_t parent, const std::string& name, const std::vector<const Json*>& lists) {
  std::vector<const Json*> items;
  Json row = Json::array();
  bool equally_many = true;
  for (size_t i = 0; i < lists.size(); ++i) {
    equally_many = equally_many && lists[i]->size() == lists[0]->size();
    for (const Json& item : *lists[i]) items.push_back(&item), row.push_back(i);
  }
  if (items.empty()) return;
  const bool plain = common_kind(items) != Kind::kNone;
  if (plain && equally_many) return write_data_set(parent, name, items, lists[0]->size());
  if (!plain && !std::all_of(items.begin(), items.end(), [](const Json* item) { return item->is_object(); })) return;
  const Handle group(H5Gcreate2(parent, name.c_str(), H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT), H5Gclose);
  write_rows(group, row);
  if (plain)
    write_data_set(group, "value", items, 0, name);
  else
    write_columns(group, items);
}

void write_column(hid_t group, const std::string& name, const std::string& key, const std::vector<const Json*>& column) {
  if (column[0]->is_object()) {
    const Handle inner(H5Gcreate2(group, name.c_str(), H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT), H5Gclose);
    write_columns(inner, column);
  } else if (column[0]->is_array()) {
    write_lists(group, name, column);
  } else {
    write_data_set(group, name, column, 0, key);
  }
}

std::vector<std::string> keys_of(const std::vector<const Json*>& rows) {
  std::vector<std::string> keys;
  std::set<std::string> known;
  for (const Json* row : rows) {
    size_t as_before = 0;   // mostly all of them are
    for (const auto& [key, value] : row->items())
      if (as_before < keys.size() && keys[as_before] == key)
        ++as_before;
      else if (known.insert(key).second)
        keys.push_back(key);
  }
  return keys;
}

// Column by column; objects within the rows are groups of columns. What not all rows have is a table of its own, whose column `row` says
// which have it.
void write_columns(hid_t group, const std::vector<const Json*>& rows) {
  for (const std::string& key : keys_of(rows)) {
    std::vector<const Json*> column;
    for (const Json* row : rows)
      if (row->contains(key)) column.push_back(&(*row)[key]);
    if (column.size() == rows.size()) {
      write_column(group, key, key, column);
      continue;
    }
    Json row = Json::array();
    for (size_t i = 0; i < rows.size(); ++i)
      if (rows[i]->contains(key)) row.push_back(i);
    const Handle some(H5Gcreate2(group, key.c_str(), H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT), H5Gclose);
    write_rows(some, row);
    if (column[0]->is_object())
      write_columns(some, column);
    else
      write_column(some, "value", key, column);
  }
}

void write_list(hid_t parent, const std::string& name, const Json& list) {
  std::vector<const Json*> rows;
  for (const Json& row : list) rows.push_back(&row);
  if (rows.empty() || !rows[0]->is_object()) return write_data_set(parent, name, rows);
  const Handle group(H5Gcreate2(parent, name.c_str(), H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT), H5Gclose);
  if (!all_have_names(rows)) return write_columns(group, rows);
  for (const Json* row : rows) write_value(group, (*row)["name"].get<std::string>(), *row);
}

void write_value(hid_t group, const std::string& name, const Json& value) {
  if (value.is_array()) return write_list(group, name, value);
  if (!value.is_object()) return write_attribute(group, name, value);
  const Handle inner(H5Gcreate2(group, name.c_str(), H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT), H5Gclose);
  write_object(inner, value);
}

void write_object(hid_t group, const Json& object) {
  for (const auto& [key, value] : object.items()) write_value(group, key, value);
}

}  // namespace

std::string unit_of(const std::string& key) {
  const auto ends_with = [&](const char* end) { return key.ends_with(end); };
  if (ends_with("cycles") || ends_with("_amat")) return "cycles";
  if (ends_with("seconds")) return "s";
  if (ends_with("bytes") || key == "size" || key == "line" || key == "page") return "bytes";
  if (key == "cpi") return "cycles/instruction";
  if (key == "mpki") return "misses/1000 instructions";
  if (key == "mips") return "10^6 instructions/s";
  if (key == "million_references_per_second") return "10^6 references/s";
  return "1";
}

std::string hdf5_report(const Json& results) {
  const Handle access(H5Pcreate(H5P_FILE_ACCESS), H5Pclose);
  constexpr size_t kIncrement = 1 << 20;
  require(H5Pset_fapl_core(access, kIncrement, false));  // in memory
  const Handle file(H5Fcreate("results", H5F_ACC_TRUNC, H5P_DEFAULT, access), H5Fclose);
  write_object(file, results);
  require(H5Fflush(file, H5F_SCOPE_GLOBAL));
  const ssize_t size = H5Fget_file_image(file, nullptr, 0);
  std::string bytes(size > 0 ? static_cast<size_t>(size) : 0, '\0');
  if (size <= 0 || H5Fget_file_image(file, bytes.data(), bytes.size()) != size) throw UserError("HDF5: writing failed");
  return bytes;
}

}  // namespace simrun::cli
