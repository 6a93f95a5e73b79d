// Suites from YAML: what is read, and what is refused, where.
#include "configs/read_suite.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "base/user_error.h"

namespace simrun::configs {
namespace {

namespace fs = std::filesystem;

struct SuiteFiles : testing::Test {
  fs::path folder = fs::temp_directory_path() / ("simrun_read_suite_test." + std::to_string(getpid()));
  void SetUp() override {
    fs::create_directories(folder / "data");
    for (const char* name : {"prog", "in.txt", "data/in.txt"}) std::ofstream(folder / name) << "x";
    ASSERT_EQ(mkfifo((folder / "fifo").c_str(), 0600), 0);
  }
  void TearDown() override { fs::remove_all(folder); }

  std::string file() const { return (folder / "s.yaml").string(); }
  Suite parse(const std::string& text) const { return parse_suite(text, file()); }
  // The message behind the file's name.
  std::string error(const std::string& text) const {
    try {
      parse(text);
    } catch (const UserError& e) {
      EXPECT_EQ(e.exit_status, 2);
      const std::string what = e.what();
      EXPECT_EQ(what.find(file()), 0u) << what;
      return what.substr(std::min(what.size(), file().size()));
    }
    return "(accepted)";
  }
};

TEST_F(SuiteFiles, EveryKey) {
  const Suite suite = parse(R"(
name: two
description: a few
machines: [l3_1core, ./m.yaml]
environment: {A: 1, B: two}
inherit: [LICENCE]
options: [--details]
time_limit: 2m
programs:
  - name: one.first
    command: [./prog, -n, 5, "a b"]
    input: in.txt
    files: [data/, prog]
    environment: {B: three}
    inherit: [X, Y]
    options: [--top, 3]
    output: discard
    status: 3
    time_limit: 1.5h
  - name: two
    command: [true]
    directory: data
  - {name: three, trace: in.txt, options: [--from, 5]}
)");
  EXPECT_EQ(suite.name, "two");
  EXPECT_EQ(suite.description, "a few");
  EXPECT_EQ(suite.machines, (std::vector<std::string>{"l3_1core", (folder / "m.yaml").string()}));
  ASSERT_EQ(suite.programs.size(), 3u);
  const SuiteProgram& one = suite.programs[0];
  EXPECT_EQ(one.name, "one.first");
  EXPECT_EQ(one.command, (std::vector<std::string>{(folder / "prog").string(), "-n", "5", "a b"}));
  EXPECT_EQ(one.input, (folder / "in.txt").string());
  EXPECT_EQ(one.files, (std::vector<std::string>{(folder / "data").string(), (folder / "prog").string()}));
  EXPECT_EQ(one.environment, (std::vector<std::pair<std::string, std::string>>{{"A", "1"}, {"B", "two"}, {"B", "three"}}));
  EXPECT_EQ(one.inherit, (std::vector<std::string>{"LICENCE", "X", "Y"}));
  EXPECT_EQ(one.options, (std::vector<std::string>{"--details", "--top", "3"}));
  EXPECT_FALSE(one.keeps_output);
  EXPECT_EQ(one.status, 3);
  EXPECT_EQ(one.time_limit, 5400);
  const SuiteProgram& two = suite.programs[1];
  EXPECT_EQ(two.command, std::vector<std::string>{"true"});
  EXPECT_EQ(two.directory, (folder / "data").string());
  EXPECT_TRUE(two.keeps_output);
  EXPECT_EQ(two.status, 0);
  EXPECT_EQ(two.time_limit, 120);
  EXPECT_EQ(suite.programs[2].trace, (folder / "in.txt").string());
  EXPECT_TRUE(suite.programs[2].command.empty());
}

TEST_F(SuiteFiles, NameOfTheFileIsTheSuites) { EXPECT_EQ(parse("programs: [{name: a, command: [b]}]").name, "s"); }

TEST_F(SuiteFiles, BadSuites) {
  const auto program = [](const std::string& keys) { return "programs:\n- {name: a, " + keys + "}\n"; };
  const std::pair<std::string, std::string> kBad[] = {
      {"", ": the file is empty"},
      {"[1]", ":1:1: the suite must be a mapping"},
      {"name: x", ":1:1: the suite lacks the key 'programs'"},
      {"programs: []", ":1:11: 'programs' must be a list of at least one program"},
      {"programs: {a: b}", ":1:11: 'programs' must be a list"},
      {"name: a b\nprograms: [{name: a, command: [b]}]", ":1:7: the name 'a b' must be of letters"},
      {"program: []", ":1:1: unknown key 'program' in the suite; did you mean 'programs'?"},
      {"machines: x\nprograms: []", ":1:11: 'machines' of the suite must be a list of words"},
      {"machines: ['']\nprograms: []", ":1:11: 'machines': a name is empty"},
      {"programs: [{command: [a]}]", ":1:12: program 1 lacks the key 'name'"},
      {"programs: [{name: a, command: [a]}, {name: a, command: [b]}]", ":1:37: two programs are called a"},
      {program("command: gzip -c x"), ":2:22: 'command' of program 1 must be a list of words, such as [a, \"b c\"], not a value"},
      {program("command: []"), ":2:22: 'command' is empty"},
      {program("command: [[a]]"), ":2:23: a word of 'command' of program 1 must be a text"},
      {program("command: [\"a\\0b\"]"), ":2:23: a word of 'command' of program 1 must be a text"},
      {program("command: [./nothing]"), ":2:22: 'command': there is no "},
      {program("command: [./data]"), ":2:22: 'command': "},
      {program("status: 0"), ":2:10: program a needs a 'command' or a 'trace'"},
      {program("command: [b], trace: in.txt"), ":2:10: program a needs a 'command' or a 'trace', one of the two"},
      {program("trace: nothing"), ":2:20: 'trace': there is no "},
      {program("trace: in.txt, input: in.txt"), ":2:35: 'input' is for a program that runs"},
      {program("command: [b], input: nothing"), ":2:34: 'input': there is no "},
      {program("command: [b], input: data"), ":2:34: 'input': "},
      {program("command: [b], directory: prog"), ":2:38: 'directory': "},
      {program("command: [b], directory: data, files: [prog]"), ":2:51: 'files' are for a new folder"},
      {program("command: [b], files: [nothing]"), ":2:34: 'files': there is no "},
      {program("command: [b], files: [in.txt, data/in.txt]"), ":2:34: 'files': two are called in.txt"},
      {program("command: [b], status: 256"), ":2:35: 'status' must be from 0 to 255"},
      {program("command: [b], status: -1"), ":2:35: 'status' of program 1 must be a whole number"},
      {program("command: [b], time_limit: 5 parsecs"), ":2:39: 'time_limit' must be a time such as 90s"},
      {program("command: [b], time_limit: 0"), ":2:39: 'time_limit' must be a time"},
      {program("command: [b], time_limit: nan"), ":2:39: 'time_limit' must be a time"},
      {program("command: [b], output: none"), ":2:35: 'output' of program 1 cannot be 'none'; possible: keep, discard"},
      {program("command: [b], environment: [A]"), ":2:40: 'environment' of program 1 must be a mapping"},
      {program("command: [b], environment: {A: [1]}"), ":2:41: 'environment' of program 1 must map names to texts"},
      {program("command: [b], environment: {'A=B': 1}"), ":2:40: 'A=B' is no name of a variable"},
      {program("command: [b], inherit: ['A=']"), ":2:36: 'A=' is no name of a variable"},
      {program("command: [b], environment: {A: 1, A: 2}"), ":2:47: 'A' of program 1 is given twice in 'environment'"},
      {program("command: [b], environment: {A: }"), ":2:41: 'environment' of program 1 must map names to texts in UTF-8 (\"\" is"},
      {program("command: [true, ~]"), ":2:29: a word of 'command' of program 1 must be a text in UTF-8 without control characters; put it in quotes"},
      {program("command: [b], input: fifo"), ":2:34: 'input': " },
      {program("command: [b], files: [/]"), ":2:34: 'files': / has no name"},
      {program("command: [b], status: 4294967295"), ":2:35: 'status' must be from 0 to 255"},
      {program("command: [b], time_limit: inf"), ":2:39: 'time_limit' must be a time"},
      {program("command: [b], time_limit: 99999999999h"), ":2:39: 'time_limit' must be a time"},
      {"programs:\n- {name: run.csv, command: [b]}", ":2:10: the name 'run.csv' must be"},
      {"programs:\n- {name: .a, command: [b]}", ":2:10: the name '.a' must be"},
      {"programs:\n- {name: a/b, command: [b]}", ":2:10: the name 'a/b' must be"},
      {"programs: [\n", ":2:1: not valid YAML"},
      {"programs: [{name: a, command: [b]}]\n---\nx: 1", ":3:1: a second document; a suite file is one"},
  };
  for (const auto& [text, message] : kBad) EXPECT_EQ(error(text).substr(0, message.size()), message) << text << "\n" << error(text);
}

// Those that come with simrun.
TEST(Suites, AllAreRead) {
  set_suites_directory(CONFIGS "/suites");
  EXPECT_FALSE(suite_names().empty());
  for (const std::string& name : suite_names()) EXPECT_FALSE(read_suite(name).programs.empty()) << name;
}

}  // namespace
}  // namespace simrun::configs
