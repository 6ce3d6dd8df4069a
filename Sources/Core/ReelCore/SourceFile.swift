import FoundationEssentials

/// A file that was opened once and is held open, whatever happens to its name meanwhile.
public struct SourceFile: Sendable {
  /// The path as the user or the walk named it; for people, never opened again.
  public let path: SourcePath
  /// The state of the file when it was opened.
  public let identity: FileIdentity
  /// The open file.
  public let handle: any SourceHandle

  /// A file that was opened. `identity` is that of `handle`, taken right after opening.
  public init(path: SourcePath, identity: FileIdentity, handle: any SourceHandle) {
    self.path = path
    self.identity = identity
    self.handle = handle
  }

  /// Size in bytes when it was opened.
  public var size: Int64 { identity.size }
}

/// An open file, read by position only, so that several readers share it without a cursor between them.
public protocol SourceHandle: Sendable {
  /// The descriptor, for code that passes it to the kernel or to another process; it stays open as long as
  /// this handle lives. Nil for what lies elsewhere, or in memory.
  var descriptor: Int32? { get }

  /// Reads up to `buffer.count` bytes at `offset`. Returns 0 at the end. Blocks: call it off the
  /// cooperative pool.
  func read(into buffer: UnsafeMutableRawBufferPointer, at offset: Int64) throws(SourceError) -> Int

  /// The file's state now. Blocks.
  func currentIdentity() throws(SourceError) -> FileIdentity

  /// Bytes that it takes up on its disk: fewer than its size where it has holes. Nil where that can't be told. Blocks.
  func storedBytes() -> Int64?
}

extension SourceHandle {
  /// It can't be told.
  public func storedBytes() -> Int64? { nil }

  /// The first `count` bytes, or all when there are fewer. Blocks.
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

/// A path as the file system has it: bytes, which need not be UTF-8.
///
/// In JSON it is two keys of the object that holds it: `path`, readable, and `pathBytes`, base64, only when
/// `path` does not carry the bytes exactly (see ``SourcePathCoding``).
public struct SourcePath: Hashable, Sendable {
  /// The bytes, without a terminating NUL.
  public let bytes: [UInt8]

  /// A path of these bytes; they are not checked (an embedded NUL fails when the path is opened).
  public init(bytes: some Sequence<UInt8>) {
    self.bytes = Array(bytes)
  }

  /// The path that is this text in UTF-8.
  public init(_ string: String) {
    bytes = Array(string.utf8)
  }

  /// Whether the bytes are well-formed UTF-8, so that ``text`` is the path itself.
  public var isUTF8: Bool {
    String(validating: bytes, as: UTF8.self) != nil
  }

  /// The path as text: itself when it is UTF-8, else with each offending byte as `\xNN`.
  /// Control characters are still in it: what draws it makes it harmless (`ReelTerminal`).
  public var text: String {
    String(validating: bytes, as: UTF8.self) ?? escapingInvalidBytes()
  }

  /// The bytes after the last slash.
  public var lastComponent: SourcePath {
    guard let slash = bytes.lastIndex(of: UInt8(ascii: "/")) else { return self }
    return SourcePath(bytes: bytes[(slash + 1)...])
  }

  /// The name's extension in lower-case ASCII, or nil when there is none (`.hidden` has none).
  public var claimedExtension: String? {
    let name = lastComponent.bytes
    guard let dot = name.lastIndex(of: UInt8(ascii: ".")), dot > 0, dot + 1 < name.count else { return nil }
    guard let claimed = String(validating: name[(dot + 1)...], as: UTF8.self) else { return nil }
    return claimed.lowercased()
  }

  /// This path with `name` below it.
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

  /// The scalar that `bytes` begin with, and how many of them it takes; nil when they begin with none.
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
  /// ``text``. It may hold control characters.
  public var description: String { text }
}

/// The two JSON keys of a path, for the `Codable` types that hold one.
public enum SourcePathCoding: String, CodingKey {
  /// ``SourcePath/text``.
  case path
  /// The bytes, base64; only where the text does not carry them.
  case pathBytes
}

extension SourcePath {
  /// Writes `path`, and `pathBytes` when the text is not exactly the bytes.
  public func encode(into container: inout KeyedEncodingContainer<SourcePathCoding>) throws {
    try container.encode(text, forKey: .path)
    if !isUTF8 {
      try container.encode(Data(bytes).base64EncodedString(), forKey: .pathBytes)
    }
  }

  /// Reads `pathBytes` where there is one, else `path`.
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
