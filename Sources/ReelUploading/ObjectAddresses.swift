import ReelModel

/// The addresses under which viewers find a store's objects.
public struct ObjectAddresses: Sendable {
  /// With or without a slash at its end.
  let base: String

  /// - Parameter base: what stands before an object's name, with or without a slash at its end.
  public init(base: String) { self.base = base }

  /// The base and the name. A key needs no percent-encoding: it holds unreserved characters only.
  public func url(of key: ObjectKey) -> String {
    base.hasSuffix("/") ? base + key.rawValue : base + "/" + key.rawValue
  }
}
