import ReelCore

/// Holds what a result claims against what was asked: nothing of it is passed on unchecked.
struct AdapterClaims: Sendable {
  let wording: AdapterWording
  /// Put before a key to make the address that viewers open; nil when the adapter gives the address.
  let publicBaseURL: String?

  /// The object that a result describes.
  /// - Parameter size: what it must have; nil when only the store knows.
  func object(
    _ key: ObjectKey, _ result: AdapterResult, size: Int64?
  ) throws(UploadError) -> StoredObject {
    guard let claimed = result.size, claimed >= 0 else {
      throw wording.wrong("it says nothing sensible about the size of \(key)")
    }
    if let size, claimed != size {
      throw wording.wrong("it says \(key) has \(claimed) bytes, and \(size) were sent")
    }
    var digest: ContentDigest?
    if let text = result.digest {
      guard let read = ContentDigest(hex: text) else {
        throw wording.wrong("the digest it gives for \(key) is not a SHA-256")
      }
      digest = read
    }
    return StoredObject(key: key, url: try address(of: key, result.url), size: claimed, digest: digest)
  }

  /// Whether it says that there is such an object.
  func isFound(_ result: AdapterResult) throws(UploadError) -> Bool {
    guard let found = result.found else {
      throw wording.breach(AdapterViolation("its answer does not say whether the object was \"found\""))
    }
    return found
  }

  private func address(of key: ObjectKey, _ claimed: String?) throws(UploadError) -> String {
    if let base = publicBaseURL { return base + (base.hasSuffix("/") ? "" : "/") + key.rawValue }
    guard let claimed else {
      throw wording.breach(
        AdapterViolation("it gives no \"url\" that viewers can open, and there is no --public-base-url"))
    }
    guard Self.isAddress(claimed) else {
      throw wording.wrong("the address it gives for \(key) is not an address", quoting: claimed)
    }
    return claimed
  }

  /// An http, https or file URL of printable ASCII, without a password in it.
  static func isAddress(_ text: String) -> Bool {
    let schemes = ["https://", "http://", "file://"]
    guard text.utf8.count <= 2048, let scheme = schemes.first(where: { text.lowercased().hasPrefix($0) }),
      text.utf8.allSatisfy({ (0x21...0x7E).contains($0) && !"\"<>\\^`{|}".utf8.contains($0) })
    else { return false }
    let rest = text.dropFirst(scheme.count)
    let host = rest.prefix { !"/?#".contains($0) }
    return !host.contains("@") && (scheme == "file://" || !host.isEmpty)
  }
}
