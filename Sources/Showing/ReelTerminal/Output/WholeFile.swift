import Glibc
import ReelCore

/// A file that is replaced completely or not at all: its new contents are written beside it under another name.
///
/// A path that is not a regular file, such as a pipe or `/dev/stdout`, is written directly, and so is a file without a
/// name, such as a deleted one behind `/dev/fd/3`.
package final class WholeFile {
  /// The path as the user gave it.
  package let path: String
  /// The path with links resolved.
  private let target: String
  /// Nil if the file itself is written.
  private let temporary: String?
  private let stream: OutputStream
  private let descriptor: Descriptor
  private var isDone = false

  /// - Throws: ``OutputFailure`` if it can't be written there.
  package init(at path: String) throws {
    self.path = path
    var facts = stat()
    let isThere = stat(path, &facts) == 0
    if isThere, facts.st_mode & S_IFMT == S_IFDIR { throw Self.failure(path, EISDIR) }
    let replaced = Self.replaced(by: path)
    let isReplaced = replaced != nil
    target = replaced ?? path
    temporary = replaced.map(Self.temporary)
    let flags = O_WRONLY | O_CLOEXEC | O_NOCTTY | (isReplaced ? O_CREAT | O_EXCL | O_NOFOLLOW : O_TRUNC)
    let number = open(temporary ?? path, flags, isThere ? facts.st_mode & 0o777 : 0o666)
    guard number >= 0 else { throw Self.failure(path, errno) }
    descriptor = Descriptor(adopting: number)
    // Keep the file's permissions, whatever the umask is.
    if isThere, isReplaced { fchmod(number, facts.st_mode & 0o777) }
    stream = OutputStream(descriptor: number, name: path)
  }

  /// Whether output to `path` goes to another file until it is complete. A process that is killed then leaves `path`
  /// untouched.
  package static func isWrittenAside(_ path: String) -> Bool { replaced(by: path) != nil }

  package func write(_ text: String) throws { try stream.write(text) }

  /// Gives the file its name.
  /// - Parameter durably: whether the file must survive a power failure.
  package func finish(durably: Bool) throws {
    guard let temporary else { return }
    if durably, fsync(stream.descriptor) != 0 { throw Self.failure(path, errno) }
    guard rename(temporary, target) == 0 else { throw Self.failure(path, errno) }
    isDone = true
    if durably { try syncFolder() }
  }

  /// Makes the name durable, too.
  private func syncFolder() throws {
    let folder = target.lastIndex(of: "/").map { target[...$0] } ?? "."
    try rethrowing(as: { Self.failure(path, $0.code) }) { () throws(SystemError) in
      try Descriptor(opening: String(folder), O_RDONLY | O_DIRECTORY).syncFolder()
    }
  }

  deinit {
    if let temporary, !isDone { unlink(temporary) }
  }

  /// A unique name that begins with a dot, so that programs that read a folder of such files skip it.
  private static func temporary(for path: String) -> String {
    let parts = path.split(separator: "/", omittingEmptySubsequences: false)
    return (parts.dropLast() + [".\(parts.last ?? "").reel-\(SystemRandomness().name(length: 12))"]).joined(
      separator: "/")
  }

  /// The file that is replaced when `path` is written; nil if `path` is written directly.
  private static func replaced(by path: String) -> String? {
    let target = resolved(path)
    var (there, named) = (stat(), stat())
    guard stat(path, &there) == 0 else { return target }
    // The /proc link of an open file without a name leads to that file, but its text names another path.
    let isNamed =
      lstat(target, &named) == 0 && named.st_dev == there.st_dev && named.st_ino == there.st_ino
    return isNamed && there.st_mode & S_IFMT == S_IFREG ? target : nil
  }

  /// Resolves symbolic links, also to a file that does not exist yet.
  private static func resolved(_ path: String) -> String {
    var path = path
    // Linux follows as many.
    for _ in 0..<40 {
      var bytes = [CChar](repeating: 0, count: Int(PATH_MAX) + 1)
      guard readlink(path, &bytes, Int(PATH_MAX)) > 0,
        let link = bytes.withUnsafeBufferPointer({ $0.baseAddress.flatMap { String(validatingCString: $0) } })
      else { break }
      let folder = path.lastIndex(of: "/").map { path[...$0] } ?? ""
      path = link.hasPrefix("/") ? link : folder + link
    }
    return path
  }

  private static func failure(_ path: String, _ code: Int32) -> OutputFailure {
    OutputFailure(writing: path, code)
  }
}
