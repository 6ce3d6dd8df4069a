/// How a walk goes.
public struct WalkOptions: Sendable {
  /// Whether symbolic links are followed: those that the user named wherever they lead, those within a folder
  /// as long as they stay beneath it. A link with an absolute target counts as leading out.
  public var followLinks: Bool
  /// Which of the names in folders are looked at.
  public var filter: NameFilter
  /// Folders that are never entered, whatever they are called: the library and the destination.
  public var skippedDirectories: [DirectoryIdentity]
  /// Whether a folder that the user named stands for its files; else it is a failure of its own.
  public var entersFolders = true
  /// Extensions, lower case, by which a name in a folder makes its file a candidate, beyond those of the containers.
  public var otherExtensions: Set<String> = []
  /// Whether a Git LFS pointer is a candidate whatever its name.
  public var takesPointers = false

  /// By default no link is followed, every name is looked at, and nothing is skipped.
  public init(
    followLinks: Bool = false, filter: NameFilter = NameFilter(), skippedDirectories: [DirectoryIdentity] = []
  ) {
    self.followLinks = followLinks
    self.filter = filter
    self.skippedDirectories = skippedDirectories
  }
}
