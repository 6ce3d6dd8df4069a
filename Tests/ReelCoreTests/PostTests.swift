import FoundationEssentials
import ReelCore
import ReelTestSupport
import Testing

@Suite("posts")
struct PostTests {
  static func sample() throws -> Post {
    var media = MediaInfo(container: .mov, size: 99)
    media.duration = 12.5
    var video = VideoFacts()
    video.width = 1080
    video.height = 1920
    video.codec = "hevc"
    media.video = video
    let digest = try #require(ContentDigest(sha256: [UInt8](repeating: 7, count: 32)))
    let key = try #require(ObjectKey("abcDEF.mov"))
    let draft = PostDraft(
      media: media, provenance: ProbeProvenance(method: .header, isolation: .full, ffmpeg: "59.27.100"),
      metadata: PostMetadata(authorID: "u1", authorName: "Ada", caption: "Hi"), commentID: "c")
    let intent = Intent(
      id: PostID(at: Date(timeIntervalSince1970: 0), random: SeededRandomness(seed: 1)), key: key,
      publication: Publication(digest: digest, destination: Destination("file:///m"), authorID: "u1"),
      attempt: 1)
    return Post(
      draft: draft, intent: intent,
      stored: StoredObject(key: key, url: "file:///m/abcDEF.mov", size: 99, digest: digest),
      pageNumber: 3, createdAt: Date(timeIntervalSince1970: 1000))
  }

  @Test("a post has the keys of the feed apps' documents")
  func keys() throws {
    let json = try JSONEncoder().encode(Self.sample())
    let object = try #require(try JSONKeys.object(json))
    let apps: Set<String> = [
      "id", "video", "videoURL", "videoFileExtension", "videoHeight", "videoWidth", "author", "autherName",
      "caption", "music", "likeCount", "shareCount", "commentID",
    ]
    let own: Set<String> = [
      "duration", "contentType", "digest", "size", "createdAt", "pageNumber", "probe", "poster", "posterURL",
      "posterWidth", "posterHeight", "blurHash", "videoCodec", "sourceName", "mended",
    ]
    #expect(object == apps.union(own))
    let post = try JSONDecoder().decode(Post.self, from: json)
    #expect(try post == Self.sample() && post.videoCodec == "hevc")
  }

  @Test("missing fields of an old document are nil, never zero or empty")
  func oldDocument() throws {
    let old = """
      {"id":"017f22e2-79b0-7cc3-98c4-dc0c0c07398f","video":"a.mp4","videoURL":"https://x/a.mp4",
       "videoFileExtension":"mp4","author":"u"}
      """
    let post = try JSONDecoder().decode(Post.self, from: Data(old.utf8))
    #expect(post.videoHeight == nil && post.likeCount == nil && post.caption == nil && post.duration == nil)
    #expect(post.videoCodec == nil && post.posterURL == nil)
    #expect(post.authorID == "u")
  }

  @Test("a document without its identity is an error that names the key")
  func withoutIdentity() throws {
    let error = #expect(throws: DecodingError.self) {
      try JSONDecoder().decode(Post.self, from: Data(#"{"video":"a.mp4"}"#.utf8))
    }
    #expect(String(describing: try #require(error)).contains("id"))
  }
}

/// Finds the keys of a JSON object.
enum JSONKeys {
  struct AnyKey: CodingKey {
    var stringValue: String
    var intValue: Int? { nil }
    init?(stringValue: String) { self.stringValue = stringValue }
    init?(intValue: Int) { nil }
  }

  struct Keys: Decodable {
    let all: Set<String>
    init(from decoder: any Decoder) throws {
      all = Set(try decoder.container(keyedBy: AnyKey.self).allKeys.map(\.stringValue))
    }
  }

  static func object(_ json: Data) throws -> Set<String>? {
    try JSONDecoder().decode(Keys.self, from: json).all
  }
}
