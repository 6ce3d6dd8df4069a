#pragma once

#include <stdint.h>
#include <sys/types.h>

// The descriptor under which a worker finds its channel.
static const int reel_worker_channel = 3;

// A process that this one started, or that another process started on its behalf.
typedef struct {
  pid_t pid;
  // A pidfd. It identifies the process for as long as it is open, even if the process number is reused.
  int descriptor;
} reel_child;

// How a process ended.
typedef struct {
  // The exit status, or -1 when a signal ended it.
  int exit_code;
  // The signal that ended it, or 0.
  int signal;
  // The whole seconds of processor time that it used.
  int64_t seconds;
} reel_end;

// Starts `path` with no argument, an empty environment, `/dev/null` as standard input, output and error, `channel` as
// descriptor 3, no other descriptor, default signals, and in a session of its own, so that Ctrl-C in a terminal reaches
// only the parent. Returns 0, or -errno. On failure `child->pid` is 0 if the process was not started, and not 0 if it
// was but could not be taken over.
int reel_child_spawn(const char *path, int channel, reel_child *child);

// Takes over a child of this process that has not been collected yet. One that can't be taken over is killed and
// collected. Returns 0, or -errno.
int reel_child_adopt(int pid, reel_child *child);

// Forks a process that is a sibling, not a child: the caller's parent waits for it. Returns 0 in the new process, its
// number in the caller, or -errno. Only for a process with one thread.
int reel_child_fork_sibling(void);

// Asks the kernel to end this process when its parent is gone. By the parent the kernel means the *thread* that started
// it.
int reel_child_die_with_parent(void);

// Keeps heap memory that one file used for the next one, up to a few megabytes, instead of returning it to the kernel
// and getting it back page by page. Does nothing if the C library has no such setting.
void reel_child_keep_heap(void);

// Asks the kernel for pages of 2 MB for frames: decoders clear all that they allocate, and touching it page by page is
// a tenth of what a picture costs. Does nothing where there are none.
void reel_child_use_large_pages(void);

// Sends SIGKILL.
int reel_child_kill(const reel_child *child);

// Waits up to `milliseconds` for the process to end, and collects it. Returns 1 if it has ended, 0 if it has not, or
// -errno: -ECHILD if it was collected elsewhere.
int reel_child_collect(const reel_child *child, int milliseconds, reel_end *end);

// Returns the signal's name without SIG, such as `SEGV`; NULL for a number that is no signal.
const char *reel_child_signal_name(int signal);

// Returns the processor time that the process has used until now; -errno if it is unknown.
int64_t reel_child_processor_nanoseconds(const reel_child *child);

// Lets the process use `seconds` of processor time beyond what it has used until now; then SIGXCPU ends it. Returns 0,
// or -errno: -EINVAL if it has used so much that its hard limit (`reel_last_second`) leaves less.
int reel_child_allow_seconds(const reel_child *child, int seconds);
