import Glibc
import ReelCore

/// A file that is there as a whole or as it was before: it is written beside its place, under another name.
///
/// What is no regular file, such as a pipe or `/dev/stdout`, is written as it stands, and so is a file that has no name,
/// such as a deleted one behind `/dev/fd/3`.
package final class WholeFile {
  /// As the user named it.
  package let path: String
  /// Where links lead.
  private let target: String
  /// Nil where the file itself is written.
  private let temporary: String?
  private let stream: OutputStream
  private let descriptor: Descriptor
  private var isDone = false

  /// - Throws: ``OutputFailure`` when it can't be written there.
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
    // Who could read it can go on doing so, whatever the umask is.
    if isThere, isReplaced { fchmod(number, facts.st_mode & 0o777) }
    stream = OutputStream(descriptor: number, name: path)
  }

  /// Whether what is written to `path` is in another file until it is whole: a process that is killed leaves that one.
  package static func isWrittenAside(_ path: String) -> Bool { replaced(by: path) != nil }

  package func write(_ text: String) throws { try stream.write(text) }

  /// Gives the file its name.
  /// - Parameter durably: whether it has to be there after a power cut.
  package func finish(durably: Bool) throws {
    guard let temporary else { return }
    if durably, fsync(stream.descriptor) != 0 { throw Self.failure(path, errno) }
    guard rename(temporary, target) == 0 else { throw Self.failure(path, errno) }
    isDone = true
    if durably { try syncFolder() }
  }

  /// The name is to last, too.
  private func syncFolder() throws {
    let folder = target.lastIndex(of: "/").map { target[...$0] } ?? "."
    try rethrowing(as: { Self.failure(path, $0.code) }) { () throws(SystemError) in
      try Descriptor(opening: String(folder), O_RDONLY | O_DIRECTORY).syncFolder()
    }
  }

  deinit {
    if let temporary, !isDone { unlink(temporary) }
  }

  /// A name that nobody else has, which begins with a dot: who reads a folder of such files passes it by.
  private static func temporary(for path: String) -> String {
    let parts = path.split(separator: "/", omittingEmptySubsequences: false)
    return (parts.dropLast() + [".\(parts.last ?? "").reel-\(SystemRandomness().name(length: 12))"]).joined(
      separator: "/")
  }

  /// The file that is made anew when `path` is written; nil where it is written as it stands.
  private static func replaced(by path: String) -> String? {
    let target = resolved(path)
    var (there, named) = (stat(), stat())
    guard stat(path, &there) == 0 else { return target }
    // The link of an open file without a name leads to it, and reads as if it led elsewhere.
    let isNamed =
      lstat(target, &named) == 0 && named.st_dev == there.st_dev && named.st_ino == there.st_ino
    return isNamed && there.st_mode & S_IFMT == S_IFREG ? target : nil
  }

  /// Where links lead, also to what is not there yet.
  private static func resolved(_ path: String) -> String {
    var path = path
    // As many as Linux follows.
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
