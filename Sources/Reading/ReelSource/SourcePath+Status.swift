import Glibc
import ReelCore

extension SourcePath {
  /// Calls `body` with the path's bytes as a C string.
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

  /// The status of the file to which it leads, following links; nil if there is none.
  package var fileStatus: stat? {
    var status = stat()
    return withCString { stat($0, &status) } == 0 ? status : nil
  }

  /// The status of the file itself; if it is a symbolic link, of the link.
  package var ownStatus: stat? {
    var status = stat()
    return withCString { lstat($0, &status) } == 0 ? status : nil
  }

  /// The path with links resolved; an empty path stands for the working folder. Nil if it can't be determined.
  package var resolved: SourcePath? {
    let path = bytes.isEmpty ? SourcePath(".") : self
    guard let found = path.withCString({ realpath($0, nil) }) else { return nil }
    defer { free(found) }
    return SourcePath(
      bytes: UnsafeBufferPointer(start: found, count: strlen(found)).map(UInt8.init(bitPattern:)))
  }

  /// Whether `other` is this folder, or is in it. Both must be without links.
  package func holds(_ other: SourcePath) -> Bool {
    other == self
      || other.bytes.starts(with: bytes.last == UInt8(ascii: "/") ? bytes : bytes + [UInt8(ascii: "/")])
  }

  /// The kind of file to which it leads (`S_IFREG`, `S_IFDIR`, …).
  package var fileKind: mode_t? { fileStatus.map { $0.st_mode & S_IFMT } }

  /// Whether it may stand for an open file, such as `/dev/fd/3`. The process that has it open would not see a file that
  /// replaced it.
  package var mayBeDescriptor: Bool {
    ["/dev/", "/proc/"].contains { bytes.starts(with: $0.utf8) }
  }

  /// Whether the file no longer exists although its folder does. A file on a file system that is not mounted may come
  /// back.
  package var isGone: Bool {
    guard !isAddress, ownStatus == nil, errno == ENOENT else { return false }
    let folder = SourcePath(bytes: bytes.dropLast(lastComponent.bytes.count))
    return folder.bytes.isEmpty || folder.fileKind == S_IFDIR
  }
}

extension [SourceInput] {
  /// Returns the path relative to the longest input that contains it; for an input itself, its name.
  package func place(of path: SourcePath) -> SourcePath {
    let slash = UInt8(ascii: "/")
    let folders = map { $0.path.bytes.last == slash ? $0.path.bytes : $0.path.bytes + [slash] }
    let holding = folders.filter { path.bytes.starts(with: $0) }.max { $0.count < $1.count }
    return holding.map { SourcePath(bytes: path.bytes.dropFirst($0.count)) } ?? path.lastComponent
  }
}

extension SourcePath {
  /// Renames the file to `other`, replacing whatever has that name.
  package func rename(to other: SourcePath) throws(SystemError) {
    _ = try retryingInterrupts("rename") {
      withCString { from in other.withCString { Glibc.rename(from, $0) } }
    }
  }

  /// Gives the file the name `other`, which must be free. The file also keeps its own name if the file system has hard
  /// links.
  /// - Throws: `EEXIST` if the name is taken.
  package func takeName(_ other: SourcePath) throws(SystemError) {
    // A hard link never replaces a file.
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
