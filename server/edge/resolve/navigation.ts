import { mediaType } from '../../../protocol/manifest/media-type.ts'
import type { RequestHeaders } from '../../net/http-handler.ts'

const UNKNOWN = mediaType('file')

/** The request headers that `isNavigation` depends on, for `Vary`. */
export const NAVIGATION_HEADERS = 'Accept, Sec-Fetch-Mode'

/**
 * Whether a browser navigates to a page, in contrast to a page or program that fetches data (Fetch Metadata).
 */
export function isNavigation({ accept, 'sec-fetch-mode': mode }: RequestHeaders): boolean {
  if (mode !== undefined) return mode === 'navigate'
  return accept === undefined || /(?:^|[\s,])(?:text\/(?:html|\*)|\*\/\*)/i.test(accept)
}

/** Whether a browser opens a page. Programs that accept anything are none. */
export function isPageRequest({ accept = '', 'sec-fetch-mode': mode = 'navigate' }: RequestHeaders): boolean {
  return mode === 'navigate' && accept.includes('text/html')
}

/** Whether a path ends in a known file extension, so that it names a file and not a page. */
export function hasExtension(path: string): boolean {
  const [, extension] = /\.([^./]+)$/.exec(path) ?? []
  return extension !== undefined && mediaType(`file.${extension}`) !== UNKNOWN
}
