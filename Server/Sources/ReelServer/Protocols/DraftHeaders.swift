import HTTPTypes

/// The headers of the IETF's resumable uploads (draft-ietf-httpbis-resumable-upload), in the versions that `URLSession`
/// speaks; pure.
enum Draft {
  /// The number by which an implementation tells which draft it follows.
  enum Version: Int, Sendable, CaseIterable {
    /// draft 01: `Upload-Incomplete`.
    case v3 = 3
    /// draft 03: `Upload-Complete`.
    case v5 = 5
    /// drafts 04 and 05: parts have a type of their own.
    case v6 = 6
  }
  static let partType = "application/partial-upload"

  /// What the headers of a request say about its bytes.
  struct Part: Hashable, Sendable {
    let version: Version
    /// The offset in the upload at which its bytes belong.
    let offset: Int64
    /// Whether its bytes are the upload's last ones.
    let completes: Bool
    /// The number of bytes of its body, and of the whole upload; nil where it is not stated.
    let (length, total): (Int64?, Int64?)

    /// - Throws: a 400 for an unknown version or an invalid request, a 415 for another content type.
    init(_ headers: HTTPFields, isCreation: Bool) throws(Problem) {
      version = try Draft.version(headers)
      completes =
        switch version {
        case .v3: try !(Draft.flag(headers, .uploadIncomplete) ?? false)
        // A part is the last one only if it says so.
        case .v5, .v6: try Draft.flag(headers, .uploadComplete) ?? isCreation
        }
      offset = isCreation && headers[.uploadOffset] == nil ? 0 : try Tus.count(headers, .uploadOffset)
      guard !isCreation || offset == 0 else { throw .badRequest("an upload begins at 0") }
      if !isCreation, version == .v6, FieldValue(parsing: headers[.contentType] ?? "").word != partType {
        throw Problem(
          .unsupportedMediaType, "contentType", "a part of an upload comes as Content-Type: \(partType)")
      }
      length = try Tus.contentLength(headers)
      var total = headers[.uploadLength] == nil ? nil : try Tus.count(headers, .uploadLength)
      if let length {
        let (end, isTooLarge) = offset.addingReportingOverflow(length)
        guard !isTooLarge, !completes || total == nil || total == end else {
          throw .badRequest("the upload would not have the length that is said")
        }
        if completes { total = end }
      }
      self.total = total
    }
  }

  /// Whether `headers` belong to this protocol.
  static func isSpoken(in headers: HTTPFields) -> Bool { headers[.uploadDraftInteropVersion] != nil }

  /// Whether `headers` are of a version that is unknown here, and of an upload that comes whole, for which the draft
  /// asks for no more than a plain upload.
  /// - Throws: a 400 for an invalid flag.
  static func isWholeByAnother(_ headers: HTTPFields) throws(Problem) -> Bool {
    guard headers[.uploadDraftInteropVersion].flatMap({ Int($0) }).flatMap(Version.init) == nil else {
      return false
    }
    let (complete, incomplete) = (try flag(headers, .uploadComplete), try flag(headers, .uploadIncomplete))
    return complete ?? true && !(incomplete ?? false)
  }

  /// - Throws: a 400 for an unknown version.
  static func version(_ headers: HTTPFields) throws(Problem) -> Version {
    guard let number = headers[.uploadDraftInteropVersion].flatMap({ Int($0) }),
      let version = Version(rawValue: number)
    else {
      throw .badRequest("this server speaks the versions 3, 5 and 6 of the draft for resumable uploads")
    }
    return version
  }

  /// A Boolean field (RFC 9651, 3.3.6); nil where it is absent.
  private static func flag(_ headers: HTTPFields, _ name: HTTPField.Name) throws(Problem) -> Bool? {
    switch headers[name] {
    case nil: nil
    case "?1": true
    case "?0": false
    default: throw .badRequest("\(name) is ?1 or ?0")
    }
  }

  /// The headers that say where an upload stands.
  /// - Parameter length: of the whole upload, where that is to be stated.
  static func headers(
    _ version: Version, offset: Int64, isComplete: Bool, length: Int64? = nil
  ) -> HTTPFields {
    var headers: HTTPFields = [.uploadDraftInteropVersion: "\(version.rawValue)", .uploadOffset: "\(offset)"]
    switch version {
    case .v3: headers[.uploadIncomplete] = isComplete ? "?0" : "?1"
    case .v5, .v6: headers[.uploadComplete] = isComplete ? "?1" : "?0"
    }
    if version == .v6, let length { headers[.uploadLength] = "\(length)" }
    return headers
  }
}

extension HTTPField.Name {
  static let uploadDraftInteropVersion = named("Upload-Draft-Interop-Version")
  static let uploadComplete = named("Upload-Complete")
  static let uploadIncomplete = named("Upload-Incomplete")
  static let uploadLimit = named("Upload-Limit")
}
