import ArgumentParser
import FoundationEssentials
import Logging
import ReelServer

@main
struct ReelServe: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "reel-serve",
    abstract: "Take uploads, and answer each with what became of it.",
    subcommands: [Run.self, UploadURL.self, NewKey.self], defaultSubcommand: Run.self)
}

/// `reel-serve`
struct Run: AsyncParsableCommand {
  static let configuration = CommandConfiguration(abstract: "Serve (the default).")

  @Option(help: ArgumentHelp("Where to listen.", valueName: "host:port"), transform: address)
  var listen = ListenAddress.standard

  @Option(help: ArgumentHelp("The library; made where it is missing.", valueName: "folder"))
  var library: String
  @Option(help: ArgumentHelp("Where videos go: a folder, s3://bucket/prefix.", valueName: "store"))
  var to: String?
  @Option(help: ArgumentHelp("The server's key (see new-key).", valueName: "file"))
  var keyFile: String?
  @Option(help: ArgumentHelp("What clients call this server: https://upload.example.", valueName: "url"))
  var url: String?
  @Option(help: ArgumentHelp("What viewers put before the name of a video.", valueName: "url"))
  var publicBaseURL: String?
  @Option(help: ArgumentHelp("The largest video.", valueName: "size"), transform: size)
  var maxSize: Int64 = 4_000_000_000
  @Option(
    help: ArgumentHelp("How long an unfinished upload is kept after its last byte.", valueName: "time"),
    transform: seconds)
  var keep: Int64 = 86_400
  @Option(
    help: ArgumentHelp("Bytes a second that a sender must bring, on average.", valueName: "size"),
    transform: size)
  var minRate: Int64 = 500
  @Option(help: ArgumentHelp("How long a sender may say nothing.", valueName: "time"), transform: seconds)
  var patience: Int64 = 30
  @Option(help: ArgumentHelp("Pages of this origin may use the server (any number).", valueName: "origin"))
  var allowOrigin: [String] = []
  @Flag(help: "Make a poster for each post.")
  var posters = false
  @Option(help: "What is logged: \(Logger.Level.allCases.map(\.rawValue).joined(separator: ", ")).")
  var logLevel: Logger.Level = .info

  func run() async throws {
    LoggingSystem.bootstrap(StreamLogHandler.standardError)
    var logger = Logger(label: "reel-serve")
    logger.logLevel = logLevel
    var configuration = ServerConfiguration(library: library, address: listen)
    configuration.to = to
    configuration.key = try keyFile.map { try AccessKey.read($0) }
    configuration.origins = Set(allowOrigin)
    configuration.publicURL = base(url)
    configuration.mediaURL = publicBaseURL
    (configuration.maxSize, configuration.lifetime) = (maxSize, keep)
    (configuration.leastRate, configuration.patience) = (minRate, patience)
    configuration.posters = posters
    try await FrontDoor.run(configuration, logger: logger)
  }
}

/// `reel-serve upload-url`
struct UploadURL: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "upload-url", abstract: "Print an address for one upload, for somebody who has no key.")

  @Option(help: ArgumentHelp("The server's key.", valueName: "file"))
  var keyFile: String
  @Option(help: ArgumentHelp("What clients call the server.", valueName: "url"))
  var url = ""
  @Option(help: ArgumentHelp("Whose the post is to be.", valueName: "id"))
  var author: String?
  @Option(help: ArgumentHelp("The largest video.", valueName: "size"), transform: size)
  var maxSize: Int64?
  @Option(help: ArgumentHelp("How long it may be used.", valueName: "time"), transform: seconds)
  var expires: Int64 = 3_600

  func run() throws {
    let ticket = UploadTicket(
      author: author, maxSize: maxSize, expires: Date(timeIntervalSinceNow: Double(expires)))
    print(base(url) + ticket.path(signedWith: try AccessKey.read(keyFile)))
  }
}

/// `reel-serve new-key`
struct NewKey: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "new-key", abstract: "Make a key for a server, in a file that nobody else can read.")

  @Argument(help: ArgumentHelp("A file that is not there yet.", valueName: "file"))
  var file: String

  func run() throws { try AccessKey.make(at: file) }
}

/// Without a slash at its end.
private func base(_ url: String?) -> String {
  guard let url else { return "" }
  return url.hasSuffix("/") ? String(url.dropLast()) : url
}

private func size(_ text: String) throws -> Int64 {
  guard let bytes = SizeText.bytes(text) else {
    throw ValidationError("a size is a number with a unit, such as 500MB")
  }
  return bytes
}

private func seconds(_ text: String) throws -> Int64 {
  guard let seconds = TimeText.seconds(text) else {
    throw ValidationError("a time is a number with a unit, such as 24h")
  }
  return seconds
}

private func address(_ text: String) throws -> ListenAddress {
  guard let address = ListenAddress(text) else {
    throw ValidationError("an address is a host and a port, such as 127.0.0.1:8080")
  }
  return address
}

extension Logger.Level: @retroactive ExpressibleByArgument {}
