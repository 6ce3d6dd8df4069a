import FoundationEssentials
import Glibc
import ReelCore
import Synchronization

/// What `stat` reports about a file.
struct FileStatus: Hashable, Sendable {
  enum Kind: Hashable, Sendable {
    case regular
    case directory
    case link
    /// Anything else, as a noun with its article.
    case special(String)
  }
  let kind: Kind
  let identity: FileIdentity

  var directoryIdentity: DirectoryIdentity { DirectoryIdentity(identity) }

  /// The status of an open file.
  init(of descriptor: Descriptor) throws(SourceError) {
    try self.init(descriptor, "fstat") { fstat($0, &$1) }
  }

  /// The status of `name` in the directory; if it is a symbolic link, of the link itself.
  init(of name: PathBytes, in directory: Descriptor) throws(SourceError) {
    try self.init(directory, "fstatat") { fstatat($0, name.characters, &$1, AT_SYMLINK_NOFOLLOW) }
  }

  private init(
    _ descriptor: Descriptor, _ call: String, _ ask: (Int32, inout stat) -> Int32
  ) throws(SourceError) {
    var status = stat()
    try rethrowing(as: SourceError.init) { () throws(SystemError) in
      _ = try descriptor.call(call) { ask($0, &status) }
    }
    kind = Self.kind(status.st_mode)
    identity = FileIdentity(status)
  }

  /// - Throws: `isLink`, `isDirectory` or `notRegular` unless it is a regular file.
  func checkRegular() throws(SourceError) {
    switch kind {
    case .regular: break
    case .directory: throw .isDirectory
    case .link: throw .isLink
    case .special(let kind): throw .notRegular(kind)
    }
  }

  private static func kind(_ mode: mode_t) -> Kind {
    switch mode & S_IFMT {
    case S_IFREG: .regular
    case S_IFDIR: .directory
    case S_IFLNK: .link
    case S_IFIFO: .special("a FIFO (a named pipe)")
    case S_IFSOCK: .special("a socket")
    default: .special("a device")
    }
  }
}

extension FileIdentity {
  /// The identity that `stat` reports.
  package init(_ status: stat) {
    self.init(
      device: UInt64(status.st_dev), inode: UInt64(status.st_ino), size: Int64(status.st_size),
      modifiedAt: Self.nanoseconds(status.st_mtim), changedAt: Self.nanoseconds(status.st_ctim))
  }

  /// Nanoseconds since 1970. A file system may hold times that do not fit; they are clamped to the last one that does.
  private static func nanoseconds(_ time: timespec) -> Int64 {
    Int64(time.tv_sec).multipliedClamped(by: 1_000_000_000).addingClamped(Int64(time.tv_nsec))
  }

  /// Whether the file was left alone for 2 seconds before `moment`. Timestamps are only as fine as the kernel's tick
  /// (or a network file system's second), so another change to a file that was changed just now may leave no trace.
  public func isSettled(by moment: Date) -> Bool {
    Double(changedAt) / 1e9 <= moment.timeIntervalSince1970 - 2
  }
}

/// The identity of a directory, whatever its name.
public struct DirectoryIdentity: Hashable, Sendable {
  /// Device number (`st_dev`).
  public let device: UInt64
  /// Inode number (`st_ino`).
  public let inode: UInt64

  /// Creates an identity from what `stat` reports.
  public init(device: UInt64, inode: UInt64) {
    self.device = device
    self.inode = inode
  }

  /// The directory at `path`, following links; nil if there is none (yet), or it can't be reached. Blocks.
  public init?(at path: SourcePath) {
    guard let name = try? PathBytes(path.bytes) else { return nil }
    var status = stat()
    guard stat(name.characters, &status) == 0, status.st_mode & S_IFMT == S_IFDIR else { return nil }
    self.init(status)
  }

  /// The identity of any file, whether a directory or not.
  package init(_ status: stat) {
    self.init(device: UInt64(status.st_dev), inode: UInt64(status.st_ino))
  }

  /// The identity of any file, whether a directory or not.
  package init(_ file: FileIdentity) {
    self.init(device: file.device, inode: file.inode)
  }
}

/// A directory that is held open, so that the names in it keep their meaning.
final class DirectoryHandle: Sendable {
  let descriptor: Descriptor
  let identity: DirectoryIdentity
  /// The names of possible sidecars, by the key that names printing alike have in common; nil before the first request.
  private let sidecars = Mutex<[String: [[UInt8]]]?>(nil)

  init(descriptor: Descriptor, identity: DirectoryIdentity) {
    self.descriptor = descriptor
    self.identity = identity
  }

  /// Returns the status of `name`; if it is a symbolic link, of the link itself.
  func status(of name: [UInt8]) throws(SourceError) -> FileStatus {
    try FileStatus(of: try PathBytes(name), in: descriptor)
  }

  /// Whether there is a file `name`. No file has a name that is too long.
  func has(_ name: [UInt8]) throws(SourceError) -> Bool {
    do throws(SourceError) {
      _ = try status(of: name)
      return true
    } catch {
      guard error.code == .notFound || error.code == .invalidName else { throw error }
      return false
    }
  }

  /// Returns the names of files that print like `name`, a sidecar's, as of the first successful listing. Blocks.
  func sidecars(alike name: [UInt8]) throws(SourceError) -> [[UInt8]] {
    guard let key = AlikeName.key(name) else { return [] }
    return try sidecars.withLock { known throws(SourceError) in
      if let known { return known[key] ?? [] }
      let list = try NameList(of: self)
      let names = (0..<list.count).map { list[$0] }
      let all = Dictionary(
        grouping: names.filter(Sidecar.isName).compactMap { name in AlikeName.key(name).map { ($0, name) } },
        by: \.0
      ).mapValues { $0.map(\.1) }
      known = all
      return all[key] ?? []
    }
  }

  /// Finds `name`; if it is a symbolic link, the link itself.
  func find(_ name: [UInt8]) throws(SourceError) -> LocatedFile {
    try PathLookup.find(name, from: descriptor, links: .refuse)
  }
}

extension Descriptor {
  /// Calls `body` with the descriptor's number, which stays open until `body` returns. Swift may release an object
  /// after its last use, which would be when the number is read.
  func holding<Value, Failure: Error>(
    _ body: (Int32) throws(Failure) -> Value
  ) throws(Failure) -> Value {
    try withExtendedLifetime(self) { () throws(Failure) -> Value in try body(rawValue) }
  }

  /// Makes a system call with the number, with the guarantees of ``holding(_:)`` and `retryingInterrupts`.
  func call(_ name: String, _ body: (Int32) -> Int32) throws(SystemError) -> Int32 {
    try holding { number throws(SystemError) in try retryingInterrupts(name) { body(number) } }
  }
}
