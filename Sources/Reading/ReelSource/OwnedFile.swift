import Glibc
import ReelCore
import Synchronization

/// A file that the program itself has written and hashed, and that nobody writes to any more: it is published without a
/// copy, and without being read once more to hash it.
///
/// It is for who takes bytes in and hashes them as they come, as a server does. Who makes one answers for these:
/// - `digest` and `size` are those of all bytes of the file. Of a digest that is not, nothing here can know, as nobody reads
///   them again: the post would carry it, until ``Uploader/readBack(_:)`` tells.
/// - Nobody writes to the file from now on, ever, under any name: it may become the store's object, under one more. No
///   descriptor or mapping to write by is left, and whoever has the bytes sent has no way to it: it belongs to this user,
///   who alone may write to it and to its folder, and its name is none that anything is still received under.
///
/// Of that it is checked, when the file is opened, that it is a regular file of this user, which nobody else may write to, that
/// no process has it open for writing, and that its file system is this machine's alone. One that fails there, or where it
/// can't be told, is copied and hashed as any other file.
///
/// Once it is a post, or is not to be one, its maker removes its own name for it.
public struct OwnedFile: Hashable, Sendable {
  /// Where it is; no part of it is a symbolic link.
  public let path: SourcePath
  /// The SHA-256 of all its bytes.
  public let digest: ContentDigest
  /// Bytes.
  public let size: Int64

  /// See ``OwnedFile`` for what that promises.
  public init(path: SourcePath, digest: ContentDigest, size: Int64) {
    (self.path, self.digest, self.size) = (path, digest, size)
  }

  /// What reads `file`, which was opened at the path: as owned, if it is. Blocks.
  /// - Throws: `sourceChanged` when it has not the size that was said.
  func handle(of file: OpenedFile) throws(SourceError) -> any SourceHandle {
    let identity = try file.currentIdentity()
    guard identity.size == size else { throw .changed }
    guard file.isOfThisUserAlone, file.writers() == .none else { return file }
    return OwnedHandle(file, identity, digest)
  }
}

extension OpenedFile {
  /// Whether nobody else may write to it. Blocks.
  fileprivate var isOfThisUserAlone: Bool {
    var status = stat()
    guard file.holding({ fstat($0, &status) }) == 0 else { return false }
    return status.st_uid == geteuid() && status.st_mode & 0o022 == 0
  }
}

/// An ``OwnedFile``, open.
package final class OwnedHandle: SourceHandle, LinkableBytes {
  /// As its maker said.
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

  /// A name more changes `changedAt`; who wrote to it would have changed `modifiedAt`.
  package func checkUnchanged() throws(SourceError) {
    let now = try opened.currentIdentity()
    guard now.size == identity.size, now.modifiedAt == identity.modifiedAt else { throw .changed }
  }
}
