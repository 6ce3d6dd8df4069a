import Foundation
import Hummingbird
import Reel

/// Takes a video that comes as the body of a request.
struct Uploads {
  let library: Library
  /// Bytes.
  let largest: Int

  /// What came of an upload, as JSON.
  struct Answer: ResponseEncodable, Encodable {
    var post: Post?
    /// For programs; nil with a post.
    var code: String?
    /// For people.
    var message: String?
  }

  func take(_ request: Request, _ context: some RequestContext) async throws -> EditedResponse<Answer> {
    let file = FileManager.default.temporaryDirectory.appendingPathComponent("upload-\(UUID())")
    defer { try? FileManager.default.removeItem(at: file) }
    try await write(request, to: file)
    var options = IngestOptions()
    options.metadata = PostMetadata(
      authorID: request.uri.queryParameters["author"].map(String.init),
      caption: request.uri.queryParameters["caption"].map(String.init))
    // The name of the temporary file says nothing.
    options.keepsSourceName = false
    return await publish(file.path, options)
  }

  /// Small pieces; a server with many uploads at once would hand them to threads that may wait for a disk.
  private func write(_ request: Request, to file: URL) async throws {
    guard
      FileManager.default.createFile(atPath: file.path, contents: nil, attributes: [.posixPermissions: 0o600])
    else { throw HTTPError(.internalServerError) }
    let handle = try FileHandle(forWritingTo: file)
    defer { try? handle.close() }
    var size = 0
    for try await buffer in request.body {
      size += buffer.readableBytes
      guard size <= largest else { throw HTTPError(.contentTooLarge) }
      try handle.write(contentsOf: Data(buffer: buffer))
    }
  }

  /// A client that goes away cancels its request's task, and the video with it.
  private func publish(_ path: String, _ options: IngestOptions) async -> EditedResponse<Answer> {
    switch await library.services.publish(SourceInput(path: SourcePath(path)), options: options) {
    case .published(let post): EditedResponse(status: .created, response: Answer(post: post))
    case .duplicate(let post): EditedResponse(status: .ok, response: Answer(post: post))
    case .removed(let removed):
      EditedResponse(
        status: .gone, response: Answer(code: "removed", message: removed.text.description))
    case .refused(let refusal):
      EditedResponse(
        status: .unprocessableContent, response: Answer(code: refusal.code.rawValue, message: refusal.message)
      )
    case .failed(let failure):
      EditedResponse(
        status: .unprocessableContent, response: Answer(code: failure.code.rawValue, message: failure.message)
      )
    case .planned: EditedResponse(status: .ok, response: Answer())
    case .cancelled: EditedResponse(status: .serviceUnavailable, response: Answer())
    }
  }
}
