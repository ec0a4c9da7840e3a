/** Path of the client's npm package on a server. */
export const CLIENT_PACKAGE_PATH = '/cli.tgz'

/** The file in the package that names the server it was downloaded from. */
export interface PackageServer {
  /** `{base_url}` */
  server: string
}

/** The command that runs the client of a server without installing it. */
export function npxCommand(baseUrl: string): string {
  return `npx ${quoteShell(baseUrl + CLIENT_PACKAGE_PATH)}`
}

/** A word of a POSIX shell command, in quotes if it contains characters with a meaning to a shell. */
export function quoteShell(word: string): string {
  return /^[\w@%+:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", String.raw`'\''`)}'`
}
