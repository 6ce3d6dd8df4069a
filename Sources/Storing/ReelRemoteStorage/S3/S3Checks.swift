import HTTPTypes
import ReelCore
import ReelCrypto
import ReelStorage

/// What a store checks of a part's bytes as they arrive. What it reports afterwards is no evidence: some stores keep
/// whatever checksum they are told, and report it (`rclone serve s3` does).
struct S3Checks: Hashable, Sendable {
  /// Whether it refuses a part whose CRC-64/NVME is not that in `x-amz-checksum-crc64nvme`.
  var sums = false
  /// Whether it reports that sum in its reply to the part. A reply without it then comes from a server that did
  /// not check.
  var repliesWithSums = false
  /// Whether it refuses a part whose SHA-256 is not the signed one.
  var signatures = false
  /// Whether it accepts a part without a signed SHA-256. Used only where nobody on the way can change the bytes.
  var unsigned = false
}

extension S3Client {
  /// Returns what the store checks. It is tested once, with parts some of which it has to refuse, in an upload that is
  /// then aborted. That upload has the name of an object that is about to be sent: if it is left over, it is found and
  /// removed like any other interrupted upload of that name.
  /// - Throws: errors that may be temporary, and `cancelled`.
  func checks(by key: ObjectKey, _ contentType: String) async throws(UploadError) -> S3Checks {
    let place = await checking.take()
    defer { checking.giveBack(place) }
    if let known = knownChecks { return known }
    let checks = try await askForChecks(key, contentType)
    remember(checks)
    return checks
  }

  private func askForChecks(_ key: ObjectKey, _ contentType: String) async throws(UploadError) -> S3Checks {
    let hasSums = sendsChecksums ? try await begin(key, contentType, .sums) : nil
    var id = hasSums
    if id == nil { id = try await begin(key, contentType, [:]) }
    // Whatever the reason, the upload that follows will meet and report it.
    guard let id else { return S3Checks() }
    let result: Result<S3Checks, UploadError>
    do throws(UploadError) {
      result = .success(try await checks(CheckedUpload(key: key, id: id), hasSums: hasSums != nil))
    } catch {
      result = .failure(error)
    }
    try? await shielded { () async throws(UploadError) in try await self.abortUpload(id, of: key) }
    return try result.get()
  }

  /// - Returns: Nil if the store refuses it.
  private func begin(
    _ key: ObjectKey, _ contentType: String, _ fields: HTTPFields
  ) async throws(UploadError) -> String? {
    var request = S3Request(
      .post, key, query: [("uploads", "")], task: "begin \(key)", permission: "s3:PutObject")
    request.fields = fields
    request.fields[.contentType] = contentType
    request.keepsExtras = true
    switch try await outcome(of: request) {
    case .reply(let reply): return S3Documents.uploadID(reply.body)
    case .failure(let failure):
      let error = error(failure, request)
      if error.isWorthARetry { throw error }
      return nil
    }
  }

  private func checks(_ upload: CheckedUpload, hasSums: Bool) async throws(UploadError) -> S3Checks {
    let (bytes, other) = (Array("what was sent".utf8), Array("what was meant".utf8))
    // Some stores accept no part without the checksum that the upload was begun with (MinIO).
    let sum = hasSums ? bytes : nil
    var checks = S3Checks()
    let isSafe = addressing.origin.isSecure || addressing.origin.isLoopback
    if isSafe {
      checks.unsigned = try await answer(toTrial: upload.part(1, bytes, signed: nil, sum: sum)).isTaken
    }
    if hasSums {
      // Signed if it has to be, so that a missing signature is not the reason for a refusal.
      let signed = checks.unsigned ? nil : bytes
      let taken = try await taken(
        upload.part(3, bytes, signed: signed, sum: bytes),
        butNot: upload.part(2, bytes, signed: signed, sum: other))
      checks.sums = taken != nil
      checks.repliesWithSums = taken?.fields[.checksumCRC64] != nil
    }
    if !checks.sums {
      let taken = try await taken(
        upload.part(5, bytes, signed: bytes, sum: sum), butNot: upload.part(4, bytes, signed: other, sum: sum)
      )
      checks.signatures = taken != nil
    }
    return checks
  }

  /// Returns the reply to `right`; nil unless the store accepts that, and refuses `wrong` because its bytes are not
  /// what was stated.
  private func taken(_ right: S3Request, butNot wrong: S3Request) async throws(UploadError) -> HTTPReply? {
    let refusal = try await answer(toTrial: wrong)
    // After a failure that may be temporary, always send the right part, too: a store that is down teaches nothing.
    if case .broken = refusal { _ = try await answer(to: right) }
    guard case .refusedAsOther = refusal, case .taken(let reply) = try await answer(to: right) else {
      return nil
    }
    return reply
  }

  /// Sends a request that the store need not accept. Some stores answer wrong bytes, or unsigned ones, with nothing
  /// better than a server error or a broken connection. A store that is really down does not accept the next
  /// request, either.
  private func answer(toTrial request: S3Request) async throws(UploadError) -> Answer {
    do throws(UploadError) {
      return try await answer(to: request)
    } catch {
      guard error.isWorthARetry else { throw error }
      return .broken
    }
  }

  private enum Answer {
    case taken(HTTPReply)
    case refused, refusedAsOther
    /// The store may be down.
    case broken

    var isTaken: Bool { if case .taken = self { true } else { false } }
  }

  /// - Throws: errors that may be temporary.
  private func answer(to request: S3Request) async throws(UploadError) -> Answer {
    switch try await outcome(of: request) {
    case .reply(let reply): return .taken(reply)
    case .failure(let failure):
      if failure.isDamaged { return .refusedAsOther }
      let error = error(failure, request)
      if error.isWorthARetry { throw error }
      return .refused
    }
  }
}

extension HTTPFields {
  /// The fields that begin an upload whose parts, and whose object, have a CRC-64/NVME (AWS, "Checking
  /// object integrity").
  static let sums: HTTPFields = [.checksumAlgorithm: "CRC64NVME", .checksumType: "FULL_OBJECT"]
}

/// The upload whose parts show what a store checks.
private struct CheckedUpload {
  let key: ObjectKey
  let id: String

  /// - Parameters:
  ///   - signed: the bytes whose SHA-256 is signed; nil for none.
  ///   - sum: the bytes whose CRC-64/NVME is sent.
  func part(_ number: Int, _ bytes: [UInt8], signed: [UInt8]?, sum: [UInt8]? = nil) -> S3Request {
    var request = S3Request(
      .put, key, query: [("partNumber", "\(number)"), ("uploadId", id)], task: "store a part of \(key)",
      permission: "s3:PutObject")
    request.body = .bytes(bytes)
    request.payload = signed.map { Hexadecimal.text(SHA256.hash(data: $0)) } ?? SignatureV4.unsignedPayload
    if let sum {
      var crc = CRC64()
      crc.update(data: sum)
      request.fields[.checksumCRC64] = Base64.text(crc.finalize())
    }
    request.keepsExtras = true
    return request
  }
}

extension S3Checks: CustomStringConvertible {
  /// How large objects are proved with these checks, for people.
  var description: String {
    let unsigned = unsigned ? "" : ", each signed with its SHA-256"
    if sums { return "the CRC-64/NVME of each part, which the store checks\(unsigned)" }
    if signatures { return "the signed SHA-256 of each part, which the store checks" }
    return "MD5: the store checks no part\(unsigned)"
  }
}

extension S3Uploader: ProofTelling {
  package func proof() async throws(UploadError) -> String {
    guard let key = ObjectKey(SystemRandomness().name(length: 22) + ".mp4") else { return "" }
    return "large objects are proved by \(try await client.checks(by: key, key.contentType))"
  }
}
