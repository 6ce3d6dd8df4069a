/// A picture that stands for a video.
public struct Poster: Hashable, Sendable {
  /// A baseline JPEG (4:2:0, JFIF) without metadata.
  public let jpeg: [UInt8]
  /// Pixels, as shown: upright and with square pixels.
  public let width: Int
  /// Pixels, as shown.
  public let height: Int
  /// A blur of it as 28 characters (<https://blurha.sh>): 4×3 components, 3×4 where it is higher than wide.
  public let blurHash: String
  /// Whether it is the file's cover, not a frame of its video.
  public let isCover: Bool
  /// Where in the video the frame is shown, in seconds from its beginning; nil for a cover, and where that is unknown.
  public let time: Double?

  /// The digits of ``blurHash``, which counts in base 83.
  package static let blurHashDigits = Array(
    "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz#$%*+,-.:;=?@[]^_{|}~".utf8)

  /// - Parameters: as the properties.
  public init(jpeg: [UInt8], width: Int, height: Int, blurHash: String, isCover: Bool, time: Double?) {
    self.jpeg = jpeg
    self.width = width
    self.height = height
    self.blurHash = blurHash
    self.isCover = isCover
    self.time = time
  }
}

/// What kind of poster is wanted.
public struct PosterOptions: Hashable, Sendable {
  /// How long the longer side may be, unless something else is asked for.
  public static let defaultSize = 512
  /// What may be asked for.
  public static let sizes = 16...4096

  /// The most pixels on the longer side. The poster is never larger than the video is shown.
  public var size: Int
  /// Whether a cover, where there is one, is taken instead of a frame of the video.
  public var prefersCover: Bool

  /// - Parameters:
  ///   - size: clamped to ``sizes``.
  ///   - prefersCover: as the property.
  public init(size: Int = defaultSize, prefersCover: Bool = false) {
    self.size = min(max(size, Self.sizes.lowerBound), Self.sizes.upperBound)
    self.prefersCover = prefersCover
  }
}

/// Makes posters.
///
/// Its calls block, for as long as a file's deadline: they are for threads that may.
public protocol PosterMaker: Sendable {
  /// The poster of `file`: the first picture near a tenth of the video that is not black, blank or blurred, else the
  /// best of those that were looked at.
  ///
  /// The file is read by position through its descriptor; its name is not looked at.
  /// - Parameters:
  ///   - container: what ``MediaProber/firstLook(at:)`` has told of the file: its first bytes are not looked at again.
  ///   - cancellation: ends the reading and every wait.
  /// - Throws: ``PosterError``; `cancelled` when `cancellation` is set.
  func poster(
    of file: SourceFile, sniffed container: MediaContainer?, options: PosterOptions,
    cancellation: CancellationFlag
  ) throws(PosterError) -> Poster
}

/// Why there is no poster of a file. One file's end, except for the codes that ``Code/isInstallation`` names.
public struct PosterError: ReelError, Hashable, Sendable, Codable {
  /// For programs. What is said of a file that can't be read at all has the names of ``ProbeError/Code``.
  public enum Code: String, Codable, Sendable, CaseIterable {
    /// There is nothing to show: no video, no sample of it, or no cover where only that was asked for.
    case noPicture
    /// There is a video, and none of its pictures can be decoded: it is damaged, encrypted, or in a codec that Reel
    /// decodes none of.
    case undecodable
    /// As of a file that can't be read.
    case notMedia, playlist, unsupported, truncated, indexMissing, corrupt, empty, lfsPointer, externalMedia
    /// As of a file that can't be read.
    case sourceChanged, unreadable
    /// As of a file that can't be read.
    case timeout, memoryLimit, crashed, sandboxViolation, implausible
    /// As of a file that can't be read; no other file will fare better.
    case workerMissing, workerBroken, isolationUnavailable
    /// As of a file that can't be read; it says nothing of the file.
    case tooManyOpenFiles, noReader, readLimit
    /// The run was cancelled.
    case cancelled

    /// Whether no other file will fare better: the run ends.
    public var isInstallation: Bool { ProbeError.Code(rawValue: rawValue)?.isInstallation ?? false }
  }
  private enum CodingKeys: String, CodingKey {
    case code
    case text = "message"
  }

  /// What it is, for programs.
  public let code: Code
  /// What went wrong and what to do, without the file's name; one sentence for people.
  public let text: ErrorMessage
  /// ``text``, with settings in backquotes.
  public var message: String { text.description }

  /// An error. `message` follows the file's name when it is shown: "clip.mp4: it has no video".
  public init(_ code: Code, _ message: ErrorMessage) {
    self.code = code
    text = message
  }

  /// An error with a message that is text and names no setting.
  @_disfavoredOverload
  public init(_ code: Code, _ message: String) {
    self.init(code, ErrorMessage(message))
  }

  /// The same as it is said of a file that can't be read.
  public init(_ error: ProbeError) {
    self.init(Code(rawValue: error.code.rawValue) ?? .unreadable, error.text)
  }
}
