import Glibc
import ReelCore

/// A directory that is held open, so that the names in it go on meaning what they meant.
final class DirectoryHandle: Sendable {
  let descriptor: Descriptor
  let identity: DirectoryIdentity

  init(descriptor: Descriptor, identity: DirectoryIdentity) {
    self.descriptor = descriptor
    self.identity = identity
  }

  /// What `name` is, the link itself where it is one.
  func status(of name: [UInt8]) throws(SourceError) -> FileStatus {
    try FileStatus(of: try PathBytes(name), in: descriptor)
  }

  /// Finds `name`, the link itself where it is one.
  func find(_ name: [UInt8]) throws(SourceError) -> LocatedFile {
    try PathLookup.find(name, from: descriptor, links: .refuse)
  }
}
