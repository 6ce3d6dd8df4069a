#ifndef REEL_C_COMMAND_H
#define REEL_C_COMMAND_H

#include <sys/types.h>

// The descriptor under which a program finds the object's bytes.
static const int reel_command_object = 3;

// A program that was started.
typedef struct {
  // Its process id, and the id of its process group.
  pid_t pid;
  // A pidfd: readable once the process has ended.
  int descriptor;
} reel_command_child;

// Starts the program at `path` (no search in PATH) with these NULL-terminated lists, in a session and a process
// group of its own, with default signals and in the folder where this process is.
// Its descriptors are: `input` as 0, `output` as 1, `errors` as 2, `object` as 3 when that is not negative, and
// no other. They are opened by the caller with O_CLOEXEC.
// Returns 0, or -errno: -ECHILD, with nothing started, where this process ignores SIGCHLD, so that how its children end
// is lost.
int reel_command_spawn(
    const char *path, char *const arguments[], char *const environment[], int input, int output, int errors,
    int object, reel_command_child *child);

// Sends `signal` to the whole process group, and never to another that has its number by now. Where the kernel can't
// send to the group of a pidfd (before Linux 6.9) that is only before the process is collected.
void reel_command_signal(const reel_command_child *child, int signal);

// Waits up to `milliseconds` for the end of the process, and does not collect it. Returns whether it has ended.
int reel_command_wait(const reel_command_child *child, int milliseconds);

// Collects the process if it has ended. `*exit_code` is -1 when a signal ended it.
// Returns 1, 0 when it has not ended, or -errno: -ECHILD when somebody else has collected it.
int reel_command_collect(const reel_command_child *child, int *exit_code);

// A pipe or (when `both_ways`) a pair of connected sockets, closed on exec, into `ends`: 0, or -errno.
// Of a pipe the first end is read, the second is written.
int reel_command_channel(int both_ways, int ends[2]);

// A nameless file in `folder` that this process alone can read and write, or -errno.
int reel_command_nameless_file(const char *folder);

#endif
