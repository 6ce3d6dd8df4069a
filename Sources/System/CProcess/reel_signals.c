#define _GNU_SOURCE
#include "reel_signals.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdatomic.h>
#include <stddef.h>
#include <unistd.h>

// A handler receives only the number; everything else that it needs is global to the process (signal-safety(7)).
static atomic_int seen;
static atomic_int told = -1;
static atomic_int exit_status;

static void tell(int number) {
  int before = errno;
  char byte = (char)number;
  // If the pipe is full, the signal has been reported often enough.
  ssize_t written = write(atomic_load(&told), &byte, 1);
  (void)written;
  errno = before;
}

static void handle(int number) {
  if (atomic_fetch_add(&seen, 1) > 0) _exit(atomic_load(&exit_status));
  tell(number);
}

static int is_ignored(int number) {
  struct sigaction current;
  return sigaction(number, NULL, &current) == 0 && current.sa_handler == SIG_IGN;
}

void reel_signals_settle(void) {
  signal(SIGCHLD, SIG_DFL);
  sigset_t wanted;
  sigemptyset(&wanted);
  sigaddset(&wanted, SIGCHLD);
  sigaddset(&wanted, SIGINT);
  sigaddset(&wanted, SIGTERM);
  sigaddset(&wanted, SIGHUP);
  sigprocmask(SIG_UNBLOCK, &wanted, NULL);
}

int reel_signals_listen(const int *numbers, int count, int status) {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC | O_NONBLOCK) < 0) return -errno;
  atomic_store(&seen, 0);
  atomic_store(&told, ends[1]);
  atomic_store(&exit_status, status);
  // Interrupted system calls are restarted if possible.
  struct sigaction action = {.sa_handler = handle, .sa_flags = SA_RESTART};
  sigemptyset(&action.sa_mask);
  for (int index = 0; index < count; index++) {
    if (!is_ignored(numbers[index])) sigaction(numbers[index], &action, NULL);
  }
  return ends[0];
}

void reel_signals_only_tell(int number) {
  struct sigaction action = {.sa_handler = tell, .sa_flags = SA_RESTART};
  sigemptyset(&action.sa_mask);
  sigaction(number, &action, NULL);
}

int reel_signals_count(void) { return atomic_load(&seen); }

void reel_signals_end_if_told(void) {
  if (atomic_load(&seen) > 0) _exit(atomic_load(&exit_status));
}

void reel_signals_stop(const int *numbers, int count) {
  struct sigaction action = {.sa_handler = SIG_DFL};
  for (int index = 0; index < count; index++) {
    if (!is_ignored(numbers[index])) sigaction(numbers[index], &action, NULL);
  }
}
