#define _GNU_SOURCE
#include "reel_command.h"
#include "reel_spawn.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

// Linux 5.4 and 6.9; the headers of a distribution are often older than its kernel.
#ifndef P_PIDFD
#define P_PIDFD 3
#endif
enum { signal_process_group = 4 };

// With older C libraries, dup2 of a descriptor onto itself in posix_spawn keeps its close-on-exec flag, and the targets
// 0...3 may be sources of each other. So the sources that are passed here are all above 3.
static int add_descriptors(posix_spawn_file_actions_t *actions, int input, int output, int errors, int object) {
  int error = posix_spawn_file_actions_adddup2(actions, input, 0);
  if (!error) error = posix_spawn_file_actions_adddup2(actions, output, 1);
  if (!error) error = posix_spawn_file_actions_adddup2(actions, errors, 2);
  if (!error && object >= 0) error = posix_spawn_file_actions_adddup2(actions, object, reel_command_object);
  int first_free = object >= 0 ? reel_command_object + 1 : reel_command_object;
  if (!error) error = posix_spawn_file_actions_addclosefrom_np(actions, first_free);
  return error;
}

static int spawn_above_three(
    const char *path, char *const arguments[], char *const environment[], const int descriptors[4], pid_t *pid) {
  posix_spawn_file_actions_t actions;
  posix_spawnattr_t attributes;
  int error = posix_spawn_file_actions_init(&actions);
  if (error) return error;
  error = posix_spawnattr_init(&attributes);
  if (!error) {
    error = add_descriptors(&actions, descriptors[0], descriptors[1], descriptors[2], descriptors[3]);
    if (!error) error = reel_spawn_signals(&attributes);
    if (!error) error = posix_spawn(pid, path, &actions, &attributes, arguments, environment);
    posix_spawnattr_destroy(&attributes);
  }
  posix_spawn_file_actions_destroy(&actions);
  return error;
}

// Whether the kernel collects children itself, so that their numbers may be reused.
static int children_are_ignored(void) {
  struct sigaction current;
  if (sigaction(SIGCHLD, NULL, &current) < 0) return 0;
  return current.sa_handler == SIG_IGN || (current.sa_flags & SA_NOCLDWAIT) != 0;
}

int reel_command_spawn(
    const char *path, char *const arguments[], char *const environment[], int input, int output, int errors,
    int object, reel_command_child *child) {
  if (children_are_ignored()) return -ECHILD;
  const int given[4] = {input, output, errors, object};
  int moved[4] = {-1, -1, -1, -1};
  int error = 0;
  for (int index = 0; index < 4 && !error; index++) {
    if (given[index] < 0) continue;
    moved[index] = fcntl(given[index], F_DUPFD_CLOEXEC, reel_command_object + 1);
    if (moved[index] < 0) error = errno;
  }
  if (!error) error = spawn_above_three(path, arguments, environment, moved, &child->pid);
  for (int index = 0; index < 4; index++) {
    if (moved[index] >= 0) close(moved[index]);
  }
  if (error) return -error;
  child->descriptor = (int)syscall(SYS_pidfd_open, child->pid, 0);
  if (child->descriptor >= 0) return 0;
  error = errno;
  siginfo_t facts;
  if (waitid(P_PID, (id_t)child->pid, &facts, WEXITED | WNOHANG | WNOWAIT) == 0) kill(-child->pid, SIGKILL);
  waitpid(child->pid, NULL, 0);
  return -error;
}

// Whether the process, running or ended, is still to be collected. Until then its number belongs to no other.
static int is_held(const reel_command_child *child) {
  siginfo_t facts;
  return waitid(P_PIDFD, (id_t)child->descriptor, &facts, WEXITED | WNOHANG | WNOWAIT) == 0;
}

void reel_command_signal(const reel_command_child *child, int signal) {
  if (syscall(SYS_pidfd_send_signal, child->descriptor, signal, NULL, signal_process_group) == 0) return;
  // This kernel can't send to the group of a pidfd. posix_spawn returns after the exec, so the group exists.
  if (errno == EINVAL && is_held(child)) kill(-child->pid, signal);
}

int reel_command_wait(const reel_command_child *child, int milliseconds) {
  struct pollfd wanted = {.fd = child->descriptor, .events = POLLIN};
  int ready;
  do ready = poll(&wanted, 1, milliseconds);
  while (ready < 0 && errno == EINTR);
  return ready > 0;
}

int reel_command_collect(const reel_command_child *child, int *exit_code) {
  siginfo_t facts = {0};
  int result;
  do result = waitid(P_PIDFD, (id_t)child->descriptor, &facts, WEXITED | WNOHANG);
  while (result < 0 && errno == EINTR);
  if (result < 0) return -errno;
  if (facts.si_pid == 0) return 0;
  *exit_code = facts.si_code == CLD_EXITED ? facts.si_status : -1;
  return 1;
}

int reel_command_channel(int both_ways, int ends[2]) {
  int result = both_ways ? socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) : pipe2(ends, O_CLOEXEC);
  return result < 0 ? -errno : 0;
}

int reel_command_nameless_file(const char *folder) {
  int file = open(folder, O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
  if (file >= 0 || (errno != EOPNOTSUPP && errno != EISDIR && errno != ENOENT)) return file < 0 ? -errno : file;
  // This file system has no O_TMPFILE.
  char *path = NULL;
  if (asprintf(&path, "%s/reel-spool-XXXXXX", folder) < 0) return -ENOMEM;
  file = mkostemp(path, O_CLOEXEC);
  int error = file < 0 ? errno : 0;
  if (file >= 0) unlink(path);
  free(path);
  return file >= 0 ? file : -error;
}
