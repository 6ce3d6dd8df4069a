import Glibc

/// A shell pattern for names and paths in a folder.
///
/// - Without a slash, it applies to the last component only: `*.mov`, `drafts`.
/// - With a slash, it applies to the path from the folder that the user named, component by component:
///   `2024/*/raw.*`. A component `**` stands for any number of components, including none: `**/drafts/*.mp4`.
/// - With a trailing slash, it applies to folders only: `cache/`.
/// - A component `.` stands for nothing: `./cache` is `cache` in the folder that the user named.
///
/// In a component, `*`, `?`, `[…]` and `\` mean what they mean to fnmatch(3), on bytes: a character of several
/// bytes needs as many question marks. Case matters, and names need not be UTF-8. Names that look the same match:
/// macOS stores accents separately from their letters (NFD).
public struct GlobPattern: Hashable, Sendable {
  private enum Component: Hashable, Sendable {
    case any
    case matching([CChar])
  }
  private let components: [Component]
  private let isOfName: Bool
  private let isOfFoldersOnly: Bool

  /// Creates a pattern; nil if it contains nothing but slashes, contains a NUL, or has a component that cannot
  /// match what was intended: `..`, a `[` without its `]`, a range that runs backwards, or a `\` with nothing after
  /// it.
  public init?(_ pattern: [UInt8]) {
    let slash = UInt8(ascii: "/")
    let parts = pattern.split(separator: slash).filter { !$0.elementsEqual(".".utf8) }
    guard !parts.isEmpty, !parts.contains(where: { $0.elementsEqual("..".utf8) }), !pattern.contains(0),
      parts.allSatisfy(Self.isWellFormed)
    else { return nil }
    components = parts.map { $0.elementsEqual("**".utf8) ? .any : .matching(Self.terminated($0)) }
    isOfFoldersOnly = pattern.last == slash
    isOfName = !pattern.dropLast(isOfFoldersOnly ? 1 : 0).contains(slash)
  }

  /// Creates a pattern from text; nil as for bytes.
  public init?(_ pattern: String) {
    self.init(Array(pattern.utf8))
  }

  /// Whether the pattern matches `path`.
  /// - Parameter path: The path from the folder to which the pattern applies, with slashes between components.
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
      guard let name = names.first,
        fnmatch(pattern, Self.terminated(name), 0) == 0 || AlikePattern.matches(pattern.dropLast(), name)
      else { return false }
      return matches(components.dropFirst(), names.dropFirst())
    }
  }

  private static func isWellFormed(_ component: ArraySlice<UInt8>) -> Bool {
    var rest = component
    while let byte = rest.popFirst() {
      if byte == UInt8(ascii: "\\"), rest.popFirst() == nil { return false }
      if byte == UInt8(ascii: "["), !endsBracket(&rest) { return false }
    }
    return true
  }

  /// Consumes what follows a `[` up to its `]`. False if there is no `]`, or if a range in it runs backwards.
  private static func endsBracket(_ rest: inout ArraySlice<UInt8>) -> Bool {
    if let first = rest.first, "!^".utf8.contains(first) { rest.removeFirst() }
    var isFirst = true
    while var low = rest.popFirst() {
      if low == UInt8(ascii: "]"), !isFirst { return true }
      isFirst = false
      if low == UInt8(ascii: "["), let kind = rest.first, ":.=".utf8.contains(kind) {
        guard endsClass(kind, &rest) else { return false }
        continue
      }
      if low == UInt8(ascii: "\\") {
        guard let escaped = rest.popFirst() else { return false }
        low = escaped
      }
      guard rest.first == UInt8(ascii: "-"), let next = rest.dropFirst().first, next != UInt8(ascii: "]")
      else {
        continue
      }
      rest.removeFirst()
      guard next != UInt8(ascii: "[") else { continue }
      rest.removeFirst()
      guard let high = next == UInt8(ascii: "\\") ? rest.popFirst() : next, low <= high else { return false }
    }
    return false
  }

  /// Consumes the rest of a class such as `[:alpha:]`, starting at its first `:`.
  private static func endsClass(_ kind: UInt8, _ rest: inout ArraySlice<UInt8>) -> Bool {
    rest.removeFirst()
    while let byte = rest.popFirst() {
      if byte == kind, rest.first == UInt8(ascii: "]") {
        rest.removeFirst()
        return true
      }
    }
    return false
  }

  private static func terminated(_ bytes: ArraySlice<UInt8>) -> [CChar] {
    bytes.map { CChar(bitPattern: $0) } + [0]
  }
}

/// Matches, character by character, a component that looks like its pattern but is encoded differently.
private enum AlikePattern {
  static func matches(_ pattern: some Sequence<CChar>, _ name: ArraySlice<UInt8>) -> Bool {
    let bytes = pattern.map { UInt8(bitPattern: $0) }
    // Only non-ASCII texts can look the same and yet differ.
    guard bytes.contains(where: { $0 >= 0x80 }), name.contains(where: { $0 >= 0x80 }),
      let pattern = String(validating: bytes, as: UTF8.self),
      let name = String(validating: name, as: UTF8.self)
    else { return false }
    return matches(Array(pattern)[...], Array(name)[...])
  }

  private static func matches(_ pattern: ArraySlice<Character>, _ name: ArraySlice<Character>) -> Bool {
    var (pattern, name) = (pattern, name)
    // Only the last `*` may have to match more: whatever an earlier one could take, the last one can take as well.
    var last: (after: ArraySlice<Character>, name: ArraySlice<Character>)?
    while true {
      if pattern.first == "*" {
        pattern = pattern.drop { $0 == "*" }
        last = (pattern, name)
      } else if let after = afterOne(pattern, name.first) {
        (pattern, name) = (after, name.dropFirst())
      } else if pattern.isEmpty, name.isEmpty {
        return true
      } else {
        guard let star = last, !star.name.isEmpty else { return false }
        (pattern, name) = (star.after, star.name.dropFirst())
        last = (pattern, name)
      }
    }
  }

  /// Returns what follows the first element of `pattern`, which does not begin with `*`, if that element matches
  /// this character; otherwise nil.
  private static func afterOne(_ pattern: ArraySlice<Character>, _ one: Character?) -> ArraySlice<Character>?
  {
    guard let first = pattern.first, let one else { return nil }
    let rest = pattern.dropFirst()
    switch first {
    // It matches one byte, as in fnmatch(3).
    case "?": return one.isASCII ? rest : nil
    case "[": return bracket(rest, one).flatMap { isIn, after in isIn ? after : nil }
    case "\\": return rest.first == one ? rest.dropFirst() : nil
    default: return first == one ? rest : nil
    }
  }

  /// Whether `one` is among the characters and ranges before the `]`, and what follows the `]`. Nil for a class
  /// such as `[:alpha:]`, which is left to fnmatch(3).
  private static func bracket(
    _ pattern: ArraySlice<Character>, _ one: Character
  ) -> (Bool, ArraySlice<Character>)? {
    var rest = pattern
    let isNegated = rest.first == "!" || rest.first == "^"
    if isNegated { rest.removeFirst() }
    var (isIn, isFirst) = (false, true)
    while var low = rest.popFirst() {
      if low == "]", !isFirst { return (isIn != isNegated, rest) }
      isFirst = false
      if low == "[", let kind = rest.first, ":.=".contains(kind) { return nil }
      if low == "\\" {
        guard let meant = rest.popFirst() else { return nil }
        low = meant
      }
      guard rest.first == "-", let high = rest.dropFirst().first, high != "]" else {
        if low == one { isIn = true }
        continue
      }
      rest.removeFirst(2)
      if low <= one, one <= high { isIn = true }
    }
    return nil
  }
}
