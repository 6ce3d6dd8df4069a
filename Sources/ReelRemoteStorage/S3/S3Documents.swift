/// A part as the store tells it.
struct StoredPart: Sendable, Hashable {
  let number: Int
  let etag: String
  let size: Int64
  /// Base64 of the SHA-256; nil where the store keeps none.
  let checksum: String?
}

/// A part that is in the store, as CompleteMultipartUpload names it.
struct SentPart: Sendable, Hashable {
  let number: Int
  let etag: String
  let sha256: [UInt8]
}

/// The XML of the multipart operations (AWS, "Amazon S3 API Reference"). Where Amazon's lists end in `Result` some stores
/// say `Response`.
enum S3Documents {
  /// The id in an answer to CreateMultipartUpload.
  static func uploadID(_ body: [UInt8]) -> String? { XMLNode(parsing: body)?["UploadId"] }

  /// The uploads of exactly `name` in an answer to ListMultipartUploads, the newest first.
  static func uploads(of name: String, in body: [UInt8]) -> [String]? {
    guard let list = XMLNode(parsing: body), list.name.hasPrefix("ListMultipartUploads") else { return nil }
    return list.all("Upload").filter { $0["Key"] == name }
      .sorted { ($0["Initiated"] ?? "") > ($1["Initiated"] ?? "") }.compactMap { $0["UploadId"] }
  }

  /// The parts in an answer to ListParts, and where the next page begins.
  static func parts(_ body: [UInt8]) -> (parts: [StoredPart], next: String?)? {
    guard let list = XMLNode(parsing: body), list.name.hasPrefix("ListParts") else { return nil }
    let parts = list.all("Part").compactMap { part -> StoredPart? in
      guard let number = part["PartNumber"].flatMap({ Int($0) }),
        let size = part["Size"].flatMap({ Int64($0) }),
        let etag = part["ETag"]
      else { return nil }
      return StoredPart(number: number, etag: etag, size: size, checksum: part["ChecksumSHA256"])
    }
    return (parts, list["IsTruncated"] == "true" ? list["NextPartNumberMarker"] : nil)
  }

  /// What CompleteMultipartUpload sends.
  static func completion(_ parts: [SentPart]) -> [UInt8] {
    let listed = parts.map { part in
      "<Part><PartNumber>\(part.number)</PartNumber><ETag>\(xmlEscaped(part.etag))</ETag>"
        + "<ChecksumSHA256>\(Base64.text(part.sha256))</ChecksumSHA256></Part>"
    }
    return Array(
      ("<?xml version=\"1.0\" encoding=\"UTF-8\"?><CompleteMultipartUpload "
        + "xmlns=\"http://s3.amazonaws.com/doc/2006-03-01/\">\(listed.joined())</CompleteMultipartUpload>")
        .utf8)
  }
}
