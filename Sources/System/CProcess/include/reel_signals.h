#ifndef REEL_C_SIGNALS_H
#define REEL_C_SIGNALS_H

// Once, at the start of the process, before it has other threads: undoes what whoever started it may have left of
// signals that Reel needs. SIGCHLD is not ignored any more: how children ended would be lost, and their numbers free
// for others. What ends a run (SIGINT, SIGTERM, SIGHUP) is not blocked any more; what is ignored (nohup) stays so.
void reel_signals_settle(void);

// From now on the first of these signals makes a descriptor readable, which is returned: a byte, the signal's number. The second ends the
// process at once with `status`, whatever its threads are at. From the return on no signal is lost, however late somebody
// looks. Those that the process ignores (nohup) stay ignored.
// One at a time in a process. The descriptor is closed on exec, and never before: a handler may be writing to it.
// Returns it, or -errno.
int reel_signals_listen(const int *numbers, int count, int status);

// After `reel_signals_listen`: this signal, too, is told by a byte, each time, and ends nothing.
void reel_signals_only_tell(int number);

// How many came since `reel_signals_listen`.
int reel_signals_count(void);

// Ends the process with the `status` of `reel_signals_listen` when one came: for who can't go on.
void reel_signals_end_if_told(void);

// What was listened to ends the process again, as if nobody had listened.
void reel_signals_stop(const int *numbers, int count);

#endif
