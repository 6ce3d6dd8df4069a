import Glibc

/// Sets the mode of a file or folder to exactly `mode`, if it differs. If the file system does not allow that (SMB,
/// FAT, many in user space), a mode with additional permissions is accepted: the file was created with `mode`, so
/// that file system gives them to every file.
/// - Throws: If the mode cannot be changed and lacks a permission.
package func settleMode(_ mode: mode_t, of path: String) throws(SystemError) {
  var status = stat()
  _ = try retryingInterrupts("stat") { stat(path, &status) }
  try settle(mode, status) { chmod(path, mode) }
}

/// Does the same for an open file or folder.
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
