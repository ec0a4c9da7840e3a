import type { RequestHeaders } from '../../../packages/http-server/http-handler.ts'

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
