/// A policy that comes with Reel: YAML text with its date and the sources of its numbers.
package struct Preset: Sendable {
  /// As `--policy` and `extends` name it.
  package let name: String
  /// In a few words.
  package let title: String
  /// The policy file.
  package let text: String

  /// In the order of `reel policy list`.
  package static let all = [
    sanity, feedVertical, webPlayback, instagramReels, tiktokInFeedAds, youtubeUpload,
  ]

  /// Nil when there is none of this name.
  package static func named(_ name: String) -> Preset? {
    all.first { $0.name == name }
  }
}
