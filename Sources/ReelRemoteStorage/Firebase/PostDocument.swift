import ReelCore

/// A post as a document of the collection `Post`: the keys are those of its JSON, which the feed apps read.
enum PostDocument {
  /// Every field, what is unknown as null; `pageNumber` is the place in this store's feed.
  static func fields(of post: Post, pageNumber: Int) -> [String: FirestoreValue] {
    [
      "id": .string(post.id.description), "video": .string(post.video.rawValue),
      "videoURL": .string(post.videoURL), "videoFileExtension": .string(post.videoFileExtension),
      "videoHeight": .number(post.videoHeight), "videoWidth": .number(post.videoWidth),
      "author": .text(post.authorID), "autherName": .text(post.authorName),
      "caption": .text(post.caption), "music": .text(post.music),
      "likeCount": .number(post.likeCount), "shareCount": .number(post.shareCount),
      "commentID": .text(post.commentID),
      "duration": post.duration.map { .double($0) } ?? .null, "contentType": .text(post.contentType),
      "digest": .text(post.digest.map(\.description)), "size": post.size.map { .integer($0) } ?? .null,
      "createdAt": post.createdAt.map { .timestamp($0) } ?? .null, "pageNumber": .number(pageNumber),
      "probe": post.probe.map(value) ?? .null,
    ]
  }

  private static func value(_ probe: ProbeProvenance) -> FirestoreValue {
    .map([
      "method": .string(probe.method.rawValue), "isolation": .string(probe.isolation.rawValue),
      "ffmpeg": .string(probe.ffmpeg),
    ])
  }
}
