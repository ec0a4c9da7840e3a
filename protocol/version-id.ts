/** Characters of a short id: ids begin with the millisecond in which the version was created. */
export const SHORT_ID_LENGTH = 10

/** The beginning of a version's id, which commands accept in place of the whole. */
export function shortId(versionId: string): string {
  return versionId.slice(0, SHORT_ID_LENGTH)
}
