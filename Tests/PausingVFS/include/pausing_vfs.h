#ifndef REEL_PAUSING_VFS_H
#define REEL_PAUSING_VFS_H

/// Sets a function to call in each checkpoint of this process before which the log has changed, after the checkpoint
/// has read how long the log is and before it uses that; NULL for none. Applies to all databases.
void reel_when_checkpointing(void (*pause)(void *), void *context);

/// Returns how many checkpoints were paused.
long reel_checkpoints_paused(void);

#endif
