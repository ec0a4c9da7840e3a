/** Characters of a name. The longest label that has room for a version id and two hyphens before it (RFC 1035, 2.3.4: 63). */
export const MAX_NAME_LENGTH = 35
export const MIN_NAME_LENGTH = 3

/**
 * The name of a site that is closest to a text, such as its title; undefined when too little of it is left. It has as many
 * whole words as fit.
 */
export function suggestName(text: string): string | undefined {
  const name = text
    .toLowerCase()
    .replaceAll('ß', 'ss')
    .normalize('NFKD')
    .replace(/\p{M}/gu, '')
    .replace(/[^a-z0-9]+/g, '-')
    .replace(/^-|-$/g, '')
  const end = name.length > MAX_NAME_LENGTH ? name.lastIndexOf('-', MAX_NAME_LENGTH) : -1
  const fitting = name.slice(0, end < MIN_NAME_LENGTH ? MAX_NAME_LENGTH : end)
  return fitting.length >= MIN_NAME_LENGTH ? fitting : undefined
}
