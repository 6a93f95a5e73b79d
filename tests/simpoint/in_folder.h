// Tests that write files: each in a folder of its own, which goes with it.
#pragma once

#include <gtest/gtest.h>
#include <stdlib.h>

#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>

namespace simrun::simpoint {

class InFolder : public ::testing::Test {
 protected:
  InFolder() {
    char name[] = "/tmp/simrun_simpoint_XXXXXX";
    folder_ = mkdtemp(name);
  }
  ~InFolder() override { std::filesystem::remove_all(folder_); }

  std::string path(const std::string& name) const { return folder_ / name; }
  std::string file(const std::string& name, const std::string& contents) const {
    std::ofstream(path(name), std::ios::binary) << contents;
    return path(name);
  }
  static std::string contents(const std::string& path) {
    std::ostringstream all;
    all << std::ifstream(path, std::ios::binary).rdbuf();
    return all.str();
  }

  std::filesystem::path folder_;
};

}  // namespace simrun::simpoint
