import ArgumentParser
import Glibc
import ReelCore
import ReelTerminal
import Synchronization

/// What to mend, as flags.
struct MendFlags: ParsableArguments {
  @Flag(help: "Move the index of an MP4 to the front, so that it can play while it downloads.")
  var faststart = false

  @Flag(help: "Turn a fragmented MP4 into one with a single index.")
  var unfragment = false

  @Flag(help: "Write the duration and a seek index into a WebM or Matroska file that lacks them.")
  var duration = false

  @Flag(help: "Remove what tells where it was recorded, including timed metadata tracks.")
  var stripLocation = false

  @Flag(help: "Remove the location, serial numbers and all other tags that are not known to be harmless.")
  var stripPrivate = false

  @Flag(
    help:
      "Remove Content Credentials (C2PA), which hold only for the file as it is. A file that has some is not mended otherwise."
  )
  var dropCredentials = false

  @Option(
    help: ArgumentHelp("Show it turned clockwise: 0, 90, 180 or 270.", valueName: "degrees"))
  var rotate: Int?

  @Option(
    help: ArgumentHelp("Show its pixels in this shape, such as 1:1 or 12:11.", valueName: "width:height"))
  var sar: String?

  @Flag(help: "Remove tracks that are not video, audio or text.")
  var dropData = false

  @Flag(help: "Make a file that was cut off playable up to its last whole picture.")
  var salvage = false

  @Flag(help: "Give the mended file the extension of what it really is.")
  var fixExtension = false

  func validate() throws {
    if let rotate, ![0, 90, 180, 270].contains(rotate) {
      throw ValidationError("--rotate must be 0, 90, 180 or 270.")
    }
    if sar != nil, ratio == nil {
      throw ValidationError("--sar must be a ratio of whole numbers from 1 to 65536, such as 1:1 or 12:11.")
    }
  }

  private var ratio: SampleAspectRatio? {
    let parts = (sar ?? "").split(separator: ":", omittingEmptySubsequences: false).map { Int($0) }
    guard parts.count == 2, let width = parts[0], let height = parts[1], max(width, height) <= 1 << 16 else {
      return nil
    }
    return Rational(width, height).map { SampleAspectRatio($0) }
  }

  var options: MendOptions {
    let flags: [(Bool, Mend)] = [
      (faststart, .faststart), (unfragment, .unfragment), (duration, .duration), (stripLocation, .location),
      (stripPrivate, .privateTags), (dropCredentials, .credentials), (dropData, .data), (salvage, .salvage),
      (fixExtension, .fileExtension),
    ]
    return MendOptions(
      Set(flags.filter(\.0).map(\.1)), rotation: rotate, sampleAspectRatio: ratio)
  }
}

/// `reel mend FILE… -o FILE|FOLDER/`
struct MendCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "mend",
    abstract:
      "Fix or clean a file without re-encoding it: move the index to the front, remove the location, and more.",
    discussion: """
      Nothing is encoded, and it is proved each time: the packets of every stream that is kept are the same bytes with the \
      same times, or nothing is written. The source is never changed. A file that needs no mending is not written.

      Exit codes: 0 mended, or nothing to mend · 3 some files could not be read or written here · 4 some files can't be \
      mended, the others were · 1 could not run, a file is not there, or -o FILE can't have that name · 64 usage · \
      130 interrupted.
      """,
    examples: [
      "reel mend clip.mp4 --faststart -o mended.mp4",
      "reel mend ~/Videos --strip-location -o clean/",
      "reel mend clip.mp4 --policy web-playback -o mended.mp4",
    ])

  @OptionGroup(title: "What is mended") var flags: MendFlags

  @Option(
    help: ArgumentHelp(
      "Mend what this policy asks for and can be mended without loss: a preset or a policy file.",
      valueName: "name|file"), completion: .file(), transform: RawArguments.place)
  var policy: String?

  @Option(
    name: [.short, .customLong("output")],
    help: ArgumentHelp(
      "Where the mended file goes, or a folder (FOLDER/) for several, which keep their names and their places below the "
        + "folders that are named.", valueName: "file"), completion: .file())
  var output: String?

  @Option(help: .hidden, completion: .directory)
  var to: String?

  @Flag(help: "Replace files that are where mended ones go.")
  var force = false

  @Flag(help: "Print JSON: what became of the file, or of each in `files`.")
  var json = false

  @Flag(help: "Print one JSON object per line, in the order of the files.")
  var jsonl = false

  @OptionGroup(title: "Which files") var names: FilterByNameOptions
  @OptionGroup(title: "How files are read") var lanes: JobsOptions
  @OptionGroup(title: "How files are read") var reading: ReadingOptions
  @OptionGroup var general: GeneralOptions

  @Argument(help: "The files; a folder means the videos in it.", completion: .file())
  var files: [String]

  func validate() throws {
    if json, jsonl { throw ValidationError("--json and --jsonl exclude each other.") }
    guard (output == nil) != (to == nil), output?.isEmpty != true, to?.isEmpty != true else {
      throw ValidationError("say where mended files go: -o FILE for one, or -o FOLDER/.")
    }
    if flags.options.mends.isEmpty, policy == nil {
      throw ValidationError("say what is to be mended, such as --faststart, or name a --policy.")
    }
  }

  private func place() -> SourcePath {
    guard let to else { return RawArguments.path(output ?? "") }
    let folder = RawArguments.path(to.hasSuffix("/") ? to : to + "/")
    FormerWords.tell(
      "--to \(ShellWord.quoted(RawArguments.bytes(of: to)))", isNow: "-o \(ShellWord.quoted(folder.bytes))")
    return folder
  }

  func run() async throws {
    let settings = try SettingsReader.read(flagsOf: self, file: general.config)
    let policy = try policy.map { try PolicyFiles.policy($0) }
    let session = try MendSession(
      settings, files, output: place(), replaces: force, options: flags.options, policy: policy,
      followLinks: reading.followLinks, filter: try names.filter(in: RawArguments.paths(files)))
    let (printsAll, printsLines) = (json, jsonl)
    let kept = Mutex<[MendDocument]>([])
    let ending = try await session.run { document in
      if printsAll {
        kept.withLock { $0.append(document) }
      } else if printsLines {
        try OutputStream.standardOutput.write(try document.json())
      } else if document.isFailure {
        try OutputStream.standardError.write(document.text(.standardError()))
      } else {
        try OutputStream.standardOutput.write(document.text(.standardOutput()))
      }
    }
    await session.close()
    if printsAll {
      let all = kept.withLock { $0 }
      let problems = all.compactMap(\.problem) + (ending == .interrupted ? [.interrupted] : [])
      if session.isOneFile, let only = all.first {
        try OutputStream.standardOutput.answer(AnswerDocument(only, problems: problems))
      } else {
        try OutputStream.standardOutput.answer(AnswerDocument(["files": all], problems: problems))
      }
    }
    try ending.end()
  }
}
