/** The root document with the site's metadata in its head, kept as a blob of its own. */
export interface Front {
  /** Tells which metadata and which document it was made of: with others it is not to be served. */
  key: string
  hash: string
  /** Bytes. */
  size: number
}
