#pragma once

#include <stddef.h>
#include <sys/types.h>

// A channel between two processes: a socket that keeps message boundaries (SOCK_SEQPACKET), so that a frame
// arrives whole or not at all, and a peer can't make the other side wait for the rest of one.

// Makes a channel. Both ends are closed on exec and numbered above the standard descriptors. Returns 0, or -errno.
int reel_channel_pair(int ends[2]);

// Whether `descriptor` is one end of a channel.
int reel_channel_is(int descriptor);

// Sends one frame and, unless it is below 0, one descriptor with it. Blocks while the peer's buffer is full. Returns 0,
// or -errno (-EPIPE if the peer is gone; no signal is raised).
int reel_channel_send(int channel, const void *bytes, size_t count, int descriptor);

// The same to a peer that may be hostile and never receive. Does not block (-EAGAIN while the peer's buffer is full).
int reel_channel_send_at_once(int channel, const void *bytes, size_t count, int descriptor);

// Receives one frame of at most `capacity` bytes, and blocks until there is one. `*descriptor` becomes the descriptor
// that came with it, closed on exec, or -1. Returns the frame's length, 0 if the peer is gone, or -errno: -EMSGSIZE for
// a longer frame, -EPROTO if it came with more than one descriptor. Both leave no descriptor open.
ssize_t reel_channel_receive(int channel, void *bytes, size_t capacity, int *descriptor);

// The same from a peer that may be hostile, without blocking: descriptors that it sends never enter this process.
ssize_t reel_channel_receive_plain(int channel, void *bytes, size_t capacity);

// Returns a descriptor, closed on exec, of an empty file in memory that can be sealed; or -errno.
int reel_memory_file(const char *name);

// Seals the file, so that no process can change it any more through any descriptor. Returns 0, or errno.
int reel_seal_memory_file(int file);

// Fills `bytes` with random bytes, and returns a descriptor, closed on exec, from which they can be read; or -errno.
int reel_channel_secret(void *bytes, size_t count);

// Returns a descriptor, closed on exec, of a file in memory that holds `bytes` and that no process can change any more;
// or -errno.
int reel_channel_sealed(const void *bytes, size_t count);

// Waits until there is something to receive (returns 1), `milliseconds` have passed (0), or a signal came (-EINTR).
int reel_channel_wait(int channel, int milliseconds);
