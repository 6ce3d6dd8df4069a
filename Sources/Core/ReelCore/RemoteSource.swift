/// What lies at an address: an object in a bucket, a file behind a URL, or, like a folder, everything below a prefix.
///
/// Its calls block, for as long as the network takes: they are for threads that may.
package protocol RemoteSource: Sendable {
  /// The address as people are told it: without what is secret in it.
  var path: SourcePath { get }

  /// Tells this address from any other, also by what ``path`` leaves out; nothing secret can be read from it.
  var identifier: [UInt8] { get }

  /// Whether it stands for the files below it.
  var isFolder: Bool { get }

  /// The file of that name beside the one that this names, whether or not it is there; nil where none can be.
  func sibling(_ name: [UInt8]) -> (any RemoteSource)?

  /// The file that the address names, in a state that was seen earlier: opened as such, it is `sourceChanged` in any other.
  func file(size: Int64, in state: RemoteState) -> RemoteFile

  /// A page of the files below it, in the byte order of their names.
  /// - Parameter token: where the page before said that this one begins; nil for the first.
  /// - Throws: `notFound`, `denied`, `unreadable`.
  func page(
    after token: String?, cancellation: CancellationFlag
  ) throws(SourceError) -> RemotePage

  /// Opens a file for reading by range; with its first bytes, so that there is one.
  ///
  /// - Parameters:
  ///   - file: of a page; nil for the one that the address names.
  ///   - use: what the file is read for.
  /// - Throws: `notFound`, `denied`, `unreadable`; `sourceChanged` when it is not the listed one any more.
  func open(
    _ file: RemoteFile?, for use: RemoteUse, cancellation: CancellationFlag
  ) throws(SourceError) -> SourceFile
}

/// What a file from elsewhere is read for.
package enum RemoteUse: Sendable {
  /// Some places of it: within a budget of bytes and of time.
  case probing
  /// All of it, in order.
  case copying
  /// That it is there, and, by its first bytes, whether it may be a video.
  case finding
}

/// By what a store or a server tells one state of a file from another.
package struct RemoteState: Hashable, Sendable {
  /// The ETag as it came, with its quotes; nil where there is none.
  package var tag: String?
  /// `Last-Modified` as it came; nil where there is none.
  package var modified: String?

  /// - Parameters: as the properties.
  package init(tag: String? = nil, modified: String? = nil) {
    self.tag = tag
    self.modified = modified
  }

  /// The ETag, else the time, as one text that ``init(text:)`` reads; empty where neither is known.
  package var text: String { tag.map { "tag \($0)" } ?? modified.map { "time \($0)" } ?? "" }

  /// What ``text`` wrote; a state of which nothing is known for any other text.
  package init(text: String) {
    if text.hasPrefix("tag ") {
      self.init(tag: String(text.dropFirst(4)))
    } else {
      self.init(modified: text.hasPrefix("time ") ? String(text.dropFirst(5)) : nil)
    }
  }
}

/// Some of the files below an address.
package struct RemotePage: Sendable {
  /// In the byte order of their names.
  package var files: [RemoteFile]
  /// Where the next page begins; nil at the end.
  package var next: String?
  /// The last name on it, also of what is no file; nil where it has none.
  package var lastName: String?

  /// - Parameters: as the properties.
  package init(files: [RemoteFile], next: String?, lastName: String? = nil) {
    (self.files, self.next, self.lastName) = (files, next, lastName)
  }
}

/// A file as a list of a store tells it.
package struct RemoteFile: Hashable, Sendable {
  /// Its address.
  package let path: SourcePath
  /// Its name in the store.
  package let name: String
  /// Tells this state of it from any other.
  package let identity: FileIdentity
  /// What the store says of this state.
  package let state: RemoteState

  /// - Parameters: as the properties.
  package init(path: SourcePath, name: String, identity: FileIdentity, state: RemoteState) {
    self.path = path
    self.name = name
    self.identity = identity
    self.state = state
  }
}

/// A file that lies elsewhere, open for reading by range.
package protocol RemoteHandle: SourceHandle {
  /// As ``SourceHandle/read(into:at:)``.
  /// - Parameter expected: how many bytes will be read from `offset` on, as far as that can be told.
  func read(
    into buffer: UnsafeMutableRawBufferPointer, at offset: Int64, expecting expected: Int
  ) throws(SourceError) -> Int

  /// What was read of it so far.
  var transfer: SourceTransfer { get }

  /// The state that all bytes are of.
  var state: RemoteState { get }

  /// The object that it is, where a store may take it from; nil where there is none, or nothing tells its state.
  var origin: ObjectOrigin? { get }
}

/// An object of a store of S3, in one state.
package struct ObjectOrigin: Hashable, Sendable {
  /// Tells the stores apart that know each other's buckets.
  package let service: String
  /// The bucket's name.
  package let bucket: String
  /// The object's name in the bucket.
  package let name: String
  /// The state's strong ETag, with its quotes.
  package let tag: String

  /// - Parameters: as the properties.
  package init(service: String, bucket: String, name: String, tag: String) {
    self.service = service
    self.bucket = bucket
    self.name = name
    self.tag = tag
  }
}

/// What was read of a file that lies elsewhere.
public struct SourceTransfer: Hashable, Sendable, Codable {
  /// Bytes of it that were received, each time that one came.
  public var bytes: Int64
  /// Requests that were sent for it.
  public var requests: Int

  /// So many bytes, by so many requests.
  public init(bytes: Int64 = 0, requests: Int = 0) {
    self.bytes = bytes
    self.requests = requests
  }
}

extension RemoteHandle {
  package var origin: ObjectOrigin? { nil }
}

extension RemoteSource {
  package var identifier: [UInt8] { path.bytes }
}

extension SourcePath {
  /// The schemes of addresses that a source is named by.
  private static let schemes = ["s3", "s3+https", "s3+http", "https", "http"]

  /// The scheme of an address (`s3://…`, `https://…`), in lower case; nil for a path of this machine. `./` before a name
  /// that looks like an address makes a path of it.
  package var scheme: String? {
    guard let colon = bytes.prefix(9).firstIndex(of: UInt8(ascii: ":")),
      bytes[colon...].starts(with: "://".utf8)
    else { return nil }
    let scheme = String(decoding: bytes[..<colon], as: UTF8.self).lowercased()
    return Self.schemes.contains(scheme) ? scheme : nil
  }

  /// Whether it is one.
  package var isAddress: Bool { scheme != nil }

  /// The name of the file for people: the last component; of an address on the web, which is percent-encoded, decoded
  /// once, as long as that gives a name (UTF-8 without a slash or a control character, and no dots alone). Nil where there is none, as
  /// behind a slash after the host.
  package var fileName: String? {
    guard let scheme, ["https", "http"].contains(scheme) else {
      let name = lastComponent.text
      return name.isEmpty ? nil : name
    }
    // Without the scheme, its two slashes, and the host.
    let path = bytes.drop { $0 != UInt8(ascii: ":") }.dropFirst(3).drop { $0 != UInt8(ascii: "/") }
    guard let last = path.split(separator: UInt8(ascii: "/")).last else { return nil }
    let written = SourcePath(bytes: Array(last)).text
    guard let decoded = PercentEncoding.decode(Substring(written)), decoded != ".", decoded != "..",
      !decoded.unicodeScalars.contains(where: { $0 == "/" || $0.properties.generalCategory == .control })
    else { return written }
    return decoded
  }
}
