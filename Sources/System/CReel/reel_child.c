#define _GNU_SOURCE
#include "reel_child.h"
#include "reel_spawn.h"

#include <errno.h>
#include <fcntl.h>
#ifdef __GLIBC__
#include <malloc.h>
#endif
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <spawn.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

// Linux 5.4; the headers of a distribution are often older than its kernel.
#ifndef P_PIDFD
#define P_PIDFD 3
#endif

static int add_descriptors(posix_spawn_file_actions_t *actions, int channel) {
  int error = posix_spawn_file_actions_addopen(actions, 0, "/dev/null", O_RDWR, 0);
  if (!error) error = posix_spawn_file_actions_adddup2(actions, 0, 1);
  if (!error) error = posix_spawn_file_actions_adddup2(actions, 0, 2);
  if (!error) error = posix_spawn_file_actions_adddup2(actions, channel, reel_worker_channel);
  if (!error) error = posix_spawn_file_actions_addclosefrom_np(actions, reel_worker_channel + 1);
  return error;
}

static int spawn_prepared(
    const char *path, int channel, posix_spawn_file_actions_t *actions, posix_spawnattr_t *attributes, pid_t *pid) {
  int error = add_descriptors(actions, channel);
  if (!error) error = reel_spawn_signals(attributes);
  char *const arguments[] = {"reel-probe-worker", NULL};
  char *const environment[] = {NULL};
  if (!error) error = posix_spawn(pid, path, actions, attributes, arguments, environment);
  return error;
}

int reel_child_spawn(const char *path, int channel, reel_child *child) {
  posix_spawn_file_actions_t actions;
  posix_spawnattr_t attributes;
  pid_t pid;
  child->pid = 0;
  int error = posix_spawn_file_actions_init(&actions);
  if (error) return -error;
  error = posix_spawnattr_init(&attributes);
  if (!error) {
    error = spawn_prepared(path, channel, &actions, &attributes, &pid);
    posix_spawnattr_destroy(&attributes);
  }
  posix_spawn_file_actions_destroy(&actions);
  return error ? -error : reel_child_adopt(pid, child);
}

int reel_child_adopt(int pid, reel_child *child) {
  child->pid = pid;
  child->descriptor = (int)syscall(SYS_pidfd_open, pid, 0);
  if (child->descriptor >= 0) return 0;
  int error = errno;
  // The process keeps its number until it is collected.
  siginfo_t facts;
  if (waitid(P_PID, (id_t)pid, &facts, WEXITED | WNOHANG | WNOWAIT) == 0) kill(pid, SIGKILL);
  waitpid(pid, NULL, 0);
  return -error;
}

int reel_child_fork_sibling(void) {
  // This is the old call, not clone3, because a system call filter can examine its flags.
  long pid = syscall(SYS_clone, CLONE_PARENT, NULL, NULL, NULL, NULL);
  return pid < 0 ? -errno : (int)pid;
}

void reel_child_keep_heap(void) {
#ifdef __GLIBC__
  mallopt(M_TRIM_THRESHOLD, 8 << 20);
  mallopt(M_TOP_PAD, 1 << 20);
  mallopt(M_MMAP_THRESHOLD, 1 << 20);
#endif
}

void reel_child_use_large_pages(void) {
#if defined(__GLIBC__) && defined(MADV_HUGEPAGE)
  const size_t room = 24 << 20, page = 2 << 20;
  mallopt(M_MMAP_THRESHOLD, 32 << 20);
  mallopt(M_TRIM_THRESHOLD, 64 << 20);
  char *start = malloc(room);
  if (start == NULL) return;
  uintptr_t first = ((uintptr_t)start + page - 1) & ~(uintptr_t)(page - 1);
  madvise((void *)first, ((uintptr_t)start + room - first) & ~(page - 1), MADV_HUGEPAGE);
  free(start);
#endif
}

int reel_child_die_with_parent(void) {
  return prctl(PR_SET_PDEATHSIG, SIGKILL) < 0 ? -errno : 0;
}

int reel_child_kill(const reel_child *child) {
  return syscall(SYS_pidfd_send_signal, child->descriptor, SIGKILL, NULL, 0) < 0 ? -errno : 0;
}

static int64_t now_in_milliseconds(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

// A pidfd is readable once its process has ended.
static int has_ended(int descriptor, int milliseconds) {
  int64_t deadline = now_in_milliseconds() + milliseconds;
  while (1) {
    struct pollfd wanted = {.fd = descriptor, .events = POLLIN};
    int64_t left = deadline - now_in_milliseconds();
    int ready = poll(&wanted, 1, left > 0 ? (int)left : 0);
    if (ready >= 0) return ready;
    if (errno != EINTR) return -errno;
  }
}

int reel_child_collect(const reel_child *child, int milliseconds, reel_end *end) {
  int ended = has_ended(child->descriptor, milliseconds);
  if (ended <= 0) return ended;
  // Wait by the pidfd: if this process ignores SIGCHLD, the number may belong to another child by now. The C library's
  // waitid does not return the usage.
  siginfo_t facts = {0};
  struct rusage usage = {0};
  long result;
  do result = syscall(SYS_waitid, P_PIDFD, child->descriptor, &facts, WEXITED, &usage);
  while (result < 0 && errno == EINTR);
  if (result < 0) return -errno;
  end->exit_code = facts.si_code == CLD_EXITED ? facts.si_status : -1;
  end->signal = facts.si_code == CLD_EXITED ? 0 : facts.si_status;
  struct timeval used;
  timeradd(&usage.ru_utime, &usage.ru_stime, &used);
  end->seconds = used.tv_sec;
  return 1;
}

static int processor_time(const reel_child *child, struct timespec *used) {
  clockid_t clock;
  int error = clock_getcpuclockid(child->pid, &clock);
  if (error) return -error;
  return clock_gettime(clock, used) < 0 ? -errno : 0;
}

int64_t reel_child_processor_nanoseconds(const reel_child *child) {
  struct timespec used;
  int error = processor_time(child, &used);
  return error ? error : (int64_t)used.tv_sec * 1000000000 + used.tv_nsec;
}

int reel_child_allow_seconds(const reel_child *child, int seconds) {
  // If the kernel collects children itself, the number may belong to another process by now.
  if (has_ended(child->descriptor, 0) != 0) return -ESRCH;
  struct timespec used;
  int error = processor_time(child, &used);
  if (error) return error;
  struct rlimit limit;
  if (prlimit(child->pid, RLIMIT_CPU, NULL, &limit) < 0) return -errno;
  // Add one second for the fraction that the kernel rounds away.
  limit.rlim_cur = (rlim_t)used.tv_sec + (rlim_t)seconds + 1;
  return prlimit(child->pid, RLIMIT_CPU, &limit, NULL) < 0 ? -errno : 0;
}

const char *reel_child_signal_name(int signal) {
  return sigabbrev_np(signal);
}
