// Everything for testing code that uses Reel: the contract tests of uploaders and recorders, sample posts for previews,
// and test doubles for a run's services. `MemoryUploader` and `MemoryCatalog` are in `Reel` itself.

@_exported import ReelStorageTesting
