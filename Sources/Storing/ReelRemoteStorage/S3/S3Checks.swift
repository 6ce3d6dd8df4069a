import HTTPTypes
import ReelCore
import ReelCrypto
import ReelStorage

/// What a store holds against the bytes of a part as they arrive. Not what it answers to being told: some keep whatever
/// they are told, and tell it again (`rclone serve s3` does).
struct S3Checks: Hashable, Sendable {
  /// It refuses a part that has another CRC-64/NVME than `x-amz-checksum-crc64nvme` says.
  var sums = false
  /// It tells that sum in its reply to the part; a reply without it is then of a server that did not look.
  var repliesWithSums = false
  /// It refuses a part that has another SHA-256 than was signed.
  var signatures = false
  /// It takes a part of which no SHA-256 was signed; only where nobody on the way can change the bytes.
  var unsigned = false
}

extension S3Client {
  /// What the store holds against what it gets: asked once, by parts some of which it has to refuse, of an upload that is
  /// given up again. That one has the name of an object that is about to be sent: what is left of it is found and removed
  /// like any other upload of that name that broke.
  /// - Throws: what may pass, and `cancelled`.
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
    // Whatever the reason, the upload that comes next is told it.
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

  /// - Returns: nil where the store refuses it.
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
    // Some take no part without the sum that the upload was begun with (MinIO).
    let sum = hasSums ? bytes : nil
    var checks = S3Checks()
    let isSafe = addressing.origin.isSecure || addressing.origin.isLoopback
    if isSafe {
      checks.unsigned = try await answer(toTrial: upload.part(1, bytes, signed: nil, sum: sum)).isTaken
    }
    if hasSums {
      // Signed where it has to be: then that is not what it is refused for.
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

  /// What the store says to `right`; nil unless it takes that, and refuses `wrong` because its bytes are not what was said.
  private func taken(_ right: S3Request, butNot wrong: S3Request) async throws(UploadError) -> HTTPReply? {
    let refusal = try await answer(toTrial: wrong)
    // Asked for always after what may have failed for the moment: of a store that is down nothing is learned.
    if case .broken = refusal { _ = try await answer(to: right) }
    guard case .refusedAsOther = refusal, case .taken(let reply) = try await answer(to: right) else {
      return nil
    }
    return reply
  }

  /// The same of what the store need not take. Some have no better word for other bytes, or for bytes of which none was
  /// signed, than that they are broken, or cut the line; those that are broken do not take what comes next, either.
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
    /// It may be down.
    case broken

    var isTaken: Bool { if case .taken = self { true } else { false } }
  }

  /// - Throws: what may pass.
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
  /// What an upload begins with whose parts, and whose object, have a CRC-64/NVME (AWS, "Checking object integrity").
  static let sums: HTTPFields = [.checksumAlgorithm: "CRC64NVME", .checksumType: "FULL_OBJECT"]
}

/// The upload whose parts tell what a store checks.
private struct CheckedUpload {
  let key: ObjectKey
  let id: String

  /// - Parameters:
  ///   - signed: the bytes whose SHA-256 is signed; nil for none.
  ///   - sum: the bytes whose CRC-64/NVME is told.
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
  /// How large objects are proved by it, for people.
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
