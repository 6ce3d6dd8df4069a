import HTTPTypes

/// The request headers of tus 1.0.0 (<https://tus.io/protocols/resumable-upload>); pure.
enum Tus {
  static let version = "1.0.0"
  static let extensions = "creation,creation-with-upload,expiration,termination,checksum"
  static let contentType = "application/offset+octet-stream"

  /// - Throws: a 412 for another version.
  static func checkVersion(_ headers: HTTPFields) throws(Problem) {
    guard headers[.tusResumable] == version else {
      var problem = Problem(
        .preconditionFailed, "tusVersion", "this server speaks tus \(version): say Tus-Resumable")
      problem.headers = [.tusVersion: version, .tusResumable: version]
      throw problem
    }
  }

  /// What a `PATCH` says about its bytes.
  struct Part: Hashable, Sendable {
    var offset: Int64
    /// Nil for a body whose length is not stated.
    var length: Int64?
    var checksum: PartChecksum?

    /// - Throws: 412, 415, 400.
    init(_ headers: HTTPFields) throws(Problem) {
      try checkVersion(headers)
      try checkType(headers)
      offset = try Tus.count(headers, .uploadOffset)
      length = try Tus.contentLength(headers)
      checksum = try Tus.checksum(headers)
    }
  }

  /// What a `POST` says about the upload that it asks for.
  struct Creation: Hashable, Sendable {
    var length: Int64
    /// As received: `HEAD` returns it.
    var metadataHeader: String?
    var metadata: UploadMetadata
    /// The checksum of the bytes that come with it.
    var checksum: PartChecksum?

    /// - Throws: 412, 413, 415, 400.
    init(_ headers: HTTPFields) throws(Problem) {
      try checkVersion(headers)
      guard headers[.uploadDeferLength] == nil else {
        throw .badRequest("Upload-Length must be known when an upload is created here")
      }
      // A part of a video may itself be a video, and would be published.
      guard headers[.uploadConcat] == nil else {
        throw .badRequest(
          "uploads are not joined here (Upload-Concat): send the video as one, without parallel uploads")
      }
      length = try Tus.count(headers, .uploadLength)
      metadataHeader = headers[.uploadMetadata]
      metadata = try UploadMetadata(parsing: metadataHeader ?? "")
      checksum = try Tus.checksum(headers)
      if try Tus.contentLength(headers) != 0, headers[.contentLength] != nil || headers.isChunked {
        try checkType(headers)
      }
      guard try Tus.contentLength(headers) ?? 0 <= length else { throw .longerThanSaid }
    }
  }

  /// - Throws: a 415 when the body is not one of an upload.
  private static func checkType(_ headers: HTTPFields) throws(Problem) {
    guard FieldValue(parsing: headers[.contentType] ?? "").word == contentType else {
      throw Problem(
        .unsupportedMediaType, "contentType", "the bytes of an upload come as Content-Type: \(contentType)")
    }
  }

  private static func checksum(_ headers: HTTPFields) throws(Problem) -> PartChecksum? {
    guard !headers[values: .trailer].contains(where: { $0.lowercased().contains("upload-checksum") }) else {
      throw .badRequest("Upload-Checksum comes before the bytes here, not after them")
    }
    guard let header = headers[.uploadChecksum] else { return nil }
    return try PartChecksum(parsing: header)
  }

  /// Nil where it is not stated.
  static func contentLength(_ headers: HTTPFields) throws(Problem) -> Int64? {
    headers[.contentLength] == nil ? nil : try count(headers, .contentLength)
  }

  /// Whether a request has a body, as far as its head says.
  static func hasBody(_ headers: HTTPFields) throws(Problem) -> Bool {
    try contentLength(headers) ?? (headers.isChunked ? 1 : 0) > 0
  }

  /// A number of bytes: nothing but digits, and no more than an Int64 can hold.
  static func count(_ headers: HTTPFields, _ name: HTTPField.Name) throws(Problem) -> Int64 {
    guard let text = headers[name] else { throw .badRequest("\(name) is missing") }
    guard text.utf8.allSatisfy({ (0x30...0x39).contains($0) }), let number = Int64(text) else {
      throw .badRequest("\(name) is not a number of bytes")
    }
    return number
  }
}

extension Problem {
  static let longerThanSaid = Problem(.contentTooLarge, "tooLarge", "that is more than the upload's length")
}

extension HTTPFields {
  /// Whether the body comes in chunks, so that its length is not stated.
  var isChunked: Bool { self[.transferEncoding] != nil }

  /// Whether the sender closes the connection after this message (RFC 9112, 9.6).
  var closesConnection: Bool {
    self[values: .connection].contains { value in
      value.split(separator: ",").contains { FieldValue(parsing: $0).word == "close" }
    }
  }

  /// Whether `Prefer` contains the word (RFC 7240).
  func prefers(_ word: String) -> Bool {
    self[values: .prefer].contains { value in
      value.split(separator: ",").contains { part in
        part.split(separator: ";").first?.filter { $0 != " " }.lowercased() == word
      }
    }
  }
}

extension HTTPField.Name {
  /// A header name that is written in the source; `nil` would be a typing error that every test finds.
  static func named(_ text: StaticString) -> HTTPField.Name {
    guard let name = HTTPField.Name("\(text)") else { preconditionFailure("\(text) is not a header's name") }
    return name
  }

  static let tusResumable = named("Tus-Resumable")
  static let tusVersion = named("Tus-Version")
  static let tusExtension = named("Tus-Extension")
  static let tusMaxSize = named("Tus-Max-Size")
  static let tusChecksumAlgorithm = named("Tus-Checksum-Algorithm")
  static let uploadOffset = named("Upload-Offset")
  static let uploadLength = named("Upload-Length")
  static let uploadDeferLength = named("Upload-Defer-Length")
  static let uploadConcat = named("Upload-Concat")
  static let uploadMetadata = named("Upload-Metadata")
  static let uploadExpires = named("Upload-Expires")
  static let uploadChecksum = named("Upload-Checksum")
  static let methodOverride = named("X-HTTP-Method-Override")
  static let host = named("Host")
  static let prefer = named("Prefer")
  static let preferenceApplied = named("Preference-Applied")
  /// The verdict on an upload in one word, for answers without a body.
  static let reelVerdict = named("Reel-Verdict")
  /// The id of its post.
  static let reelPost = named("Reel-Post")
  /// Standard Webhooks, "Webhook headers".
  static let webhookID = named("webhook-id")
  static let webhookTimestamp = named("webhook-timestamp")
  static let webhookSignature = named("webhook-signature")
}
