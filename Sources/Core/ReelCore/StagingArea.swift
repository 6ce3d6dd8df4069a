/// Where a run keeps private copies of the files that it ingests, so that the same bytes are hashed, probed, judged
/// and stored, even if the source is written to meanwhile.
public protocol StagingArea: Sendable {
  /// Creates an empty file that no other process knows of. Blocks.
  /// - Throws: `storeFull`, `storeUnusable`, `unavailable`, `interrupted`.
  func makeFile() throws(UploadError) -> any StagedFile

  /// Creates a file of known maximum size; a small one need not be on disk. Blocks.
  /// - Parameter size: The maximum size in bytes.
  /// - Throws: As ``makeFile()``.
  func makeFile(upTo size: Int64) throws(UploadError) -> any StagedFile
}

extension StagingArea {
  /// Calls ``makeFile()``.
  public func makeFile(upTo size: Int64) throws(UploadError) -> any StagedFile { try makeFile() }
}

/// A file of a ``StagingArea``: written once, then only read. It is deleted with this object, unless it has become
/// an object of its store.
public protocol StagedFile: AnyObject, Sendable {
  /// The descriptor, open for writing until ``seal()``, and for reading afterwards.
  var descriptor: Int32 { get }

  /// Whether the file lies where it can become an object, so that it pays to write its bytes to disk early.
  var mayBecomeObject: Bool { get }

  /// Ends writing, once all bytes are written: afterwards nothing in this process can write to the file. Blocks.
  func seal() throws(UploadError)

  /// Describes why a system call on the file failed.
  /// - Parameters:
  ///   - code: The `errno` of the call.
  ///   - task: What could not be done, such as "write a private copy".
  func failure(_ code: Int32, _ task: String) -> UploadError
}
