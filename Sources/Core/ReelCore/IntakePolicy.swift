/// Decides from its facts alone whether a file may be published.
public protocol IntakePolicy: Sendable {
  /// Every rule that `media` breaks, in a fixed order; empty if the file may be published. Pure.
  func violations(in media: MediaInfo) -> [PolicyViolation]

  /// The same for a file whose name is known, for a policy that treats some names more strictly than others. Pure.
  /// - Parameter path: The path by which the run names the file.
  func violations(in media: MediaInfo, of path: SourcePath) -> [PolicyViolation]

  /// Every rule that a file breaks by its size alone, so that a file that is too large is refused before any of it
  /// is read. Pure.
  /// - Parameter size: The size in bytes.
  func violations(ofSize size: Int64, of path: SourcePath) -> [PolicyViolation]
}

extension IntakePolicy {
  /// Returns no violations.
  public func violations(ofSize size: Int64, of path: SourcePath) -> [PolicyViolation] { [] }

  /// Judges by the facts alone.
  public func violations(in media: MediaInfo, of path: SourcePath) -> [PolicyViolation] {
    violations(in: media)
  }
}

/// A rule that a file breaks.
public struct PolicyViolation: Hashable, Sendable, Codable {
  /// The rule's stable id, such as `video.none`.
  public let rule: String
  /// What is wrong with the file and what to do about it; one sentence.
  public let text: ErrorMessage
  /// ``text``, with settings in backquotes.
  public var message: String { text.description }

  private enum CodingKeys: String, CodingKey {
    case rule
    case text = "message"
  }

  /// Creates a broken rule. `rule` is for programs and never changes; `message` is for people and may change.
  public init(rule: String, message: ErrorMessage) {
    self.rule = rule
    text = message
  }

  /// Creates a broken rule whose message is plain text and names no setting.
  @_disfavoredOverload
  public init(rule: String, message: String) {
    self.init(rule: rule, message: ErrorMessage(message))
  }
}

/// The policy that applies unless another is given. It admits any container that Reel knows, with a video stream of
/// known size and at least one sample, if the file is complete and holds its own pictures and sound.
public struct DefaultIntakePolicy: IntakePolicy {
  /// Creates the policy, which has no settings.
  public init() {}

  /// Returns which of `video.none`, `video.empty`, `video.size`, `file.truncated` and `media.external` are broken:
  /// first those about the picture, then those about the file. An unknown fact breaks no rule, except for the size
  /// of the picture.
  public func violations(in media: MediaInfo) -> [PolicyViolation] {
    var broken: [PolicyViolation] = []
    if let video = media.video {
      if video.hasSamples == false {
        broken.append(PolicyViolation(rule: "video.empty", message: "its video stream holds no sample"))
      }
      if video.width == nil || video.height == nil {
        broken.append(PolicyViolation(rule: "video.size", message: "the size of its picture is unknown"))
      }
    } else {
      broken.append(PolicyViolation(rule: "video.none", message: "it has no video stream"))
    }
    if media.truncated == true {
      broken.append(
        PolicyViolation(
          rule: "file.truncated", message: "it was cut off: part of its data is missing; get a complete copy")
      )
    }
    if media.external == true {
      broken.append(PolicyViolation(rule: "media.external", message: ProbeError.externalMedia.text))
    }
    return broken
  }
}
