/// Something in a file that contradicts something else in it, or that it does not hold itself. The facts beside it are
/// what is believed.
public struct MediaWarning: Hashable, Sendable, Codable {
  /// How many a reading tells at most.
  package static let most = 48

  /// For programs.
  public enum Code: String, Codable, Sendable, CaseIterable {
    /// The header gives the pictures another size than they have.
    case sizeMismatch
    /// What the header cuts off the pictures at their edges leaves nothing of them; they are taken whole.
    case croppingMismatch
    /// The display matrix has no angle.
    case rotationUnknown
    /// The header gives another duration than the content has, or one that cannot be meant.
    case durationMismatch
    /// The header gives another frame rate than the pictures have, or one that cannot be meant.
    case frameRateMismatch
    /// The header gives the sound other channels, another sampling rate or another codec than it has.
    case soundMismatch
    /// The header gives the pictures another shape of their pixels than they have.
    case pixelShapeMismatch
    /// The header names another transfer function than the pictures.
    case transferMismatch
    /// Parts of the header give different dates.
    case dateMismatch
    /// The tables of the index disagree about how many samples there are, or where and when.
    case indexMismatch
    /// The clock starts anew or jumps within the file; the stretches are added up.
    case clockJumps
    /// The pictures change their size, their shape or their dynamic range, or the sound its channels or its rate, within the
    /// file; what is told is of its beginning. Mostly found by reading every packet.
    case contentChanges
    /// The header claims something that this reading did not hold against the content.
    case claimUnchecked
    /// The video is in a codec that this FFmpeg does not know.
    case codecUnknown
    /// The edit list hides every sample of the video.
    case samplesHidden
    /// The file ends before its own account says.
    case truncated
    /// A part of the content is nothing but zeros: it was never written there.
    case contentMissing
    /// It is a part of a chain of Matroska files, or its chapters play parts of others.
    case linkedSegments
  }

  /// What is claimed of a fact, or what was found: a number, or text as the fact itself is written (`1920x1080`,
  /// `30000/1001`, `PQ`).
  public enum Value: Hashable, Sendable, Codable {
    /// In the unit of the fact.
    case number(Double)
    /// For facts that are no number.
    case text(String)

    /// A JSON number or string.
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
    /// - Throws: what the encoder does.
    public func encode(to encoder: any Encoder) throws {
      var container = encoder.singleValueContainer()
      switch self {
      case .number(let number): try container.encode(number)
      case .text(let text): try container.encode(text)
      }
    }
  }

  /// What it is, for programs.
  public let code: Code
  /// What is wrong, about "it"; one sentence for people.
  public let message: String
  /// The fact that it is about, as its path in the document: `duration`, `video.frameRate`, `audio.0.channels`; nil
  /// where it is about none in particular.
  @ExplicitNull public private(set) var fact: String?
  /// What is claimed of ``fact``; nil where nothing is, or no number or word can say it.
  @ExplicitNull public private(set) var stated: Value?
  /// What was found in the content; nil where nothing tells.
  @ExplicitNull public private(set) var measured: Value?

  /// A warning. `code` stays as it is, `message` may be worded anew. A number that is not finite is left out.
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
