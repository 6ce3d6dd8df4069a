// Takes uploads, serves the feed and the videos.
//   video-server LIBRARY
//     BIND, PORT  where it listens; default: 127.0.0.1, 8080
//     PUBLIC_URL  what viewers call it; default: http://127.0.0.1:PORT
//
//   POST /videos?author=ID&caption=TEXT   the body is the video; answers with its post
//   GET  /feed?before=CURSOR&author=ID&search=TEXT
//   GET  /media/NAME

import Foundation
import Hummingbird
import Logging
import Reel
import ServiceLifecycle

/// A page of the feed, as JSON.
struct FeedAnswer: ResponseEncodable, Encodable {
  let posts: [Post]
  /// For `before`; nil on the last page.
  let next: String?
}

guard CommandLine.arguments.count == 2 else { fatalError("usage: video-server LIBRARY") }
let environment = ProcessInfo.processInfo.environment
let port = environment["PORT"].flatMap { Int($0) } ?? 8080
let library = try await Library(
  at: CommandLine.arguments[1], seenAs: environment["PUBLIC_URL"] ?? "http://127.0.0.1:\(port)")
let uploads = Uploads(library: library, largest: 2 << 30)

let router = Router()
// Names are drawn at random and have no path in them: who knows one may see the video.
router.addMiddleware { FileMiddleware(library.folder.mediaPath, urlBasePath: "/media") }
router.post("videos") { request, context in try await uploads.take(request, context) }
router.get("feed") { request, _ in
  let query = request.uri.queryParameters
  let page = try await library.catalog.newestPosts(
    matching: PostFilter(
      authorID: query["author"].map(String.init), text: query["search"].map(String.init)),
    before: query["before"].flatMap { FeedCursor(String($0)) }, limit: 20)
  return FeedAnswer(posts: page.posts, next: page.next?.text)
}

let app = Application(
  router: router,
  configuration: .init(address: .hostname(environment["BIND"] ?? "127.0.0.1", port: port)))
let group = ServiceGroup(
  configuration: ServiceGroupConfiguration(
    // The library closes last: what is begun needs it.
    services: [.init(service: library), .init(service: app)],
    gracefulShutdownSignals: [.sigterm, .sigint], logger: Logger(label: "video-server")))
try await group.run()
