/// Compares the facts of a mended file with those of its source: what was requested must have changed, and
/// everything else must be the same.
package enum MendValidation {
  /// Checks the facts of a mended file.
  /// - Parameters:
  ///   - before: The facts of the source; nil if it could not be opened.
  ///   - outcome: What was done, and what reading all packets showed.
  /// - Throws: `notProven`.
  package static func check(
    _ before: MediaInfo?, _ after: MediaInfo, _ options: MendOptions, _ outcome: MendOutcome
  ) throws(MendError) {
    for mend in options.mends { try check(mend, after, options, outcome) }
    guard let before else { return }
    var (old, new) = (before, after)
    for mend in outcome.done.union(options.mends) { forget(mend, &old, &new) }
    // These follow from the size of the file.
    (old.size, new.size) = (0, 0)
    (old.bitRate, new.bitRate) = (nil, nil)
    guard old == new else { throw other(difference(old, new)) }
  }

  /// Checks the request against the facts of a file in which there was nothing to mend.
  /// - Parameter before: As in ``check(_:_:_:_:)``.
  /// - Throws: `notMendable`.
  package static func check(undone options: MendOptions, _ before: MediaInfo?) throws(MendError) {
    guard before?.hasLocation == true, !options.mends.isDisjoint(with: [.location, .privateTags]) else {
      return
    }
    throw MendError(.notMendable, reason(.location))
  }

  private static func check(
    _ mend: Mend, _ after: MediaInfo, _ options: MendOptions, _ outcome: MendOutcome
  ) throws(MendError) {
    let isMended =
      switch mend {
      case .faststart: after.fastStart != false || after.fragmented == true
      case .unfragment: after.fragmented != true
      case .location, .privateTags: after.hasLocation != true
      case .credentials: after.contentCredentials != true
      case .duration: statesItsDuration(after, outcome)
      case .data, .fileExtension: true
      case .salvage: after.truncated != true
      case .rotation: after.video?.rotation == options.rotation && after.video?.mirrored != true
      case .sampleAspectRatio: isSame(after.video?.sampleAspectRatio, options.sampleAspectRatio)
      }
    guard isMended else {
      throw MendError(.notProven, "it can't be mended as requested (\(mend.rawValue)): " + reason(mend))
    }
  }

  /// Whether the header states the duration that all packets together have, within the precision of packet
  /// timestamps.
  private static func statesItsDuration(_ after: MediaInfo, _ outcome: MendOutcome) -> Bool {
    guard after.durationSource == .container, let stated = after.duration, let end = outcome.end else {
      return false
    }
    return abs(stated - end) <= 0.01
  }

  private static func reason(_ mend: Mend) -> String {
    switch mend {
    case .location, .privateTags: "it reveals where it was recorded in a way that Reel can't remove"
    case .credentials: "it has Content Credentials in a place from which Reel can't remove them"
    case .sampleAspectRatio: "its video stream itself states the shape of its pixels"
    case .salvage: "it still refers to data beyond its end"
    default: "players would not see the change"
    }
  }

  private static func isSame(_ found: SampleAspectRatio?, _ asked: SampleAspectRatio?) -> Bool {
    // No aspect ratio counts as square.
    guard let asked else { return true }
    guard let found else { return asked.isSquare }
    return found.ratio.numerator * asked.ratio.denominator == found.ratio.denominator * asked.ratio.numerator
  }

  /// Clears the facts that a mend is meant to change.
  private static func forget(_ mend: Mend, _ old: inout MediaInfo, _ new: inout MediaInfo) {
    func both(_ change: (inout MediaInfo) -> Void) {
      change(&old)
      change(&new)
    }
    switch mend {
    case .faststart: both { $0.fastStart = nil }
    case .location: both { $0.hasLocation = nil }
    case .privateTags:
      both {
        $0.hasLocation = nil
        $0.contentIdentifier = nil
      }
    case .credentials: both { $0.contentCredentials = nil }
    case .data, .fileExtension: break
    case .unfragment, .duration, .salvage:
      both {
        $0.fastStart = nil
        $0.fragmented = nil
        $0.duration = nil
        $0.durationSource = nil
        $0.presentDuration = nil
        $0.truncated = nil
        $0.warnings.removeAll { [.durationMismatch, .truncated, .samplesHidden].contains($0.code) }
        $0.video?.frameRate = nil
        $0.video?.variableFrameRate = nil
        $0.video?.bitRate = nil
      }
    case .rotation:
      both {
        $0.video?.rotation = nil
        $0.video?.mirrored = nil
        $0.video?.width = nil
        $0.video?.height = nil
        $0.warnings.removeAll { $0.code == .rotationUnknown }
      }
    case .sampleAspectRatio:
      both {
        $0.video?.sampleAspectRatio = nil
        $0.video?.width = nil
        $0.video?.height = nil
      }
    }
  }

  private static func difference(_ old: MediaInfo, _ new: MediaInfo) -> String {
    if old.container != new.container { return "its container" }
    if old.video != new.video { return "the properties of its video" }
    if old.audio != new.audio { return "the properties of its sound" }
    if old.duration != new.duration { return "its duration" }
    if old.fragmented != new.fragmented || old.fastStart != new.fastStart {
      return "the position of its index"
    }
    if old.hasLocation != new.hasLocation { return "whether it reveals a location" }
    if old.contentCredentials != new.contentCredentials { return "its Content Credentials" }
    if old.warnings != new.warnings { return "the warnings about it" }
    return "its tags"
  }

  private static func other(_ what: String) -> MendError {
    MendError(
      .notProven,
      "mending it would change \(what) as well; the mended file was discarded, and the source is unchanged")
  }
}
