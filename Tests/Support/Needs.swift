import Foundation
import Glibc
import Testing

/// What some tests need and not every machine has. Without it they are skipped, which is reported with the reason.
extension Trait where Self == ConditionTrait {
  /// The `ffmpeg` program.
  package static var needsFFmpeg: ConditionTrait {
    .enabled(if: FFmpegProgram.isComplete, "needs ffmpeg, with the encoders of Debian's")
  }

  /// A ``TinyDisk``.
  package static var needsMounting: ConditionTrait {
    .enabled(if: TinyDisk.isPossible, "needs the right to mount a small file system")
  }

  /// A file system in memory.
  package static var needsSharedMemory: ConditionTrait {
    .enabled(if: SharedMemory.isThere, "needs /dev/shm")
  }

  /// A file system other than that of temporary files.
  package static var needsOtherFileSystem: ConditionTrait {
    .enabled(if: SharedMemory.isElsewhere, "needs /dev/shm, on another file system than temporary files")
  }

  package static var needsPython: ConditionTrait {
    .enabled(if: PythonProgram.path != nil, "needs python3")
  }

  /// The program that makes certificates.
  package static var needsOpenSSL: ConditionTrait {
    .enabled(if: access("/usr/bin/openssl", X_OK) == 0, "needs /usr/bin/openssl")
  }
}

/// A file system in memory, where a write through a mapping changes no timestamp. The same holds on a disk while the
/// page is already dirty.
package enum SharedMemory {
  package static let path = "/dev/shm"

  static let isThere = access(path, W_OK) == 0

  static var isElsewhere: Bool {
    var (own, other) = (stat(), stat())
    return isThere && stat(FileManager.default.temporaryDirectory.path, &own) == 0 && stat(path, &other) == 0
      && own.st_dev != other.st_dev
  }
}

package enum PythonProgram {
  /// The first of these that is installed.
  package static let path: String? = ["/usr/bin/python3", "/usr/local/bin/python3"].first {
    access($0, X_OK) == 0
  }
}

/// Calls `body` on this thread without root's rights over files, which ignore permissions.
package func withoutRootsRights<Value>(_ body: () throws -> Value) rethrows -> Value {
  guard geteuid() == 0 else { return try body() }
  // <sys/fsuid.h> is no part of the Glibc module.
  let setfsuid = unsafeBitCast(dlsym(nil, "setfsuid"), to: (@convention(c) (uid_t) -> CInt).self)
  _ = setfsuid(65_534)
  defer { _ = setfsuid(0) }
  return try body()
}
