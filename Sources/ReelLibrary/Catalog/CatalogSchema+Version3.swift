extension CatalogSchema {
  /// The library's own store has a name without a path from here on (``StoreName/own``).
  static let version3 = """
    -- The version of the tables that the Reel knew which wrote the row. One that has had the catalog open since
    -- before it was brought up to date leaves it out: it looks stores up by names that are others now, finds none of
    -- their posts, and would publish them again.
    ALTER TABLE destination ADD COLUMN madeBy INTEGER;
    CREATE TRIGGER destinationOfOlderReel BEFORE INSERT ON destination WHEN NEW.madeBy IS NULL
    BEGIN
      SELECT RAISE(ABORT, 'a newer Reel has brought it up to date meanwhile: run the same command again');
    END;
    """
}
