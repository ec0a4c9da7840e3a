/** An entry of an archive; a name that ends in a slash is a folder. */
export interface Part {
  name: string | Buffer
  data: Buffer
}
