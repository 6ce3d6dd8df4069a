/// A policy that comes with Reel: YAML text with its date and the sources of its numbers.
package struct Preset: Sendable {
  /// The name that `--policy` and `extends` use.
  package let name: String
  /// A summary in a few words.
  package let title: String
  package let text: String

  /// In the order of `reel policy list`.
  package static let all = [
    sanity, feedVertical, webPlayback, instagramReels, tiktokInFeedAds, youtubeUpload,
  ]

  package static func named(_ name: String) -> Preset? {
    all.first { $0.name == name }
  }
}

extension Preset {
  /// The policy that applies by default.
  static let sanity = Preset(
    name: PolicyLibrary.sanity, title: "the built-in rules: real, whole videos with honest names",
    text: """
      # Real, whole videos. No numbers: what is wrong here is wrong everywhere.
      policy: 1
      name: sanity
      version: 2026-11-22
      about: The built-in rules. Every other policy builds upon them unless it extends none.
      extends: none
      rules:
        file.unreadable: error
        file.empty: error
        file.lfsPointer: error
        file.truncated: error
        media.external: error
        container.unrecognised: error
        container.disguised: error
        container.unsupported: error
        container.corrupt: error
        ext.mismatch: warn
        mp4.noMoov: error
        duration.missing: warn
        duration.mismatch: warn
        video.none: error
        video.coverOnly: error
        video.empty: error
        encryption.present: warn
        size.unknown: error
        privacy.location: warn
        name.unsafe: warn
        duplicate.exact: warn
        sidecar.invalid: error
        sidecar.orphan: warn

      """)
}

extension Preset {
  static let webPlayback = Preset(
    name: "web-playback",
    title: "plays in every browser of today, from its first bytes on (its sources could not be read)",
    text: """
      # What a <video> element plays without a second source.
      policy: 1
      name: web-playback
      version: 2026-11-24
      sources:
        # H.264 with AAC in MP4, and VP8, VP9 with Opus or Vorbis in WebM, have the widest support. The pages themselves
        # could not be read when this was written; the codecs agree with MDN's page on the choice of codecs.
        - https://developer.mozilla.org/en-US/docs/Web/Media/Guides/Formats/Video_codecs
        - https://developer.mozilla.org/en-US/docs/Web/API/WebCodecs_API/Codec_selection
      rules:
        container.allowed: [mp4, m4v, webm]
        mp4.notFastStart: error
        mp4.fragmented: warn
        duration.missing: error
        duration.unstated: warn
        codec.video: [h264, vp8, vp9, av1]
        codec.audio: [aac, mp3, opus, vorbis]
        pixel.depth: 8
        pixel.chroma: "4:2:0"
        hdr.present: warn
        size.odd: warn
        fps.max: {value: 60, severity: warn}
        encryption.present: error
        privacy.location: error

      """)
}

// Other people's numbers change, so each preset says where they were published and when they were read. It also says
// where a page could be read only as a copy, or through somebody who cites it.
extension Preset {
  static let feedVertical = Preset(
    name: "feed-vertical", title: "a feed of short vertical clips, as most of them take them",
    text: """
      # A clip that the feeds of short vertical videos take as it is: where their limits differ, the narrower one.
      policy: 1
      name: feed-vertical
      version: 2026-11-21
      sources:
        # Container, codecs, 48 kHz, 1 or 2 channels, 23 to 60 frames/s, index first. Read as a stored copy of the page
        # (its "Video Specifications"; the section on reels was not in it).
        - https://developers.facebook.com/docs/instagram-api/reference/ig-user/media
        # 9:16, at least 540x960, 3 s at least, 300 MB at most, for reels. Who cites it; not checked at its origin.
        - https://www.ayrshare.com/docs/media-guidelines/instagram.md
        # 5 s to 60 s, 500 MB at most. Read as a stored copy of the page; it may have changed since.
        - https://ads.tiktok.com/help/article?aid=6669199281502552069
      rules:
        container.allowed: [mp4, mov]
        mp4.notFastStart: error
        mp4.fragmented: error
        duration.missing: error
        duration.min: 5s
        duration.max: 60s
        video.multiple: error
        codec.video: [h264, hevc]
        size.min: 540x960
        size.aspect: "9:16"
        size.odd: error
        sar.nonSquare: error
        rotation.present: warn
        fps.min: 23
        fps.max: 60
        fps.variable: warn
        pixel.chroma: "4:2:0"
        hdr.present: warn
        audio.none: warn
        codec.audio: aac
        audio.channels: [1, 2]
        audio.sampleRate: {value: [22050, 24000, 32000, 44100, 48000], severity: error}
        bytes.max: 300MB
        privacy.location: error

      """)

  static let instagramReels = Preset(
    name: "instagram-reels", title: "what Instagram's publishing interface takes as a reel",
    text: """
      policy: 1
      name: instagram-reels
      version: 2026-11-21
      sources:
        # Container, codecs, sound, frame rate, index first: read as a stored copy of the page.
        - https://developers.facebook.com/docs/instagram-api/reference/ig-user/media
        # 3 s to 15 min, 300 MB, 1920 columns: who cites it; not checked at its origin.
        - https://www.ayrshare.com/docs/media-guidelines/instagram.md
      rules:
        container.allowed: [mp4, mov]
        mp4.notFastStart: error
        duration.missing: error
        duration.min: 3s
        duration.max: 15m
        codec.video: [h264, hevc]
        size.max: 1920x3600
        size.aspect: {value: "9:16", severity: warn}
        fps.min: 23
        fps.max: 60
        pixel.chroma: "4:2:0"
        codec.audio: aac
        audio.channels: [1, 2]
        audio.sampleRate: [22050, 24000, 32000, 44100, 48000]
        bytes.max: 300MB

      """)

  static let tiktokInFeedAds = Preset(
    name: "tiktok-in-feed-ads", title: "what TikTok takes as an in-feed advertisement",
    text: """
      policy: 1
      name: tiktok-in-feed-ads
      version: 2026-11-21
      sources:
        # All numbers. Read as a stored copy of the page; others report lower sizes (540x960) and up to 10 minutes since.
        - https://ads.tiktok.com/help/article?aid=6669199281502552069
      rules:
        container.allowed: [mp4, mov, mpg, 3gp, avi]
        duration.missing: error
        duration.min: 5s
        duration.max: 60s
        size.min: 640x640
        size.aspect: ["9:16", "1:1", "16:9"]
        bitrate.min: 516kbps
        bytes.max: 500MB

      """)

  static let youtubeUpload = Preset(
    name: "youtube-upload", title: "YouTube's recommended settings for uploads",
    text: """
      # Recommendations, so they warn: YouTube takes other files as well, and encodes them anew.
      policy: 1
      name: youtube-upload
      version: 2026-11-21
      sources:
        # Read as a stored copy of the page.
        - https://support.google.com/youtube/answer/1722171
      rules:
        container.allowed: {value: mp4, severity: warn}
        mp4.notFastStart: warn
        codec.video: {value: h264, severity: warn}
        pixel.chroma: {value: "4:2:0", severity: warn}
        codec.audio: {value: aac, severity: warn}
        audio.channels: {value: [2, 6], severity: warn}
        audio.sampleRate: {value: [48000, 96000], severity: warn}

      """)
}
