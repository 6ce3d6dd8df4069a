import ArgumentParser
import ReelCore
import ReelLibrary
import ReelPage
import ReelTerminal

/// `reel page -o SITE`
struct PageCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "page",
    abstract: "Write the feed as a web page: plain files, to open or to put on any web server.",
    discussion: """
      The page plays one video at a time, and begins with the newest that browsers play. Run the same command again to \
      add what is new; --title, --size, --media and --names keep their earlier values. With --to, the site is also put \
      into an S3 bucket, and only what has changed is sent.
      """,
    examples: [
      "reel page -o site",
      "reel page -o site --media copy --title \"Our clips\"",
      "reel page -o site --to s3://www/clips",
    ])

  @OptionGroup var library: LibraryOptions
  @OptionGroup(title: "The bucket of --to") var bucket: BucketOptions

  @Option(
    help: ArgumentHelp(
      "Put the site into a bucket, too: s3://bucket/prefix, or s3+https://host/bucket/prefix.",
      valueName: "destination"), transform: RawArguments.text)
  var to: String?

  @Option(
    help: ArgumentHelp("The page's title (default: Reel).", valueName: "text"), transform: RawArguments.text)
  var title: String?

  @Option(help: ArgumentHelp("Posts in each file of the feed, 1 to 1000 (default: 24).", valueName: "n"))
  var size: Int?

  @Option(
    help: ArgumentHelp(
      "Videos and posters in a local folder: in-place refers to them where they are (default), link and copy put them into "
        + "SITE/media.", valueName: "in-place|link|copy"))
  var media: MediaPlacement?

  @Flag(
    inversion: .prefixedNo,
    help:
      "Call a video without a caption by its file's name, not by its date and length (default: --no-names).")
  var names: Bool?

  @Flag(
    help: "Look at every file of the feed again, and make the site one of this library if it is another's.")
  var all = false

  @Flag(
    help:
      "Print {\"v\":1, \"ok\":…, \"problems\":[…], \"site\":…, \"posts\":…, \"added\":…, \"removed\":…, \"written\":…, \"missing\":…, \"isLocal\":…}, and with --to \"upload\":{…}."
  )
  var json = false

  @Option(
    name: [.short, .customLong("output")],
    help: ArgumentHelp("The site's folder.", valueName: "folder"), completion: .directory,
    transform: RawArguments.place)
  var output: String?

  @OptionGroup var former: FormerPlace

  func validate() throws {
    try former.check(output, missing: "say where the site goes: -o FOLDER.")
    if let output, MistakenPath.isAddress(output) {
      throw ValidationError("-o is a folder of this machine; --to puts the site at an address, too.")
    }
    if let size, !(1...1000).contains(size) {
      throw ValidationError("--size must be a number from 1 to 1000.")
    }
  }

  func run() async throws {
    let site = former.or(output)
    let settings = try SettingsReader.read(flagsOf: self, file: library.config)
    let path = CanonicalPath(resolving: site)
    if let problem = path.problem { throw CommandFailure(.couldNotRun, "\(site) can't be used: \(problem)") }
    let own = try CatalogPlace(settings).library.map { CanonicalPath(resolving: $0).text }
    if let own, path.text == own || path.text.hasPrefix(own + "/") {
      throw CommandFailure(
        .usage, "\(path.text) is inside the library, which belongs to Reel alone; name another folder")
    }
    // Find errors in the settings before anything is written.
    let upload: SiteUploadSession? =
      if let to { try await SiteUploadSession(to, settings, library: own) } else { nil }
    var options = SiteOptions()
    (options.title, options.size, options.media, options.names, options.all) = (
      title, size, media, names, all
    )
    let catalog: any PostCatalog =
      if let there = try await AppContext.reading(settings) { there } else { MemoryCatalog() }
    let writer = try SiteWriter(at: path, from: catalog, options: options, width: Processors.available)
    let summary = try await writer.run()
    let output = OutputStream.standardOutput
    if !json { try output.tell(lines(summary, isUploaded: upload != nil)) }
    let uploaded = try await upload?.run(writer, summary)
    if json {
      try output.answer(AnswerDocument(PageResult(site: summary, upload: uploaded)))
    } else if let uploaded {
      try output.tell(uploaded.lines)
    }
  }

  private func lines(_ summary: SiteSummary, isUploaded: Bool) -> [String] {
    let posts = HumanNumber.count(summary.posts, "post", "posts")
    let files = HumanNumber.count(summary.written, "file", "files")
    let removed = summary.removed > 0 ? ", \(summary.removed) taken out" : ""
    var lines = [
      summary.written == 0
        ? "nothing new: \(summary.site) shows \(posts)"
        : "\(summary.site) shows \(posts), \(summary.added) of them new\(removed); \(files) written",
      "Open it: \(summary.site)/index.html",
    ]
    if summary.missing > 0 {
      lines.append(
        "\(HumanNumber.count(summary.missing, "video is", "videos are")) not where the catalog says, or not what was published; "
          + "reel doctor tells which"
      )
    }
    if summary.isLocal, !isUploaded {
      lines.append(
        "Its videos are files on this machine: for a web server, put them into the site with --media copy or --media link"
      )
    }
    return lines
  }
}

/// What `--json` prints.
private struct PageResult: Encodable {
  let site: SiteSummary
  /// Nil without `--to`.
  let upload: SiteUploadSummary?

  private enum CodingKeys: String, CodingKey {
    case upload
  }

  func encode(to encoder: any Encoder) throws {
    try site.encode(to: encoder)
    guard let upload else { return }
    var container = encoder.container(keyedBy: CodingKeys.self)
    try container.encode(upload, forKey: .upload)
  }
}

extension MediaPlacement: ExpressibleByArgument {}
