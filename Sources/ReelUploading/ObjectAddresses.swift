import ReelModel

/// The addresses under which viewers find a store's objects.
struct ObjectAddresses: Sendable {
  /// With or without a slash at its end.
  let base: String

  /// A key needs no percent-encoding: it holds unreserved characters only.
  func url(of key: ObjectKey) -> String {
    base.hasSuffix("/") ? base + key.rawValue : base + "/" + key.rawValue
  }
}
