import ReelFaultCampaign
import ReelHTTPFakes

/// Methods whose replies have a body; those to HEAD do not.
private let withWords: Set = ["GET", "PUT", "POST"]

extension FaultKind {
  /// The faults that only an S3 store can produce.
  static let s3: [FaultKind] = [
    FaultKind("InternalError", .answer(.s3(500, "InternalError"))),
    FaultKind("SlowDown", .answer(.s3(503, "SlowDown", [("retry-after", "1")]))),
    FaultKind("RequestTimeout", .answer(.s3(400, "RequestTimeout")), on: withWords),
    FaultKind("IncompleteBody", .answer(.s3(400, "IncompleteBody")), on: withWords),
    FaultKind("BadDigest", .answer(.s3(400, "BadDigest")), on: withWords),
    FaultKind("ConditionalRequestConflict", .answer(.s3(409, "ConditionalRequestConflict"))),
    FaultKind("PreconditionFailed", .answer(.s3(412, "PreconditionFailed")), passes: false),
    FaultKind("AccessDenied", .answer(.s3(403, "AccessDenied")), passes: false),
    FaultKind("NoSuchBucket", .answer(.s3(404, "NoSuchBucket")), passes: false),
    FaultKind("NoSuchKey", .answer(.s3(404, "NoSuchKey")), passes: false),
    FaultKind("NoSuchUpload", .answer(.s3(404, "NoSuchUpload")), passes: false),
    FaultKind("InvalidPart", .answer(.s3(400, "InvalidPart")), passes: false),
    FaultKind(
      "RequestTimeTooSkewed",
      .answer(.s3(403, "RequestTimeTooSkewed", [("date", "Sun, 06 Nov 1994 08:49:37 GMT")])), passes: false),
    FaultKind("ExpiredToken", .answer(.s3(400, "ExpiredToken")), on: withWords),
    FaultKind("200 with InternalError", .answer(.s3(200, "InternalError")), on: withWords),
    FaultKind("200 with SlowDown, after it was done", .replace(.s3(200, "SlowDown")), on: withWords),
    FaultKind("InternalError after it was done", .replace(.s3(500, "InternalError"))),
    FaultKind(
      "a wrong ETag",
      .edit { if $0["etag"] != nil { $0["etag"] = "\"\(String(repeating: "0", count: 32))\"" } },
      passes: false),
    FaultKind("no ETag", .edit { $0["etag"] = nil }),
    FaultKind(
      "a wrong x-amz-checksum-sha256",
      .edit { $0["x-amz-checksum-sha256"] = "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=" }, passes: false),
    FaultKind(
      "a wrong checksum of the parts",
      .edit { $0.replaceText(after: "<ChecksumSHA256>", before: "</ChecksumSHA256>", with: "AAAA-2") },
      passes: false),
    FaultKind(
      "another upload's id",
      .edit { $0.tellAnotherUpload() }, passes: false),
  ]
}

extension WireReply {
  /// Makes the reply name another upload, if it is the reply to a new upload; a list stays as it is.
  fileprivate mutating func tellAnotherUpload() {
    guard String(decoding: body, as: UTF8.self).contains("InitiateMultipartUploadResult") else { return }
    replaceText(after: "<UploadId>", before: "</UploadId>", with: "another")
  }
}
