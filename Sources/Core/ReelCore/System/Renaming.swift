import CReel
import Glibc

/// Gives the file `old` the name `new`, which no file has: in one step where the file system knows that. Where it does not
/// (NFS, 9p, many in user space) a second name takes its place, which replaces nothing either, and the first one goes; where
/// there are no second names, a look comes before the rename.
/// - Parameters: the files' paths, or names in open folders.
/// - Returns: whether a file that gets the name at the same moment would not have been replaced.
/// - Throws: `EEXIST` where a file has the name.
@discardableResult
package func renameWithoutReplacing(
  _ old: UnsafePointer<CChar>, in folder: Int32 = AT_FDCWD, to new: UnsafePointer<CChar>,
  in target: Int32 = AT_FDCWD
) throws(SystemError) -> Bool {
  do throws(SystemError) {
    _ = try retryingInterrupts("rename") { reel_rename_without_replacing(folder, old, target, new) }
    return true
  } catch {
    guard [EINVAL, ENOSYS, EOPNOTSUPP].contains(error.code) else { throw error }
  }
  do throws(SystemError) {
    _ = try retryingInterrupts("link") { linkat(folder, old, target, new, 0) }
    // It has the new one, which is what counts.
    if unlinkat(folder, old, 0) == 0 { Failpoint.temporaryRemoved.pass() }
    return true
  } catch {
    guard [EPERM, EOPNOTSUPP, ENOSYS, EMLINK].contains(error.code) else { throw error }
  }
  try renameAfterLooking(old, in: folder, to: new, in: target)
  return false
}

/// The last way of ``renameWithoutReplacing(_:in:to:in:)``.
package func renameAfterLooking(
  _ old: UnsafePointer<CChar>, in folder: Int32, to new: UnsafePointer<CChar>, in target: Int32
) throws(SystemError) {
  var status = stat()
  do throws(SystemError) {
    _ = try retryingInterrupts("stat") { fstatat(target, new, &status, AT_SYMLINK_NOFOLLOW) }
    throw SystemError(code: EEXIST, call: "rename")
  } catch {
    guard error.code == ENOENT else { throw error }
  }
  _ = try retryingInterrupts("rename") { renameat(folder, old, target, new) }
}
