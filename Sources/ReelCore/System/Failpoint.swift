/// A place between two effects on a disk, right after the one that it is named for. A debug build can be told to
/// fail there, by `REEL_FAILPOINT` (docs/publish.md); a release build passes by.
package enum Failpoint: Sendable, CaseIterable {
  // The file that says who is alive.
  case lockFileCreated
  case lockFileLocked
  case lockFileNamed
  case lockFileRemoved
  case deadLockRemoved

  // The folder store.
  case storeFolderMade
  case storeFolderSettled
  case leftoverRemoved
  case uploadBegun
  case temporaryCreated
  /// A part of the bytes, or all of them.
  case bytesWritten
  case bytesCopied
  case temporarySynced
  case objectNamed
  case objectReplaced
  case temporaryRemoved
  case folderSynced
  case objectRemoved

  // The catalog: its making and its end.
  case libraryFolderMade
  case libraryFolderSettled
  case catalogFolderLocked
  case catalogFileMade
  case catalogOpened
  case catalogSchemaWritten
  case catalogMigrated
  case catalogTraceWritten
  case catalogCheckpointed
  case catalogClosed

  // Any commit: before the transaction begins, within it, before its end, after its end.
  case groupBegun
  case groupOpened
  case groupWritten
  case groupCommitted

  // What is written within a commit, and (`…Committed`) after the commit that holds it.
  case ownerEnlisted
  case leaseRenewed
  case leaseCommitted
  case claimWritten
  case takeOverWritten
  case claimCommitted
  case intentFinished
  case postInserted
  case completeWritten
  case completeCommitted
  case releaseWritten
  case toldWritten
  case ownerRetired
  case retireCommitted

  /// The process has come here. What is armed for this place happens now.
  /// - Throws: what is armed, as if the effect before had failed; nothing in a release build.
  @inline(__always)
  package func reach() throws(SystemError) {
    #if DEBUG
      try ArmedFailpoint.ofThisProcess.reach("\(self)")
    #endif
  }

  /// The same where nothing can fail: an armed error has no effect.
  @inline(__always)
  package func pass() {
    #if DEBUG
      try? ArmedFailpoint.ofThisProcess.reach("\(self)")
    #endif
  }
}
