import Glibc
import ReelCore

/// A file that may be a video, found and not yet opened. It holds the directory that it was found in.
public struct FoundFile: Sendable {
  /// As the user named it, or the folder that it lies in.
  public let path: SourcePath
  /// Its state when it was found.
  public let identity: FileIdentity
  /// Whether the user named the file itself, and not a folder around it.
  public let wasNamed: Bool
  /// Where it lies, and how to find it again.
  let origin: Origin
  /// What its maker says of it, where it is the program's own.
  var owned: OwnedFile?

  enum Origin: Sendable {
    case local(DirectoryHandle, FilePlace)
    case remote(RemoteOrigin)
  }

  /// The directory of a file of this machine.
  var directory: DirectoryHandle? {
    if case .local(let directory, _) = origin { directory } else { nil }
  }

  /// Whether it lies elsewhere.
  package var isRemote: Bool { directory == nil }

  /// Whether the user of this process owns it, and has only not the right to read it. Blocks.
  package var lacksOnlyItsMode: Bool {
    guard case .local(let directory, let place) = origin, let located = try? place.find(in: directory) else {
      return false
    }
    var status = stat()
    guard located.descriptor.holding({ fstat($0, &status) }) == 0 else { return false }
    return status.st_uid == geteuid() && status.st_mode & S_IRUSR == 0
  }

  /// Whether other machines may write to it, as far as its file system tells. Blocks.
  package var isOnSharedSystem: Bool {
    guard let directory else { return true }
    return !directory.descriptor.holding { LocalFileSystem.holds("/proc/self/fd/\($0)") }
  }

  /// Where what will be opened lies, whatever links lead to it; nil where it lies elsewhere, or that can't be told. Blocks.
  /// - Throws: `sourceChanged` when there is another file by now; `notFound` and the like.
  package func realPath() throws(SourceError) -> SourcePath? {
    guard case .local(let directory, let place) = origin else { return nil }
    let located = try place.find(in: directory)
    guard located.status.identity == identity else { throw .changed }
    return located.descriptor.realPath.map { SourcePath(bytes: $0) }
  }

  /// Whether the name of a file in a folder says that it may not be done.
  package var mayBeUnfinished: Bool {
    !wasNamed && ExtensionHint(of: path.lastComponent.bytes) == .doubtful
  }

  /// What is known of the state of a file that lies elsewhere.
  package var remoteState: RemoteState? {
    if case .remote(let origin) = origin { origin.state } else { nil }
  }

  /// Opens the file for reading. Blocks.
  ///
  /// - Throws: `sourceChanged` when there is another file by now, or it was written to; `notFound` when it is
  ///   gone; `isLink` or `notRegular` when something else stands in its place; `denied`, `tooManyOpenFiles`,
  ///   `unreadable`.
  public func open() throws(SourceError) -> SourceFile { try open(CancellationFlag()) }

  /// As ``open()``; what lies elsewhere is neither opened nor read any more once the flag is set.
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

  /// As ``open()``, of a file of this machine; what lies elsewhere is not found.
  func opened() throws(SourceError) -> OpenedFile {
    guard case .local(let directory, let place) = origin else {
      throw SourceError(.notFound, "it is not on this machine")
    }
    return try open(place, in: directory)
  }

  /// The file that the user named. Blocks.
  ///
  /// - Parameter followLinks: whether symbolic links may stand in any component.
  /// - Throws: `notFound`, `denied`, `isDirectory`, `isLink`, `notRegular`, `invalidName`, `outsideRoot`.
  public static func named(_ path: SourcePath, followLinks: Bool) throws(SourceError) -> FoundFile {
    var parents = ParentDirectories(followLinks: followLinks)
    let located = try PathLookup.find(path.bytes, from: nil, links: followLinks ? .follow : .refuse)
    return try parents.foundFile(path, located)
  }
}

/// How a file is found again in the directory that holds it.
enum FilePlace: Sendable {
  /// By its name; it is not a link.
  case name([UInt8])
  /// By its name, which may be a link to anywhere.
  case followed([UInt8])
  /// By its path from a root that its links may not leave.
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

/// `--include` and `--exclude`: which names in folders are looked at. A file that the user named is not
/// asked.
///
/// An excluded folder is not entered. Exclusion wins over inclusion. Inclusion is about files only, and makes
/// no candidate of a file that neither its name nor its bytes claim to be one.
public struct NameFilter: Hashable, Sendable {
  private let including: [GlobPattern]
  private let excluding: [GlobPattern]

  /// - Parameters:
  ///   - including: where there are any, a file must match one of them.
  ///   - excluding: a file or folder must match none of them.
  public init(including: [GlobPattern] = [], excluding: [GlobPattern] = []) {
    self.including = including
    self.excluding = excluding
  }

  /// Whether nothing is left out.
  package var takesAll: Bool { including.isEmpty && excluding.isEmpty }

  /// - Parameter path: from the folder that the user named.
  func entersFolder(_ path: [UInt8]) -> Bool {
    !excluding.contains { $0.matches(path, isFolder: true) }
  }

  /// - Parameter path: from the folder that the user named.
  func takesFile(_ path: [UInt8]) -> Bool {
    if excluding.contains(where: { $0.matches(path, isFolder: false) }) { return false }
    return including.isEmpty || including.contains { $0.matches(path, isFolder: false) }
  }
}

/// A file or folder that the user named.
public struct SourceInput: Hashable, Sendable {
  /// As the user wrote it; of an address without what is secret in it.
  public let path: SourcePath
  /// What lies elsewhere; nil for a path of this machine.
  let remote: (any RemoteSource)?
  /// The state of it that is meant; nil for the one that it is in.
  let listed: RemoteFile?
  /// The folder that the user named, where this was met in it.
  var root: SourcePath?
  /// What its maker says of it, where it is the program's own.
  private(set) var owned: OwnedFile?

  /// - Parameter path: any bytes; whether they name something is for the walk to find out.
  public init(path: SourcePath) {
    self.path = path
    (remote, listed) = (nil, nil)
  }

  /// A file of the program's own, whose digest is known: see ``OwnedFile`` for what that takes.
  public init(_ file: OwnedFile) {
    self.init(path: file.path)
    owned = file
  }

  /// What lies below a folder that the user named, and is looked at as a walk through that would.
  /// - Parameter path: `root`, and what is below it.
  package init(path: SourcePath, beneath root: SourcePath) {
    self.init(path: path)
    self.root = root
  }

  /// Whether it lies elsewhere.
  package var isRemote: Bool { remote != nil }

  /// What lies at an address.
  /// - Parameter listed: the state of that file which is meant, as it was seen earlier; it is not asked for before it is
  ///   opened.
  package init(_ remote: any RemoteSource, listed: RemoteFile? = nil) {
    path = remote.path
    (self.remote, self.listed) = (remote, listed)
  }

  /// Whether both name the same.
  public static func == (left: SourceInput, right: SourceInput) -> Bool {
    left.path == right.path && left.remote?.identifier == right.remote?.identifier
  }

  /// Of what ``==(_:_:)`` compares.
  public func hash(into hasher: inout Hasher) { hasher.combine(path) }
}
