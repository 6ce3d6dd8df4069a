/// Where a run keeps private copies of the files that it takes in, so that what is hashed, probed, judged and stored are
/// the same bytes, whoever writes to the source meanwhile.
public protocol StagingArea: Sendable {
  /// Makes an empty file that nobody else knows of. Blocks.
  /// - Throws: `storeFull`, `storeUnusable`, `unavailable`, `interrupted`.
  func makeFile() throws(UploadError) -> any StagedFile

  /// The same, where it is known how long it will be: small ones need not be on a disk. Blocks.
  /// - Parameter size: bytes that it will have, at most.
  /// - Throws: as ``makeFile()``.
  func makeFile(upTo size: Int64) throws(UploadError) -> any StagedFile
}

extension StagingArea {
  /// ``makeFile()``.
  public func makeFile(upTo size: Int64) throws(UploadError) -> any StagedFile { try makeFile() }
}

/// A file of a ``StagingArea``: written once, then only read. It goes with this object, unless it became an object of
/// its store.
public protocol StagedFile: AnyObject, Sendable {
  /// Open for writing until ``seal()``, and for reading from then on.
  var descriptor: Int32 { get }

  /// Whether it lies where it may become an object, so that its bytes may as well be on their way to the disk.
  var mayBecomeObject: Bool { get }

  /// Called once all bytes are written: nothing in this process can write to the file any more. Blocks.
  func seal() throws(UploadError)

  /// Why a system call on the file failed.
  /// - Parameters:
  ///   - code: its `errno`.
  ///   - task: what could not be done, such as "write a private copy".
  func failure(_ code: Int32, _ task: String) -> UploadError
}
