import { readFileSync, statSync } from 'node:fs'
import type { Logo } from '../lib/branding.ts'
import { decodeUtf8 } from '../lib/decode-utf8.ts'
import type { SettingType } from './setting-types.ts'

const MAX_LOGO_BYTES = 64 * 1024
const PNG_SIGNATURE = Buffer.from('89504e470d0a1a0a', 'hex')

/** Elements of SVG that draw. All others are refused: scripts, HTML in SVG, links, images, animations. */
const DRAWING_ELEMENTS = new Set([
  ...['svg', 'g', 'defs', 'symbol', 'use', 'title', 'desc', 'style', 'marker', 'mask', 'clippath', 'pattern'],
  ...['path', 'rect', 'circle', 'ellipse', 'line', 'polyline', 'polygon', 'text', 'tspan', 'textpath'],
  ...['lineargradient', 'radialgradient', 'stop', 'filter', 'feblend', 'fecolormatrix', 'fecomposite'],
  ...['fecomponenttransfer', 'feflood', 'fefunca', 'fefuncb', 'fefuncg', 'fefuncr', 'fegaussianblur'],
  ...['femerge', 'femergenode', 'femorphology', 'feoffset', 'fedropshadow'],
])

/** The logo of the service: an SVG or PNG file, read when the service starts. */
export function logoFile(description: string): SettingType<Logo | undefined> {
  return { defaultValue: undefined, defaultLabel: '', description, read: readLogo }
}

function readLogo(path: string): Logo {
  const bytes = readSmallFile(path)
  if (bytes.subarray(0, PNG_SIGNATURE.length).equals(PNG_SIGNATURE)) return { type: 'image/png', bytes }
  const problem = findSvgProblem(bytes)
  if (problem !== undefined) throw new Error(`it must be an SVG or PNG file that needs no other: ${problem}`)
  return { type: 'image/svg+xml', bytes }
}

function readSmallFile(path: string): Buffer {
  const stats = statSync(path, { throwIfNoEntry: false })
  if (!stats?.isFile()) throw new Error('it must be a file that can be read')
  if (stats.size > MAX_LOGO_BYTES)
    throw new Error(`it must have at most ${MAX_LOGO_BYTES} bytes, and has ${stats.size}`)
  try {
    return readFileSync(path)
  } catch {
    throw new Error('it must be a file that can be read')
  }
}

/**
 * Why an SVG is refused; undefined for one that only draws. It is used as an image, where nothing runs and nothing is
 * loaded, so that this is a second protection: it also refuses some files that are harmless.
 */
function findSvgProblem(bytes: Buffer): string | undefined {
  const text = decodeText(bytes)
  if (text === undefined) return 'it is neither PNG nor text in UTF-8'
  const tags = [...text.matchAll(/<([^\s<>]{0,100})/g)].map(([, tag = '']) => tag.replace(/^\/|\/$/g, ''))
  const [root] = tags
  if (root?.toLowerCase() !== 'svg') return 'it does not begin with <svg>'
  const unknown = tags.find((tag) => !DRAWING_ELEMENTS.has(tag.toLowerCase()))
  if (unknown !== undefined) return `it has <${unknown}>, which is not allowed`
  if (/\bon[a-z]{1,30}[\s]{0,10}=/i.test(text)) return 'it has a script in an attribute'
  const references = text.matchAll(
    /(?:href|src|url|image|image-set)[\s]{0,10}(=[\s]{0,10}|\([\s]{0,10})["']?(.?)/gi,
  )
  for (const [found, , first] of references)
    if (first !== '#') return `it refers to another file: ${JSON.stringify(found)}`
  if (/@import|javascript:|\\/i.test(text)) return 'it has @import, javascript: or a backslash'
  return undefined
}

/** Without comments and the declaration of XML; references to characters are decoded, which could hide anything. */
function decodeText(bytes: Buffer): string | undefined {
  return decodeUtf8(bytes)
    ?.replace(/^\s{0,100}<\?xml\s[^<>]{0,200}\?>/, '')
    .split('<!--')
    .map((part, at) => (at === 0 ? part : part.slice(part.indexOf('-->') + '-->'.length)))
    .join('')
    .replace(/&#(x?)([\da-f]{1,6});/gi, (_, hex, code) => toCharacter(Number.parseInt(code, hex ? 16 : 10)))
}

function toCharacter(code: number): string {
  return code <= 0x10ffff ? String.fromCodePoint(code) : ''
}
