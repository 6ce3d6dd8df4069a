import Glibc

/// A file that holds a secret. All of it blocks.
enum SecretFile {
  /// - Parameters:
  ///   - what: the name of the secret, for messages.
  ///   - maker: the command that makes such a file.
  /// - Throws: a sentence for the user who starts the server, also if others may read the file.
  static func read(_ path: String, _ what: String, maker: String) throws -> String {
    // Mounted secrets are symbolic links.
    let place = realpath(path, nil)
    defer { free(place) }
    let target = place.map { String(cString: $0) } ?? path
    let file = open(target, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK)
    guard file >= 0 else {
      let code = errno
      let advice =
        switch code {
        case ENOENT: "`reel-serve \(maker) FILE` makes one"
        case EACCES: "it has to be of the user that the server runs as: chown USER \(path)"
        default: "check its name"
        }
      throw StartFailure(
        "the file of \(what), \(path), can't be opened (\(String(cString: strerror(code)))): \(advice)")
    }
    defer { close(file) }
    var status = stat()
    guard fstat(file, &status) == 0, status.st_mode & S_IFMT == S_IFREG,
      let bytes = try? Disk.contents(of: target)
    else { throw StartFailure("\(path) is no file that could hold \(what)") }
    guard status.st_mode & 0o037 == 0 else {
      throw StartFailure("others may read the file of \(what), or write to it: chmod 600 \(path)")
    }
    return String(decoding: bytes, as: UTF8.self)
  }

  /// Creates the file (0600).
  /// - Throws: a sentence for the user, also if the file exists.
  static func make(at path: String, _ secret: String) throws {
    let number = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0o600)
    guard number >= 0 else {
      throw StartFailure("\(path) can't be made: \(String(cString: strerror(errno)))")
    }
    let file = OpenFile(number: number)
    do throws(Problem) {
      try Disk.write(Array((secret + "\n").utf8), to: file)
      try Disk.call("fsync") { fsync(file.number) }
    } catch {
      throw StartFailure("no secret could be written to \(path): \(error.message)")
    }
  }
}
