import HTTPTypes
import Hummingbird
import Logging
import NIOCore
import NIOHTTPTypes

/// What accompanies a request.
struct ServerContext: InitializableFromSource, Sendable {
  let channel: any Channel
  let logger: Logger

  init(source: ApplicationRequestContextSource) {
    (channel, logger) = (source.channel, source.logger)
  }

  /// Sends an informational response (1xx). Whether it arrives does not matter.
  func inform(_ head: HTTPResponse) async {
    try? await channel.writeAndFlush(HTTPResponsePart.head(head))
  }
}
