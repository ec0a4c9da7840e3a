import { domainToASCII } from 'node:url'

export const MAX_HOST_NAME_LENGTH = 253

/** In lower-case A-labels (IDNA), so that spellings are equal; undefined when it is no host name (RFC 1123, 2.1). */
export function toHostName(typed: string): string | undefined {
  // `domainToASCII` would take the host of a URL, and ignore the rest or decode it.
  if (/[/?#\\%:@]/.test(typed)) return undefined
  const name = domainToASCII(typed)
  const isHostName =
    name.length <= MAX_HOST_NAME_LENGTH &&
    /^(?!-)[a-z0-9-]{1,63}(?<!-)(\.(?!-)[a-z0-9-]{1,63}(?<!-))*$/.test(name)
  return isHostName ? name : undefined
}

export function hostName(header: string): string {
  return header.toLowerCase().replace(/:\d*$/, '').replace(/\.$/, '')
}
