// simrun from outside: streams, exit statuses, signals, results.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <string>
#include <thread>
#include <vector>

namespace {

namespace fs = std::filesystem;
using Words = std::vector<std::string>;

std::string read_file(const fs::path& path) {
  std::ifstream in(path);
  return {std::istreambuf_iterator<char>(in), {}};
}

class RunCommand : public testing::Test {
 protected:
  RunCommand() { fs::create_directory(directory_); }
  ~RunCommand() override { fs::remove_all(directory_); }

  // Starts simrun in a process group of its own; standard output and error go to files.
  pid_t start(const Words& arguments) {
    const pid_t pid = fork();
    if (pid != 0) return pid;
    setpgid(0, 0);
    dup2(open(out().c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600), 1);
    dup2(open(err().c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600), 2);
    std::vector<char*> argv{const_cast<char*>(SIMRUN_EXECUTABLE)};
    for (const std::string& a : arguments) argv.push_back(const_cast<char*>(a.c_str()));
    argv.push_back(nullptr);
    execv(SIMRUN_EXECUTABLE, argv.data());
    _exit(99);
  }
  static int wait_for(pid_t pid) {
    int status = 0;
    waitpid(pid, &status, 0);
    return status;
  }
  int run(const Words& arguments) { return wait_for(start(arguments)); }
  // Until the program has written a line.
  bool wait_for_output() {
    for (int i = 0; i < 3000; ++i) {
      if (read_file(out()).find('\n') != std::string::npos) return true;
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
    }
    return false;
  }
  nlohmann::json results() const { return nlohmann::json::parse(read_file(json())); }
  std::string out() const { return directory_ / "out"; }
  std::string err() const { return directory_ / "err"; }
  std::string json() const { return directory_ / "result.json"; }

  const fs::path directory_ = fs::temp_directory_path() / ("simrun_run_command_test" + std::to_string(getpid()));
};

#define EXPECT_EXIT(status, code)                \
  do {                                           \
    const int s = (status);                      \
    EXPECT_TRUE(WIFEXITED(s)) << "status " << s; \
    EXPECT_EQ(WEXITSTATUS(s), code);             \
  } while (0)

#define EXPECT_SIGNALED(status, signal)            \
  do {                                             \
    const int s = (status);                        \
    EXPECT_TRUE(WIFSIGNALED(s)) << "status " << s; \
    EXPECT_EQ(WTERMSIG(s), signal);                \
    EXPECT_FALSE(WCOREDUMP(s));                    \
  } while (0)

// Neither simrun nor the engine in the program takes a library of its own from where the user happens to be.
TEST_F(RunCommand, LibrariesOfTheWorkingDirectoryAreNotOurs) {
  for (const char* name : {"libZydis.so.4.0", "libyaml-cpp.so.0.7", "libfmt.so.9", "libmimalloc.so.2.0", "libstdc++.so.6", "libm.so.6",
                           "libc.so.6", "libhdf5_serial.so.103", "libsimrun-hdf5.so"})
    std::ofstream(directory_ / name) << "no library\n";
  const fs::path before = fs::current_path();
  fs::current_path(directory_);
  const int status = run({"-q", "--config", "l3_1core.yaml", "--hdf5", "result.h5", "--", "/bin/echo", "ran"});
  fs::current_path(before);
  EXPECT_EXIT(status, 0);
  EXPECT_EQ(read_file(out()), "ran\n") << read_file(err());
  EXPECT_GT(fs::file_size(directory_ / "result.h5"), 1000u);
}

TEST_F(RunCommand, LoopsAreUnrolledUnlessAskedNotTo) {
  const auto translated = [&](Words options) {
    options.insert(options.end(), {"-q", "-j", json(), "--", "/bin/true"});
    EXPECT_EXIT(run(options), 0);
    return results()["engine"]["translated_instructions"].get<uint64_t>();
  };
  const uint64_t plain = translated({"--mode", "null", "--no-unroll"});
  EXPECT_GT(translated({"--mode", "null"}), plain + plain / 100);
  EXPECT_EQ(translated({"--mode", "trace"}), translated({"--mode", "trace", "--no-unroll"}));
}

TEST_F(RunCommand, OutputAndStatusAreTheProgramsOwn) {
  EXPECT_EXIT(
      run({"-c", "l3_8core.yaml", "-j", json(), "--", "/bin/sh", "-c", "echo to out; echo to err >&2; exit 42"}), 42);
  EXPECT_EQ(read_file(out()), "to out\n");
  const std::string error = read_file(err());
  EXPECT_EQ(error.substr(0, 7), "to err\n");
  EXPECT_NE(error.find("exit status 42"), std::string::npos);
  const auto r = results();
  EXPECT_EQ(r.at("exit_status"), 42);
  EXPECT_EQ(r.at("complete"), true);
  EXPECT_GT(r.at("totals").at("instructions").get<uint64_t>(), 10'000u);
  EXPECT_GT(r.at("levels").at(0).at("misses").get<uint64_t>(), 0u);
}

// In a mount namespace of its own, for who may have one.
TEST_F(RunCommand, WithoutProcSaysThatItIsNeeded) {
  if (std::system("unshare -m umount -l /proc 2>/dev/null") != 0) GTEST_SKIP() << "mount namespaces are not allowed";
  const std::string command = "unshare -m sh -c 'while umount -l /proc; do :; done 2>/dev/null; exec " SIMRUN_EXECUTABLE " --mode null -- /bin/true' 2>" + err();
  EXPECT_EXIT(std::system(command.c_str()), 1);
  EXPECT_NE(read_file(err()).find("simrun needs /proc"), std::string::npos) << read_file(err());
}

// Its child's number there is another process's.
TEST_F(RunCommand, ProcOfAnotherPidNamespaceIsRefused) {
  if (std::system("unshare -pf true 2>/dev/null") != 0) GTEST_SKIP() << "PID namespaces are not allowed";
  EXPECT_EXIT(std::system(("unshare -pf " SIMRUN_EXECUTABLE " --mode null -- /bin/true 2>" + err()).c_str()), 1);
  EXPECT_NE(read_file(err()).find("/proc is that of another PID namespace"), std::string::npos) << read_file(err());
}

TEST_F(RunCommand, QuietSaysNothing) {
  EXPECT_EXIT(run({"-q", "--mode", "trace", "--", "/bin/true"}), 0);
  EXPECT_EQ(read_file(err()), "");
}

#if !defined(__SANITIZE_ADDRESS__)   // its shadow does not fit under such a limit
// What simrun itself needs is more; the hard limit allows it.
TEST_F(RunCommand, SoftMemoryLimitIsTheProgramsOnly) {
  rlimit before{};
  ASSERT_EQ(getrlimit(RLIMIT_AS, &before), 0);
  rlimit low = before;
  low.rlim_cur = 256ul << 20;
  ASSERT_EQ(setrlimit(RLIMIT_AS, &low), 0);
  const pid_t pid = start({"-q", "-c", "l3_8core.yaml", "--", "/bin/sh", "-c", "ulimit -S -v"});
  ASSERT_EQ(setrlimit(RLIMIT_AS, &before), 0);
  EXPECT_EXIT(wait_for(pid), 0);
  EXPECT_EQ(read_file(out()), "262144\n") << read_file(err());
}
#endif

// Of the engine's memory files, too; a child's among them.
TEST_F(RunCommand, SoftFileSizeLimitIsTheProgramsOnly) {
  rlimit before{};
  ASSERT_EQ(getrlimit(RLIMIT_FSIZE, &before), 0);
  rlimit low = before;
  low.rlim_cur = 1 << 20;
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &low), 0);
  const pid_t pid = start({"-q", "-c", "l3_8core.yaml", "-j", json(), "--", "/bin/sh", "-c", "ulimit -S -f; (ulimit -S -f; exit 3); exit $?"});
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &before), 0);
  EXPECT_EXIT(wait_for(pid), 3);
  EXPECT_EQ(read_file(out()), "2048\n2048\n") << read_file(err());
  EXPECT_EQ(results()["processes"].size(), 2u);
}

TEST_F(RunCommand, AResultBeyondTheFileSizeLimitIsAMessage) {
  rlimit before{};
  ASSERT_EQ(getrlimit(RLIMIT_FSIZE, &before), 0);
  rlimit low = before;
  low.rlim_cur = 4096;
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &low), 0);
  const pid_t pid = start({"-q", "-c", "l3_8core.yaml", "-j", json(), "--", "/bin/grep", "SigIgn", "/proc/self/status"});
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &before), 0);
  EXPECT_EXIT(wait_for(pid), 1);
  EXPECT_NE(read_file(err()).find("json: File too large"), std::string::npos) << read_file(err());
  EXPECT_EQ(read_file(out()), "SigIgn:\t0000000000000000\n");
}

// What such a limit leaves no room for goes on natively.
TEST_F(RunCommand, AProgramUnderAHardFileSizeLimitRuns) {
  EXPECT_EXIT(run({"-c", "l3_8core.yaml", "-j", json(), "--", "/bin/sh", "-c", "ulimit -f 1000; /bin/echo hi; echo status $?"}), 0);
  EXPECT_EQ(read_file(out()), "hi\nstatus 0\n") << read_file(err());
  const bool is_said = read_file(err()).find("(echo) is not followed: the hard file-size limit") != std::string::npos;
  EXPECT_EQ(results()["processes"].size(), is_said ? 1u : 2u) << read_file(err());
}

TEST_F(RunCommand, CountsRepeat) {
  const auto count = [&](const Words& more) {
    Words arguments{"-q", "--mode", "trace", "-j", json()};
    arguments.insert(arguments.end(), more.begin(), more.end());
    arguments.insert(arguments.end(), {"--", "/bin/echo", "x"});
    EXPECT_EXIT(run(arguments), 0);
    const auto totals = results().at("totals");
    return std::vector<uint64_t>{totals.at("instructions"), totals.at("loads"), totals.at("stores"),
                                 totals.at("fetch_lines")};
  };
  const auto once = count({});
  EXPECT_EQ(count({}), once);
  // Not a matter of how the engine cuts, links or traces, nor of how large the ring is.
  EXPECT_EQ(count({"--max-superblock", "1"}), once);
  EXPECT_EQ(count({"--no-link", "--no-elide", "--ring-size", "16KiB"}), once);
}

// Several runs are compared to the last counter here and below. Not of a shell: it formats its parent's process number, which has more
// digits in one run than in another.
TEST_F(RunCommand, OneRunManyMachinesAndSlices) {
  const Words program = {"--", "/usr/bin/seq", "60000"};
  const auto with = [&](Words options) {
    for (const char* word : {"--config", "l3_1core", "--quiet", "--json"}) options.emplace_back(word);
    options.push_back(json());
    options.insert(options.end(), program.begin(), program.end());
    EXPECT_EQ(WEXITSTATUS(run(options)), 0) << read_file(err());
    return results();
  };
  const auto serial = with({"--check", "--interval", "500000"});
  const auto sliced = with({"--sim-threads", "2", "--check", "--interval", "500000"});
  EXPECT_EQ(serial.at("levels"), sliced.at("levels"));
  EXPECT_GE(sliced.at("intervals").size(), 2u);
  EXPECT_EQ(serial.at("cores"), sliced.at("cores"));
  EXPECT_TRUE(sliced.at("warnings").empty());
  EXPECT_GE(serial.at("intervals").size(), 2u);
  uint64_t instructions = 0, misses = 0;
  for (const auto& interval : serial.at("intervals")) {
    instructions += interval.at("instructions").get<uint64_t>();
    misses += interval.at("levels").at("L1D").at("misses").get<uint64_t>();
  }
  EXPECT_EQ(instructions, serial.at("totals").at("instructions"));
  EXPECT_EQ(misses, serial.at("levels").at(1).at("misses"));
  const auto sweep = with({"--sweep", "L1.data.size=16KiB,32KiB,64KiB"});
  ASSERT_EQ(sweep.at("sweep").size(), 3u);
  EXPECT_EQ(sweep.at("sweep").at(1).at("levels"), serial.at("levels"));
  const auto curve = with({"--miss-curve", "L1D"});
  EXPECT_EQ(curve.at("levels"), serial.at("levels"));
  EXPECT_EQ(curve.at("miss_curve").at("accesses"), serial.at("levels").at(1).at("accesses"));
  EXPECT_EQ(WEXITSTATUS(run({"--config", "l3_1core", "--miss-curve", "L9", "--", "true"})), 2);
  EXPECT_NE(read_file(err()).find("no level 'L9'"), std::string::npos);
}

// Where intervals are cut does not go by when the reader found words.
TEST_F(RunCommand, IntervalsOfOneThreadRepeat) {
  std::vector<nlohmann::json> runs;
  for (int k = 0; k < 3; ++k) {
    const fs::path file = directory_ / ("r" + std::to_string(k));
    ASSERT_EQ(run({"-q", "-c", "l3_1core", "--interval", "1000", "-j", file, "--", "/usr/bin/sort", "/etc/passwd"}), 0);
    runs.push_back(nlohmann::json::parse(read_file(file)).at("intervals"));
  }
  EXPECT_GT(runs[0].size(), 100u);
  EXPECT_EQ(runs[0], runs[1]);
  EXPECT_EQ(runs[0], runs[2]);
}

TEST_F(RunCommand, DetailsExplainTheMissesOfThePlainRun) {
  const Words program = {"--", "/usr/bin/env", "/usr/bin/seq", "5000"};
  const auto with = [&](Words arguments) {
    arguments.insert(arguments.begin(), {"-q", "-c", "l3_8core", "-j", json()});
    arguments.insert(arguments.end(), program.begin(), program.end());
    EXPECT_EXIT(run(arguments), 0);
    return results();
  };
  const auto plain = with({});
  const auto detailed = with({"--details", "--top", "7", "--interval", "200000"});
  EXPECT_EQ(detailed.at("totals").at("instructions"), plain.at("totals").at("instructions"));
  EXPECT_TRUE(plain.at("levels").at(0).at("miss_classes").is_null());
  for (size_t i = 0; i < plain.at("levels").size(); ++i) {
    const auto& level = detailed.at("levels").at(i);
    EXPECT_EQ(level.at("misses"), plain.at("levels").at(i).at("misses"));
    uint64_t sum = 0;
    for (const auto& [name, count] : level.at("miss_classes").items()) sum += count.get<uint64_t>();
    EXPECT_EQ(sum, level.at("misses").get<uint64_t>() + level.at("misses_by_kind").at("prefetches").get<uint64_t>());
  }
  EXPECT_EQ(detailed.at("hot_instructions").size(), 7u);
  EXPECT_EQ(detailed.at("hot_lines").size(), 7u);
  EXPECT_NE(detailed.at("hot_instructions").at(0).at("module"), "");
  // Two processes, as an exec makes a new one: what they did is what the cores did.
  ASSERT_EQ(plain.at("processes").size(), 2u);
  uint64_t cores = 0, processes = 0;
  for (const auto& c : plain.at("cores")) cores += c.at("loads").get<uint64_t>();
  for (const auto& p : plain.at("processes")) processes += p.at("model").at("loads").get<uint64_t>();
  EXPECT_EQ(processes, cores);
}

TEST_F(RunCommand, PinsAndRecordedOrder) {
  const Words program = {"--", "/bin/echo", "x"};
  const auto with = [&](Words arguments) {
    arguments.insert(arguments.begin(), {"-q", "-c", "l3_8core", "-j", json()});
    arguments.insert(arguments.end(), program.begin(), program.end());
    return run(arguments);
  };
  EXPECT_EXIT(with({"--pin", "5,0-3"}), 0);
  const auto pinned = results();
  EXPECT_EQ(pinned.at("threads").at(0).at("core"), 5);
  EXPECT_EXIT(with({"--order", "recorded"}), 0);
  EXPECT_EQ(results().at("totals").at("instructions"), pinned.at("totals").at("instructions"));
  EXPECT_EQ(results().at("levels").at(1).at("misses"), pinned.at("levels").at(1).at("misses"));
  EXPECT_EXIT(with({"--pin", "8"}), 2);
  EXPECT_NE(read_file(err()).find("no core 8"), std::string::npos);
  EXPECT_EXIT(with({"--pin", "3-1"}), 2);
  EXPECT_NE(read_file(err()).find("no list of cores"), std::string::npos);
  EXPECT_EXIT(with({"--order", "host"}), 2);
}

TEST_F(RunCommand, SignalOfTheProgramEndsSimrunToo) {
  EXPECT_SIGNALED(run({"--mode", "trace", "-j", json(), "--", "/bin/sh", "-c", "kill -SEGV $$"}), SIGSEGV);
  EXPECT_EQ(results().at("signal"), SIGSEGV);
  EXPECT_EQ(results().at("exit_status"), 128 + SIGSEGV);
  EXPECT_NE(read_file(err()).find("SIGSEGV"), std::string::npos);
}

TEST_F(RunCommand, KilledProgramStillGetsItsReport) {
  EXPECT_SIGNALED(run({"--mode", "trace", "-j", json(), "--", "/bin/sh", "-c", "kill -KILL $$"}), SIGKILL);
  EXPECT_GT(results().at("totals").at("instructions").get<uint64_t>(), 10'000u);
  EXPECT_FALSE(results().at("threads").at(0).at("cut_off").get<bool>());   // it was in a system call
}

TEST_F(RunCommand, SigtermAtSimrunIsPassedOn) {
  const pid_t pid = start({"--mode", "trace", "-j", json(), "--", "/bin/sh", "-c",
                           "trap 'echo caught; exit 7' TERM; echo ready; while :; do :; done"});
  ASSERT_TRUE(wait_for_output());
  kill(pid, SIGTERM);
  EXPECT_EXIT(wait_for(pid), 7);
  EXPECT_EQ(read_file(out()), "ready\ncaught\n");
}

TEST_F(RunCommand, SignalsForTheProgramArePassedOnEvenWhenIgnoredHere) {
  // As in the background of a script; bash gets no trap for what was ignored when it started, python does.
  const auto before = signal(SIGQUIT, SIG_IGN);
  const char* program =
      "import os, signal\n"
      "for s in signal.SIGUSR1, signal.SIGUSR2, signal.SIGQUIT:\n"
      "  signal.signal(s, lambda s, f: (print(s, flush=True), s == signal.SIGQUIT and os._exit(7)))\n"
      "print('ready', flush=True)\n"
      "while True: signal.pause()\n";
  const pid_t pid = start({"--mode", "null", "--", "/usr/bin/python3", "-c", program});
  signal(SIGQUIT, before);
  const auto lines = [&](const std::string& expected) {
    for (int i = 0; i < 3000 && read_file(out()) != expected; ++i)
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
    return read_file(out());
  };
  ASSERT_EQ(lines("ready\n"), "ready\n");
  kill(pid, SIGUSR1);
  EXPECT_EQ(lines("ready\n10\n"), "ready\n10\n");
  kill(pid, SIGUSR2);
  EXPECT_EQ(lines("ready\n10\n12\n"), "ready\n10\n12\n");
  kill(pid, SIGQUIT);
  EXPECT_EXIT(wait_for(pid), 7);
}

TEST_F(RunCommand, SignalToTheGroupEndsBothWithAReport) {
  const pid_t pid = start({"--mode", "trace", "-j", json(), "--", "/bin/sh", "-c", "echo ready; while :; do :; done"});
  ASSERT_TRUE(wait_for_output());
  kill(-pid, SIGINT);
  EXPECT_SIGNALED(wait_for(pid), SIGINT);
  EXPECT_EQ(results().at("signal"), SIGINT);
}

// It fills its ring again and again, and was to wait 100 ms each time for somebody who had gone (more than 90 s in all; now 4).
TEST_F(RunCommand, WhoOutlivesTheProgramGoesOnAtItsPace) {
  const std::string result = directory_ / "sum";
  const std::string program =
      "if (fork) { select(undef, undef, undef, 0.3); exit 0 } $i += $_ for 1 .. 1e7;"
      "open F, '>', \"$ARGV[0].part\"; print F $i; close F; rename \"$ARGV[0].part\", $ARGV[0]";
  EXPECT_EXIT(run({"--mode", "trace", "-q", "--", "/usr/bin/perl", "-e", program, result}), 0);
  for (int k = 0; k < 6000 && !fs::exists(result); ++k) std::this_thread::sleep_for(std::chrono::milliseconds(10));
  EXPECT_EQ(read_file(result), "50000005000000");
}

// One waits in a call, all read, while what another wrote is still simulated; then it computes.
TEST_F(RunCommand, WhoOutlivesTheProgramGoesOnThoughItsStreamHasBeenRead) {
  const std::string result = directory_ / "sum";
  const std::string program =
      "sub last_of { select undef, undef, undef, $_[0]; $i += $_ for 1 .. $_[1]; exit 0 if @_ < 3;"
      "open F, '>', \"$ARGV[0].part\"; print F $i; close F; rename \"$ARGV[0].part\", $ARGV[0]; exit 0 }"
      "fork || last_of(2, 1e7, 'told'); fork || last_of(0, 4e6); select(undef, undef, undef, 0.2); exit 0";
  EXPECT_EXIT(run({"--config", "l3_4core.yaml", "--json", json(), "-q", "--", "/usr/bin/perl", "-e", program, result}), 0);
  for (int k = 0; k < 1000 && !fs::exists(result); ++k) std::this_thread::sleep_for(std::chrono::milliseconds(10));
  EXPECT_EQ(read_file(result), "50000005000000");
  EXPECT_EQ(results().at("process").at("left_running"), 2);
}

TEST_F(RunCommand, MissingThingsAreOneMessageAndAStatus) {
  EXPECT_EXIT(run({"--mode", "trace", "--", "/nonexistent/program"}), 127);
  EXPECT_EXIT(run({"--mode", "trace", "--", "/etc/passwd"}), 126);
  EXPECT_EXIT(run({"-c", "no_such_machine.yaml", "--", "/bin/true"}), 2);
  EXPECT_EXIT(run({"-c", "l3_8core.yaml", "-j", "/nonexistent/r.json", "--", "/bin/true"}), 1);
  EXPECT_EXIT(run({"--", "/bin/true"}), 2);
  EXPECT_EQ(read_file(err()).find("simrun: "), 0u);
}

// A report went into the result that had got its descriptor.
TEST_F(RunCommand, ResultsAreWholeWithoutStandardStreams) {
  const std::string file = directory_ / "file", program = " -- /bin/sh -c 'i=0; while [ $i -lt 5000 ]; do i=$((i+1)); done'";
  const auto run_without = [&](const std::string& closed, const std::string& arguments) {
    fs::remove_all(file);
    return std::system(("exec " SIMRUN_EXECUTABLE " " + arguments + " " + closed).c_str());
  };
  for (const std::string closed : {"2>&-", ">&- 2>&-"}) {
    EXPECT_EXIT(run_without(closed, "record -o " + file + program), 0);
    EXPECT_EXIT(run({"check", file}), 0);
  }
  for (const std::string command : {"-c l3_8core -j ", "sharing -c l3_8core -j "}) {
    EXPECT_EXIT(run_without("2>&-", command + file + program), 0);
    EXPECT_TRUE(nlohmann::json::accept(read_file(file))) << command;
  }
  EXPECT_EXIT(run_without("2>&-", "-c l3_8core --hdf5 " + file + program), 0);
  EXPECT_EQ(read_file(file).substr(0, 4), "\x89HDF");
  EXPECT_EXIT(run_without("2>&-", "bbv --interval 100k -o " + file + program), 0);
  EXPECT_EQ(read_file(file).substr(0, 2), "# ");
  EXPECT_EXIT(run_without("2>&-", "pinpoints -c l3_8core --interval 100k -o " + file + program), 0);
  for (const auto& entry : fs::directory_iterator(file + "/regions"))
    if (entry.path().extension() == ".trace") EXPECT_EXIT(run({"check", entry.path()}), 0);
  EXPECT_EXIT(run_without(">&-", "-q -c l3_8core -j - -- /bin/true 2>" + err()), 1);
  EXPECT_EQ(read_file(err()), "simrun: cannot write standard output: Bad file descriptor\n");
}

TEST_F(RunCommand, NullAndDiscardCountNothing) {
  EXPECT_EXIT(run({"--mode", "null", "-j", json(), "--", "/bin/true"}), 0);
  EXPECT_EQ(results().at("counted"), false);
  EXPECT_EXIT(run({"--mode", "trace", "--discard", "-j", json(), "--", "/bin/true"}), 0);
  EXPECT_GT(results().at("process").at("discarded_words").get<uint64_t>(), 1000u);
}

// As many words as somebody would have read, of all processes.
TEST_F(RunCommand, DiscardsWhatWouldBeRead) {
  const std::string script = "i=0; while [ $i -lt 2000 ]; do i=$((i+1)); done; (exit 3); (/bin/true; exit 4); /bin/true";
  EXPECT_EXIT(run({"--mode", "trace", "-j", json(), "--", "/bin/sh", "-c", script}), 0);
  const auto read = results().at("totals").at("stream_words").get<double>();
  EXPECT_EXIT(run({"--mode", "trace", "--discard", "-j", json(), "--", "/bin/sh", "-c", script}), 0);
  EXPECT_NEAR(results().at("process").at("discarded_words").get<double>(), read, read / 50);
}

TEST_F(RunCommand, StoppedAndContinued) {
  const pid_t pid = start({"-q", "--mode", "trace", "-j", json(), "--", "/bin/sh", "-c",
                           "echo $$; i=0; while [ $i -lt 20000 ]; do i=$((i+1)); done"});
  ASSERT_TRUE(wait_for_output());
  const pid_t program = std::stoi(read_file(out()));
  kill(program, SIGSTOP);
  std::this_thread::sleep_for(std::chrono::milliseconds(200));
  EXPECT_EQ(waitpid(pid, nullptr, WNOHANG), 0);
  kill(program, SIGCONT);
  EXPECT_EXIT(wait_for(pid), 0);
}

// The processes of results.json whose command starts with `name`.
std::vector<nlohmann::json> named(const nlohmann::json& results, const std::string& name) {
  std::vector<nlohmann::json> found;
  for (const auto& p : results["processes"])
    if (p["command"].get<std::string>().starts_with(name)) found.push_back(p);
  return found;
}

TEST_F(RunCommand, FollowsForkAndExec) {
  EXPECT_EXIT(run({"--mode", "trace", "--json", json(), "--", "/bin/sh", "-c", "/bin/echo a; (true; exit 3); echo $?"}), 0);
  EXPECT_EQ(read_file(out()), "a\n3\n");
  const auto r = results();
  EXPECT_EQ(named(r, "/bin/sh").size(), 2u);   // itself and the part in parentheses
  EXPECT_EQ(named(r, "/bin/echo").size(), 1u);
  EXPECT_EQ(r["process"]["native_children"], 0);
  EXPECT_EQ(r["threads"].size(), 3u);
  for (const auto& t : r["threads"]) EXPECT_GT(t["instructions"], 100);
}

// Many have ended before anybody looks at them again.
TEST_F(RunCommand, ShortLivedProcessesHaveTheirCommands) {
  const std::string script = "i=0; while [ $i -lt 50 ]; do /bin/true $i & (exit 3) & i=$((i+1)); done; wait";
  EXPECT_EXIT(run({"--mode", "trace", "--json", json(), "--", "/bin/sh", "-c", script}), 0);
  const auto r = results();
  EXPECT_EQ(r["processes"].size(), 151u);
  EXPECT_EQ(named(r, "/bin/sh -c " + script).size(), 101u);
  for (int k = 0; k < 50; ++k) EXPECT_EQ(named(r, "/bin/true " + std::to_string(k)).empty(), false) << k;
}

TEST_F(RunCommand, FollowedExecCountsAsMuchAsTheProgramAlone) {
  run({"--mode", "trace", "--json", json(), "--", "/bin/true"});
  const auto alone = results()["totals"]["instructions"].get<int64_t>();
  run({"--mode", "trace", "--json", json(), "--", "/bin/sh", "-c", "exec /bin/true"});
  const auto r = results();
  ASSERT_EQ(r["threads"].size(), 2u);
  // The environment differs a little (`_`, OLDPWD, PWD).
  EXPECT_NEAR(r["threads"][1]["instructions"].get<double>(), static_cast<double>(alone), static_cast<double>(alone) / 50);
}

TEST_F(RunCommand, FollowsNothingWhenTold) {
  EXPECT_EXIT(run({"--mode", "trace", "--follow-children=no", "--json", json(), "--", "/bin/sh", "-c", "/bin/echo a; exit 4"}), 4);
  const auto r = results();
  EXPECT_EQ(r["processes"].size(), 1u);
  EXPECT_EQ(r["process"]["native_children"], 1);
}

TEST_F(RunCommand, FollowsByPattern) {
  EXPECT_EXIT(run({"--mode", "trace", "--follow-children=ech?", "--json", json(), "--", "/bin/bash", "-c",
                   "/usr/bin/env /bin/true; /usr/bin/env /bin/echo hello; /bin/true"}),
              0);
  EXPECT_EQ(read_file(out()), "hello\n");
  const auto r = results();
  EXPECT_EQ(named(r, "/bin/echo").size(), 1u);
  EXPECT_EQ(named(r, "/bin/true").size(), 0u);
  EXPECT_EQ(named(r, "/usr/bin/env").size(), 0u);
  run({"--mode", "trace", "--follow-children=*bin/tru*", "--json", json(), "--", "/bin/sh", "-c", "/usr/bin/env /bin/true"});
  EXPECT_EQ(named(results(), "/bin/true").size(), 1u);
}

// They are traced until they end, of which a pidfd tells as soon as it has come.
TEST_F(RunCommand, EndsOfChildrenLeftOutCanBeWaitedForAtOnce) {
  const std::string script = R"(
import os, select, subprocess
missed = 0
for k in range(30):
    child = subprocess.Popen(["/bin/true"])
    end = os.pidfd_open(child.pid)
    select.select([end], [], [])
    if k % 2:
        missed += os.waitid(os.P_PIDFD, end, os.WEXITED | os.WNOHANG) is None
    else:
        missed += os.waitpid(child.pid, os.WNOHANG) == (0, 0)
print(missed)
)";
  EXPECT_EXIT(run({"--mode", "null", "--follow-children=python3*", "--", "/usr/bin/python3", "-W", "ignore", "-c", script}), 0);
  EXPECT_EQ(read_file(out()), "0\n");
}

// Translated calls have none: they cannot be switched on, also where the kernel has them.
TEST_F(RunCommand, ShadowStacksAreNotThere) {
  const std::string script = R"(
import ctypes
call = ctypes.CDLL(None, use_errno=True).syscall
status = ctypes.c_ulong(7)
for operation, argument in ((0x5001, 1), (0x5001, 3), (0x5002, 1), (0x5003, 1), (0x5005, ctypes.byref(status))):
    print(call(158, operation, argument), ctypes.get_errno(), end=" ")
print(call(453, 0, 4096, 0), ctypes.get_errno(), status.value)
)";
  EXPECT_EXIT(run({"--mode", "null", "--", "/usr/bin/python3", "-c", script}), 0);
  EXPECT_EQ(read_file(out()), "-1 22 -1 22 -1 22 -1 22 -1 22 -1 38 7\n");
}

TEST_F(RunCommand, ChildrenThatOutliveTheProgramGoOn) {
  const std::string mark = directory_ / "mark";
  ASSERT_EQ(mkfifo((mark + ".go").c_str(), 0600), 0);
  EXPECT_EXIT(run({"--mode", "trace", "--json", json(), "--", "/bin/sh", "-c",
                   "(read x < " + mark + ".go; echo done > " + mark + ".tmp; mv " + mark + ".tmp " + mark + ") & exit 5"}),
              5);
  // When the program ends before its child has asked to be followed, the child is a native one.
  const auto process = results()["process"];
  EXPECT_EQ(process["left_running"].get<int>() + process["native_children"].get<int>(), 1) << process;
  std::ofstream(mark + ".go") << "go\n";
  for (int i = 0; i < 2000 && !fs::exists(mark); ++i) std::this_thread::sleep_for(std::chrono::milliseconds(10));
  EXPECT_EQ(read_file(mark), "done\n");
}

// Each process in which the engine gives up says why: here of 32-bit execve calls.
TEST_F(RunCommand, NamesEachProcessThatItGivesUpIn) {
  EXPECT_EXIT(run({"--mode", "null", "--json", json(), "--", "/usr/bin/python3", "-c",
                   "import ctypes, mmap, os\n"
                   "page = mmap.mmap(-1, 4096, prot=7)\n"
                   "page.write(bytes.fromhex('b80b000000cd80c3'))\n"   // mov $11, %eax; int $0x80; ret
                   "call = ctypes.CFUNCTYPE(ctypes.c_int)(ctypes.addressof(ctypes.c_char.from_buffer(page)))\n"
                   "for k in range(3):\n"
                   "  pid = os.fork()\n"
                   "  if pid == 0: call()\n"
                   "  os.waitpid(pid, 0)\n"}),
              1);
  const auto r = results();
  EXPECT_NE(r["error"].get<std::string>().find("32-bit system call 11"), std::string::npos);
  int named = 0;
  for (const auto& warning : r["warnings"]) named += warning.get<std::string>().find("32-bit system call 11") != std::string::npos;
  EXPECT_EQ(named, 2) << r["warnings"];
}

TEST_F(RunCommand, WaitsForChildrenWhenTold) {
  EXPECT_EXIT(run({"--mode", "trace", "--wait-for-children", "--json", json(), "--", "/bin/bash", "-c",
                   "{ for ((i = 0; i < 2000; ++i)); do :; done; exec /bin/echo later; } & exit 6"}),
              6);
  EXPECT_EQ(read_file(out()), "later\n");
  EXPECT_EQ(named(results(), "/bin/echo").size(), 1u);
}

}  // namespace
