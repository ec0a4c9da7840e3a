/** What goes into an archive; a name that ends in a slash is that of a folder. */
export interface Part {
  name: string | Buffer
  data: Buffer
}
