import ArgumentParser
import ReelCore
import ReelRemoteStorage

/// What `reel feed` signs.
struct SigningOptions: ParsableArguments {
  @Option(
    defaultAsFlag: PresignTime.setting,
    help: ArgumentHelp(
      "Sign the URLs of videos and posters now, for this long, up to 7d.", valueName: "time"))
  var presign: PresignTime?

  @Option(
    help: ArgumentHelp(
      "With --presign: the bucket, as for reel ingest. Default: the setting to.", valueName: "destination"),
    transform: RawArguments.text)
  var to: String?

  @OptionGroup var bucket: BucketOptions

  func validate() throws {
    if case .invalid(let text) = presign {
      throw ValidationError("--presign is \"\(text)\"; it must be \(TimeText.form), from 1s to 7d.")
    }
    if to != nil, presign == nil { throw ValidationError("--to goes with --presign.") }
  }

  /// Nil when nothing is to be signed.
  func signing(_ settings: Settings) async throws -> PostSigning? {
    switch presign {
    case nil, .some(.invalid): nil
    case .seconds(let seconds): try await PostSigning(settings, seconds: seconds)
    case .setting: try await PostSigning(settings, seconds: settings.presign ?? 3600)
    }
  }
}

/// How long signed URLs are valid.
enum PresignTime: ExpressibleByArgument, CustomStringConvertible {
  case seconds(Int)
  /// As the settings say.
  case setting
  /// A value that is not a time. If it failed to parse, the parser would take the option for one without a value.
  case invalid(String)

  init?(argument: String) {
    guard let seconds = TimeText.seconds(argument),
      (1...Double(S3Viewing.longestPresigned)).contains(seconds)
    else {
      self = .invalid(argument)
      return
    }
    self = .seconds(Int(seconds))
  }

  var description: String {
    switch self {
    case .seconds(let seconds): "\(seconds)"
    case .setting: "the setting presign, else 1h"
    case .invalid(let text): text
    }
  }
}
