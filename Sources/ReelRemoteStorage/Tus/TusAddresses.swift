import ReelCore

/// Where viewers find what a tus server took: the protocol does not say.
public struct TusAddresses: Hashable, Sendable {
  /// A setting, with `{key}` and `{id}` filled in; nil for the upload's own address.
  private let pattern: String?

  /// - Parameter publicBaseURL: `{key}` in it stands for the object's name, `{id}` for the name that the server gave
  ///   the upload (the end of its address). With neither, the object's name is put behind it. Nil for the upload's own
  ///   address, which servers that give uploads back answer to.
  public init(publicBaseURL: String?) {
    pattern = publicBaseURL.map { base in
      if base.contains("{key}") || base.contains("{id}") { return base }
      return base + (base.hasSuffix("/") ? "" : "/") + "{key}"
    }
  }

  func url(of key: ObjectKey, at url: TusURL) -> String {
    pattern?.replacing("{key}", with: key.rawValue).replacing("{id}", with: url.id) ?? url.text
  }

  /// Where the object can be read beside the server; nil when nobody said.
  func other(than url: TusURL, _ key: ObjectKey) -> TusURL? {
    guard pattern != nil, let other = TusURL(self.url(of: key, at: url)), other != url else { return nil }
    return other
  }
}
