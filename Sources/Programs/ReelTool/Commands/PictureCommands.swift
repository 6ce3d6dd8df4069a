import ArgumentParser
import Glibc
import ReelCore
import ReelIngest
import ReelSandbox
import ReelTerminal
import ReelUpkeep
import Synchronization

/// Where pictures go, and how large they are.
struct PictureOptions: ParsableArguments {
  @Option(
    name: [.short, .customLong("output")],
    help: ArgumentHelp(
      "Where the picture goes: a file, a folder (FOLDER/) for several, or - for stdout.", valueName: "file"),
    completion: .file())
  var output: String?

  @Option(
    help: ArgumentHelp("Pixels on the longer side of a picture, from 16 to 4096.", valueName: "pixels"))
  var size: Int?

  @Flag(
    help: ArgumentHelp(
      "Replace pictures that are there already.",
      discussion: "Without it, a file whose picture has the name of another file in the folder fails."))
  var force = false

  @Flag(help: .hidden)
  var overwrite = false

  /// Whether existing pictures are replaced.
  func replaces() -> Bool {
    if overwrite { FormerWords.tell("--overwrite", isNow: "--force") }
    return force || overwrite
  }

  func validate() throws {
    if output?.isEmpty == true { throw ValidationError("-o is empty; name a file or a folder.") }
    if let size, !PosterOptions.sizes.contains(size) {
      throw ValidationError("--size must be a number of pixels from 16 to 4096.")
    }
  }

  /// - Throws: a usage error where `-o` was left out; what ``PictureTarget`` throws.
  func target(isOnePicture: Bool) throws -> PictureTarget {
    guard let output else { throw Self.incomplete }
    return try PictureTarget(RawArguments.path(output), isOnePicture: isOnePicture)
  }

  func writer(to target: PictureTarget) throws -> PictureWriter {
    let isForced = replaces()
    let writer = try PictureWriter(target, replacesPictures: isForced) {
      try OutputStream.standardOutput.write($0)
    }
    if !isForced, let replaced = writer.replaced { FormerWords.tellReplaced(replaced.text) }
    return writer
  }

  static let incomplete = ValidationError(
    "name the files, and where the picture goes: -o FILE or -o FOLDER/.")
}

extension PictureTarget {
  /// - Parameters:
  ///   - path: as for ``OutputPlace``.
  ///   - isOnePicture: whether there is at most one picture.
  /// - Throws: ``CommandFailure`` for several pictures in one file, for a name with the extension of another format,
  ///   and for a terminal.
  init(_ path: SourcePath, isOnePicture: Bool) throws {
    switch try OutputPlace(path, isOne: isOnePicture, "picture") {
    case .standardOutput:
      guard isatty(STDOUT_FILENO) == 0 else {
        throw CommandFailure(
          .usage, "a picture is not written to a terminal; name a file (-o FILE), or redirect the output")
      }
      self = .standardOutput
    case .folder(let folder): self = .folder(folder)
    case .file(let file):
      if let name = Self.name(insteadOf: file) {
        throw CommandFailure(
          .usage, "pictures are written as JPEG, and the name \(file.text) says something else; name \(name)")
      }
      self = .file(file)
    }
  }
}

/// `reel poster FILE… -o FILE|FOLDER/`
struct PosterCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "poster",
    abstract: "Make a poster for a video: a JPEG of the first good picture about a tenth of the way in.",
    discussion: """
      The poster is upright, with square pixels and standard colours, at most 512 pixels on its longer side, never larger \
      than the video is shown, and without metadata. The pictures are decoded by a confined process that reads nothing else.
      """,
    examples: [
      "reel poster clip.mp4 -o clip.jpg",
      "reel poster ~/Videos -o posters/ --size 720",
      "reel poster --missing",
    ])

  @OptionGroup var picture: PictureOptions
  @OptionGroup(title: "Which files") var names: FilterByNameOptions
  @OptionGroup(title: "How files are read") var lanes: JobsOptions
  @OptionGroup(title: "How files are read") var reading: ReadingOptions
  @OptionGroup var library: LibraryOptions

  @Flag(help: "Take the cover of a file that has one.")
  var cover = false

  @Flag(help: "Print JSON: where the poster of each file is, its size and its blurHash.")
  var json = false

  @Flag(help: "Print one JSON object per file.")
  var jsonl = false

  @Flag(help: "Instead of files: give each post of the library that has no poster one, beside its video.")
  var missing = false

  @Option(
    help: ArgumentHelp(
      "With --missing: only the posts of this store, given by its address or its name in `reel status`.",
      valueName: "destination"), completion: .directory, transform: RawArguments.place)
  var to: String?

  @Argument(help: "The files; a folder means the videos in it.", completion: .file())
  var files: [String] = []

  func validate() throws {
    if json, jsonl { throw ValidationError("--json and --jsonl exclude each other.") }
    if missing {
      guard files.isEmpty, picture.output == nil else {
        throw ValidationError(
          "--missing takes no files and no -o: posters go where the videos of their posts are.")
      }
      return
    }
    if to != nil { throw ValidationError("--to goes with --missing; -o says where a picture goes.") }
    guard !files.isEmpty, picture.output != nil else { throw PictureOptions.incomplete }
    if json || jsonl, picture.output == "-" {
      throw ValidationError(
        "--\(json ? "json" : "jsonl") and -o - would both write to standard output; give -o a file or a folder."
      )
    }
  }

  func run() async throws {
    let settings = try SettingsReader.read(flagsOf: self, file: library.config)
    let options = PosterOptions(
      size: picture.size ?? settings.posterSize ?? PosterOptions.defaultSize, prefersCover: cover)
    if missing { return try await makeMissing(settings, options) }
    let session = try PictureSession(
      settings, files, followLinks: reading.followLinks,
      filter: try names.filter(in: RawArguments.paths(files)))
    let target = try picture.target(isOnePicture: session.isOneFile)
    let writer = Mutex(try picture.writer(to: target))
    let printer = PosterPrinter(
      format: json ? .json : jsonl ? .lines : .text, isBesidePicture: target.isStandardOutput)
    let ending = try await printer.ending(AnswerProblem.couldNotGoOn) {
      try await session.run(largest: 3 * options.size * options.size) { file, flag throws(PosterError) in
        try session.prober.poster(of: file, sniffed: nil, options: options, cancellation: flag)
      } _: { made in
        if let identity = made.identity { writer.withLock { $0.spare(identity) } }
        let result: Result<PosterDocument.Made, FileFailure>
        switch made.result {
        case .success(let poster):
          result = try Self.written(poster, made, writer)
        case .failure(let failure): result = .failure(failure)
        }
        let document = PosterDocument(path: made.path, result: result)
        try printer.tell(document)
        if case .failure(let failure) = document.result { return failure }
        return nil
      }
    }
    await session.close()
    try printer.finish(
      NoKeys(), problems: ending == .interrupted ? [.interrupted] : [],
      ok: ending == .done)
    try ending.end()
  }

  private func makeMissing(_ settings: Settings, _ options: PosterOptions) async throws {
    let printer = PosterPrinter(format: json ? .json : jsonl ? .lines : .failures, isBesidePicture: false)
    let count = try await printer.ending(AnswerProblem.couldNotGoOn) {
      try await PosterSession.makeMissing(settings, options, to: to, report: printer.tell)
    }
    let report = MissingPostersReport(count, reason: CommandFailure.reason)
    try report.tell(printer, asText: !json && !jsonl)
    try (report.isWhole ? ReelExit.done : .someFailed).end()
  }

  private static func written(
    _ poster: Poster, _ made: PicturedFile<Poster>, _ writer: borrowing Mutex<PictureWriter>
  ) throws -> Result<PosterDocument.Made, FileFailure> {
    do {
      let file = try writer.withLock { try $0.write(poster.jpeg, of: made.path) }
      return .success(PosterDocument.Made(poster: poster, file: file))
    } catch let failure as FileFailure {
      return .failure(failure)
    }
  }
}

/// `reel sheet FILE|FOLDER… -o FILE`
struct SheetCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "sheet",
    abstract: "Make a contact sheet: pictures of one video with their times, or one picture of each video.",
    examples: [
      "reel sheet clip.mp4 -o sheet.jpg",
      "reel sheet ~/Videos -o all.jpg --columns 6",
    ])

  @OptionGroup var picture: PictureOptions
  @OptionGroup(title: "Which files") var names: FilterByNameOptions
  @OptionGroup(title: "How files are read") var lanes: JobsOptions
  @OptionGroup(title: "How files are read") var reading: ReadingOptions
  @OptionGroup var general: GeneralOptions

  @Option(help: ArgumentHelp("Pictures beside each other.", valueName: "n"))
  var columns = 4

  @Option(help: ArgumentHelp("Pictures of one video.", valueName: "n"))
  var pictures = 16

  @Flag(help: "Print JSON: where the sheet is, and how many pictures are on it.")
  var json = false

  private struct Answer: Encodable {
    /// Nil where no sheet was made.
    let file: String?
    let pictures: Int
  }

  @Argument(help: "One video, or several; a folder means the videos in it.", completion: .file())
  var files: [String] = []

  /// The default length of a picture's longer side, in pixels.
  private static let defaultSize = 320

  func validate() throws {
    guard !files.isEmpty, picture.output != nil else { throw PictureOptions.incomplete }
    if json, picture.output == "-" {
      throw ValidationError("--json and -o - would both write to standard output; give -o a file.")
    }
    guard (1...40).contains(columns) else {
      throw ValidationError("--columns must be a number from 1 to 40.")
    }
    guard (1...TileCollection.most).contains(pictures) else {
      throw ValidationError("--pictures must be a number from 1 to \(TileCollection.most).")
    }
  }

  func run() async throws {
    let settings = try SettingsReader.read(flagsOf: self, file: general.config)
    let session = try PictureSession(
      settings, files, followLinks: reading.followLinks,
      filter: try names.filter(in: RawArguments.paths(files)))
    let target = try picture.target(isOnePicture: true)
    let (count, side) = (session.isOneFile ? pictures : 1, picture.size ?? Self.defaultSize)
    let tiles = Mutex(TileCollection(ofOneFile: session.isOneFile))
    let problems = Mutex<[AnswerProblem]>([])
    let writer = Mutex(try picture.writer(to: target))
    let ending = try await session.run(largest: 3 * side * side) { file, flag throws(PosterError) in
      try session.prober.frames(of: file, count: count, side: side, cancellation: flag)
    } _: { made in
      if let identity = made.identity { writer.withLock { $0.spare(identity) } }
      switch made.result {
      case .success(let frames):
        try tiles.withLock { try $0.add(frames.map { ($0.picture, $0.time) }, of: made.path) }
        return nil
      case .failure(let failure):
        let document = PosterDocument(path: made.path, result: .failure(failure))
        if json {
          problems.withLock { $0 += document.problem.map { [$0] } ?? [] }
        } else {
          try OutputStream.standardError.write(document.text(.standardError()))
        }
        return failure
      }
    }
    let collected = tiles.withLock { $0 }
    if ending == .done, collected.tiles.isEmpty {
      throw CommandFailure(.couldNotRun, "no video was found, so no sheet was made")
    }
    var file: SourcePath?
    if ending != .interrupted, !collected.tiles.isEmpty {
      guard let sheet = ContactSheet.picture(of: collected.tiles, columns: columns) else {
        throw TileCollection.TooLarge()
      }
      let bytes = try await session.jpeg(of: sheet)
      file = try writer.withLock { try $0.write(bytes, of: SourcePath("sheet")) }
    }
    await session.close()
    if json {
      if ending == .interrupted { problems.withLock { $0.append(.interrupted) } }
      let answer = Answer(file: file?.text, pictures: file == nil ? 0 : collected.tiles.count)
      try OutputStream.standardOutput.answer(
        AnswerDocument(answer, problems: problems.withLock { $0 }, ok: ending == .done))
    } else if let file, picture.output != "-" {
      let count = HumanNumber.count(collected.tiles.count, "picture", "pictures")
      try OutputStream.standardOutput.tell(["\(file): \(count)"])
    }
    try ending.end()
  }
}
