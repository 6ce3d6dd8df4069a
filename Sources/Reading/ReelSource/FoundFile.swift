import Glibc
import ReelCore

/// A file that may be a video, found but not opened yet. It holds open the directory in which it was found.
public struct FoundFile: Sendable {
  /// The path as the user named it, or below the folder that the user named.
  public let path: SourcePath
  /// Its state when it was found.
  public let identity: FileIdentity
  /// Whether the user named the file itself, rather than a folder around it.
  public let wasNamed: Bool
  /// Where it is, and how to find it again.
  let origin: Origin
  /// What the program vouches for if it made the file itself.
  var owned: OwnedFile?

  enum Origin: Sendable {
    case local(DirectoryHandle, FilePlace)
    case remote(RemoteOrigin)
  }

  /// The directory of a file on this machine; nil for a remote one.
  var directory: DirectoryHandle? {
    if case .local(let directory, _) = origin { directory } else { nil }
  }

  /// Whether it is remote.
  package var isRemote: Bool { directory == nil }

  /// Whether this process's user owns it, and only its mode denies reading. Blocks.
  package var lacksOnlyItsMode: Bool {
    guard case .local(let directory, let place) = origin, let located = try? place.find(in: directory) else {
      return false
    }
    var status = stat()
    guard located.descriptor.holding({ fstat($0, &status) }) == 0 else { return false }
    return status.st_uid == geteuid() && status.st_mode & S_IRUSR == 0
  }

  /// Whether other machines may write to it, as far as its file system tells; true for a remote file. Blocks.
  package var isOnSharedSystem: Bool {
    guard let directory else { return true }
    return !directory.descriptor.holding { LocalFileSystem.holds("/proc/self/fd/\($0)") }
  }

  /// The path of what will be opened, with links resolved; nil if the file is remote, or the path can't be determined.
  /// Blocks.
  /// - Throws: `sourceChanged` if another file is there by now; `notFound` and the like.
  package func realPath() throws(SourceError) -> SourcePath? {
    guard case .local(let directory, let place) = origin else { return nil }
    let located = try place.find(in: directory)
    guard located.status.identity == identity else { throw .changed }
    return located.descriptor.realPath.map { SourcePath(bytes: $0) }
  }

  /// Whether the file was found in a folder under a name that says it may be unfinished.
  package var mayBeUnfinished: Bool {
    !wasNamed && ExtensionHint(of: path.lastComponent.bytes) == .doubtful
  }

  /// What is known of the state of a remote file; nil for a file on this machine.
  package var remoteState: RemoteState? {
    if case .remote(let origin) = origin { origin.state } else { nil }
  }

  /// Opens the file for reading. Blocks.
  ///
  /// - Throws: `sourceChanged` if another file is there by now, or it was written to; `notFound` if it is gone;
  ///   `isLink` or `notRegular` if something else has taken its place; `denied`, `tooManyOpenFiles`, `unreadable`.
  public func open() throws(SourceError) -> SourceFile { try open(CancellationFlag()) }

  /// As ``open()``, but a remote file is no longer opened or read once the flag is set.
  package func open(_ cancellation: CancellationFlag) throws(SourceError) -> SourceFile {
    switch origin {
    case .local(let directory, let place):
      let file = try open(place, in: directory)
      return SourceFile(path: path, identity: identity, handle: try owned?.handle(of: file) ?? file)
    case .remote(let origin):
      let file = try origin.open(cancellation)
      guard file.identity == identity else { throw .changed }
      return file
    }
  }
}

extension FoundFile {
  private func open(_ place: FilePlace, in directory: DirectoryHandle) throws(SourceError) -> OpenedFile {
    let located = try place.find(in: directory)
    let file = try located.openRegular()
    guard located.status.identity == identity else { throw .changed }
    return file
  }

  /// As ``open()``, for a file on this machine; a remote one is not found.
  func opened() throws(SourceError) -> OpenedFile {
    guard case .local(let directory, let place) = origin else {
      throw SourceError(.notFound, "it is not on this machine")
    }
    return try open(place, in: directory)
  }

  /// Finds the file that the user named. Blocks.
  ///
  /// - Parameter followLinks: whether any component may be a symbolic link.
  /// - Throws: `notFound`, `denied`, `isDirectory`, `isLink`, `notRegular`, `invalidName`, `outsideRoot`.
  public static func named(_ path: SourcePath, followLinks: Bool) throws(SourceError) -> FoundFile {
    var parents = ParentDirectories(followLinks: followLinks)
    let located = try PathLookup.find(path.bytes, from: nil, links: followLinks ? .follow : .refuse)
    return try parents.foundFile(path, located)
  }
}

/// How to find a file again in the directory that holds it.
enum FilePlace: Sendable {
  /// By its name, which is not a link.
  case name([UInt8])
  /// By its name, which may be a link to anywhere.
  case followed([UInt8])
  /// By its path from a root that links on the way may not leave.
  case beneath(root: DirectoryHandle, path: [UInt8])

  func find(in directory: DirectoryHandle) throws(SourceError) -> LocatedFile {
    switch self {
    case .name(let name): try directory.find(name)
    case .followed(let name): try PathLookup.find(name, from: directory.descriptor, links: .follow)
    case .beneath(let root, let path):
      try PathLookup.find(path, from: root.descriptor, links: .followBeneath)
    }
  }
}

extension FilePlace {
  var mayBeLink: Bool {
    if case .name = self { false } else { true }
  }
}

/// `--include` and `--exclude`: which names in folders are considered. They do not apply to a file that the user named.
///
/// An excluded folder is not entered. Exclusion takes precedence over inclusion. Inclusion applies only to files, and
/// makes no candidate of a file that neither its name nor its bytes claim to be one.
public struct NameFilter: Hashable, Sendable {
  private let including: [GlobPattern]
  private let excluding: [GlobPattern]

  /// - Parameters:
  ///   - including: if there are any, a file must match one of them.
  ///   - excluding: a file or folder must match none of them.
  public init(including: [GlobPattern] = [], excluding: [GlobPattern] = []) {
    self.including = including
    self.excluding = excluding
  }

  /// Whether nothing is left out.
  package var takesAll: Bool { including.isEmpty && excluding.isEmpty }

  /// - Parameter path: relative to the folder that the user named.
  func entersFolder(_ path: [UInt8]) -> Bool {
    !excluding.contains { $0.matches(path, isFolder: true) }
  }

  /// - Parameter path: relative to the folder that the user named.
  func takesFile(_ path: [UInt8]) -> Bool {
    if excluding.contains(where: { $0.matches(path, isFolder: false) }) { return false }
    return including.isEmpty || including.contains { $0.matches(path, isFolder: false) }
  }
}

/// A file or folder that the user named.
public struct SourceInput: Hashable, Sendable {
  /// The path as the user wrote it; an address without its secrets.
  public let path: SourcePath
  /// The remote source; nil for a path on this machine.
  let remote: (any RemoteSource)?
  /// The state in which the remote file is meant; nil for its current one.
  let listed: RemoteFile?
  /// The folder that the user named, if this was found in it.
  var root: SourcePath?
  /// What the program vouches for if it made the file itself.
  private(set) var owned: OwnedFile?

  /// - Parameter path: any bytes; the walk finds out whether they name something.
  public init(path: SourcePath) {
    self.path = path
    (remote, listed) = (nil, nil)
  }

  /// A file that the program itself has made, and whose digest is known: see ``OwnedFile`` for the requirements.
  public init(_ file: OwnedFile) {
    self.init(path: file.path)
    owned = file
  }

  /// Something below a folder that the user named, to be considered as a walk through that folder would.
  /// - Parameter path: `root`, and what is below it.
  package init(path: SourcePath, beneath root: SourcePath) {
    self.init(path: path)
    self.root = root
  }

  /// Whether it is remote.
  package var isRemote: Bool { remote != nil }

  /// What is at an address.
  /// - Parameter listed: the state of the file that is meant, as seen earlier; no request is sent for it before it is
  ///   opened.
  package init(_ remote: any RemoteSource, listed: RemoteFile? = nil) {
    path = remote.path
    (self.remote, self.listed) = (remote, listed)
  }

  /// Whether both name the same source.
  public static func == (left: SourceInput, right: SourceInput) -> Bool {
    left.path == right.path && left.remote?.identifier == right.remote?.identifier
  }

  /// Hashes part of what ``==(_:_:)`` compares.
  public func hash(into hasher: inout Hasher) { hasher.combine(path) }
}
