import ReelCore
import ReelIngest

extension FileInFlight {
  /// How far its transfer has come; nil before it begins.
  var progress: TransferProgress? {
    switch step {
    case .reading, .probed, .named: nil
    case .uploading(let progress), .retrying(let progress): progress
    }
  }

  /// What is done with it now; at most ``stepColumns`` cells.
  var stepWord: String {
    switch step {
    case .reading: "reading"
    case .probed: "probed"
    case .named: "starting"
    case .uploading: "uploading"
    case .retrying(let progress): progress.attempt < 1000 ? "retry \(progress.attempt)" : "retry"
    }
  }

  static let stepColumns = 9

  /// The same in at most ``percentColumns`` cells.
  var shortStepWord: String {
    switch step {
    case .reading, .probed: "read"
    case .named: "open"
    case .uploading: "send"
    case .retrying(let progress): progress.attempt < 10 ? "try\(progress.attempt)" : "try+"
    }
  }

  /// `45%` once it is uploaded.
  var percent: String? {
    progress.flatMap { HumanNumber.percent($0.sent, of: $0.total) }
  }

  /// Cells of `100%`.
  static let percentColumns = 4
}
