import Glibc
import ReelCore

/// Where pictures go: into a file, a folder, or to standard output.
enum PictureTarget: Sendable {
  case file(SourcePath)
  case folder(SourcePath)
  case standardOutput

  /// - Parameters:
  ///   - path: as given; `-` for standard output. A folder that is there, or a name that ends in a slash, is a folder.
  ///   - isOnePicture: whether there is no more than one.
  /// - Throws: ``CommandFailure`` for several pictures in one file, and for a terminal.
  init(_ path: SourcePath, isOnePicture: Bool) throws {
    if path.bytes == [UInt8(ascii: "-")] {
      guard isOnePicture else {
        throw CommandFailure(
          .usage, "-o - takes one picture, and these may be several; name a folder (-o FOLDER/)")
      }
      guard isatty(STDOUT_FILENO) == 0 else {
        throw CommandFailure(
          .usage, "a picture is nothing for a terminal; name a file (-o FILE), or redirect it")
      }
      self = .standardOutput
      return
    }
    let isFolder = path.bytes.last == UInt8(ascii: "/") || Self.kind(of: path) == S_IFDIR
    guard isFolder || isOnePicture else {
      throw CommandFailure(
        .usage, "\(path.text) takes one picture, and these may be several; name a folder (-o \(path.text)/)")
    }
    self = isFolder ? .folder(path) : .file(path)
  }

  /// The type of file at `path`, links followed; nil when there is none.
  static func kind(of path: SourcePath) -> mode_t? {
    status(of: path).map { $0.st_mode & S_IFMT }
  }

  static func status(of path: SourcePath) -> stat? {
    var status = stat()
    let result = path.withCString { stat($0, &status) }
    return result == 0 ? status : nil
  }

  /// Makes the folder unless it is there.
  /// - Throws: ``CommandFailure``.
  func prepare() throws {
    guard case .folder(let path) = self, Self.kind(of: path) != S_IFDIR else { return }
    guard path.withCString({ mkdir($0, 0o777) }) == 0 else {
      throw CommandFailure(.couldNotRun, "\(path.text) can't be made: \(SystemError.last("mkdir").reason)")
    }
  }
}

/// Writes pictures, each whole or not at all.
struct PictureWriter {
  let target: PictureTarget
  /// Names that were given in the folder.
  private var taken: Set<[UInt8]> = []

  /// - Throws: ``CommandFailure`` when the folder can't be made.
  init(_ target: PictureTarget) throws {
    self.target = target
    try target.prepare()
  }

  /// Writes the picture of `source`, and gives where it is now.
  /// - Parameter identity: of the source, which is never written over.
  /// - Throws: ``CommandFailure``, ``OutputClosed``.
  mutating func write(_ bytes: [UInt8], of source: SourcePath, _ identity: FileIdentity?) throws -> SourcePath
  {
    switch target {
    case .standardOutput:
      try OutputStream.standardOutput.write(bytes)
      return SourcePath("-")
    case .file(let path):
      try Self.write(bytes, to: path, sparing: identity)
      return path
    case .folder(let folder):
      let path = folder.appending(name(for: source))
      try Self.write(bytes, to: path, sparing: identity)
      return path
    }
  }

  /// `clip.jpg` for `clip.mp4`; where that is taken already `clip.mp4.jpg`, then `clip.mp4-2.jpg`.
  private mutating func name(for source: SourcePath) -> [UInt8] {
    let name = source.lastComponent.bytes
    let stem = source.claimedExtension.map { Array(name.dropLast($0.utf8.count + 1)) } ?? name
    let others = (2...).lazy.map { name + Array("-\($0)".utf8) }
    var candidates = [stem, name]
    candidates.removeAll { taken.contains($0 + Self.ending) }
    let free = candidates.first ?? others.first { !taken.contains($0 + Self.ending) } ?? name
    taken.insert(free + Self.ending)
    return free + Self.ending
  }

  private static let ending = Array(".jpg".utf8)

  private static func write(_ bytes: [UInt8], to path: SourcePath, sparing identity: FileIdentity?) throws {
    let there = PictureTarget.status(of: path)
    if let there, let identity, UInt64(there.st_dev) == identity.device,
      UInt64(there.st_ino) == identity.inode
    {
      throw CommandFailure(
        .couldNotRun, "\(path.text) is the video itself, which is not written over; give another name")
    }
    do throws(SystemError) {
      // A pipe or a device is written to; a name that stood for one stays so.
      if let there, there.st_mode & S_IFMT != S_IFREG {
        try fill(path, O_WRONLY | O_NOCTTY, bytes)
      } else {
        try replace(path, bytes)
      }
    } catch {
      throw CommandFailure(.couldNotRun, "\(path.text) can't be written: \(error.reason)")
    }
  }

  /// Beside it first, then in its place.
  private static func replace(_ path: SourcePath, _ bytes: [UInt8]) throws(SystemError) {
    let folder = path.bytes.lastIndex(of: UInt8(ascii: "/")).map { Array(path.bytes[...$0]) } ?? []
    let number = UInt64.random(in: 0 ... .max)
    let passing = SourcePath(bytes: folder + Array(".reel-\(String(number, radix: 36)).jpg".utf8))
    do throws(SystemError) {
      try fill(passing, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW, bytes)
      _ = try retryingInterrupts("rename") {
        passing.withCString { from in path.withCString { rename(from, $0) } }
      }
    } catch {
      _ = passing.withCString { unlink($0) }
      throw error
    }
  }

  private static func fill(_ path: SourcePath, _ flags: Int32, _ bytes: [UInt8]) throws(SystemError) {
    let number = try retryingInterrupts("open") { path.withCString { open($0, flags | O_CLOEXEC, 0o666) } }
    let file = Descriptor(adopting: number)
    var rest = bytes[...]
    while !rest.isEmpty {
      let count = try retryingInterrupts("write") {
        rest.withUnsafeBytes { Glibc.write(file.rawValue, $0.baseAddress, $0.count) }
      }
      rest = rest.dropFirst(count)
    }
  }
}

extension SourcePath {
  fileprivate func withCString<Result>(_ body: (UnsafePointer<CChar>) -> Result) -> Result {
    let bytes = bytes.map(CChar.init(bitPattern:)) + [0]
    return bytes.withUnsafeBufferPointer { buffer in
      // Never empty.
      buffer.baseAddress.map(body) ?? "".withCString(body)
    }
  }
}
