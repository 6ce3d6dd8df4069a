import ReelCore

/// Whether a track that is not of pictures has what only pictures have, such as their codec or their chunks; and the
/// same for sound.
struct MisnamedTracks: Hashable {
  var pictures = false
  var sound = false

  var warnings: [MediaWarning] {
    (pictures ? ["video", "audio"].map { .misnamed("something else", whatIs: "pictures", fact: $0) } : [])
      + (sound ? [.misnamed("something else", whatIs: "sound", fact: "audio")] : [])
  }
}
