// build: -pthread -lrt
// Signals that descriptors send: SIGIO and others in its place with their data, to a thread, leases, changes of folders, urgent data, message
// queues, asynchronous input and output; SIGPIPE and SIGXFSZ for what cannot be written.
#include <aio.h>
#include <errno.h>
#include <fcntl.h>
#include <mqueue.h>
#include <netinet/in.h>
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "tests/guest/guest.h"

static volatile int seen, from_descriptor, code;
static volatile long band;
static volatile pid_t receiver;

static void handler(int number, siginfo_t* info, void* context) {
  (void)context;
  from_descriptor = info->si_fd;
  band = info->si_band;
  code = info->si_code;
  receiver = (pid_t)syscall(SYS_gettid);
  seen = number;
}

static void expect(int number) {
  while (seen == 0) sched_yield();
  CHECK_EQUAL(seen, number);
  seen = 0;
}

static void ready_input(void) {
  int ends[2];
  char byte;
  CHECK(pipe(ends) == 0 && fcntl(ends[0], F_SETOWN, getpid()) == 0 && fcntl(ends[0], F_SETFL, O_ASYNC | O_NONBLOCK) == 0);
  CHECK(write(ends[1], "a", 1) == 1);
  expect(SIGIO);
  CHECK(read(ends[0], &byte, 1) == 1);
  const struct f_owner_ex owner = {F_OWNER_TID, (pid_t)syscall(SYS_gettid)};
  CHECK(fcntl(ends[0], F_SETSIG, SIGRTMIN + 3) == 0 && fcntl(ends[0], F_SETOWN_EX, &owner) == 0);
  CHECK(write(ends[1], "b", 1) == 1);
  expect(SIGRTMIN + 3);
  CHECK(from_descriptor == ends[0] && code == POLL_IN && (band & 1) != 0 && receiver == owner.pid);
  close(ends[0]);
  close(ends[1]);
}

static void* opens(void* path) {
  const int fd = open(path, O_WRONLY);
  CHECK(fd >= 0 && close(fd) == 0);
  return NULL;
}

static void leases_and_folders(void) {
  char folder[] = "XXXXXX", path[32];
  CHECK(mkdtemp(folder) != NULL);
  snprintf(path, sizeof path, "%s/file", folder);
  int fd = open(path, O_CREAT | O_RDONLY, 0600);
  CHECK(fd >= 0 && fcntl(fd, F_SETSIG, SIGRTMIN + 3) == 0);
  if (fcntl(fd, F_SETLEASE, F_RDLCK) == 0) {
    pthread_t thread;
    CHECK(pthread_create(&thread, NULL, opens, path) == 0);
    expect(SIGRTMIN + 3);
    CHECK(from_descriptor == fd && fcntl(fd, F_SETLEASE, F_UNLCK) == 0);
    pthread_join(thread, NULL);
  }
  close(fd);
  fd = open(folder, O_RDONLY | O_DIRECTORY);
  if (fcntl(fd, F_SETSIG, SIGRTMIN + 3) == 0 && fcntl(fd, F_NOTIFY, DN_DELETE) == 0) {
    CHECK(unlink(path) == 0);
    expect(SIGRTMIN + 3);
    CHECK_EQUAL(from_descriptor, fd);
  } else {
    unlink(path);
  }
  close(fd);
  CHECK(rmdir(folder) == 0);
}

static void urgent_data(void) {
  const int listener = socket(AF_INET, SOCK_STREAM, 0), client = socket(AF_INET, SOCK_STREAM, 0);
  struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
  socklen_t size = sizeof address;
  if (bind(listener, (struct sockaddr*)&address, size) != 0 || listen(listener, 1) != 0) return;
  CHECK(getsockname(listener, (struct sockaddr*)&address, &size) == 0 && connect(client, (struct sockaddr*)&address, size) == 0);
  const int server = accept(listener, NULL, NULL);
  CHECK(server >= 0 && fcntl(server, F_SETOWN, getpid()) == 0 && send(client, "u", 1, MSG_OOB) == 1);
  expect(SIGURG);
  char byte;
  CHECK(recv(server, &byte, 1, MSG_OOB) == 1 && byte == 'u');
  close(server);
  close(client);
  close(listener);
}

static sem_t done;

static void finished(union sigval value) {
  CHECK_EQUAL(value.sival_int, 5);
  sem_post(&done);
}

static void queues_and_aio(void) {
  char name[32];
  snprintf(name, sizeof name, "/guest-%d", getpid());
  struct mq_attr attributes = {.mq_maxmsg = 4, .mq_msgsize = 16};
  const mqd_t queue = mq_open(name, O_CREAT | O_RDWR, 0600, &attributes);
  if (queue != (mqd_t)-1) {
    CHECK(mq_unlink(name) == 0);
    struct sigevent event = {.sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGRTMIN + 4};
    CHECK(mq_notify(queue, &event) == 0 && mq_send(queue, "m", 1, 0) == 0);
    expect(SIGRTMIN + 4);
    CHECK_EQUAL(code, SI_MESGQ);
    mq_close(queue);
  }
  sem_init(&done, 0, 0);
  const int file = memfd_create("f", 0);
  char text[8] = "content";
  struct aiocb block = {.aio_fildes = file, .aio_buf = text, .aio_nbytes = 7,
                        .aio_sigevent = {.sigev_notify = SIGEV_THREAD, .sigev_notify_function = finished, .sigev_value.sival_int = 5}};
  CHECK(aio_write(&block) == 0);
  while (sem_wait(&done) != 0) continue;
  CHECK(aio_error(&block) == 0 && aio_return(&block) == 7);
  memset(text, 0, sizeof text);
  block.aio_sigevent = (struct sigevent){.sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGRTMIN + 5};
  CHECK(aio_read(&block) == 0);
  expect(SIGRTMIN + 5);
  CHECK(code == SI_ASYNCIO && aio_return(&block) == 7 && strcmp(text, "content") == 0);
}

static void refused_writes(void) {
  int ends[2];
  CHECK(pipe(ends) == 0 && close(ends[0]) == 0);
  CHECK(write(ends[1], "x", 1) == -1 && errno == EPIPE);
  expect(SIGPIPE);
  struct rlimit old, limit;
  CHECK(getrlimit(RLIMIT_FSIZE, &old) == 0);
  limit = old;
  limit.rlim_cur = 100;
  CHECK(setrlimit(RLIMIT_FSIZE, &limit) == 0);
  const int file = memfd_create("f", 0);
  CHECK(pwrite(file, "x", 1, 200) == -1 && errno == EFBIG);
  expect(SIGXFSZ);
  CHECK(setrlimit(RLIMIT_FSIZE, &old) == 0);
  const pid_t child = fork();
  if (child == 0) {
    signal(SIGPIPE, SIG_DFL);
    if (write(ends[1], "x", 1) < 0) _exit(1);
  }
  int status;
  CHECK(waitpid(child, &status, 0) == child && WIFSIGNALED(status) && WTERMSIG(status) == SIGPIPE);
}

int main(void) {
  struct sigaction action = {.sa_sigaction = handler, .sa_flags = SA_SIGINFO | SA_RESTART};
  const int numbers[] = {SIGIO, SIGURG, SIGPIPE, SIGXFSZ, SIGRTMIN + 3, SIGRTMIN + 4, SIGRTMIN + 5};
  for (unsigned k = 0; k < sizeof numbers / sizeof *numbers; ++k) CHECK(sigaction(numbers[k], &action, NULL) == 0);
  ready_input();
  leases_and_folders();
  urgent_data();
  queues_and_aio();
  refused_writes();
  return finish();
}
