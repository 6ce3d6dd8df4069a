import Glibc

/// A shell pattern for names and paths in a folder.
///
/// - Without a slash it is about the last name alone: `*.mov`, `drafts`.
/// - With one it is about the path from the folder that the user named, component by component:
///   `2024/*/raw.*`. A component `**` stands for any number of components, none as well: `**/drafts/*.mp4`.
/// - With one at the end it is about folders only: `cache/`.
///
/// In a component `*`, `?`, `[…]` and `\` mean what they mean to fnmatch(3), on bytes: a character that takes
/// several bytes needs as many question marks. Case matters, and names need not be UTF-8.
public struct GlobPattern: Hashable, Sendable {
  private enum Component: Hashable, Sendable {
    case any
    case matching([CChar])
  }
  private let components: [Component]
  private let isOfName: Bool
  private let isOfFoldersOnly: Bool

  /// Nil when there is nothing in it but slashes, or a NUL.
  public init?(_ pattern: [UInt8]) {
    let slash = UInt8(ascii: "/")
    let parts = pattern.split(separator: slash)
    guard !parts.isEmpty, !pattern.contains(0) else { return nil }
    components = parts.map { $0.elementsEqual("**".utf8) ? .any : .matching(Self.terminated($0)) }
    isOfFoldersOnly = pattern.last == slash
    isOfName = !pattern.dropLast(isOfFoldersOnly ? 1 : 0).contains(slash)
  }

  /// Nil when there is nothing in it but slashes, or a NUL.
  public init?(_ pattern: String) {
    self.init(Array(pattern.utf8))
  }

  /// - Parameter path: from the folder that the pattern is about, components between slashes.
  public func matches(_ path: [UInt8], isFolder: Bool) -> Bool {
    guard isFolder || !isOfFoldersOnly else { return false }
    let names = path.split(separator: UInt8(ascii: "/"))
    return isOfName ? matches(components[...], names.suffix(1)) : matches(components[...], names[...])
  }

  private func matches(_ components: ArraySlice<Component>, _ names: ArraySlice<ArraySlice<UInt8>>) -> Bool {
    guard let component = components.first else { return names.isEmpty }
    switch component {
    case .any:
      let rest = components.drop { $0 == .any }
      return rest.isEmpty || names.indices.contains { matches(rest, names[$0...]) }
    case .matching(let pattern):
      guard let name = names.first, fnmatch(pattern, Self.terminated(name), 0) == 0 else { return false }
      return matches(components.dropFirst(), names.dropFirst())
    }
  }

  private static func terminated(_ bytes: ArraySlice<UInt8>) -> [CChar] {
    bytes.map { CChar(bitPattern: $0) } + [0]
  }
}
