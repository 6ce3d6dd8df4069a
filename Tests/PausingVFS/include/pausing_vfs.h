#ifndef REEL_PAUSING_VFS_H
#define REEL_PAUSING_VFS_H

/// What is called at each checkpoint of this process that the log has changed before, between where it has read how far
/// the log goes and where it makes use of that; nil for nothing. For all databases.
void reel_when_checkpointing(void (*pause)(void *), void *context);

/// How many checkpoints were paused.
long reel_checkpoints_paused(void);

#endif
