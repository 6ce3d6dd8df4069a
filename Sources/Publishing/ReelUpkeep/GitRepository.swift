import Glibc
import ReelCore

/// Whether Git could give a file back.
enum GitRepository {
  /// Whether a folder above `path`, where that leads, is a work tree's.
  static func holds(_ path: SourcePath) -> Bool {
    guard let resolved = realpath(path.text, nil) else { return false }
    defer { free(resolved) }
    var folder = String(cString: resolved)
    while let end = folder.lastIndex(of: "/") {
      folder = String(folder[..<end])
      if access(folder + "/.git", F_OK) == 0 { return true }
    }
    return false
  }
}
