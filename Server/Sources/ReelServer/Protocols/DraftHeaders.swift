import HTTPTypes

/// The resumable uploads of the IETF (draft-ietf-httpbis-resumable-upload), as far as headers go, in the versions that
/// `URLSession` speaks; pure.
enum Draft {
  /// By which an implementation tells which draft it follows.
  enum Version: Int, Sendable, CaseIterable {
    /// draft 01: `Upload-Incomplete`.
    case v3 = 3
    /// draft 03: `Upload-Complete`.
    case v5 = 5
    /// drafts 04 and 05: parts have a type of their own.
    case v6 = 6
  }
  static let partType = "application/partial-upload"

  /// What a request with bytes says of them.
  struct Part: Hashable, Sendable {
    let version: Version
    /// Where its bytes go.
    let offset: Int64
    /// Whether its bytes are the upload's last ones.
    let completes: Bool
    /// Bytes of its body, and of the whole upload; nil where that is not said.
    let (length, total): (Int64?, Int64?)

    /// - Throws: a 400 for a version that is not known, and for what is no such request; a 415.
    init(_ headers: HTTPFields, isCreation: Bool) throws(Problem) {
      version = try Draft.version(headers)
      completes =
        switch version {
        case .v3: try !(Draft.flag(headers, .uploadIncomplete) ?? false)
        // A part is the last one only where that is said.
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

  /// Whether `headers` are of this protocol.
  static func isSpoken(in headers: HTTPFields) -> Bool { headers[.uploadDraftInteropVersion] != nil }

  /// Whether `headers` are of a version that is not known here, and of an upload that comes whole: for that the draft wants no
  /// more than a plain upload.
  /// - Throws: a 400 for a flag that is none.
  static func isWholeByAnother(_ headers: HTTPFields) throws(Problem) -> Bool {
    guard headers[.uploadDraftInteropVersion].flatMap({ Int($0) }).flatMap(Version.init) == nil else {
      return false
    }
    let (complete, incomplete) = (try flag(headers, .uploadComplete), try flag(headers, .uploadIncomplete))
    return complete ?? true && !(incomplete ?? false)
  }

  /// - Throws: a 400.
  static func version(_ headers: HTTPFields) throws(Problem) -> Version {
    guard let number = headers[.uploadDraftInteropVersion].flatMap({ Int($0) }),
      let version = Version(rawValue: number)
    else {
      throw .badRequest("this server speaks the versions 3, 5 and 6 of the draft for resumable uploads")
    }
    return version
  }

  /// RFC 9651, 3.3.6. Nil where it is not said.
  private static func flag(_ headers: HTTPFields, _ name: HTTPField.Name) throws(Problem) -> Bool? {
    switch headers[name] {
    case nil: nil
    case "?1": true
    case "?0": false
    default: throw .badRequest("\(name) is ?1 or ?0")
    }
  }

  /// Where an upload stands.
  /// - Parameter length: of all of it, where that is to be said.
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
