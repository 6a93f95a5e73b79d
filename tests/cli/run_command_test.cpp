// simrun from outside: streams, exit statuses, signals, results.
#include <signal.h>
#include <sys/resource.h>

#include <cstdlib>

#include "run_command.h"

namespace simrun::cli {
namespace {

// Neither simrun nor the engine in the program takes a library of its own from where the user happens to be.
TEST_F(RunCommand, LibrariesOfTheWorkingDirectoryAreNotOurs) {
  for (const char* name : {"libZydis.so.4.0", "libyaml-cpp.so.0.7", "libfmt.so.9", "libmimalloc.so.2.0", "libstdc++.so.6", "libm.so.6",
                           "libc.so.6", "libhdf5_serial.so.103", "libsimrun-hdf5.so"})
    std::ofstream(directory_ / name) << "no library\n";
  const fs::path before = fs::current_path();
  fs::current_path(directory_);
  const int status = run({"-q", "--config", "l3_1core.yaml", "--hdf5", "result.h5", "--", "/bin/echo", "ran"});
  fs::current_path(before);
  EXPECT_EXITS(status, 0);
  EXPECT_EQ(read_file(out()), "ran\n") << read_file(err());
  EXPECT_GT(fs::file_size(directory_ / "result.h5"), 1000u);
}

TEST_F(RunCommand, LoopsAreUnrolledUnlessAskedNotTo) {
  const auto translated = [&](Words options) {
    options.insert(options.end(), {"-q", "-j", json(), "--", "/bin/true"});
    EXPECT_EXITS(run(options), 0);
    return results()["engine"]["translated_instructions"].get<uint64_t>();
  };
  const uint64_t plain = translated({"--mode", "null", "--no-unroll"});
  EXPECT_GT(translated({"--mode", "null"}), plain + plain / 100);
  EXPECT_EQ(translated({"--mode", "trace"}), translated({"--mode", "trace", "--no-unroll"}));
}

TEST_F(RunCommand, OutputAndStatusAreTheProgramsOwn) {
  EXPECT_EXITS(
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
  EXPECT_EXITS(std::system(command.c_str()), 1);
  EXPECT_NE(read_file(err()).find("simrun needs /proc"), std::string::npos) << read_file(err());
}

// Its child's number there is another process's.
TEST_F(RunCommand, ProcOfAnotherPidNamespaceIsRefused) {
  if (std::system("unshare -pf true 2>/dev/null") != 0) GTEST_SKIP() << "PID namespaces are not allowed";
  EXPECT_EXITS(std::system(("unshare -pf " SIMRUN_EXECUTABLE " --mode null -- /bin/true 2>" + err()).c_str()), 1);
  EXPECT_NE(read_file(err()).find("/proc is that of another PID namespace"), std::string::npos) << read_file(err());
}

TEST_F(RunCommand, QuietSaysNothing) {
  EXPECT_EXITS(run({"-q", "--mode", "trace", "--", "/bin/true"}), 0);
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
  EXPECT_EXITS(wait_for(pid), 0);
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
  EXPECT_EXITS(wait_for(pid), 3);
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
  EXPECT_EXITS(wait_for(pid), 1);
  EXPECT_NE(read_file(err()).find("json: File too large"), std::string::npos) << read_file(err());
  EXPECT_EQ(read_file(out()), "SigIgn:\t0000000000000000\n");
}

// What such a limit leaves no room for goes on natively.
TEST_F(RunCommand, AProgramUnderAHardFileSizeLimitRuns) {
  EXPECT_EXITS(run({"-c", "l3_8core.yaml", "-j", json(), "--", "/bin/sh", "-c", "ulimit -f 1000; /bin/echo hi; echo status $?"}), 0);
  EXPECT_EQ(read_file(out()), "hi\nstatus 0\n") << read_file(err());
  const bool is_said = read_file(err()).find("(echo) is not followed: the hard file-size limit") != std::string::npos;
  EXPECT_EQ(results()["processes"].size(), is_said ? 1u : 2u) << read_file(err());
}

TEST_F(RunCommand, CountsRepeat) {
  const auto count = [&](const Words& more) {
    Words arguments{"-q", "--mode", "trace", "-j", json()};
    arguments.insert(arguments.end(), more.begin(), more.end());
    arguments.insert(arguments.end(), {"--", "/bin/echo", "x"});
    EXPECT_EXITS(run(arguments), 0);
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
    EXPECT_EXITS(run(arguments), 0);
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
  EXPECT_EXITS(with({"--pin", "5,0-3"}), 0);
  const auto pinned = results();
  EXPECT_EQ(pinned.at("threads").at(0).at("core"), 5);
  EXPECT_EXITS(with({"--order", "recorded"}), 0);
  EXPECT_EQ(results().at("totals").at("instructions"), pinned.at("totals").at("instructions"));
  EXPECT_EQ(results().at("levels").at(1).at("misses"), pinned.at("levels").at(1).at("misses"));
  EXPECT_EXITS(with({"--pin", "8"}), 2);
  EXPECT_NE(read_file(err()).find("no core 8"), std::string::npos);
  EXPECT_EXITS(with({"--pin", "3-1"}), 2);
  EXPECT_NE(read_file(err()).find("no list of cores"), std::string::npos);
  EXPECT_EXITS(with({"--order", "host"}), 2);
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
  EXPECT_EXITS(wait_for(pid), 7);
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
  EXPECT_EXITS(wait_for(pid), 7);
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
  EXPECT_EXITS(run({"--mode", "trace", "-q", "--", "/usr/bin/perl", "-e", program, result}), 0);
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
  EXPECT_EXITS(run({"--config", "l3_4core.yaml", "--json", json(), "-q", "--", "/usr/bin/perl", "-e", program, result}), 0);
  for (int k = 0; k < 1000 && !fs::exists(result); ++k) std::this_thread::sleep_for(std::chrono::milliseconds(10));
  EXPECT_EQ(read_file(result), "50000005000000");
  EXPECT_EQ(results().at("process").at("left_running"), 2);
}

TEST_F(RunCommand, MissingThingsAreOneMessageAndAStatus) {
  EXPECT_EXITS(run({"--mode", "trace", "--", "/nonexistent/program"}), 127);
  EXPECT_EXITS(run({"--mode", "trace", "--", "/etc/passwd"}), 126);
  EXPECT_EXITS(run({"-c", "no_such_machine.yaml", "--", "/bin/true"}), 2);
  EXPECT_EXITS(run({"-c", "l3_8core.yaml", "-j", "/nonexistent/r.json", "--", "/bin/true"}), 1);
  EXPECT_EXITS(run({"--", "/bin/true"}), 2);
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
    EXPECT_EXITS(run_without(closed, "record -o " + file + program), 0);
    EXPECT_EXITS(run({"check", file}), 0);
  }
  for (const std::string command : {"-c l3_8core -j ", "sharing -c l3_8core -j "}) {
    EXPECT_EXITS(run_without("2>&-", command + file + program), 0);
    EXPECT_TRUE(nlohmann::json::accept(read_file(file))) << command;
  }
  EXPECT_EXITS(run_without("2>&-", "-c l3_8core --hdf5 " + file + program), 0);
  EXPECT_EQ(read_file(file).substr(0, 4), "\x89HDF");
  EXPECT_EXITS(run_without("2>&-", "bbv --interval 100k -o " + file + program), 0);
  EXPECT_EQ(read_file(file).substr(0, 2), "# ");
  EXPECT_EXITS(run_without("2>&-", "pinpoints -c l3_8core --interval 100k -o " + file + program), 0);
  for (const auto& entry : fs::directory_iterator(file + "/regions"))
    if (entry.path().extension() == ".trace") EXPECT_EXITS(run({"check", entry.path()}), 0);
  EXPECT_EXITS(run_without(">&-", "-q -c l3_8core -j - -- /bin/true 2>" + err()), 1);
  EXPECT_EQ(read_file(err()), "simrun: cannot write standard output: Bad file descriptor\n");
}

TEST_F(RunCommand, NullAndDiscardCountNothing) {
  EXPECT_EXITS(run({"--mode", "null", "-j", json(), "--", "/bin/true"}), 0);
  EXPECT_EQ(results().at("counted"), false);
  EXPECT_EXITS(run({"--mode", "trace", "--discard", "-j", json(), "--", "/bin/true"}), 0);
  EXPECT_GT(results().at("process").at("discarded_words").get<uint64_t>(), 1000u);
}

// As many words as somebody would have read, of all processes.
TEST_F(RunCommand, DiscardsWhatWouldBeRead) {
  const std::string script = "i=0; while [ $i -lt 2000 ]; do i=$((i+1)); done; (exit 3); (/bin/true; exit 4); /bin/true";
  EXPECT_EXITS(run({"--mode", "trace", "-j", json(), "--", "/bin/sh", "-c", script}), 0);
  const auto read = results().at("totals").at("stream_words").get<double>();
  EXPECT_EXITS(run({"--mode", "trace", "--discard", "-j", json(), "--", "/bin/sh", "-c", script}), 0);
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
  EXPECT_EXITS(wait_for(pid), 0);
}

}  // namespace
}  // namespace simrun::cli
