import ReelCore

/// A file that may be a video, found and not yet opened. It holds the directory that it was found in.
public struct FoundFile: Sendable {
  /// As the user named it, or the folder that it lies in.
  public let path: SourcePath
  /// Its state when it was found.
  public let identity: FileIdentity
  /// Whether the user named the file itself, and not a folder around it.
  public let wasNamed: Bool
  /// Where it lies.
  let directory: DirectoryHandle
  /// How to find it again.
  let place: FilePlace

  /// Opens the file for reading. Blocks.
  ///
  /// - Throws: `sourceChanged` when there is another file by now, or it was written to; `notFound` when it is
  ///   gone; `isLink` or `notRegular` when something else stands in its place; `denied`, `tooManyOpenFiles`,
  ///   `unreadable`.
  public func open() throws(SourceError) -> SourceFile {
    let located = try place.find(in: directory)
    let file = try located.openRegular()
    guard located.status.identity == identity else { throw .changed }
    return SourceFile(path: path, identity: identity, handle: file)
  }
}

extension FoundFile {
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
