import ReelIngest
import ReelModel

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

  /// `45%` while it is uploaded.
  var percent: String? {
    guard case .uploading(let progress) = step else { return nil }
    return HumanNumber.percent(progress.sent, of: progress.total)
  }
}
