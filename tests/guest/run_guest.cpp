// Runs a guest program natively and under simrun and compares what can be seen from outside.
//
//   run_guest [--simrun PROGRAM] [--mode MODE] [--known FILE] [--seconds N] GUEST
//   run_guest --list-modes
//
// Output, error output and exit status (or signal) must be equal, and the native run must end in EXIT-SUCCESS: a guest that does not hold
// natively proves nothing. SIMRUN in the environment, words apart, replaces --simrun; an empty one compares native with native, which tests
// the guests and this program. Exit status: 0 equal, 1 different, 77 not possible here, 2 called wrongly.
//
// Not in Python as the other runners are: it runs two thousand times in a test of everything, and 80 of 107 ms were Python's start.

#include <fcntl.h>
#include <fmt/format.h>
#include <fnmatch.h>
#include <getopt.h>
#include <linux/close_range.h>
#include <poll.h>
#include <sys/personality.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <map>
#include <optional>
#include <set>
#include <sstream>
#include <stdexcept>
#include <string>
#include <vector>

namespace {

namespace fs = std::filesystem;
using Clock = std::chrono::steady_clock;
using Words = std::vector<std::string>;

enum Status { kEqual = 0, kDifferent = 1, kCalledWrongly = 2, kSkipped = 77 };

// Not in a storm: they count on calls that are not interrupted, on timers of their own, on the environment, or on where a signal comes.
const std::set<std::string> kCalm = {"interrupted_calls", "user_dispatch", "seccomp_notify", "timers", "exec_from_thread", "environment",
                                     "spawn", "exec_self", "tracers", "seccomp_continued", "traced_by_sharer", "traced_in_calls",
                                     "no_room_for_frame", "endless_ways", "personality", "stepped_transfers"};

struct Options {
  std::string simrun, mode = "trace", known = "/dev/null", guest;
  double seconds = 50;
};

struct NotPossible : std::runtime_error {
  using runtime_error::runtime_error;
};

Words split(const std::string& text) {
  std::istringstream words(text);
  Words found;
  for (std::string word; words >> word;) found.push_back(word);
  return found;
}

// Of modes.txt: name to options, and the names in their order, up to `some:` or all.
struct Modes {
  std::map<std::string, Words> options;
  Words of_all_guests;
};

Modes read_modes() {
  std::ifstream file(MODES_FILE);
  if (!file) throw std::runtime_error("cannot read " MODES_FILE);
  Modes modes;
  bool of_all = true;
  for (std::string line; std::getline(file, line);) {
    const Words words = split(line);
    if (words.empty() || words[0] == "#") continue;
    if (words[0] == "some:") {
      of_all = false;
      continue;
    }
    modes.options[words[0]] = Words(words.begin() + 1, words.end());
    if (of_all) modes.of_all_guests.push_back(words[0]);
  }
  return modes;
}

// A folder of its own for one run, gone with it.
class Folder {
 public:
  Folder() : path_((fs::temp_directory_path() / "simrun_guest_XXXXXX").string()) {
    if (!mkdtemp(path_.data())) throw std::runtime_error(fmt::format("cannot make {}: {}", path_, strerror(errno)));
  }
  ~Folder() {
    std::error_code ignored;
    fs::remove_all(path_, ignored);
  }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

// What a program did: output, error output, how it ended (as of waitpid), or that it did not end.
struct Run {
  std::string output, errors;
  int status = 0;
  bool timed_out = false;
};

std::vector<char*> pointers(Words& words) {
  std::vector<char*> found;
  for (std::string& word : words) found.push_back(word.data());
  found.push_back(nullptr);
  return found;
}

// In the child, which becomes the program: the same everywhere, whatever nohup or a shell in the background has ignored, and with the
// addresses that simrun gives, so that a guest may show what depends on them.
[[noreturn]] void become(const std::string& folder, char* const* command, char* const* environment, int output, int errors) {
  const int null = open("/dev/null", O_RDONLY);
  setsid();
  for (const int number : {SIGHUP, SIGINT, SIGQUIT, SIGPIPE, SIGXFSZ}) signal(number, SIG_DFL);
  if (null < 0 || dup2(null, 0) < 0 || dup2(output, 1) < 0 || dup2(errors, 2) < 0 || chdir(folder.c_str()) != 0) _exit(126);
  close_range(3, ~0U, 0);
  personality(ADDR_NO_RANDOMIZE);
  execvpe(command[0], command, environment);
  _exit(127);
}

// Reads both until they end or `until` has come; whether they ended.
bool read_both(std::array<pollfd, 2>& ends, std::array<std::string*, 2> texts, std::optional<Clock::time_point> until) {
  std::array<char, 65536> buffer;
  while (ends[0].fd >= 0 || ends[1].fd >= 0) {
    int wait = -1;
    if (until) {
      wait = static_cast<int>(std::chrono::ceil<std::chrono::milliseconds>(*until - Clock::now()).count());
      if (wait <= 0) return false;
    }
    if (poll(ends.data(), ends.size(), wait) < 0 && errno != EINTR) throw std::runtime_error(fmt::format("poll: {}", strerror(errno)));
    for (size_t i = 0; i < ends.size(); i++) {
      if (ends[i].fd < 0 || ends[i].revents == 0) continue;
      const ssize_t got = read(ends[i].fd, buffer.data(), buffer.size());
      if (got > 0) {
        texts[i]->append(buffer.data(), static_cast<size_t>(got));
      } else if (got == 0 || errno != EINTR) {
        close(ends[i].fd);
        ends[i].fd = -1;
      }
    }
  }
  return true;
}

// Whether the child ended before `until`; it may have closed its output long before.
bool wait_for(pid_t child, int& status, Clock::time_point until) {
  for (;;) {
    const pid_t ended = waitpid(child, &status, WNOHANG);
    if (ended == child) return true;
    if (ended < 0 && errno != EINTR) throw std::runtime_error(fmt::format("waitpid: {}", strerror(errno)));
    if (Clock::now() >= until) return false;
    usleep(500);
  }
}

Run run(Words command, const std::string& preload, double seconds) {
  const Folder folder;
  Words variables = {"PATH=/usr/bin:/bin", "HOME=" + folder.path(), "LC_ALL=C", "GUEST=yes"};
  if (!preload.empty()) {
    variables.push_back("LD_PRELOAD=" + preload);
    variables.push_back("STORM=" + fs::path(command.back()).filename().string());
  }
  int output[2], errors[2];
  if (pipe2(output, O_CLOEXEC) != 0 || pipe2(errors, O_CLOEXEC) != 0) throw std::runtime_error(fmt::format("pipe: {}", strerror(errno)));
  const std::vector<char*> arguments = pointers(command), environment = pointers(variables);
  const auto until = Clock::now() + std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(seconds));
  const pid_t child = fork();
  if (child < 0) throw std::runtime_error(fmt::format("fork: {}", strerror(errno)));
  if (child == 0) become(folder.path(), arguments.data(), environment.data(), output[1], errors[1]);
  close(output[1]);
  close(errors[1]);
  Run result;
  std::array<pollfd, 2> ends = {{{output[0], POLLIN, 0}, {errors[0], POLLIN, 0}}};
  const std::array<std::string*, 2> texts = {&result.output, &result.errors};
  if (!read_both(ends, texts, until) || !wait_for(child, result.status, until)) {
    result.timed_out = true;
    kill(-child, SIGKILL);
    read_both(ends, texts, std::nullopt);
    while (waitpid(child, &result.status, 0) < 0 && errno == EINTR) {}
  }
  return result;
}

std::string describe(int status) {
  return WIFSIGNALED(status) ? fmt::format("SIG{}", sigabbrev_np(WTERMSIG(status))) : fmt::format("{}", WEXITSTATUS(status));
}

std::string tail(const std::string& text) { return text.substr(text.size() - std::min<size_t>(text.size(), 2000)); }

// The first line in which they differ, with those around it.
std::string difference(const std::string& native, const std::string& ours) {
  const auto lines = [](const std::string& text) {
    std::istringstream stream(text);
    Words found;
    for (std::string line; std::getline(stream, line);) found.push_back(line);
    return found;
  };
  const Words theirs = lines(native), own = lines(ours);
  size_t at = 0;
  while (at < theirs.size() && at < own.size() && theirs[at] == own[at]) at++;
  const auto around = [&](const Words& all, char sign) {
    std::string text;
    for (size_t i = at; i < std::min(at + 10, all.size()); i++) text += fmt::format("  {}{}\n", sign, all[i]);
    return text;
  };
  return fmt::format("from line {} of {} natively and {} under simrun (at the end of the last one a line end may be missing)\n{}{}{}", at + 1,
                     theirs.size(), own.size(), at > 0 ? fmt::format("   {}\n", theirs[at - 1]) : "", around(theirs, '-'), around(own, '+'));
}

Words differences(const Run& native, const Run& ours) {
  if (ours.timed_out) return {"did not end in time; output so far: " + tail(ours.output), "errors so far: " + tail(ours.errors)};
  Words found;
  if (native.status != ours.status) found.push_back(fmt::format("status {}, natively {}", describe(ours.status), describe(native.status)));
  if (native.output != ours.output) found.push_back("output differs " + difference(native.output, ours.output));
  if (native.errors != ours.errors) found.push_back("errors differ " + difference(native.errors, ours.errors));
  return found;
}

Words compare(const Options& options, const Words& mode) {
  const std::string name = fs::path(options.guest).filename(), folder = fs::path(options.guest).parent_path();
  const bool in_storm = options.mode.ends_with("storm");
  if (in_storm && kCalm.contains(name)) throw NotPossible("not meant to hold while signals arrive");
  const std::string preload = in_storm ? folder + "/libstorm.so" : "";
  const Run native = run({options.guest}, preload, options.seconds);
  if (native.output.starts_with("SKIPPED")) throw NotPossible(native.output);
  if (native.timed_out || !native.output.ends_with("EXIT-SUCCESS\n"))
    return {fmt::format("native run: status {}, output {}, errors {}", describe(native.status), tail(native.output), tail(native.errors))};
  const char* const given = getenv("SIMRUN");
  Words command = given ? split(given) : Words{options.simrun};
  if (std::erase(command, ""); !command.empty()) {
    command.push_back("--quiet");
    command.insert(command.end(), mode.begin(), mode.end());
    command.push_back("--");
  }
  command.push_back(options.guest);
  return differences(native, run(command, preload, options.seconds));
}

// Why it is known to fail in this mode: of lines of name, mode (a pattern) and reason.
std::optional<std::string> known_failure(const Options& options) {
  std::ifstream file(options.known);
  if (!file) throw std::runtime_error("cannot read " + options.known);
  for (std::string line; std::getline(file, line);) {
    std::istringstream words(line);
    std::string name, mode, reason;
    if (words >> name >> mode && std::getline(words >> std::ws, reason) && name == fs::path(options.guest).filename() &&
        fnmatch(mode.c_str(), options.mode.c_str(), 0) == 0)
      return reason;
  }
  return std::nullopt;
}

int judge(const Options& options, const Words& found) {
  const std::string name = fs::path(options.guest).filename();
  const auto known = known_failure(options);
  for (const std::string& line : found) fmt::print("{} under {}: {}\n", name, options.mode, line);
  if (known && found.empty()) {
    fmt::print("{} passes under {}, though it is listed as a known failure: {}\n", name, options.mode, *known);
    return kDifferent;
  }
  if (known) fmt::print("known failure: {}\n", *known);
  return found.empty() || known ? kEqual : kDifferent;
}

int usage(const std::string& what) {
  fmt::print(stderr, "run_guest: {}\nrun_guest [--simrun PROGRAM] [--mode MODE] [--known FILE] [--seconds N] GUEST | --list-modes\n", what);
  return kCalledWrongly;
}

}  // namespace

int main(int argc, char** argv) try {
  constexpr option kOptions[] = {{"simrun", required_argument, nullptr, 's'}, {"mode", required_argument, nullptr, 'm'},
                                 {"known", required_argument, nullptr, 'k'},  {"seconds", required_argument, nullptr, 't'},
                                 {"list-modes", no_argument, nullptr, 'l'},   {}};
  const Modes modes = read_modes();
  Options options;
  for (int letter; (letter = getopt_long(argc, argv, "", kOptions, nullptr)) != -1;) {
    switch (letter) {
      case 's': options.simrun = strchr(optarg, '/') ? fs::absolute(optarg).string() : optarg; break;
      case 'm': options.mode = optarg; break;
      case 'k': options.known = optarg; break;
      case 't': options.seconds = std::stod(optarg); break;
      case 'l': fmt::print("{}\n", fmt::join(modes.of_all_guests, " ")); return kEqual;
      default: return usage("see above");
    }
  }
  if (optind != argc - 1) return usage("one guest is needed");
  if (!modes.options.contains(options.mode)) return usage("there is no mode " + options.mode);
  options.guest = fs::absolute(argv[optind]);
  return judge(options, compare(options, modes.options.at(options.mode)));
} catch (const NotPossible& why) {
  fmt::print("{}\n", why.what());
  return kSkipped;
} catch (const std::exception& error) {
  return usage(error.what());
}
