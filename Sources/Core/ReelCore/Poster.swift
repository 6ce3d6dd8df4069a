/// A picture that represents a video.
public struct Poster: Hashable, Sendable {
  /// A baseline JPEG (4:2:0, JFIF) without metadata.
  public let jpeg: [UInt8]
  /// The width as displayed, in pixels: upright and with square pixels.
  public let width: Int
  /// The height as displayed, in pixels.
  public let height: Int
  /// A blurred placeholder in 28 characters (<https://blurha.sh>): 4×3 components, or 3×4 if it is taller than
  /// wide.
  public let blurHash: String
  /// Whether it is the file's cover rather than a frame of its video.
  public let isCover: Bool
  /// The time of the frame in seconds from the beginning of the video; nil for a cover, and if unknown.
  public let time: Double?

  /// The base-83 digits of ``blurHash``.
  package static let blurHashDigits = Array(
    "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz#$%*+,-.:;=?@[]^_{|}~".utf8)

  /// - Parameters: See the properties.
  public init(jpeg: [UInt8], width: Int, height: Int, blurHash: String, isCover: Bool, time: Double?) {
    self.jpeg = jpeg
    self.width = width
    self.height = height
    self.blurHash = blurHash
    self.isCover = isCover
    self.time = time
  }
}

/// Which kind of poster to make.
public struct PosterOptions: Hashable, Sendable {
  /// The default limit for the longer side, in pixels.
  public static let defaultSize = 512
  /// The sizes that may be requested, in pixels.
  public static let sizes = 16...4096

  /// The maximum length of the longer side in pixels. The poster is never larger than the video's display size.
  public var size: Int
  /// Whether a cover, if the file has one, is used instead of a frame of the video.
  public var prefersCover: Bool

  /// - Parameters:
  ///   - size: Clamped to ``sizes``.
  ///   - prefersCover: See the property.
  public init(size: Int = defaultSize, prefersCover: Bool = false) {
    self.size = min(max(size, Self.sizes.lowerBound), Self.sizes.upperBound)
    self.prefersCover = prefersCover
  }
}

/// Makes posters.
///
/// Its calls block, for up to a file's deadline, so call them only on threads that may block.
public protocol PosterMaker: Sendable {
  /// Makes the poster of `file`: the first picture near a tenth of the video that is not black, blank or blurred,
  /// otherwise the best of those examined.
  ///
  /// The file is read by position through its descriptor; its name is ignored.
  /// - Parameters:
  ///   - container: The result of ``MediaProber/firstLook(at:)``; the first bytes are not examined again.
  ///   - cancellation: Ends the reading and every wait.
  /// - Throws: ``PosterError``; `cancelled` if `cancellation` is set.
  func poster(
    of file: SourceFile, sniffed container: MediaContainer?, options: PosterOptions,
    cancellation: CancellationFlag
  ) throws(PosterError) -> Poster
}

/// Why a file has no poster. The error concerns only this file, except for the codes that ``Code/isInstallation``
/// covers.
public struct PosterError: ReelError, Hashable, Sendable, Codable {
  /// Codes for programs. Those for a file that cannot be read at all have the names of ``ProbeError/Code``.
  public enum Code: String, Codable, Sendable, CaseIterable {
    /// There is nothing to show: no video, no sample of it, or no cover although only a cover was wanted.
    case noPicture
    /// There is a video, but none of its pictures can be decoded: it is damaged or encrypted, or Reel decodes no
    /// video in its codec.
    case undecodable
    /// The file cannot be read; see ``ProbeError/Code``.
    case notMedia, playlist, unsupported, truncated, indexMissing, corrupt, empty, lfsPointer, externalMedia
    /// The file cannot be read; see ``ProbeError/Code``.
    case sourceChanged, unreadable
    /// The file cannot be read; see ``ProbeError/Code``.
    case timeout, memoryLimit, crashed, sandboxViolation, implausible
    /// The file cannot be read, and neither can any other.
    case workerMissing, workerBroken, isolationUnavailable
    /// The file cannot be read, for a reason that says nothing about the file.
    case tooManyOpenFiles, noReader, readLimit
    /// The run was cancelled.
    case cancelled

    /// Whether every other file would fail in the same way, so that the run ends.
    public var isInstallation: Bool { ProbeError.Code(rawValue: rawValue)?.isInstallation ?? false }
  }
  private enum CodingKeys: String, CodingKey {
    case code
    case text = "message"
  }

  /// The code, for programs.
  public let code: Code
  /// What went wrong and what to do, without the file's name; one sentence for people.
  public let text: ErrorMessage
  /// ``text``, with settings in backquotes.
  public var message: String { text.description }

  /// Creates an error. `message` follows the file's name when it is shown: "clip.mp4: it has no video".
  public init(_ code: Code, _ message: ErrorMessage) {
    self.code = code
    text = message
  }

  /// Creates an error whose message is plain text and names no setting.
  @_disfavoredOverload
  public init(_ code: Code, _ message: String) {
    self.init(code, ErrorMessage(message))
  }

  /// Creates an error with the code and text of the probe error for a file that cannot be read.
  public init(_ error: ProbeError) {
    self.init(Code(rawValue: error.code.rawValue) ?? .unreadable, error.text)
  }
}
