"""Makes a release of a build, reads it, uploads it, and scores submissions."""
