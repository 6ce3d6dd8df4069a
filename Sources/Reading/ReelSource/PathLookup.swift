import CReel
import Glibc
import ReelCore

/// Finds what a path names without opening it: an `O_PATH` descriptor has no effect on a FIFO or a device, does not
/// block, and keeps naming the same file whatever happens to the path.
enum PathLookup {
  /// Finds what `path` names, relative to `directory` (nil: the working directory).
  /// - Throws: `notFound`, `denied`, `isLink` (a component before the last), `outsideRoot`, `invalidName`, …
  static func find(
    _ path: [UInt8], from directory: Descriptor?, links: LinkRule
  ) throws(SourceError) -> LocatedFile {
    let name = try PathBytes(path)
    let descriptor: Descriptor
    do {
      descriptor = try openAtOnce(name, from: directory, links: links)
    } catch {
      guard Self.worthSteps.contains(error.code) else { throw failure(error, links) }
      descriptor = try ComponentWalk.open(path, from: directory, links: links)
    }
    return LocatedFile(descriptor: descriptor, status: try FileStatus(of: descriptor))
  }

  /// The kernel lacks the call, or a container's seccomp filter blocks it (older filters return EPERM, which opening
  /// with `O_PATH` never does by itself), or the path is too long for one call.
  private static let worthSteps: Set<Int32> = [ENOSYS, EPERM, ENAMETOOLONG]

  /// Opens it with one system call, which the kernel resolves as a whole.
  private static func openAtOnce(
    _ name: PathBytes, from directory: Descriptor?, links: LinkRule
  ) throws(SystemError) -> Descriptor {
    let flags = reel_o_path | O_CLOEXEC | (links == .refuse ? O_NOFOLLOW : 0)
    return try withExtendedLifetime(directory) { () throws(SystemError) -> Descriptor in
      let start = directory?.rawValue ?? AT_FDCWD
      return Descriptor(
        adopting: try retryingRaces {
          reel_openat2(start, name.characters, UInt64(flags), links.resolve)
        })
    }
  }

  /// Retries up to 16 times. The kernel returns EAGAIN if something was renamed on the way and it can't tell whether a
  /// `..` is still beneath the root. If renames never stop, that is the result.
  private static func retryingRaces(_ body: () -> Int32) throws(SystemError) -> Int32 {
    for _ in 0..<16 {
      do throws(SystemError) {
        return try retryingInterrupts("openat2", body)
      } catch {
        guard error.code == EAGAIN else { throw error }
      }
    }
    throw SystemError(code: EAGAIN, call: "openat2")
  }

  private static func failure(_ error: SystemError, _ links: LinkRule) -> SourceError {
    error.code == ELOOP && links == .refuse ? .isLink : SourceError(error)
  }
}

extension Descriptor {
  /// Opens the regular file at `path` beneath this folder for reading, following no links. Blocks.
  /// - Throws: `notFound`, `isLink`, `notRegular`, `isDirectory`, `denied`, `outsideRoot` for a path that leaves the
  ///   folder, ….
  package func openFile(_ path: String) throws(SourceError) -> Descriptor {
    let parts = path.utf8.split(separator: UInt8(ascii: "/"))
    guard path.utf8.first != UInt8(ascii: "/"), !parts.contains(where: { $0.elementsEqual("..".utf8) }) else {
      throw SourceError(SystemError(code: EXDEV, call: "openat"))
    }
    return try PathLookup.find(Array(path.utf8), from: self, links: .refuse).openRegular().file
  }
}

/// Opens a path one component at a time: for kernels without `openat2`, and for paths that are too long for one call.
enum ComponentWalk {
  static func open(
    _ path: [UInt8], from directory: Descriptor?, links: LinkRule
  ) throws(SourceError) -> Descriptor {
    let slash = UInt8(ascii: "/")
    var components = path.split(separator: slash).map(Array.init)
    if path.last == slash || components.isEmpty { components.append([UInt8(ascii: ".")]) }
    let start = path.first == slash ? try step([slash], from: nil, followsLink: false) : directory
    var current = start
    for component in components {
      current = try step(component, from: current, followsLink: links != .refuse)
    }
    guard let current else { throw .emptyName }
    if links == .followBeneath, let directory { try check(current, isBeneath: directory) }
    return current
  }

  /// Opens one component. A link that is not followed is opened itself, and the next step throws `isLink`.
  private static func step(
    _ component: [UInt8], from directory: Descriptor?, followsLink: Bool
  ) throws(SourceError) -> Descriptor {
    if let directory, try FileStatus(of: directory).kind == .link { throw .isLink }
    let name = try PathBytes(component)
    let flags = reel_o_path | O_CLOEXEC | (followsLink ? 0 : O_NOFOLLOW)
    return try rethrowing(as: SourceError.init) { () throws(SystemError) in
      try withExtendedLifetime(directory) { () throws(SystemError) -> Descriptor in
        let start = directory?.rawValue ?? AT_FDCWD
        return Descriptor(
          adopting: try retryingInterrupts("openat") { openat(start, name.characters, flags) })
      }
    }
  }

  /// Compares the real paths of both. Nothing has been opened for reading yet, so no race matters: a file that is moved
  /// out afterwards was inside when it was found.
  private static func check(_ found: Descriptor, isBeneath directory: Descriptor) throws(SourceError) {
    guard let root = directory.realPath, let path = found.realPath else {
      throw SourceError(
        .outsideRoot, "Reel can't tell where this link leads without /proc; name the file itself")
    }
    let prefix = root.last == UInt8(ascii: "/") ? root : root + [UInt8(ascii: "/")]
    guard path == root || path.starts(with: prefix) else {
      throw SourceError(SystemError(code: EXDEV, call: "openat"))
    }
  }
}

extension Descriptor {
  /// The path without links; nil without `/proc`, or if the path is longer than the system can report.
  var realPath: [UInt8]? {
    var buffer = [CChar](repeating: 0, count: Int(PATH_MAX))
    let length = holding { readlink("/proc/self/fd/\($0)", &buffer, buffer.count) }
    guard length > 0, length < buffer.count else { return nil }
    return buffer.prefix(length).map { UInt8(bitPattern: $0) }
  }
}

/// Opens the directories of files that the user named. A directory is reused as long as consecutive files are in it.
struct ParentDirectories {
  private let links: LinkRule
  private var last: (path: [UInt8], directory: DirectoryHandle)?

  init(followLinks: Bool) {
    links = followLinks ? .follow : .refuse
  }

  /// - Parameter located: what was found at `path`.
  /// - Throws: `isDirectory`, `isLink` or `notRegular` unless it is a regular file.
  mutating func foundFile(_ path: SourcePath, _ located: LocatedFile) throws(SourceError) -> FoundFile {
    try located.status.checkRegular()
    let name = path.lastComponent.bytes
    return FoundFile(
      path: path, identity: located.status.identity, wasNamed: true,
      origin: .local(
        try directory(of: Array(path.bytes.dropLast(name.count))),
        links == .refuse ? .name(name) : .followed(name)))
  }

  /// - Parameter path: ends with a slash, or is empty for the working directory.
  private mutating func directory(of path: [UInt8]) throws(SourceError) -> DirectoryHandle {
    if let last, last.path == path { return last.directory }
    let located = try PathLookup.find(
      path.isEmpty ? [UInt8(ascii: ".")] : path + [UInt8(ascii: ".")], from: nil, links: links)
    let directory = DirectoryHandle(
      descriptor: located.descriptor, identity: located.status.directoryIdentity)
    last = (path, directory)
    return directory
  }
}

/// A path from the root of the file system without `.`, `..` and repeated slashes, so that two spellings of one place
/// are equal. It is purely lexical: a `..` after a link leads to the folder that holds the link.
struct AbsolutePath: Hashable, Sendable {
  let components: [[UInt8]]

  /// - Parameter base: the folder to which a path without a leading slash is relative.
  init(_ path: [UInt8], from base: AbsolutePath) {
    guard !SourcePath(bytes: path).isAddress else {
      components = [path]
      return
    }
    var components = path.first == UInt8(ascii: "/") ? [] : base.components
    for component in path.split(separator: UInt8(ascii: "/")) where !component.elementsEqual(".".utf8) {
      if component.elementsEqual("..".utf8) {
        _ = components.popLast()
      } else {
        components.append(Array(component))
      }
    }
    self.components = components
  }

  private init(components: [[UInt8]]) {
    self.components = components
  }

  /// `/`.
  static let root = AbsolutePath(components: [])

  /// The folder that contains it.
  var parent: AbsolutePath { AbsolutePath(components: components.dropLast()) }

  /// The current working directory; the root if it can't be determined. Blocks.
  static func workingDirectory() -> AbsolutePath {
    guard let path = getcwd(nil, 0) else { return .root }
    defer { free(path) }
    let bytes = UnsafeRawBufferPointer(start: path, count: strlen(path))
    return AbsolutePath(Array(bytes), from: .root)
  }
}

/// A path as system calls take it: bytes with a terminating NUL and no other.
struct PathBytes: Sendable {
  let characters: [CChar]

  /// - Throws: `invalidName` when `bytes` is empty or holds a NUL.
  init(_ bytes: some Collection<UInt8>) throws(SourceError) {
    guard !bytes.isEmpty else { throw .emptyName }
    guard !bytes.contains(0) else { throw .nulInName }
    characters = bytes.map { CChar(bitPattern: $0) } + [0]
  }
}

/// How to treat symbolic links on the way to a file.
enum LinkRule: Sendable {
  /// Allow none in any component; a link as the last component is opened itself.
  case refuse
  /// Follow them, wherever they lead.
  case follow
  /// Follow them as long as they stay beneath the directory in which the path begins.
  case followBeneath

  /// The `openat2` flags for this rule.
  var resolve: UInt64 {
    switch self {
    case .refuse: reel_resolve_no_symlinks | reel_resolve_no_magiclinks
    case .follow: 0
    case .followBeneath: reel_resolve_beneath | reel_resolve_no_magiclinks
    }
  }
}
