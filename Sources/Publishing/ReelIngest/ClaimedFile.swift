import ReelCore

/// A file with its intent.
struct ClaimedFile: Sendable {
  let accepted: AcceptedFile
  let intent: Intent

  var video: BatchUpload { BatchUpload(source: accepted.source.intended, key: intent.key) }

  var poster: BatchUpload? {
    guard let source = accepted.poster?.source, let key = intent.poster else { return nil }
    return BatchUpload(source: source.intended, key: key)
  }
}

/// A file whose object is stored, proven and recorded.
struct ProvenFile: Sendable {
  let claimed: ClaimedFile
  let object: StoredObject
}
