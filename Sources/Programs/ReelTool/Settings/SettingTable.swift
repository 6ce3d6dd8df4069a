import ArgumentParser
import ReelCore
import ReelRemoteStorage
import ReelSandbox
import ReelStorage
import ReelTerminal

/// Every setting, in the order in which they are read: its name in the configuration file, its form, and the help of
/// its flag.
///
/// A row determines the setting's variable, its flag (`@Option(\.jobs) var jobs` puts it into a group of options), its
/// messages and its value (`Settings.jobs`). docs/settings.md has a row for each, too.
struct SettingTable: Sendable {
  let library = Setting(
    "library", .place,
    "The library folder: catalog, temporary files and, by default, the media. "
      + "Else $REEL_LIBRARY, else library in the configuration file, else $XDG_DATA_HOME/reel.",
    valueName: "dir", completion: .directory)
  let catalog = Setting(
    "catalog", .catalog,
    "A catalog shared by several machines, instead of a library: postgres://USER@HOST/DATABASE. "
      + "Else $REEL_CATALOG, else catalog in the configuration file.", valueName: "postgres://…")
  let to = Setting(
    "to", .place, "The destination: \(DestinationHelp.kinds). Default: media/ in the library.",
    valueName: "destination", completion: .directory)
  let policy = Setting(
    "policy", .place,
    "What is accepted: a preset or a policy file (`reel policy list`). Default: any whole video.",
    valueName: "name|file", completion: .policies)
  let author = Setting("author", .text, "The author's id.", valueName: "id")
  let authorName = Setting("authorName", .text, "The author's name.", valueName: "name")
  let publicBaseURL = Setting(
    "publicBaseURL", .baseURL, "The prefix of each object's public URL.", valueName: "url")
  let mode = Setting(
    "mode",
    .parsed("octal and let the owner read and write: 600, 640, 644") { FolderModes(octal: $0) },
    "Permissions of stored files, in octal (default: 600).", valueName: "mode")
  let jobs = Setting(
    "jobs", .number(1...64),
    "Files processed at once (default: twice the processors, at least 4; at least 16 where addresses are named).",
    valueName: "n")
  /// The number of characters in an object's name.
  let nameLength = Setting("nameLength", .number(16...64))
  let worker = Setting(
    "worker", .place, "The path of reel-probe-worker, if it is not next to reel.", valueName: "file",
    completion: .file())
  let deadline = Setting(
    "deadline", .seconds, "How long reading one file may take (default: 10s).", valueName: "time")
  let isolation = Setting<IsolationRequest>(
    "isolation", .choice,
    "How the worker is sandboxed: auto uses what the system offers, strict requires all of it.",
    valueName: "auto|strict|none")
  let progress = Setting<ProgressStyle>(
    "progress", .choice, "How progress is shown on stderr (default: auto).",
    valueName: "auto|bar|plain|none")
  let logLevel = Setting<LogLevel>(
    "logLevel", .choice,
    "Log events of this level and above to stderr, as key=value lines; replaces the progress display, unless "
      + "--progress is given.", valueName: "level")
  let limitRate = Setting(
    "limitRate",
    .parsed("in bytes per second, such as 10MB/s, 512KiB/s or 800000") { ByteRate($0) },
    "Bytes per second for all uploads together, such as 10MB/s or 512KiB/s.",
    valueName: "rate")
  let maxSize = Setting(
    "maxSize", .value("a size like 20GB or 512MiB, or none", SizeLimit.init),
    "The largest file accepted, such as 20GB or 512MiB, or none for no limit (default: 64GB).",
    valueName: "size")
  let uploads = Setting(
    "uploads", .number(1...64), "Concurrent uploads (default: 16 to S3, elsewhere as many as --jobs).",
    valueName: "n")
  let posters = Setting<PostersChoice>(
    "posters", .choice,
    "Give each post a poster, a JPEG beside its video; with required, a video without one is not published. "
      + "Without a value: wanted.",
    valueName: "wanted|required|none")
  let posterSize = Setting(
    "posterSize", .number(PosterOptions.sizes, of: "pixels"),
    "Pixels of a poster's longer side, 16 to 4096 (default: 512).", valueName: "pixels")
  let mend = Setting(
    "mend", .value(MendList.choices, MendList.init),
    "Mend files before they are published, as reel mend does: \(MendList.names), separated by commas; or "
      + "none (default).", valueName: "list")
  let maxRead = Setting(
    "maxRead", .value("a size like 64MiB or 1GB, at least 64KiB", ReadLimit.init),
    "How much of a file at an address may be read to find out what it is, such as 64MiB (default) or 1GB.",
    valueName: "size")

  let retries = Setting(
    "retries", .number(0...100),
    "How often a file of the queue that fails for a reason that may pass is tried again (default: 3).",
    valueName: "n")
  let retryDelay = Setting(
    "retryDelay", .seconds,
    "How long until it is tried again the first time; each further time takes four times as long, up to a day (default: 30s).",
    valueName: "time")

  // How a store that is not a folder is reached, and how viewers reach its objects.
  let endpoint = Setting(
    "endpoint", .endpoint,
    "The address of an S3-compatible store, such as https://minio.example:9000. "
      + "Else $AWS_ENDPOINT_URL_S3, $AWS_ENDPOINT_URL.", valueName: "url")
  let region = Setting(
    "region", .text, "The bucket's region. Else $AWS_REGION, the profile's, us-east-1.", valueName: "name")
  let pathStyle = Setting(
    "pathStyle", .yesOrNo,
    "Put the bucket in the path of a URL rather than in the host name. Default: with --endpoint.")
  let profile = Setting(
    "profile", .text, "The profile in the AWS shared files. Else $AWS_PROFILE.", valueName: "name")
  let credentials = Setting<CredentialPlace>(
    "credentials", .choice,
    "Where credentials come from: the environment and shared files, or the metadata endpoint of a container or a virtual machine (default: local).",
    valueName: "local|container|instance")
  let serviceAccount = Setting(
    "serviceAccount", .place,
    "For firebase://: the key of a service account (JSON, readable only by you). "
      + "Else $GOOGLE_APPLICATION_CREDENTIALS.", valueName: "file", completion: .file())
  let project = Setting(
    "project", .text,
    "For firebase://: the project whose Firestore keeps the posts. Else the key's, $GOOGLE_CLOUD_PROJECT.",
    valueName: "id")
  let caFile = Setting(
    "caFile", .place, "Certificates (PEM) to trust in addition to the system's. Else $AWS_CA_BUNDLE.",
    valueName: "file", completion: .file())
  let proxy = Setting(
    "proxy",
    // The message does not repeat the value, which may hold a password.
    .text.checking {
      HTTPRules(proxy: $0).knowsProxy
        ? nil : "can't be used; it is written like http://proxy.example:3128"
    },
    "The proxy for stores over HTTP, such as http://proxy.example:3128. "
      + "Else $https_proxy, $http_proxy, $all_proxy, except for hosts in $no_proxy.", valueName: "url")
  let insecureHTTP = Setting(
    "insecureHTTP", .yesOrNo,
    "Allow plain HTTP to another machine, where data can be read and changed in transit.")
  let presign = Setting(
    "presign", .time(1...604_800, "from 1s to 7d"),
    "Give viewers a signed URL that is valid for this long, up to 7d.", valueName: "time")
  let adapterEnv = Setting(
    "adapterEnv", .text,
    "Environment variables passed to a command: adapter, besides REEL_ADAPTER_*.", valueName: "name,name")
  let adapterDeadline = Setting(
    "adapterDeadline", .seconds,
    "How long a command: adapter may go without reporting progress (default: 1m).", valueName: "time")
  let uploadHosts = Setting(
    "uploadHosts", .text, "Hosts that a tus server may have the bytes sent to, besides its own.",
    valueName: "host,host")
  let requestChecksums = Setting<RequestChecksums>(
    "requestChecksums", .choice,
    "Which checksums are sent to S3 besides the signed one: when_supported or when_required, as AWS's own tools call "
      + "it. Else $AWS_REQUEST_CHECKSUM_CALCULATION, the profile's.", valueName: "when")
  let conditionalPuts = Setting(
    "conditionalPuts", .yesOrNo,
    "Ask S3 to create only what is absent (If-None-Match). Default: where the store knows that.")
}

extension SettingTable {
  static let table = SettingTable()

  /// All rows, in the order of their declaration.
  static let all = Mirror(reflecting: table).children.compactMap { $0.value as? any SettingRow }

  /// All rows, by their keys.
  static let rows = Dictionary(uniqueKeysWithValues: all.map { ($0.key, $0) })
}

extension SettingForm<CatalogSetting> {
  fileprivate static var catalog: SettingForm {
    SettingForm(argument: { CatalogSetting(address: try RawArguments.text($0), isArgument: true) }) {
      CatalogSetting(address: $0.text, isArgument: false)
    }
  }
}

extension SettingForm<String> {
  fileprivate static var baseURL: SettingForm {
    let problem = { @Sendable (text: String) in ObjectAddresses.problem(ofBase: text) }
    return SettingForm(argument: { try RawArguments.text($0) }, problem: problem) {
      text throws(SettingRefusal) in
      if let problem = problem(text.text) { throw SettingRefusal(reason: problem) }
      return text.text
    }
  }

  /// Only a flag's value is checked here. A value of the configuration file is checked by the commands that need it.
  fileprivate static var endpoint: SettingForm {
    .text.checking { text in
      do throws(HTTPAddressError) {
        _ = try HTTPAddress(parsing: text)
        return nil
      } catch {
        return "can't be used: \(error.reason)"
      }
    }
  }
}
