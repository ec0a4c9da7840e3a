import type { RequestHeaders } from '../../../packages/http-server/http-handler.ts'
import { ENCODINGS, type Encoding } from '../../blobs/encoding.ts'
import { memoize } from '../../lib/memoize.ts'

type Coding = Encoding | 'identity'

const CODINGS: readonly Coding[] = [...ENCODINGS, 'identity']

/** Below every weight that a client can send: a coding that is not named is a last resort. */
const UNLISTED_WEIGHT = 0.0001

/** Browsers send a handful of headers. */
const MEMO_BOUNDS = { maxEntries: 500, maxKeyLength: 200 }

/** A longer header is treated as if it were absent; browsers send about 25 characters. */
export const MAX_HEADER_CHARACTERS = 1000
const IDENTITY_ONLY: readonly Coding[] = ['identity']

/** The accepted codings in order of preference (RFC 9110, 12.5.3): by weight, then in our order. */
export const parseAcceptEncoding = memoize(
  (header) => (header.length > MAX_HEADER_CHARACTERS ? IDENTITY_ONLY : rankCodings(parseWeights(header))),
  MEMO_BOUNDS,
)

function rankCodings(weights: ReadonlyMap<string, number>): readonly Coding[] {
  const others = weights.get('*')
  const weight = (coding: Coding) =>
    weights.get(coding) ?? others ?? (coding === 'identity' ? UNLISTED_WEIGHT : 0)
  return CODINGS.filter((coding) => weight(coding) > 0).sort((one, two) => weight(two) - weight(one))
}

/** Also when the header is too long. */
export const acceptsHtml = memoize(
  (header) => header.length > MAX_HEADER_CHARACTERS || accepts(header, 'text/html'),
  MEMO_BOUNDS,
)

/** RFC 9110, 12.5.1: by its most specific range, and without any. */
export function accepts(header: string | undefined, type: string): boolean {
  const weights = parseWeights(header || '*/*')
  const range = [type, type.replace(/\/.*/, '/*'), '*/*'].find((name) => weights.has(name))
  return range !== undefined && weights.get(range)! > 0
}

/** The elements by name in lower case (RFC 9110, 12.4.2). */
export function parseWeights(header: string): Map<string, number> {
  const weights = new Map<string, number>()
  for (const element of header.toLowerCase().split(',')) {
    const [name = '', ...parameters] = element.split(';').map((part) => part.trim())
    const weight = parseWeight(parameters)
    if (name !== '' && weight !== undefined) weights.set(name === 'x-gzip' ? 'gzip' : name, weight)
  }
  return weights
}

/** Undefined when the weight is invalid: the coding is then ignored. */
function parseWeight(parameters: readonly string[]): number | undefined {
  const weight = parameters.find((parameter) => /^q\s*=/.test(parameter))
  if (weight === undefined) return 1
  const [, value] = /^q=(\d+(?:\.\d*)?)$/.exec(weight) ?? []
  return value === undefined ? undefined : Math.min(1, Number(value))
}

/** File extensions that sites usually have. Not all media types: a domain may be the last part of a route. */
const FILE_EXTENSIONS = new Set(
  `3gp 7z aac aif aiff apng appcache atom avi avif bmp br bz2 cjs css csv cur doc docx eot epub flac geojson gif glb gltf gz
heic heif htc htm html ico ics jfif jpeg jpg js json json5 jsonld jsx jxl log m4a m4v map markdown md mid midi mjs mkv mov
mp3 mp4 mpeg mpg odp ods odt oga ogg ogv opus otf pdf png ppt pptx rar rdf rss rtf srt stl svg tar text tgz tif tiff
topojson tsv ttf txt usdz vcard vcf vtt wasm wav weba webm webmanifest webp woff woff2 xhtml xls xlsx xml xsl xslt yaml yml
zip zst`.split(/\s/),
)

export const NAVIGATION_HEADERS = 'Accept, Sec-Fetch-Mode'

/** A page or program that fetches data does not navigate (Fetch Metadata). */
export function isNavigation({ accept, 'sec-fetch-mode': mode }: RequestHeaders): boolean {
  if (mode !== undefined) return mode === 'navigate'
  return accept === undefined || /(?:^|[\s,])(?:text\/(?:html|\*)|\*\/\*)/i.test(accept)
}

/** Programs that accept anything do not open pages. */
export function isPageRequest({ accept = '', 'sec-fetch-mode': mode = 'navigate' }: RequestHeaders): boolean {
  return mode === 'navigate' && accept.includes('text/html')
}

export function hasExtension(path: string): boolean {
  const [, extension] = /\.([^./]+)$/.exec(path) ?? []
  return extension !== undefined && FILE_EXTENSIONS.has(extension.toLowerCase())
}
