import Glibc

extension SourcePath {
  /// Whether it is a folder that has something in it: where nothing is mounted, it is missing or empty.
  package var isFolderWithEntries: Bool {
    guard let entries = opendir(bytes.map { CChar(bitPattern: $0) } + [0]) else { return false }
    defer { closedir(entries) }
    // Itself and its parent are in every folder.
    for _ in 0..<3 where readdir(entries) == nil { return false }
    return true
  }
}
