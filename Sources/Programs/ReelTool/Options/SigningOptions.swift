import ArgumentParser
import ReelRemoteStorage

/// What `reel feed` signs.
struct SigningOptions: ParsableArguments {
  @Option(
    defaultAsFlag: PresignTime.setting,
    help: ArgumentHelp(
      "Sign the URLs of videos and posters now, for this many seconds, up to 604800.",
      valueName: "seconds"))
  var presign: PresignTime?

  @Option(
    help: ArgumentHelp(
      "With --presign: the bucket, as for reel ingest. Default: the setting to.", valueName: "destination"),
    transform: RawArguments.text)
  var to: String?

  @OptionGroup var bucket: BucketOptions

  func validate() throws {
    if to != nil, presign == nil { throw ValidationError("--to goes with --presign.") }
  }

  /// Nil when nothing is to be signed.
  func signing(_ settings: Settings) async throws -> PostSigning? {
    switch presign {
    case nil: nil
    case .seconds(let seconds): try await PostSigning(settings, seconds: seconds)
    case .setting: try await PostSigning(settings, seconds: settings.presign ?? 3600)
    }
  }
}

/// How long signed URLs are good for.
enum PresignTime: ExpressibleByArgument, CustomStringConvertible {
  case seconds(Int)
  /// As the settings say.
  case setting

  init?(argument: String) {
    guard let seconds = Int(argument), (1...S3Viewing.longestPresigned).contains(seconds) else { return nil }
    self = .seconds(seconds)
  }

  var description: String {
    switch self {
    case .seconds(let seconds): "\(seconds)"
    case .setting: "the setting presign, else 3600"
    }
  }
}
