/** Characters of a name. The longest label that has room for a version id and two hyphens before it (RFC 1035, 2.3.4: 63). */
export const MAX_NAME_LENGTH = 35
export const MIN_NAME_LENGTH = 3

/** The name of a site that is closest to a text, such as its title; undefined when too little of it is left. */
export function suggestName(text: string): string | undefined {
  const name = text
    .toLowerCase()
    .replaceAll('ß', 'ss')
    .normalize('NFKD')
    .replace(/\p{M}/gu, '')
    .replace(/[^a-z0-9]+/g, '-')
    .slice(0, MAX_NAME_LENGTH)
    .replace(/^-|-$/g, '')
  return name.length >= MIN_NAME_LENGTH ? name : undefined
}
