import Glibc

/// Gives a file or folder exactly `mode` where it has another one. Where its file system lets nobody change that (SMB, FAT,
/// many in user space), one that allows more will do: it was made with `mode`, so that is what everything has there.
/// - Throws: where the mode can't be changed and lacks something.
package func settleMode(_ mode: mode_t, of path: String) throws(SystemError) {
  var status = stat()
  _ = try retryingInterrupts("stat") { stat(path, &status) }
  try settle(mode, status) { chmod(path, mode) }
}

/// The same for an open one.
package func settleMode(_ mode: mode_t, of file: Descriptor) throws(SystemError) {
  try settle(mode, try file.status()) { fchmod(file.rawValue, mode) }
}

private func settle(_ mode: mode_t, _ status: stat, _ change: () -> Int32) throws(SystemError) {
  if status.st_mode & 0o7777 == mode { return }
  do throws(SystemError) {
    _ = try retryingInterrupts("chmod", change)
  } catch {
    guard [EPERM, ENOSYS, EOPNOTSUPP].contains(error.code), status.st_mode & mode == mode else { throw error }
  }
}
