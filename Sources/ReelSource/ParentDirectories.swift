import ReelCore

/// Opens the directories of files that the user named, each once as long as the names stay in it.
struct ParentDirectories {
  private let links: LinkRule
  private var last: (path: [UInt8], directory: DirectoryHandle)?

  init(followLinks: Bool) {
    links = followLinks ? .follow : .refuse
  }

  /// - Parameter located: what `path` names.
  /// - Throws: `isDirectory`, `isLink` or `notRegular` unless it is a regular file.
  mutating func foundFile(_ path: SourcePath, _ located: LocatedFile) throws(SourceError) -> FoundFile {
    switch located.status.kind {
    case .regular: break
    case .directory: throw .isDirectory
    case .link: throw .isLink
    case .special(let kind): throw .notRegular(kind)
    }
    let name = path.lastComponent.bytes
    return FoundFile(
      path: path, identity: located.status.identity, wasNamed: true,
      directory: try directory(of: Array(path.bytes.dropLast(name.count))),
      place: links == .refuse ? .name(name) : .followed(name))
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
