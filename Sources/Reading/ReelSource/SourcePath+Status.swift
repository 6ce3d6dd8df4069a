import Glibc
import ReelCore

extension SourcePath {
  /// Its bytes, as the system takes a path.
  package func withCString<Result>(_ body: (UnsafePointer<CChar>) -> Result) -> Result {
    let bytes = bytes.map(CChar.init(bitPattern:)) + [0]
    return bytes.withUnsafeBufferPointer { buffer in
      // Never empty.
      buffer.baseAddress.map(body) ?? "".withCString(body)
    }
  }

  /// As ``Descriptor/init(opening:_:mode:in:)``. Blocks.
  package func opened(_ flags: Int32, mode: mode_t = 0) throws(SystemError) -> Descriptor {
    Descriptor(
      adopting: try retryingInterrupts("open") { withCString { open($0, flags | O_CLOEXEC, mode) } })
  }

  /// What the system says of the file that it leads to, through links; nil where there is none.
  package var fileStatus: stat? {
    var status = stat()
    return withCString { stat($0, &status) } == 0 ? status : nil
  }

  /// The same of the file itself, not of what a symbolic link leads to.
  package var ownStatus: stat? {
    var status = stat()
    return withCString { lstat($0, &status) } == 0 ? status : nil
  }

  /// Where it is without links; the working folder's where it is empty. Nil where that can't be found out.
  package var resolved: SourcePath? {
    let path = bytes.isEmpty ? SourcePath(".") : self
    guard let found = path.withCString({ realpath($0, nil) }) else { return nil }
    defer { free(found) }
    return SourcePath(
      bytes: UnsafeBufferPointer(start: found, count: strlen(found)).map(UInt8.init(bitPattern:)))
  }

  /// Whether `other` is this folder, or lies in it. Both are without links.
  package func holds(_ other: SourcePath) -> Bool {
    other == self
      || other.bytes.starts(with: bytes.last == UInt8(ascii: "/") ? bytes : bytes + [UInt8(ascii: "/")])
  }

  /// Whether that is a file, a folder or something else (`S_IFREG`, `S_IFDIR`, …).
  package var fileKind: mode_t? { fileStatus.map { $0.st_mode & S_IFMT } }

  /// Whether it may stand for a file that is open, such as `/dev/fd/3`: who opened that one looks at no other.
  package var mayBeDescriptor: Bool {
    ["/dev/", "/proc/"].contains { bytes.starts(with: $0.utf8) }
  }

  /// Whether there is no such file any more, though the folder is there that it lay in: what is not mounted may come back.
  package var isGone: Bool {
    guard !isAddress, ownStatus == nil, errno == ENOENT else { return false }
    let folder = SourcePath(bytes: bytes.dropLast(lastComponent.bytes.count))
    return folder.bytes.isEmpty || folder.fileKind == S_IFDIR
  }
}

extension [SourceInput] {
  /// The path from the longest input that holds it; of an input itself, its name.
  package func place(of path: SourcePath) -> SourcePath {
    let slash = UInt8(ascii: "/")
    let folders = map { $0.path.bytes.last == slash ? $0.path.bytes : $0.path.bytes + [slash] }
    let holding = folders.filter { path.bytes.starts(with: $0) }.max { $0.count < $1.count }
    return holding.map { SourcePath(bytes: path.bytes.dropFirst($0.count)) } ?? path.lastComponent
  }
}

extension SourcePath {
  /// Gives the file the name `other`, in place of whatever has it.
  package func rename(to other: SourcePath) throws(SystemError) {
    _ = try retryingInterrupts("rename") {
      withCString { from in other.withCString { Glibc.rename(from, $0) } }
    }
  }

  /// Gives the file the name `other`, which no file has; it keeps its own as well where the file system can.
  /// - Throws: `EEXIST` where a file has it.
  package func takeName(_ other: SourcePath) throws(SystemError) {
    // A second name never replaces a file.
    guard withCString({ from in other.withCString { link(from, $0) } }) != 0 else { return }
    let error = SystemError.last("link")
    guard [EPERM, EOPNOTSUPP, ENOSYS, EMLINK].contains(error.code) else { throw error }
    _ = try withCString { from in
      other.withCString { to in
        Result { () throws(SystemError) in try renameWithoutReplacing(from, to: to) }
      }
    }.get()
  }
}
