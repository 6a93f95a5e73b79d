// HDF5 and CSV results: read back.
#include "cli/hdf5_report.h"

#include <gtest/gtest.h>
#include <hdf5.h>

#include "cli/csv_report.h"

namespace simrun::cli {
namespace {

using Json = nlohmann::ordered_json;

class Hdf5Report : public testing::Test {
 protected:
  void open(const Json& json) {
    bytes_ = hdf5_report(json);
    const hid_t access = H5Pcreate(H5P_FILE_ACCESS);
    H5Pset_fapl_core(access, 1 << 16, false);
    H5Pset_file_image(access, bytes_.data(), bytes_.size());
    file_ = H5Fopen("image", H5F_ACC_RDONLY, access);
    H5Pclose(access);
    ASSERT_GE(file_, 0);
  }
  ~Hdf5Report() override { H5Fclose(file_); }

  uint64_t integer(const char* object, const char* attribute) {
    uint64_t value = ~uint64_t{0};
    const hid_t a = H5Aopen_by_name(file_, object, attribute, H5P_DEFAULT, H5P_DEFAULT);
    H5Aread(a, H5T_NATIVE_UINT64, &value);
    H5Aclose(a);
    return value;
  }
  template <class T>
  std::vector<T> column(const char* path, hid_t type) {
    const hid_t set = H5Dopen2(file_, path, H5P_DEFAULT);
    const hid_t space = H5Dget_space(set);
    std::vector<T> values(static_cast<size_t>(H5Sget_simple_extent_npoints(space)));
    H5Dread(set, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, values.data());
    H5Sclose(space);
    H5Dclose(set);
    return values;
  }

  std::string bytes_;
  hid_t file_ = -1;
};

const Json kResults = Json::parse(R"({
  "schema": "s", "counted": true, "signal": null, "totals": {"instructions": 18446744073709551615, "loads": 3},
  "command": ["ls", "-l"],
  "levels": [{"name": "L1", "misses": 7, "miss_rate": 0.5, "sharing_degrees": [1, 2],
              "caches": [{"name": "L1.0", "events": {"evictions": 4}}]}],
  "cores": [{"core": 0, "cpi": 1.5, "tlb": {"walks": 3}, "list": [{"name": "a", "x": 9}], "ages": [], "hist": [1, 2]},
            {"core": 1, "cpi": 2, "l2_bytes": 64, "l2": {"ways": 3}, "tlb": {"walks": 4}, "list": [], "ages": [5, 6], "hist": [3, 4]},
            {"core": 2, "cpi": 3, "l2_bytes": 128, "l2": {"ways": 4}, "tlb": {"walks": 5}, "list": [{"name": "a", "x": 7}, {"name": "b", "x": 8}], "ages": [7], "hist": [5, 6]}],
  "transfers": []})");

TEST_F(Hdf5Report, GroupsAttributesColumns) {
  open(kResults);
  EXPECT_EQ(integer("/totals", "instructions"), ~uint64_t{0});
  EXPECT_EQ(integer("/", "counted"), 1u);
  EXPECT_EQ(integer("/levels/L1", "misses"), 7u);
  EXPECT_EQ(integer("/levels/L1/caches/L1.0/events", "evictions"), 4u);
  EXPECT_EQ(column<uint64_t>("/levels/L1/sharing_degrees", H5T_NATIVE_UINT64), (std::vector<uint64_t>{1, 2}));
  EXPECT_EQ(column<double>("/cores/cpi", H5T_NATIVE_DOUBLE), (std::vector<double>{1.5, 2, 3}));
  EXPECT_EQ(column<uint64_t>("/cores/tlb/walks", H5T_NATIVE_UINT64), (std::vector<uint64_t>{3, 4, 5}));
  EXPECT_GT(H5Aexists_by_name(file_, "/cores/cpi", "unit", H5P_DEFAULT), 0);
}

TEST_F(Hdf5Report, ListsWithinRowsAreTablesOrMatrices) {
  open(kResults);
  EXPECT_EQ(column<uint64_t>("/cores/list/row", H5T_NATIVE_UINT64), (std::vector<uint64_t>{0, 2, 2}));
  EXPECT_EQ(column<uint64_t>("/cores/list/x", H5T_NATIVE_UINT64), (std::vector<uint64_t>{9, 7, 8}));
  EXPECT_EQ(column<uint64_t>("/cores/ages/row", H5T_NATIVE_UINT64), (std::vector<uint64_t>{1, 1, 2}));
  EXPECT_EQ(column<uint64_t>("/cores/ages/value", H5T_NATIVE_UINT64), (std::vector<uint64_t>{5, 6, 7}));
  EXPECT_EQ(column<uint64_t>("/cores/hist", H5T_NATIVE_UINT64), (std::vector<uint64_t>{1, 2, 3, 4, 5, 6}));
  const hid_t set = H5Dopen2(file_, "/cores/hist", H5P_DEFAULT), space = H5Dget_space(set);
  hsize_t dimensions[2] = {};
  EXPECT_EQ(H5Sget_simple_extent_dims(space, dimensions, nullptr), 2);
  EXPECT_EQ(dimensions[0], 3u);
  EXPECT_EQ(dimensions[1], 2u);
  H5Sclose(space);
  H5Dclose(set);
}

TEST_F(Hdf5Report, WhatNotAllRowsHaveSaysWhichDo) {
  open(kResults);
  EXPECT_EQ(column<uint64_t>("/cores/l2_bytes/row", H5T_NATIVE_UINT64), (std::vector<uint64_t>{1, 2}));
  EXPECT_EQ(column<uint64_t>("/cores/l2_bytes/value", H5T_NATIVE_UINT64), (std::vector<uint64_t>{64, 128}));
  EXPECT_EQ(column<uint64_t>("/cores/l2/row", H5T_NATIVE_UINT64), (std::vector<uint64_t>{1, 2}));
  EXPECT_EQ(column<uint64_t>("/cores/l2/ways", H5T_NATIVE_UINT64), (std::vector<uint64_t>{3, 4}));
}

TEST(CsvReport, OneRowForEachNumber) {
  const std::string csv = csv_report(kResults);
  EXPECT_EQ(csv.rfind("path,value\n", 0), 0u);
  EXPECT_NE(csv.find("\n\"levels/L1/caches/L1.0/events/evictions\",4\n"), std::string::npos);
  EXPECT_NE(csv.find("\n\"totals/instructions\",18446744073709551615\n"), std::string::npos);
  EXPECT_NE(csv.find("\n\"cores/1/cpi\",2\n"), std::string::npos);
  EXPECT_EQ(csv.find("\"ls\""), std::string::npos);
  EXPECT_EQ(csv_report({{"order", "recorded"}, {"mode", "sim"}}), "path,value\n\"order/recorded\",1\n");
  EXPECT_EQ(csv_report({{"sweep", {{{"settings", {{"L2.replacement", "lru"}}}, {"name", "x"}}}}}), "path,value\n\"sweep/x/settings/L2.replacement/lru\",1\n");
}

TEST(Units, ByName) {
  EXPECT_EQ(unit_of("stall_cycles"), "cycles");
  EXPECT_EQ(unit_of("wall_seconds"), "s");
  EXPECT_EQ(unit_of("misses"), "1");
}

}  // namespace
}  // namespace simrun::cli
