import ReelCore
import ReelStorage

/// An address that a source is named by: `s3://bucket/name`, `s3+https://host/bucket/name`, `https://host/path`.
package enum SourceAddress: Sendable {
  /// An object of a bucket, or, with a slash at its end or empty, what the names of objects begin with.
  case s3(S3Address, name: String)
  /// A file on the web.
  case web(WebAddress)

  /// - Throws: ``SourceAddressError`` when it is none that can be used.
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

  /// The name of an object is taken as it is: any slash, any question mark.
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
        "it holds an @, as if a key or a password came first: those stand in the environment or in a file")
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

/// Why an address can't be used as a source. The address is not repeated: it may hold a password.
package struct SourceAddressError: ReelError, Hashable {
  private let scheme: String
  private let reason: String

  package var message: String { "the source \(scheme)://… can't be used: \(reason)" }

  /// - Parameter reason: the end of a sentence.
  fileprivate init(_ scheme: String, _ reason: String) { (self.scheme, self.reason) = (scheme, reason) }
}
