import Glibc
import ReelModel
import ReelSystem

/// Puts one object into a folder store: copied beside it, synced, checked, then named in one step.
struct ObjectPlacing {
  let store: OpenStore
  let key: ObjectKey
  let mode: UInt32
  let failure: FolderFailure

  /// Blocks. On return the object has its name; the folder is not synced yet.
  func run(
    _ source: UploadSource, _ cancellation: CancellationFlag,
    _ reporting: @escaping @Sendable (TransferProgress) -> Void
  ) throws(UploadError) {
    try checkFree()
    let file = try doing("create a file") { () throws(SystemError) -> TemporaryFile in
      try Failpoint.uploadBegun.reach()
      return try TemporaryFile.create(
        store.nextTemporaryName(), in: store.temporaries.rawValue, mode: mode_t(mode))
    }
    let copy = SourceCopy(
      source: source, target: file.descriptor.rawValue, failure: failure, cancellation: cancellation,
      reporting: reporting)
    try copy.run()
    try doing("write") { () throws(SystemError) in try Failpoint.bytesCopied.reach() }
    try settle(file, source.size)
    try cancellation.check()
    try name(file)
  }

  /// Spares the copy when the name is taken; what counts is the renaming.
  private func checkFree() throws(UploadError) {
    if faccessat(store.root.rawValue, key.rawValue, F_OK, AT_SYMLINK_NOFOLLOW) == 0 { throw taken }
  }

  private func settle(_ file: borrowing TemporaryFile, _ size: Int64) throws(UploadError) {
    do throws(SystemError) {
      try file.sync()
      try Failpoint.temporarySynced.reach()
      let length = try file.length()
      if length == size { return }
    } catch {
      throw failure(error, "sync a file")
    }
    throw UploadError(
      .verificationFailed,
      "the store \(failure.store) does not hold all bytes of \(key) after the sync: check its file system")
  }

  private func name(_ file: borrowing TemporaryFile) throws(UploadError) {
    do throws(SystemError) {
      try file.rename(to: key.rawValue, in: store.root.rawValue)
      try Failpoint.objectNamed.reach()
    } catch {
      throw error.code == EEXIST ? taken : failure(error, "name a file")
    }
  }

  private var taken: UploadError {
    UploadError(.alreadyExists, "the store \(failure.store) has an object named \(key) already")
  }

  private func doing<Value: ~Copyable>(
    _ task: String, _ body: () throws(SystemError) -> Value
  ) throws(UploadError) -> Value {
    do throws(SystemError) {
      return try body()
    } catch {
      throw failure(error, task)
    }
  }
}
