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

// Starts the program at `path` (no search in PATH) with these NULL-terminated lists, in a session and a process group
// of its own, with default signals, and in this process's working directory. Its descriptors are `input` as 0, `output`
// as 1, `errors` as 2, `object` as 3 if it is not negative, and no other. The caller opens them with O_CLOEXEC. Returns
// 0, or -errno: -ECHILD, with nothing started, if this process ignores SIGCHLD, because then the exit status of its
// children is lost.
int reel_command_spawn(
    const char *path, char *const arguments[], char *const environment[], int input, int output, int errors,
    int object, reel_command_child *child);

// Sends `signal` to the whole process group, and never to another group that has reused its number. If the kernel can't
// send to the group of a pidfd (before Linux 6.9), this works only until the process is collected.
void reel_command_signal(const reel_command_child *child, int signal);

// Waits up to `milliseconds` for the process to end, without collecting it. Returns whether it has ended.
int reel_command_wait(const reel_command_child *child, int milliseconds);

// Collects the process if it has ended. `*exit_code` is -1 if a signal ended it. Returns 1, 0 if it has not ended, or
// -errno: -ECHILD if it was collected elsewhere.
int reel_command_collect(const reel_command_child *child, int *exit_code);

// Makes a pipe or (if `both_ways`) a pair of connected sockets, closed on exec, in `ends`. Returns 0, or -errno. The
// first end of a pipe is for reading, the second for writing.
int reel_command_channel(int both_ways, int ends[2]);

// Returns an unnamed file in `folder` that only this process can read and write, or -errno.
int reel_command_nameless_file(const char *folder);

#endif
