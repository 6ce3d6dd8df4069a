import ReelCore
import ReelStorage

/// The address of a source: `s3://bucket/name`, `s3+https://host/bucket/name`, `https://host/path`.
package enum SourceAddress: Sendable {
  /// An object of a bucket, or, if the name is empty or ends with a slash, all objects whose names begin with it.
  case s3(S3Address, name: String)
  /// A file on the web.
  case web(WebAddress)

  /// - Throws: ``SourceAddressError`` if it is not a usable address.
  package init(parsing path: SourcePath) throws(SourceAddressError) {
    guard let scheme = path.scheme else { throw SourceAddressError("", "it names no kind of source") }
    guard let text = String(validating: path.bytes, as: UTF8.self), !text.utf8.contains(0) else {
      throw SourceAddressError(scheme, "it is not UTF-8")
    }
    if scheme.hasPrefix("s3") {
      self = try Self.bucket(text, scheme)
    } else {
      let address = try rethrowing(as: { SourceAddressError(scheme, $0.reason) }) {
        () throws(HTTPAddressError) in
        try WebAddress(parsing: text)
      }
      self = .web(address)
    }
  }

  /// Parses the address of a bucket. The name of an object is taken literally, including any slash or question mark.
  private static func bucket(_ text: String, _ scheme: String) throws(SourceAddressError) -> SourceAddress {
    var parts = text.dropFirst(scheme.count + 3).split(
      separator: "/", maxSplits: scheme == "s3" ? 1 : 2, omittingEmptySubsequences: false)
    var endpoint: String?
    if scheme != "s3" {
      endpoint = "\(scheme.dropFirst(3))://\(parts.removeFirst())"
    }
    let example = scheme == "s3" ? "s3://bucket/name" : "\(scheme)://host/bucket/name"
    guard let bucket = parts.first, !bucket.isEmpty, endpoint.map({ !$0.hasSuffix("://") }) ?? true else {
      throw SourceAddressError(scheme, "it names no bucket: it is written like \(example)")
    }
    guard !bucket.contains("@"), endpoint?.contains("@") != true else {
      throw SourceAddressError(
        scheme,
        "it contains an @, as if it began with a key or a password: those belong in the environment or in a file"
      )
    }
    let name = parts.count > 1 ? String(parts[1]) : ""
    guard
      !name.split(separator: "/", omittingEmptySubsequences: false).contains(where: {
        $0 == "." || $0 == ".."
      })
    else {
      throw SourceAddressError(scheme, "it holds . or .. as a folder, which means nothing in a bucket")
    }
    return .s3(S3Address(bucket: String(bucket), prefix: "", endpoint: endpoint), name: name)
  }
}

/// The reason why an address can't be used as a source. The address is not repeated, as it may contain a password.
package struct SourceAddressError: ReelError, Hashable {
  private let scheme: String
  private let reason: String

  package var message: String { "the source \(scheme)://… can't be used: \(reason)" }

  /// - Parameter reason: the end of a sentence.
  fileprivate init(_ scheme: String, _ reason: String) { (self.scheme, self.reason) = (scheme, reason) }
}
