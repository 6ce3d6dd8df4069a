#ifndef REEL_C_SIGNALS_H
#define REEL_C_SIGNALS_H

// Resets what the parent process may have changed about signals that Reel needs. Call it once, at the start of the
// process, before it has other threads. SIGCHLD is no longer ignored: otherwise the exit statuses of children would
// be lost, and their process ids could be reused. The signals that end a run (SIGINT, SIGTERM, SIGHUP) are
// unblocked; those that are ignored (nohup) stay so.
void reel_signals_settle(void);

// Listens for these signals. The first one makes the returned descriptor readable: a byte, the number of the
// signal. The second ends the process at once with `status`, whatever its threads are doing. Once this has
// returned, no signal is lost, however late the descriptor is read. Signals that the process ignores (nohup) stay
// ignored.
// Only one listener per process. The descriptor is closed on exec, and never before, because a handler may be
// writing to the other end.
// Returns the descriptor, or -errno.
int reel_signals_listen(const int *numbers, int count, int status);

// After `reel_signals_listen`: this signal, too, is reported by a byte each time, and never ends the process.
void reel_signals_only_tell(int number);

// How many of the listened signals have arrived since `reel_signals_listen`.
int reel_signals_count(void);

// Ends the process with the `status` of `reel_signals_listen` if such a signal has arrived; for code that cannot
// continue.
void reel_signals_end_if_told(void);

// Stops listening: the signals end the process again, as if nothing had listened.
void reel_signals_stop(const int *numbers, int count);

#endif
