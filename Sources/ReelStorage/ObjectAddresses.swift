import ReelCore

/// The addresses under which viewers find a store's objects.
public struct ObjectAddresses: Sendable {
  /// With or without a slash at its end.
  let base: String

  /// - Parameter base: what stands before an object's name, with or without a slash at its end.
  public init(base: String) { self.base = base }

  /// Why viewers can't be given addresses that begin with `base`, as the end of a sentence; nil when they can.
  ///
  /// Only the web's own schemes: a viewer's program may run what stands behind another (`javascript:`, `data:`), and a
  /// folder's own addresses (`file:`) are what there is without a base.
  package static func problem(ofBase base: String) -> String? {
    let scheme = ["https://", "http://"].first { base.lowercased().hasPrefix($0) }
    guard let scheme else { return "is an absolute http or https address, such as https://media.example/v/" }
    let authority = base.dropFirst(scheme.count).prefix { !"/?#".contains($0) }
    guard !authority.isEmpty, authority.first != ":" else {
      return "names a host, as in https://media.example/v/"
    }
    guard !authority.contains("@") else {
      return "holds no user and no password: every viewer would get them"
    }
    let isPlain = base.unicodeScalars.allSatisfy { scalar in
      scalar.value > 0x20 && !(0x7F...0xA0).contains(scalar.value)
        && !"\"<>\\^`|".unicodeScalars.contains(scalar)
    }
    return isPlain ? nil : "holds no blanks, quotes or control characters; write them percent-encoded"
  }

  /// The base and the name. A key needs no percent-encoding: it holds unreserved characters only.
  public func url(of key: ObjectKey) -> String {
    base.hasSuffix("/") ? base + key.rawValue : base + "/" + key.rawValue
  }
}
