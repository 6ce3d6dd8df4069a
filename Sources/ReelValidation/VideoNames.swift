import ReelCore

/// The extensions by which a name claims to be a video, whether Reel takes it in or not.
package enum VideoNames {
  /// Lower case, without the dot.
  package static let extensions = MediaContainer.claimableExtensions.union(raw)

  /// Streams without a container, and containers that are not taken in.
  static let raw: Set<String> = [
    "264", "h264", "avc", "265", "h265", "hevc", "266", "h266", "vvc", "h263", "ivf", "obu", "av1", "y4m",
    "yuv",
    "m1v", "m2v", "mpv", "m4e", "dv", "dif", "rm", "rmvb", "nut", "mjpg", "mjpeg", "vc1", "drc", "wtv",
  ]

  /// Names of containers that hold sound alone, and of segments: honest for a file that is just that.
  static let soundInContainers: Set<String> = ["m4a", "mka", "oga", "ogg", "wma", "cmfa", "m4s", "cmfv"]
}
