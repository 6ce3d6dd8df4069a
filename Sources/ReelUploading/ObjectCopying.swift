import Glibc
import ReelModel
import ReelSystem

/// Copies what is to be an object beside a folder store, where it has no name yet.
struct ObjectCopying {
  let store: OpenStore
  let key: ObjectKey
  let mode: UInt32
  let failure: FolderFailure

  /// Blocks. On return every byte is copied and none need be durable; ``GroupPlacing`` does the rest.
  func run(
    _ source: UploadSource, _ cancellation: CancellationFlag,
    _ reporting: @escaping @Sendable (TransferProgress) -> Void
  ) throws(UploadError) -> CopiedObject {
    try checkFree()
    let file = try createFile()
    let copy = SourceCopy(
      source: source, target: file.descriptor.rawValue, failure: failure, cancellation: cancellation,
      reporting: reporting)
    try copy.run()
    do throws(SystemError) {
      try Failpoint.bytesCopied.reach()
    } catch {
      throw failure(error, "write")
    }
    return CopiedObject(key: key, size: source.size, file: file, store: store)
  }

  private func createFile() throws(UploadError) -> TemporaryFile {
    do throws(SystemError) {
      try Failpoint.uploadBegun.reach()
      return try TemporaryFile.create(
        store.nextTemporaryName(), in: store.temporaries.rawValue, mode: mode_t(mode))
    } catch {
      throw failure(error, "create a file")
    }
  }

  /// Spares the copy when the name is taken; what counts is the renaming.
  private func checkFree() throws(UploadError) {
    if faccessat(store.root.rawValue, key.rawValue, F_OK, AT_SYMLINK_NOFOLLOW) == 0 {
      throw failure.taken(key)
    }
  }
}

/// A whole copy that has no name in its store yet. It goes with this object unless it was given one.
final class CopiedObject: Sendable {
  let key: ObjectKey
  private let size: Int64
  private let file: TemporaryFile
  /// The folder of temporaries, and the lock on it, stay for as long as the file may have to go.
  private let store: OpenStore

  init(key: ObjectKey, size: Int64, file: consuming TemporaryFile, store: OpenStore) {
    self.key = key
    self.size = size
    self.file = file
    self.store = store
  }

  /// Makes its bytes durable. Blocks. Called once: an fsync that failed must not be asked again.
  func sync(_ failure: FolderFailure) throws(UploadError) {
    do throws(SystemError) {
      try file.sync()
      try Failpoint.temporarySynced.reach()
      if try file.length() == size { return }
    } catch {
      throw failure(error, "sync a file")
    }
    throw UploadError(
      .verificationFailed,
      "the store \(failure.store) does not hold all bytes of \(key) after the sync: check its file system")
  }

  /// Gives it its name in `root`, in one step, and never over another one.
  func name(in root: Descriptor, _ failure: FolderFailure) throws(UploadError) {
    do throws(SystemError) {
      try file.rename(to: key.rawValue, in: root.rawValue)
      try Failpoint.objectNamed.reach()
    } catch {
      throw error.code == EEXIST ? failure.taken(key) : failure(error, "name a file")
    }
  }
}

extension FolderFailure {
  func taken(_ key: ObjectKey) -> UploadError {
    UploadError(.alreadyExists, "the store \(store) has an object named \(key) already")
  }
}
