import Glibc

/// Who may read what a folder store makes: permission bits as chmod(1) has them, the umask notwithstanding.
public struct FolderModes: Hashable, Sendable {
  /// Of files, such as 0600.
  public let file: UInt32
  /// Of folders, such as 0700.
  public let folder: UInt32

  /// Bits beyond 0777 are dropped; the owner can always read and write (and enter folders).
  public init(file: UInt32, folder: UInt32) {
    self.file = file & 0o777 | 0o600
    self.folder = folder & 0o777 | 0o700
  }

  /// Files with `file`, and folders that whoever may read the files can enter: 0644 gives 0755.
  public init(file: UInt32) {
    self.init(file: file, folder: file | (file & 0o444) >> 2)
  }

  /// Of files as chmod(1) is told it in octal, such as `640`; nil where that is none, or keeps the owner out.
  package init?(octal text: String) {
    guard let mode = UInt32(text, radix: 8), mode <= 0o777, mode & 0o600 == 0o600 else { return nil }
    self.init(file: mode)
  }

  /// For this user alone: 0600 and 0700.
  public static let `private` = FolderModes(file: 0o600, folder: 0o700)
}
