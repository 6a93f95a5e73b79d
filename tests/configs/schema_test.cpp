// The JSON Schema of machine files: the file is what the program says, and it knows what the reader knows.
#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <iterator>
#include <set>
#include <sstream>

#include "base/user_error.h"
#include "configs/machine_schema.h"
#include "configs/read_machine.h"

namespace simrun::configs {
namespace {

std::string read_file(const std::string& path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), {}};
}

std::set<std::string> keys_of(const nlohmann::ordered_json& object) {
  std::set<std::string> keys;
  for (const auto& [key, value] : object.at("properties").items()) keys.insert(key);
  return keys;
}

// The reader names the keys that it knows when it meets one that it does not.
std::set<std::string> keys_known_to_the_reader(const std::string& text) {
  try {
    parse_machine(text, "m.yaml");
  } catch (const UserError& error) {
    const std::string message = error.what();
    const std::string intro = "(known keys: ";
    const size_t start = message.find(intro) + intro.size();
    std::istringstream list(message.substr(start, message.rfind(')') - start));
    std::set<std::string> keys;
    for (std::string key; std::getline(list, key, ',');) keys.insert(key.substr(key.find_first_not_of(' ')));
    return keys;
  }
  return {};
}

TEST(MachineSchema, FileIsWhatTheProgramPrints) {
  const std::string path = std::string(CONFIGS) + "/machine.schema.json";
  const std::string text = machine_schema().dump(2) + "\n";
  if (std::getenv("SIMRUN_UPDATE_SCHEMA") != nullptr) std::ofstream(path) << text;
  EXPECT_EQ(read_file(path), text) << "if the change is wanted: SIMRUN_UPDATE_SCHEMA=1";
}

TEST(MachineSchema, KnowsTheKeysOfTheReader) {
  const auto schema = machine_schema();
  const auto& level = schema.at("properties").at("levels").at("items");
  EXPECT_EQ(keys_of(schema), keys_known_to_the_reader("bogus: 1\n"));
  EXPECT_EQ(keys_of(level), keys_known_to_the_reader("cores: 1\nlevels: [{bogus: 1}]\n"));
  EXPECT_EQ(keys_of(level.at("properties").at("data")),
            keys_known_to_the_reader("cores: 1\nlevels: [{name: L1, instruction: {bogus: 1}, data: {}}]\n"));
  const auto& tlb = schema.at("properties").at("tlb");
  const std::string base = "cores: 1\nlevels: [{name: L1, size: 4096, ways: 4}]\ntlb: ";
  EXPECT_EQ(keys_of(tlb), keys_known_to_the_reader(base + "{bogus: 1}\n"));
  EXPECT_EQ(keys_of(tlb.at("properties").at("data")), keys_known_to_the_reader(base + "{instruction: {bogus: 1}}\n"));
  EXPECT_EQ(keys_of(tlb.at("properties").at("second")),
            keys_known_to_the_reader(base + "{instruction: {entries: 1, ways: 1}, data: {entries: 1, ways: 1}, "
                                            "second: {bogus: 1}}\n"));
  EXPECT_EQ(keys_of(level.at("properties").at("prefetch").at("items")),
            keys_known_to_the_reader("cores: 1\nlevels: [{name: L1, size: 4096, ways: 4, prefetch: [{bogus: 1}]}]\n"));
  EXPECT_EQ(keys_of(schema.at("properties").at("core")),
            keys_known_to_the_reader("cores: 1\nlevels: [{name: L1, size: 4096, ways: 4}]\ncore: {bogus: 1}\n"));
  EXPECT_EQ(keys_of(schema.at("properties").at("memory")),
            keys_known_to_the_reader("cores: 1\nlevels: [{name: L1, size: 4096, ways: 4}]\nmemory: {bogus: 1}\n"));
}

// Each key stands in configs/README.md in backquotes at the start of a row.
TEST(MachineSchema, ReadmeHasTheKeys) {
  const auto schema = machine_schema();
  std::set<std::string> wanted = keys_of(schema);
  wanted.merge(keys_of(schema.at("properties").at("levels").at("items")));
  std::istringstream readme(read_file(std::string(CONFIGS) + "/README.md"));
  std::set<std::string> documented;
  for (std::string line; std::getline(readme, line);) {
    if (!line.starts_with("| `")) continue;
    const std::string cell = line.substr(2, line.find('|', 2) - 2);
    for (size_t at = cell.find('`'); at != std::string::npos;) {
      const size_t end = cell.find('`', at + 1);
      std::string key = cell.substr(at + 1, end - at - 1);
      documented.insert(key.substr(0, key.find(':')));  // `memory: {latency: N}`
      at = cell.find('`', end + 1);
    }
  }
  for (const std::string& key : wanted) EXPECT_TRUE(documented.contains(key)) << key;
}

}  // namespace
}  // namespace simrun::configs
