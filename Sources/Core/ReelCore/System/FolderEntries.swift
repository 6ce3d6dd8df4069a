import Glibc

extension SourcePath {
  /// Whether it is a folder that has entries. An unmounted mount point is missing or empty.
  package var isFolderWithEntries: Bool {
    guard let entries = opendir(bytes.map { CChar(bitPattern: $0) } + [0]) else { return false }
    defer { closedir(entries) }
    // Every folder contains itself and its parent.
    for _ in 0..<3 where readdir(entries) == nil { return false }
    return true
  }
}
