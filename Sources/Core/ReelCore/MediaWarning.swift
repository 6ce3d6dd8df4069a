/// A contradiction within a file, or something that the file itself lacks. The facts beside it state what is
/// believed.
public struct MediaWarning: Hashable, Sendable, Codable {
  /// The maximum number of warnings in a reading.
  package static let most = 48

  /// Warning codes for programs.
  public enum Code: String, Codable, Sendable, CaseIterable {
    /// The header states a different size for the pictures.
    case sizeMismatch
    /// Cropping the pictures as the header states would leave nothing of them; they are taken whole.
    case croppingMismatch
    /// The display matrix describes no rotation.
    case rotationUnknown
    /// The header states a different duration from that of the content, or an impossible one.
    case durationMismatch
    /// The header states a different frame rate from that of the pictures, or an impossible one.
    case frameRateMismatch
    /// The header states different channels, a different sampling rate or a different codec for the sound.
    case soundMismatch
    /// The header states a different pixel aspect ratio for the pictures.
    case pixelShapeMismatch
    /// The header states a different transfer function from that of the pictures.
    case transferMismatch
    /// Parts of the header state different dates.
    case dateMismatch
    /// The tables of the index disagree about the number of samples, their positions or their times.
    case indexMismatch
    /// The clock restarts or jumps within the file; the durations of the sections are added up.
    case clockJumps
    /// The size, shape or dynamic range of the pictures, or the channels or rate of the sound, change within the
    /// file; the facts describe its beginning. Mostly found by reading every packet.
    case contentChanges
    /// The header makes a claim that this reading did not check against the content.
    case claimUnchecked
    /// The codec of the video is unknown to this FFmpeg.
    case codecUnknown
    /// The edit list hides every sample of the video.
    case samplesHidden
    /// The file ends before its header says it should.
    case truncated
    /// A part of the content consists of zeros only: it was never written.
    case contentMissing
    /// The file is part of a chain of Matroska files, or its chapters play parts of other files.
    case linkedSegments
  }

  /// A value that was stated or measured for a fact: a number, or a text in the fact's own notation (`1920x1080`,
  /// `30000/1001`, `PQ`).
  public enum Value: Hashable, Sendable, Codable {
    /// A number in the unit of the fact.
    case number(Double)
    /// A text, for a fact that is not a number.
    case text(String)

    /// Reads a JSON number or string.
    /// - Throws: `DecodingError` for anything else.
    public init(from decoder: any Decoder) throws {
      let container = try decoder.singleValueContainer()
      do {
        self = .number(try container.decode(Double.self))
      } catch DecodingError.typeMismatch {
        self = .text(try container.decode(String.self))
      }
    }

    /// Writes a JSON number or string.
    /// - Throws: Whatever the encoder throws.
    public func encode(to encoder: any Encoder) throws {
      var container = encoder.singleValueContainer()
      switch self {
      case .number(let number): try container.encode(number)
      case .text(let text): try container.encode(text)
      }
    }
  }

  /// The code, for programs.
  public let code: Code
  /// What is wrong, referring to the file as "it"; one sentence for people.
  public let message: String
  /// The fact concerned, as its path in the document: `duration`, `video.frameRate`, `audio.0.channels`; nil if it
  /// concerns none in particular.
  @ExplicitNull public private(set) var fact: String?
  /// The value stated for ``fact``; nil if there is none, or if it cannot be expressed as a number or text.
  @ExplicitNull public private(set) var stated: Value?
  /// The value found in the content; nil if nothing shows it.
  @ExplicitNull public private(set) var measured: Value?

  /// Creates a warning. `code` never changes; the wording of `message` may. A number that is not finite is omitted.
  public init(
    _ code: Code, _ message: String, fact: String? = nil, stated: Value? = nil, measured: Value? = nil
  ) {
    self.code = code
    self.message = message
    self.fact = fact
    self.stated = stated?.finite
    self.measured = measured?.finite
  }
}

extension MediaWarning.Value {
  fileprivate var finite: Self? {
    if case .number(let number) = self, !number.isFinite { return nil }
    return self
  }
}
