import Glibc
import ReelCore
import Synchronization

/// A file that the program itself has written and hashed, and to which nobody writes any more. It is published without
/// a copy, and without being read again to hash it.
///
/// It is meant for programs that receive bytes and hash them as they arrive, such as a server. The program that makes
/// one must guarantee:
/// - `digest` and `size` are those of the whole file. A wrong digest can't be noticed here, as the file is not read
///   again: the post would carry it until ``Uploader/readBack(_:)`` reveals it.
/// - Nobody ever writes to the file again, under any name: it may become the store's object, by a hard link. No
///   descriptor or mapping for writing is left, and whoever sent the bytes has no access to it. It belongs to this
///   user, who alone may write to it and to its folder, and nothing more is received under its name.
///
/// Some of this is checked when the file is opened: it is a regular file of this user, no other user may write to it,
/// no process has it open for writing, and its file system is local to this machine. A file for which one of these
/// fails, or can't be determined, is copied and hashed like any other.
///
/// Once it is a post, or is not to become one, the program removes its own name for it.
public struct OwnedFile: Hashable, Sendable {
  /// The path, no component of which is a symbolic link.
  public let path: SourcePath
  /// The SHA-256 of all its bytes.
  public let digest: ContentDigest
  /// Its size in bytes.
  public let size: Int64

  /// Creates a file with the guarantees that ``OwnedFile`` lists.
  public init(path: SourcePath, digest: ContentDigest, size: Int64) {
    (self.path, self.digest, self.size) = (path, digest, size)
  }

  /// Returns a handle that reads `file`, which was opened at the path: as an owned file if the checks pass, otherwise
  /// as any other. Blocks.
  /// - Throws: `sourceChanged` if it does not have the stated size.
  func handle(of file: OpenedFile) throws(SourceError) -> any SourceHandle {
    let identity = try file.currentIdentity()
    guard identity.size == size else { throw .changed }
    guard file.isOfThisUserAlone, file.writers() == .none else { return file }
    return OwnedHandle(file, identity, digest)
  }
}

extension OpenedFile {
  /// Whether it belongs to this user, and no other user may write to it. Blocks.
  fileprivate var isOfThisUserAlone: Bool {
    var status = stat()
    guard file.holding({ fstat($0, &status) }) == 0 else { return false }
    return status.st_uid == geteuid() && status.st_mode & 0o022 == 0
  }
}

/// An ``OwnedFile``, open.
package final class OwnedHandle: SourceHandle, LinkableBytes {
  /// The digest that the program stated.
  package let digest: ContentDigest
  private let opened: OpenedFile
  private let identity: FileIdentity
  private let isTaken = Atomic(false)

  fileprivate init(_ opened: OpenedFile, _ identity: FileIdentity, _ digest: ContentDigest) {
    (self.opened, self.identity, self.digest) = (opened, identity, digest)
  }

  package var descriptor: Int32? { opened.descriptor }
  package var isPrivate: Bool { true }

  package func takeFile() -> Descriptor? {
    isTaken.exchange(true, ordering: .relaxed) ? nil : opened.file
  }

  package func read(into buffer: UnsafeMutableRawBufferPointer, at offset: Int64) throws(SourceError) -> Int {
    try opened.read(into: buffer, at: offset)
  }

  package func currentIdentity() throws(SourceError) -> FileIdentity { try opened.currentIdentity() }

  package func storedBytes() -> Int64? { opened.storedBytes() }

  /// Ignores `changedAt`, which a new hard link changes. Writing to the file would have changed `modifiedAt`.
  package func checkUnchanged() throws(SourceError) {
    let now = try opened.currentIdentity()
    guard now.size == identity.size, now.modifiedAt == identity.modifiedAt else { throw .changed }
  }
}
