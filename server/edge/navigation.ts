import { mediaType } from '../../client/sdk/media-type.ts'
import type { VisitHeaders } from './asked.ts'

const UNKNOWN = mediaType('file')

/** Whether somebody goes to a page, rather than a page or a program asking for data (Fetch Metadata says which). */
export function isNavigation({ accept, 'sec-fetch-mode': mode }: VisitHeaders): boolean {
  if (mode !== undefined) return mode === 'navigate'
  return accept === undefined || /(?:^|[\s,])(?:text\/(?:html|\*)|\*\/\*)/i.test(accept)
}

/** Whether a path ends in an extension that files have, so that it means a file and no page. */
export function hasExtension(path: string): boolean {
  const [, extension] = /\.([^./]+)$/.exec(path) ?? []
  return extension !== undefined && mediaType(`file.${extension}`) !== UNKNOWN
}
