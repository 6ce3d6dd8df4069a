import ReelCore

/// What a name in a folder says before anybody looks at the file.
enum ExtensionHint: Hashable, Sendable {
  /// Neither a video of its own nor a folder to enter: hidden, AppleDouble, what an archiver left.
  case ignored
  /// A download that is not done, or a lock; but a folder of that name is a folder.
  case unfinished
  /// It has an extension of one of the containers that Reel takes in.
  case media
  /// It has one that files of another trade bear as well, such as `.ts`: the bytes decide which it is.
  case shared
  /// Nothing: the bytes decide.
  case nothing

  init(of name: [UInt8]) {
    if Self.isIgnored(name) {
      self = .ignored
    } else if let claimed = SourcePath(bytes: name).claimedExtension {
      self = Self.unfinishedExtensions.contains(claimed) ? .unfinished : Self.claim(claimed)
    } else {
      self = .nothing
    }
  }

  private static func claim(_ claimed: String) -> ExtensionHint {
    if AmbiguousExtension.extensions.contains(claimed) { return .shared }
    return MediaContainer.claimableExtensions.contains(claimed) ? .media : .nothing
  }

  /// Hidden names (AppleDouble's `._clip.mov` among them), Office's lock files, and the folder of AppleDouble
  /// files that macOS puts into ZIP archives.
  private static func isIgnored(_ name: [UInt8]) -> Bool {
    name.first == UInt8(ascii: ".") || name.starts(with: "~$".utf8) || name.elementsEqual("__MACOSX".utf8)
  }

  /// Extensions of what browsers and download managers are not done with, and of lock files.
  private static let unfinishedExtensions: Set<String> = [
    "part", "partial", "crdownload", "download", "filepart", "aria2", "opdownload", "tmp", "lock", "lck",
  ]
}
