/// A policy that comes with Reel: YAML text with its date and the sources of its numbers.
public struct Preset: Sendable {
  /// As `--policy` and `extends` name it.
  public let name: String
  /// In a few words.
  public let title: String
  /// The policy file.
  public let text: String

  /// In the order of `reel policy list`.
  public static let all = [sanity, feedVertical, webPlayback, instagramReels, tiktokInFeedAds, youtubeUpload]

  /// Nil when there is none of this name.
  public static func named(_ name: String) -> Preset? {
    all.first { $0.name == name }
  }
}
