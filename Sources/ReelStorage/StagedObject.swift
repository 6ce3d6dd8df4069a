import Glibc
import ReelCore
import Synchronization

/// A private copy in a folder store's folder of temporaries, which can become its object by being renamed.
final class StagedObject: StagedFile {
  private let file: Mutex<TemporaryFile>
  /// The folder of temporaries, and the lock on it, stay for as long as the file may have to go: declared after it, and
  /// so let go of after it.
  let store: OpenStore
  private let isTaken = Atomic<Bool>(false)
  private let failure: FolderFailure

  init(_ file: consuming TemporaryFile, of store: OpenStore, _ failure: FolderFailure) {
    self.file = Mutex(file)
    self.store = store
    self.failure = failure
  }

  var descriptor: Int32 { file.withLock { $0.descriptor.rawValue } }
  var mayBecomeObject: Bool { true }

  func seal() throws(UploadError) {
    do throws(SystemError) {
      try Failpoint.bytesCopied.reach()
      try file.withLock { file throws(SystemError) in try file.seal() }
    } catch {
      throw failure(error, "open a private copy")
    }
  }

  func failure(_ code: Int32, _ task: String) -> UploadError {
    failure(SystemError(code: code, call: ""), task)
  }

  /// Whether the caller may make an object of it: true once. A file whose sync failed must not be synced again.
  func take() -> Bool { !isTaken.exchange(true, ordering: .relaxed) }

  /// For the calls that make it an object.
  func withFile<Value>(
    _ body: (borrowing TemporaryFile) throws(SystemError) -> Value
  ) throws(SystemError) -> Value {
    try file.withLock { file throws(SystemError) in try body(file) }
  }
}

/// A folder store's folder of temporaries, as the place of private copies.
struct FolderStaging: StagingArea {
  let store: OpenStore
  let failure: FolderFailure

  func makeFile() throws(UploadError) -> any StagedFile { try makeObject() }

  func makeObject() throws(UploadError) -> StagedObject {
    do throws(SystemError) {
      let file = try TemporaryFile.create(store.nextTemporaryName(), in: store.temporaries.rawValue)
      return StagedObject(file, of: store, failure)
    } catch {
      throw failure(error, "create a file")
    }
  }
}
