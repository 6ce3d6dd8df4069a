import FoundationEssentials

/// A file that is opened once and held open, whatever happens to its name meanwhile.
public struct SourceFile: Sendable {
  /// The path by which the user or the folder walk named it; for display, and never opened again.
  public let path: SourcePath
  /// The state of the file when it was opened.
  public let identity: FileIdentity
  /// The open file.
  public let handle: any SourceHandle

  /// Creates a file from an open handle. `identity` is that of `handle`, taken right after opening.
  public init(path: SourcePath, identity: FileIdentity, handle: any SourceHandle) {
    self.path = path
    self.identity = identity
    self.handle = handle
  }

  /// The size in bytes when the file was opened.
  public var size: Int64 { identity.size }
}

/// An open file that is read only by position, so that several readers can share it without a common file offset.
public protocol SourceHandle: Sendable {
  /// The descriptor, for code that passes it to the kernel or to another process; it stays open as long as this
  /// handle lives. Nil for a remote file, or one in memory.
  var descriptor: Int32? { get }

  /// Reads up to `buffer.count` bytes at `offset`. Returns 0 at the end. Blocks, so call it outside the cooperative
  /// thread pool.
  func read(into buffer: UnsafeMutableRawBufferPointer, at offset: Int64) throws(SourceError) -> Int

  /// The file's state now. Blocks.
  func currentIdentity() throws(SourceError) -> FileIdentity

  /// The number of bytes allocated on disk, which is less than the size if the file has holes; nil if unknown.
  /// Blocks.
  func storedBytes() -> Int64?
}

extension SourceHandle {
  /// Nil: the number is unknown.
  public func storedBytes() -> Int64? { nil }

  /// Reads the first `count` bytes, or all if there are fewer. Blocks.
  package func head(_ count: Int) throws(SourceError) -> [UInt8] {
    try [UInt8](unsafeUninitializedCapacity: count) { buffer, filled throws(SourceError) in
      while filled < buffer.count {
        let rest = UnsafeMutableRawBufferPointer(rebasing: UnsafeMutableRawBufferPointer(buffer)[filled...])
        let got = try read(into: rest, at: Int64(filled))
        if got == 0 { break }
        filled += got
      }
    }
  }
}

/// A path as the file system stores it: bytes, which need not be UTF-8.
///
/// In JSON it is two keys of the object that contains it: `path`, which is readable, and `pathBytes`, in base64,
/// which is present only if `path` does not represent the bytes exactly (see ``SourcePathCoding``).
public struct SourcePath: Hashable, Sendable {
  /// The bytes, without a terminating NUL.
  public let bytes: [UInt8]

  /// Creates a path from bytes, which are not checked (an embedded NUL causes an error when the path is opened).
  public init(bytes: some Sequence<UInt8>) {
    self.bytes = Array(bytes)
  }

  /// Creates a path from the UTF-8 bytes of a string.
  public init(_ string: String) {
    bytes = Array(string.utf8)
  }

  /// Whether the bytes are well-formed UTF-8, so that ``text`` is the path itself.
  public var isUTF8: Bool {
    String(validating: bytes, as: UTF8.self) != nil
  }

  /// The path as text: unchanged if it is UTF-8, otherwise with each invalid byte as `\xNN`. It may contain control
  /// characters; the code that displays it must sanitize them (`ReelTerminal`).
  public var text: String {
    String(validating: bytes, as: UTF8.self) ?? escapingInvalidBytes()
  }

  /// The bytes after the last slash.
  public var lastComponent: SourcePath {
    guard let slash = bytes.lastIndex(of: UInt8(ascii: "/")) else { return self }
    return SourcePath(bytes: bytes[(slash + 1)...])
  }

  /// The extension of the name in lower case, or nil if there is none (`.hidden` has none).
  public var claimedExtension: String? {
    let name = lastComponent.bytes
    guard let dot = name.lastIndex(of: UInt8(ascii: ".")), dot > 0, dot + 1 < name.count else { return nil }
    guard let claimed = String(validating: name[(dot + 1)...], as: UTF8.self) else { return nil }
    return claimed.lowercased()
  }

  /// Returns this path with `name` appended as a component.
  public func appending(_ name: some Sequence<UInt8>) -> SourcePath {
    var joined = bytes
    if let last = joined.last, last != UInt8(ascii: "/") { joined.append(UInt8(ascii: "/")) }
    joined.append(contentsOf: name)
    return SourcePath(bytes: joined)
  }

  private func escapingInvalidBytes() -> String {
    var text = ""
    var rest = bytes[...]
    while let first = rest.first {
      if let (character, length) = Self.leadingScalar(of: rest) {
        text.unicodeScalars.append(character)
        rest = rest.dropFirst(length)
      } else {
        text += #"\x"# + first.hex
        rest = rest.dropFirst()
      }
    }
    return text
  }

  /// The scalar at the beginning of `bytes`, and its length in bytes; nil if they do not begin with one.
  package static func leadingScalar(of bytes: ArraySlice<UInt8>) -> (Unicode.Scalar, Int)? {
    for length in 1...4 where length <= bytes.count {
      if let string = String(validating: bytes.prefix(length), as: UTF8.self),
        let scalar = string.unicodeScalars.first
      {
        return (scalar, length)
      }
    }
    return nil
  }
}

extension SourcePath: Comparable {
  /// Byte order: the same on every machine, in every locale.
  public static func < (left: SourcePath, right: SourcePath) -> Bool {
    left.bytes.lexicographicallyPrecedes(right.bytes)
  }
}

extension SourcePath: CustomStringConvertible {
  /// ``text``. It may contain control characters.
  public var description: String { text }
}

/// The two JSON keys of a path, for the `Codable` types that hold one.
public enum SourcePathCoding: String, CodingKey {
  /// ``SourcePath/text``.
  case path
  /// The bytes in base64; present only if the text does not represent them exactly.
  case pathBytes
}

extension SourcePath {
  /// Writes `path`, and `pathBytes` if the text does not represent the bytes exactly.
  public func encode(into container: inout KeyedEncodingContainer<SourcePathCoding>) throws {
    try container.encode(text, forKey: .path)
    if !isUTF8 {
      try container.encode(Data(bytes).base64EncodedString(), forKey: .pathBytes)
    }
  }

  /// Reads `pathBytes` if present, otherwise `path`.
  public init(from container: KeyedDecodingContainer<SourcePathCoding>) throws {
    guard let encoded = try container.decodeIfPresent(String.self, forKey: .pathBytes) else {
      self.init(try container.decode(String.self, forKey: .path))
      return
    }
    guard let data = Data(base64Encoded: encoded) else {
      throw DecodingError.dataCorruptedError(
        forKey: .pathBytes, in: container, debugDescription: "pathBytes is not base64")
    }
    self.init(bytes: data)
  }
}
