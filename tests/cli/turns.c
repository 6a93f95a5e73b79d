// turns BY WHO: two threads, or processes, in strict turns: each adds to its half of one line 1000 times, then gives the turn to the other one by what
// is named. So the line is handed over once a turn, 2 x kTurns - 1 times.
// turns circle threads: eight threads in turns, each gives it to the next one by a pipe; as many turns in all.
// turns loop threads: in turns by eventfds that are polled; each side posts something to itself, too, as event loops do.
// turns pipeline threads: eight threads, each hands on what it has worked on to the next one by a pipe.
// turns beside threads: two in turns by pipes, and a third one that computes ten times as long.
// turns pairs threads: four pairs of threads in turns by signals; each turn sends the process another signal, too, which nobody waits for.
// turns contended threads: two threads that add to their halves of one line 20,000 times while they hold a lock, 40 times each: so one waits for the other.
// turns tokens|lock threads: eight threads that do the same, each with a token of which there are enough, or with a lock held for a moment.
#define _GNU_SOURCE
#include <mqueue.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/msg.h>
#include <sys/sem.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>
#include <netinet/in.h>

enum { kTurns = 100, kRounds = 1000 };
typedef struct {
  _Alignas(64) volatile long added[8];
  _Alignas(64) pthread_barrier_t both;
} Shared;

static Shared* shared;
static int take[2], give[2];   // by side: where it waits, and where it lets the other one go on
static int semaphores, messages[2];
static mqd_t queues[2];
static pthread_t sides[2];
static const char* by;

static int is(const char* kind) { return strcmp(by, kind) == 0; }

static void check(int holds) {
  if (!holds) perror(by), exit(2);
}

static void connect_by_tcp(int ends[2]) {
  const int listener = socket(AF_INET, SOCK_STREAM, 0);
  struct sockaddr_in name = {.sin_family = AF_INET, .sin_addr = {htonl(INADDR_LOOPBACK)}};
  socklen_t bytes = sizeof name;
  ends[0] = socket(AF_INET, SOCK_STREAM, 0);
  check(bind(listener, (struct sockaddr*)&name, sizeof name) == 0 && listen(listener, 1) == 0 && getsockname(listener, (struct sockaddr*)&name, &bytes) == 0);
  check(connect(ends[0], (struct sockaddr*)&name, sizeof name) == 0 && (ends[1] = accept(listener, NULL, NULL)) >= 0);
}

static void prepare(void) {
  int ends[2];
  if (is("socket") || is("tcp")) {
    if (is("tcp")) connect_by_tcp(ends); else check(socketpair(AF_UNIX, SOCK_STREAM, 0, ends) == 0);
    for (int side = 0; side < 2; ++side) take[side] = give[side] = ends[side];
  }
  if (is("semaphores") || is("several") || is("lock") || is("contended")) check((semaphores = semget(IPC_PRIVATE, 4, 0600)) >= 0);
  for (int side = 0; side < 2; ++side) {
    char name[40];
    struct mq_attr attributes = {.mq_maxmsg = 4, .mq_msgsize = 8};
    snprintf(name, sizeof name, "/turns%d.%d", getpid(), side);
    if (is("pipe") || is("vectors") || is("tokens") || is("beside")) check(pipe(ends) == 0), take[side] = ends[0], give[1 - side] = ends[1];
    if (is("eventfd") || is("poll") || is("epoll") || is("duplicate") || is("loop")) check((take[side] = give[1 - side] = eventfd(0, 0)) >= 0);
    if (is("duplicate")) check((take[side] = dup(take[side])) >= 0);
    if (is("messages") || (is("types") && side == 0)) check((messages[side] = msgget(IPC_PRIVATE, 0600)) >= 0);
    if (is("queue")) check((queues[side] = mq_open(name, O_CREAT | O_RDWR, 0600, &attributes)) >= 0), mq_unlink(name);
  }
}

static void remove_all(void) {
  if (is("semaphores") || is("several") || is("lock") || is("contended")) semctl(semaphores, 0, IPC_RMID);
  for (int side = 0; side < 2; ++side)
    if (is("messages") || (is("types") && side == 0)) msgctl(messages[side], IPC_RMID, NULL);
}

// Until the other one has posted: what it posts itself is less.
enum { kOther = 1000 };
static void wait_in_loop(int side) {
  const uint64_t one = 1;
  uint64_t posted = 0;
  check(write(take[side], &one, sizeof one) == sizeof one);
  while (posted < kOther) {
    uint64_t value = 0;
    check(poll(&(struct pollfd){.fd = take[side], .events = POLLIN}, 1, -1) == 1 && read(take[side], &value, sizeof value) == sizeof value);
    posted += value;
  }
}

static void wait_for_turn(int side, int events) {
  uint64_t text = 0;
  struct { long type; char text[1]; } message;
  if (is("loop")) {
    wait_in_loop(side);
  } else if (is("semaphores")) {
    check(semop(semaphores, &(struct sembuf){.sem_num = (unsigned short)side, .sem_op = -1}, 1) == 0);
  } else if (is("several")) {
    const struct sembuf both[] = {{(unsigned short)side, -1, 0}, {(unsigned short)(2 + side), -1, 0}};
    check(semop(semaphores, (struct sembuf*)both, 2) == 0);
  } else if (is("messages")) {
    check(msgrcv(messages[side], &message, 1, 0, 0) == 1);
  } else if (is("types")) {
    check(msgrcv(messages[0], &message, 1, 1 + side, 0) == 1);
  } else if (is("vectors")) {
    check(preadv2(take[side], &(struct iovec){&text, 1}, 1, -1, 0) == 1);
  } else if (is("process")) {
    sigset_t set;
    int signal;
    sigemptyset(&set), sigaddset(&set, side == 0 ? SIGUSR1 : SIGUSR2);
    check(sigwait(&set, &signal) == 0);
  } else if (is("queue")) {
    check(mq_receive(queues[side], (char*)&text, sizeof text, NULL) >= 0);
  } else if (is("signal")) {
    sigset_t set;
    int signal;
    sigemptyset(&set), sigaddset(&set, SIGUSR1);
    check(sigwait(&set, &signal) == 0);
  } else {
    if (is("poll")) check(poll(&(struct pollfd){.fd = take[side], .events = POLLIN}, 1, -1) == 1);
    if (is("epoll")) check(epoll_wait(events, &(struct epoll_event){0}, 1, -1) == 1);
    check(read(take[side], &text, is("eventfd") || is("poll") || is("epoll") || is("duplicate") ? 8 : 1) > 0);
  }
}

static void let_go_on(int side) {
  const uint64_t one = is("loop") ? kOther : 1;
  struct { long type; char text[1]; } message = {1, {0}};
  if (is("semaphores"))
    check(semop(semaphores, &(struct sembuf){.sem_num = (unsigned short)(1 - side), .sem_op = 1}, 1) == 0);
  else if (is("several"))
    check(semop(semaphores, (struct sembuf[]){{(unsigned short)(1 - side), 1, 0}, {(unsigned short)(3 - side), 1, 0}}, 2) == 0);
  else if (is("types"))
    message.type = 2 - side, check(msgsnd(messages[0], &message, 1, 0) == 0);
  else if (is("vectors"))
    check(pwritev2(give[side], &(struct iovec){(void*)&one, 1}, 1, -1, 0) == 1);
  else if (is("process"))
    check(kill(getpid(), side == 0 ? SIGUSR2 : SIGUSR1) == 0);
  else if (is("messages"))
    check(msgsnd(messages[1 - side], &message, 1, 0) == 0);
  else if (is("queue"))
    check(mq_send(queues[1 - side], "", 1, 0) == 0);
  else if (is("signal"))
    check(pthread_kill(sides[1 - side], SIGUSR1) == 0);
  else
    check(write(give[side], &one, is("pipe") || is("socket") || is("tcp") || is("beside") ? 1 : 8) > 0);
}

static void take_turns(int side) {
  const int events = epoll_create1(0);
  if (is("epoll")) check(epoll_ctl(events, EPOLL_CTL_ADD, take[side], &(struct epoll_event){.events = EPOLLIN}) == 0);
  for (int turn = 0; turn < kTurns; ++turn) {
    if (side != 0 || turn != 0) wait_for_turn(side, events);
    for (int round = 0; round < kRounds; ++round) ++shared->added[side];
    let_go_on(side);
  }
}

static void* other(void* unused) {
  take_turns(1);
  return unused;
}

// Not in turns: both add at once, as often as all turns together, when they have met.
static void add_together(int side) {
  pthread_barrier_wait(&shared->both);
  for (int round = 0; round < 10 * kRounds; ++round) ++shared->added[side];
}

static void* holding_the_lock(void* side) {
  for (int turn = 0; turn < 40; ++turn) {
    check(semop(semaphores, &(struct sembuf){.sem_op = -1}, 1) == 0);
    for (int round = 0; round < 20 * kRounds; ++round) ++shared->added[(long)side];
    check(semop(semaphores, &(struct sembuf){.sem_op = 1}, 1) == 0);
  }
  return NULL;
}

static void contend(void) {
  pthread_t thread;
  check(semop(semaphores, &(struct sembuf){.sem_op = 1}, 1) == 0);
  check(pthread_create(&thread, NULL, holding_the_lock, (void*)1L) == 0);
  holding_the_lock(NULL);
  pthread_join(thread, NULL);
}

static int circle[8][2];

static void* in_circle(void* number) {
  const long own = (long)number;
  char turn = 0;
  for (int k = 0; k < 2 * kTurns / 8; ++k) {
    if (own != 0 || k != 0) check(read(circle[own][0], &turn, 1) == 1);
    for (int round = 0; round < kRounds; ++round) ++shared->added[own];
    check(write(circle[(own + 1) % 8][1], &turn, 1) == 1);
  }
  return NULL;
}

static void go_round(void) {
  pthread_t threads[8];
  for (int k = 0; k < 8; ++k) check(pipe(circle[k]) == 0);
  for (long k = 1; k < 8; ++k) check(pthread_create(&threads[k], NULL, in_circle, (void*)k) == 0);
  in_circle(NULL);
  for (int k = 1; k < 8; ++k) pthread_join(threads[k], NULL);
}

static void* in_pipeline(void* number) {
  const long own = (long)number;
  char item = 0;
  for (int k = 0; k < 2 * kTurns; ++k) {
    if (own != 0) check(read(circle[own][0], &item, 1) == 1);
    for (int round = 0; round < kRounds; ++round) ++shared->added[own];
    if (own != 7) check(write(circle[own + 1][1], &item, 1) == 1);
  }
  return NULL;
}

static struct { pthread_t thread; _Alignas(64) volatile long added; } paired[8];

static void* in_pair(void* number) {
  const long own = (long)number;
  sigset_t set;
  int signal;
  sigemptyset(&set), sigaddset(&set, SIGUSR1);
  for (int turn = 0; turn < kTurns; ++turn) {
    if (own % 2 != 0 || turn != 0) check(sigwait(&set, &signal) == 0);
    for (int round = 0; round < kRounds; ++round) ++paired[own].added;
    const int is_last = own % 2 != 0 && turn == kTurns - 1;   // the other one may have ended
    check((is_last || pthread_kill(paired[own ^ 1].thread, SIGUSR1) == 0) && kill(getpid(), SIGUSR2) == 0);
  }
  return number;
}

// Whoever begins in a pair is made behind the other one.
static void run_eight(void* (*what)(void*)) {
  for (int k = 0; k < 8; ++k) check(pipe(circle[k]) == 0);
  for (long k = 7; k >= 0; --k) check(pthread_create(&paired[k].thread, NULL, what, (void*)k) == 0);
  for (int k = 0; k < 8; ++k) pthread_join(paired[k].thread, NULL);
}

static void work(int rounds) {
  for (volatile int round = 0; round < rounds; ++round) {
  }
}

static void* with_what_is_given_back(void* unused) {
  char token = 0;
  for (int turn = 0; turn < 2 * kTurns; ++turn) {
    if (is("tokens"))
      check(read(take[0], &token, 1) == 1);
    else
      check(semop(semaphores, &(struct sembuf){.sem_op = -1}, 1) == 0);
    work(is("tokens") ? 5 * kRounds : 10);
    if (is("tokens"))
      check(write(give[1], &token, 1) == 1);
    else
      check(semop(semaphores, &(struct sembuf){.sem_op = 1}, 1) == 0), work(5 * kRounds);
  }
  return unused;
}

static void* compute(void* unused) {
  work(20 * kTurns * kRounds);
  return unused;
}

static void take_and_give_back(void) {
  pthread_t threads[8];
  if (is("tokens"))
    check(write(give[1], "0123456789abcdef", 16) == 16);
  else
    check(semop(semaphores, &(struct sembuf){.sem_op = 1}, 1) == 0);
  for (int k = 0; k < 8; ++k) check(pthread_create(&threads[k], NULL, with_what_is_given_back, NULL) == 0);
  for (int k = 0; k < 8; ++k) pthread_join(threads[k], NULL);
}

int main(int words, char** word) {
  if (words != 3) return 2;
  by = word[1];
  sigset_t set;
  sigemptyset(&set), sigaddset(&set, SIGUSR1), sigaddset(&set, SIGUSR2);
  sigprocmask(SIG_BLOCK, &set, NULL);
  shared = mmap(NULL, sizeof *shared, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (strcmp(word[2], "processes") == 0) {
    pthread_barrierattr_t attributes;
    pthread_barrierattr_init(&attributes);
    pthread_barrierattr_setpshared(&attributes, PTHREAD_PROCESS_SHARED);
    pthread_barrier_init(&shared->both, &attributes, 2);
    if (!is("barrier")) prepare();
    const pid_t child = fork();
    if (is("barrier")) add_together(child == 0); else take_turns(child == 0);
    if (child == 0) _exit(0);
    check(waitpid(child, NULL, 0) == child);
  } else if (is("contended")) {
    prepare();
    contend();
  } else if (is("circle")) {
    go_round();
  } else if (is("pipeline") || is("pairs")) {
    run_eight(is("pairs") ? in_pair : in_pipeline);
  } else if (is("tokens") || is("lock")) {
    prepare();
    take_and_give_back();
  } else {
    prepare();
    pthread_t third;
    if (is("beside")) check(pthread_create(&third, NULL, compute, NULL) == 0);
    sides[0] = pthread_self();
    check(pthread_create(&sides[1], NULL, other, NULL) == 0);
    take_turns(0);
    pthread_join(sides[1], NULL);
    if (is("beside")) pthread_join(third, NULL);
  }
  remove_all();
  return 0;
}
