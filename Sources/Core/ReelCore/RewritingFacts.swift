/// What whoever writes a file anew has to know of it besides its facts.
package struct RewritingFacts: Hashable, Sendable {
  /// FFmpeg's number of the video stream that a player would show, where there are several; nil where it reads none.
  package var shownStream: Int?
  /// Whether its subtitles tell where it was recorded.
  package var isPlaceInText: Bool
  /// Whether messages in its pictures do.
  package var isPlaceInPictures: Bool

  /// - Parameters: as the properties.
  package init(shownStream: Int? = nil, isPlaceInText: Bool = false, isPlaceInPictures: Bool = false) {
    self.shownStream = shownStream
    self.isPlaceInText = isPlaceInText
    self.isPlaceInPictures = isPlaceInPictures
  }
}
