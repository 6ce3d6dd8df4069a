/// A source at an address: an object in a bucket, a file behind a URL, or, like a folder, everything below a
/// prefix.
///
/// Its calls block, for as long as the network takes, so call them only on threads that may block.
package protocol RemoteSource: Sendable {
  /// The address as it is shown to people, without its secrets.
  var path: SourcePath { get }

  /// Distinguishes this address from any other, even if they differ only in what ``path`` omits; reveals no secret.
  var identifier: [UInt8] { get }

  /// Whether the address stands for the files below it.
  var isFolder: Bool { get }

  /// The file called `name` beside the one that this address names, whether or not it exists; nil if there can be
  /// none.
  func sibling(_ name: [UInt8]) -> (any RemoteSource)?

  /// Describes the file that the address names in a state seen earlier. If the file is in any other state, opening
  /// it throws `sourceChanged`.
  func file(size: Int64, in state: RemoteState) -> RemoteFile

  /// Returns a page of the files below the address, in the byte order of their names.
  /// - Parameter token: The token from the previous page; nil for the first page.
  /// - Throws: `notFound`, `denied`, `unreadable`.
  func page(
    after token: String?, cancellation: CancellationFlag
  ) throws(SourceError) -> RemotePage

  /// Opens a file for reading by range. Its first bytes are fetched at once, which shows that it exists.
  ///
  /// - Parameters:
  ///   - file: A file from a page; nil for the one that the address names.
  ///   - use: The purpose of the reading.
  /// - Throws: `notFound`, `denied`, `unreadable`; `sourceChanged` if the file is no longer the one that was
  ///   listed.
  func open(
    _ file: RemoteFile?, for use: RemoteUse, cancellation: CancellationFlag
  ) throws(SourceError) -> SourceFile
}

/// The purpose for which a remote file is read.
package enum RemoteUse: Sendable {
  /// To read parts of it, within a budget of bytes and time.
  case probing
  /// To read all of it, in order.
  case copying
  /// To find out whether it exists, and, from its first bytes, whether it may be a video.
  case finding
}

/// How a store or server distinguishes one state of a file from another.
package struct RemoteState: Hashable, Sendable {
  /// The ETag as received, with its quotes; nil if there is none.
  package var tag: String?
  /// `Last-Modified` as received; nil if there is none.
  package var modified: String?

  /// - Parameters: See the properties.
  package init(tag: String? = nil, modified: String? = nil) {
    self.tag = tag
    self.modified = modified
  }

  /// The ETag, otherwise the time, as a text that ``init(text:)`` reads; empty if neither is known.
  package var text: String { tag.map { "tag \($0)" } ?? modified.map { "time \($0)" } ?? "" }

  /// Reads what ``text`` wrote; any other text gives a state in which nothing is known.
  package init(text: String) {
    if text.hasPrefix("tag ") {
      self.init(tag: String(text.dropFirst(4)))
    } else {
      self.init(modified: text.hasPrefix("time ") ? String(text.dropFirst(5)) : nil)
    }
  }
}

/// A page of the files below an address.
package struct RemotePage: Sendable {
  /// The files, in the byte order of their names.
  package var files: [RemoteFile]
  /// The token of the next page; nil at the end.
  package var next: String?
  /// The last name on the page, even if it is not a file's; nil if the page is empty.
  package var lastName: String?

  /// - Parameters: See the properties.
  package init(files: [RemoteFile], next: String?, lastName: String? = nil) {
    (self.files, self.next, self.lastName) = (files, next, lastName)
  }
}

/// A file as a store's listing describes it.
package struct RemoteFile: Hashable, Sendable {
  /// Its address.
  package let path: SourcePath
  /// Its name in the store.
  package let name: String
  /// Distinguishes this state of the file from any other.
  package let identity: FileIdentity
  /// The state as the store describes it.
  package let state: RemoteState

  /// - Parameters: See the properties.
  package init(path: SourcePath, name: String, identity: FileIdentity, state: RemoteState) {
    self.path = path
    self.name = name
    self.identity = identity
    self.state = state
  }
}

/// A remote file, open for reading by range.
package protocol RemoteHandle: SourceHandle {
  /// Reads as ``SourceHandle/read(into:at:)`` does.
  /// - Parameter expected: How many bytes will be read from `offset` on, as far as is known.
  func read(
    into buffer: UnsafeMutableRawBufferPointer, at offset: Int64, expecting expected: Int
  ) throws(SourceError) -> Int

  /// What has been read of the file so far.
  var transfer: SourceTransfer { get }

  /// The state to which all bytes read belong.
  var state: RemoteState { get }

  /// The object behind the file, from which a store may copy it; nil if there is none, or its state cannot be
  /// identified.
  var origin: ObjectOrigin? { get }
}

/// An object in an S3 store, in one state.
package struct ObjectOrigin: Hashable, Sendable {
  /// Identifies a group of stores that can access one another's buckets.
  package let service: String
  /// The bucket's name.
  package let bucket: String
  /// The object's name in the bucket.
  package let name: String
  /// The strong ETag of the state, with its quotes.
  package let tag: String

  /// - Parameters: See the properties.
  package init(service: String, bucket: String, name: String, tag: String) {
    self.service = service
    self.bucket = bucket
    self.name = name
    self.tag = tag
  }
}

/// What was transferred of a remote file.
public struct SourceTransfer: Hashable, Sendable, Codable {
  /// The number of bytes received for it, counting repeats.
  public var bytes: Int64
  /// The number of requests sent for it.
  public var requests: Int

  /// Creates a transfer from its numbers of bytes and requests.
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
  /// The schemes of addresses that may name a source.
  private static let schemes = ["s3", "s3+https", "s3+http", "https", "http"]

  /// The scheme of an address (`s3://…`, `https://…`), in lower case; nil for a local path. A `./` before a name
  /// that looks like an address makes it a path.
  package var scheme: String? {
    guard let colon = bytes.prefix(9).firstIndex(of: UInt8(ascii: ":")),
      bytes[colon...].starts(with: "://".utf8)
    else { return nil }
    let scheme = String(decoding: bytes[..<colon], as: UTF8.self).lowercased()
    return Self.schemes.contains(scheme) ? scheme : nil
  }

  /// Whether it is an address rather than a local path.
  package var isAddress: Bool { scheme != nil }

  /// The file's name for people: the last component. For a web address, which is percent-encoded, it is decoded
  /// once, provided that gives a name (UTF-8 without a slash or control character, and not `.` or `..`). Nil if
  /// there is none, as after a slash behind the host.
  package var fileName: String? {
    guard let scheme, ["https", "http"].contains(scheme) else {
      let name = lastComponent.text
      return name.isEmpty ? nil : name
    }
    // Without the scheme, the two slashes and the host.
    let path = bytes.drop { $0 != UInt8(ascii: ":") }.dropFirst(3).drop { $0 != UInt8(ascii: "/") }
    guard let last = path.split(separator: UInt8(ascii: "/")).last else { return nil }
    let written = SourcePath(bytes: Array(last)).text
    guard let decoded = PercentEncoding.decode(Substring(written)), decoded != ".", decoded != "..",
      !decoded.unicodeScalars.contains(where: { $0 == "/" || $0.properties.generalCategory == .control })
    else { return written }
    return decoded
  }
}
