import ReelCore

/// `--include` and `--exclude`: which names in folders are looked at. A file that the user named is not
/// asked.
///
/// An excluded folder is not entered. Exclusion wins over inclusion. Inclusion is about files only, and makes
/// no candidate of a file that neither its name nor its bytes claim to be one.
public struct NameFilter: Hashable, Sendable {
  private let including: [GlobPattern]
  private let excluding: [GlobPattern]

  /// - Parameters:
  ///   - including: where there are any, a file must match one of them.
  ///   - excluding: a file or folder must match none of them.
  public init(including: [GlobPattern] = [], excluding: [GlobPattern] = []) {
    self.including = including
    self.excluding = excluding
  }

  var takesAll: Bool { including.isEmpty && excluding.isEmpty }

  /// - Parameter path: from the folder that the user named.
  func entersFolder(_ path: [UInt8]) -> Bool {
    !excluding.contains { $0.matches(path, isFolder: true) }
  }

  /// - Parameter path: from the folder that the user named.
  func takesFile(_ path: [UInt8]) -> Bool {
    if excluding.contains(where: { $0.matches(path, isFolder: false) }) { return false }
    return including.isEmpty || including.contains { $0.matches(path, isFolder: false) }
  }
}
