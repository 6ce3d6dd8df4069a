import HTTPTypes
import ReelCore

/// What a server can do, as its answer to OPTIONS says (tus 1.0.0, "OPTIONS").
struct TusServer: Hashable, Sendable {
  /// The version of the protocol that we speak.
  static let version = "1.0.0"

  let extensions: Set<String>
  /// Algorithms of the checksum extension that we can do as well, the best one; nil without.
  let checksum: TusChecksum?
  /// Bytes of the largest upload; nil when it does not say.
  let largest: Int64?
  /// Where uploads are created: as the user wrote it, or with a slash at its end, if that is where the server sent us.
  let endpoint: TusURL

  /// Nil when the reply comes from no tus server.
  init?(_ reply: HTTPReply, endpoint: TusURL) {
    guard reply.isSuccess || reply.status.code == 405,
      let versions = reply.fields[.tusVersion] ?? reply.fields[.tusResumable],
      versions.split(separator: ",").contains(where: { $0.trimmed == Self.version })
    else { return nil }
    extensions = Set(
      (reply.fields[.tusExtension] ?? "").split(separator: ",").map { $0.trimmed.lowercased() })
    let offered = (reply.fields[.tusChecksumAlgorithm] ?? "").split(separator: ",").map {
      $0.trimmed.lowercased()
    }
    checksum =
      extensions.contains("checksum") ? TusChecksum.allCases.first { offered.contains($0.rawValue) } : nil
    largest = reply.fields[.tusMaxSize].flatMap { Int64($0.trimmed) }.flatMap { $0 > 0 ? $0 : nil }
    self.endpoint = endpoint
  }

  var canCreate: Bool { extensions.contains("creation") }
  var canTerminate: Bool { extensions.contains("termination") }

  /// Creation-with-upload saves a round trip. Not where parts can carry a checksum: a creation can't.
  var takesFirstPart: Bool { extensions.contains("creation-with-upload") && checksum == nil }
}

extension HTTPField.Name {
  // The names are constants that keep the rule for names (RFC 9110, 5.1): tests read each of them.
  static let tusResumable = name("Tus-Resumable")
  static let tusVersion = name("Tus-Version")
  static let tusExtension = name("Tus-Extension")
  static let tusMaxSize = name("Tus-Max-Size")
  static let tusChecksumAlgorithm = name("Tus-Checksum-Algorithm")
  static let uploadOffset = name("Upload-Offset")
  static let uploadLength = name("Upload-Length")
  static let uploadMetadata = name("Upload-Metadata")
  static let uploadChecksum = name("Upload-Checksum")

  private static func name(_ text: String) -> HTTPField.Name {
    guard let name = HTTPField.Name(text) else { preconditionFailure("\(text) is not a field name") }
    return name
  }
}

extension StringProtocol {
  /// Without the spaces around it.
  var trimmed: String {
    String(drop { $0 == " " || $0 == "\t" }.reversed().drop { $0 == " " || $0 == "\t" }.reversed())
  }
}
