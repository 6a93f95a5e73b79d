// All processes of one run: the launched one, and those of its children and images that are followed (docs/processes.md). Engines ask
// through their headers; images on their way are watched by ptrace until their exec. One thread owns it: the one that launched.
#pragma once

#include <signal.h>
#include <sys/types.h>

#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "instr/host/file_descriptor.h"
#include "instr/host/launch.h"
#include "instr/host/target.h"

namespace simrun::host {

class Guardian;

class Family {
 public:
  // Where a followed process came from.
  struct Birth {
    enum class Kind { kLaunched, kForked, kExecuted } kind = Kind::kLaunched;
    uint32_t parent = 0;     // who forked, or whose process it was
    uint64_t token = 0;      // of the fork, 0 for none: as the parent's stream has it
    uint32_t root_slot = 0;  // of its first thread
    bool is_copy = false;    // kForked: of its parent's image; else (vfork, posix_spawn) an image of its own
  };
  enum class ChildState { kPending, kFollowed, kNative };

  // Launches the program. Throws UserError as launch() does.
  explicit Family(LaunchOptions options);
  // Attaches to running processes instead. Throws UserError as attach() does; all go on natively then. `guardian`: who is told of each as soon as
  // it is in the engine; null: nobody.
  Family(LaunchOptions options, const std::vector<pid_t>& processes, Guardian* guardian);
  ~Family();

  // Answers what engines ask and takes over images whose exec has come; what is new has arrived(). Cheap when there is nothing to do. What goes wrong with one process makes that process go on natively, and a warning.
  void poll();

  // Somebody leaves the engine for a tracer that waits for it: poll() again soon, for nobody rings when it has left.
  bool has_departures() const { return !departures_.empty(); }

  // From now on nothing new is followed.
  void stop_following() { closed_ = true; }
  // Kills the program: every followed process, and whatever descends from them, followed or not.
  void end_all();

  // Processes that were ever followed, in the order in which they came, which is the host's.
  uint32_t arrived() const { return static_cast<uint32_t>(members_.size()); }
  Target& arrival(uint32_t k) { return *members_[k].target; }
  // Nothing: its parent has no number yet.
  std::optional<Birth> birth_of_arrival(uint32_t k) const;
  // Gives it the next number, if it has none. Those that were launched or attached to have one from the start.
  void admit(uint32_t k);

  // Those with a number. Every `index` is such a number, a Birth's parent too.
  uint32_t size() const { return static_cast<uint32_t>(numbered_.size()); }
  Target& operator[](uint32_t index) { return *member(index).target; }
  const Birth& birth(uint32_t index) const { return numbered_[index].birth; }
  // Mapped in the process when it got its engine; nothing for one that was forked.
  const std::vector<border::MappedFile>& first_files(uint32_t index) const { return member(index).files; }
  // Its command line when it got its engine; of one that was forked and killed at once, its parent's.
  const std::string& command(uint32_t index) const { return member(index).command; }
  bool is_forgotten(uint32_t index) const { return member(index).target == nullptr; }
  // Its streams have been read: gives its mapping back, but for that of the launched process, which is waited for through it.
  void forget(uint32_t index);

  // What became of the child `pid` (as its parent's system call returned it) that `parent` announced with `token`.
  ChildState child(uint32_t parent, uint64_t token, pid_t pid);

  // Attached: from now on all followed processes leave the engine, in the background. main_runs() says when they have.
  void start_leaving();
  bool is_leaving() const { return leaving_; }
  // Attached: every thread that was there goes on in the engine.
  bool all_have_begun();
  bool is_attached() const { return attached_; }

  // The launched process, whatever it executes: its end is the end of the run. Attached: any of them.
  bool main_runs();
  // Async-signal-safe. It has ended, whether or not main_runs() has been asked since.
  bool main_has_ended() const;
  int wait_status() const { return main_status_; }
  // Async-signal-safe; nothing when attached. `value`: of a signal that was queued with one.
  void forward_signal(int signal, const sigval* value = nullptr);
  // Async-signal-safe, takes 1 to 15 milliseconds. Whether the launched process has got this signal by itself from `sender` (0: the kernel), or will;
  // or sent it itself, to its process group. kMayWait: one of its real-time signals is pending, this one or another.
  enum class Arrival { kNot, kMayWait, kCame };
  Arrival main_has_signal(int signal, pid_t sender) const;
  // Async-signal-safe. It has taken one from there in the last 200 milliseconds.
  bool main_has_taken(int signal, pid_t sender) const;
  // Async-signal-safe. The signal by which the launched process has been stopped, as its parent is to hear; 0: it has not, or others have come
  // from it, which need simrun.
  int main_stopped_by() const;
  pid_t main_pid() const { return main_pid_; }

  const std::vector<std::string>& warnings() const { return warnings_; }
  // Programs that processes of ours executed and that run natively, and processes that left the engine to be traced.
  uint64_t native_images() const { return native_images_; }

 private:
  bool several_run();   // of the processes
  struct Member {
    std::unique_ptr<Target> target;
    Birth birth;
    std::vector<border::MappedFile> files;
    std::string command;
    std::optional<bool> may_trace = {};   // its program knows ptrace
    std::optional<uint32_t> number = {};
  };
  struct Numbered {
    uint32_t member;
    Birth birth;   // with its parent's number
  };
  // A traced process on its way to an exec, running natively meanwhile.
  struct Watched {
    pid_t pid, tid;
    Birth birth;
    bool through;   // an image that is not to be followed itself: its children are watched too
    bool by_call = false;   // stops at each system call: it may ask to be traced by its parent, or execute what must not be traced
  };
  // A process that leaves the engine because another one is going to trace it.
  struct Departure {
    uint32_t member, asker;
    border::FollowRequest* request;   // answered when it has left; null: already
    std::unique_ptr<std::atomic<int>> left;   // 1: it has; -1: it cannot
    std::thread thread;
  };

  const Member& member(uint32_t index) const { return members_[numbered_[index].member]; }
  Member& member(uint32_t index) { return members_[numbered_[index].member]; }
  bool is_pending_in_main(int signal) const;
  static uint32_t missing_threads(Member& member);
  void leave(Target& target);
  void leave_unread();
  void answer(uint32_t parent, border::FollowRequest& request);
  void find_lost();
  void take_back_requests();
  bool follow_forked(uint32_t parent, const border::FollowRequest& request);
  bool watch(pid_t pid, pid_t tid, const Birth& birth, int further_options = 0);
  bool watch_vforked(pid_t pid, pid_t tid, const Birth& birth);
  void unwatch_failed_exec(pid_t tid);
  void let_go(uint32_t asker, border::FollowRequest& request);
  void look_again(uint32_t asker);
  bool is_young(uint32_t asker, const border::FollowRequest& request) const;
  void finish_departures();
  bool may_trace(Member& member);
  // False: it is no longer watched.
  bool handle_stops(Watched& watched);
  bool handle_stop(Watched& watched, pid_t who, int status);
  bool any_is_in_engine();
  bool take_image(Watched& watched);
  bool matches(pid_t pid) const;
  void set_aside(const Watched& watched);
  void add(std::unique_ptr<Target> target, const Birth& birth, std::vector<border::MappedFile> files = {});

  LaunchOptions options_;
  std::vector<Member> members_;      // in here they are known by their places among these, a Birth's parent too
  std::vector<Numbered> numbered_;
  std::vector<Watched> watched_;
  std::vector<Watched> found_;   // children of watched processes, to be added
  // One that was watched for its children has ended: it may have been killed before it could say of one, which is traced and waits for us.
  Birth birth_of_lost_{};
  int64_t look_for_lost_until_ = 0;
  std::map<std::pair<uint32_t, uint64_t>, ChildState> children_;   // by parent and token
  // Entries of requests that have been answered, by member and place: who is killed before it has read the answer does not give its back.
  struct Answered {
    pid_t pid;
    int64_t since;   // milliseconds
  };
  std::map<std::pair<uint32_t, size_t>, Answered> answered_;
  std::vector<Departure> departures_;
  std::set<pid_t> stays_;   // could not leave
  std::map<std::pair<uint32_t, uint64_t>, int64_t> missing_since_;   // milliseconds, of announced children that nobody has seen; as children_
  pid_t main_pid_ = 0;
  FileDescriptor main_status_file_;   // in /proc
  std::atomic<const border::ProcessHeader*> main_header_ = nullptr;
  std::atomic<bool> main_is_first_ = true;   // and only: no other image or process has been followed
  std::atomic<bool> ending_all_ = false;   // whoever stops was stopped by end_all()
  uint32_t main_ = 0;
  int main_status_ = 0;
  bool main_ended_ = false;
  uint64_t native_images_ = 0;
  bool closed_ = false;
  bool attached_ = false;
  bool leaving_ = false;
  std::thread leaver_;
  std::atomic<bool> left_ = false;   // leaver_ is done
  std::vector<std::string> stuck_;   // what it found; to be read when it is done
  std::vector<std::string> warnings_;
};

}  // namespace simrun::host
