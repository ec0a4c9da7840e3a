import { domainToASCII } from 'node:url'

export const MAX_HOST_NAME_LENGTH = 253

/**
 * The name in lower-case A-labels (IDNA), in which two spellings of one name are equal. Undefined when it is not a
 * host name of RFC 1123, 2.1: labels of letters, digits and hyphens, at most 63 characters each and 253 in all.
 */
export function toHostName(typed: string): string | undefined {
  // `domainToASCII` would take the host of a URL, and ignore the rest or decode it.
  if (/[/?#\\%:@]/.test(typed)) return undefined
  const name = domainToASCII(typed)
  const isHostName =
    name.length <= MAX_HOST_NAME_LENGTH &&
    /^(?!-)[a-z0-9-]{1,63}(?<!-)(\.(?!-)[a-z0-9-]{1,63}(?<!-))*$/.test(name)
  return isHostName ? name : undefined
}

/** The normalized host name of a Host header or authority. */
export function hostName(header: string): string {
  return header.toLowerCase().replace(/:\d*$/, '').replace(/\.$/, '')
}
