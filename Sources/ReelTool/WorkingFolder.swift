import Glibc
import ReelCore

/// Where relative paths begin.
enum WorkingFolder {
  /// Its path, whose bytes need not be UTF-8; nil when it was removed, or can't be told.
  static func path() -> SourcePath? {
    guard let path = getcwd(nil, 0) else { return nil }
    defer { free(path) }
    return SourcePath(bytes: UnsafeRawBufferPointer(start: path, count: strlen(path)))
  }
}
