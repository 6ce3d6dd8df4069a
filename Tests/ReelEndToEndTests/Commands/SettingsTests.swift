import Foundation
import ReelTestSupport
import Testing

@testable import ReelTool

@Suite("Settings", .ownThread) struct SettingsTests {
  /// Returns the error of `reel feed` about a configuration file and variables; nil if there is none.
  private func complaint(_ file: String?, _ environment: [String: String] = [:]) async throws -> String? {
    let bench = try Workbench()
    var arguments = ["feed", "--library", bench.library.path]
    try bench.makeEmptyLibrary()
    if let file {
      try Data(file.utf8).write(to: bench.folder.appendingPathComponent("reel.yaml"))
      arguments += ["--config", "reel.yaml"]
    }
    let run = try await ReelBinary.run(arguments, in: bench.folder, environment: environment)
    #expect(run.status == 0 && run.errors.isEmpty || run.status == 1, "\(run.errors)")
    return run.status == 0 ? nil : run.errors
  }

  @Test(
    "each setting has a variable, and an invalid value is reported with the setting's name",
    arguments: [
      ("publicBaseURL", "REEL_PUBLIC_BASE_URL", "an absolute http or https address"),
      ("jobs", "REEL_JOBS", "a whole number from 1 to 64"),
      ("nameLength", "REEL_NAME_LENGTH", "a whole number from 16 to 64"),
      ("deadline", "REEL_DEADLINE", "a time like 90, 30s, 5m, 1h or 7d, above 0, up to 1h"),
      ("isolation", "REEL_ISOLATION", "one of auto, strict, none"),
      ("progress", "REEL_PROGRESS", "one of auto, bar, plain, none"),
      ("mode", "REEL_MODE", "octal and let the owner read and write: 600, 640, 644"),
      ("limitRate", "REEL_LIMIT_RATE", "in bytes per second, such as 10MB/s, 512KiB/s or 800000"),
      ("maxSize", "REEL_MAX_SIZE", "a size like 20GB or 512MiB, or none"),
      ("uploads", "REEL_UPLOADS", "a whole number from 1 to 64"),
      ("pathStyle", "REEL_PATH_STYLE", "true or false"),
      ("credentials", "REEL_CREDENTIALS", "one of local, container, instance"),
      ("insecureHTTP", "REEL_INSECURE_HTTP", "true or false"),
      ("presign", "REEL_PRESIGN", "a time like 90, 30s, 5m, 1h or 7d, from 1s to 7d"),
      ("adapterDeadline", "REEL_ADAPTER_DEADLINE", "a time like 90, 30s, 5m, 1h or 7d, above 0, up to 1h"),
    ])
  func names(key: String, variable: String, form: String) async throws {
    #expect(
      try await complaint(nil, [variable: "bad"])?.hasPrefix(
        "reel: \(variable) is \"bad\"; it must be \(form)") == true)
    let told = "reel: reel.yaml:1: \(key) is \"bad\"; it must be \(form)"
    // A variable takes precedence over the file, and an empty one cancels the file's value.
    let file = "\(key): bad\n"
    let own = [variable: variable == "REEL_DEADLINE" ? "1" : ""]
    #expect(try await complaint(file, own) == nil)
    // The tests set this variable for every run.
    if variable != "REEL_DEADLINE" { #expect(try await complaint(file)?.hasPrefix(told) == true) }
  }

  @Test("no number in the environment can crash the process", .notQuick)
  func extremes() async throws {
    let bench = try Workbench()
    let system = ["COLUMNS", "WATCHDOG_USEC", "WATCHDOG_PID", "AWS_REGION", "LC_ALL", "TERM"]
    let own = [
      "JOBS", "UPLOADS", "PRESIGN", "DEADLINE", "ADAPTER_DEADLINE", "MAX_SIZE", "MAX_READ", "NAME_LENGTH",
      "LIMIT_RATE", "POSTER_SIZE",
    ]
    let seed = TestSeed.drawn()
    var random = SplitMix64(seed: seed)
    let texts = Extremes.texts.filter { !$0.contains("\u{0}") }.shuffled(using: &random)
    for text in texts.prefix(TestForm.isLong ? texts.count : 8) {
      for names in [system] + own.map({ ["REEL_" + $0] }) {
        let environment = Dictionary(names.map { ($0, text) }) { first, _ in first }
        let run = try await ReelBinary.run(
          ["feed", "--library", bench.library.path], in: bench.folder, environment: environment)
        #expect(
          !run.wasKilled && [0, 1, 64].contains(run.status), "\(names), seed \(seed): \(run.errors)")
      }
    }
  }

  @Test(
    "what a shell would have taken off a variable's value is reported, and the value is not repeated",
    arguments: [
      ("\"ada\"", "has quotes around its value"), ("'ada'", "has quotes around its value"),
      ("ada\r", "ends with white space"), ("ada\r\n", "ends with white space"),
      (" ada", "ends with white space"),
      ("ada ", "ends with white space"), ("O'Ada", nil), ("\"A\" and \"B\"", nil), ("'", nil),
      ("a d\ta", nil),
    ] as [(String, String?)])
  func wrapped(value: String, told: String?) async throws {
    for variable in ["REEL_LIBRARY", "REEL_TO", "REEL_AUTHOR", "REEL_AUTHOR_NAME", "REEL_REGION"] {
      let error = try await complaint(nil, [variable: value])
      guard let told else {
        #expect(error == nil)
        continue
      }
      #expect(
        error?.hasPrefix("reel: \(variable) ") == true && error?.contains(told) == true
          && error?.contains("ada") == false, "\(error ?? "")")
    }
  }

  @Test(
    "a place that no shell has expanded is reported",
    arguments: ["~/reel", "$HOME/reel", "${HOME}/reel", "$HOME"])
  func unexpanded(place: String) async throws {
    #expect(
      try await complaint(nil, ["REEL_TO": place])?.contains("no shell expands \(place.prefix(1)) here")
        == true)
    #expect(
      try await complaint("to: \(place)\n")?.contains("no shell expands \(place.prefix(1)) here") == true)
  }

  @Test("a value on the command line that ends as a line does on Windows is reported")
  func lineEnds() async throws {
    let bench = try Workbench()
    for flag in ["--author", "--library", "--to", "--caption"] {
      let run = try await ReelBinary.run(["publish", "a.mp4", flag, "ada\r"], in: bench.folder)
      #expect(run.status == 64 && run.errors.contains("ends with a carriage return"), "\(run.errors)")
    }
  }

  @Test("names that only resemble a variable set nothing")
  func otherNames() async throws {
    let environment = [
      "REEL_INSECUREHTTP": "bad", "REEL_PUBLIC_BASE_U_R_L": "bad", "REEL_NAMELENGTH": "bad",
      "reel_jobs": "bad",
      "REEL_jobs": "bad",
    ]
    let run = try await ReelBinary.run(["version"], in: ReelBinary.project, environment: environment)
    #expect(run.status == 0 && !run.errors.contains("bad"), "\(run)")
  }

  @Test(
    "an unknown key is reported with its place and a suggestion",
    arguments: [
      ("Jobs: 2\n", "1:1: there is no setting \"Jobs\"; did you mean jobs?"),
      ("jobs: 2\nlibary: /srv\n", "2:1: there is no setting \"libary\"; did you mean library?"),
      ("publicBaseUrl: x\n", "did you mean publicBaseURL?"),
      ("reel: {jobs: 2}\n", "there is no setting \"reel\""),
      ("something_else: 2\n", "docs/settings.md lists them"),
      ("foo: 2\n", "there is no setting \"foo\"; docs/settings.md lists them"),
      ("jobs: [0]\n", "1:1: the setting jobs is one value, and this is a list"),
      ("library: {a: 0}\n", "the setting library is one value, and this is keys and values"),
      ("? [a]\n: 1\n", "1:3: a key is a word"),
      ("libary: a\njob: 2\n", "did you mean library? · 2:1: there is no setting \"job\"; did you mean jobs?"),
    ])
  func unknownKeys(text: String, told: String) async throws {
    let complaint = try await complaint(text)
    #expect(complaint?.hasPrefix("reel: the configuration file reel.yaml can't be used: ") == true)
    #expect(complaint?.contains(told) == true, "\(complaint ?? "")")
  }

  @Test(
    "a file without content is accepted",
    arguments: ["", "# library: /srv/reel\n", "\u{FEFF}", "jobs:\n", "{}\n"])
  func emptyFiles(text: String) async throws {
    #expect(try await complaint(text) == nil)
  }

  @Test("the policy can be a setting, and a flag overrides it")
  func policy() async throws {
    let bench = try Workbench()
    try bench.add("clips/silent.mp4", as: "a.mp4")
    let file = bench.folder.appendingPathComponent("long.yaml")
    try Data("policy: 1\nname: long\nrules:\n  duration.min: 1h\n".utf8).write(to: file)
    let refused = try await bench.reel("ingest", "clips", environment: ["REEL_POLICY": file.path])
    #expect(refused.status == 4 && refused.errors.contains("policy"), "\(refused)")
    let taken = try await bench.reel(
      "ingest", "clips", "--policy", "sanity", environment: ["REEL_POLICY": file.path])
    #expect(taken.status == 0, "\(taken)")
    let missing = try await bench.reel("ingest", "clips", environment: ["REEL_POLICY": "nothing.yaml"])
    let told = "is \"nothing.yaml\"; the policy can't be used: "
    #expect(missing.status == 1 && missing.errors.hasPrefix("reel: REEL_POLICY \(told)"), "\(missing)")
    try Data("# own\npolicy: nothing.yaml\n".utf8).write(
      to: bench.folder.appendingPathComponent("config.yaml"))
    let named = try await bench.reel("ingest", "clips", "--config", "config.yaml")
    #expect(
      named.status == 1 && named.errors.hasPrefix("reel: config.yaml:2: policy \(told)"), "\(named)")
    let flag = try await bench.reel("ingest", "clips", "--config", "config.yaml", "--policy", "nowhere.yaml")
    #expect(flag.status == 1 && flag.errors.hasPrefix("reel: the policy can't be used: "), "\(flag)")
  }

  /// Returns the rows of docs/settings.md: key, variable and flag.
  private func documented() throws -> [[String]] {
    let page = try String(
      contentsOf: ReelBinary.project.appendingPathComponent("docs/settings.md"), encoding: .utf8)
    return page.split(separator: "\n").filter { $0.hasPrefix("| `") }.map { row in
      row.split(separator: "|").prefix(3).map { $0.filter { $0 != "`" }.trimmingCharacters(in: .whitespaces) }
    }
  }

  @Test("docs/settings.md has a row for every setting, with its variable and its flag, and no other")
  func documentation() throws {
    let rows = try documented()
    #expect(rows.map { $0[0] }.sorted() == SettingTable.all.map(\.key).sorted())
    for row in rows {
      let words = row[0].reduce(into: "") { name, character in
        if character.isUppercase, name.last?.isLowercase == true { name.append("_") }
        name.append(character)
      }
      #expect(row[1] == "REEL_" + words.uppercased())
      #expect(SettingTable.rows[row[0]]?.variable == row[1])
      let flag = "--" + words.lowercased().replacingOccurrences(of: "_", with: "-")
      #expect(row[2].isEmpty || row[2].prefix { $0 != " " && $0 != "," } == flag, "\(row)")
      #expect(SettingTable.rows[row[0]]?.flag == flag)
    }
  }

  @Test("the value of a setting's flag becomes the setting's value")
  func flags() throws {
    // Each setting accepts one of these values.
    let values = [
      "32", "600", "local", "when_required", "none", "strict", "faststart", "debug", "1MB",
      "https://videos.example/",
    ]
    let groups: [any SettingFlags.Type] = [
      LibraryOptions.self, ReadingOptions.self, AddressOptions.self, RunOutputOptions.self,
      ReaderOptions.self, TargetOptions.self, PostOptions.self, PosterAndMendOptions.self,
      LimitOptions.self, JobsOptions.self, ViewingOptions.self, FolderStoreOptions.self,
      BucketOptions.self, FirebaseOptions.self, TusOptions.self, AdapterOptions.self, RetryOptions.self,
    ]
    for row in try documented() where !row[2].isEmpty {
      let flag = String(row[2].prefix { $0 != " " && $0 != "," })
      let group = groups.first { group in
        Mirror(reflecting: group.init()).children.contains { $0.label == "_" + row[0] }
      }
      let told = ([[flag]] + values.map { [flag, $0] }).lazy.compactMap { try? group?.parse($0) }
        .first.map { Settings(flagsOf: $0) }
      #expect(told?[row[0]] != nil, "\(row)")
    }
    #expect(Settings(flagsOf: try IngestCommand.parse(["clip.mp4"])).isEmpty)
  }

  @Test("an option that only shares a setting's name does not set it")
  func otherOptions() throws {
    let page = try PageCommand.parse(["site", "--to", "s3://bucket/"])
    #expect(Settings(flagsOf: page).isEmpty)
    let feed = try FeedCommand.parse(["--author", "ann"])
    #expect(Settings(flagsOf: feed).isEmpty)
    let check = try UploaderCommand.CheckCommand.parse(["store", "--deadline", "20"])
    #expect(Settings(flagsOf: check).isEmpty)
  }

  @Test(
    "the numbers that are accepted",
    arguments: [
      ("2", true), ("'2'", true), ("+2", true), ("", true), ("\"\"", true), ("[0]", false), ("{a: 0}", false),
      ("0", false), ("65", false), ("-1", false), ("0x2", false), ("1_0", false), ("2.0", false),
      ("1:30", false), ("' 2'", false), ("~", true), ("'~'", false), ("99999999999999999999999999", false),
      ("٣", false),
    ])
  func numbers(value: String, isTaken: Bool) async throws {
    #expect((try await complaint("jobs: \(value)\n") == nil) == isTaken)
  }

  @Test(
    "the boolean values that a file and a variable accept",
    arguments: [
      ("true", true, true), ("TRUE", true, true), ("tRue", true, true), ("yes", true, true),
      ("on", true, nil), ("1", nil, true), ("false", false, false), ("No", false, false), ("off", false, nil),
      ("0", nil, false), ("y", nil, nil), ("2", nil, nil), ("null", false, nil), ("'null'", nil, nil),
      ("'true'", nil, nil),
      ("!!str true", nil, nil), ("!!bool true", true, nil), ("[true]", nil, nil),
    ] as [(String, Bool?, Bool?)])
  func yesOrNo(value: String, inFile: Bool?, inVariable: Bool?) async throws {
    // Plain http to another machine is refused unless it is allowed. For a folder without files nothing is sent.
    func isAllowed(_ file: String, _ environment: [String: String]) async throws -> Bool? {
      let bench = try Workbench()
      try FileManager.default.createDirectory(
        at: bench.folder.appendingPathComponent("none"), withIntermediateDirectories: true)
      try Data(file.utf8).write(to: bench.folder.appendingPathComponent("reel.yaml"))
      let keys = ["AWS_ACCESS_KEY_ID": "id", "AWS_SECRET_ACCESS_KEY": "key"]
      let run = try await ReelBinary.run(
        [
          "ingest", "none", "--dry-run", "--library", bench.library.path, "--config", "reel.yaml", "--to",
          "s3+http://store.invalid/bucket",
        ], in: bench.folder, environment: keys.merging(environment) { $1 })
      if run.status == 0 { return true }
      #expect(run.status == 1, "\(run.errors)")
      let refusals = ["it must be true or false", "is one value", "has quotes around its value"]
      if refusals.contains(where: run.errors.contains) { return nil }
      #expect(run.errors.contains("is not encrypted"), "\(run.errors)")
      return false
    }
    #expect(try await isAllowed("insecureHTTP: \(value)\n", [:]) == inFile)
    #expect(try await isAllowed("jobs: 1\n", ["REEL_INSECURE_HTTP": value]) == inVariable)
  }

  @Test(
    "an unusable configuration file is reported with the place of the error",
    arguments: [
      ("- a\n", "it must be keys and values, like `library: /srv/reel`"),
      ("text\n", "it must be keys and values, like `library: /srv/reel`"),
      ("author: [unclosed\n", "2:1: it is not YAML: did not find expected ',' or ']'"),
      ("author: a: b\n", "1:10: it is not YAML: mapping values are not allowed in this context"),
      ("author: a\n---\nauthor: b\n", "2:1: it is not YAML: expected a single document in the stream"),
      ("author: *x\n", "1:9: it is not YAML: found undefined alias"),
      ("author: a\u{1}b\n", "1:10: it is not text: control characters are not allowed"),
      ("author: a\nauthor: b\n", "1:1: this key appears twice: author; keep one"),
      (String(repeating: "[", count: 70), "nested more than 64 levels deep"),
    ])
  func brokenFiles(text: String, told: String) async throws {
    let complaint = try await complaint(text)
    let form = "reel: the configuration file reel.yaml can't be used: "
    #expect(complaint?.hasPrefix(form) == true && complaint?.contains(told) == true, "\(complaint ?? "")")
  }

  @Test("a file that is missing, or is not text, is reported")
  func noFile() async throws {
    let bench = try Workbench()
    try Data([0x61, 0x3A, 0xFF]).write(to: bench.folder.appendingPathComponent("latin.yaml"))
    for (name, told) in [
      ("latin.yaml", "it is not UTF-8"), ("none.yaml", "none.yaml can't be read: No such file"),
      (".", "not a regular file"),
      ("/dev/zero", "not a regular file"),
    ] {
      let run = try await ReelBinary.run(["feed", "--config", name], in: bench.folder)
      #expect(run.status == 1 && run.errors.contains(told), "\(run.errors)")
    }
  }

  @Test(
    "an author is text, whatever type YAML would infer",
    arguments: [
      ("author: 12\n", "12"), ("author: 1.50\n", "1.50"), ("author: true\n", "true"),
      ("author: ~\n", nil), ("author: null\nto: NULL\n", nil), ("author: 'null'\n", "null"),
      ("'author': |\n  two\n  words\n", "two\nwords\n"), ("\u{FEFF}author: é\r\njobs: 1\r\n", "é"),
      ("authorName: &x me\nauthor: *x\n", "me"), ("author: ''\n", nil),
    ] as [(String, String?)])
  func texts(file: String, author: String?) async throws {
    let bench = try Workbench()
    try bench.addDistinct(1)
    try Data(file.utf8).write(to: bench.folder.appendingPathComponent("reel.yaml"))
    let run = try await bench.reel("publish", "clips/clip-00000.mp4", "--json", "--config", "reel.yaml")
    #expect(run.status == 0, "\(run.errors)")
    #expect(try run.object()["author"] as? String == author)
  }
}
