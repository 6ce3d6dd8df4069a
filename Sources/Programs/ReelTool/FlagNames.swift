import ReelCore

/// The library names settings (`ErrorMessage.Setting`); the command line tells them as its flags.
enum FlagNames {
  /// The message with `--jobs` where it names the setting `jobs`.
  static func put(into message: ErrorMessage) -> String { message.naming(flag) }

  static func flag(_ setting: ErrorMessage.Setting) -> String {
    switch setting {
    case .adapterDeadline: "--adapter-deadline"
    case .uploadHosts: "--upload-hosts"
    case .caFile: "--ca-file"
    case .credentials: "--credentials"
    case .deadline: "--deadline"
    case .duplicates: "--duplicates"
    case .endpoint: "--endpoint"
    case .followLinks: "--follow-links"
    case .insecureHTTP: "--insecure-http"
    case .isolation: "--isolation"
    case .jobs: "--jobs"
    case .library: "--library"
    case .maxRead: "--max-read"
    case .maxSize: "--max-size"
    case .noPathStyle: "--no-path-style"
    case .project: "--project"
    case .proxy: "--proxy"
    case .publicBaseURL: "--public-base-url"
    case .region: "--region"
    case .serviceAccount: "--service-account"
    case .to: "--to"
    case .uploads: "--uploads"
    case .worker: "--worker"
    }
  }
}

extension FlagNames {
  static func flag(_ mend: Mend) -> String {
    switch mend {
    case .faststart: "--faststart"
    case .unfragment: "--unfragment"
    case .location: "--strip-location"
    case .privateTags: "--strip-private"
    case .credentials: "--drop-credentials"
    case .duration: "--duration"
    case .data: "--drop-data"
    case .salvage: "--salvage"
    case .rotation: "--rotate"
    case .sampleAspectRatio: "--sar"
    case .fileExtension: "--fix-extension"
    }
  }
}

extension ReelError {
  /// The message as the command line tells it.
  var told: String { FlagNames.put(into: text) }
}
