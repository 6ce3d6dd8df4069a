/// What is needed to rewrite a file, in addition to its facts.
package struct RewritingFacts: Hashable, Sendable {
  /// FFmpeg's index of the video stream that a player would show, if there are several; nil if FFmpeg does not read
  /// it.
  package var shownStream: Int?
  /// Whether its subtitles reveal where it was recorded.
  package var isPlaceInText: Bool
  /// Whether messages within its video stream reveal where it was recorded.
  package var isPlaceInPictures: Bool

  /// - Parameters: See the properties.
  package init(shownStream: Int? = nil, isPlaceInText: Bool = false, isPlaceInPictures: Bool = false) {
    self.shownStream = shownStream
    self.isPlaceInText = isPlaceInText
    self.isPlaceInPictures = isPlaceInPictures
  }
}
