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
// Returns 0, or -errno.
int reel_command_spawn(
    const char *path, char *const arguments[], char *const environment[], int input, int output, int errors,
    int object, reel_command_child *child);

// Sends `signal` to the whole process group. Only before `reel_command_collect` has given 1: the number is the
// group's for as long.
void reel_command_signal(const reel_command_child *child, int signal);

// Whether the process has ended, without collecting it: 1, or 0.
int reel_command_has_ended(const reel_command_child *child);

// Collects the process, waiting up to `milliseconds` for its end. `*status` is as waitpid(2) gives it.
// Returns 1, 0 when it has not ended, or -errno when somebody else has collected it.
int reel_command_collect(const reel_command_child *child, int milliseconds, int *status);

// How a status tells the end: the exit code, or -1 when a signal ended it.
int reel_command_exit_code(int status);

// A pipe or (when `both_ways`) a pair of connected sockets, closed on exec, into `ends`: 0, or -errno.
// Of a pipe the first end is read, the second is written.
int reel_command_channel(int both_ways, int ends[2]);

// A nameless file in `folder` that this process alone can read and write, or -errno.
int reel_command_nameless_file(const char *folder);

#endif
