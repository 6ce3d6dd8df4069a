#pragma once

#include <stdbool.h>
#include <stdint.h>

// What this process may still use once it is confined.
typedef struct {
  // Bytes of address space beyond what is mapped when `reel_confine_limits` is called.
  int64_t memory;
  // Seconds of processor time before SIGXCPU. SIGKILL, which nobody blocks, comes after `reel_last_second` of them.
  int seconds;
  // Descriptors above the channel.
  int descriptors;
  // The largest file that may be written; 0 where no byte may be.
  int64_t output;
} reel_bounds;

// How much processor time a process of such `seconds` may use in all: those of one file beyond those that it may have
// used before. One that has used more gets no other file (`reel_child_allow_seconds`): nobody but root can raise this.
static inline int64_t reel_last_second(int64_t seconds) { return 2 * seconds + 1; }

// Does what the C library would otherwise do at its first use, with files that a confined process can't open
// (the time zone). Gives every signal its default
// effect, and leaves the working folder for `/`.
void reel_confine_prepare(void);

// Layers, each for good and inherited by every process that this one starts. All return 0, or -errno when the layer
// could not be had.

// No new privileges by exec, no core dump, no ptrace by others.
int reel_confine_privileges(void);

// Limits on memory, processor time, descriptors and the size of files.
int reel_confine_limits(const reel_bounds *bounds);

// The same for a process that was forked, but for memory: it has its server's limit.
int reel_confine_forked_limits(const reel_bounds *bounds);

// Landlock: no file, no TCP port; where the kernel has scopes, no signal and no abstract socket to the outside.
// Needs one free descriptor while it works.
int reel_confine_landlock(void);

// A filter that lets through only what reading a file from a descriptor takes; any other system call ends the
// process with SIGSYS.
// A process that `forks` workers (`reel_child_fork_sibling`) may besides start them, and confine them further. One that
// `mends` is handed two descriptors above its channel, and copies from the first to the second one; a process that forks
// needs it for workers that do.
int reel_confine_system_calls(bool forks, bool mends);
