import Glibc
import ReelModel
import ReelSystem

/// A machine that is short of something: no fault of the file's, and none of the installation's.
extension ProbeError {
  /// What `error` says was missing when a reader was to be started or handed a file; nil when it speaks of something
  /// else.
  static func shortage(_ error: SystemError) -> ProbeError? {
    switch error.code {
    case EMFILE, ENFILE:
      ProbeError(
        .tooManyOpenFiles,
        "it was not read, because no descriptor was left for its reader (\(error)); raise the limit (`ulimit -n`) "
          + "or use fewer --jobs, then run the same command again")
    case EAGAIN, ENOMEM, ENOBUFS: noReader("\(error)")
    default: nil
    }
  }

  /// - Parameter reason: why no process could be started.
  static func noReader(_ reason: String) -> ProbeError {
    ProbeError(
      .noReader,
      "it was not read, because this machine would not start a process for it (\(reason)); use fewer --jobs, or raise "
        + "the limits on processes and memory, then run the same command again")
  }
}
