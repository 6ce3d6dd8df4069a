extension Preset {
  static let webPlayback = Preset(
    name: "web-playback", title: "plays in every browser of today, from its first bytes on",
    text: """
      # What a <video> element plays without a second source.
      policy: 1
      name: web-playback
      version: 2026-11-21
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
