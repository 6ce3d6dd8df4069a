import ArgumentParser
import FoundationEssentials
import ReelCore
import ReelIngest
import ReelProcess
import ReelSource
import ReelTerminal

/// `reel ingest PATH…`
struct IngestCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "ingest",
    abstract: "Ingest files and folders: each video becomes one post, once.",
    discussion: """
      Folders are walked in a fixed order. A file that you name is always examined; in a folder, only files whose \
      contents or name suggest a video. Captions can come from clip.json next to clip.mp4, or from a list (--captions).
      """,
    examples: [
      "reel ingest ~/Videos",
      "reel ingest uploads --to s3://videos/ --settle 60s",
      "reel ingest uploads --captions captions.csv --posters --dry-run",
    ])

  @OptionGroup(title: "Common") var place: TargetOptions
  @OptionGroup(title: "Common") var once: OnceOptions
  @OptionGroup(title: "Common") var lanes: JobsOptions
  @OptionGroup(title: "Which files") var names: FilterByNameOptions
  @OptionGroup(title: "Library and settings") var library: LibraryOptions
  @OptionGroup(title: "What posts say") var words: PostOptions
  @OptionGroup(title: "Posters and mending") var changes: PosterAndMendOptions
  @OptionGroup(title: "Limits") var limits: LimitOptions
  @OptionGroup(title: "Stores") var folder: FolderStoreOptions
  @OptionGroup(title: "Stores") var viewing: ViewingOptions
  @OptionGroup(title: "Stores over S3 and HTTP") var bucket: BucketOptions
  @OptionGroup(title: "Stores at Firebase") var firebase: FirebaseOptions
  @OptionGroup(title: "Stores on tus servers") var tus: TusOptions
  @OptionGroup(title: "Stores of your own programs") var adapter: AdapterOptions
  @OptionGroup(title: "How files are read") var reading: ReadingOptions
  @OptionGroup(title: "Progress, events and logs") var output: RunOutputOptions
  @OptionGroup(title: "How files are read") var walking: WalkingOptions

  @Option(
    name: .customLong("files0-from"),
    help: ArgumentHelp(
      "Ingest the files listed in FILE, or on stdin, separated by NULs.", valueName: "file|-"),
    completion: .file())
  var filesFrom: String?

  @Option(help: ArgumentHelp("What to do after a file has failed.", valueName: "continue|stop"))
  var onError: IngestOptions.OnError = .continue

  @Option(
    help: ArgumentHelp(
      "Leave files alone that were changed within this time before the run, or during it, such as 60s, as they may still be "
        + "written to: the next run takes them. Not for addresses and buckets (default: 0).",
      valueName: "time"), transform: TimeText.argument(0...86_400, "from 0 to 1d"))
  var settle: Double?

  @Option(
    help: ArgumentHelp(
      "A CSV file with a header: path (relative to the list), caption, music, author, authorName.",
      valueName: "file.csv"), completion: .file())
  var captions: String?

  @Option(
    help: ArgumentHelp(
      "Write what became of each file to an HTML file that needs nothing else.", valueName: "html=file"))
  var report: RunReportTarget?

  @Argument(
    help: "Files and folders, by path or address (s3://bucket/folder/, https://…).", completion: .file())
  var paths: [String] = []

  func validate() throws {
    if paths.isEmpty, filesFrom == nil {
      throw ValidationError("name the files or folders to ingest, or give a list with --files0-from.")
    }
  }

  func run() async throws {
    let settings = try SettingsReader.read(flagsOf: self, file: library.config)
    let named = try Sources.named(paths)
    let filter = try names.filter(in: filesFrom == nil ? named : [])
    let listed = try filesFrom.map { try FileListArgument.inputs($0).map(\.path) } ?? []
    let inputs = try await Sources.inputs(named + listed, settings)

    var options = words.ingestOptions(settings, once)
    // A file that is downloaded spends most of its time waiting, so more are processed at once.
    if settings.jobs == nil, inputs.contains(where: \.isRemote) {
      options.jobs = max(options.jobs, min(Sources.downloads, DescriptorLimit.jobs))
    }
    options.captions = try captions.map { name in
      let path = RawArguments.path(name)
      return try orCommandFailure(reading: "the caption list \(path)") { () throws(SourceError) in
        try CaptionList(at: path)
      }
    }
    options.onError = onError
    let page = try report.map { try UserFile(writing: $0.path, as: .html) }
    let session = try await RunSession.open(settings, options, output)
    var walk = WalkOptions(followLinks: reading.followLinks, filter: filter)
    session.appContext.excludeOwn(from: &walk)
    walk.includesTrash = walking.includeTrash
    (walk.settle, walk.begun) = (.seconds(settle ?? 0), Date())
    let exit = try await session.ingest(inputs, walk: walk, options: options, page: page)
    try exit.end()
  }
}

/// `--files0-from`
enum FileListArgument {
  static func inputs(_ name: String) throws -> [SourceInput] {
    let path = RawArguments.path(name)
    let subject = name == "-" ? "the list of files on standard input" : "the list of files \(path)"
    return try orCommandFailure(reading: subject) { () throws(SourceError) in
      try FileList.inputs(from: path)
    }
  }
}

extension IngestOptions.OnError: ExpressibleByArgument {}

/// `reel publish FILE`
struct PublishCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "publish",
    abstract: "Publish one video and print its post, or the existing post if there is one.",
    examples: [
      "reel publish clip.mp4 --caption \"First light\"",
      "reel publish https://example.org/clip.mp4 --to s3://videos/",
      "reel publish clip.mp4 --dry-run",
    ])

  @Option(help: "The caption.", transform: RawArguments.text)
  var caption: String?

  @Option(help: "The music's name.", transform: RawArguments.text)
  var music: String?

  @OptionGroup(title: "Common") var place: TargetOptions
  @OptionGroup(title: "Common") var once: OnceOptions
  @OptionGroup(title: "Library and settings") var library: LibraryOptions
  @OptionGroup(title: "What posts say") var words: PostOptions
  @OptionGroup(title: "Posters and mending") var changes: PosterAndMendOptions
  @OptionGroup(title: "Limits") var limits: LimitOptions
  @OptionGroup(title: "Stores") var folder: FolderStoreOptions
  @OptionGroup(title: "Stores") var viewing: ViewingOptions
  @OptionGroup(title: "Stores over S3 and HTTP") var bucket: BucketOptions
  @OptionGroup(title: "Stores at Firebase") var firebase: FirebaseOptions
  @OptionGroup(title: "Stores on tus servers") var tus: TusOptions
  @OptionGroup(title: "Stores of your own programs") var adapter: AdapterOptions
  @OptionGroup(title: "How files are read") var reading: ReadingOptions
  @OptionGroup(title: "Progress, events and logs") var output: RunOutputOptions

  @Argument(help: "The video, by path or address (s3://bucket/name, https://…).", completion: .file())
  var file: String

  func run() async throws {
    let settings = try SettingsReader.read(flagsOf: self, file: library.config)
    var options = words.ingestOptions(settings, once)
    let inputs = try await Sources.inputs(Sources.named([file]), settings)
    guard let input = inputs.first else { throw CommandFailure(.usage, "name the video") }
    options.jobs = 1
    options.metadata.caption = caption
    options.metadata.music = music
    let session = try await RunSession.open(settings, options, output)
    var walk = WalkOptions(followLinks: reading.followLinks)
    session.appContext.excludeOwn(from: &walk)
    let exit = try await session.publish(
      input, walk: walk, options: options)
    try exit.end()
  }
}
