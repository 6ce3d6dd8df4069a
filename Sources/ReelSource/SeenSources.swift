/// What a walk has met already, so that inputs that overlap give each file once.
///
/// It remembers each folder entered and each file named: 16 bytes of identity for a folder, its folder's and
/// its name for a file, whatever a folder holds. With one input and no links nothing can come twice, and
/// nothing is kept.
struct SeenSources {
  private struct NamedFile: Hashable {
    let directory: DirectoryIdentity
    let name: [UInt8]
  }
  private let isNeeded: Bool
  private var directories: Set<DirectoryIdentity> = []
  private var files: Set<NamedFile> = []

  init(isNeeded: Bool) {
    self.isNeeded = isNeeded
  }

  /// Whether it is met for the first time.
  mutating func enters(_ directory: DirectoryIdentity) -> Bool {
    !isNeeded || directories.insert(directory).inserted
  }

  func hasEntered(_ directory: DirectoryIdentity) -> Bool {
    directories.contains(directory)
  }

  /// Whether it is named for the first time.
  mutating func names(_ name: [UInt8], in directory: DirectoryIdentity) -> Bool {
    !isNeeded || files.insert(NamedFile(directory: directory, name: name)).inserted
  }

  func hasNamed(_ name: [UInt8], in directory: DirectoryIdentity) -> Bool {
    !files.isEmpty && files.contains(NamedFile(directory: directory, name: name))
  }
}
